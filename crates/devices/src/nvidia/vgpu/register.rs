//! What a node says of its cards: `volcano.sh/node-vgpu-register` and
//! `volcano.sh/gpu-unhealthy-ids` (spec/04 §5, R6, R9, R10).
//!
//! ```text
//! register = 1*( card ":" )
//! card     = uuid "," slots "," memory "," type "," health [ "," mode *( "," ignored ) ]
//! ```

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::ledger::{Card, NodeCards};
use crate::nvidia::indices::{UNHEALTHY, set_aside};
use crate::nvidia::type_list::is_part;
use crate::nvidia::vgpu::config::VgpuConfig;
use crate::nvidia::vgpu::sharing::Sharing;
use crate::part::CardPart;
use crate::text::{Bounded, clip};

/// Node annotation with the cards.
pub const REGISTER: &str = "volcano.sh/node-vgpu-register";

/// One card as registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisteredCard<'a> {
    /// Position among all segments, gaps included.
    pub index: u32,
    /// UUID of the card.
    pub uuid: &'a str,
    /// Containers it may host.
    pub slots: u32,
    /// Memory in MiB ÷ factor.
    pub memory: u32,
    /// Type.
    pub kind: &'a str,
    /// Health as a truth value of Go.
    pub healthy: bool,
    /// Mode, verbatim; hami-core where the plugin is too old to tell.
    pub mode: &'a str,
}

/// The cards of a register annotation; what is wrong with others is told.
pub fn decode<'a>(text: &'a str, problems: &mut Bounded) -> Vec<RegisteredCard<'a>> {
    let mut entries = Vec::new();
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    for (index, segment) in text.split(':').enumerate() {
        if segment.trim().is_empty() {
            continue;
        }
        let index = index as u32;
        match entry(index, segment) {
            Ok(new) => match known.get(new.uuid) {
                Some(first) => problems.tell(|| {
                    format!(
                        "{REGISTER}: card {index} has the UUID {} of card {first} and is left \
                         out; restart the device plugin of the node",
                        clip(new.uuid)
                    )
                }),
                None => {
                    if let Some(health) = unclear_health(segment) {
                        problems.tell(|| {
                            format!(
                                "{REGISTER}: card {index} {} has the health {:?}, which is neither \
                                 true nor false: it counts as unhealthy; restart or update the \
                                 device plugin of the node",
                                clip(new.uuid),
                                clip(health)
                            )
                        });
                    }
                    known.insert(new.uuid, index);
                    entries.push(new);
                }
            },
            Err(why) => problems.tell(|| {
                format!(
                    "{REGISTER}: card {index} {:?} is left out: {why}; restart or update the \
                     device plugin of the node",
                    clip(segment)
                )
            }),
        }
    }
    // Positions of cards are 16 bits wide in the ledger.
    entries.truncate(usize::from(u16::MAX));
    entries
}

/// The health of a card, if it is no truth value of Go.
fn unclear_health(segment: &str) -> Option<&str> {
    let health = segment.split(',').nth(4)?.trim();
    let clear = is_true(health) || matches!(health, "0" | "f" | "F" | "FALSE" | "false" | "False");
    (!clear).then_some(health)
}

fn is_true(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

fn entry(index: u32, segment: &str) -> Result<RegisteredCard<'_>, String> {
    let mut fields = segment.split(',').map(str::trim);
    let mut next = |name: &str| fields.next().ok_or(format!("field {name} is missing"));
    let uuid = next("uuid")?;
    if uuid.is_empty() {
        return Err("the UUID is empty".to_owned());
    }
    if uuid.contains(['[', ']', ';']) {
        // An allocation that names it would be read back as something else.
        return Err("the UUID contains one of [ ] ;".to_owned());
    }
    let slots = number("slots", next("slots")?)?;
    let memory = number("memory", next("memory")?)?;
    let kind = next("type")?;
    let health = next("health")?;
    Ok(RegisteredCard {
        index,
        uuid,
        slots,
        memory,
        kind,
        healthy: is_true(health),
        mode: fields.next().unwrap_or("hami-core"),
    })
}

fn number(name: &str, text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(value) if value > 0 && value <= i32::MAX as u32 => Ok(value),
        _ => Err(format!(
            "{name} {:?} is not a number from 1 to 2147483647",
            clip(text)
        )),
    }
}

/// Adds the card of an entry.
pub fn add(cards: &mut NodeCards, entry: &RegisteredCard, config: &VgpuConfig) {
    let sharing = match entry.mode {
        "mig" => Sharing::Mig(config.nvidia.geometry_for(entry.kind)),
        "mps" => Sharing::Mps,
        _ => Sharing::HamiCore,
    };
    let unusable = if !is_part("NVIDIA", entry.kind) {
        Some(format!("type {:?} is not of NVIDIA", entry.kind))
    } else if !entry.healthy {
        Some("unhealthy".to_owned())
    } else if sharing == Sharing::Mig(None) {
        Some(format!(
            "no geometry for model {:?}: add it to knownMigGeometries",
            entry.kind
        ))
    } else {
        None
    };
    let card = Card {
        id: Arc::from(entry.uuid),
        kind: Arc::from(entry.kind),
        unusable: unusable.map(String::into_boxed_str),
        index: entry.index,
        variant: sharing.code(),
        is_plain: !matches!(sharing, Sharing::Mig(Some(_))) && config.cores <= 100,
        ..Card::default()
    };
    let all = CardPart {
        memory: i64::from(entry.memory),
        sharers: i64::from(entry.slots),
        cores: i64::from(config.cores),
    };
    cards.add(card, &all.row());
}

/// Takes cards out that the node calls unhealthy; entries are indices or UUIDs.
pub fn mark_unhealthy(cards: &mut [Card], list: &str, problems: &mut Bounded) {
    for entry in set_aside(cards, list, "listed as unhealthy on the node") {
        problems.tell(|| {
            let entry = clip(entry);
            format!(
                "{UNHEALTHY}: the node has no card {entry:?}; write indices or UUIDs of {REGISTER}"
            )
        });
    }
}
