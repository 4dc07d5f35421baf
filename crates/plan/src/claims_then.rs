//! What an API server and the controller of claims make of resource claims in a course (spec/09 §6, §8): a bind reserves
//! them, with what they are given; who is gone uses them no more, and devices that nobody uses are free.

use std::collections::BTreeMap;

use pumice_engine::Engine;
use pumice_model::object::{PodObject, PodResourceClaim, ResourceClaimObject};
use pumice_model::{ClaimReturn, ClaimStep, Delta, TaskIx};

/// By namespace and name; nothing of a claim that is gone.
type Claims = BTreeMap<(String, String), Option<ResourceClaimObject>>;

/// Claims that something happens to, as they are then.
pub struct ClaimsThen<'e> {
    engine: &'e Engine,
    known: Claims,
    changed: Claims,
}

impl<'e> ClaimsThen<'e> {
    /// Nothing has happened yet.
    pub fn new(engine: &'e Engine) -> Self {
        Self {
            engine,
            known: Claims::new(),
            changed: Claims::new(),
        }
    }

    /// A pod is bound, before which this is written.
    pub fn bound(&mut self, uid: &str, steps: &[ClaimStep]) {
        for step in steps {
            self.change(&step.namespace, &step.claim, |claim| {
                if let Some(given) = &step.allocation {
                    claim.allocation = Some((**given).clone());
                    claim.is_protected = true;
                }
                let consumer = step.consumer(uid);
                if !claim.reserved_for.iter().any(|user| user == consumer) {
                    claim.reserved_for.push(consumer.to_owned());
                }
                true
            });
        }
    }

    /// A pod is gone.
    pub fn gone(&mut self, task: TaskIx) {
        let state = self.engine.state();
        let uid = &*state.task(task).uid;
        let namespace = state.names().text(state.task(task).namespace);
        for name in state.supplies().resource_claims().named_by(task) {
            self.change(namespace, name, |claim| {
                let users = claim.reserved_for.len();
                claim.reserved_for.retain(|user| user != uid);
                if claim.reserved_for.len() < users && claim.reserved_for.is_empty() {
                    (claim.allocation, claim.is_protected) = (None, false);
                }
                !claim.reserved_for.is_empty() || claim.owner_uid != uid
            });
        }
    }

    /// A claim gives devices back that keep its pod away.
    pub fn given_back(&mut self, claim: &ClaimReturn) {
        self.change(&claim.namespace, &claim.claim, |claim| {
            (claim.allocation, claim.reserved_for) = (None, Vec::new());
            true
        });
    }

    /// Changes a claim, if it is there; `change` says whether it is there still.
    fn change(
        &mut self,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut ResourceClaimObject) -> bool,
    ) {
        let key = (namespace.to_owned(), name.to_owned());
        let claims = self.engine.state().supplies().resource_claims();
        let known = self.known.entry(key.clone());
        let known = known.or_insert_with(|| claims.object(&key).cloned());
        let Some(claim) = known else { return };
        let before = claim.clone();
        if !change(claim) {
            *known = None;
        } else if *claim == before {
            return;
        } else {
            claim.version += 1;
        }
        self.changed.insert(key, known.clone());
    }

    /// What is told of that which has happened since this was last asked.
    pub fn told(&mut self) -> Vec<Delta> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        let told = changed.map(|((namespace, name), claim)| match claim {
            Some(claim) => Delta::ResourceClaimApply(Box::new(claim)),
            None => Delta::ResourceClaimDelete(namespace, name),
        });
        told.collect()
    }
}

/// What was made of templates for a pod is made for the one that comes in its place, too: the claims, which that one names.
/// What was made for its group stays.
pub fn made_again(engine: &Engine, pod: &mut PodObject) -> Vec<Delta> {
    let state = engine.state();
    let claims = state.supplies().resource_claims();
    let uid = pod.uid.clone();
    let made = |entry: &mut PodResourceClaim| {
        let name = entry.claim.as_mut().filter(|_| entry.template.is_some())?;
        let claim = claims.object(&(pod.namespace.clone(), name.clone()))?;
        if claims.is_group(&claim.owner_uid) {
            return None;
        }
        name.push_str("-again");
        Some(Delta::ResourceClaimApply(Box::new(ResourceClaimObject {
            namespace: claim.namespace.clone(),
            name: name.clone(),
            uid: format!("{}-again", claim.uid),
            owner_uid: uid.clone(),
            spec: claim.spec.clone(),
            ..ResourceClaimObject::default()
        })))
    };
    pod.resource_claims.iter_mut().filter_map(made).collect()
}
