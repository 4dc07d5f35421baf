//! How much of a node is used, in whole thousandths of a per cent.

use pumice_model::object::NodeUsage;
use pumice_model::{NodeIx, State, TaskIx};

/// What is looked at: cpu and memory as measured, and the number of pods.
pub const DIMENSIONS: [&str; 3] = ["cpu", "memory", "pods"];

/// A number for each of [`DIMENSIONS`].
pub type Dimensions = [i64; DIMENSIONS.len()];

/// All of a node.
const WHOLE: i128 = 100_000;

/// How much of a node is used, of each dimension in thousandths of a per cent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utilisation(Dimensions);

/// What a node has: milli-cores, bytes, pods.
fn allocatable(state: &State, node: NodeIx) -> Dimensions {
    let resources = state.resources();
    DIMENSIONS.map(|name| {
        let resource = resources.get(name);
        resource.map_or(0, |ix| state.nodes().allocatable.get(ix, node))
    })
}

/// A part of a whole; of nothing nothing.
fn share(part: i64, whole: i64) -> i64 {
    match whole {
        ..=0 => 0,
        _ => narrow(i128::from(part) * WHOLE / i128::from(whole)),
    }
}

fn narrow(number: i128) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl Utilisation {
    /// How much of a node is used whose usage was measured.
    pub fn of(state: &State, node: NodeIx, usage: NodeUsage) -> Self {
        let pods = state.nodes().pod_count[node.at()];
        let [_, _, most] = allocatable(state, node);
        Self([usage.cpu, usage.memory, share(pods, most)])
    }

    /// Every dimension is below its limit.
    pub fn is_below(&self, limits: &Dimensions) -> bool {
        self.0.iter().zip(limits).all(|(used, limit)| used < limit)
    }

    /// Some dimension is above its limit.
    pub fn is_above(&self, limits: &Dimensions) -> bool {
        self.0.iter().zip(limits).any(|(used, limit)| used > limit)
    }

    /// Some dimension is at its limit, or above.
    pub fn reaches(&self, limits: &Dimensions) -> bool {
        self.0.iter().zip(limits).any(|(used, limit)| used >= limit)
    }

    /// By which nodes that are used much come one after the other.
    pub fn of_cpu_and_memory(&self) -> i64 {
        self.0[0].saturating_add(self.0[1])
    }

    /// Adds what a node can take in until it has reached its limits: milli-cores, bytes, pods.
    pub fn add_room(
        &self,
        state: &State,
        node: NodeIx,
        limits: &Dimensions,
        room: &mut Dimensions,
    ) {
        let whole = allocatable(state, node);
        for at in 0..DIMENSIONS.len() {
            let left = i128::from(limits[at] - self.0[at]) * i128::from(whole[at]) / WHOLE;
            room[at] = room[at].saturating_add(narrow(left));
        }
    }

    /// A pod leaves a node and goes into the room of others: what it requests, as scores count it.
    pub fn take(&mut self, state: &State, node: NodeIx, victim: TaskIx, room: &mut Dimensions) {
        let shape = state.shape(victim);
        let held = [shape.nonzero_cpu_milli, shape.nonzero_memory_bytes, 1];
        let whole = allocatable(state, node);
        for at in 0..DIMENSIONS.len() {
            self.0[at] = self.0[at].saturating_sub(share(held[at], whole[at]));
            room[at] = room[at].saturating_sub(held[at]);
        }
    }
}
