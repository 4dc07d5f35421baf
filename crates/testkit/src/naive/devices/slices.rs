//! Enflame's shared GCUs by the rules alone (spec/04 §23.14).

use pumice_model::object::{ContainerFacts, NodeObject};

use super::super::state::label;
use super::asks::Ask;
use super::makers::Maker;
use super::vendor_cards::Card;

pub const WORD: &str = "Enflame";
/// Node annotation.
const KEY: &str = "enflame.com/gcu-drs-capacity";

/// What a container asks of a profile: its size, or GiB or MiB, and percent; 0 for any.
#[derive(Clone, Copy)]
pub struct Wanted {
    size: i64,
    units: i64,
    percent: i64,
}

/// The cards of a node.
pub fn cards(node: &NodeObject) -> Vec<Card> {
    let Some(text) = label(&node.device_annotations, KEY) else {
        return Vec::new();
    };
    let told: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let named = told["profiles"].as_object().expect("profiles").keys();
    let mut profiles: Vec<(i64, i64)> = named
        .map(|name| {
            let (size, gib) = name.split_once("g.").expect("slices and memory");
            let gib = gib.strip_suffix("gb").expect("GiB");
            let number = |text: &str| text.parse::<i64>().expect("a number");
            (number(size), number(gib) * 1024)
        })
        .collect();
    profiles.sort_unstable();
    let (largest, _) = *profiles.last().expect("a profile");
    let memory = profiles.iter().map(|(_, mib)| *mib).max();
    let card = |device: &serde_json::Value| {
        let capacity = device["capacity"].as_i64().expect("slices");
        Card {
            word: WORD,
            id: format!(
                "{}-enflame-drs-{}",
                node.name,
                device["index"].as_str().expect("an index")
            ),
            kind: WORD.to_owned(),
            slots: capacity,
            memory: memory.expect("a profile"),
            cores: capacity.min(largest),
            usable: true,
            profiles: profiles.clone(),
            ..Card::default()
        }
    };
    let devices = told["devices"].as_array().expect("devices");
    devices.iter().map(card).collect()
}

/// What a container asks; `None` when that can never be.
pub fn ask(container: &ContainerFacts, at: usize, maker: &'static Maker) -> Option<Option<Ask>> {
    let amount = |name: &str| container.milli(name).map(|milli| milli / 1000);
    let asked = [maker.count, maker.memory, maker.cores].map(amount);
    let [size, units, percent] = asked;
    if asked == [None; 3] {
        return Some(None);
    }
    let is_both = size.is_some() && (units.is_some() || percent.is_some());
    if is_both || asked.contains(&Some(0)) || percent > Some(100) {
        return None;
    }
    Some(Some(Ask {
        container: at,
        maker,
        count: 1,
        memory: None,
        cores: None,
        named: None,
        profile: Some(Wanted {
            size: size.unwrap_or(0),
            units: units.unwrap_or(0),
            percent: percent.unwrap_or(0),
        }),
    }))
}

/// A container names something of these cards.
pub fn asks_some(container: &ContainerFacts, maker: &Maker) -> bool {
    let names = [maker.count, maker.memory, maker.cores];
    names.iter().any(|name| container.milli(name) > Some(0))
}

/// Slices and MiB of the profile of a card that a container gets.
pub fn profile(card: &Card, wanted: Wanted) -> Option<(i64, i64)> {
    let (_, largest) = *card.profiles.last()?;
    let gib = match wanted.units > 2 * largest / 1024 {
        true => (wanted.units + 1023) / 1024,
        false => wanted.units,
    };
    let mut profiles = card.profiles.iter().copied();
    profiles.find(|(size, mib)| {
        (wanted.size == 0 || *size == wanted.size)
            && *mib >= gib * 1024
            && percent(card, *size) >= wanted.percent
    })
}

/// Percent of the largest profile that lists tell of so many slices.
pub fn percent(card: &Card, size: i64) -> i64 {
    let (all, _) = *card.profiles.last().expect("a profile");
    (100 * size + all - 1) / all
}

/// Slices of so many percent, as all nodes of random clusters have six in their largest profile.
pub fn slices(percent: i64) -> i64 {
    percent * 6 / 100
}

/// A card has such a profile, and so many slices.
pub fn has(card: &Card, wanted: Wanted) -> bool {
    profile(card, wanted).is_some_and(|(size, _)| size <= card.cores)
}

/// Once a container has some of a card, its pod gets no other one.
pub fn close_others(cards: &mut [Card], at: usize) {
    for (other, card) in cards.iter_mut().enumerate() {
        card.usable &= card.word != WORD || other == at;
    }
}
