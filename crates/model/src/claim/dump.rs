//! The books of claims as the objects they were made of.

use super::ResourceClaims;
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::object::PodObject;

impl ResourceClaims {
    /// Every object, each kind in the order of its names. What was granted and not told yet is as if it
    /// were told.
    pub(crate) fn dump(&self, out: &mut Vec<Delta>) {
        let classes = self.classes.values();
        out.extend(classes.map(|class| Delta::DeviceClassApply(Box::new(class.clone()))));
        let slices = self.inventory.slices();
        out.extend(slices.map(|slice| Delta::SliceApply(Box::new(slice.clone()))));
        let mut claims: Vec<_> = self.claims.iter().map(|(_, claim)| claim).collect();
        claims.sort_by_key(|claim| &claim.key);
        for claim in claims {
            if let Some(mut object) = claim.object.clone() {
                object.allocation = claim.allocation().cloned();
                out.push(Delta::ResourceClaimApply(Box::new(object)));
            }
        }
    }

    /// Fills in the claims of a pod.
    pub(crate) fn fill_in(&self, task: TaskIx, pod: &mut PodObject) {
        if let Some(known) = self.tasks.get(&task) {
            let claims = known.claims.iter().map(|(_, claim)| claim.clone());
            pod.resource_claims = claims.collect();
        }
    }
}
