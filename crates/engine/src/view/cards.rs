//! Cards of nodes: what each has, who shares it, and whether it may be given out.

use std::collections::BTreeMap;

use pumice_devices::{LedgerTime, NodeCards, Portion, UNLIMITED};
use pumice_model::{NodeIx, TaskIx};
use serde::{Deserialize, Serialize};

use super::find::Absent;
use super::{MAX_ROWS, find};
use crate::view::pages::Pages;

/// One card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardView {
    /// Name of the node that the card is on.
    pub node: String,
    /// Kind of devices it belongs to: `vgpu`, `gpushare`, …
    pub family: String,
    /// Position on the node, as `nvidia-smi` and annotations count it.
    pub index: u32,
    /// UUID; its index where it has none.
    pub id: String,
    /// Type, as the node tells it.
    #[serde(rename = "type")]
    pub kind: String,
    /// How it is shared.
    pub mode: String,
    /// Memory in use, in the units of the node's device plugin (MiB unless configured otherwise).
    pub memory_used: i64,
    /// Memory of the card, in the units of `memory_used`.
    pub memory: i64,
    /// Cores in use, in percent of a card; of MindCluster's NPUs AI cores.
    pub cores_used: i64,
    /// Cores it gives out, in the same unit.
    pub cores: i64,
    /// Containers that share it.
    pub sharers: i64,
    /// Most containers that may share it; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<i64>,
    /// What else is counted of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<CardAmount>,
    /// It may be given out.
    pub healthy: bool,
    /// Why it may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Who holds part of it.
    pub pods: Vec<CardPod>,
    /// Parts that nobody holds, where it is known how the card is split.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free_parts: Vec<FreePart>,
}

/// A part of a card that nobody holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreePart {
    /// Name of the part, as its kind of devices has it.
    pub name: String,
    /// Memory it has.
    pub memory: i64,
}

/// An amount of a card that only its kind of devices counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardAmount {
    /// What is counted.
    pub name: String,
    /// In use.
    pub used: i64,
    /// In all.
    pub capacity: i64,
}

/// A pod on a card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardPod {
    /// `namespace/name`.
    pub pod: String,
    /// Memory it holds.
    pub memory: i64,
    /// Cores it holds, in percent of a card.
    pub cores: i64,
    /// Parts of the card that it holds, where the card is split: MIG instances, templates of NPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    /// It is known to be on this card. What cannot be read counts on every card it could be on.
    pub certain: bool,
}

/// Cards of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardsView {
    /// Cards there are, on the node or in all.
    pub total: usize,
    /// The first ones, by node and index.
    pub cards: Vec<CardView>,
}

impl Pages<'_> {
    pub(super) fn cards_view(&self, node: Option<&str>) -> Result<CardsView, Absent> {
        let nodes = match node {
            Some(name) => vec![self.find_node(name)?],
            None => self.state.nodes().indices().collect(),
        };
        let mut view = CardsView::default();
        for node in nodes {
            for (family, cards) in self.state.nodes().devices[node.at()].families() {
                view.total += cards.cards.len();
                let room = MAX_ROWS.saturating_sub(view.cards.len());
                if room > 0 {
                    let rows = self.cards_of(node, family, cards);
                    view.cards.extend(rows.into_iter().take(room));
                }
            }
        }
        Ok(view)
    }

    pub(super) fn find_node(&self, name: &str) -> Result<NodeIx, Absent> {
        let nodes = self.state.nodes();
        nodes.find(name).ok_or_else(|| {
            let names = nodes.indices().map(|node| nodes.object(node).name.as_str());
            find::no_node(name, names)
        })
    }

    fn cards_of(&self, node: NodeIx, family: u8, all: &NodeCards) -> Vec<CardView> {
        let devices = self.state.supplies().devices().families();
        let mut held: BTreeMap<(u16, u32), (Portion, bool)> = BTreeMap::new();
        let mut parts: BTreeMap<(u16, u32), Vec<String>> = BTreeMap::new();
        for entry in all.entries(LedgerTime::Now) {
            let idle = (all.used(0, LedgerTime::Idle).into(), true);
            let of = held.entry((entry.card, entry.pod)).or_insert(idle);
            for (sum, part) in of.0.iter_mut().zip(&entry.held) {
                *sum += part;
            }
            of.1 &= entry.certain;
            if let Some(part) = devices.part_name(family, all, entry) {
                let known = parts.entry((entry.card, entry.pod)).or_default();
                known.push(part);
            }
        }
        let cards = all.cards.iter().enumerate();
        cards
            .map(|(at, card)| {
                let pods = held.range((at as u16, 0)..=(at as u16, u32::MAX));
                let (used, capacity) = (all.used(at, LedgerTime::Now), all.capacity(at));
                let slots = amount(all, capacity, SHARERS);
                CardView {
                    node: self.state.nodes().object(node).name.clone(),
                    family: devices.name(family).to_owned(),
                    index: card.index,
                    id: card.id.to_string(),
                    kind: card.kind.to_string(),
                    mode: devices.mode(family, card).to_owned(),
                    memory_used: amount(all, used, MEMORY),
                    memory: amount(all, capacity, MEMORY),
                    cores_used: amount(all, used, CORES),
                    cores: amount(all, capacity, CORES),
                    sharers: amount(all, used, SHARERS),
                    slots: (slots != UNLIMITED).then_some(slots),
                    others: others(all, at),
                    healthy: card.is_usable(),
                    problem: card.unusable.as_deref().map(str::to_owned),
                    free_parts: free_parts(devices.free_parts(family, all, at)),
                    pods: pods
                        .map(|(of, (part, certain))| CardPod {
                            pod: self.state.population().task_key(TaskIx(of.1)),
                            memory: amount(all, part, MEMORY),
                            cores: amount(all, part, CORES),
                            parts: parts.get(of).cloned().unwrap_or_default(),
                            certain: *certain,
                        })
                        .collect(),
                }
            })
            .collect()
    }
}

fn free_parts(parts: Vec<(String, i64)>) -> Vec<FreePart> {
    let parts = parts.into_iter();
    parts
        .map(|(name, memory)| FreePart { name, memory })
        .collect()
}

pub(super) const MEMORY: &str = "memory";
pub(super) const CORES: &str = "cores";
/// How many containers share a card, among what is counted of it.
pub(super) const SHARERS: &str = "sharers";

/// The amount of a dimension in a row; 0 where the family counts no such thing.
pub(super) fn amount(cards: &NodeCards, row: &[i64], name: &str) -> i64 {
    cards.dimension(name).map_or(0, |at| row[at])
}

/// What is limited of a card besides memory, cores and sharers.
fn others(cards: &NodeCards, card: usize) -> Vec<CardAmount> {
    let rows = cards
        .used(card, LedgerTime::Now)
        .iter()
        .zip(cards.capacity(card));
    let all = cards.dimensions().iter().zip(rows);
    let all = all.filter(|(_, (_, capacity))| **capacity != UNLIMITED);
    all.filter(|(of, _)| ![MEMORY, CORES, SHARERS].contains(&of.name))
        .map(|(of, (used, capacity))| CardAmount {
            name: of.name.to_owned(),
            used: *used,
            capacity: *capacity,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pumice_devices::{Card, Dimension};

    use super::*;

    #[test]
    fn what_only_one_kind_of_devices_counts_is_shown_too() {
        const OF: fn(&'static str) -> Dimension = |name| Dimension {
            name,
            is_physical: true,
        };
        let dimensions = Vec::leak(vec![OF("cores"), OF("aicpu"), OF("dvpp")]);
        let mut cards = NodeCards::new(dimensions);
        cards.add(Card::default(), &[8, 7, 1]);
        assert_eq!(amount(&cards, cards.capacity(0), CORES), 8);
        assert_eq!(amount(&cards, cards.capacity(0), MEMORY), 0);
        let others: Vec<(String, i64)> = others(&cards, 0)
            .into_iter()
            .map(|of| (of.name, of.capacity))
            .collect();
        assert_eq!(others, [("aicpu".to_owned(), 7), ("dvpp".to_owned(), 1)]);
    }
}
