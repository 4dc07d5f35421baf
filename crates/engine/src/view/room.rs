//! For how many pods like one nodes have room as things stand.

use pumice_actions::nodes_with_room;
use pumice_devices::{LedgerTime, Load, Tags};
use pumice_model::{NodeIx, TaskIx};
use rustc_hash::FxHashMap;

use crate::view::topology::DomainPages;

/// Choices of cards that are tried for one answer: nodes that are looked at later count as one place.
const MAX_CARD_TRIES: usize = 4_000;

/// The pod that stands for those that are tried: none that exists has this number.
const NOBODY: u32 = u32::MAX;

/// Places on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodePlaces {
    /// Pods that have room, each by what it asks of resources and cards.
    pub pods: u64,
    /// There may be more.
    pub at_least: bool,
}

impl DomainPages<'_> {
    /// Places for pods like this one, by node: what the pods would be to each other beyond resources and cards is left
    /// out, and so are filters that look at several nodes.
    pub(super) fn places_for(&self, ix: TaskIx) -> FxHashMap<NodeIx, NodePlaces> {
        let mut tries = MAX_CARD_TRIES;
        let mut nodes = nodes_with_room(self.state, self.plugins, ix);
        // In an order of their own, so that the same nodes are counted out each time.
        nodes.sort_unstable_by_key(|(node, _)| *node);
        let nodes = nodes.into_iter();
        nodes
            .map(|(node, _)| (node, self.places_on(ix, node, &mut tries)))
            .collect()
    }

    /// Places on a node that has room for one.
    fn places_on(&self, ix: TaskIx, node: NodeIx, tries: &mut usize) -> NodePlaces {
        let nodes = self.state.nodes();
        let request = &self.state.shape(ix).request;
        let each = request.iter().filter(|(_, amount)| *amount > 0);
        let each = each.map(|(resource, amount)| {
            (nodes.idle.get(resource, node).max(0) / amount).unsigned_abs()
        });
        // Somebody who asks for nothing at all still is a pod.
        let most = each.min().unwrap_or(u64::from(u32::MAX)).max(1);
        let devices = self.state.supplies().devices();
        let demand = devices.demand(self.state.task(ix).demand);
        if demand.is_empty() || most == 1 {
            return NodePlaces {
                pods: most,
                at_least: false,
            };
        }
        let mut cards = nodes.devices[node.at()].clone();
        let mut pods = 0;
        while pods < most {
            if *tries == 0 {
                return NodePlaces {
                    pods: pods.max(1),
                    at_least: true,
                };
            }
            *tries -= 1;
            let Some(picks) = demand.choose(&cards, LedgerTime::Now) else {
                break;
            };
            pods += 1;
            for (family, mut allocations) in picks {
                let tags = Tags::default();
                cards.charge(family, NOBODY, tags, Load::Held, &mut allocations);
            }
        }
        NodePlaces {
            pods: pods.max(1),
            at_least: false,
        }
    }
}
