//! What a node says of its chips: `hami.io/node-register-<type>`, a JSON array (spec/05 §3.2).

use std::rc::Rc;

use rustc_hash::FxHashSet;
use serde_json::Value;

use crate::facts::NodeFacts;
use crate::ledger::{Card, FamilyCode, NodeCards, UNLIMITED};
use crate::text::{Bounded, clip};

use super::chips::{ChipType, VnpuConfig};
use super::part::ChipPart;

/// Start of the node annotations with the chips of a type.
pub const REGISTER: &str = "hami.io/node-register-";
/// Node annotation: chips are shared by hami-core.
pub const SOFT: &str = "hami-vnpu-core";

/// Percent of a chip.
const ALL_CORES: i64 = 100;
/// Most chips of a node that are read; no real one comes near.
const MOST_CHIPS: usize = 1024;

/// What a chip is, packed into the [`Card::variant`] that the ledger keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipVariant {
    /// Place of its type in [`VnpuConfig::types`].
    pub of: u16,
    /// The node shares it by hami-core.
    pub soft: bool,
    /// Its group of chips with fast links, counted from 1 in the order of the chips.
    pub ring: Option<u8>,
}

impl ChipVariant {
    /// Of a chip.
    pub fn of(card: &Card) -> Self {
        let code = card.variant.get();
        let ring = (code & 0xff) as u8;
        Self {
            of: code >> 9,
            soft: code & 0x100 != 0,
            ring: (ring > 0).then_some(ring),
        }
    }

    fn code(self) -> FamilyCode {
        let ring = u16::from(self.ring.unwrap_or(0));
        FamilyCode::new(self.of << 9 | u16::from(self.soft) << 8 | ring)
    }
}

/// One chip as registered.
struct RegisteredChip {
    id: String,
    index: u32,
    count: i64,
    memory: i64,
    healthy: bool,
    ring: Option<i64>,
}

/// The chips of a node.
pub fn chips(config: &VnpuConfig, node: &NodeFacts, cards: &mut NodeCards) {
    let soft = match node.annotation(SOFT) {
        Some(value) => value == "true",
        None => config.hami_core,
    };
    let mut problems = Bounded::default();
    let mut known = FxHashSet::default();
    for (of, chip) in config.types.iter().enumerate() {
        let key = format!("{REGISTER}{}", chip.word);
        let Some(text) = node.annotation(&key) else {
            continue;
        };
        if node.allocatable_milli(&chip.count_name).unwrap_or(0) <= 0 {
            problems.tell(|| {
                let name = &chip.count_name;
                format!("{key}: not used, as the node has no {name} allocatable")
            });
            continue;
        }
        let mut entries = decode(text, &key, &chip.word, &mut problems);
        entries.retain(|entry| {
            let is_new = known.insert(entry.id.clone());
            if !is_new {
                let id = clip(&entry.id);
                problems.tell(|| format!("{key}: chip {id} is listed twice and counts once"));
            }
            is_new
        });
        entries.sort_by_key(|entry| entry.index);
        let mut rings = Vec::new();
        for entry in entries {
            let ring = entry.ring.and_then(|id| number_of(id, &mut rings));
            let of = of as u16;
            add(cards, chip, &entry, ChipVariant { of, soft, ring });
        }
    }
    cards.problems = problems.into_texts("more problems");
}

/// The number of a group, counted from 1; further ones than can be counted are none.
fn number_of(id: i64, rings: &mut Vec<i64>) -> Option<u8> {
    let at = match rings.iter().position(|known| *known == id) {
        Some(at) => at,
        None => {
            rings.push(id);
            rings.len() - 1
        }
    };
    u8::try_from(at + 1).ok()
}

fn add(cards: &mut NodeCards, chip: &ChipType, entry: &RegisteredChip, variant: ChipVariant) {
    let card = Card {
        id: Rc::from(entry.id.as_str()),
        kind: Rc::from(chip.word.as_str()),
        unusable: (!entry.healthy).then(|| "unhealthy".into()),
        index: entry.index,
        variant: variant.code(),
        is_plain: false,
    };
    let or_unlimited = |amount| if amount > 0 { amount } else { UNLIMITED };
    let all = ChipPart {
        memory: entry.memory,
        sharers: entry.count,
        cores: ALL_CORES,
        ai_cores: or_unlimited(chip.ai_cores),
        ai_cpus: or_unlimited(chip.ai_cpus),
        soft: UNLIMITED,
    };
    cards.add(card, &all.row());
}

/// The chips of an annotation; what is wrong with others is told.
fn decode(text: &str, key: &str, word: &str, problems: &mut Bounded) -> Vec<RegisteredChip> {
    let list = match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list,
        Ok(Value::Null) => Vec::new(),
        Ok(_) => {
            problems.tell(|| format!("{key}: is no JSON array; restart the device plugin"));
            return Vec::new();
        }
        Err(error) => {
            problems.tell(|| format!("{key}: is no JSON ({error}); restart the device plugin"));
            return Vec::new();
        }
    };
    let mut entries = Vec::new();
    for (at, value) in list.iter().enumerate().take(MOST_CHIPS) {
        match entry(value, word) {
            Ok(entry) => entries.push(entry),
            Err(why) => problems.tell(|| {
                format!("{key}: entry {at} is left out: {why}; restart or update the device plugin")
            }),
        }
    }
    if list.len() > MOST_CHIPS {
        let count = list.len();
        problems.tell(|| format!("{key}: of {count} chips only {MOST_CHIPS} are used"));
    }
    entries
}

fn entry(value: &Value, word: &str) -> Result<RegisteredChip, String> {
    let id = value.get("id").and_then(Value::as_str).unwrap_or_default();
    if id.is_empty() {
        return Err("it has no id".to_owned());
    }
    let breaks = |c: char| c.is_whitespace() || c.is_control() || ",:;\"\\".contains(c);
    if id.contains(breaks) {
        // An allocation that names it would be read back as something else.
        return Err(format!("id {:?} has a character no id has", clip(id)));
    }
    match value.get("type").map(Value::as_str) {
        Some(Some(kind)) if kind == word => {}
        Some(Some(kind)) => return Err(format!("type {:?} is not {word}", clip(kind))),
        _ => return Err("it has no type".to_owned()),
    }
    let ring = value
        .get("custominfo")
        .and_then(|info| info.get("NetworkID"));
    Ok(RegisteredChip {
        id: id.to_owned(),
        // Go leaves out what is 0 or false.
        index: number(value, "index", 0)? as u32,
        count: number(value, "count", 1)?,
        memory: number(value, "devmem", 1)?,
        healthy: value.get("health") == Some(&Value::Bool(true)),
        ring: ring.and_then(Value::as_i64),
    })
}

fn number(value: &Value, key: &str, least: i64) -> Result<i64, String> {
    let number = match value.get(key) {
        None | Some(Value::Null) => Some(0),
        Some(value) => value.as_i64(),
    };
    let possible = number.filter(|number| (least..=i64::from(i32::MAX)).contains(number));
    possible.ok_or_else(|| format!("{key} is no number from {least} to {}", i32::MAX))
}
