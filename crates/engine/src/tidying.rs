//! Forgetting at rest.
//!
//! What nobody uses any more is forgotten when it pays: after as much has come or gone again. Behind a burst that was
//! deleted nothing comes, and what it left behind would stay for good. So once a good deal has gone, all of that is
//! forgotten at once: as soon as nothing is to be decided, but not soon after the last time; a busy cluster waits longer.

use pumice_model::Delta;
use serde::{Deserialize, Serialize};

/// From one time to the next, at least, while nothing is to be decided. It costs about what there is: some hundredths of a
/// second with 100,000 pods.
const QUIET_S: i64 = 30;

/// From one time to the next, at least, while something is to be decided.
const BUSY_S: i64 = 60;

/// As long as fewer objects are gone, what they left behind is not worth looking for.
const MIN_LOST: usize = 100;

/// How much may be left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tidying {
    lost: usize,
    /// When it was last done, seconds since the epoch.
    at_s: i64,
}

impl Tidying {
    /// Something happens.
    pub fn note(&mut self, delta: &Delta) {
        self.lost += usize::from(matches!(
            delta,
            Delta::PodDelete(_) | Delta::GroupDelete(..) | Delta::ResourceClaimDelete(..)
        ));
    }

    /// Whether it is time to forget; the time of the next one counts from now if so. `quiet`: nothing is to be decided.
    pub fn take_due(&mut self, now_s: i64, quiet: bool) -> bool {
        let pause_s = if quiet { QUIET_S } else { BUSY_S };
        let is_due = self.lost >= MIN_LOST && now_s >= self.at_s + pause_s;
        if is_due {
            (self.lost, self.at_s) = (0, now_s);
        }
        is_due
    }
}
