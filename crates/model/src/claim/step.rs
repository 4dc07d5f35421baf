//! What a bind does to a claim, decided from the claim as it is read (spec/09 §6). Who reads and writes it,
//! and how often that is tried, is no concern of this module.
//!
//! ```text
//!  forth: protects() ─► the finalizer, then gives() ─► allocation and pod in one update; whoever fails at
//!         the same time may take the finalizer away in between: then from the beginning
//!  back:  takes_back() ─► pod and allocation in one update, then unprotects() ─► the finalizer
//! ```

use crate::object::ClaimAllocation;

/// Pods one claim may be reserved for (`ResourceClaimReservedForMaxSize`).
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
    /// Pods it is reserved for.
    pub users: usize,
    /// The pod is one of them.
    pub has_pod: bool,
}

/// What a status gets, or loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimChange {
    /// The devices of the step.
    pub devices: bool,
    /// The pod's entry among those that the claim is reserved for.
    pub pod: bool,
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
        if !found.has_pod && found.users >= MAX_RESERVED {
            return Err(format!("{MAX_RESERVED} pods use it, and no more may"));
        }
        let change = ClaimChange {
            devices,
            pod: !found.has_pod,
        };
        Ok(match change {
            ClaimChange {
                devices: false,
                pod: false,
            } => ClaimGift::Given,
            change if change.devices && !found.is_protected => ClaimGift::Unprotected,
            change => ClaimGift::Missing(change),
        })
    }

    /// What has to be taken out of the status once the bind has failed: the pod, and the devices unless others
    /// use the claim, whichever bind has given them; `None` when nothing is left to do. What another scheduler
    /// wrote is its own: other devices, and where it has bound the pod, all that was not given by this bind.
    pub fn takes_back(
        &self,
        found: &ClaimReading<'_>,
        is_bound_elsewhere: bool,
    ) -> Option<ClaimChange> {
        let given_here = self.allocation.is_some() && found.devices == FoundDevices::AsDecided;
        if !self.is_about(found)
            || found.devices == FoundDevices::Others
            || (is_bound_elsewhere && !given_here)
        {
            return None;
        }
        let others = found.users - usize::from(found.has_pod);
        let has_devices = found.devices != FoundDevices::Nothing;
        let change = ClaimChange {
            devices: others == 0 && (given_here || (has_devices && found.has_pod)),
            pod: found.has_pod,
        };
        (change.devices || change.pod).then_some(change)
    }

    /// Whether the finalizer has to be removed after that: from a claim without devices.
    pub fn unprotects(&self, found: &ClaimReading<'_>) -> bool {
        let is_free = found.devices == FoundDevices::Nothing;
        self.is_about(found) && is_free && found.is_protected
    }
}
