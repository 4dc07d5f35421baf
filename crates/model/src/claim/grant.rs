//! What a claim was given here, as long as the API server does not tell of it alone (spec/09 §6).
//!
//! ```text
//!  Nothing ─► Promised                    a pod waits with it; nobody is bound
//!          └► Given ─ a pod is bound ─► Written ─ a version as new is told ─► Given
//!  all ─► Nothing: nobody has it or may have it, or the API server tells of something else
//! ```

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::object::ClaimAllocation;

/// What a claim was given here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum ClaimGrant {
    /// Nothing was given to the claim here.
    #[default]
    Nothing,
    /// Devices for a pod that waits itself, until others are gone: nobody is bound with them.
    Promised(#[serde(with = "shared")] Arc<ClaimAllocation>),
    /// Devices for pods to be bound with.
    Given {
        #[serde(with = "shared")]
        devices: Arc<ClaimAllocation>,
        /// The version of the claim that had them on the API server, which has told of one as new since:
        /// they are in it, or were taken back.
        told_at: Option<u64>,
    },
    /// Devices that are on the API server, which does not tell of them yet.
    Written {
        #[serde(with = "shared")]
        devices: Arc<ClaimAllocation>,
        /// The version of the claim with them there, if it is known.
        at: Option<u64>,
    },
}

/// Devices that are shared here are told as what they are.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::object::ClaimAllocation;

    pub fn serialize<S: Serializer>(
        devices: &Arc<ClaimAllocation>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        ClaimAllocation::serialize(devices, to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Arc<ClaimAllocation>, D::Error> {
        ClaimAllocation::deserialize(from).map(Arc::new)
    }
}

impl ClaimGrant {
    /// Devices for a pod that is bound with them, or that waits for them itself.
    pub(super) fn new(devices: Arc<ClaimAllocation>, is_promise: bool) -> Self {
        match is_promise {
            true => Self::Promised(devices),
            false => Self::Given {
                devices,
                told_at: None,
            },
        }
    }

    /// Devices that the claim has or is to have.
    pub(super) fn devices(&self) -> Option<&Arc<ClaimAllocation>> {
        match self {
            Self::Nothing => None,
            Self::Promised(devices)
            | Self::Given { devices, .. }
            | Self::Written { devices, .. } => Some(devices),
        }
    }

    /// There is none.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// A pod was bound with it, which gave the claim this version, if that is known; the API server told of
    /// a version before, with devices or without.
    pub(super) fn write(&mut self, version: Option<u64>, told: Option<u64>, has_devices: bool) {
        let (devices, at) = match self {
            Self::Nothing | Self::Promised(_) => return,
            Self::Given { devices, told_at } => (devices.clone(), *told_at),
            Self::Written { devices, at } => (devices.clone(), *at),
        };
        let at = at.max(version);
        let is_told = has_devices || at.is_some_and(|at| told >= Some(at));
        *self = match is_told {
            true => Self::Given {
                devices,
                told_at: at,
            },
            false => Self::Written { devices, at },
        };
    }

    /// A version of the claim is told, with devices or without.
    pub(super) fn see(&mut self, version: u64, has_devices: bool) {
        if let Self::Written { devices, at } = self
            && (has_devices || at.is_some_and(|at| version >= at))
        {
            *self = Self::Given {
                devices: devices.clone(),
                told_at: *at,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> ClaimGrant {
        ClaimGrant::new(Arc::default(), false)
    }

    fn is_written(grant: &ClaimGrant) -> bool {
        matches!(grant, ClaimGrant::Written { .. })
    }

    #[test]
    fn what_is_written_is_until_a_version_as_new_is_told() {
        let mut grant = given();
        grant.write(Some(7), Some(3), false);
        grant.see(6, false);
        assert!(is_written(&grant), "what was told may be older");
        grant.see(7, false);
        assert!(!is_written(&grant), "it was taken back");
        grant.write(None, Some(7), false);
        assert!(!is_written(&grant), "of that bind all is told");
        grant.write(Some(9), Some(7), false);
        assert!(is_written(&grant));
        grant.see(8, true);
        assert!(!is_written(&grant), "devices are told");
    }

    #[test]
    fn a_write_that_was_told_before_it_was_answered_is_told() {
        let mut grant = given();
        grant.write(Some(5), Some(5), false);
        assert!(!is_written(&grant));
        grant.write(Some(6), Some(5), true);
        assert!(!is_written(&grant));
    }

    #[test]
    fn nobody_is_bound_with_a_promise() {
        let mut grant = ClaimGrant::new(Arc::default(), true);
        grant.write(Some(5), None, false);
        assert!(matches!(grant, ClaimGrant::Promised(_)));
    }
}
