//! PodGroup (spec/03 B2, spec/01 §3.4).

use pumice_api::PodGroup;
use pumice_api::pod_group::{PodGroupStatus, SubGroupPolicy as WirePolicy};
use pumice_model::object::{
    GroupCondition, GroupObject, GroupPhase, GroupStatus, NativeTraits, SubGroupPolicy,
};
use pumice_model::resource::is_of_device_class;

use crate::options::Options;
use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{amount, bounds, hyper_node, meta, run_time, selector};

/// Reads a PodGroup.
///
/// # Errors
/// Every problem of the group: no name, a negative minimum, a bad quantity, selector or phase.
pub fn pod_group(group: &PodGroup, options: &Options) -> Result<GroupObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let path = Path::root("spec");
    let spec = &group.spec;
    let name = meta::name(&group.metadata, &mut problems);
    let namespace = meta::namespace(&group.metadata);
    at_least(0, spec.min_member, path.field("minMember"), &mut problems);
    for (role, minimum) in &spec.min_task_member {
        let members = path.field("minTaskMember");
        at_least(0, *minimum, members.field(role), &mut problems);
    }
    let policies = spec.sub_group_policy.iter().enumerate();
    let sub_groups: Vec<_> = policies
        .map(|(at, policy)| sub_group(policy, path.item("subGroupPolicy", at), &mut problems))
        .collect();
    let min_resources = spec.min_resources.as_ref();
    let min_path = path.field("minResources");
    bounds::names(
        min_resources.map_or(0, |list| list.len()),
        min_path,
        &mut problems,
    );
    let out = GroupObject {
        uid: meta::uid(&group.metadata, &namespace, &name),
        created_s: meta::created_s(&group.metadata),
        min_member: spec.min_member,
        min_task_member: spec.min_task_member.clone().into_iter().collect(),
        queue: spec.queue.clone(),
        priority_class: spec.priority_class_name.clone(),
        min_resources: min_resources.map(|list| {
            let mut amounts = amount::amounts(Some(list), min_path, &mut problems);
            // Devices are counted by the claims of pods (spec/09 §7).
            amounts.retain(|(name, _)| !is_of_device_class(name));
            amounts
        }),
        quota_request: amount::thousandths(min_resources, min_path, &mut Default::default()),
        sub_groups,
        topology: hyper_node::request(
            spec.network_topology.as_ref(),
            path.field("networkTopology"),
            &mut problems,
        ),
        preemptable: meta::preemptable(&group.metadata),
        user: meta::user(&group.metadata),
        requester: meta::requester(&group.metadata),
        annotations: run_time::annotations(&group.metadata, options, None),
        status: status(&group.status, &mut problems),
        is_native: false,
        native: NativeTraits::default(),
        namespace,
        name,
    };
    problems.or(out)
}

fn at_least(least: i32, value: i32, path: Path<'_>, problems: &mut ObjectProblems) {
    if value < least {
        let message = format!("{value} is too small");
        let help = if least == 0 {
            "write 0 or more"
        } else {
            "write 1 or more"
        };
        problems.add(path, message, help);
    }
}

fn sub_group(wire: &WirePolicy, path: Path<'_>, problems: &mut ObjectProblems) -> SubGroupPolicy {
    let size = wire.sub_group_size.unwrap_or(1);
    let min_groups = wire.min_sub_groups.unwrap_or(0);
    at_least(1, size, path.field("subGroupSize"), problems);
    at_least(0, min_groups, path.field("minSubGroups"), problems);
    let selector_path = path.field("labelSelector");
    SubGroupPolicy {
        name: wire.name.clone(),
        selector: selector::optional(wire.label_selector.as_ref(), selector_path, problems),
        match_label_keys: wire.match_label_keys.clone(),
        size,
        min_groups,
        topology: hyper_node::request(
            wire.network_topology.as_ref(),
            path.field("networkTopology"),
            problems,
        ),
    }
}

fn status(wire: &PodGroupStatus, problems: &mut ObjectProblems) -> GroupStatus {
    let mut conditions: Vec<GroupCondition> = Vec::new();
    for condition in &wire.conditions {
        // The newest of a kind comes last.
        conditions.retain(|known| known.kind != condition.kind);
        conditions.push(GroupCondition {
            kind: condition.kind.clone(),
            status: condition.status.clone(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            transition_id: condition.transition_id.clone(),
            transition_s: meta::seconds(condition.last_transition_time.as_ref()),
        });
    }
    GroupStatus {
        phase: phase(&wire.phase, problems),
        is_blank: wire.phase.is_empty(),
        conditions,
        running: wire.running,
        succeeded: wire.succeeded,
        failed: wire.failed,
    }
}

fn phase(text: &str, problems: &mut ObjectProblems) -> GroupPhase {
    match text {
        "" | "Pending" => GroupPhase::Pending,
        "Inqueue" => GroupPhase::Inqueue,
        "Running" => GroupPhase::Running,
        "Unknown" => GroupPhase::Unknown,
        "Completed" => GroupPhase::Completed,
        other => {
            let path = Path::root("status");
            let message = format!("{other:?} is not a phase");
            let help = "write Pending, Inqueue, Running, Unknown or Completed";
            problems.add(path.field("phase"), message, help);
            GroupPhase::Pending
        }
    }
}
