//! How far what a process has seen of the cluster may be behind it, and what follows for whoever comes after another one.

use std::time::Duration;

/// A kind that is not followed for so long stops decisions, unless `--watch-grace` says otherwise.
pub const WATCH_GRACE: Duration = Duration::from_secs(2);

/// Longest time from a write to its arrival at whoever follows its kind, as decisions reckon with it.
pub const MAX_WATCH_LAG: Duration = Duration::from_secs(1);

/// From a release of the Lease to the next term: what was written right before it has arrived by then, or its kind is
/// known not to be followed. A watch that breaks does so [`MAX_WATCH_LAG`] after the write at the latest, or has brought
/// it; and decisions go on for [`WATCH_GRACE`] after that.
pub const RELEASE_PAUSE: Duration = WATCH_GRACE.saturating_add(MAX_WATCH_LAG);
