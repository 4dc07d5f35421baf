//! `Allocate` of the older plugin behind gpu-memory and gpu-number (spec/04 §14.4).

use std::collections::BTreeMap;

use super::{AllocateAnswer, AllocateCall, AllocateRefusal, Grant, ListedPod, wire};

/// Resource of the plugin in strategy `share`: memory on one card.
pub const MEMORY: &str = "volcano.sh/gpu-memory";
/// Resource of the plugin in strategy `number`: whole cards.
pub const NUMBER: &str = "volcano.sh/gpu-number";
/// Cards of the pod.
pub const INDEX: &str = "volcano.sh/gpu-index";
/// Whose turn it is: the smallest is the next.
pub const TIME: &str = "volcano.sh/predicate-time";
/// The plugin has served the pod.
pub const ASSIGNED: &str = "volcano.sh/gpu-assigned";
/// Node annotation that is removed after every pod.
pub const LOCK: &str = "gpu";

/// Answers a call of the plugin that serves `resource` on a node with `cards` cards. `pods` are all
/// pods of the cluster. The whole pod is served by one call, whatever its other containers ask.
pub fn allocate(
    resource: &str,
    cards: u32,
    pods: &[ListedPod],
    call: &AllocateCall,
) -> AllocateAnswer {
    let mut waiting: Vec<&ListedPod> = pods
        .iter()
        .filter(|pod| waits(pod, resource, &call.node))
        .collect();
    waiting.sort_by_key(|pod| wire::time(pod.annotations.get(TIME)));
    let asks = |pod: &&ListedPod| {
        let mut containers = pod.containers.iter();
        containers.any(|container| container.limits.get(resource) == Some(&call.ids))
    };
    let Some(pod) = waiting.into_iter().find(asks) else {
        return refused(None, AllocateRefusal::NobodyWaits);
    };
    let Some(grants) = promised(pod) else {
        return refused(Some(pod), AllocateRefusal::NothingLeft);
    };
    let there = |grant: &Grant| grant.id.parse().is_ok_and(|index: u32| index < cards);
    if !grants.iter().all(there) {
        return refused(Some(pod), AllocateRefusal::NothingLeft);
    }
    AllocateAnswer {
        result: Ok(grants),
        guessed: Some(pod.uid.clone()),
        changes: BTreeMap::from([(ASSIGNED.to_owned(), "true".to_owned())]),
        unlocks: Some(LOCK),
    }
}

fn waits(pod: &ListedPod, resource: &str, node: &str) -> bool {
    let asks = |container: &super::Container| container.limits.get(resource) > Some(&0);
    pod.node.as_deref() == Some(node)
        && pod.phase == "Pending"
        && !pod.deleting
        && !is_assigned(&pod.annotations)
        && pod.containers.iter().any(asks)
}

fn is_assigned(annotations: &BTreeMap<String, String>) -> bool {
    annotations
        .get(ASSIGNED)
        .is_some_and(|text| text != "false")
}

/// Cards the scheduler has written for the pod; `None` when there are none or not to be read.
pub fn promised(pod: &ListedPod) -> Option<Vec<Grant>> {
    let card = |index: &str| {
        let index: i32 = index.parse().ok()?;
        Some(Grant {
            id: index.to_string(),
            memory: 0,
            cores: 0,
        })
    };
    pod.annotations.get(INDEX)?.split(',').map(card).collect()
}

fn refused(pod: Option<&ListedPod>, refusal: AllocateRefusal) -> AllocateAnswer {
    AllocateAnswer {
        result: Err(refusal),
        guessed: pod.map(|pod| pod.uid.clone()),
        changes: BTreeMap::new(),
        unlocks: Some(LOCK),
    }
}

/// Serves the pod with these annotations.
pub(super) fn serve_all(annotations: &mut BTreeMap<String, String>) {
    let chosen = annotations.contains_key(INDEX) && annotations.contains_key(TIME);
    if chosen && !is_assigned(annotations) {
        annotations.insert(ASSIGNED.to_owned(), "true".to_owned());
    }
}
