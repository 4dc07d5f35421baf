//! What is wrong with an object that cannot be read.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::place::{offset_of, path_at};

/// A field that does not have its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireProblem {
    /// Path of the field, such as `spec.containers[0].image`; `.` for the object itself.
    pub path: String,
    /// What is wrong, in the words of serde: `invalid type: string "many", expected i32`.
    pub message: String,
}

impl fmt::Display for WireProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for WireProblem {}

/// Reads a type from JSON. Where that fails, the place that serde_json tells is looked up in the
/// text, so that no second way of reading the type is needed to learn the path of the field.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, WireProblem> {
    serde_json::from_slice(json).map_err(|error| problem(json, &error))
}

fn problem(json: &[u8], error: &serde_json::Error) -> WireProblem {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = error.to_string();
    let message = text.strip_suffix(&place).unwrap_or(&text).to_owned();
    let offset = offset_of(json, error.line(), error.column());
    let bracket = match &message {
        list if list.starts_with("invalid type: sequence") => Some('['),
        map if map.starts_with("invalid type: map") => Some('{'),
        _ => None,
    };
    let path = match std::str::from_utf8(json) {
        // Text that is no JSON has no fields.
        Ok(json) if error.is_data() => path_at(json, offset, bracket),
        _ => ".".to_owned(),
    };
    WireProblem { path, message }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Pod};
    use pumice_api::Queue;

    use crate::{WireObject, WireProblem};

    fn problem_of<K: WireObject + std::fmt::Debug>(json: &str) -> (String, String) {
        let WireProblem { path, message } = K::read(json.as_bytes()).unwrap_err();
        (path, message)
    }

    #[test]
    fn the_field_that_does_not_have_its_type_is_named() {
        let cases = [
            (
                r#"{"metadata":{"name":"n"},"spec":{"unschedulable":"yes","podCIDR":"x"}}"#,
                "spec.unschedulable",
                "invalid type: string \"yes\", expected a boolean",
            ),
            (
                "{\"spec\": {\n  \"taints\": [\n {\"key\": \"a\"},\n {\"key\": 7 }]}}",
                "spec.taints[1].key",
                "invalid type: integer `7`, expected a string",
            ),
            (
                r#"{"spec":{"taints":{}}}"#,
                "spec.taints",
                "invalid type: map, expected a sequence",
            ),
            (
                r#"{"spec":[1]}"#,
                "spec",
                "invalid type: sequence, expected NodeSpec",
            ),
            (
                r#"{"metadata":{"labels":{"a.b/c":true}}}"#,
                "metadata.labels.a.b/c",
                "invalid type: boolean `true`, expected a string",
            ),
            (
                r#"{"metadata":{"generation":1.5}}"#,
                "metadata.generation",
                "invalid type: floating point `1.5`, expected i64",
            ),
            (
                r#"{"spec":[{"podCIDR":"x"}]}"#,
                "spec",
                "invalid type: sequence, expected NodeSpec",
            ),
            (
                r#"{"spec":{"podCIDRs":[{"a":1}]}}"#,
                "spec.podCIDRs[0]",
                "invalid type: map, expected a string",
            ),
            ("[]", ".", "invalid type: sequence, expected Node"),
            ("3", ".", "invalid type: integer `3`, expected Node"),
        ];
        for (json, path, message) in cases {
            let expected = (path.to_owned(), message.to_owned());
            assert_eq!(problem_of::<Node>(json), expected, "{json}");
        }
    }

    #[test]
    fn what_is_cut_or_no_json_is_a_problem_of_the_object() {
        for json in ["", "{", "{\"metadata\":", "nonsense", "{} {}", "\u{1}"] {
            let (path, message) = problem_of::<Pod>(json);
            assert_eq!(path, ".", "{json:?}: {message}");
        }
    }

    #[test]
    fn objects_are_read_whole() {
        let pod = br#"{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c"}]}}"#;
        let pod = Pod::read(pod).unwrap();
        assert_eq!(pod.spec.unwrap().containers[0].name, "c");
        let queue = Queue::read(br#"{"metadata":{"name":"q"},"spec":{"weight":3}}"#).unwrap();
        assert_eq!(queue.metadata.name.as_deref(), Some("q"));
    }
}
