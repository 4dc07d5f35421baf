//! Pods of other schedulers that hold what a pod lacks: they stay, whoever waits, and who looks for victims
//! in vain has to be told of them.

use pumice_framework::{ForeignPod, ForeignPods};
use pumice_model::resource::PODS;
use pumice_model::{NodeIx, ResIx, ResVec, State, TaskIx};

use super::candidates::Scope;

/// So many of them are named.
const MAX_NAMED: usize = 3;

/// Who holds what a task lacks, on nodes that would have enough of everything it requests and on which nobody
/// is within reach of a scope: of the others it is told why they stay.
pub fn foreign_pods(state: &State, scope: &Scope, task: TaskIx) -> ForeignPods {
    let request = &state.shape(task).request;
    let mut all: Vec<(NodeIx, TaskIx, ResIx)> = Vec::new();
    for node in state.nodes().indices() {
        let Some(short) = short_of(state, request, node) else {
            continue;
        };
        let there = state.nodes().tasks(node);
        if there.iter().any(|other| scope.reaches(state, *other)) {
            continue;
        }
        for other in there.iter().copied() {
            let record = state.task(other);
            let stays = !record.ours && record.job.is_none() && record.status.is_allocated();
            let held = &state.shape(other).request;
            let mut holds = short.iter().filter(|ix| held.get(**ix) > 0);
            if let Some(resource) = holds.next().filter(|_| stays) {
                all.push((node, other, *resource));
            }
        }
    }
    let name = |task: TaskIx| state.population().task_key(task);
    all.sort_by_cached_key(|(node, task, _)| (&state.nodes().object(*node).name, name(*task)));
    let first = all.iter().take(MAX_NAMED);
    let first = first.map(|(node, task, resource)| ForeignPod {
        pod: name(*task),
        node: state.nodes().object(*node).name.clone(),
        resource: *resource,
        amount: state.shape(*task).request.get(*resource),
    });
    ForeignPods {
        more: all.len().saturating_sub(MAX_NAMED),
        first: first.collect(),
    }
}

/// The resources of which too little is left on a node that has enough of all in all.
fn short_of(state: &State, request: &ResVec, node: NodeIx) -> Option<Vec<ResIx>> {
    let nodes = state.nodes();
    let asked = request.iter().filter(|(_, amount)| *amount > 0);
    let asked: Vec<(ResIx, i64)> = asked.filter(|(ix, _)| *ix != PODS).collect();
    let mut all = asked.iter();
    if !all.all(|(ix, amount)| nodes.total.get(*ix, node) >= *amount) {
        return None;
    }
    let short = asked
        .iter()
        .filter(|(ix, amount)| nodes.future_idle(*ix, node) < *amount);
    let short: Vec<ResIx> = short.map(|(ix, _)| *ix).collect();
    (!short.is_empty()).then_some(short)
}
