//! Claims as they come, change and go. Those of the API server say whether anything changed.

use crate::object::ResourceClaimObject;

use super::users::ClaimPresence;
use super::{ClaimEntry, ClaimGrant, ResourceClaimIx, ResourceClaims, Returning};

impl ResourceClaims {
    fn changed(&mut self) -> bool {
        self.objects_epoch += 1;
        true
    }

    /// The entry of a claim, made when missing.
    pub(super) fn claim_entry(&mut self, namespace: &str, name: &str) -> ResourceClaimIx {
        let key = (namespace.to_owned(), name.to_owned());
        let new = |key| ClaimEntry {
            key,
            ..ClaimEntry::default()
        };
        ResourceClaimIx(self.claims.find_or_insert(key, new))
    }

    /// Drops the entry of a claim that nobody knows or uses.
    pub(super) fn drop_claim_if_unused(&mut self, ix: ResourceClaimIx) {
        let claim = &self.claims[ix.at()];
        let is_known = claim.object.is_some() || !claim.grant.is_nothing();
        if !is_known && claim.users.is_empty() && claim.holders == 0 {
            self.claims.remove(ix.at(), |claim| &claim.key);
            self.stale.remove(ix);
        }
    }

    pub(crate) fn apply_claim(&mut self, object: ResourceClaimObject) -> bool {
        let ix = self.claim_entry(&object.namespace, &object.name);
        let entry = &mut self.claims[ix.at()];
        entry.grant.see(object.version, object.allocation.is_some());
        if let Some(known) = &mut entry.object
            && known.says_what(&object)
        {
            known.version = object.version;
            let returning = entry
                .returning
                .after(object.version, object.allocation.is_some());
            let has_ended = std::mem::replace(&mut entry.returning, returning) != returning;
            if has_ended {
                self.stale.insert(ix);
            }
            return (self.give_up_if_over(ix) || has_ended) && self.changed();
        }
        let replaced = entry
            .object
            .as_ref()
            .is_some_and(|old| old.uid != object.uid);
        // Another bind may have written it and may take it back, and one that is under way write it again.
        // What a watch tells of a claim without devices may be older than what is being written.
        let given = entry.grant.devices();
        let is_needed = match &object.allocation {
            Some(told) => given.is_some_and(|given| **given == *told) && self.may_be_written(ix),
            None => !self.is_given_up(ix),
        };
        let keeps_grant = is_needed && !replaced;
        self.change_claim(ix, |entry| {
            let returning = entry.returning;
            let returning = returning.after(object.version, object.allocation.is_some());
            entry.returning = if replaced { Returning::No } else { returning };
            entry.object = Some(object);
            if !keeps_grant {
                entry.grant = ClaimGrant::Nothing;
            }
        });
        self.held.look(ix, &self.claims[ix.at()], &self.groups);
        self.stale.insert(ix);
        self.changed()
    }

    /// Nobody has or may have what was given here.
    pub(super) fn is_given_up(&self, ix: ResourceClaimIx) -> bool {
        self.claims[ix.at()].holders == 0 && !self.stays_alone(ix)
    }

    /// What was given here stays although no pod here has it.
    pub(super) fn stays_alone(&self, ix: ResourceClaimIx) -> bool {
        let is_written = matches!(self.claims[ix.at()].grant, ClaimGrant::Written { .. });
        is_written || self.adrift.may_write(ix)
    }

    /// Takes back what nobody has or may have; whether there was something.
    pub(super) fn give_up_if_over(&mut self, ix: ResourceClaimIx) -> bool {
        let is_over = self.is_given_up(ix) && !self.claims[ix.at()].grant.is_nothing();
        if is_over {
            self.take_grant(ix);
            self.stale.insert(ix);
        }
        is_over
    }

    /// A claim has nothing any more of what was given here.
    pub(super) fn take_grant(&mut self, ix: ResourceClaimIx) {
        self.change_claim(ix, |entry| entry.grant = ClaimGrant::Nothing);
    }

    pub(crate) fn delete_claim(&mut self, namespace: &str, name: &str) -> bool {
        let key = (namespace.to_owned(), name.to_owned());
        let Some(ix) = self.claims.find(&key).map(ResourceClaimIx) else {
            return false;
        };
        if self.claims[ix.at()].object.is_none() {
            return false;
        }
        self.change_claim(ix, |entry| {
            (entry.object, entry.grant) = (None, ClaimGrant::Nothing);
            entry.returning = Returning::No;
        });
        self.held.look(ix, &self.claims[ix.at()], &self.groups);
        self.stale.insert(ix);
        self.drop_claim_if_unused(ix);
        self.changed()
    }

    /// Changes what a claim has, and the ledger with it.
    pub(super) fn change_claim(
        &mut self,
        ix: ResourceClaimIx,
        change: impl FnOnce(&mut ClaimEntry),
    ) {
        let entry = &mut self.claims[ix.at()];
        if let Some(old) = entry.allocation() {
            self.stock.release(ix, &old.devices, entry.leaves);
        }
        change(entry);
        self.grants += 1;
        entry.leaves = false;
        if entry.grant.is_nothing() {
            self.adrift.forget(ix);
        }
        let leaves = self.leaves(ix);
        let entry = &mut self.claims[ix.at()];
        entry.leaves = leaves;
        if let Some(new) = entry.allocation() {
            self.stock.take(ix, &new.devices, leaves);
        }
    }

    /// Whether the devices of a claim are free once all is gone that is being released: it is reserved for
    /// pods that go, and for nobody else, and no other pod with a place uses it (spec/09 §8).
    fn leaves(&self, ix: ResourceClaimIx) -> bool {
        let entry = &self.claims[ix.at()];
        let Some(object) = &entry.object else {
            return false;
        };
        if object.allocation.is_none() || object.reserved_for.is_empty() {
            return false;
        }
        let mut going = Vec::new();
        for user in entry.users.iter().filter_map(|user| self.tasks.get(user)) {
            match user.presence {
                ClaimPresence::Waits => {}
                ClaimPresence::There => return false,
                ClaimPresence::Goes => going.push(&user.uid),
            }
        }
        let mut reserved = object.reserved_for.iter();
        !going.is_empty() && reserved.all(|uid| going.contains(&uid))
    }

    /// Who uses a claim has come to a node, goes, or is gone: what becomes of its devices may be something
    /// else.
    pub(super) fn weigh_leaving(&mut self, ix: ResourceClaimIx, node: Option<&str>) {
        let leaves = self.leaves(ix);
        let entry = &mut self.claims[ix.at()];
        if entry.leaves == leaves {
            return;
        }
        entry.leaves = leaves;
        self.grants += 1;
        let Some(allocation) = entry.allocation() else {
            return;
        };
        self.stock.set_leaving(ix, &allocation.devices, leaves);
        // What other nodes reach will be free or not: they are all to be looked at again.
        self.wide_epoch += u64::from(self.stock.is_elsewhere(allocation, node));
    }
}
