//! What happens to devices and to claims of them.

use pumice_model::delta::Delta;
use pumice_model::object::{PodObject, ResourceClaimObject};

use super::super::claims::{any_class, slices_of, slices_of_all, taint_rule};
use super::super::giver::Giver;
use super::{Changing, Kind};

impl Changing {
    /// Something happens to a slice, a class or a claim.
    pub(super) fn change_claims(&mut self) -> Vec<Delta> {
        match self.rng.below(14) {
            0 => self.delete(Kind::Slice),
            1 | 2 => self.publish(),
            3 if self.rng.one_in(2) => self.delete(Kind::DeviceClass),
            3 => {
                let class = any_class(&mut self.rng);
                vec![self.put(class)]
            }
            4 => self.delete(Kind::ResourceClaim),
            5 => self.make_claim(),
            6 => self.delete(Kind::TaintRule),
            7 => {
                let rule = taint_rule(&mut self.rng);
                vec![self.put(rule)]
            }
            _ => self.change_claim(),
        }
    }

    /// A driver publishes something anew.
    fn publish(&mut self) -> Vec<Delta> {
        let nodes = self.nodes();
        let told = match self.any(Kind::Node) {
            Some(node) if !self.rng.one_in(3) => slices_of(&mut self.rng, &node),
            _ => {
                let pool = self.rng.pick(&["east", "west"]);
                slices_of_all(&mut self.rng, pool, &nodes)
            }
        };
        told.into_iter().map(|delta| self.put(delta)).collect()
    }

    /// The claim of a pod is made that was not there yet, or a pod is given the name of its claim.
    fn make_claim(&mut self) -> Vec<Delta> {
        let Some(name) = self.any(Kind::Pod) else {
            return Vec::new();
        };
        let change = |pod: &mut PodObject| {
            for entry in &mut pod.resource_claims {
                let made = format!("{}-{}", pod.name, entry.entry);
                entry.claim.get_or_insert(made);
            }
        };
        let told = self.write(&name, change);
        told.into_iter().collect()
    }

    /// A claim is given devices by others, loses them, is reserved for others, or is to be deleted.
    fn change_claim(&mut self) -> Vec<Delta> {
        let Some(name) = self.any(Kind::ResourceClaim) else {
            return Vec::new();
        };
        let known = self.objects();
        let Some(Delta::ResourceClaimApply(claim)) = self.objects.get(&(Kind::ResourceClaim, name))
        else {
            return Vec::new();
        };
        let mut claim = ResourceClaimObject::clone(claim);
        match self.rng.below(8) {
            0 | 1 if claim.allocation.is_none() => {
                let mut giver = Giver::new(&known);
                claim.allocation = giver.give(&mut self.rng, &claim.spec, None);
                claim.is_protected = claim.allocation.is_some();
            }
            0..=3 => {
                claim.allocation = None;
                claim.is_protected = false;
                claim.reserved_for.clear();
            }
            4 => claim.deleting = !claim.deleting,
            5 => {
                let users = self.rng.pick(&[1, 254, 255, 256]);
                claim.reserved_for = (0..users).map(|at| format!("user-{at}")).collect();
            }
            _ => claim.reserved_for.clear(),
        }
        vec![self.put(Delta::ResourceClaimApply(Box::new(claim)))]
    }
}
