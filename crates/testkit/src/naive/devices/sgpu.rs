//! MetaX by the rules alone: who shares an sGPU, which one is the best, what links are worth (spec/04 §23.9,
//! §23.10).

use std::collections::BTreeMap;

use pumice_model::object::{NodeObject, PodObject};
use serde_json::Value;

use super::super::state::label;
use super::asks::Ask;
use super::vendor_cards::Card;
use super::vendors::device;

/// The word of these.
pub const WORD: &str = "Metax-SGPU";

/// What the annotations of a pod say.
#[derive(Clone, Default)]
pub struct Terms {
    policy: String,
    class: String,
    /// What it says of links.
    links: String,
}

impl Terms {
    pub fn of(pod: &PodObject) -> Self {
        let said = |key: &str| {
            let key = format!("metax-tech.com/sgpu-{key}");
            let said = label(&pod.facts.annotations, &key);
            said.unwrap_or_default().to_owned()
        };
        let policy = match said("qos-policy").as_str() {
            "" => "best-effort".to_owned(),
            other => other.to_owned(),
        };
        Self {
            policy,
            class: said("app-class"),
            links: said("topology-aware"),
        }
    }

    pub fn is_online(&self) -> bool {
        self.class == "online"
    }

    fn has_class(&self) -> bool {
        ["online", "offline"].contains(&self.class.as_str())
    }

    /// A pod that asks so many cards of a container can never be.
    pub fn refuses(&self, count: usize) -> bool {
        let policies = ["best-effort", "fixed-share", "burst-share"];
        (!policies.contains(&self.policy.as_str()) && !self.is_online())
            || !(self.class.is_empty() || self.has_class())
            || (self.has_class() && count != 1)
            || !["", "true", "1", "false"].contains(&self.links.as_str())
    }
}

/// A container on a card, with the name of its pod.
#[derive(Clone)]
pub struct Holder {
    pub pod: String,
    pub cores: i64,
    pub terms: Terms,
}

/// What a node tells of a card.
#[derive(Clone, Default)]
pub struct Traits {
    policy: String,
    zone: i64,
}

/// The entries of the annotation of a node, each with its cores and what is told besides.
pub fn entries(node: &NodeObject) -> Vec<(Value, Traits)> {
    let text = label(&node.device_annotations, "metax-tech.com/node-gpu-devices");
    let told: Value = serde_json::from_str(text.unwrap_or_default()).unwrap_or_default();
    let all = told.as_array().cloned().unwrap_or_default().into_iter();
    all.map(|entry| {
        let traits = Traits {
            policy: entry["qosPolicy"].as_str().unwrap_or_default().to_owned(),
            zone: entry["linkZone"].as_i64().unwrap_or(0),
        };
        (entry, traits)
    })
    .collect()
}

/// Online and offline pods on a card.
fn classes(card: &Card) -> (i64, i64) {
    let pods: BTreeMap<&str, &str> = card
        .holders
        .iter()
        .map(|one| (one.pod.as_str(), one.terms.class.as_str()))
        .collect();
    let count = |class: &str| pods.values().filter(|known| **known == class).count() as i64;
    (count("online"), count("offline"))
}

/// The app classes and policies of those on a card let the pod join them.
pub fn joins(card: &Card, ask: &Ask, terms: &Terms) -> bool {
    if card.used_slots == 0 {
        return true;
    }
    let (online, offline) = classes(card);
    if (online + offline > 0) != terms.has_class() || (online > 0 && terms.class == "offline") {
        return false;
    }
    if terms.is_online() || ask.cores == Some(100) {
        return true;
    }
    let tell = |one: &&Holder| !one.terms.is_online() && one.cores < 100;
    let mut policies: Vec<&str> = card
        .holders
        .iter()
        .filter(tell)
        .map(|one| one.terms.policy.as_str())
        .collect();
    if policies.is_empty() && !card.traits.policy.is_empty() {
        policies.push(&card.traits.policy);
    }
    policies.iter().all(|policy| *policy == terms.policy)
}

/// Puts cards, which stand as the policy has them, in the order of the pod.
pub fn order(cards: &[Card], ask: &Ask, terms: &Terms, order: &mut [usize]) {
    if terms.is_online() {
        order.sort_by_key(|at| {
            let (online, offline) = classes(&cards[*at]);
            match online == 0 && offline > 0 {
                true => (1, offline, 0),
                false => (0, online, offline),
            }
        });
    } else if !terms.has_class() && ask.cores == Some(100) {
        let before = order.to_vec();
        let zone = |at: &usize| cards[*at].traits.zone;
        let size = |at: &usize| {
            before
                .iter()
                .filter(|other| zone(other) == zone(at))
                .count()
        };
        let first = |at: &usize| before.iter().position(|other| zone(other) == zone(at));
        let linked = before.iter().filter(|at| zone(at) > 0);
        let enough = linked.filter(|at| size(at) >= ask.count);
        let best = enough.min_by_key(|at| (size(at), first(at))).map(zone);
        order.sort_by_key(|at| match zone(at) {
            own if Some(own) == best => (0, 0, None),
            own if own > 0 => (1, size(at), first(at)),
            _ => (2, 0, None),
        });
    }
}

/// 10 for each two that are linked.
fn linked(zones: &[i64]) -> i64 {
    let mut points = 0;
    for (at, zone) in zones.iter().enumerate() {
        for other in &zones[at + 1..] {
            points += if *zone > 0 && zone == other { 10 } else { 0 };
        }
    }
    points
}

/// What the choice adds to the score of the node, whose cards are as before.
pub fn score(cards: &[Card], chosen: &[(&Ask, &Vec<usize>)], terms: &Terms) -> i64 {
    let mut own: Vec<usize> = Vec::new();
    for (ask, way) in chosen {
        if ask.maker.word == WORD && (terms.is_online() || ask.cores == Some(100)) {
            own.extend(way.iter());
        }
    }
    own.sort_unstable();
    own.dedup();
    if terms.is_online() {
        let points = |at: &usize| match classes(&cards[*at]) {
            (0, offline) => -100 * offline,
            (online, offline) => -20 * online - 2 * offline,
        };
        return 10_000 * own.iter().map(points).sum::<i64>();
    }
    if own.is_empty() || !["true", "1"].contains(&terms.links.as_str()) {
        return 0;
    }
    let is_idle = |at: &usize| {
        let card = &cards[*at];
        card.word == WORD && card.usable && card.used_slots == 0
    };
    let zones = |all: &[usize]| -> Vec<i64> {
        let zone = |at: &usize| cards[*at].traits.zone;
        all.iter().map(zone).collect()
    };
    let idle: Vec<usize> = (0..cards.len()).filter(is_idle).collect();
    let rest: Vec<usize> = idle
        .iter()
        .copied()
        .filter(|at| !own.contains(at))
        .collect();
    let taken = linked(&zones(&own));
    10_000 * (10 * taken - (linked(&zones(&idle)) - taken - linked(&zones(&rest))))
}

/// What its own plugin is told of the cards of each container that has some.
pub fn written(elements: &[String]) -> (String, String) {
    let list = |element: &String| {
        let written = |piece: &str| {
            let (id, memory, cores) = device(piece);
            format!(r#"{{"uuid":"{id}","compute":{cores},"vRam":{memory}}}"#)
        };
        let pieces = element.split(':').filter(|piece| !piece.is_empty());
        let all: Vec<String> = pieces.map(written).collect();
        format!("[{}]", all.join(","))
    };
    let some = elements.iter().filter(|element| !element.is_empty());
    let lists: Vec<String> = some.map(list).collect();
    let key = "metax-tech.com/gpu-devices-allocated".to_owned();
    (key, format!("[{}]", lists.join(",")))
}

/// What a node tells of so many whole GPUs together.
pub fn rating(node: &NodeObject, count: usize, policy: &str) -> i64 {
    let told = |key: &str| {
        let key = format!("metax-tech.com/gpu.topology.{key}");
        let text = label(&node.device_annotations, &key)?;
        let told: Value = serde_json::from_str(text).ok()?;
        told.get(count.to_string())?.as_i64()
    };
    let points = match policy {
        "binpack" => told("losses").map(|loss| 2000 - loss),
        "spread" => told("scores"),
        _ => None,
    };
    points.unwrap_or(0)
}
