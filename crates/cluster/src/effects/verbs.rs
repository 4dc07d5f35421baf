//! Which verbs our role has, found out by using them.
//!
//! Our own role grants PATCH; Volcano's grants only PUT of most statuses (spec/01 §1.10). Each
//! target starts with PATCH; a refusal by RBAC is remembered for [`REMEMBERED`], after which the
//! better verb is tried again: roles change.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const REMEMBERED: Duration = Duration::from_secs(600);
/// Least time between two messages about one target.
const QUIET: Duration = Duration::from_secs(30);
const TARGETS: usize = 7;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    PodStatus,
    Group,
    QueueStatus,
    ShardStatus,
    Event,
    NodeLock,
    DeviceCleanup,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Patch,
    /// Read, then PUT the whole object.
    Put,
    /// Neither is granted.
    Closed,
}

#[derive(Clone, Copy, Default)]
struct Known {
    patch_refused: Option<Instant>,
    put_refused: Option<Instant>,
    spoken: Option<Instant>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Verbs {
    known: Mutex<[Known; TARGETS]>,
}

impl Target {
    /// The rule to add to the role when neither way is granted.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::PodStatus => "patch (or update) on pods/status of the core group",
            Self::Group => "patch (or list and update) on podgroups of scheduling.volcano.sh",
            Self::QueueStatus => {
                "patch (or update) on queues/status and get on queues of scheduling.volcano.sh"
            }
            Self::Event => "create and patch on events of the core group",
            Self::NodeLock => "get and patch on nodes of the core group",
            Self::DeviceCleanup => "patch on pods of the core group",
            Self::ShardStatus => {
                "patch (or update) on nodeshards/status and get on nodeshards of shard.volcano.sh"
            }
        }
    }
}

impl Verbs {
    fn with<T>(&self, target: Target, use_it: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        use_it(&mut known[target as usize])
    }

    /// The best way not known to be refused.
    pub(super) fn way(&self, target: Target, now: Instant) -> Way {
        let holds = |at: Option<Instant>| at.is_some_and(|at| now < at + REMEMBERED);
        self.with(target, |known| match known {
            known if !holds(known.patch_refused) => Way::Patch,
            known if !holds(known.put_refused) => Way::Put,
            _ => Way::Closed,
        })
    }

    /// RBAC has refused this way.
    pub(super) fn refused(&self, target: Target, way: Way, now: Instant) {
        self.with(target, |known| match way {
            Way::Patch => known.patch_refused = Some(now),
            Way::Put | Way::Closed => known.put_refused = Some(now),
        });
    }

    /// Whether a message about this target is due; one is enough for many objects.
    pub(super) fn may_speak(&self, target: Target, now: Instant) -> bool {
        self.with(target, |known| {
            let due = known.spoken.is_none_or(|spoken| now >= spoken + QUIET);
            if due {
                known.spoken = Some(now);
            }
            due
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_way_is_remembered_per_target_and_tried_again_later() {
        let verbs = Verbs::default();
        let start = Instant::now();
        assert_eq!(verbs.way(Target::Group, start), Way::Patch);
        verbs.refused(Target::Group, Way::Patch, start);
        assert_eq!(verbs.way(Target::Group, start), Way::Put);
        assert_eq!(verbs.way(Target::PodStatus, start), Way::Patch);
        verbs.refused(Target::Group, Way::Put, start);
        assert_eq!(verbs.way(Target::Group, start), Way::Closed);
        assert_eq!(verbs.way(Target::Group, start + REMEMBERED), Way::Patch);
    }

    #[test]
    fn one_message_is_enough_for_a_while() {
        let verbs = Verbs::default();
        let start = Instant::now();
        assert!(verbs.may_speak(Target::Group, start));
        assert!(!verbs.may_speak(Target::Group, start + QUIET / 2));
        assert!(verbs.may_speak(Target::Group, start + QUIET));
    }
}
