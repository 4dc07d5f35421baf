//! CompositePodGroups of Kubernetes itself (spec/03 §B11).

use pumice_api::CompositePodGroup;
use pumice_model::object::{COMPOSITE_GROUP, CompositePolicy, GroupObject, NativeTraits};

use crate::meta;
use crate::native_group::{goes_whole, of_metadata, parent, status, topology};
use crate::options::Options;
use crate::pod::NEVER;
use crate::problem::{ObjectProblem, ObjectProblems, Path};

/// Reads a CompositePodGroup of `scheduling.k8s.io`. What is below counts as admitted.
///
/// # Errors
/// Every problem: no name, not exactly one policy, a minimum below 1, an unknown mode of disruption, a topology without
/// label.
pub fn composite_pod_group(
    group: &CompositePodGroup,
    options: &Options,
) -> Result<GroupObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let (path, spec) = (Path::root("spec"), &group.spec);
    let name = meta::name(&group.metadata, &mut problems);
    let namespace = meta::namespace(&group.metadata);
    let policy = policy(group, path.field("schedulingPolicy"), &mut problems);
    let constraints = spec.scheduling_constraints.as_ref();
    let constraints_path = path.field("schedulingConstraints");
    let topology = topology(constraints, constraints_path, &mut problems);
    let mode = spec.disruption_mode.as_ref();
    let goes_whole = goes_whole(mode, path.field("disruptionMode"), &mut problems);
    problems.or(GroupObject {
        priority_class: spec.priority_class_name.clone(),
        topology,
        status: status(&group.status.conditions),
        native: NativeTraits {
            goes_whole,
            never_preempts: spec.preemption_policy.as_deref() == Some(NEVER),
            priority: spec.priority,
            parent: parent(&spec.parent_composite_pod_group_name),
            composite: Some(policy),
            ..NativeTraits::default()
        },
        name: format!("{COMPOSITE_GROUP}{name}"),
        ..of_metadata(&group.metadata, options, (namespace, &name))
    })
}

fn policy(
    group: &CompositePodGroup,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> CompositePolicy {
    let policy = &group.spec.scheduling_policy;
    match (&policy.basic, &policy.gang) {
        (Some(_), None) => CompositePolicy::Basic,
        (None, Some(gang)) => {
            let count = gang.min_group_count.unwrap_or(0);
            if count < 1 {
                let path = path.field("gang");
                let message = format!("{count} is too small");
                problems.add(path.field("minGroupCount"), message, "write 1 or more");
            }
            CompositePolicy::Gang(count)
        }
        (basic, _) => {
            let message = match basic {
                Some(_) => "both basic and gang are set",
                None => "neither basic nor gang is set",
            };
            let help = "set gang.minGroupCount for so many groups at once, or basic: {}";
            problems.add(path, message.to_owned(), help);
            CompositePolicy::Basic
        }
    }
}
