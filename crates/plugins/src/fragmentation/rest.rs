//! What is left of nodes for the tasks that this cluster gets: by it domains are compared (spec/10 §3).

use pumice_devices::{LedgerTime, NodeRoom};
use pumice_framework::points::NodesRest;
use pumice_model::device::free_on;
use pumice_model::{NodeIx, State};

use super::Fragmentation;

impl NodesRest for Fragmentation {
    fn nodes_rest(&self, state: &State, nodes: &[NodeIx]) -> i128 {
        let Some(mix) = &self.mix else {
            return 0;
        };
        let all = state.nodes();
        let waste = |node: &NodeIx| {
            let room = NodeRoom {
                node: node.at(),
                devices: &all.devices[node.at()],
                free: &free_on(mix, all, *node, LedgerTime::Now),
                view: LedgerTime::Now,
            };
            let wastes = mix.families().map(|family| mix.waste(&room, family).0);
            wastes.map(i128::from).sum::<i128>()
        };
        -i128::from(self.weight) * nodes.iter().map(waste).sum::<i128>()
    }
}
