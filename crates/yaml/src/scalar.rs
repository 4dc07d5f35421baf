//! Types of YAML scalars by YAML 1.1 as Go's yaml.v2 reads them (`resolve.go`; spec/01 §2.1).
//!
//! Differences from YAML 1.2 that users meet: `yes no on off y n` are booleans, `017` is octal,
//! `0b11` binary, `1_000` a number; `08` is not octal and becomes the float 8; timestamps stay
//! strings; base 60 does not exist.

use crate::node::{Data, Style, YamlNode};

/// A typed scalar.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// Nothing, `~` or `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number within 64 signed bits.
    Int(i64),
    /// A whole number above the signed range, within 64 unsigned bits.
    Uint(u64),
    /// Any other number.
    Float(f64),
    /// A text.
    Str(&'a str),
}

/// The explicit tag of a scalar contradicts its text, as in `!!int abc`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` cannot be read as !!{tag}")]
pub struct TagMismatch {
    /// The text, shortened.
    pub text: String,
    /// The tag without its namespace.
    pub tag: String,
}

/// The typed value of a scalar node; `None` for lists and maps.
///
/// # Errors
/// When an explicit tag of the YAML core contradicts the text.
#[must_use]
pub fn resolve<'n>(node: &'n YamlNode<'_>) -> Option<Result<Scalar<'n>, TagMismatch>> {
    let Data::Scalar { text, style } = &node.data else {
        return None;
    };
    let plain = *style == Style::Plain;
    let Some(tag) = node.tag.as_deref() else {
        return Some(Ok(if plain {
            resolve_plain(text)
        } else {
            Scalar::Str(text)
        }));
    };
    let Some(core) = tag.strip_prefix("tag:yaml.org,2002:") else {
        return Some(Ok(Scalar::Str(text)));
    };
    let value = match (core, resolve_plain(text)) {
        ("int", value @ (Scalar::Int(_) | Scalar::Uint(_)))
        | ("float", value @ Scalar::Float(_))
        | ("bool", value @ Scalar::Bool(_))
        | ("null", value @ Scalar::Null) => value,
        ("float", Scalar::Int(number)) => Scalar::Float(number as f64),
        ("float", Scalar::Uint(number)) => Scalar::Float(number as f64),
        ("int" | "float" | "bool" | "null", _) => {
            let mismatch = TagMismatch {
                text: shorten(text),
                tag: core.to_owned(),
            };
            return Some(Err(mismatch));
        }
        _ => Scalar::Str(text),
    };
    Some(Ok(value))
}

/// The type an unquoted, untagged scalar has.
#[must_use]
pub fn resolve_plain(text: &str) -> Scalar<'_> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ => resolve_number(text).unwrap_or(Scalar::Str(text)),
    }
}

fn resolve_number(text: &str) -> Option<Scalar<'static>> {
    match text.as_bytes().first()? {
        b'.' => return parse_float(text).map(Scalar::Float),
        b'0'..=b'9' | b'+' | b'-' => {}
        _ => return None,
    }
    let digits = text.replace('_', "");
    parse_whole(&digits).or_else(|| parse_float(&digits).map(Scalar::Float))
}

/// Go's `strconv.ParseInt(text, 0, 64)`, then `ParseUint`.
fn parse_whole(text: &str) -> Option<Scalar<'static>> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, digits) = if let Some(digits) = lower.strip_prefix("0x") {
        (16, digits)
    } else if let Some(digits) = lower.strip_prefix("0b") {
        (2, digits)
    } else if let Some(digits) = lower.strip_prefix("0o") {
        (8, digits)
    } else if lower.len() > 1 && lower.starts_with('0') {
        (8, &lower[1..])
    } else {
        (10, lower.as_str())
    };
    // from_str_radix would take a second sign.
    if !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    Some(i64::try_from(magnitude).map_or(Scalar::Uint(magnitude), Scalar::Int))
}

/// A decimal float: `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, finite.
fn parse_float(text: &str) -> Option<f64> {
    let allowed =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    // Keeps out the words `inf` and `nan`, which Rust would take; the grammar is the same else.
    let number: f64 = if text.bytes().all(allowed) {
        text.parse().ok()?
    } else {
        return None;
    };
    // Go reports a range error for an overflow, which leaves a string.
    number.is_finite().then_some(number)
}

/// A truth value written in quotes: the YAML 1.1 words and those of Go's `strconv.ParseBool`.
#[must_use]
pub fn parse_bool_text(text: &str) -> Option<bool> {
    match (text, resolve_plain(text)) {
        (_, Scalar::Bool(value)) => Some(value),
        ("1" | "t" | "T", _) => Some(true),
        ("0" | "f" | "F", _) => Some(false),
        _ => None,
    }
}

impl YamlNode<'_> {
    /// True for an empty plain scalar, `~` and the `null` forms.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(resolve(self), Some(Ok(Scalar::Null)))
    }

    /// The node as a short phrase for messages: `a list`, `the number 5`, `the string "x"`.
    #[must_use]
    pub fn describe(&self) -> String {
        let text = match &self.data {
            Data::List(_) => return "a list".to_owned(),
            Data::Map(_) => return "a map".to_owned(),
            Data::Scalar { text, .. } => shorten(text),
        };
        match resolve(self) {
            Some(Ok(Scalar::Null)) => "nothing".to_owned(),
            Some(Ok(Scalar::Bool(_))) => format!("the boolean `{text}`"),
            Some(Ok(Scalar::Int(_) | Scalar::Uint(_))) => format!("the whole number `{text}`"),
            Some(Ok(Scalar::Float(_))) => format!("the number `{text}`"),
            _ => format!("the string \"{text}\""),
        }
    }
}

/// A text fit for one line of a message: at most 60 characters, no control characters.
#[must_use]
pub fn shorten(text: &str) -> String {
    const LIMIT: usize = 60;
    let mut short = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == LIMIT {
            short.push('…');
            break;
        }
        match letter {
            '\n' => short.push_str("\\n"),
            '\t' => short.push_str("\\t"),
            letter if letter.is_control() => short.push('\u{fffd}'),
            letter => short.push(letter),
        }
    }
    short
}
