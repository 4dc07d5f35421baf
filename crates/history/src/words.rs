//! Texts that records keep, cut short, and names of reasons that are history's own.

/// Names of reasons beside the kinds that metrics have.
pub mod reasons {
    /// Nobody who keeps this history was there, or none that decides.
    pub const UNSEEN: &str = "unseen";
    /// It was placed by the first cycle that knew of it.
    pub const DECIDING: &str = "deciding";
    /// No pod of it was made yet.
    pub const NO_PODS: &str = "no-pods";
}

/// Longest name that is kept, in bytes: Kubernetes has none that is longer.
const MAX_NAME_BYTES: usize = 253;

/// Longest text of a reason that is kept, in bytes.
const MAX_TEXT_BYTES: usize = 160;

/// A name as records keep it.
pub(crate) fn kept_name(name: &str) -> Box<str> {
    kept(name, MAX_NAME_BYTES)
}

/// What is told of a reason as records keep it.
pub(crate) fn kept_text(text: &str) -> Box<str> {
    kept(text, MAX_TEXT_BYTES)
}

/// The beginning of a text, without what would move a cursor.
fn kept(text: &str, most: usize) -> Box<str> {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    match text.contains(char::is_control) {
        true => text.replace(char::is_control, " ").into(),
        false => text.into(),
    }
}
