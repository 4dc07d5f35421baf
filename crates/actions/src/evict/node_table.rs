//! What each node costs a class of preemptors at least, in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use pumice_framework::points::StaticPart;
use pumice_model::object::Shard;
use pumice_model::{NodeIx, ResIx, ResVec, State};

use super::candidates::{self, RankedVictim};
use super::cost::Cost;

/// Nodes are compared by this: own shard first, then cost.
type Key = (bool, Cost);

/// What is known of a node.
#[derive(Clone, Debug)]
enum NodeStanding {
    /// Nobody there helps.
    Out,
    /// It costs at least what its entry in the heap says.
    AtLeast,
    /// It costs just that, as of an evaluation: these victims, as positions.
    Exactly(u64),
}

/// The nodes for a class of preemptors.
pub struct NodeTable {
    /// What the class asks.
    request: Vec<(ResIx, i64)>,
    static_part: Arc<StaticPart>,
    known: Vec<(NodeStanding, u32)>,
    heap: BinaryHeap<Reverse<(Key, u32, u32)>>,
    /// Nodes that were found to be out for one job.
    weighed: Vec<NodeIx>,
    /// Up to where the touch log was followed.
    pub cursor: u64,
}

impl NodeTable {
    /// A table that knows nothing yet: every node is to be looked at.
    pub fn new(state: &State, request: &ResVec, static_part: Arc<StaticPart>) -> Self {
        let asked = request.iter().filter(|(_, amount)| *amount > 0);
        Self {
            request: asked.collect(),
            static_part,
            known: vec![(NodeStanding::Out, 0); state.nodes().len()],
            heap: BinaryHeap::new(),
            weighed: Vec::new(),
            cursor: 0,
        }
    }

    /// Looks at all nodes.
    pub fn fill<'a>(&mut self, state: &State, victims: impl Fn(NodeIx) -> &'a [RankedVictim]) {
        let mut entries = Vec::new();
        for node in state.nodes().indices() {
            self.known[node.at()].1 += 1;
            match self.bound(state, node, victims(node)) {
                Some(key) => {
                    self.known[node.at()].0 = NodeStanding::AtLeast;
                    entries.push(Reverse((key, node.0, self.known[node.at()].1)));
                }
                None => self.known[node.at()].0 = NodeStanding::Out,
            }
        }
        self.heap = BinaryHeap::from(entries);
        self.weighed.clear();
    }

    /// Looks at a node again.
    pub fn look_again(&mut self, state: &State, node: NodeIx, victims: &[RankedVictim]) {
        match self.bound(state, node, victims) {
            Some(key) => self.set(node, NodeStanding::AtLeast, key),
            None => self.set_out(node),
        }
    }

    fn set(&mut self, node: NodeIx, known: NodeStanding, key: Key) {
        let entry = &mut self.known[node.at()];
        *entry = (known, entry.1 + 1);
        self.heap.push(Reverse((key, node.0, entry.1)));
    }

    fn set_out(&mut self, node: NodeIx) {
        let entry = &mut self.known[node.at()];
        *entry = (NodeStanding::Out, entry.1 + 1);
    }

    /// What the node costs at least: as many of its cheapest candidates as release enough at best.
    fn bound(&self, state: &State, node: NodeIx, victims: &[RankedVictim]) -> Option<Key> {
        if victims.is_empty() || self.static_part.verdict[node.at()].is_some() {
            return None;
        }
        let mut fewest = 1;
        for (resource, amount) in &self.request {
            let missing = amount.saturating_sub(state.nodes().future_idle(*resource, node));
            if missing <= 0 {
                continue;
            }
            let enough = candidates::fewest_for(state, victims, *resource, missing);
            fewest = fewest.max(enough?);
        }
        let cheapest = victims[..fewest].iter().map(|victim| victim.rank);
        Some((is_later(state, node), Cost::of(cheapest)))
    }

    /// The node with the lowest bound, and whether that is its cost as of an evaluation.
    pub fn lowest(&mut self) -> Option<(NodeIx, Option<u64>)> {
        while let Some(Reverse((_, node, version))) = self.heap.peek() {
            let (known, current) = &self.known[*node as usize];
            if current != version {
                self.heap.pop();
                continue;
            }
            let evaluation = match known {
                NodeStanding::Exactly(evaluation) => Some(*evaluation),
                NodeStanding::AtLeast | NodeStanding::Out => None,
            };
            return Some((NodeIx(*node), evaluation));
        }
        None
    }

    /// A node was weighed, by an evaluation that may hold for one job only.
    pub fn weighed(
        &mut self,
        state: &State,
        node: NodeIx,
        cost: Option<Cost>,
        (evaluation, of_job): (u64, bool),
    ) {
        match cost {
            Some(cost) => {
                let key = (is_later(state, node), cost);
                self.set(node, NodeStanding::Exactly(evaluation), key);
            }
            None => {
                self.set_out(node);
                if of_job {
                    self.weighed.push(node);
                }
            }
        }
    }

    /// Nodes that were found to be out for one job: for others they may not be.
    pub fn take_weighed(&mut self) -> Vec<NodeIx> {
        std::mem::take(&mut self.weighed)
    }
}

fn is_later(state: &State, node: NodeIx) -> bool {
    state.nodes().object(node).shard == Shard::Later
}
