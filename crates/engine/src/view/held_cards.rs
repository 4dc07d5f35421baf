//! Which cards a pod holds, in words: what its eviction frees.

use std::collections::BTreeMap;

use pumice_devices::{LedgerTime, Portion};
use pumice_model::TaskIx;
use serde::{Deserialize, Serialize};

use super::cards::SHARERS;
use crate::knowledge::Knowledge;

/// A pod that goes, or would go, and what of cards it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FreedCards {
    /// `namespace/name`.
    pub pod: String,
    /// Name of the node the pod is on.
    pub node: String,
    /// `card 0 (GPU-1f0c): memory 4000, cores 50`, by family and index.
    pub cards: Vec<String>,
}

impl std::fmt::Display for FreedCards {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { pod, node, cards } = self;
        write!(
            f,
            "evicting {pod} on node {node} frees {}",
            cards.join("; ")
        )
    }
}

impl Knowledge<'_> {
    /// What a pod holds of the cards of its node, one text a card; empty for a pod without any.
    pub fn held_cards(&self, task: TaskIx) -> Vec<String> {
        let held = self.held(task).into_iter();
        held.map(|(name, amounts)| match amounts.is_empty() {
            true => name,
            false => format!("{name}: {}", amounts.join(", ")),
        })
        .collect()
    }

    /// The names of the cards a pod holds something of.
    pub fn card_names(&self, task: TaskIx) -> Vec<String> {
        let held = self.held(task).into_iter();
        held.map(|(name, _)| name).collect()
    }

    /// Names of cards, and what the pod holds of them.
    fn held(&self, task: TaskIx) -> Vec<(String, Vec<String>)> {
        let Some(node) = self.state.task(task).node else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for (_, cards) in self.state.nodes().devices[node.at()].families() {
            let mut held: BTreeMap<usize, Portion> = BTreeMap::new();
            for entry in cards.entries(LedgerTime::Now) {
                let at = entry.card as usize;
                if entry.pod != task.0 || at >= cards.cards.len() || entry.is_empty() {
                    continue;
                }
                let nothing = || entry.held.iter().map(|_| 0).collect();
                let sum = held.entry(at).or_insert_with(nothing);
                let parts = sum.iter_mut().zip(&entry.held);
                parts.for_each(|(sum, part)| *sum += part);
            }
            all.extend(held.into_iter().map(|(at, portion)| {
                let amounts = cards.dimensions().iter().zip(portion);
                let amounts = amounts.filter(|(of, amount)| *amount > 0 && of.name != SHARERS);
                let amounts = amounts.map(|(of, amount)| format!("{} {amount}", of.name));
                (cards.card_name(at), amounts.collect())
            }));
        }
        all
    }

    /// What pods free of cards, by pod; those that hold none left out.
    pub(crate) fn freed_cards(&self, tasks: &[TaskIx]) -> Vec<FreedCards> {
        let mut all: Vec<FreedCards> = tasks
            .iter()
            .filter_map(|task| {
                let cards = self.held_cards(*task);
                let node = self.state.task(*task).node?;
                (!cards.is_empty()).then(|| FreedCards {
                    pod: self.state.population().task_key(*task),
                    node: self.state.nodes().object(node).name.clone(),
                    cards,
                })
            })
            .collect();
        all.sort_unstable_by(|l, r| l.pod.cmp(&r.pod));
        all
    }
}
