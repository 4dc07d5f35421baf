//! Devices that a pod which fits on no node gives back (spec/09 §6).

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::ClaimReturn;
use pumice_model::object::{PodObject, ResourceClaimObject};

use super::{Key, are_made, consumers, has_room, keys};
use crate::naive::filters::matches_term;
use crate::naive::state::{Status, World};

/// What is decided about giving devices back, by claim, with the version that was decided about.
#[derive(Clone, Debug, Default)]
pub(super) struct Returns {
    /// No newer version is told, and nobody has refused.
    under_way: BTreeMap<Key, u64>,
    refused: BTreeMap<Key, u64>,
}

impl Returns {
    /// A version of the claim is told.
    pub fn told(&mut self, claim: &ResourceClaimObject) {
        let key = (claim.namespace.clone(), claim.name.clone());
        let is_newer = |version: &u64| *version < claim.version;
        if self.under_way.get(&key).is_some_and(is_newer) {
            self.under_way.remove(&key);
        }
    }

    /// It will not happen to that version.
    pub fn kept(&mut self, refused: &ClaimReturn) {
        let key = (refused.namespace.clone(), refused.claim.clone());
        if self.under_way.get(&key) == Some(&refused.version) {
            self.under_way.remove(&key);
        }
        let known = self.refused.entry(key).or_default();
        *known = refused.version.max(*known);
    }

    /// Nobody is placed with the claim.
    pub fn are_under_way(&self, key: &Key) -> bool {
        self.under_way.contains_key(key)
    }

    fn were_refused(&self, key: &Key, version: u64) -> bool {
        self.refused.get(key) == Some(&version)
    }
}

/// The cycle ends: of the pods that fitted on no node those that have no place now give devices back, the oldest
/// first.
pub fn decide(world: &mut World, in_vain: &BTreeSet<String>) -> Vec<ClaimReturn> {
    let tried = in_vain.iter().filter_map(|uid| world.tasks.get(uid));
    let waiting = tried.filter(|task| task.status == Status::Pending);
    let mut pods: Vec<_> = waiting.map(|task| task.pod.clone()).collect();
    pods.sort_by_key(|pod| (pod.created_s, pod.uid.clone()));
    let mut returns = Vec::new();
    for pod in pods {
        let Some(key) = of_pod(world, &pod) else {
            continue;
        };
        let claim = &world.claims.objects.claims[&key];
        returns.push(ClaimReturn {
            namespace: claim.namespace.clone(),
            claim: claim.name.clone(),
            claim_uid: claim.uid.clone(),
            version: claim.version,
        });
        let version = claim.version;
        world.claims.returns.under_way.insert(key, version);
    }
    returns
}

/// The claim whose devices a pod gives back that fits on no node: one at a time, and none that would be of no
/// use because the pod waits on every node for another claim.
fn of_pod(world: &World, pod: &PodObject) -> Option<Key> {
    let returns = &world.claims.returns;
    let keys: Vec<Key> = keys(pod).into_iter().flatten().collect();
    if !can_be_served(world, pod) || keys.iter().any(|key| returns.are_under_way(key)) {
        return None;
    }
    let mut keys = keys.into_iter();
    keys.find(|key| {
        let claim = &world.claims.objects.claims[key];
        let own = consumers(world, pod, key);
        claim.reserved_for.iter().all(|user| own.contains(user))
            && keeps_from_a_node(world, claim)
            && !returns.were_refused(key, claim.version)
            && !have_places(world, key, pod)
    })
}

/// No claim of the pod makes it wait on every node (spec/09 §5).
fn can_be_served(world: &World, pod: &PodObject) -> bool {
    let all = &world.claims;
    let mut claims = keys(pod).into_iter().flatten();
    are_made(world, pod)
        && claims.all(|key| match all.has(&key) {
            Some(_) => has_room(world, &key, pod),
            None => all.knows_classes_of(&all.objects.claims[&key]),
        })
}

/// The claim has devices that some node does not reach.
fn keeps_from_a_node(world: &World, claim: &ResourceClaimObject) -> bool {
    let has = claim.allocation.as_ref();
    let terms = has.and_then(|has| has.nodes.as_ref());
    terms.is_some_and(|terms| {
        let mut nodes = world.nodes.values();
        nodes.any(|node| !terms.iter().any(|term| matches_term(term, node)))
    })
}

/// Other pods that use the claim have a place.
fn have_places(world: &World, key: &Key, pod: &PodObject) -> bool {
    let ended = [Status::Pending, Status::Succeeded, Status::Failed];
    let mut others = world.tasks.values();
    others.any(|task| {
        task.pod.uid != pod.uid
            && !ended.contains(&task.status)
            && keys(&task.pod).contains(&Some(key.clone()))
    })
}
