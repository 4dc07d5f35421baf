//! Claims that have devices where their pods find no room: left behind by a scheduler that ended between what
//! it wrote about them and the Binding.

use pumice_model::Delta;
use pumice_model::object::{NodeObject, PodObject, PodPhase, ResourceClaimObject};

use super::giver::Giver;
use super::rng::Rng;
use super::{amount, leave_room, nodes_of, pods_of};

/// Many of the claims that only waiting pods name get devices, mostly of nodes that are full.
pub(super) fn leave(rng: &mut Rng, all: &mut [Delta]) {
    let mut giver = Giver::new(all);
    let (nodes, pods) = (nodes_of(&*all), pods_of(&*all));
    for object in all {
        let Delta::ResourceClaimApply(claim) = object else {
            continue;
        };
        let users: Vec<&PodObject> = pods.iter().filter(|pod| names(pod, claim)).collect();
        let waits = |pod: &&PodObject| pod.node.is_none();
        if claim.allocation.is_some() || !users.iter().all(waits) || rng.one_in(3) {
            continue;
        }
        let Some(user) = users.first() else { continue };
        let full = nodes.iter().filter(|node| !has_room(node, &pods, user));
        let mut places: Vec<&NodeObject> = full.collect();
        if places.is_empty() || rng.one_in(5) {
            places = nodes.iter().collect();
        }
        if places.is_empty() {
            continue;
        }
        let node = rng.pick(&places);
        claim.allocation = giver.give(rng, &claim.spec, Some(&node.name));
        claim.is_protected = claim.allocation.is_some();
        if claim.is_protected && claim.reserved_for.is_empty() {
            reserve(rng, claim, &users);
        }
    }
}

/// For nobody, for one pod that uses it, or for somebody else as well.
fn reserve(rng: &mut Rng, claim: &mut ResourceClaimObject, users: &[&PodObject]) {
    let user = rng.pick(users).uid.clone();
    claim.reserved_for = match rng.below(8) {
        0..=3 => Vec::new(),
        4..=6 => vec![user],
        _ => vec![user, "somebody".to_owned()],
    };
}

fn names(pod: &PodObject, claim: &ResourceClaimObject) -> bool {
    let mut entries = pod.resource_claims.iter();
    pod.namespace == claim.namespace
        && entries.any(|entry| entry.claim.as_ref() == Some(&claim.name))
}

/// The node has the CPU and memory left that the pod asks for.
fn has_room(node: &NodeObject, pods: &[PodObject], pod: &PodObject) -> bool {
    let ended = [PodPhase::Succeeded, PodPhase::Failed];
    let there = pods
        .iter()
        .filter(|other| other.node.as_ref() == Some(&node.name) && !ended.contains(&other.phase));
    let there: Vec<&PodObject> = there.collect();
    let wanted = ["cpu", "memory"].into_iter();
    leave_room(
        node,
        &there,
        wanted.map(|name| (name, amount(&pod.request, name))),
    )
}
