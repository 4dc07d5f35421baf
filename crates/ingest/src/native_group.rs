//! PodGroups of Kubernetes itself, and how pods name theirs (spec/03 §B10).

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::native_pod_group::{
    NativeDisruptionMode, NativeGroupCondition, NativeSchedulingConstraints,
};
use pumice_api::{CompositePodGroup, NativePodGroup, keys};
use pumice_model::object::{
    GroupCondition, GroupObject, GroupStatus, HighestTier, NATIVE_GROUP, NativeTraits,
    PodResourceClaim, SCHEDULED, TopologyRequest, UNSCHEDULABLE,
};

use crate::meta;
use crate::options::Options;
use crate::pod::NEVER;
use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::run_time;

/// How many claims a group may have.
const MAX_CLAIMS: usize = 4;

/// Reads a PodGroup of `scheduling.k8s.io`. Its pods are there already, so it counts as admitted.
///
/// # Errors
/// Every problem: no name, not exactly one policy, a minimum below 1, an unknown mode of disruption, a topology without
/// label, too many claims, a claim without name or source.
pub fn native_pod_group(
    group: &NativePodGroup,
    options: &Options,
) -> Result<GroupObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let path = Path::root("spec");
    let name = meta::name(&group.metadata, &mut problems);
    let namespace = meta::namespace(&group.metadata);
    let min_member = min_member(group, path.field("schedulingPolicy"), &mut problems);
    let constraints = group.spec.scheduling_constraints.as_ref();
    let constraints_path = path.field("schedulingConstraints");
    let topology = topology(constraints, constraints_path, &mut problems);
    let mode = group.spec.disruption_mode.as_ref();
    let goes_whole = goes_whole(mode, path.field("disruptionMode"), &mut problems);
    let claims = claims(group, path, &mut problems);
    problems.or(GroupObject {
        min_member,
        priority_class: group.spec.priority_class_name.clone(),
        topology,
        status: status(&group.status.conditions),
        native: NativeTraits {
            goes_whole,
            never_preempts: group.spec.preemption_policy.as_deref() == Some(NEVER),
            priority: group.spec.priority,
            claims,
            parent: parent(&group.spec.parent_composite_pod_group_name),
            ..NativeTraits::default()
        },
        name: native_name(&name),
        ..of_metadata(&group.metadata, options, (namespace, &name))
    })
}

/// What the metadata of a group of `scheduling.k8s.io` says, with the minimum 1 and without a name of its own.
pub(crate) fn of_metadata(
    metadata: &ObjectMeta,
    options: &Options,
    (namespace, name): (String, &str),
) -> GroupObject {
    // Not a label: who may use which queue is asked about the annotation (`deploy/optional/queue-use.yaml`).
    let queue = meta::annotation(metadata, keys::QUEUE_NAME);
    GroupObject {
        uid: meta::uid(metadata, &namespace, name),
        created_s: meta::created_s(metadata),
        min_member: 1,
        queue: queue.unwrap_or_default().to_owned(),
        preemptable: meta::preemptable(metadata),
        user: meta::user(metadata),
        requester: meta::requester(metadata),
        annotations: run_time::annotations(metadata, options, None),
        is_native: true,
        namespace,
        ..GroupObject::default()
    }
}

/// Pods that have to be placed at once: 1 where each goes by itself.
fn min_member(group: &NativePodGroup, path: Path<'_>, problems: &mut ObjectProblems) -> i32 {
    let policy = &group.spec.scheduling_policy;
    match (&policy.basic, &policy.gang) {
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
    }
}

/// All pods on nodes with the same value of a label, where the group asks for that.
pub(crate) fn topology(
    constraints: Option<&NativeSchedulingConstraints>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<TopologyRequest> {
    let constraints = constraints?;
    let [only] = constraints.topology.as_slice() else {
        if !constraints.topology.is_empty() {
            let message = "more than one is set".to_owned();
            problems.add(path.field("topology"), message, "write one");
        }
        return None;
    };
    if only.key.is_empty() {
        let message = "it has no key".to_owned();
        let help = "name a label of nodes";
        problems.add(path.field("topology"), message, help);
    }
    let key = HighestTier::Label(only.key.clone());
    Some(TopologyRequest::Hard(key))
}

/// Whether what is below is evicted all together or not at all.
pub(crate) fn goes_whole(
    mode: Option<&NativeDisruptionMode>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> bool {
    match mode {
        None | Some(NativeDisruptionMode::Single) => false,
        Some(NativeDisruptionMode::All) => true,
        Some(NativeDisruptionMode::Unknown(mode)) => {
            let message = format!("{mode:?} is no mode");
            let help = "write single: {} or all: {} (v1alpha2: Pod or PodGroup)";
            problems.add(path, message, help);
            false
        }
    }
}

/// Claims that its pods may share, a few of different names.
fn claims(
    group: &NativePodGroup,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Vec<PodResourceClaim> {
    let all = &group.spec.resource_claims;
    if all.len() > MAX_CLAIMS {
        let message = format!("{} are set", all.len());
        let help = "write four at most, or let pods name more themselves";
        problems.add(path.field("resourceClaims"), message, help);
    }
    let mut read: Vec<PodResourceClaim> = Vec::new();
    for (at, claim) in all.iter().enumerate() {
        let path = path.item("resourceClaims", at);
        if claim.name.is_empty() || read.iter().any(|known| known.entry == claim.name) {
            let message = format!("{:?} is no name of one claim", claim.name);
            let help =
                "write a name that no other claim of the group has: pods name the claim by it";
            problems.add(path.field("name"), message, help);
        }
        let sources = (
            &claim.resource_claim_name,
            &claim.resource_claim_template_name,
        );
        if sources.0.is_some() == sources.1.is_some() {
            let message =
                "not exactly one of resourceClaimName and resourceClaimTemplateName is set";
            let help = "name a ResourceClaim, or the template to make one of";
            problems.add(path, message.to_owned(), help);
        }
        read.push(PodResourceClaim {
            entry: claim.name.clone(),
            claim: claim.resource_claim_name.clone(),
            template: claim.resource_claim_template_name.clone(),
        });
    }
    read
}

/// What the conditions of a group say, in the words of other PodGroups.
pub(crate) fn status(wire: &[NativeGroupCondition]) -> GroupStatus {
    let mut conditions: Vec<GroupCondition> = Vec::new();
    for condition in wire {
        let is_placed = NativePodGroup::PLACED_CONDITIONS.contains(&&*condition.kind)
            || condition.kind == CompositePodGroup::PLACED_CONDITION;
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

/// The CompositePodGroup that a group is part of; empty for none.
pub(crate) fn parent(named: &Option<String>) -> String {
    named.clone().unwrap_or_default()
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

/// Whether a pod that names such a group names another one in its annotation, which nobody made for it.
pub(crate) fn names_another(spec: &PodSpec, annotated: Option<&str>) -> bool {
    let is_made = |name: &&str| name.starts_with(MADE_FOR_PODS);
    native_group(spec).is_some()
        && annotated.is_some_and(|name| !name.is_empty() && !is_made(&name))
}

/// What names of PodGroups begin with that controllers make for pods that name none.
const MADE_FOR_PODS: &str = "podgroup-";
