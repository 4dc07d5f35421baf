//! What `patch.jobSpec` of a step makes of the specification in the template.
//!
//! | field | what the patch does |
//! |---|---|
//! | single values | those that are written replace; 0 and empty text count as not written |
//! | `plugins` | by name: the flags of the patch replace those of the template |
//! | `tasks` | by name: fields of the task as above; a task the template does not have is added |
//! | `tasks[].template` | as `kubectl patch --type strategic`: containers, variables, ports … by name |
//! | `volumes` | by `mountPath` |
//! | `policies`, `networkTopology`, `dependsOn`, `partitionPolicy` | replaced as a whole |
//!
//! Nothing can be taken away. What comes out is checked like any other Job.

use k8s_openapi::DeepMerge;
use pumice_api::job::{JobSpec, TaskSpec, VolumeSpec};

use crate::job::task_name;

/// The specification with the patch applied.
pub fn overlaid(mut spec: JobSpec, patch: JobSpec) -> JobSpec {
    // Every field by name: one that comes to the type has to be decided on here.
    let JobSpec {
        scheduler_name,
        min_available,
        min_success,
        queue,
        max_retry,
        ttl_seconds_after_finished,
        priority_class_name,
        running_estimate,
        plugins,
        policies,
        network_topology,
        volumes,
        tasks,
    } = patch;
    text(&mut spec.scheduler_name, scheduler_name);
    number(&mut spec.min_available, min_available);
    option(&mut spec.min_success, min_success);
    text(&mut spec.queue, queue);
    number(&mut spec.max_retry, max_retry);
    option(
        &mut spec.ttl_seconds_after_finished,
        ttl_seconds_after_finished,
    );
    text(&mut spec.priority_class_name, priority_class_name);
    option(&mut spec.running_estimate, running_estimate);
    spec.plugins.extend(plugins);
    list(&mut spec.policies, policies);
    option(&mut spec.network_topology, network_topology);
    for volume in volumes {
        overlay_volume(&mut spec.volumes, volume);
    }
    for task in tasks {
        overlay_task(&mut spec.tasks, task);
    }
    spec
}

fn overlay_volume(volumes: &mut Vec<VolumeSpec>, patch: VolumeSpec) {
    let mut known = volumes.iter_mut();
    match known.find(|volume| volume.mount_path == patch.mount_path) {
        Some(volume) => *volume = patch,
        None => volumes.push(patch),
    }
}

fn overlay_task(tasks: &mut Vec<TaskSpec>, patch: TaskSpec) {
    let mut known = tasks.iter_mut();
    let Some(task) = known.find(|task| task_name(task) == task_name(&patch)) else {
        tasks.push(patch);
        return;
    };
    let TaskSpec {
        name: _,
        replicas,
        min_available,
        max_retry,
        template,
        policies,
        topology_policy,
        depends_on,
        partition_policy,
    } = patch;
    number(&mut task.replicas, replicas);
    option(&mut task.min_available, min_available);
    number(&mut task.max_retry, max_retry);
    task.template.merge_from(template);
    list(&mut task.policies, policies);
    text(&mut task.topology_policy, topology_policy);
    option(&mut task.depends_on, depends_on);
    option(&mut task.partition_policy, partition_policy);
}

fn text(field: &mut String, patch: String) {
    if !patch.is_empty() {
        *field = patch;
    }
}

fn number(field: &mut i32, patch: i32) {
    if patch != 0 {
        *field = patch;
    }
}

fn option<T>(field: &mut Option<T>, patch: Option<T>) {
    if patch.is_some() {
        *field = patch;
    }
}

fn list<T>(field: &mut Vec<T>, patch: Vec<T>) {
    if !patch.is_empty() {
        *field = patch;
    }
}
