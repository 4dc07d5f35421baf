//! Resources of which a queue that reclaims has what it deserves (spec/07 §4): nobody goes for them, so what
//! is asked of them has to be idle already where its pods are placed.

use pumice_framework::Overruns;
use pumice_model::{NodeIx, State, TaskIx};
use rustc_hash::FxHashSet;

/// Whether a node has what a task asks of such resources, without anybody going.
pub fn are_idle(state: &State, task: TaskIx, over: &Overruns, node: NodeIx) -> bool {
    let request = &state.shape(task).request;
    let is_idle = |resource| state.nodes().future_idle(resource, node) >= request.get(resource);
    over.iter().all(|over| is_idle(over.resource))
}

/// Whether some node has.
pub fn is_idle_somewhere(state: &State, task: TaskIx, over: &Overruns) -> bool {
    let mut nodes = state.nodes().indices();
    over.is_empty() || nodes.any(|node| are_idle(state, task, over, node))
}

/// Whether tasks that were placed once victims had gone take none of such resources from what these release:
/// on each of their nodes as much of it is left as these hold there.
pub fn are_left_alone(
    state: &State,
    placed: &[TaskIx],
    victims: &[TaskIx],
    over: &Overruns,
) -> bool {
    let node_of = |task: &TaskIx| state.task(*task).node;
    let nodes: FxHashSet<NodeIx> = placed.iter().filter_map(node_of).collect();
    over.iter().all(|over| {
        nodes.iter().all(|node| {
            let there = victims
                .iter()
                .filter(|victim| node_of(victim) == Some(*node));
            let held = there.map(|victim| state.shape(*victim).request.get(over.resource));
            let released = held.fold(0i64, i64::saturating_add);
            released == 0 || state.nodes().future_idle(over.resource, *node) >= released
        })
    })
}
