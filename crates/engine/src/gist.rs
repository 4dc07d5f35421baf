//! What a message says besides its numbers.
//!
//! Counts of nodes change with every pod that is placed anywhere. A message that differs in nothing
//! else is not worth a write.

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

/// Seconds after which a message is told again when it differs in numbers only.
pub const RETELL_AFTER_S: i64 = 60;

/// Everything from here on names one node and amounts: the nearest miss.
pub const NEAREST_MISS: &str = " Nearest miss: ";

/// Hash of one value.
pub fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hash of the words of a message that are no numbers, whatever their order: lists in messages are
/// sorted by their counts.
pub fn gist(message: &str) -> u64 {
    let lasting = message.split(NEAREST_MISS).next().unwrap_or_default();
    lasting
        .split(|c: char| c.is_whitespace() || "/,:;()".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
        .fold(0, |sum: u64, word| sum.wrapping_add(hash_of(word)))
}

#[cfg(test)]
mod tests {
    use super::gist;

    #[test]
    fn messages_that_differ_in_numbers_have_one_gist() {
        for (left, right, same) in [
            (
                "0/5 nodes are unavailable: 10 Insufficient cpu, 9 Insufficient memory.",
                "0/6 nodes are unavailable: 8 Insufficient memory, 9 Insufficient cpu.",
                true,
            ),
            (
                "0/5 nodes are unavailable: 5 Insufficient cpu. Nearest miss: node a: short by 1.",
                "0/5 nodes are unavailable: 5 Insufficient cpu. Nearest miss: node b: short by 2.",
                true,
            ),
            (
                "0/5 nodes are unavailable: 5 Insufficient cpu.",
                "0/5 nodes are unavailable: 5 Insufficient memory.",
                false,
            ),
            (
                "Pod ns/a can possibly be assigned to n1",
                "Pod ns/b can possibly be assigned to n1",
                false,
            ),
        ] {
            assert_eq!(gist(left) == gist(right), same, "{left}\n{right}");
        }
    }
}
