//! PodGroups of Kubernetes itself (spec/03 §B10).

use pumice_fixtures::kept_natively;
use pumice_model::object::TopologyRequest;
use pumice_model::object::{GroupObject, HighestTier, NATIVE_GROUP, NativeTraits, PodObject};

use super::rng::Rng;

/// Labels of nodes that groups ask to be the same; one of them no node has.
const LABELS: &[&str] = &["zone", "zone", "app", "no-such"];

/// Makes half of the groups of some clusters those of Kubernetes itself, and their pods name them so.
pub fn furnish(rng: &mut Rng, groups: &mut [GroupObject], pods: &mut [PodObject]) {
    if !rng.one_in(3) {
        return;
    }
    for group in groups {
        if rng.one_in(2) {
            make(rng, group, pods);
        }
    }
}

/// Makes a group one of Kubernetes itself, which has no roles and no sub-groups, and asks nobody to be admitted.
pub fn make(rng: &mut Rng, group: &mut GroupObject, pods: &mut [PodObject]) {
    let name = format!("{NATIVE_GROUP}{}", group.name);
    let is_member = |pod: &&mut PodObject| {
        pod.namespace == group.namespace && pod.group == Some(group.name.clone())
    };
    for pod in pods.iter_mut().filter(is_member) {
        pod.group = Some(name.clone());
    }
    *group = GroupObject {
        namespace: group.namespace.clone(),
        uid: group.uid.clone(),
        created_s: group.created_s,
        min_member: group.min_member.max(1),
        queue: group.queue.clone(),
        priority_class: group.priority_class.clone(),
        preemptable: group.preemptable,
        annotations: group.annotations.clone(),
        status: kept_natively(&group.status),
        topology: rng
            .one_in(4)
            .then(|| TopologyRequest::Hard(HighestTier::Label(rng.pick(LABELS).to_owned()))),
        is_native: true,
        native: NativeTraits {
            goes_whole: rng.one_in(3),
            never_preempts: rng.one_in(4),
            priority: rng.pick(&[None, None, Some(0), Some(7)]),
            ..NativeTraits::default()
        },
        name,
        ..GroupObject::default()
    };
}
