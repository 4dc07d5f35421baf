//! What happens to NPUs: what is told of them changes, nodes get others, the device plugin answers.

use pumice_model::delta::Delta;
use pumice_model::object::NodeObject;

use super::super::{mindcluster, npus};
use super::{Changing, Kind};

impl Changing {
    /// What is told of the NPUs of a node changes, or is not told any more.
    pub(super) fn change_report(&mut self) -> Vec<Delta> {
        if self.rng.one_in(3)
            && let Some(name) = self.any(Kind::Report)
        {
            return self.remove(Kind::Report, &name);
        }
        let nodes = self.nodes();
        if nodes.is_empty() {
            return Vec::new();
        }
        let node = self.rng.pick(&nodes);
        let told = mindcluster::tell(&mut self.rng, &node);
        told.into_iter().map(|delta| self.put(delta)).collect()
    }

    /// The device plugin of MindCluster makes what a pod waits for.
    pub(super) fn serve(&mut self) -> Vec<Delta> {
        let mut pods = self.pods();
        pods.retain(mindcluster::waits);
        if pods.is_empty() {
            return Vec::new();
        }
        let mut pod = self.rng.pick(&pods);
        mindcluster::serve(&mut self.rng, &mut pod);
        vec![self.put(Delta::PodApply(Box::new(pod)))]
    }

    /// A node has other NPUs than before, or none.
    pub(super) fn other_npus(&mut self, mut node: NodeObject) -> Vec<Delta> {
        node.device_annotations.clear();
        let ours = |name: &str| name.starts_with("huawei.com/");
        node.allocatable.retain(|(name, _)| !ours(name));
        mindcluster::take_away(&mut node);
        let mut deltas = self.give_npus(&mut node);
        deltas.push(Delta::NodeApply(Box::new(node)));
        self.rng.shuffle(&mut deltas);
        deltas.into_iter().map(|delta| self.put(delta)).collect()
    }

    /// Gives a node NPUs; what is told of it.
    pub(super) fn give_npus(&mut self, node: &mut NodeObject) -> Vec<Delta> {
        if !self.theme.npus.is_empty() {
            npus::register(&mut self.rng, &self.theme, node);
        }
        if !self.theme.mindcluster || self.rng.one_in(6) {
            return Vec::new();
        }
        mindcluster::chips(&mut self.rng, node);
        mindcluster::tell(&mut self.rng, node)
    }
}
