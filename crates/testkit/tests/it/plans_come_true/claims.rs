//! Clusters whose pods claim devices: what an API server and the controller of claims make of that, at once.

use std::collections::BTreeSet;

use pumice_engine::Decisions;
use pumice_model::object::{PodObject, ResourceClaimObject};
use pumice_model::{ClaimReturn, ClaimStep, Delta};

use crate::run;

/// Claims by namespace and name.
type ClaimKey = (String, String);

/// Claims on the API server, and their controller.
#[derive(Default)]
pub struct QuietClaims {
    server: run::Claims,
    /// Devices that were given to claims.
    pub given: usize,
    /// Claims whose devices are free since a pod was evicted.
    pub freed: usize,
}

/// The claims of a pod that have names.
fn names(pod: &PodObject) -> impl Iterator<Item = ClaimKey> {
    let names = pod
        .resource_claims
        .iter()
        .filter_map(|entry| entry.claim.as_ref());
    names.map(|name| (pod.namespace.clone(), name.clone()))
}

/// One more version of a claim.
fn told(claim: &mut ResourceClaimObject) -> Delta {
    claim.version += 1;
    Delta::ResourceClaimApply(Box::new(claim.clone()))
}

impl QuietClaims {
    /// There is this claim.
    pub fn take(&mut self, claim: &ResourceClaimObject) {
        let key = (claim.namespace.clone(), claim.name.clone());
        self.server.claims.insert(key, claim.clone());
    }

    /// What is written about the claims of a pod that is bound.
    pub fn bound(&mut self, steps: &[ClaimStep], uid: &str) -> Vec<Delta> {
        let gifts = steps.iter().filter_map(|step| step.allocation.as_ref());
        self.given += gifts.map(|gift| gift.devices.devices.len()).sum::<usize>();
        let told = steps.iter().filter_map(|step| self.server.take(step, uid));
        told.collect()
    }

    /// A pod is gone: what is its own goes with it, and what nobody uses any more has no devices.
    pub fn left(&mut self, pod: &PodObject) -> Vec<Delta> {
        let mut news = Vec::new();
        for key in names(pod) {
            let Some(claim) = self.server.claims.get_mut(&key) else {
                continue;
            };
            let users = claim.reserved_for.len();
            claim.reserved_for.retain(|uid| *uid != pod.uid);
            let was_reserved = claim.reserved_for.len() < users;
            if was_reserved && claim.reserved_for.is_empty() {
                self.freed += usize::from(claim.allocation.is_some());
                (claim.allocation, claim.is_protected) = (None, false);
            }
            if claim.reserved_for.is_empty() && claim.owner_uid == pod.uid {
                self.server.claims.remove(&key);
                news.push(Delta::ResourceClaimDelete(key.0, key.1));
            } else if was_reserved {
                news.push(told(claim));
            }
        }
        news
    }

    /// Devices of a claim that keep its pod away are given back.
    pub fn given_back(&mut self, claim: &ClaimReturn) -> Delta {
        let key = (claim.namespace.clone(), claim.claim.clone());
        let known = self.server.claims.get_mut(&key).expect("a known claim");
        assert_eq!(known.version, claim.version, "{key:?}");
        known.allocation = None;
        known.reserved_for.clear();
        told(known)
    }

    /// All claims give back that were decided to.
    pub fn all_given_back(&mut self, decisions: &Decisions) -> Vec<Delta> {
        let all = decisions.device_returns.iter();
        all.map(|claim| self.given_back(claim)).collect()
    }
}

/// Namespace and name of the PodGroups with waiting pods that claim devices.
pub fn groups_that_claim(objects: &[Delta]) -> BTreeSet<(String, String)> {
    let claiming = objects.iter().filter_map(|object| match object {
        Delta::PodApply(pod) if pod.node.is_none() && !pod.resource_claims.is_empty() => {
            Some((pod.namespace.clone(), pod.group.clone()?))
        }
        _ => None,
    });
    claiming.collect()
}

/// The claims that only these pods name: they are made with them.
pub fn only_of(pods: &[Delta], others: &[Delta]) -> BTreeSet<ClaimKey> {
    let named = |objects: &[Delta]| -> BTreeSet<ClaimKey> {
        let pods = objects.iter().filter_map(|object| match object {
            Delta::PodApply(pod) => Some(&**pod),
            _ => None,
        });
        pods.flat_map(names).collect()
    };
    &named(pods) - &named(others)
}

/// Objects as an API server comes to have them: pods first, then the claims that are made of templates for them, and the
/// names of these.
pub fn one_by_one(objects: Vec<Delta>) -> Vec<Delta> {
    let (claims, others): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .partition(|object| matches!(object, Delta::ResourceClaimApply(_)));
    let without_made = |object: &Delta| {
        let mut object = object.clone();
        if let Delta::PodApply(pod) = &mut object {
            let made = pod.resource_claims.iter_mut();
            made.filter(|entry| entry.template.is_some())
                .for_each(|entry| entry.claim = None);
        }
        object
    };
    let bare: Vec<Delta> = others.iter().map(without_made).collect();
    let named = others.into_iter().filter(|object| !bare.contains(object));
    let named: Vec<Delta> = named.collect();
    [bare, claims, named].concat()
}
