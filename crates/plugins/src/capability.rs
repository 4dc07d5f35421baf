//! What a queue may have at most, whatever else there is: `spec.capability`, for pods without a request
//! too, and with the devices that were chosen for a pod.

use pumice_framework::{Bound, Overrun, Overruns, Refusal};
use pumice_model::object::QueueObject;
use pumice_model::resource::is_of_device_class;
use pumice_model::{Queue, ResIx, State, TaskIx, TaskStatus};

/// How much the cluster has; of devices nobody counts that.
pub(crate) fn cluster_total(state: &State, resource: ResIx) -> i64 {
    match is_of_device_class(state.resources().name(resource)) {
        true => i64::MAX,
        false => state.nodes().cluster_total.get(resource),
    }
}

/// Whether any object names amounts of claimed devices.
pub(crate) fn has_device_amounts(state: &State) -> bool {
    let resources = state.resources();
    let mut named = resources.in_order().iter().map(|ix| resources.name(*ix));
    named.any(is_of_device_class)
}

/// Amounts of claimed devices that a queue names, each once.
pub(crate) fn device_amounts(queue: &QueueObject) -> Vec<&str> {
    let written = [&queue.capability, &queue.deserved, &queue.guarantee];
    let names = written.into_iter().flatten().map(|(name, _)| name.as_str());
    let mut found: Vec<&str> = names.filter(|name| is_of_device_class(name)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What is held besides a task, of an amount in which it counts if it was placed.
pub(crate) fn held_besides(state: &State, task: TaskIx, held: i64, asked: i64) -> i64 {
    match state.task(task).status {
        TaskStatus::Pending => held,
        _ => held.saturating_sub(asked),
    }
}

/// Whether a queue stays within its limits with a task, which waits or was just placed.
///
/// # Errors
/// What the task asks and the queue may not have.
pub(crate) fn holds(
    state: &State,
    queue: &Queue,
    held: impl Fn(ResIx) -> i64,
    task: TaskIx,
) -> Result<(), Refusal> {
    if queue.object.capability.is_empty() {
        return Ok(());
    }
    let request = state.charges().charged(task);
    let overrun = |(resource, limit)| {
        let asked = request.get(resource);
        let used = held_besides(state, task, held(resource), asked);
        let exceeds = asked > 0 && used.saturating_add(asked) > limit;
        exceeds.then(|| Overrun {
            resource,
            above: None,
            bound: Bound::Capability,
            limit,
            total: cluster_total(state, resource),
            used,
            reserved: 0,
            asked,
        })
    };
    let overruns: Overruns = queue
        .limits(state.resources())
        .filter_map(overrun)
        .collect();
    match overruns.is_empty() {
        true => Ok(()),
        false => Err(Refusal::Quota(overruns)),
    }
}
