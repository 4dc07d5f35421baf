//! Cards of nodes: what each has, who shares it, and whether it may be given out.

use std::collections::BTreeMap;

use pumice_devices::{LedgerEntry, NodeCards, Used, View};
use pumice_model::{NodeIx, TaskIx};
use serde::{Deserialize, Serialize};

use super::find::Absent;
use super::{MOST_ROWS, find};
use crate::Engine;

/// One card.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CardView {
    /// Node.
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
    /// Memory.
    pub memory: i64,
    /// Cores in use, in percent of a card.
    pub cores_used: u32,
    /// Cores it gives out, in percent of a card.
    pub cores: u32,
    /// Containers that share it.
    pub sharers: u32,
    /// Most containers that may share it; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
    /// It may be given out.
    pub healthy: bool,
    /// Why it may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Who holds part of it.
    pub pods: Vec<CardPod>,
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
    pub cores: u32,
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

impl Engine {
    pub(super) fn cards_view(&self, node: Option<&str>) -> Result<CardsView, Absent> {
        let nodes = match node {
            Some(name) => vec![self.find_node(name)?],
            None => self.state.nodes.indices().collect(),
        };
        let mut view = CardsView::default();
        for node in nodes {
            for (family, cards) in self.state.nodes.devices[node.at()].families() {
                view.total += cards.cards.len();
                let room = MOST_ROWS.saturating_sub(view.cards.len());
                if room > 0 {
                    let rows = self.cards_of(node, family, cards);
                    view.cards.extend(rows.into_iter().take(room));
                }
            }
        }
        Ok(view)
    }

    fn find_node(&self, name: &str) -> Result<NodeIx, Absent> {
        let nodes = &self.state.nodes;
        nodes.find(name).ok_or_else(|| {
            let names = nodes.indices().map(|node| nodes.object(node).name.as_str());
            find::no_node(name, names)
        })
    }

    fn cards_of(&self, node: NodeIx, family: u8, all: &NodeCards) -> Vec<CardView> {
        let devices = self.state.devices.families();
        let mut held: BTreeMap<(u16, u32), (Used, bool)> = BTreeMap::new();
        for hold in all.entries(View::Now) {
            let LedgerEntry {
                pod,
                card,
                used,
                certain,
                ..
            } = hold;
            let of = held.entry((*card, *pod)).or_insert((Used::default(), true));
            of.0.add(*used);
            of.1 &= *certain;
        }
        let cards = all.cards.iter().enumerate();
        cards
            .map(|(at, card)| {
                let pods = held.range((at as u16, 0)..=(at as u16, u32::MAX));
                CardView {
                    node: self.state.nodes.object(node).name.clone(),
                    family: devices.name(family).to_owned(),
                    index: card.index,
                    id: card.id.to_string(),
                    kind: card.kind.to_string(),
                    mode: devices.mode(family, card).to_owned(),
                    memory_used: card.used.memory,
                    memory: card.memory,
                    cores_used: card.used.cores,
                    cores: card.cores,
                    sharers: card.used.slots,
                    slots: (card.slots != u32::MAX).then_some(card.slots),
                    healthy: card.usable,
                    problem: card.unusable.as_deref().map(str::to_owned),
                    pods: pods
                        .map(|(of, part)| self.pod_on_card(of.1, *part))
                        .collect(),
                }
            })
            .collect()
    }

    fn pod_on_card(&self, pod: u32, (used, certain): (Used, bool)) -> CardPod {
        CardPod {
            pod: self.state.task_key(TaskIx(pod)),
            memory: used.memory,
            cores: used.cores,
            certain,
        }
    }
}
