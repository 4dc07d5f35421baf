//! What there is to stand on: nodes and their resources, shapes that pods ask for, domains of the network, and
//! who stands where.

mod laws;
mod objects;
mod seal;
mod words;

use crate::intern::Interner;
use crate::ix::{NodeIx, ShapeIx, TaskIx};
use crate::network::NetworkTree;
use crate::node::{Burden, Nodes};
use crate::object::{Amounts, PodObject};
use crate::resource::{ResIx, ResVec, ResourceNames};
use crate::shape::{Shape, Shapes};
use crate::task::Task;
use crate::topology::{PodShift, Stay, Topology};
use crate::volume::OnNode;

use pumice_devices::Load;

/// Nodes, shapes, domains, and who stands where.
pub struct Ground {
    /// Interned resources.
    resources: ResourceNames,
    /// Nodes as columns, in the order of their names once sealed.
    nodes: Nodes,
    /// Shapes of pods.
    shapes: Shapes,
    /// Who stands where, for inter-pod affinity and topology spread.
    topology: Topology,
    /// Domains of the network.
    network: NetworkTree,
    /// What tasks look like to selectors is to be numbered anew.
    appearances_stale: bool,
    /// Who stands where is to be counted anew.
    counts_stale: bool,
    rules_gone: usize,
}

impl Ground {
    /// No nodes. Resources of these names do not count as what pods ask for.
    pub(super) fn new(left_out: Vec<String>) -> Self {
        let mut shapes = Shapes::default();
        shapes.leave_out(left_out);
        Self {
            resources: ResourceNames::default(),
            nodes: Nodes::default(),
            shapes,
            topology: Topology::default(),
            network: NetworkTree::default(),
            appearances_stale: false,
            counts_stale: false,
            rules_gone: 0,
        }
    }

    /// A copy. Columns of nodes are shared until one side changes them.
    pub(super) fn fork(&mut self) -> Self {
        Self {
            resources: self.resources.clone(),
            nodes: self.nodes.share(),
            shapes: self.shapes.clone(),
            topology: self.topology.clone(),
            network: self.network.clone(),
            appearances_stale: self.appearances_stale,
            counts_stale: self.counts_stale,
            rules_gone: self.rules_gone,
        }
    }

    /// Interned resources.
    #[inline]
    pub fn resources(&self) -> &ResourceNames {
        &self.resources
    }

    pub(super) fn resources_mut(&mut self) -> &mut ResourceNames {
        &mut self.resources
    }

    /// Nodes as columns, in the order of their names once sealed.
    #[inline]
    pub fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    #[inline]
    pub(super) fn nodes_mut(&mut self) -> &mut Nodes {
        &mut self.nodes
    }

    /// Nodes, with the resources that their cards may name.
    pub(super) fn for_cards(&mut self) -> (&mut Nodes, &Shapes, &mut ResourceNames) {
        (&mut self.nodes, &self.shapes, &mut self.resources)
    }

    /// Nodes, with the resources that claims on them may name.
    #[inline]
    pub(super) fn for_supplies(&mut self) -> (&Nodes, &mut ResourceNames) {
        (&self.nodes, &mut self.resources)
    }

    /// Shapes of pods.
    #[inline]
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Who stands where, for inter-pod affinity and topology spread.
    #[inline]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    pub(super) fn topology_mut(&mut self) -> &mut Topology {
        &mut self.topology
    }

    /// HyperNodes, and the domains they make.
    #[inline]
    pub fn network(&self) -> &NetworkTree {
        &self.network
    }

    /// Changes whenever what is known about classes of tasks may be wrong: nodes came, went or
    /// changed, terms and appearances were renumbered, or domains of the network changed.
    pub fn class_epoch(&self) -> (u64, u64, u64) {
        let network = self.network.epoch();
        (self.nodes.static_epoch(), self.topology.epoch(), network)
    }

    /// What is written of amounts, as it counts.
    pub(super) fn counted(&self, amounts: &Amounts) -> ResVec {
        self.shapes.counted(&self.resources, amounts).0
    }

    /// Who offers a resource, or names it, decides whether it has a dimension of its own: those for which that
    /// turned.
    pub(super) fn settle_offers(&mut self, is_named: impl Fn(ResIx) -> bool) -> Vec<ResIx> {
        let total = &self.nodes.cluster_total;
        let is_offered = |ix: ResIx| total.get(ix) > 0 || is_named(ix);
        self.resources.settle_offers(is_offered)
    }

    /// Resources of these names do not count as what pods ask for; whether that is news.
    pub(super) fn leave_out(&mut self, names: Vec<String>) -> bool {
        self.shapes.leave_out(names)
    }

    /// Counts one use of the shape of a pod.
    pub(super) fn acquire_shape(&mut self, pod: &PodObject, names: &mut Interner) -> ShapeIx {
        let acquired = self.shapes.acquire(pod, &self.resources);
        if let Some(rules_ix) = acquired.new_rules {
            let rules = self.shapes.rules(rules_ix);
            self.appearances_stale |= self.topology.learn(names, rules_ix, rules);
        }
        acquired.shape
    }

    /// The inverse of [`Ground::acquire_shape`].
    pub(super) fn release_shape(&mut self, shape: ShapeIx) {
        if let Some(rules) = self.shapes.release(shape) {
            self.topology.unlearn(rules);
            self.rules_gone += 1;
        }
    }

    /// Adds (`by` = 1) or removes (`by` = −1) a task that stands on a node where pods are counted.
    #[inline]
    pub(super) fn count(&mut self, task: &Task, node: NodeIx, by: i8) {
        self.topology.shift(PodShift {
            rules: self.shapes.get(task.shape).rules,
            look: task.appearance,
            node,
            stay: Stay::of(task),
            by,
        });
    }

    /// Puts a task of a shape on a node, with its volumes: its slot there.
    #[inline]
    pub(super) fn put(
        &mut self,
        ix: TaskIx,
        shape: ShapeIx,
        node: NodeIx,
        load: Load,
        volumes: Option<&OnNode>,
    ) -> u32 {
        let burden = burden(self.shapes.get(shape), volumes);
        self.nodes.put(node, ix, load, &burden)
    }

    /// The inverse of [`Ground::put`]: the task that has its slot now.
    #[inline]
    pub(super) fn take(
        &mut self,
        task: &Task,
        node: NodeIx,
        load: Load,
        volumes: Option<&OnNode>,
    ) -> Option<TaskIx> {
        let burden = burden(self.shapes.get(task.shape), volumes);
        self.nodes.take(node, task.node_slot, load, &burden)
    }
}

fn burden<'a>(shape: &'a Shape, volumes: Option<&'a OnNode>) -> Burden<'a> {
    Burden {
        request: &shape.request,
        nonzero_cpu_milli: shape.nonzero_cpu_milli,
        nonzero_memory_bytes: shape.nonzero_memory_bytes,
        ports: &shape.ports,
        volumes,
    }
}
