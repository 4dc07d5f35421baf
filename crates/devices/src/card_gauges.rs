//! Gauges of cards that are shared by memory and cores.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::gauge::Gauge;
use crate::ledger::{LedgerTime, NodeCards};
use crate::part::CardPart;

/// What the gauges of a family are called.
pub struct CardGaugeNames {
    /// Pods on a card.
    pub shared: &'static str,
    /// Memory in use.
    pub memory: &'static str,
    /// Cores in use.
    pub cores: &'static str,
    /// Memory there is.
    pub limit: &'static str,
    /// Memory in use by a pod.
    pub pod_memory: &'static str,
    /// Cores in use by a pod.
    pub pod_cores: &'static str,
}

/// The gauges of a node, from what is held for sure.
pub fn card_gauges(cards: &NodeCards, names: &CardGaugeNames) -> Vec<Gauge> {
    let mut pods: BTreeMap<(u16, u32), CardPart> = BTreeMap::new();
    for entry in cards.entries(LedgerTime::Now).filter(|entry| entry.certain) {
        let used = pods.entry((entry.card, entry.pod)).or_default();
        let part = CardPart::of(&entry.held);
        used.memory += part.memory;
        used.cores += part.cores;
    }
    let mut gauges = Vec::new();
    for (at, card) in cards.cards.iter().enumerate() {
        let of_card = pods.range((at as u16, 0)..=(at as u16, u32::MAX));
        let mut gauge = |name, pod, value| {
            gauges.push(Gauge {
                name,
                card: Arc::clone(&card.id),
                pod,
                value,
            });
        };
        let (mut shared, mut memory, mut cores) = (0.0, 0.0, 0.0);
        for ((_, pod), used) in of_card {
            shared += 1.0;
            memory += used.memory as f64;
            cores += used.cores as f64;
            gauge(names.pod_memory, Some(*pod), used.memory as f64);
            gauge(names.pod_cores, Some(*pod), used.cores as f64);
        }
        gauge(names.shared, None, shared);
        gauge(names.memory, None, memory);
        gauge(names.cores, None, cores);
        gauge(
            names.limit,
            None,
            CardPart::capacity(cards, at).memory as f64,
        );
    }
    gauges
}
