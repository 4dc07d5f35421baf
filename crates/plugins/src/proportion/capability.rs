//! What a queue may have at most, whatever else there is: `spec.capability`, for pods without a request
//! too, and with the devices that were chosen for a pod.

use pumice_framework::{Bound, Overrun, Overruns, Refusal};
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{Queue, ResIx, State, TaskIx, TaskStatus};

use super::held;

/// The limits a queue names. The vector does not tell a limit of 0 from none, the object does; for cpu
/// and memory both mean no limit.
pub(super) fn limits<'a>(
    state: &'a State,
    queue: &'a Queue,
) -> impl Iterator<Item = (ResIx, i64)> + 'a {
    let named = queue.object.capability.iter();
    let known = named.filter_map(|(name, limit)| Some((state.resources().get(name)?, *limit)));
    known.filter(|(ix, limit)| *limit > 0 || !matches!(*ix, CPU | MEMORY))
}

/// Whether a queue stays within its limits with a task, which waits or was just placed.
///
/// # Errors
/// What the task asks and the queue may not have.
pub(super) fn holds(state: &State, queue: &Queue, task: TaskIx) -> Result<(), Refusal> {
    if queue.object.capability.is_empty() {
        return Ok(());
    }
    let is_placed = state.task(task).status != TaskStatus::Pending;
    let request = state.charged(task);
    let overrun = |(resource, limit)| {
        let asked = request.get(resource);
        let own = if is_placed { asked } else { 0 };
        let used = held(queue, resource).saturating_sub(own);
        let exceeds = asked > 0 && used.saturating_add(asked) > limit;
        exceeds.then(|| Overrun {
            resource,
            bound: Bound::Capability,
            limit,
            total: state.nodes().cluster_total.get(resource),
            used,
            reserved: 0,
            asked,
        })
    };
    let overruns: Overruns = limits(state, queue).filter_map(overrun).collect();
    match overruns.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Quota(overruns)),
    }
}
