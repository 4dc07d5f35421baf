//! Lists of card indices, as users write them.

/// Indices in ascending order, each once; blanks and empty entries do not count.
///
/// # Errors
/// The first entry that is no index, shortened.
pub(crate) fn indices(text: &str) -> Result<Vec<u32>, String> {
    let mut read = Vec::new();
    for entry in text.split(',').map(str::trim) {
        if entry.is_empty() {
            continue;
        }
        let is_plain = entry.bytes().all(|byte| byte.is_ascii_digit());
        match entry.parse() {
            Ok(index) if is_plain => read.push(index),
            _ => return Err(shorten(entry)),
        }
    }
    read.sort_unstable();
    read.dedup();
    Ok(read)
}

/// A text of somebody else, fit for a message.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = 60;
    let chars = text.chars().take(MOST);
    let mut short: String = chars.flat_map(char::escape_debug).collect();
    if text.chars().nth(MOST).is_some() {
        short.push('…');
    }
    short
}
