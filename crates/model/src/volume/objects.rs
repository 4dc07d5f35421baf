//! Storage objects as they come, change and go. Every method says whether anything changed.

use std::sync::Arc;

use crate::delta::Delta;
use crate::object::{ClaimObject, CsiCapacityObject, PvObject, StorageClassObject};

use super::reach::ReachLimits;
use super::{Capacity, Claim, ClaimIx, Pv, Volumes};

impl Volumes {
    fn changed(&mut self) -> bool {
        self.objects_epoch += 1;
        true
    }

    pub(crate) fn apply_pv(&mut self, object: PvObject) -> bool {
        let known = self.pvs.get(&object.name);
        if known.is_some_and(|pv| *pv.object == object) {
            return false;
        }
        let assumed_for = known.and_then(|pv| pv.assumed_for);
        self.unlist_pv(&object.name);
        self.queue_claims_of(&object);
        let name = object.name.clone();
        if let Some(claim) = &object.claim {
            let key = (claim.namespace.clone(), claim.name.clone());
            self.set_aside.entry(key).or_default().insert(name.clone());
        }
        let reach = ReachLimits::Terms(object.node_affinity.clone());
        let reach = self.reaches.intern(reach);
        let pv = Pv {
            object: Arc::new(object),
            reach,
            assumed_for,
        };
        self.pvs.insert(name.clone(), pv);
        self.list_if_free(&name);
        self.changed()
    }

    pub(crate) fn delete_pv(&mut self, name: &str) -> bool {
        self.unlist_pv(name);
        let Some(pv) = self.pvs.remove(name) else {
            return false;
        };
        self.queue_claims_of(&pv.object);
        self.changed()
    }

    /// Claims that name the volume, and the one it names.
    fn queue_claims_of(&mut self, pv: &PvObject) {
        if let Some(claims) = self.claims_of_pv.get(&pv.name) {
            self.stale.extend(claims);
        }
        let key = pv.claim.as_ref().map(|c| (&c.namespace, &c.name));
        if let Some((namespace, name)) = key {
            let key = (namespace.clone(), name.clone());
            self.stale.extend(&self.claims.find(&key).map(ClaimIx));
        }
    }

    fn unlist_pv(&mut self, name: &str) {
        self.unlist_free(name);
        let Some(pv) = self.pvs.get(name) else { return };
        let Some(claim) = pv.object.claim.clone() else {
            return;
        };
        let key = (claim.namespace, claim.name);
        self.stale.extend(&self.claims.find(&key).map(ClaimIx));
        if let Some(volumes) = self.set_aside.get_mut(&key) {
            volumes.remove(name);
            if volumes.is_empty() {
                self.set_aside.remove(&key);
            }
        }
    }

    /// Takes a volume off the list of those anybody may get.
    pub(super) fn unlist_free(&mut self, name: &str) {
        let Some(pv) = self.pvs.get(name) else { return };
        let Some(groups) = self.free.get_mut(&pv.object.class) else {
            return;
        };
        let Some(group) = groups.get_mut(&pv.reach) else {
            return;
        };
        group.remove(&(pv.object.capacity, name.to_owned()));
        if group.is_empty() {
            groups.remove(&pv.reach);
        }
        // An empty class stays: whether it is there decides what an epoch means.
    }

    /// Lists a volume that nobody has.
    pub(super) fn list_if_free(&mut self, name: &str) {
        let Some(pv) = self.pvs.get(name) else { return };
        let object = &pv.object;
        let taken = object.claim.is_some() || pv.assumed_for.is_some();
        if taken || self.has_bound_claim(name) || !object.available || object.deleting {
            return;
        }
        let groups = self.free.entry(object.class.clone()).or_default();
        let group = groups.entry(pv.reach).or_default();
        group.insert((object.capacity, name.to_owned()), object.clone());
    }

    /// A claim says that it is bound to the volume, which may be known from before.
    fn has_bound_claim(&self, volume: &str) -> bool {
        let is_bound = |ix: &ClaimIx| {
            let object = self.claims[ix.at()].object.as_ref();
            object.is_some_and(ClaimObject::is_bound)
        };
        let claims = self.claims_of_pv.get(volume);
        claims.is_some_and(|claims| claims.iter().any(is_bound))
    }

    /// The entry of a claim, made when missing.
    pub(super) fn claim_entry(&mut self, namespace: &str, name: &str) -> ClaimIx {
        let key = (namespace.to_owned(), name.to_owned());
        let new = |key| Claim {
            key,
            ..Claim::default()
        };
        ClaimIx(self.claims.find_or_insert(key, new))
    }

    /// Drops the entry of a claim nobody knows or uses.
    pub(super) fn drop_claim_if_unused(&mut self, ix: ClaimIx) {
        let claim = &self.claims[ix.at()];
        if claim.object.is_none() && claim.users.is_empty() && claim.holders == 0 {
            self.claims.remove(ix.at(), |claim| &claim.key);
            self.stale.remove(ix);
        }
    }

    pub(crate) fn apply_claim(&mut self, object: ClaimObject) -> bool {
        let ix = self.claim_entry(&object.namespace, &object.name);
        if self.claims[ix.at()].object.as_ref() == Some(&object) {
            return false;
        }
        let is_bound = object.is_bound();
        let uid = object.uid.clone();
        let old = self.put_claim(ix, Some(object));
        // Only now: its volume is not free meanwhile, even if what the volume says comes later.
        if is_bound || old.is_some_and(|old| old.uid != uid) {
            self.forget_assumption(ix);
        }
        self.stale.insert(ix);
        self.changed()
    }

    pub(crate) fn delete_claim(&mut self, namespace: &str, name: &str) -> bool {
        let key = (namespace.to_owned(), name.to_owned());
        let Some(ix) = self.claims.find(&key).map(ClaimIx) else {
            return false;
        };
        if self.claims[ix.at()].object.is_none() {
            return false;
        }
        self.forget_assumption(ix);
        self.put_claim(ix, None);
        self.stale.insert(ix);
        self.drop_claim_if_unused(ix);
        self.changed()
    }

    /// Puts the object of a claim in the place of the one before, which is returned. Keeps the way from
    /// volumes to the claims that name them.
    fn put_claim(&mut self, ix: ClaimIx, new: Option<ClaimObject>) -> Option<ClaimObject> {
        let old = std::mem::replace(&mut self.claims[ix.at()].object, new);
        let named = |object: Option<&ClaimObject>| {
            let volume = object.map(|object| object.volume.clone());
            volume.filter(|volume| !volume.is_empty())
        };
        let before = named(old.as_ref());
        let after = named(self.claims[ix.at()].object.as_ref());
        if before != after {
            if let Some(volume) = &before
                && let Some(claims) = self.claims_of_pv.get_mut(volume)
            {
                claims.retain(|claim| *claim != ix);
                if claims.is_empty() {
                    self.claims_of_pv.remove(volume);
                }
            }
            if let Some(volume) = after.clone() {
                self.claims_of_pv.entry(volume).or_default().push(ix);
            }
        }
        for volume in before.iter().chain(&after) {
            self.unlist_free(volume);
            self.list_if_free(volume);
        }
        old
    }

    pub(crate) fn apply_class(&mut self, object: StorageClassObject) -> bool {
        let name = object.name.clone();
        if self.classes.get(&name) == Some(&object) {
            return false;
        }
        self.classes.insert(name, object);
        self.stale.all = true;
        self.changed()
    }

    pub(crate) fn delete_class(&mut self, name: &str) -> bool {
        let there = self.classes.remove(name).is_some();
        self.stale.all |= there;
        there && self.changed()
    }

    pub(crate) fn apply_capacity(&mut self, object: CsiCapacityObject) -> bool {
        let key = (object.namespace.clone(), object.name.clone());
        if self
            .capacities
            .get(&key)
            .is_some_and(|c| c.object == object)
        {
            return false;
        }
        let reach = self
            .reaches
            .intern(ReachLimits::Topology(object.topology.clone()));
        self.capacities.insert(key, Capacity { object, reach });
        self.changed()
    }

    pub(crate) fn delete_capacity(&mut self, namespace: &str, name: &str) -> bool {
        let key = (namespace.to_owned(), name.to_owned());
        self.capacities.remove(&key).is_some() && self.changed()
    }

    /// Applies a change of an object that tells of CSI drivers; others are none of its business.
    pub(crate) fn apply_csi(&mut self, delta: Delta) -> bool {
        self.csi.apply(delta) && self.changed()
    }
}
