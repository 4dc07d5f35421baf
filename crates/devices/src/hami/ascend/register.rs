//! What a node says of its chips: `hami.io/node-register-<type>`, a JSON array (spec/05 §3.2).

use crate::facts::NodeFacts;
use crate::hami::kind::CardKind;
use crate::hami::registered_card::HamiCard;
use crate::hami::variant::CardMode;
use crate::hami::{json, links};
use crate::ledger::FamilyCode;
use crate::text::Bounded;

use super::chips::{ChipType, VnpuConfig};
use super::share::MODE;

/// Start of the node annotations with the chips of a type.
pub const REGISTER: &str = "hami.io/node-register-";
/// Node annotation: chips are shared by hami-core.
pub const SOFT: &str = "hami-vnpu-core";

/// A kind of cards for each type of chips.
pub fn kinds(config: &VnpuConfig) -> Vec<CardKind> {
    let kind = |chip: &ChipType| {
        let word = &chip.word;
        let names = chip.names.clone();
        let mut kind = CardKind::registered(word, &format!("{REGISTER}{word}"), word, names);
        kind.keys.uuids = vec![CardKind::uuid_keys(word)];
        kind.keys.mode = Some(MODE);
        kind.discover = match config.hami_core {
            true => |kind, node, problems| chips(kind, node, CardMode::HamiCore, problems),
            false => |kind, node, problems| chips(kind, node, CardMode::Template, problems),
        };
        kind
    };
    config.types.iter().map(kind).collect()
}

/// The chips of a type on a node, which is shared in a mode unless it says otherwise.
fn chips(
    kind: &CardKind,
    node: &NodeFacts,
    by_default: CardMode,
    problems: &mut Bounded,
) -> Vec<HamiCard> {
    let mode = match node.annotation(SOFT) {
        Some("true") => CardMode::HamiCore,
        Some(_) => CardMode::Template,
        None => by_default,
    };
    let Some(text) = node.annotation(&kind.source) else {
        return Vec::new();
    };
    let mut found = json::read(text, &kind.source, Some(&kind.word), problems);
    found.sort_by_key(|chip| chip.index);
    let mut rings = Vec::new();
    for chip in &mut found {
        mode.name().clone_into(&mut chip.mode);
        let ring = chip.ring.map_or(0, |told| links::number(told, &mut rings));
        chip.details = FamilyCode::new(ring);
    }
    found
}
