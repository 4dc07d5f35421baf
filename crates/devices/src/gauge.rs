//! Gauges of cards, for dashboards: a family names them and makes them; who exports them adds labels.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ledger::{LedgerTime, NodeCards, Portion};

/// A gauge that a family has for each of its cards, or for each pod on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaugeSpec {
    /// Name of the metric.
    pub name: &'static str,
    /// One sentence on the meaning and the unit.
    pub help: &'static str,
    /// There is one for every pod on a card.
    pub by_pod: bool,
    /// What it shows.
    pub shows: CardMeasure,
}

/// What a gauge shows of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardMeasure {
    /// Pods on it.
    Pods,
    /// What is in use of it, by place among what its family counts.
    Used(usize),
    /// What it has, by place among what its family counts.
    Capacity(usize),
    /// Something that its family alone knows.
    Own,
}

impl GaugeSpec {
    /// A gauge of a card.
    pub const fn of_card(name: &'static str, shows: CardMeasure, help: &'static str) -> Self {
        Self {
            name,
            help,
            by_pod: false,
            shows,
        }
    }

    /// A gauge of what a pod has of a card.
    pub const fn of_pod(name: &'static str, shows: CardMeasure, help: &'static str) -> Self {
        Self {
            by_pod: true,
            ..Self::of_card(name, shows, help)
        }
    }
}

/// One value. Pods are numbers here, and names where they are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Gauge<Pod = u32> {
    /// [`GaugeSpec::name`].
    pub name: &'static str,
    /// Identity of the card.
    pub card: Arc<str>,
    /// The pod, for gauges by pod.
    pub pod: Option<Pod>,
    /// The amount, in the unit that `help` of the [`GaugeSpec`] tells.
    pub value: f64,
}

impl Gauge {
    /// The gauge with the name of its pod instead of its number.
    pub fn named(self, name: impl Fn(u32) -> String) -> Gauge<String> {
        Gauge {
            name: self.name,
            card: self.card,
            pod: self.pod.map(name),
            value: self.value,
        }
    }
}

/// The gauges of a node, from what is held for sure.
pub(crate) fn card_gauges(cards: &NodeCards, specs: &[GaugeSpec]) -> Vec<Gauge> {
    let mut pods: BTreeMap<(u16, u32), Portion> = BTreeMap::new();
    for entry in cards.entries(LedgerTime::Now).filter(|entry| entry.certain) {
        let used = pods.entry((entry.card, entry.pod)).or_default();
        used.resize(entry.held.len(), 0);
        let sums = used.iter_mut().zip(&entry.held);
        sums.for_each(|(sum, held)| *sum += held);
    }
    let mut gauges = Vec::new();
    for (at, card) in cards.cards.iter().enumerate() {
        let here = || pods.range((at as u16, 0)..=(at as u16, u32::MAX));
        let value = |shows: CardMeasure, used: &dyn Fn(usize) -> i64| match shows {
            CardMeasure::Pods => here().count() as i64,
            CardMeasure::Used(of) => used(of),
            CardMeasure::Capacity(of) => cards.capacity(at)[of],
            CardMeasure::Own => 0,
        };
        let mut gauge = |spec: &GaugeSpec, pod, value: i64| {
            gauges.push(Gauge {
                name: spec.name,
                card: Arc::clone(&card.id),
                pod,
                value: value as f64,
            });
        };
        for ((_, pod), used) in here() {
            for spec in specs.iter().filter(|spec| spec.by_pod) {
                gauge(spec, Some(*pod), value(spec.shows, &|of| used[of]));
            }
        }
        for spec in specs.iter().filter(|spec| !spec.by_pod) {
            let sum = |of: usize| here().map(|(_, used)| used[of]).sum();
            gauge(spec, None, value(spec.shows, &sum));
        }
    }
    gauges
}
