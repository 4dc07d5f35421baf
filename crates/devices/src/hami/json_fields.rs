//! Fields of an entry of a register in JSON (spec/04 §18.4).

use serde_json::Value;

use crate::text::clip;

use super::registered_card::breaks_lists;

/// The identity of an entry.
///
/// # Errors
/// It has none, or one that cannot stand in an allocation.
pub fn identity(value: &Value, key: &str) -> Result<String, String> {
    let id = value.get(key).and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() {
        return Err(format!("it has no {key}"));
    }
    match breaks_lists(id) {
        true => Err(format!("{key} {:?} has a character no id has", clip(id))),
        false => Ok(id.to_owned()),
    }
}

/// A number of an entry, 0 where it is absent.
///
/// # Errors
/// It is no number from `least` on.
pub fn number(value: &Value, key: &str, least: i64) -> Result<i64, String> {
    let number = match value.get(key) {
        None | Some(Value::Null) => Some(0),
        Some(value) => value.as_i64(),
    };
    let possible = number.filter(|number| (least..=i64::from(i32::MAX)).contains(number));
    possible.ok_or_else(|| format!("{key} is no number from {least} to {}", i32::MAX))
}
