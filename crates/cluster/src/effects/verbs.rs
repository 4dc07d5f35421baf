//! Which verbs our role has, found out by using them.
//!
//! ```text
//!  PATCH ─► refused by the role ─► read and PUT ─► refused too ─► nothing for a while
//!    ▲            │ for 2 s; for a minute once it is proven         │
//!    └────────────┴──────────────── asked again ◄───────────────────┘
//! ```
//!
//! Our own role grants PATCH; Volcano's grants only PUT of most statuses (spec/01 §1.10). Each
//! target starts with PATCH. One refusal proves nothing, since an API server that is starting
//! refuses everybody: it is believed when it was repeated for [`PROOF`] by an API server that
//! served others all the while. Even then it is asked again: roles change.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::contact::Contact;

/// A refusal must go on for so long to be believed.
const PROOF: Duration = Duration::from_secs(30);
/// A server that serves others has answered one of them in this time.
const RECENTLY: Duration = Duration::from_secs(10);
/// How long a way is left alone after a refusal: one that proves nothing yet, and one that is
/// believed.
const UNPROVEN: Duration = Duration::from_secs(2);
const PROVEN: Duration = Duration::from_secs(60);
/// How long both ways are left alone where neither is granted.
const CLOSED: Duration = Duration::from_secs(10);
/// Refusals further apart than this are not one that goes on.
const APART: Duration = Duration::from_secs(180);
/// Least time between two messages about one target.
const QUIET: Duration = Duration::from_secs(30);
const TARGETS: usize = 12;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    PodStatus,
    Group,
    NativeGroup,
    QueueStatus,
    ShardStatus,
    KeptText,
    Event,
    NodeLock,
    DeviceCleanup,
    Binding,
    Eviction,
    /// Through the pod's `eviction`, which asks budgets.
    GuardedEviction,
}

/// How it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteVerb {
    Patch,
    /// Read, then PUT the whole object.
    Put,
    /// Neither is granted, as it seems or for sure; to be asked again later.
    Closed {
        proven: bool,
    },
}

impl WriteVerb {
    /// Closed by refusals that prove nothing yet.
    pub(super) fn may_open(self) -> bool {
        self == Self::Closed { proven: false }
    }
}

/// A refusal that goes on.
#[derive(Clone, Copy)]
struct Refused {
    first: Instant,
    last: Instant,
    proven: bool,
}

impl Refused {
    fn holds(self, now: Instant, closed: bool) -> bool {
        let lasts = match (self.proven, closed) {
            (false, _) => UNPROVEN,
            (true, false) => PROVEN,
            (true, true) => CLOSED,
        };
        now < self.last + lasts
    }
}

#[derive(Clone, Copy, Default)]
struct VerbHistory {
    /// By PATCH, or by the only way there is; by PUT.
    refused: [Option<Refused>; 2],
    spoken: Option<Instant>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Verbs {
    known: Mutex<[VerbHistory; TARGETS]>,
}

impl Target {
    /// The rule to add to the role when neither way is granted.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Self::PodStatus => "patch (or update) on pods/status of the core group",
            Self::Group => "patch (or list and update) on podgroups of scheduling.volcano.sh",
            Self::NativeGroup => {
                "patch (or update) on podgroups/status and compositepodgroups/status of scheduling.k8s.io"
            }
            Self::QueueStatus => {
                "patch (or update) on queues/status and get on queues of scheduling.volcano.sh"
            }
            Self::KeptText => {
                "patch (or get and update) on the ConfigMaps that fragmentation.keepIn, fairshare.keepIn and reservation.keepIn name, in their namespaces"
            }
            Self::Event => "create and patch on events of the core group",
            Self::NodeLock => "get and patch on nodes of the core group",
            Self::DeviceCleanup => "patch on pods/status of the core group",
            Self::Binding => "create on pods/binding of the core group",
            Self::Eviction => "delete on pods of the core group",
            Self::GuardedEviction => "create on pods/eviction of the core group",
            Self::ShardStatus => {
                "patch (or update) on nodeshards/status and get on nodeshards of shard.volcano.sh"
            }
        }
    }
}

impl Verbs {
    fn with<T>(&self, target: Target, use_it: impl FnOnce(&mut VerbHistory) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        use_it(&mut known[target as usize])
    }

    /// The best way not known to be refused.
    pub(super) fn way(&self, target: Target, now: Instant) -> WriteVerb {
        self.with(target, |known| {
            let closed = known.refused.iter().all(Option::is_some);
            let holds = |at: usize| known.refused[at].filter(|way| way.holds(now, closed));
            match (holds(0), holds(1)) {
                (None, _) => WriteVerb::Patch,
                (Some(_), None) => WriteVerb::Put,
                (Some(patch), Some(put)) => WriteVerb::Closed {
                    proven: patch.proven && put.proven,
                },
            }
        })
    }

    /// Whether what has only one way may be tried now; if not, whether it is for sure refused.
    pub(super) fn open(&self, target: Target, now: Instant) -> Result<(), bool> {
        self.with(target, |known| match known.refused[0] {
            Some(way) if way.holds(now, true) => Err(way.proven),
            _ => Ok(()),
        })
    }

    /// RBAC has refused this way. Says whether that is believed.
    pub(super) fn refused(&self, target: Target, way: WriteVerb, contact: &Contact) -> bool {
        let now = Instant::now();
        self.with(target, |known| {
            let slot = &mut known.refused[usize::from(way != WriteVerb::Patch)];
            let new = Refused {
                first: now,
                last: now,
                proven: false,
            };
            let known = slot.get_or_insert(new);
            if now >= known.last + APART || contact.was_out_since(known.first) {
                *known = new;
            }
            known.last = now;
            let long = now >= known.first + PROOF;
            known.proven |= long && contact.served_within(RECENTLY);
            known.proven
        })
    }

    /// This way was not refused.
    pub(super) fn granted(&self, target: Target, way: WriteVerb) {
        self.with(target, |known| {
            known.refused[usize::from(way != WriteVerb::Patch)] = None;
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

    const T: Target = Target::Group;

    /// Refuses a way once a second while the API server serves others.
    async fn refuse_for(verbs: &Verbs, contact: &Contact, way: WriteVerb, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut believed = false;
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_secs(1)).await;
            contact.answered();
            believed = verbs.refused(T, way, contact);
        }
        believed
    }

    #[tokio::test(start_paused = true)]
    async fn one_refusal_of_each_way_closes_a_target_for_seconds_only() {
        let (verbs, contact) = (Verbs::default(), Contact::default());
        let start = Instant::now();
        assert_eq!(verbs.way(T, start), WriteVerb::Patch);
        assert!(!verbs.refused(T, WriteVerb::Patch, &contact));
        assert_eq!(verbs.way(T, start), WriteVerb::Put, "the other way at once");
        assert_eq!(verbs.way(Target::PodStatus, start), WriteVerb::Patch);
        assert!(!verbs.refused(T, WriteVerb::Put, &contact));
        assert_eq!(verbs.way(T, start), WriteVerb::Closed { proven: false });
        assert_eq!(verbs.way(T, start + UNPROVEN), WriteVerb::Patch);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_believed_after_half_a_minute_of_a_server_that_serves_others() {
        let (verbs, contact) = (Verbs::default(), Contact::default());
        assert!(!refuse_for(&verbs, &contact, WriteVerb::Patch, PROOF / 2).await);
        assert!(refuse_for(&verbs, &contact, WriteVerb::Patch, PROOF).await);
        let now = Instant::now();
        assert_eq!(verbs.way(T, now + PROVEN / 2), WriteVerb::Put);
        assert_eq!(verbs.way(T, now + PROVEN), WriteVerb::Patch);
        verbs.granted(T, WriteVerb::Patch);
        assert_eq!(verbs.way(T, now), WriteVerb::Patch);
    }

    #[tokio::test(start_paused = true)]
    async fn neither_way_is_left_alone_for_long() {
        let (verbs, contact) = (Verbs::default(), Contact::default());
        refuse_for(&verbs, &contact, WriteVerb::Patch, PROOF * 2).await;
        refuse_for(&verbs, &contact, WriteVerb::Put, PROOF * 2).await;
        assert!(verbs.refused(T, WriteVerb::Patch, &contact));
        let now = Instant::now();
        assert_eq!(verbs.way(T, now), WriteVerb::Closed { proven: true });
        assert_eq!(verbs.way(T, now + CLOSED), WriteVerb::Patch);
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_of_a_server_that_was_away_or_serves_nobody_prove_nothing() {
        let (verbs, contact) = (Verbs::default(), Contact::default());
        refuse_for(&verbs, &contact, WriteVerb::Patch, PROOF / 2).await;
        contact.failed();
        tokio::time::sleep(Duration::from_secs(1)).await;
        contact.answered();
        assert!(!refuse_for(&verbs, &contact, WriteVerb::Patch, PROOF / 2).await);
        tokio::time::sleep(PROOF).await;
        assert!(
            !verbs.refused(T, WriteVerb::Patch, &contact),
            "nobody was served"
        );
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
