//! Series of shared cards. Their families are named by the kinds of devices that are built in.

use std::collections::{BTreeMap, BTreeSet};

use prometheus::{GaugeVec, Opts, Registry};
use pumice_devices::{Gauge, GaugeSpec};

/// Series of cards that may exist at a time.
pub const MAX_CARD_SERIES: usize = 500_000;

/// Gauge, card, pod.
type CardSeries = (&'static str, String, Option<String>);

/// What has series.
#[derive(Default)]
pub(super) struct Cards {
    families: BTreeMap<&'static str, GaugeVec>,
    nodes: BTreeMap<String, BTreeSet<CardSeries>>,
    count: usize,
}

impl Cards {
    /// Registers gauges with labels `devID`, `NodeName` and, by pod, `podName`.
    pub(super) fn declare<'a>(
        &mut self,
        registry: &Registry,
        gauges: impl IntoIterator<Item = &'a GaugeSpec>,
    ) -> Result<(), prometheus::Error> {
        for spec in gauges {
            let labels: &[&str] = match spec.by_pod {
                true => &["devID", "NodeName", "podName"],
                false => &["devID", "NodeName"],
            };
            let gauges = GaugeVec::new(Opts::new(spec.name, spec.help), labels)?;
            registry.register(Box::new(gauges.clone()))?;
            self.families.insert(spec.name, gauges);
        }
        Ok(())
    }

    /// These are all values of a node; pods of one name share a series, which is their sum. Returns how many were refused because there are too many.
    pub(super) fn set(&mut self, node: &str, values: &[Gauge<String>]) -> usize {
        let mut sums: BTreeMap<CardSeries, f64> = BTreeMap::new();
        for value in values {
            let series = (value.name, value.card.to_string(), value.pod.clone());
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
