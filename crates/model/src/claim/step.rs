//! What a bind does to a claim, decided from the claim as it is read (spec/09 §6). Who reads and writes it,
//! and how often that is tried, is no concern of this module.
//!
//! ```text
//!  forth: protects() ─► the finalizer, then gives() ─► allocation and pod in one update; whoever fails at
//!         the same time may take the finalizer away in between: then from the beginning
//!  back:  takes_back() ─► pod and allocation in one update, then unprotects() ─► the finalizer
//! ```

use crate::object::ClaimAllocation;

use super::ClaimGroup;

/// Pods and groups one claim may be reserved for (`ResourceClaimReservedForMaxSize`).
pub const MAX_RESERVED: usize = 256;

/// What has to be written about a ResourceClaim before the Binding of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimStep {
    /// Namespace of the claim.
    pub namespace: String,
    /// Name of the claim.
    pub claim: String,
    /// UID of the claim.
    pub claim_uid: String,
    /// The PodGroup that the claim is reserved for; `None` where that is the pod.
    pub group: Option<ClaimGroup>,
    /// What it gets; `None` when it has been allocated before, and the pod is only to be let in.
    pub allocation: Option<Box<ClaimAllocation>>,
    /// What it had then: with other devices the pod may be in the wrong place.
    pub known: Option<Box<ClaimAllocation>>,
}

/// The devices of a claim that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundDevices {
    /// None.
    Nothing,
    /// Those of the step, given or known.
    AsDecided,
    /// Devices other than those that were decided.
    Others,
}

/// What counts of a claim that was read, for the bind of one pod.
#[derive(Clone, Copy, Debug)]
pub struct ClaimReading<'a> {
    /// UID of the claim, where it has one.
    pub uid: Option<&'a str>,
    /// It is being deleted.
    pub deleting: bool,
    /// It has the finalizer `resource.kubernetes.io/delete-protection`.
    pub is_protected: bool,
    /// Devices that the claim has.
    pub devices: FoundDevices,
    /// How many pods and groups it is reserved for.
    pub users: usize,
    /// It is reserved for the consumer of the step.
    pub has_consumer: bool,
}

/// What a status gets, or loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimChange {
    /// The devices of the step.
    pub devices: bool,
    /// The consumer's entry among those that the claim is reserved for.
    pub consumer: bool,
}

/// What is left to do before the Binding, once the claim is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimGift {
    /// Nothing.
    Given,
    /// This has to be added to the status.
    Missing(ClaimChange),
    /// The finalizer is gone again, and has to be there before devices.
    Unprotected,
}

impl ClaimStep {
    /// The devices that the pod was placed for.
    pub fn decided(&self) -> Option<&ClaimAllocation> {
        self.allocation.as_deref().or(self.known.as_deref())
    }

    /// UID of the one that the claim is reserved for when the pod uses it.
    pub fn consumer<'a>(&'a self, pod_uid: &'a str) -> &'a str {
        self.group.as_ref().map_or(pod_uid, |group| &group.uid)
    }

    /// It is the claim that was decided about.
    fn is_about(&self, found: &ClaimReading<'_>) -> bool {
        found.uid.is_none_or(|uid| uid == self.claim_uid)
    }

    fn is_usable(&self, found: &ClaimReading<'_>) -> Result<(), String> {
        match (self.is_about(found), found.deleting) {
            (false, _) => Err("it was made anew".to_owned()),
            (true, true) => Err("it is being deleted".to_owned()),
            (true, false) => Ok(()),
        }
    }

    /// Whether the finalizer has to be added.
    ///
    /// # Errors
    /// The claim cannot be used any more.
    pub fn protects(&self, found: &ClaimReading<'_>) -> Result<bool, String> {
        self.is_usable(found)?;
        Ok(self.allocation.is_some() && !found.is_protected)
    }

    /// What has to be added to the status.
    ///
    /// # Errors
    /// The claim cannot be used any more, or not for this.
    pub fn gives(&self, found: &ClaimReading<'_>) -> Result<ClaimGift, String> {
        self.is_usable(found)?;
        let devices = match (&self.allocation, found.devices) {
            (Some(_), FoundDevices::Nothing) => true,
            (_, FoundDevices::Others) => {
                return Err("it has been given other devices meanwhile".to_owned());
            }
            (None, FoundDevices::Nothing) => {
                return Err("its devices have been taken back meanwhile".to_owned());
            }
            (_, FoundDevices::AsDecided) => false,
        };
        if !found.has_consumer && found.users >= MAX_RESERVED {
            return Err(format!(
                "{MAX_RESERVED} pods and PodGroups use it, and no more may"
            ));
        }
        let change = ClaimChange {
            devices,
            consumer: !found.has_consumer,
        };
        Ok(match change {
            ClaimChange {
                devices: false,
                consumer: false,
            } => ClaimGift::Given,
            change if change.devices && !found.is_protected => ClaimGift::Unprotected,
            change => ClaimGift::Missing(change),
        })
    }

    /// What has to be taken out of the status once the bind has failed: the pod, and the devices unless others
    /// use the claim, whichever bind has given them; `None` when nothing is left to do. What another scheduler
    /// wrote is its own: other devices, and where it has bound the pod, all that was not given by this bind. Of a
    /// claim that is reserved for a group nothing is taken out: binds of other pods of the group count on that.
    pub fn takes_back(
        &self,
        found: &ClaimReading<'_>,
        is_bound_elsewhere: bool,
    ) -> Option<ClaimChange> {
        let given_here = self.allocation.is_some() && found.devices == FoundDevices::AsDecided;
        if self.group.is_some()
            || !self.is_about(found)
            || found.devices == FoundDevices::Others
            || (is_bound_elsewhere && !given_here)
        {
            return None;
        }
        let others = found.users - usize::from(found.has_consumer);
        let has_devices = found.devices != FoundDevices::Nothing;
        let change = ClaimChange {
            devices: others == 0 && (given_here || (has_devices && found.has_consumer)),
            consumer: found.has_consumer,
        };
        (change.devices || change.consumer).then_some(change)
    }

    /// Whether a bind that has failed leaves the claim with its devices, since they are the group's.
    pub fn leaves(&self, found: &ClaimReading<'_>) -> bool {
        self.group.is_some() && self.is_about(found) && found.devices == FoundDevices::AsDecided
    }

    /// Whether the finalizer has to be removed after that: from a claim without devices.
    pub fn unprotects(&self, found: &ClaimReading<'_>) -> bool {
        let is_free = found.devices == FoundDevices::Nothing;
        self.is_about(found) && is_free && found.is_protected
    }
}
