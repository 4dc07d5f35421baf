//! In which order a pod of HAMi's vendors takes cards, by the rules alone (spec/04 §23.4).

use std::cmp::Ordering;

use pumice_model::object::{NodeObject, PodObject};

use super::super::state::label;
use super::asks::Ask;
use super::vendor_cards::Card;

/// What the annotations of a pod say.
pub struct Preference<'a> {
    /// By which nodes are scored, card by card.
    pub policy: &'a str,
    /// By how much of its cards is in use.
    pub of_nodes: Option<&'a str>,
    pub idle_only: bool,
    keys: Vec<&'a str>,
    linked: bool,
    weights: Option<[i64; 3]>,
}

fn words<'a>(pod: &'a PodObject, key: &str) -> Vec<&'a str> {
    let text = label(&pod.facts.annotations, key).unwrap_or_default();
    text.split(',').map(str::trim).collect()
}

/// What is written of slots, cores and memory; an error if that cannot be read.
fn weights(pod: &PodObject) -> Result<Option<[i64; 3]>, ()> {
    let key = "hami.io/device-scoring-weights";
    if label(&pod.facts.annotations, key).is_none() {
        return Ok(None);
    }
    let all = words(pod, key);
    let named = ["slot", "core", "memory"].map(|name| {
        let own = all.iter().filter_map(|word| word.split_once('='));
        let own: Vec<&str> = own.filter(|(of, _)| *of == name).map(|(_, n)| n).collect();
        match own[..] {
            [weight] => weight.parse::<i64>().ok().filter(|weight| *weight >= 0),
            _ => None,
        }
    });
    match named {
        [Some(slot), Some(core), Some(memory)] if all.len() == 3 && slot + core + memory > 0 => {
            Ok(Some([slot, core, memory]))
        }
        _ => Err(()),
    }
}

/// Whether the weights that a pod asks for cannot be read.
pub fn refuses(pod: &PodObject) -> bool {
    weights(pod).is_err()
}

/// A pod says which cards it would rather have (spec/10 §3); some policies count for no NPU.
pub fn is_told(pod: &PodObject, is_of_npus: bool) -> bool {
    let counts = match is_of_npus {
        true => &["binpack", "spread", "numa"][..],
        false => &["binpack", "spread", "numa", "mutex", "topology-aware"],
    };
    let said = words(pod, "hami.io/gpu-scheduler-policy");
    said.iter().any(|word| counts.contains(word))
        || !matches!(weights(pod), Ok(None))
        || Preference::of(pod, "").of_nodes.is_some()
}

impl<'a> Preference<'a> {
    /// What a pod prefers, where the configuration says this.
    pub fn of(pod: &'a PodObject, configured: &'a str) -> Self {
        let said = words(pod, "hami.io/gpu-scheduler-policy");
        let mut keys = Vec::new();
        for word in &said {
            if ["binpack", "spread", "numa"].contains(word) && !keys.contains(word) {
                keys.push(*word);
            }
        }
        let scores = keys.iter().find(|key| **key != "numa");
        let policy = scores.copied().unwrap_or(configured);
        if keys.is_empty() && ["binpack", "spread"].contains(&configured) {
            keys.push(configured);
        }
        // Where the measure does not choose, the fullest cards are taken (spec/10 §3).
        if keys.is_empty() && configured == "fragmentation" {
            keys.push("binpack");
        }
        let weights = weights(pod).ok().flatten();
        if weights.is_some() && keys.is_empty() {
            keys.push("spread");
        }
        let of_nodes = label(&pod.facts.annotations, "hami.io/node-scheduler-policy");
        Self {
            policy,
            of_nodes: of_nodes.filter(|policy| ["binpack", "spread"].contains(policy)),
            idle_only: said.contains(&"mutex"),
            keys,
            linked: said.contains(&"topology-aware"),
            weights,
        }
    }

    /// The order is that of the policy by which cards are scored.
    pub fn is_by_policy(&self) -> bool {
        // NPUs by the measure are not ordered by how full they are before.
        let is_measured = self.policy == "fragmentation" && self.keys == ["binpack"];
        let is_same = self.keys.is_empty() || self.keys == [self.policy] || is_measured;
        is_same && self.weights.is_none()
    }

    fn compare(&self, one: &Rank, other: &Rank) -> Ordering {
        for key in &self.keys {
            let found = match (*key, self.weights) {
                ("numa", _) => other.numa.cmp(&one.numa),
                ("binpack", None) => other.memory.cmp(&one.memory),
                ("spread", None) => one.slots.cmp(&other.slots),
                ("binpack", Some(weights)) => other.full(weights).total_cmp(&one.full(weights)),
                (_, weights) => {
                    let weights = weights.expect("weighed");
                    one.full(weights).total_cmp(&other.full(weights))
                }
            };
            if found.is_ne() {
                return found;
            }
        }
        Ordering::Equal
    }

    /// Orders what has these ranks by place, the best first.
    pub fn order(&self, rank: impl Fn(usize) -> Rank, order: &mut [usize]) {
        let last_first = self.keys.is_empty() || self.keys.contains(&"numa");
        order.sort_by(|one, other| {
            let found = self.compare(&rank(*one), &rank(*other));
            found.then(match last_first {
                true => other.cmp(one),
                false => one.cmp(other),
            })
        });
    }

    /// Puts those first that are linked best: tries all sets.
    pub fn link(&self, cards: &[Card], ask: &Ask, node: &NodeObject, order: &mut [usize]) {
        let is_split = order.iter().any(|at| cards[*at].slices.is_some());
        if !self.linked || is_split || ask.count >= order.len() {
            return;
        }
        let text = label(&node.device_annotations, "hami.io/node-nvidia-score");
        let told: serde_json::Value = serde_json::from_str(text.unwrap_or("[]")).expect("JSON");
        let told_of = |one: usize, other: usize| {
            let mut rows = told.as_array().into_iter().flatten();
            let row = rows.find(|row| row["uuid"] == cards[one].id.as_str());
            let points = row.and_then(|row| row["score"][&cards[other].id].as_i64());
            points.filter(|points| *points >= 0).unwrap_or(0)
        };
        let points = |one: usize, other: usize| told_of(one, other).min(told_of(other, one));
        let sum = |set: &Vec<usize>| -> i64 {
            let pairs = set.iter().enumerate();
            let with_later = |(at, one): (usize, &usize)| -> i64 {
                set[at + 1..].iter().map(|other| points(*one, *other)).sum()
            };
            pairs.map(with_later).sum()
        };
        let sets = super::vendors::ways(cards, order, ask.count);
        let best = match ask.count {
            1 => {
                let alone = |set: &&Vec<usize>| -> i64 {
                    let others = order.iter().filter(|other| **other != set[0]);
                    others.map(|other| points(set[0], *other)).sum()
                };
                sets.iter().min_by_key(alone)
            }
            _ => sets.iter().rev().max_by_key(|set| sum(set)),
        };
        let best = best.expect("enough cards").clone();
        order.sort_by_key(|at| !best.contains(at));
    }

    /// The score of a node by all its cards, where the pod asks for that: of memory, slots and cores what is
    /// in use and all.
    pub fn of_node(&self, cards: impl Iterator<Item = [(i64, i64); 3]>) -> Option<f64> {
        let policy = self.of_nodes?;
        let mut all = [(0, 0); 3];
        for card in cards {
            for (sum, (used, has)) in all.iter_mut().zip(card) {
                *sum = (sum.0 + used, sum.1 + has);
            }
        }
        let told: Vec<f64> = all
            .iter()
            .filter(|(_, all)| *all > 0)
            .map(|(used, all)| *used as f64 / *all as f64)
            .collect();
        let full = 100.0 * told.iter().sum::<f64>() / told.len().max(1) as f64;
        Some(match policy {
            "binpack" => full,
            _ => 100.0 - full,
        })
    }
}

/// By what cards are ordered.
pub struct Rank {
    /// In use.
    pub memory: i64,
    /// In use.
    pub slots: i64,
    /// NUMA node, or -1.
    pub numa: i64,
    /// Slots, cores and memory: in use with what is asked, and all.
    pub with_ask: [(i64, i64); 3],
}

impl Rank {
    /// Rank of a card of HAMi's vendors.
    pub fn of(card: &Card, ask: &Ask) -> Self {
        Self {
            memory: card.used_memory,
            slots: card.used_slots,
            numa: card.numa.parse().unwrap_or(-1),
            with_ask: [
                (card.used_slots + 1, card.slots),
                (card.used_cores + card.cores_of(ask), card.cores),
                (card.used_memory + card.memory_of(ask), card.memory),
            ],
        }
    }

    /// How full it is with what is asked of it.
    fn full(&self, weights: [i64; 3]) -> f64 {
        let parts = weights.iter().zip(self.with_ask);
        match self.with_ask.iter().any(|(_, all)| *all == 0) {
            true => 0.0,
            false => parts
                .map(|(weight, (used, all))| *weight as f64 * used as f64 / all as f64)
                .sum(),
        }
    }
}
