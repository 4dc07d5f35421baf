//! Gauges of cards (spec/04 §16), for metrics: of the nodes that changed since they were last asked
//! for.

use pumice_devices::Gauge;
use pumice_model::State;

/// Gauges of nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceGauges {
    /// Nodes that are not named below have none any more.
    pub all: bool,
    /// By node name, in no particular order: all gauges of the node.
    pub nodes: Vec<(String, Vec<Gauge<String>>)>,
}

/// What was told last.
#[derive(Debug, Default)]
pub(crate) struct Told {
    cursor: u64,
    epoch: Option<u64>,
}

impl Told {
    /// Gauges of the cards of nodes that may differ from what the last call said.
    pub fn gauges(&mut self, state: &State) -> DeviceGauges {
        let nodes = state.nodes();
        let epoch = nodes.static_epoch();
        let known = self.epoch == Some(epoch);
        let touched = nodes.touched_since(self.cursor);
        let touched: Option<Vec<_>> = touched.map(Iterator::collect).filter(|_| known);
        *self = Self {
            cursor: nodes.touch_cursor(),
            epoch: Some(epoch),
        };
        let all = touched.is_none();
        let touched = touched.unwrap_or_else(|| nodes.indices().collect());
        let mut gauges = DeviceGauges {
            all,
            nodes: Vec::new(),
        };
        for node in touched {
            let devices = &nodes.devices[node.at()];
            if devices.families().next().is_none() {
                continue;
            }
            let pod = |pod: u32| state.task(pumice_model::TaskIx(pod)).name.to_string();
            let of_node = state.supplies().devices().families().gauges(devices);
            let of_node = of_node.into_iter().map(|gauge| gauge.named(pod));
            let name = nodes.object(node).name.clone();
            gauges.nodes.push((name, of_node.collect()));
        }
        gauges
    }
}
