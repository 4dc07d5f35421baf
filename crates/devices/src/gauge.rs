//! Gauges of cards, for dashboards: a family names them and makes them; who exports them adds labels.

use std::sync::Arc;

/// A gauge that a family has for each of its cards, or for each pod on one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GaugeSpec {
    /// Name of the metric.
    pub name: &'static str,
    /// One sentence on the meaning and the unit.
    pub help: &'static str,
    /// There is one for every pod on a card.
    pub by_pod: bool,
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
