//! What groups hold of claims (spec/09 §7): a claim that is reserved for a group has its devices as long as the group is
//! there, whatever becomes of its pods, and counts so long for the queue of the group.

use std::collections::BTreeSet;

use crate::ix::{JobIx, QueueIx};
use crate::named::NamedEntries;
use crate::resource::ResourceNames;

use super::groups::{ClaimingGroups, GroupKey};
use super::{
    ClaimCharge, ClaimCounts, ClaimEntry, ClaimedDevices, DeviceHold, ResourceClaimIx,
    ResourceClaims,
};

/// Claims that are told with devices and reserved for groups.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldClaims {
    claims: BTreeSet<ResourceClaimIx>,
    /// What is counted of them may be something else.
    is_stale: bool,
    /// Groups came or went: which claims these are may be something else.
    is_unknown: bool,
}

/// What is counted for queues because groups hold it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeldCounts {
    /// By the job of the group.
    counted: Vec<(JobIx, QueueIx, ResourceClaimIx)>,
    /// Queues of groups may be others.
    is_stale: bool,
}

impl HeldClaims {
    /// The object of a claim is another one, or the claim is gone.
    pub(super) fn look(
        &mut self,
        ix: ResourceClaimIx,
        entry: &ClaimEntry,
        groups: &ClaimingGroups,
    ) {
        if groups.is_empty() && self.claims.is_empty() {
            return;
        }
        let is_held = entry.object.as_ref().is_some_and(|object| {
            let mut users = object.reserved_for.iter();
            object.allocation.is_some() && users.any(|uid| groups.key_of(uid).is_some())
        });
        let was_held = match is_held {
            true => !self.claims.insert(ix),
            false => self.claims.remove(&ix),
        };
        self.is_stale |= is_held || was_held;
    }

    /// Groups came or went.
    pub(super) fn groups_changed(&mut self) {
        self.is_unknown = true;
    }

    /// Whether what is held may be something else than it was when this was last asked.
    fn take_news(&mut self, all: &NamedEntries<ClaimEntry>, groups: &ClaimingGroups) -> bool {
        let is_unknown = std::mem::take(&mut self.is_unknown);
        if is_unknown {
            for entry in all.iter() {
                if let Some(ix) = all.find(&entry.key).map(ResourceClaimIx) {
                    self.look(ix, entry, groups);
                }
            }
        }
        std::mem::take(&mut self.is_stale) || is_unknown
    }
}

impl ResourceClaims {
    /// What groups hold, with what counts, if that may be something else than it was.
    pub(crate) fn take_held(
        &mut self,
        is_stale: bool,
        names: &mut ResourceNames,
    ) -> Option<Vec<(GroupKey, ClaimCharge)>> {
        if !self.held.take_news(&self.claims, &self.groups) && !is_stale {
            return None;
        }
        let mut all = Vec::new();
        for ix in &self.held.claims {
            let Some(object) = &self.claims[ix.at()].object else {
                continue;
            };
            let mut charge = ClaimCharge::default();
            let has = object.allocation.as_ref();
            charge.add(Some(*ix), object, has, &self.stock, names);
            let groups = object.reserved_for.iter();
            let groups = groups.filter_map(|uid| self.groups.key_of(uid));
            all.extend(groups.map(|group| (group.clone(), charge.clone())));
        }
        Some(all)
    }
}

impl ClaimCounts {
    /// Counts what a group holds for its queue.
    pub(crate) fn count_held(
        &mut self,
        (job, queue): (JobIx, QueueIx),
        charge: &ClaimCharge,
        sums: &mut ClaimedDevices,
    ) {
        for (claim, amounts) in charge.shared() {
            self.share(queue, *claim, DeviceHold::Allocated, amounts, sums);
            self.held.counted.push((job, queue, *claim));
        }
    }

    /// The last of what was counted so, to be counted no more.
    pub(crate) fn last_held(&self) -> Option<(JobIx, QueueIx)> {
        self.held
            .counted
            .last()
            .map(|(job, queue, _)| (*job, *queue))
    }

    /// The inverse of [`ClaimCounts::count_held`] for the last of what was counted.
    pub(crate) fn uncount_last_held(&mut self, sums: &mut ClaimedDevices) {
        if let Some((_, queue, claim)) = self.held.counted.pop() {
            self.unshare(queue, claim, DeviceHold::Allocated, sums);
            self.held.is_stale = true;
        }
    }

    /// Queues of groups may be others.
    pub(crate) fn held_is_stale(&mut self) {
        self.held.is_stale = true;
    }

    /// Whether they may have been; they are not from now on.
    pub(crate) fn take_held_stale(&mut self) -> bool {
        std::mem::take(&mut self.held.is_stale)
    }
}
