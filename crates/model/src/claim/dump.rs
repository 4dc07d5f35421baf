//! The books of claims as the objects they were made of.

use super::{ResourceClaimIx, ResourceClaims};
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::object::{PodObject, ResourceClaimObject};

impl ResourceClaims {
    /// Every object, each kind in the order of its names. What was granted and not told yet is as if it
    /// were told, unless only pods have it that are not decided: these are dumped without a place.
    pub(crate) fn dump(&self, is_decided: impl Fn(TaskIx) -> bool, out: &mut Vec<Delta>) {
        self.stock.dump(out);
        let mut claims: Vec<_> = self.claims.iter().collect();
        claims.sort_by_key(|claim| &claim.key);
        for claim in claims {
            if let Some(mut object) = claim.object.clone() {
                let holds = |user: &TaskIx| self.tasks.get(user).is_some_and(|pod| pod.holds());
                let mut holders = claim.users.iter().filter(|user| holds(user));
                if claim.holders == 0 || holders.any(|user| is_decided(*user)) {
                    object.allocation = claim.allocation().cloned();
                }
                out.push(Delta::ResourceClaimApply(Box::new(object)));
            }
        }
    }

    /// A claim, as the API server tells of it.
    pub fn object(&self, key: &(String, String)) -> Option<&ResourceClaimObject> {
        let ix = self.claims.find(key).map(ResourceClaimIx)?;
        self.claims[ix.at()].object.as_ref()
    }

    /// Names of the claims of a pod, in the order of its spec.
    pub fn named_by(&self, task: TaskIx) -> impl Iterator<Item = &str> {
        let pod = self.tasks.get(&task).into_iter();
        let entries = pod.flat_map(|pod| &pod.claims);
        entries.filter_map(|named| named.entry.claim.as_deref())
    }

    /// Fills in the claims of a pod.
    pub(crate) fn fill_in(&self, task: TaskIx, pod: &mut PodObject) {
        if let Some(known) = self.tasks.get(&task) {
            let claims = known.claims.iter().map(|named| named.entry.clone());
            pod.resource_claims = claims.collect();
        }
    }
}
