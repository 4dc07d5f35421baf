//! Jobs as a list that can be searched, with how many wait for which kind of reason.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use pumice_model::{Job, JobIx, State, TaskStatus};
use serde::{Deserialize, Serialize};

use super::shape::Time;
use crate::view::pages::Pages;
use crate::waiting::{WaitKind, headline};

/// Jobs told of at once.
pub const MAX_JOBS: usize = 100;

/// Which jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum JobsShown {
    /// All of them.
    #[default]
    All,
    /// Those that wait for a place, in whole or in part.
    Waiting,
    /// Those with pods on nodes.
    Running,
}

impl JobsShown {
    /// As addresses name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Waiting => "waiting",
            Self::Running => "running",
        }
    }

    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::All, Self::Waiting, Self::Running]
            .into_iter()
            .find(|shown| shown.name() == name)
    }
}

/// What is asked of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobsAsk {
    /// Part of `namespace/name`; empty for any.
    pub search: String,
    /// Queue; empty for any.
    pub queue: String,
    /// Kind of reason, as [`JobsView::reasons`] names it; empty for any.
    pub reason: String,
    /// Which of them.
    pub shown: JobsShown,
    /// How many are passed over.
    pub from: usize,
}

/// A job in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedJob {
    /// `namespace/name` of its PodGroup, or of the pod that has none.
    pub name: String,
    /// Queue of the job.
    pub queue: String,
    /// Phase of the PodGroup; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Priority of the job.
    pub priority: i32,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<Time>,
    /// Pods it has.
    pub pods: usize,
    /// Pods on nodes.
    pub placed: usize,
    /// Pods that have no node for good.
    pub pending: usize,
    /// Pods it must have before any starts.
    pub min_member: i32,
    /// Kind of reason for which it waits, as metrics name it; `None` where it does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Why it waits, in short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// The list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobsView {
    /// Jobs there are that are asked for.
    pub total: usize,
    /// How many of them are passed over.
    pub from: usize,
    /// The first [`MAX_JOBS`] after those, by name.
    pub jobs: Vec<ListedJob>,
    /// How many jobs in the queue and with the name that are asked for wait for which kind of reason.
    pub reasons: BTreeMap<String, usize>,
    /// The last cycle.
    pub cycle: u64,
}

impl Pages<'_> {
    pub(super) fn jobs_view(&self, ask: &JobsAsk) -> JobsView {
        let population = self.state.population();
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
        let mut first = FirstByName::of(self.state, ask.from.saturating_add(MAX_JOBS));
        for (ix, job) in population.jobs() {
            if !ask.queue.is_empty() && self.state.names().text(job.queue_name) != ask.queue {
                continue;
            }
            let kind = self.kind_of_job(ix);
            let is_shown = match ask.shown {
                JobsShown::All => true,
                JobsShown::Waiting => kind.is_some(),
                JobsShown::Running => self.placed_pods(ix) > 0,
            };
            let is_asked = kind.is_some_and(|kind| kind.name() == ask.reason);
            let is_listed = is_shown && (ask.reason.is_empty() || is_asked);
            // Names lie elsewhere in memory than all of the above.
            if !(is_listed || kind.is_some()) || !is_named(self.state, ix, &ask.search) {
                continue;
            }
            if let Some(kind) = kind {
                *reasons.entry(kind.name().to_owned()).or_insert(0) += 1;
            }
            if is_listed {
                first.add(ix, kind);
            }
        }
        let (rows, total) = first.sorted();
        let rows = rows.into_iter().skip(ask.from);
        JobsView {
            total,
            from: ask.from.min(total),
            jobs: rows
                .map(|(ix, kind)| self.job_row(population.job_key(ix), ix, kind))
                .collect(),
            reasons,
            cycle: self.cycle,
        }
    }

    fn job_row(&self, name: String, ix: JobIx, kind: Option<WaitKind>) -> ListedJob {
        let job = self.state.job(ix);
        let why = kind.and_then(|_| self.why_waiting(ix));
        ListedJob {
            name,
            queue: self.state.names().text(job.queue_name).to_owned(),
            phase: job.group().map(|_| job.status.phase.name().to_owned()),
            priority: job.priority,
            created: Time::of(job.created_s),
            pods: job.tasks.len(),
            placed: self.placed_pods(ix),
            pending: self.pending_pods(ix),
            min_member: job.min_available,
            class: kind.map(|kind| kind.name().to_owned()),
            summary: why.map(|(_, message)| headline(&message).to_owned()),
        }
    }

    /// The kind of reason of a job's first pod that waits; that it is not admitted of one that has no pods yet.
    pub(super) fn kind_of_job(&self, ix: JobIx) -> Option<WaitKind> {
        let job = self.state.job(ix);
        let waits = [
            TaskStatus::Pending,
            TaskStatus::Allocated,
            TaskStatus::Pipelined,
        ];
        // Of a large job that runs nobody looks at all pods.
        let has_some = waits.iter().any(|status| job.count(*status) != 0);
        let tasks = job.tasks.iter().copied().filter(|_| has_some);
        let mut pending = tasks.filter(|task| {
            let status = self.state.task(*task).status;
            waits.contains(&status)
        });
        match pending.next() {
            Some(first) => self.waiting(first).map(|waiting| waiting.kind()),
            None => (job.group().is_some() && job.is_pending()).then_some(WaitKind::NotAdmitted),
        }
    }

    pub(super) fn placed_pods(&self, ix: JobIx) -> usize {
        let job = self.state.job(ix);
        let on_nodes = [
            TaskStatus::Binding,
            TaskStatus::Bound,
            TaskStatus::Running,
            TaskStatus::Releasing,
        ];
        let counts = on_nodes.into_iter().map(|status| job.count(status).max(0));
        usize::try_from(counts.sum::<i32>()).unwrap_or(0)
    }
}

/// A job that is listed, and why it waits.
type JobAndReason = (JobIx, Option<WaitKind>);

/// The first so many jobs by name. Of all others nothing but their number is kept: to sort them too would cost far more.
struct FirstByName<'a> {
    state: &'a State,
    most: usize,
    /// Up to twice as many as are asked for.
    first: Vec<JobAndReason>,
    /// None behind it is among the first.
    last: Option<JobIx>,
    total: usize,
}

impl<'a> FirstByName<'a> {
    fn of(state: &'a State, most: usize) -> Self {
        Self {
            state,
            most,
            first: Vec::new(),
            last: None,
            total: 0,
        }
    }

    fn add(&mut self, ix: JobIx, kind: Option<WaitKind>) {
        self.total += 1;
        let is_behind = |last| order_of_names(self.state, ix, last).is_gt();
        if self.last.is_some_and(is_behind) {
            return;
        }
        self.first.push((ix, kind));
        if self.first.len() >= self.most.saturating_mul(2) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let state = self.state;
        let by_name = |(l, _): &JobAndReason, (r, _): &JobAndReason| order_of_names(state, *l, *r);
        let (_, (last, _), _) = self.first.select_nth_unstable_by(self.most - 1, by_name);
        self.last = Some(*last);
        self.first.truncate(self.most);
    }

    /// In order, and how many there are in all.
    fn sorted(mut self) -> (Vec<JobAndReason>, usize) {
        if self.first.len() > self.most {
            self.cut();
        }
        let state = self.state;
        self.first
            .sort_unstable_by(|(l, _), (r, _)| order_of_names(state, *l, *r));
        (self.first, self.total)
    }
}

/// Whether the name of a job, with its namespace, has this text in it.
fn is_named(state: &State, ix: JobIx, text: &str) -> bool {
    if text.is_empty() {
        return true;
    }
    if text.contains('/') {
        return state.population().job_key(ix).contains(text);
    }
    let job = state.job(ix);
    job.name.contains(text) || state.names().text(job.namespace).contains(text)
}

/// The order of two jobs by `namespace/name`, without a text of it: there may be very many.
fn order_of_names(state: &State, left: JobIx, right: JobIx) -> Ordering {
    let (l, r) = (state.job(left), state.job(right));
    let by_name = match l.namespace == r.namespace {
        true => l.name.cmp(&r.name),
        false => {
            let names = state.names();
            let namespace = |job: &Job| names.text(job.namespace).bytes().chain([b'/']);
            namespace(l).cmp(namespace(r))
        }
    };
    by_name.then_with(|| left.cmp(&right))
}
