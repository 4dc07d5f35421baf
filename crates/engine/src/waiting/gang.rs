//! Why a gang is not ready: how many of its pods have room, and the first thing that went wrong.

use pumice_framework::Invalid;
use pumice_framework::{JobNote, Skip};
use pumice_model::job::SubJob;
use pumice_model::object::GroupCondition;
use pumice_model::task::STATUSES;
use pumice_model::{Job, JobIx, Origin, TaskIx, TaskStatus};

use super::why::Why;
use crate::follow_up::notes::held_by_queue;
use crate::knowledge::Knowledge;
use crate::knowledge::Wording;

/// The first thing that went wrong for a job in this cycle, always the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cause<'a> {
    /// The pod it went wrong for; `None` when it concerns the whole job.
    pub task: Option<TaskIx>,
    /// What.
    pub why: Why<'a>,
}

/// What there is to say against a PodGroup that is not ready.
#[derive(Clone, Debug)]
pub(crate) enum GroupWaiting<'a> {
    /// The queue that the PodGroup names does not exist.
    NoQueue,
    /// It has no pods yet, and is not admitted.
    NotTried(&'a Skip),
    /// It can never be ready as it is.
    Invalid(Invalid),
    /// Too few of its pods have a place.
    Gang,
}

impl GroupWaiting<'_> {
    /// In one word, as its condition has it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::NoQueue => "QueueNotFound",
            Self::Invalid(invalid) => invalid.reason,
            Self::NotTried(_) | Self::Gang => NOT_ENOUGH,
        }
    }
}

/// There is no room for a gang, or none yet.
pub(crate) const NOT_ENOUGH: &str = "NotEnoughResources";

/// How the pods of a gang stand.
pub(crate) struct GangCounts {
    /// Enough of them are placed.
    pub is_ready: bool,
    /// Pods by status.
    pub by_status: [i32; STATUSES],
    /// `minMember`.
    pub min_available: i32,
    /// Pending ones that were placed in a transaction that was taken back.
    pub schedulable: i32,
}

impl GangCounts {
    fn of(job: &Job, schedulable: usize) -> Self {
        Self {
            is_ready: job.is_ready(),
            by_status: TaskStatus::ALL.map(|status| job.count(status)),
            min_available: job.min_available,
            schedulable: schedulable as i32,
        }
    }

    fn pending(&self) -> i32 {
        self.by_status[TaskStatus::Pending as usize]
    }

    /// Pending ones that have no room.
    pub fn unschedulable(&self) -> i32 {
        (self.pending() - self.schedulable).max(0)
    }

    /// `pod group is not ready, <statuses>; Pending: <by whether there is room>`.
    fn text(&self) -> String {
        let ready = if self.is_ready { "ready" } else { "not ready" };
        let statuses = TaskStatus::ALL.iter().zip(self.by_status);
        let statuses = statuses.map(|(status, count)| (status.name(), count));
        let least = [("minAvailable", self.min_available)];
        let mut text = format!("pod group is {ready}, {}", histogram(statuses.chain(least)));
        if self.pending() > 0 {
            let pending = [
                ("Schedulable", self.schedulable),
                ("Unschedulable", self.unschedulable()),
            ];
            text.push_str(&format!("; Pending: {}", histogram(pending)));
        }
        text
    }
}

impl<'a> Knowledge<'a> {
    /// How the pods of a gang stand.
    pub(crate) fn gang_counts(&self, ix: JobIx) -> GangCounts {
        GangCounts::of(self.state.job(ix), self.could_be_placed(ix))
    }

    /// What is said against a PodGroup, ready or not; nothing where no plugin judges that.
    pub(crate) fn group_waiting(&self, ix: JobIx) -> Option<GroupWaiting<'a>> {
        let job = self.state.job(ix);
        if job.queue.is_none() {
            return Some(GroupWaiting::NoQueue);
        }
        if !self.plugins.writes_conditions() {
            return None;
        }
        if job.tasks.is_empty() {
            // Its controller makes pods once it is admitted.
            let skip = self.notes.get(&ix).and_then(|note| note.skip.as_ref());
            let skip = skip.filter(|_| job.is_pending())?;
            return Some(GroupWaiting::NotTried(skip));
        }
        Some(match self.plugins.job_valid(self.state, ix) {
            Err(invalid) => GroupWaiting::Invalid(invalid),
            Ok(()) => GroupWaiting::Gang,
        })
    }

    /// How many pods of a gang lack a place, of how many, if that is what its condition says.
    pub fn gang_shortage(&self, ix: JobIx) -> Option<(i32, usize)> {
        let job = self.state.job(ix);
        let says_so = |c: &GroupCondition| c.kind == "Unschedulable" && c.status == "True";
        let is_told = job.status.conditions.iter().any(says_so);
        let is_gang = matches!(self.group_waiting(ix), Some(GroupWaiting::Gang));
        (is_told && is_gang).then(|| (self.short_of(ix), job.tasks.len()))
    }

    /// Pods missing to `minMember` that could not be placed.
    pub(crate) fn short_of(&self, ix: JobIx) -> i32 {
        let job = self.state.job(ix);
        job.min_available - (job.ready() + self.could_be_placed(ix) as i32)
    }

    /// Waiting tasks of a job that were placed in a transaction that was taken back.
    fn could_be_placed(&self, ix: JobIx) -> usize {
        let waits = |task: TaskIx| {
            let task = self.state.population().find_task(task);
            task.is_some_and(|task| task.status == TaskStatus::Pending)
        };
        self.notes.get(&ix).map_or(0, |note| {
            let placed = note
                .discarded
                .iter()
                .filter(|(task, (status, _))| *status == TaskStatus::Allocated && waits(**task));
            let counts = placed.filter(|(task, _)| self.incomplete_sub_group(**task).is_none());
            counts.count()
        })
    }

    /// The sub-group of a pod, if it has fewer pods than it needs.
    pub(super) fn incomplete_sub_group(&self, ix: TaskIx) -> Option<&'a SubJob> {
        let task = self.state.task(ix);
        let sub_jobs = &self.state.job(task.job?).sub_jobs;
        let sub = sub_jobs.get(task.sub_job as usize)?;
        let needed = usize::try_from(sub.min_available).unwrap_or(0);
        (sub.tasks.len() < needed).then_some(sub)
    }

    /// The first thing that went wrong for a job.
    pub(crate) fn cause(&self, ix: JobIx) -> Option<Cause<'a>> {
        let note = self.notes.get(&ix);
        note.and_then(|note| self.noted_cause(ix, note))
            .or_else(|| self.member_whose_bind_failed(ix))
            .or_else(|| self.member_of_incomplete(ix))
    }

    fn noted_cause(&self, ix: JobIx, note: &'a JobNote) -> Option<Cause<'a>> {
        let of = |task, why| Some(Cause { task, why });
        if held_by_queue(note)
            && let Some(task) = self.hopeless_member(ix)
        {
            return of(Some(task), Why::NeverFits);
        }
        if let Some((task, unplaced)) = note.unplaced.first()
            && self.state.population().find_task(*task).is_some()
        {
            return of(Some(*task), unplaced.into());
        }
        if let Some(refusal) = &note.refusal {
            return of(None, Why::Refused(refusal));
        }
        let skip = note.skip.as_ref()?;
        of(None, Why::NotTried(skip))
    }

    /// The first task, by name, that is held back after a failed Binding.
    fn member_whose_bind_failed(&self, ix: JobIx) -> Option<Cause<'a>> {
        let members = self.state.job(ix).tasks.iter();
        let held =
            members.filter_map(|task| Some((*task, self.state.population().holds().get(*task)?)));
        let (task, hold) = held.min_by_key(|(task, _)| &self.state.task(*task).name)?;
        Some(Cause {
            task: Some(task),
            why: Why::BindFailed(hold),
        })
    }

    /// The first waiting task, by name, of the first sub-group that has too few.
    fn member_of_incomplete(&self, ix: JobIx) -> Option<Cause<'a>> {
        let waits = |task: &TaskIx| self.state.task(*task).status == TaskStatus::Pending;
        let found = self.state.job(ix).sub_jobs.iter().filter_map(|sub| {
            let waiting = sub.tasks.iter().copied().filter(waits);
            let task = waiting.min_by_key(|task| &self.state.task(*task).name)?;
            Some((task, self.incomplete_sub_group(task)?))
        });
        let (task, sub) = found.min_by_key(|(_, sub)| &sub.id)?;
        Some(Cause {
            task: Some(task),
            why: Why::IncompleteSubGroup(sub),
        })
    }
}

impl Wording<'_> {
    /// Reason and message of that, as its condition has them.
    pub(crate) fn group_reason(
        &self,
        ix: JobIx,
        waiting: &GroupWaiting<'_>,
    ) -> (&'static str, String) {
        let message = match waiting {
            GroupWaiting::NoQueue => self.no_queue_text(ix),
            GroupWaiting::NotTried(skip) => self.skip_text(ix, skip),
            GroupWaiting::Invalid(invalid) => invalid.message.clone(),
            GroupWaiting::Gang => self.gang_message(ix),
        };
        (waiting.word(), message)
    }

    /// `<u>/<tasks> tasks in gang unschedulable: …`.
    fn gang_message(&self, ix: JobIx) -> String {
        let (short, tasks) = (self.short_of(ix), self.state.job(ix).tasks.len());
        format!(
            "{short}/{tasks} tasks in gang unschedulable: {}",
            self.group_message(ix)
        )
    }

    /// State of the group, of its pending tasks, and the reason behind it.
    pub(crate) fn group_message(&self, ix: JobIx) -> String {
        let mut text = self.gang_counts(ix).text();
        if let Some(cause) = self.cause_text(ix) {
            text.push_str(&format!(". Origin reason is {cause}"));
        }
        text
    }

    /// Why a pod nobody tried to place waits, when nothing is in the way of its job.
    pub(crate) fn untried_text(&self, ix: JobIx) -> String {
        if self.state.job(ix).origin != Origin::BarePod {
            return self.group_message(ix);
        }
        // A pod without PodGroup is not to read of a group.
        let note = self.notes.get(&ix);
        match note.and_then(|note| note.refusal.as_ref()) {
            Some(refusal) => {
                let text = self.queue_says(ix, &self.refusal_text(ix, refusal));
                self.and_nobody_goes(ix, text)
            }
            None => {
                let queue = self.state.names().text(self.state.job(ix).queue_name);
                format!("the pod waits for its turn in queue \"{queue}\"")
            }
        }
    }

    fn queue_says(&self, ix: JobIx, what: &str) -> String {
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        format!("queue \"{queue}\": {what}")
    }

    /// Why a gang waits, as text.
    pub(crate) fn cause_text(&self, ix: JobIx) -> Option<String> {
        let Cause { task, why } = self.cause(ix)?;
        Some(match (task, why) {
            (Some(task), why) => {
                let name = &self.state.task(task).name;
                format!("{name}: {}", self.pod_text(task, ix, &why, None))
            }
            (None, Why::Refused(refusal)) => {
                let text = self.queue_says(ix, &self.refusal_text(ix, refusal));
                self.and_nobody_goes(ix, text)
            }
            (None, Why::NotTried(skip)) if skip.is_of_queue() => {
                self.and_nobody_goes(ix, self.skip_text(ix, skip))
            }
            (None, Why::NotTried(skip)) => self.skip_text(ix, skip),
            (None, _) => return None,
        })
    }
}

/// `N Name` for every count there is, sorted as text.
fn histogram<'a>(counts: impl IntoIterator<Item = (&'a str, i32)>) -> String {
    let mut items: Vec<String> = counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{count} {name}"))
        .collect();
    items.sort();
    items.join(", ")
}
