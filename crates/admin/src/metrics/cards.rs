//! Series of shared cards. Their families are named by the kinds of devices that are built in.

use std::collections::{BTreeMap, BTreeSet};

use prometheus::{GaugeVec, Opts, Registry};

/// Series of cards that may exist at a time.
pub const MAX_CARD_SERIES: usize = 500_000;

/// A family of gauges, with labels `devID`, `NodeName` and, by pod, `podName`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardFamily {
    /// Name.
    pub name: &'static str,
    /// One sentence on the meaning and the unit.
    pub help: &'static str,
    /// There is one series for every pod on a card.
    pub by_pod: bool,
}

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub struct CardValue<'a> {
    /// Family.
    pub name: &'static str,
    /// `devID`.
    pub card: &'a str,
    /// `podName`, for families by pod. Pods of one name share a series, which is their sum.
    pub pod: Option<&'a str>,
    /// Value.
    pub value: f64,
}

/// Family, card, pod.
type CardSeries = (&'static str, String, Option<String>);

/// What has series.
#[derive(Default)]
pub(super) struct Cards {
    families: BTreeMap<&'static str, GaugeVec>,
    nodes: BTreeMap<String, BTreeSet<CardSeries>>,
    count: usize,
}

impl Cards {
    pub(super) fn declare(
        &mut self,
        registry: &Registry,
        families: &[CardFamily],
    ) -> Result<(), prometheus::Error> {
        for family in families {
            let labels: &[&str] = match family.by_pod {
                true => &["devID", "NodeName", "podName"],
                false => &["devID", "NodeName"],
            };
            let gauges = GaugeVec::new(Opts::new(family.name, family.help), labels)?;
            registry.register(Box::new(gauges.clone()))?;
            self.families.insert(family.name, gauges);
        }
        Ok(())
    }

    /// These are all values of a node. Returns how many were refused because there are too many.
    pub(super) fn set(&mut self, node: &str, values: &[CardValue<'_>]) -> usize {
        let mut sums: BTreeMap<CardSeries, f64> = BTreeMap::new();
        for value in values {
            let pod = value.pod.map(str::to_owned);
            let series = (value.name, value.card.to_owned(), pod);
            *sums.entry(series).or_insert(0.0) += value.value;
        }
        let before = self.nodes.remove(node).unwrap_or_default();
        self.count -= before.len();
        for series in before.iter().filter(|series| !sums.contains_key(*series)) {
            self.remove(node, series);
        }
        let room = MAX_CARD_SERIES.saturating_sub(self.count);
        let refused = sums.len().saturating_sub(room);
        let kept: BTreeMap<CardSeries, f64> = sums.into_iter().take(room).collect();
        for ((name, card, pod), value) in &kept {
            let labels: Vec<&str> = labels(card, node, pod.as_deref());
            if let Some(family) = self.families.get(name) {
                family.with_label_values(&labels).set(*value);
            }
        }
        self.count += kept.len();
        if !kept.is_empty() {
            self.nodes
                .insert(node.to_owned(), kept.into_keys().collect());
        }
        refused
    }

    /// Nodes other than these have none any more.
    pub(super) fn keep(&mut self, nodes: &BTreeSet<&str>) {
        let gone: Vec<String> = self
            .nodes
            .keys()
            .filter(|node| !nodes.contains(node.as_str()))
            .cloned()
            .collect();
        for node in gone {
            self.set(&node, &[]);
        }
    }

    fn remove(&self, node: &str, (name, card, pod): &CardSeries) {
        if let Some(family) = self.families.get(name) {
            // It is gone already: as wanted.
            let _ = family.remove_label_values(&labels(card, node, pod.as_deref()));
        }
    }
}

fn labels<'a>(card: &'a str, node: &'a str, pod: Option<&'a str>) -> Vec<&'a str> {
    [card, node].into_iter().chain(pod).collect()
}
