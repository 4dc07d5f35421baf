//! The NUMA nodes of a node, as its Numatopology and its cards tell of them: what is free in each.

use std::collections::BTreeMap;

use pumice_model::NodeIx;
use serde::{Deserialize, Serialize};

use crate::view::pages::Pages;

/// NUMA nodes of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NumaView {
    /// Which CPUs the kubelet lets a container have (`TopologyManagerPolicy`); `None` where nobody tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// By number.
    pub nodes: Vec<NumaNodeView>,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NumaNodeView {
    /// Number of the NUMA node.
    pub numa: u32,
    /// CPUs it has.
    pub cpus: usize,
    /// CPUs that no container has, or is about to have, for itself.
    pub cpus_free: usize,
    /// Cards near it, `family index` each.
    pub cards: Vec<String>,
    /// Those of them that nobody uses and that may be given out.
    pub cards_free: usize,
}

impl Pages<'_> {
    /// `None` where neither a Numatopology nor a card tells of any.
    pub(super) fn numa_view(&self, node: NodeIx) -> Option<NumaView> {
        let nodes = self.state.nodes();
        let mut all: BTreeMap<u32, NumaNodeView> = BTreeMap::new();
        let cpus = nodes.cpus(node);
        if let Some(cpus) = cpus {
            let free = cpus.layout().numbers(cpus.free());
            for place in &cpus.object().cpus {
                let of = all.entry(place.numa).or_default();
                of.cpus += 1;
                of.cpus_free += usize::from(free.binary_search(&place.cpu).is_ok());
            }
        }
        let families = self.state.supplies().devices().families();
        for (family, of) in nodes.devices[node.at()].families() {
            for (at, card) in of.cards.iter().enumerate() {
                let Some(numa) = card.numa else { continue };
                let near = all.entry(u32::from(numa)).or_default();
                let name = families.name(family);
                near.cards.push(format!("{name} {}", card.index));
                near.cards_free += usize::from(card.is_usable() && !of.is_in_use(at));
            }
        }
        let told = all.into_iter();
        let told: Vec<NumaNodeView> = told.map(|(numa, of)| NumaNodeView { numa, ..of }).collect();
        (!told.is_empty()).then(|| NumaView {
            policy: cpus.map(|cpus| cpus.object().policy.name().to_owned()),
            nodes: told,
        })
    }
}
