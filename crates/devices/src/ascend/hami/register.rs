//! What a node says of its chips: `hami.io/node-register-<type>`, a JSON array (spec/05 §3.2).

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::facts::NodeFacts;
use crate::hami::json;
use crate::hami::register::HamiCard;
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

/// What a chip is, packed into the [`Card::variant`] that the ledger keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChipVariant {
    /// Place of its type in [`VnpuConfig::types`].
    pub of: u16,
    /// The node shares it by hami-core.
    pub soft: bool,
    /// Group of chips with fast links that the chip is in, counted from 1 in the order of the chips.
    pub ring: Option<u8>,
}

impl ChipVariant {
    /// What the ledger keeps of a chip, unpacked.
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
        let mut entries = json::read(text, &key, Some(&chip.word), &mut problems);
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

fn add(cards: &mut NodeCards, chip: &ChipType, entry: &HamiCard, variant: ChipVariant) {
    let card = Card {
        id: Arc::from(entry.id.as_str()),
        kind: Arc::from(chip.word.as_str()),
        unusable: (!entry.healthy).then(|| "unhealthy".into()),
        index: entry.index,
        numa: entry.numa,
        variant: variant.code(),
        ..Card::default()
    };
    let or_unlimited = |amount| if amount > 0 { amount } else { UNLIMITED };
    let all = ChipPart {
        memory: entry.memory,
        sharers: entry.slots,
        cores: ALL_CORES,
        ai_cores: or_unlimited(chip.ai_cores),
        ai_cpus: or_unlimited(chip.ai_cpus),
        soft: UNLIMITED,
    };
    cards.add(card, &all.row());
}
