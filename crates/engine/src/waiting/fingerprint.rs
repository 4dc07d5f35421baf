//! Fingerprints of what a waiting pod is told, made without the text: text is made only when it is
//! written.

use std::hash::{Hash, Hasher};
use std::ops::Deref;

use pumice_framework::{FitError, KeptForOther, NoDomain, ReasonTable, Refusal, Skip, Unplaced};
use pumice_model::{JobIx, NodeIx, ResourceNeedIx, State, TaskStatus};
use rustc_hash::FxHasher;

use super::gang::{Cause, GangCounts};
use super::phrases::NEAREST_MISS;
use super::why::{Waiting, Why};
use crate::knowledge::Knowledge;

/// Two hashes of what one message is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fingerprint {
    /// Differs when the message differs in more than numbers and node names.
    pub headline: u64,
    /// Differs when the message differs.
    pub data: u64,
}

impl Fingerprint {
    /// Fingerprint of a text that was read back from an object, or is about to be written to one.
    pub fn of_text(text: &str) -> Self {
        Self {
            headline: stable_words_hash(text),
            data: hash_of(text),
        }
    }

    /// Fingerprint of a refusal, by queues that are there.
    pub fn of_refusal(refusal: &Refusal, queues: &State) -> Self {
        let told = Self {
            headline: refusal.gist(),
            data: hash_of(refusal),
        };
        match refusal {
            // Its text names the parent of a queue, which may be another one by now.
            Refusal::Held(fault) => told.and(Self::of(fault.parent(queues))),
            _ => told,
        }
    }

    /// Fingerprint of something that has no details.
    pub fn of(value: impl Hash) -> Self {
        let hash = hash_of(value);
        Self {
            headline: hash,
            data: hash,
        }
    }

    /// With details, whose changes are not worth an event at once.
    pub fn with(self, details: impl Hash) -> Self {
        Self {
            headline: self.headline,
            data: hash_of((self.data, details)),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            headline: hash_of((self.headline, other.headline)),
            data: hash_of((self.data, other.data)),
        }
    }
}

/// Hash of one value.
pub fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Hash of the words of a message that are no numbers, whatever their order (lists in messages are
/// sorted by their counts), and without the node that comes nearest. For texts that were read back
/// from objects: counts of nodes change with every pod that is placed anywhere, and a message that
/// differs in nothing else is not worth a write.
pub fn stable_words_hash(message: &str) -> u64 {
    let lasting = message.split(NEAREST_MISS).next().unwrap_or_default();
    lasting
        .split(|c: char| c.is_whitespace() || "/,:;()".contains(c))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
        .fold(0, |sum: u64, word| sum.wrapping_add(hash_of(word)))
}

/// Fingerprints of what is known.
#[derive(Clone, Copy)]
pub(crate) struct Prints<'a>(Knowledge<'a>);

impl<'a> Deref for Prints<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, to be compared with what was told.
    pub(crate) fn prints(&self) -> Prints<'a> {
        Prints(*self)
    }
}

/// Kinds of messages.
#[derive(Clone, Copy, Hash)]
enum MessageKind {
    BindFailed,
    NotTried,
    HasRoom,
    IncompleteSubGroup,
    Promised,
    NoNode,
    NoDomain,
    Kept,
    RoleFailed,
    Gang,
    NoDevices,
    ClaimsUnseen,
    NeverFits,
    BindWaits,
    Gated,
    Turn,
}

impl Waiting<'_> {
    /// The fingerprint of [`Waiting::reason`] and [`Waiting::text`].
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let reason = Fingerprint::of(self.reason());
        reason.and(self.fingerprint_of_text())
    }

    fn fingerprint_of_text(&self) -> Fingerprint {
        let (known, job) = (self.known, self.job);
        let prints = known.prints();
        match self.why {
            // What the whole gang is told, whoever asks.
            Why::Refused(_) | Why::Untried => prints.fingerprint_of_untried(job),
            why => {
                let what = prints.fingerprint_of(&why, job, || known.exceeds_nodes(self.task));
                match why {
                    Why::Promised(_) => what.with(known.hash_of_going(self.task)),
                    _ => what,
                }
            }
        }
    }
}

impl Prints<'_> {
    /// Fingerprint of what is said of one pod. `exceeds` tells whether it asks more than any node has.
    fn fingerprint_of(
        &self,
        why: &Why<'_>,
        job: JobIx,
        exceeds: impl FnOnce() -> bool,
    ) -> Fingerprint {
        let nodes = self.state.nodes().static_epoch();
        let nobody = || self.fingerprint_of_nobody(job);
        match *why {
            Why::Promised(node) => Fingerprint::of(MessageKind::Promised).with((node, nodes)),
            Why::HasRoom { status, node } => self.fingerprint_of_room(status, node),
            Why::ClaimsUnseen(node) => {
                Fingerprint::of(MessageKind::ClaimsUnseen).with((node, nodes))
            }
            Why::IncompleteSubGroup(sub) => {
                let kind = (MessageKind::IncompleteSubGroup, &sub.id);
                Fingerprint::of(kind).with((sub.tasks.len(), sub.min_available))
            }
            Why::BindWaits { wait, node } => {
                // Who comes first is a detail.
                let kind = (MessageKind::BindWaits, std::mem::discriminant(wait));
                Fingerprint::of(kind).with((wait, node, nodes))
            }
            Why::BindFailed(hold) => {
                Fingerprint::of((MessageKind::BindFailed, &hold.message)).with(hold.until_s)
            }
            Why::NoDevices(why) => Fingerprint::of((MessageKind::NoDevices, why)),
            Why::NeverFits => {
                let none = self.state.nodes().is_empty();
                let unread = self.follow_up.unread_reports.epoch;
                Fingerprint::of((MessageKind::NeverFits, none, unread)).with(nodes)
            }
            Why::NotTried(skip) if skip.is_of_queue() => {
                self.fingerprint_of_skip(job, skip).and(nobody())
            }
            Why::NotTried(skip) => self.fingerprint_of_skip(job, skip),
            Why::Gated => Fingerprint::of(MessageKind::Gated),
            Why::NoNode(error) => {
                let error = self.fingerprint_of_error(error);
                let claims = self.version_of_claims(self.claims_devices(job));
                error.with(claims).and(nobody())
            }
            Why::RoleFailed => {
                let exceeds = exceeds();
                let kind = Fingerprint::of((MessageKind::RoleFailed, exceeds));
                kind.with(exceeds.then_some(nodes))
            }
            Why::NoDomain(none) => self.fingerprint_of_no_domain(none).and(nobody()),
            Why::Kept(kept) => fingerprint_of_kept(kept),
            Why::Refused(refusal) => Fingerprint::of_refusal(refusal, self.state).and(nobody()),
            Why::Untried => Fingerprint::of(MessageKind::Turn),
        }
    }

    fn fingerprint_of_no_domain(&self, none: &NoDomain) -> Fingerprint {
        let kind = (MessageKind::NoDomain, &none.part, none.has_placed);
        let amounts = (
            none.lacks,
            &none.tiers,
            self.state.ground().network().epoch(),
        );
        let own = Fingerprint::of(kind).with(amounts);
        let Some((task, why)) = &none.cause else {
            return own;
        };
        let why = match why {
            Unplaced::NoNode(error) => {
                let task = self.state.population().find_task(*task);
                let claims = task.is_some_and(|task| task.resource_claims != ResourceNeedIx::NONE);
                let error = self.fingerprint_of_error(error);
                error.with(self.version_of_claims(claims))
            }
            Unplaced::NoDomain(inner) => self.fingerprint_of_no_domain(inner),
            Unplaced::RoleFailed => Fingerprint::of(MessageKind::RoleFailed),
            Unplaced::Kept(kept) => fingerprint_of_kept(kept),
        };
        own.and(why).with(task)
    }

    /// What stands against devices is told with counts of nodes; it is a detail like those.
    fn version_of_claims(&self, claims_devices: bool) -> u64 {
        match claims_devices {
            true => self.state.supplies().resource_claims().version(),
            false => 0,
        }
    }

    fn fingerprint_of_room(&self, status: TaskStatus, node: NodeIx) -> Fingerprint {
        let nodes = self.state.nodes().static_epoch();
        Fingerprint::of((MessageKind::HasRoom, status as u8)).with((node, nodes))
    }

    fn fingerprint_of_skip(&self, job: JobIx, skip: &Skip) -> Fingerprint {
        let queue = self.state.job(job).queue_name;
        let which = Fingerprint::of((MessageKind::NotTried, std::mem::discriminant(skip), queue));
        match skip {
            Skip::Unserved(why) => which.and(Fingerprint::of(why)),
            Skip::NotEnqueued(refusal)
            | Skip::NoConsent(refusal)
            | Skip::NoRoomOfUser(refusal)
            | Skip::QueueHeldBack(refusal) => {
                which.and(Fingerprint::of_refusal(refusal, self.state))
            }
            // The reason says which rule it is, the message counts pods.
            Skip::Invalid(invalid) => {
                which.and(Fingerprint::of(invalid.reason).with(&invalid.message))
            }
            // The nearest name is told too.
            Skip::NoQueue => which.with(self.state.journal().queue_tree_epoch()),
            Skip::Overused(overruns) => which.with(overruns),
            Skip::Tier(problem) => which.with((problem, self.state.ground().network().epoch())),
            Skip::Behind(first) => which.with(first),
            Skip::NoGroup | Skip::AwaitsGroup | Skip::Postponed => which,
        }
    }

    fn fingerprint_of_error(&self, error: &FitError) -> Fingerprint {
        let nearest = error.nearest.as_ref();
        // It names nodes.
        let epoch = self.state.nodes().static_epoch();
        let epoch = (error.never || nearest.is_some()).then_some(epoch);
        let nearest = nearest.map(|miss| (miss.node, &miss.short, &miss.words));
        // Reasons are numbered by each configuration for itself.
        let reasons = reasons_of(error, self.reasons);
        let which = (
            MessageKind::NoNode,
            self.configurations,
            self.follow_up.unread_reports.epoch,
        );
        let obstacles = error.obstacles.as_deref();
        let labels = obstacles.map(|found| &found.labels);
        Fingerprint::of((which, reasons, &error.everywhere, error.never, labels)).with((
            error.nodes,
            &error.counts,
            nearest,
            epoch,
            &error.claims,
            obstacles,
        ))
    }

    /// Fingerprint of what pods are told that nobody tried to place.
    fn fingerprint_of_untried(&self, job: JobIx) -> Fingerprint {
        let cause = self.cause(job);
        let cause = cause.map(|cause| self.fingerprint_of_cause(job, &cause));
        let counts = self.gang_counts(job);
        Fingerprint::of(MessageKind::Gang)
            .and(counts.fingerprint())
            .and(cause.unwrap_or_default())
    }

    fn fingerprint_of_cause(&self, job: JobIx, cause: &Cause<'_>) -> Fingerprint {
        let queue = self.state.job(job).queue_name;
        let name = cause.task.map(|task| &self.state.task(task).name);
        let exceeds = || cause.task.is_some_and(|task| self.exceeds_nodes(task));
        let what = self.fingerprint_of(&cause.why, job, exceeds);
        Fingerprint::of((queue, name)).and(what)
    }
}

impl Knowledge<'_> {
    /// Pods of the job claim devices.
    pub(crate) fn claims_devices(&self, job: JobIx) -> bool {
        if self.state.supplies().resource_claims().version() == 0
            || !self.state.population().has_job(job)
        {
            return false;
        }
        let mut tasks = self.state.job(job).tasks.iter();
        tasks.any(|ix| self.state.task(*ix).resource_claims != ResourceNeedIx::NONE)
    }
}

impl GangCounts {
    /// Which of the counts there are, and how much each is.
    fn fingerprint(&self) -> Fingerprint {
        let present = |count: &i32| *count > 0;
        let some = |counts: &[i32]| counts.iter().map(present).collect::<Vec<_>>();
        let pending = [self.schedulable, self.unschedulable()];
        let which = (self.is_ready, some(&self.by_status), some(&pending));
        Fingerprint::of(which).with((self.by_status, self.min_available, pending))
    }
}

/// Hash of the reasons some node has, whatever their order.
fn reasons_of(error: &FitError, table: &ReasonTable) -> u64 {
    let sets = error.counts.iter().filter(|(_, count)| *count > 0);
    let mut reasons: Vec<u16> = sets
        .flat_map(|(set, _)| table.members(*set))
        .map(|reason| reason.0)
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    hash_of(reasons)
}

/// For whom places are kept; when and how many is a detail.
fn fingerprint_of_kept(kept: &KeptForOther) -> Fingerprint {
    Fingerprint::of((MessageKind::Kept, &kept.job)).with((kept.start_s, kept.nodes))
}

#[cfg(test)]
mod tests {
    use super::stable_words_hash;

    #[test]
    fn messages_that_differ_in_numbers_have_the_same_stable_words() {
        for (left, right, same) in [
            (
                "0/5 nodes are unavailable: 10 Insufficient cpu, 9 Insufficient memory.",
                "0/6 nodes are unavailable: 8 Insufficient memory, 9 Insufficient cpu.",
                true,
            ),
            (
                "0/5 nodes are unavailable: 5 Insufficient cpu. Nearest miss: node a: short by 1.",
                "0/5 nodes are unavailable: 5 Insufficient cpu. Nearest miss: node b: short by 2.",
                true,
            ),
            (
                "0/5 nodes are unavailable: 5 Insufficient cpu.",
                "0/5 nodes are unavailable: 5 Insufficient memory.",
                false,
            ),
            (
                "Pod ns/a can possibly be assigned to n1",
                "Pod ns/b can possibly be assigned to n1",
                false,
            ),
        ] {
            let [one, other] = [left, right].map(stable_words_hash);
            assert_eq!(one == other, same, "{left}\n{right}");
        }
    }
}
