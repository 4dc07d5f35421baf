//! Objects about nodes, domains and namespaces. Each step tells whether it is news.

use super::Ground;
use crate::delta::Delta;
use crate::intern::Interner;
use crate::object::{NodeObject, Pairs};

impl Ground {
    /// Takes a node in.
    pub(in crate::state) fn apply_node(&mut self, node: NodeObject) -> bool {
        let allocatable = self.resources.vector(&node.allocatable);
        let oversubscription = self.resources.vector(&node.oversubscription);
        let known = self.nodes.find(&node.name);
        let old = known.map(|ix| self.nodes.object(ix));
        if old.is_none_or(|old| old.labels != node.labels) {
            self.network.forget_nodes();
        }
        self.nodes.apply(node, allocatable, &oversubscription)
    }

    /// A node on which nobody is any more, and that has no cards, is gone.
    pub(in crate::state) fn remove_node(&mut self, name: &str) {
        self.nodes.remove(name);
        self.network.forget_nodes();
    }

    /// Takes in a change of what is measured of nodes, of namespaces, of what selects pods for spreading, and of
    /// HyperNodes; others are none of its business.
    pub(in crate::state) fn apply(&mut self, delta: Delta, names: &mut Interner) -> bool {
        match delta {
            Delta::NodeUsage { node, usage } => {
                let node = self.nodes.find(&node);
                node.is_some_and(|node| self.nodes.set_usage(node, usage))
            }
            Delta::NamespaceApply(space) => self.set_namespace(&space.name, Some(space.labels)),
            Delta::NamespaceDelete(name) => self.set_namespace(&name, None),
            Delta::WorkloadApply(workload) => {
                let changed = self.topology.set_workload(names, workload);
                self.appearances_stale |= changed;
                changed
            }
            Delta::WorkloadDelete(kind, namespace, name) => {
                let changed = self.topology.remove_workload(&kind, &namespace, &name);
                self.appearances_stale |= changed;
                changed
            }
            Delta::HyperNodeApply(object) => self.network.apply(*object),
            Delta::HyperNodeDelete(name) => self.network.remove(&name),
            _ => false,
        }
    }

    fn set_namespace(&mut self, name: &str, labels: Option<Pairs>) -> bool {
        let changed = self.topology.set_namespace(name, labels);
        self.counts_stale |= changed;
        changed
    }

    /// A PodGroup names a label of nodes.
    pub(in crate::state) fn name_label(&mut self, key: &str) {
        self.network.name_label(key);
    }

    /// Labels of nodes that make domains.
    pub(in crate::state) fn set_network_labels(&mut self, labels: &[String]) -> bool {
        self.network.set_labels(labels)
    }
}
