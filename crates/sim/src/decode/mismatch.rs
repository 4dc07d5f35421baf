//! What serde says about a value of the wrong kind, in the words of whoever wrote the manifest.

/// Message and remedy for the text of a serde error.
///
/// Texts that are not of one of the usual forms are passed on as they are.
pub(super) fn explain(text: &str) -> (String, String) {
    if let Some(rest) = text.strip_prefix("invalid type: ") {
        return wrong_kind(rest, text);
    }
    if let Some(rest) = text.strip_prefix("invalid value: ") {
        let (found, wanted) = rest
            .split_once(", expected ")
            .unwrap_or((rest, "another value"));
        let (fault, help) = match wanted_text(wanted) {
            number if number.contains("number") => {
                let help = "write a number within the range of the field";
                ("is out of range".to_owned(), help.to_owned())
            }
            other => (format!("is not {other}"), format!("write {other}")),
        };
        return (format!("{} {fault}", found_text(found)), help);
    }
    if let Some(field) = text.strip_prefix("missing field ") {
        let field = field.replace('`', "");
        return (
            format!("the field {field} is missing"),
            format!("add {field}"),
        );
    }
    (text.to_owned(), "correct the value".to_owned())
}

fn wrong_kind(rest: &str, text: &str) -> (String, String) {
    let Some((found, wanted)) = rest.rsplit_once(", expected ") else {
        return (text.to_owned(), "correct the value".to_owned());
    };
    let message = format!(
        "expected {}, found {}",
        wanted_text(wanted),
        found_text(found)
    );
    let quoted = found
        .strip_prefix("string \"")
        .and_then(|rest| rest.strip_suffix('"'));
    let bare = found
        .split_once('`')
        .map(|(_, rest)| rest.trim_end_matches('`'));
    let help = match (wanted_text(wanted).as_str(), quoted, bare) {
        ("a whole number", Some(value), _) if value.parse::<i64>().is_ok() => {
            format!("write it without quotes: {value}")
        }
        ("true or false", Some(value @ ("true" | "false")), _) => {
            format!("write it without quotes: {value}")
        }
        ("a string", _, Some(value)) => format!("put it in quotes: \"{value}\""),
        ("a list", ..) => "write a list: begin each item with `- `".to_owned(),
        (wanted, ..) => format!("write {wanted}"),
    };
    (message, help)
}

/// What a field wants.
fn wanted_text(wanted: &str) -> String {
    match wanted {
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number".to_owned(),
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0 on".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a map".to_owned(),
        // Generated types are announced by their name.
        name if name.starts_with(|letter: char| letter.is_ascii_uppercase()) => {
            format!("a map ({name})")
        }
        name => match name.strip_prefix("struct ") {
            Some(name) => format!("a map ({name})"),
            None => name.to_owned(),
        },
    }
}

/// What stands there.
fn found_text(found: &str) -> String {
    let value = found
        .split_once('`')
        .map(|(_, rest)| rest.trim_end_matches('`'));
    match found {
        "null" | "unit value" | "Option value" => "nothing".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a map".to_owned(),
        _ if found.starts_with("string ") => format!("the {found}"),
        _ if found.starts_with("boolean") => value.unwrap_or(found).to_owned(),
        _ => value.map_or_else(|| found.to_owned(), |value| format!("the number {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn values_of_the_wrong_kind_are_told_in_plain_words() {
        let cases = [
            (
                "invalid type: string \"many\", expected i32",
                "expected a whole number, found the string \"many\"",
                "write a whole number",
            ),
            (
                "invalid type: string \"3\", expected i32",
                "expected a whole number, found the string \"3\"",
                "write it without quotes: 3",
            ),
            (
                "invalid type: integer `2`, expected a string",
                "expected a string, found the number 2",
                "put it in quotes: \"2\"",
            ),
            (
                "invalid type: boolean `true`, expected a string",
                "expected a string, found true",
                "put it in quotes: \"true\"",
            ),
            (
                "invalid type: map, expected a sequence",
                "expected a list, found a map",
                "write a list: begin each item with `- `",
            ),
            (
                "invalid type: sequence, expected PodSpec",
                "expected a map (PodSpec), found a list",
                "write a map (PodSpec)",
            ),
            (
                "invalid value: integer `99999999999`, expected i32",
                "the number 99999999999 is out of range",
                "write a number within the range of the field",
            ),
            (
                "invalid value: string \"resource.k8s.io/v1beta1\", expected resource.k8s.io/v1",
                "the string \"resource.k8s.io/v1beta1\" is not resource.k8s.io/v1",
                "write resource.k8s.io/v1",
            ),
            (
                "missing field `name`",
                "the field name is missing",
                "add name",
            ),
            ("something else", "something else", "correct the value"),
        ];
        for (text, message, help) in cases {
            assert_eq!(
                explain(text),
                (message.to_owned(), help.to_owned()),
                "{text}"
            );
        }
    }
}
