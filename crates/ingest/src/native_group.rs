//! PodGroups of Kubernetes itself, and how pods name theirs (spec/03 §B10).

use k8s_openapi::api::core::v1::PodSpec;
use pumice_api::native_pod_group::NativePodGroupStatus;
use pumice_api::{NativePodGroup, keys};
use pumice_model::object::{
    GroupCondition, GroupObject, GroupStatus, NATIVE_GROUP, SCHEDULED, UNSCHEDULABLE,
};

use crate::meta;
use crate::options::Options;
use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::run_time;

/// Reads a PodGroup of `scheduling.k8s.io`. Its pods are there already, so it counts as admitted.
///
/// # Errors
/// Every problem: no name, not exactly one policy, a minimum below 1.
pub fn native_pod_group(
    group: &NativePodGroup,
    options: &Options,
) -> Result<GroupObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let path = Path::root("spec");
    let path = path.field("schedulingPolicy");
    let name = meta::name(&group.metadata, &mut problems);
    let namespace = meta::namespace(&group.metadata);
    let policy = &group.spec.scheduling_policy;
    let min_member = match (&policy.basic, &policy.gang) {
        (Some(_), None) => 1,
        (None, Some(gang)) => {
            let count = gang.min_count.unwrap_or(0);
            if count < 1 {
                let path = path.field("gang");
                let message = format!("{count} is too small");
                problems.add(path.field("minCount"), message, "write 1 or more");
            }
            count
        }
        (basic, _) => {
            let message = match basic {
                Some(_) => "both basic and gang are set",
                None => "neither basic nor gang is set",
            };
            let help = "set gang.minCount for all or nothing, or basic: {}";
            problems.add(path, message.to_owned(), help);
            1
        }
    };
    let queue = meta::annotation(&group.metadata, keys::QUEUE_NAME);
    problems.or(GroupObject {
        uid: meta::uid(&group.metadata, &namespace, &name),
        created_s: meta::created_s(&group.metadata),
        min_member,
        queue: queue.unwrap_or_default().to_owned(),
        priority_class: group.spec.priority_class_name.clone(),
        preemptable: meta::preemptable(&group.metadata),
        user: meta::user(&group.metadata),
        requester: meta::requester(&group.metadata),
        annotations: run_time::annotations(&group.metadata, options, None),
        status: status(&group.status),
        is_native: true,
        name: native_name(&name),
        namespace,
        ..GroupObject::default()
    })
}

/// What the conditions of a group say, in the words of other PodGroups.
fn status(wire: &NativePodGroupStatus) -> GroupStatus {
    let mut conditions: Vec<GroupCondition> = Vec::new();
    for condition in &wire.conditions {
        let is_placed = NativePodGroup::PLACED_CONDITIONS.contains(&&*condition.kind);
        let (kind, status) = match (is_placed, &*condition.status) {
            (true, "True") => (SCHEDULED, "True"),
            (true, _) => (UNSCHEDULABLE, "True"),
            (false, status) => (&*condition.kind, status),
        };
        conditions.retain(|known| known.kind != kind);
        conditions.push(GroupCondition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            transition_id: String::new(),
            transition_s: meta::seconds(condition.last_transition_time.as_ref()),
        });
    }
    GroupStatus::of_native(conditions)
}

/// Name of such a group among all PodGroups of its namespace.
fn native_name(name: &str) -> String {
    format!("{NATIVE_GROUP}{name}")
}

/// The group of Kubernetes itself that a pod names.
pub(crate) fn native_group(spec: &PodSpec) -> Option<String> {
    let group = spec.scheduling_group.as_ref()?;
    let name = group.pod_group_name.as_deref();
    name.filter(|name| !name.is_empty()).map(native_name)
}
