//! Whether more nodes may help a pod that waits: the reason of its `PodScheduled` condition (spec/01 §4.6).
//!
//! Autoscalers make nodes for pods of which it says `Unschedulable`, and for no others. So that stands where a node
//! more may help, for all of a gang, and nowhere else: whatever else is said of a pod costs nobody anything.

use pumice_framework::{Bound, Overrun, Refusal, Skip};
use pumice_model::object::Gates;
use pumice_model::{JobIx, QueueIx, TaskIx, TaskStatus};

use super::why::{Waiting, Why};
use crate::knowledge::Knowledge;

/// More nodes may help.
const UNSCHEDULABLE: &str = "Unschedulable";
/// It has a place, or nothing but others of its gang is in its way.
const SCHEDULABLE: &str = "Schedulable";
/// Beyond `spec.capability` of a queue, a ResourceQuota, or what a user may have.
const QUOTA_EXCEEDED: &str = "QuotaExceeded";
/// The queue of the pod is not open, or not there.
const QUEUE_CLOSED: &str = "QueueClosed";
/// Others come first, or somebody outside says so.
const NOT_ITS_TURN: &str = "NotItsTurn";
/// The gang of the pod has too few pods that can be placed.
const GANG_INCOMPLETE: &str = "GangIncomplete";
/// No node whatever serves what it asks as it is written.
const NEVER_SERVED: &str = "NeverServed";

impl Waiting<'_> {
    /// The reason of the pod's `PodScheduled` condition: `Unschedulable` where more nodes may help.
    pub fn reason(&self) -> &'static str {
        let (known, job) = (self.known, self.job);
        let beyond_nodes = known.follow_up.beyond_nodes.of(job);
        let reason = match self.why {
            Why::Gated => "SchedulingGated",
            Why::BindWaits { .. } => SCHEDULABLE,
            Why::BindFailed(_) => "SchedulerError",
            Why::NoDevices(_) | Why::ClaimsUnseen(_) => NEVER_SERVED,
            Why::IncompleteSubGroup(_) => GANG_INCOMPLETE,
            Why::HasRoom {
                status: TaskStatus::Pipelined,
                ..
            } => UNSCHEDULABLE,
            // Whoever adds nodes for the others has to know that this room is theirs.
            Why::HasRoom { .. } if beyond_nodes.is_none() && known.lacks_nodes(job) => {
                UNSCHEDULABLE
            }
            Why::HasRoom { .. } => SCHEDULABLE,
            Why::NotTried(skip) => self.reason_of_skip(skip),
            Why::NeverFits => match skip_of(&known, job) {
                Some(skip) => self.reason_of_skip(skip),
                None => known.limit_reason(job).unwrap_or(UNSCHEDULABLE),
            },
            Why::Refused(_) => known.limit_reason(job).unwrap_or(UNSCHEDULABLE),
            _ => known.gang_limit(job).unwrap_or(UNSCHEDULABLE),
        };
        match reason {
            UNSCHEDULABLE => beyond_nodes.unwrap_or(reason),
            reason => reason,
        }
    }

    fn reason_of_skip(&self, skip: &Skip) -> &'static str {
        let (known, job) = (self.known, self.job);
        match skip {
            Skip::NoGroup | Skip::AwaitsGroup | Skip::Invalid(_) => GANG_INCOMPLETE,
            Skip::NoQueue => QUEUE_CLOSED,
            Skip::Unserved(_) => NEVER_SERVED,
            Skip::NotEnqueued(_) => known.limit_reason(job).unwrap_or(UNSCHEDULABLE),
            Skip::Overused(overruns) if self.is_beyond_capability(overruns) => QUOTA_EXCEEDED,
            Skip::NoRoomOfUser(_) => QUOTA_EXCEEDED,
            Skip::Behind(_) | Skip::NoConsent(_) | Skip::QueueHeldBack(_) | Skip::Postponed => {
                NOT_ITS_TURN
            }
            // Nodes may bring the tier with them.
            Skip::Tier(_) | Skip::Overused(_) => known.gang_limit(job).unwrap_or(UNSCHEDULABLE),
        }
    }

    /// The pod alone would be more than its queue may ever have.
    fn is_beyond_capability(&self, overruns: &[Overrun]) -> bool {
        let asked = &self.known.state.charges().charged(self.task);
        overruns.iter().any(|overrun| {
            let asked = asked.get(overrun.resource);
            let of_pod = Overrun { asked, ..*overrun };
            asked > 0 && self.known.exceeds_capability(self.job, &of_pod)
        })
    }
}

impl<'a> Knowledge<'a> {
    /// Why its queue, or the cluster, takes nothing of a job, or no more.
    fn refusal(&self, job: JobIx) -> Option<&'a Refusal> {
        match skip_of(self, job) {
            Some(Skip::NotEnqueued(refusal)) => Some(refusal),
            _ => self.notes.get(&job)?.refusal.as_ref(),
        }
    }

    /// The reason of pods whose job was refused what it asks, if that has nothing to do with how many nodes
    /// there are.
    fn limit_reason(&self, job: JobIx) -> Option<&'static str> {
        match self.refusal(job)? {
            Refusal::NamespaceQuota(_) | Refusal::OfUser(_) => Some(QUOTA_EXCEEDED),
            Refusal::Quota(overruns) => {
                let mut overruns = overruns.iter();
                let is_beyond = overruns.any(|overrun| self.exceeds_capability(job, overrun));
                is_beyond.then_some(QUOTA_EXCEEDED)
            }
            refusal => refusal.is_of_closed_queue().then_some(QUEUE_CLOSED),
        }
    }

    /// What limits the other pods of a gang: it needs those that were refused, whatever nodes the others get.
    fn gang_limit(&self, job: JobIx) -> Option<&'static str> {
        let record = self.state.job(job);
        let needs_all = i64::from(record.min_available) >= record.tasks.len() as i64;
        needs_all.then(|| self.limit_reason(job)).flatten()
    }

    /// With more nodes the queue would refuse it all the same.
    fn exceeds_capability(&self, job: JobIx, overrun: &Overrun) -> bool {
        let queue = overrun.above.or(self.state.job(job).queue);
        let Some(queue) = queue.and_then(|queue| self.state.population().queues().find(queue))
        else {
            return false;
        };
        let wanted = overrun.used.saturating_add(overrun.reserved);
        let wanted = wanted.saturating_add(overrun.asked);
        let mut limits = queue.limits(self.state.resources());
        overrun.bound == Bound::Capability
            || limits.any(|(limited, limit)| limited == overrun.resource && wanted > limit)
    }

    /// Some pods of a gang have no place, and would be enough with one: no node has room, or their queue has
    /// all there is.
    fn lacks_nodes(&self, job: JobIx) -> bool {
        let Some(note) = self.notes.get(&job) else {
            return false;
        };
        let is_full =
            matches!(note.refusal, Some(Refusal::Quota(_))) && self.limit_reason(job).is_none();
        (is_full || !note.unplaced.is_empty()) && self.gang_limit(job).is_none()
    }
}

fn skip_of<'a>(known: &Knowledge<'a>, job: JobIx) -> Option<&'a Skip> {
    known.notes.get(&job)?.skip.as_ref()
}

/// What no node helps the pods of a job against as things are, in one word: their queue takes nothing new, too few of them
/// can be placed as they are, or what their gang lacks is more than the queue may have. Of use when a cycle looks at the job;
/// afterwards what was found out then is the word ([`crate::follow_up::beyond_nodes`]).
pub(crate) fn hindrance(known: &Knowledge<'_>, job: JobIx) -> Option<&'static str> {
    let record = known.state.job(job);
    // Where no plugin minds queues, nothing of them holds anybody back.
    let minds_queues = |ix: &QueueIx| known.queue_view(*ix).is_some();
    let closed = record.queue.filter(|ix| !known.state.queue(*ix).is_open());
    if closed.is_some_and(|ix| minds_queues(&ix)) {
        return Some(QUEUE_CLOSED);
    }
    let needed = usize::try_from(record.min_available).unwrap_or(0);
    if needed < 2 || !known.plugins.has_gangs() || record.tasks.len() < needed {
        return None;
    }
    let open = record.count(TaskStatus::Pending) + record.waiting();
    let open = usize::try_from(open).unwrap_or(0);
    let lacks = needed.saturating_sub(record.tasks.len() - open);
    if lacks == 0 {
        return None;
    }
    // Others have gates, or ask what no node serves.
    let may_come = |ix: &TaskIx| {
        let task = known.state.task(*ix);
        let waits = matches!(task.status, TaskStatus::Pending | TaskStatus::Pipelined);
        waits && task.gates == Gates::None && known.unserved(*ix).is_none()
    };
    let waiting = record.tasks.iter().copied().filter(may_come);
    if waiting.clone().take(lacks).count() < lacks {
        return Some(GANG_INCOMPLETE);
    }
    let queue = record.queue.filter(minds_queues);
    let exceeds = queue.is_some_and(|queue| exceeds_queue(known, queue, waiting, lacks));
    exceeds.then_some(QUOTA_EXCEEDED)
}

/// The smallest pods that a gang lacks ask more of some resource than the capability of the queue leaves.
fn exceeds_queue(
    known: &Knowledge<'_>,
    queue: QueueIx,
    waiting: impl Iterator<Item = TaskIx> + Clone,
    lacks: usize,
) -> bool {
    let queue = known.state.queue(queue);
    let mut limits = queue.limits(known.state.resources());
    let held = queue.allocated_with_devices();
    limits.any(|(resource, limit)| {
        let asked = waiting.clone();
        let asked = asked.map(|task| known.state.charges().charged(task).get(resource));
        let mut asked: Vec<i64> = asked.collect();
        asked.sort_unstable();
        let least: i64 = asked.iter().take(lacks).sum();
        least > 0 && held.get(resource).saturating_add(least) > limit
    })
}
