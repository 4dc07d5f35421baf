//! The known name nearest to an unknown one.

/// Longer names get no suggestion: nobody mistypes that much, and the search stays small.
const MAX_CHARS: usize = 80;

/// The candidate that a user most likely meant, if any is near enough.
///
/// Case and the prefixes `enable` and `enabled` do not count: both spellings are in use, and
/// which key has which cannot be guessed. Else at most a third of the letters may differ.
#[must_use]
pub fn nearest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    if name.is_empty() || name.chars().count() > MAX_CHARS {
        return None;
    }
    let wanted = bare(name);
    let limit = (wanted.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &'c str)> = None;
    for candidate in candidates {
        let distance = edit_distance(&wanted, &bare(candidate));
        if distance <= limit && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// `did you mean "x"?`, where a candidate is near enough.
#[must_use]
pub fn did_you_mean<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<String> {
    nearest(name, candidates).map(|near| format!("did you mean {near:?}?"))
}

fn bare(name: &str) -> Vec<char> {
    let lower = name.to_lowercase();
    let stem = lower
        .strip_prefix("enabled")
        .or_else(|| lower.strip_prefix("enable"));
    let stem = stem.filter(|stem| !stem.is_empty()).unwrap_or(&lower);
    stem.chars()
        .filter(|letter| !matches!(letter, '-' | '_' | ' '))
        .collect()
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
fn edit_distance(left: &[char], right: &[char]) -> usize {
    let width = right.len() + 1;
    let mut before_last: Vec<usize> = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (row, a) in left.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for (column, b) in right.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut least = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *a == right[column - 1] && left[row - 1] == *b {
                least = least.min(before_last[column - 1] + 1);
            }
            current[column + 1] = least;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[right.len()]
}
