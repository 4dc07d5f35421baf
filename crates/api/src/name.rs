//! Syntax of label keys, label values and object names.

/// Longest name part of a qualified name, and longest label value.
const MAX_NAME: usize = 63;

/// Longest DNS subdomain, which is the longest name of most objects.
pub const MAX_SUBDOMAIN: usize = 253;

/// Whether `text` is a label key or annotation key: `[prefix/]name`, the prefix a DNS subdomain,
/// the name at most 63 letters, digits, `-`, `_`, `.`, beginning and ending with a letter or digit.
pub fn is_qualified(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && is_plain(name),
        None => is_plain(text),
    }
}

/// Whether `text` is a label value: empty, or as the name part of a qualified name.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_plain(text)
}

/// Whether `text` is a DNS subdomain: at most 253 characters, labels of lower-case letters, digits
/// and `-` between dots, each beginning and ending with a letter or digit.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN && text.split('.').all(is_dns_part)
}

fn is_dns_part(part: &str) -> bool {
    let edge = |c: &u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let bytes = part.as_bytes();
    bytes.first().is_some_and(edge)
        && bytes.last().is_some_and(edge)
        && bytes.iter().all(|c| edge(c) || *c == b'-')
}

fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.len() <= MAX_NAME
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn qualified_names_have_an_optional_subdomain_prefix() {
        let long = "a".repeat(64);
        let cases = [
            ("zone", true),
            ("kubernetes.io/hostname", true),
            ("A_b.c-9", true),
            ("", false),
            ("-a", false),
            ("a-", false),
            ("a/b/c", false),
            ("/a", false),
            ("Upper.io/a", false),
            ("ok..io/a", false),
            (long.as_str(), false),
            ("ä", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_qualified(text), expected, "{text:?}");
        }
    }

    #[test]
    fn label_values_may_be_empty_but_not_negative_numbers() {
        for (text, expected) in [("", true), ("5", true), ("-5", false), ("a b", false)] {
            assert_eq!(is_label_value(text), expected, "{text:?}");
        }
    }
}
