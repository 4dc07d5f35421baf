//! Registers in JSON: an array of cards (spec/04 §18.4).

use serde_json::Value;

use crate::text::{Bounded, clip};

use super::json_fields::{identity, number};
use super::mig;
use super::registered_card::{HamiCard, MAX_CARDS};

/// The cards of an annotation, of this type where one is given; what is wrong with others is told.
pub fn read(text: &str, key: &str, word: Option<&str>, problems: &mut Bounded) -> Vec<HamiCard> {
    let list = array(text, key, problems);
    let mut entries = Vec::new();
    for (at, value) in list.iter().enumerate().take(MAX_CARDS) {
        match entry(value, word) {
            Ok(entry) => entries.push(entry),
            Err(why) => problems.tell(|| {
                format!("{key}: entry {at} is left out: {why}; restart or update the device plugin")
            }),
        }
    }
    entries
}

/// The entries of an annotation that is an array; none if it is something else, which is told.
pub fn array(text: &str, key: &str, problems: &mut Bounded) -> Vec<Value> {
    let list = match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list,
        Ok(Value::Null) => Vec::new(),
        Ok(_) => {
            problems.tell(|| format!("{key}: is no JSON array; restart the device plugin"));
            Vec::new()
        }
        Err(error) => {
            problems.tell(|| format!("{key}: is no JSON ({error}); restart the device plugin"));
            Vec::new()
        }
    };
    let count = list.len();
    if count > MAX_CARDS {
        problems.tell(|| format!("{key}: of {count} chips only {MAX_CARDS} are used"));
    }
    list
}

fn entry(value: &Value, word: Option<&str>) -> Result<HamiCard, String> {
    let id = identity(value, "id")?;
    let kind = value.get("type").map(Value::as_str);
    let kind = match (kind, word) {
        (Some(Some(kind)), Some(word)) if kind != word => {
            return Err(format!("type {:?} is not {word}", clip(kind)));
        }
        (Some(Some(kind)), _) => kind.to_owned(),
        (_, Some(_)) => return Err("it has no type".to_owned()),
        (_, None) => String::new(),
    };
    let ring = value
        .get("custominfo")
        .and_then(|info| info.get("NetworkID"));
    let mode = value.get("mode").and_then(Value::as_str);
    Ok(HamiCard {
        id,
        // Go leaves out what is 0 or false.
        index: number(value, "index", 0)? as u32,
        slots: number(value, "count", 1)?,
        memory: number(value, "devmem", i64::from(word.is_some()))?,
        // Chips of Ascend tell AI cores here, which nobody counts.
        cores: match word {
            Some(_) => 0,
            None => number(value, "devcore", 0)?,
        },
        kind,
        mode: mode.unwrap_or_default().to_owned(),
        healthy: value.get("health") == Some(&Value::Bool(true)),
        numa: numa(value),
        splits: match mode {
            Some("mig") => mig::profiles(value)?,
            _ => Vec::new(),
        },
        ring: ring.and_then(Value::as_i64),
        ..HamiCard::default()
    })
}

/// The NUMA node of an entry; Go leaves out 0.
fn numa(value: &Value) -> Option<u16> {
    let number = value.get("numa").map_or(Some(0), Value::as_i64);
    u16::try_from(number?).ok()
}
