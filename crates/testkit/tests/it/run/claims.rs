//! The side of an API server that has resource claims: what is written before a Binding is accepted.

use std::collections::BTreeMap;

use pumice_model::object::ResourceClaimObject;
use pumice_model::{ClaimStep, Delta};

/// Claims as they are now.
#[derive(Default)]
pub struct Claims {
    /// By namespace and name.
    pub claims: BTreeMap<(String, String), ResourceClaimObject>,
}

impl Claims {
    /// What there is.
    pub fn new(objects: &[Delta]) -> Self {
        let claims = objects.iter().filter_map(|object| match object {
            Delta::ResourceClaimApply(claim) => {
                let key = (claim.namespace.clone(), claim.name.clone());
                Some((key, ResourceClaimObject::clone(claim)))
            }
            _ => None,
        });
        Self {
            claims: claims.collect(),
        }
    }

    /// Accepts what is written about a claim for a pod; what a watch tells of it.
    pub fn take(&mut self, step: &ClaimStep, uid: &str) -> Option<Delta> {
        let key = (step.namespace.clone(), step.claim.clone());
        let claim = self.claims.get_mut(&key)?;
        match &step.allocation {
            // Another pod may have brought it along.
            Some(allocation) if claim.allocation.is_none() => {
                claim.allocation = Some((**allocation).clone());
            }
            Some(allocation) => assert_eq!(claim.allocation.as_ref(), Some(&**allocation)),
            None => assert!(claim.allocation.is_some(), "{key:?} has no devices"),
        }
        claim.is_protected = true;
        claim.version += 1;
        let consumer = step.consumer(uid);
        if !claim.reserved_for.iter().any(|user| user == consumer) {
            claim.reserved_for.push(consumer.to_owned());
        }
        Some(Delta::ResourceClaimApply(Box::new(claim.clone())))
    }
}
