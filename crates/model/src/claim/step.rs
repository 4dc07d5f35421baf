//! What a bind does to a claim, decided from the claim as it is read (spec/09 §6). Who reads and writes it,
//! and how often that is tried, is no concern of this module.
//!
//! ```text
//!  forth: protects() ─► the finalizer, then gives() ─► allocation and pod in one update
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
    /// Claim.
    pub claim: String,
    /// UID of the claim.
    pub claim_uid: String,
    /// What it gets; `None` when it has been allocated before, and the pod is only to be let in.
    pub allocation: Option<Box<ClaimAllocation>>,
}

/// The devices of a claim that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundDevices {
    /// None.
    Nothing,
    /// Those of the step.
    AsDecided,
    /// Others.
    Others,
}

/// What counts of a claim that was read, for the bind of one pod.
#[derive(Clone, Copy, Debug)]
pub struct ClaimReading<'a> {
    /// Its UID, where it has one.
    pub uid: Option<&'a str>,
    /// It is being deleted.
    pub deleting: bool,
    /// It has the finalizer `resource.kubernetes.io/delete-protection`.
    pub is_protected: bool,
    /// Its devices.
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
    /// The pod.
    pub pod: bool,
}

impl ClaimStep {
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

    /// What has to be added to the status; `None` when nothing is left to do.
    ///
    /// # Errors
    /// The claim cannot be used any more, or not for this.
    pub fn gives(&self, found: &ClaimReading<'_>) -> Result<Option<ClaimChange>, String> {
        self.is_usable(found)?;
        let devices = match (&self.allocation, found.devices) {
            (Some(_), FoundDevices::Nothing) => true,
            (Some(_), FoundDevices::Others) => {
                return Err("it has been given other devices meanwhile".to_owned());
            }
            (None, FoundDevices::Nothing) => {
                return Err("its devices have been taken back meanwhile".to_owned());
            }
            (Some(_), FoundDevices::AsDecided) | (None, _) => false,
        };
        if !found.has_pod && found.users >= MAX_RESERVED {
            return Err(format!("{MAX_RESERVED} pods use it, and no more may"));
        }
        let change = ClaimChange {
            devices,
            pod: !found.has_pod,
        };
        Ok((change.devices || change.pod).then_some(change))
    }

    /// What has to be taken out of the status once the bind has failed: the pod, and what this bind has
    /// given unless others use it; `None` when nothing is left to do.
    pub fn takes_back(&self, found: &ClaimReading<'_>) -> Option<ClaimChange> {
        if !self.is_about(found) {
            return None;
        }
        let others = found.users - usize::from(found.has_pod);
        let given_here = self.allocation.is_some() && found.devices == FoundDevices::AsDecided;
        let change = ClaimChange {
            devices: given_here && others == 0,
            pod: found.has_pod,
        };
        (change.devices || change.pod).then_some(change)
    }

    /// Whether the finalizer has to be removed after that: from a claim without devices.
    pub fn unprotects(&self, found: &ClaimReading<'_>) -> bool {
        let is_free = found.devices == FoundDevices::Nothing;
        self.allocation.is_some() && self.is_about(found) && is_free && found.is_protected
    }
}
