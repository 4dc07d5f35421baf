//! Shared cards of the whole cluster, summed up by kind.

use pumice_devices::{LedgerTime, NodeCards, UNLIMITED};
use serde::{Deserialize, Serialize};

use super::cards::{CORES, MEMORY, SHARERS};
use super::top::percent;
use crate::view::pages::Pages;

/// Shared cards of one kind of devices, in the units in which each of them is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FamilySums {
    /// Kind of devices: `vgpu`, `gpushare`, …
    pub family: String,
    /// Cards there are.
    pub cards: usize,
    /// Cards that somebody uses.
    pub in_use: usize,
    /// Cards that may not be given out.
    pub unhealthy: usize,
    /// Memory in use.
    pub memory_used: i64,
    /// Memory in all.
    pub memory: i64,
    /// Memory in use, in percent.
    pub memory_percent: i64,
    /// Cores in use.
    pub cores_used: i64,
    /// Cores in all.
    pub cores: i64,
    /// Cores in use, in percent.
    pub cores_percent: i64,
    /// Containers on cards that limit how many there may be.
    pub slots_used: i64,
    /// Containers that those cards take at most.
    pub slots: i64,
}

impl FamilySums {
    fn add(&mut self, of: &NodeCards) {
        let at = |name: &str| of.dimension(name);
        let (memory, cores, sharers) = (at(MEMORY), at(CORES), at(SHARERS));
        for card in 0..of.cards.len() {
            let (used, all) = (of.used(card, LedgerTime::Now), of.capacity(card));
            let sum = |at: Option<usize>, sums: (&mut i64, &mut i64)| {
                // What is not limited has no share in use.
                let Some(at) = at.filter(|at| all[*at] != UNLIMITED) else {
                    return;
                };
                *sums.0 = sums.0.saturating_add(used[at]);
                *sums.1 = sums.1.saturating_add(all[at]);
            };
            sum(memory, (&mut self.memory_used, &mut self.memory));
            sum(cores, (&mut self.cores_used, &mut self.cores));
            sum(sharers, (&mut self.slots_used, &mut self.slots));
            self.cards += 1;
            self.in_use += usize::from(of.is_in_use(card));
            self.unhealthy += usize::from(!of.cards[card].is_usable());
        }
        self.memory_percent = percent(self.memory_used, self.memory);
        self.cores_percent = percent(self.cores_used, self.cores);
    }
}

impl Pages<'_> {
    /// Kinds of which there are cards, in the order in which they are known.
    pub(super) fn card_sums(&self) -> Vec<FamilySums> {
        let families = self.state.supplies().devices().families();
        let nodes = self.state.nodes();
        let mut sums: Vec<FamilySums> = Vec::new();
        for node in nodes.indices() {
            for (family, of) in nodes.devices[node.at()].families() {
                let at = usize::from(family);
                if sums.len() <= at {
                    sums.resize(at + 1, FamilySums::default());
                }
                sums[at].add(of);
            }
        }
        let named = sums.into_iter().enumerate();
        let named = named.filter(|(_, sums)| sums.cards > 0);
        named
            .map(|(family, sums)| FamilySums {
                family: families.name(family as u8).to_owned(),
                ..sums
            })
            .collect()
    }
}
