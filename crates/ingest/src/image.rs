//! Image names (spec/02 §8.7).

/// The name with `:latest` when it has neither tag nor digest. A colon before the last slash is a
/// registry's port, not a tag.
pub(crate) fn normalised(name: &str) -> String {
    let after_slash = name.rfind('/').map_or(name, |at| &name[at..]);
    if after_slash.contains(':') {
        name.to_owned()
    } else {
        format!("{name}:latest")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_tag_or_digest_mean_latest() {
        let cases = [
            ("nginx", "nginx:latest"),
            ("nginx:1.25", "nginx:1.25"),
            ("registry:5000/nginx", "registry:5000/nginx:latest"),
            ("registry:5000/nginx:1", "registry:5000/nginx:1"),
            ("a/b@sha256:0123", "a/b@sha256:0123"),
            ("nginx@sha256:0123", "nginx@sha256:0123"),
        ];
        for (name, expected) in cases {
            assert_eq!(normalised(name), expected);
        }
    }
}
