//! Gangs that are bound in part: since when, and which of them may be given up.
//!
//! The engine completes them first (`Plugins::job_order`). What stays partial is given up after
//! a deadline (`give_up`), but only what this scheduler bound as that gang, and not a gang that
//! was on nodes as a whole and has lost members. A part of a tree (spec/03 §B11) that was bound in part beside others
//! that hold is given up alone.

use pumice_model::object::{BOUND_IN_PART, GroupPhase, GroupStatus};
use pumice_model::{
    Applied, GroupChange, Job, JobId, JobIx, PartInPart, State, TaskIx, TaskStatus, gang_tree,
    parts_bound_in_part,
};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::setbacks::{SetbackMemory, Setbacks};
use crate::memory::GroupName;

/// Partial gangs by job; of another PodGroup in its place nothing is known.
#[derive(Clone, Default)]
pub struct PartialGangs {
    since: FxHashMap<JobId, i64>,
    /// Gangs with pods on nodes that once were there as a whole, or may have been.
    whole: FxHashSet<JobId>,
    /// The other gangs with pods on nodes.
    begun: FxHashSet<JobId>,
    pub(crate) setbacks: Setbacks,
}

/// What is remembered of gangs, as another engine is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartialMemory {
    since: Vec<(GroupName, i64)>,
    whole: Vec<GroupName>,
    begun: Vec<GroupName>,
    setbacks: SetbackMemory,
}

/// A gang that was bound in part for too long.
pub(crate) struct OverdueGang {
    pub job: JobIx,
    /// Parts that were bound in part of a tree that is there as a whole; empty where the whole gang is given up.
    pub parts: Vec<PartInPart>,
    /// For so many seconds.
    pub after_s: i64,
    /// It is given up again after so many.
    pub again_s: Option<i64>,
}

/// After a restart nothing else tells that a gang was never on its nodes as a whole.
fn says_never_whole(status: &GroupStatus) -> bool {
    let mut conditions = status.conditions.iter();
    conditions.any(|condition| condition.kind == BOUND_IN_PART && condition.status == "True")
}

/// Pods that are on their node for certain.
fn on_nodes(job: &Job) -> i32 {
    job.count(TaskStatus::Bound) + job.count(TaskStatus::Running)
}

/// Members that are on their node for certain, by name.
pub(crate) fn members_on_nodes(state: &State, job: JobIx) -> Vec<TaskIx> {
    let there = |status| matches!(status, TaskStatus::Bound | TaskStatus::Running);
    let members = state.job(job).tasks.iter().copied();
    let mut found: Vec<TaskIx> = members
        .filter(|ix| there(state.task(*ix).gang_status()))
        .collect();
    found.sort_by_key(|ix| &state.task(*ix).name);
    found
}

/// Some member on a node is older than the PodGroup, which was made for pods that were there.
fn is_younger_than_its_pods(state: &State, ix: JobIx) -> bool {
    let created_s = state.job(ix).created_s;
    let members = members_on_nodes(state, ix).into_iter();
    members
        .map(|ix| state.task(ix).created_s)
        .any(|pod_s| pod_s < created_s)
}

impl PartialGangs {
    /// As another engine is told of them.
    pub fn keep(&self, state: &State) -> PartialMemory {
        let names = |of: &FxHashSet<JobId>| {
            let names = of.iter().filter_map(|id| GroupName::of(state, *id));
            let mut names: Vec<GroupName> = names.collect();
            names.sort_unstable();
            names
        };
        let since = self.since.iter();
        let since = since.filter_map(|(id, at_s)| Some((GroupName::of(state, *id)?, *at_s)));
        let mut since: Vec<(GroupName, i64)> = since.collect();
        since.sort_unstable();
        PartialMemory {
            since,
            whole: names(&self.whole),
            begun: names(&self.begun),
            setbacks: self.setbacks.keep(),
        }
    }

    /// Takes in what another engine told of.
    pub fn restore(&mut self, told: PartialMemory, state: &State) {
        let find = |names: Vec<GroupName>| {
            let found = names.iter().filter_map(|name| name.find(state));
            found.collect()
        };
        let since = told.since.iter();
        let since = since.filter_map(|(name, at_s)| Some((name.find(state)?, *at_s)));
        self.since = since.collect();
        self.whole = find(told.whole);
        self.begun = find(told.begun);
        self.setbacks.restore(told.setbacks);
    }

    /// Looks at a job again at the end of a cycle, before its phase is computed anew.
    pub fn look_at(&mut self, state: &State, ix: JobIx, now_s: i64) {
        if !state.population().has_job(ix) {
            return;
        }
        let has_partial_parts = !parts_bound_in_part(state, ix).is_empty();
        self.note_whole(state, ix, has_partial_parts);
        let id = state.population().job_id(ix);
        if has_partial_parts || gang_tree::is_partial(state, state.job(ix)) {
            self.since.entry(id).or_insert(now_s);
        } else {
            self.since.remove(&id);
        }
    }

    /// A change was applied.
    pub fn follow(&mut self, applied: &Applied) {
        if let Some(GroupChange::Replaced(job)) = applied.group {
            self.forget(job);
        }
        if let Some(job) = applied.job_gone {
            self.forget(job);
        }
    }

    fn forget(&mut self, job: JobId) {
        self.since.remove(&job);
        self.whole.remove(&job);
        self.begun.remove(&job);
    }

    /// Whether a gang was there as a whole. The phase alone does not tell: it is Unknown both when a
    /// pod of a gang bound in part runs and when a gang that ran has lost members. So what was seen
    /// counts, and the status only for a gang that had pods on nodes when it was first seen: its phase,
    /// and the condition [`BOUND_IN_PART`] beside the phase Unknown. A PodGroup that came after such a pod
    /// has nothing to do with its Binding.
    fn note_whole(&mut self, state: &State, ix: JobIx, has_partial_parts: bool) {
        let (job, id) = (state.job(ix), state.population().job_id(ix));
        // A tree may lack groups that are not there, and those that are do with one pod.
        if job.min_available <= 1 && gang_tree::of(job).is_none() {
            self.whole.remove(&id);
            self.begun.remove(&id);
            return;
        }
        let on_nodes = on_nodes(job);
        let is_whole = || gang_tree::is_whole(state, job, gang_tree::stays_on_node);
        if on_nodes == 0 {
            self.whole.remove(&id);
            self.begun.insert(id);
        } else if on_nodes + job.completed() >= job.min_available && is_whole() {
            if !has_partial_parts {
                self.setbacks.forget(|| state.population().job_key(ix));
            }
            self.begun.remove(&id);
            self.whole.insert(id);
        } else if !self.whole.contains(&id) && !self.begun.contains(&id) {
            let phase = job.status.phase;
            let fresh = matches!(phase, GroupPhase::Pending | GroupPhase::Inqueue);
            let begins = fresh && !is_younger_than_its_pods(state, ix);
            let known = match begins || says_never_whole(&job.status) {
                true => &mut self.begun,
                false => &mut self.whole,
            };
            known.insert(id);
        }
    }

    /// Whether this scheduler bound the pods that are on nodes as members of the gang, which was
    /// never there as a whole. Not so of pods whose PodGroup came after their Binding, which were
    /// bound one by one, nor of pods with another `schedulerName`.
    pub fn was_bound_in_part(&self, state: &State, ix: JobIx) -> bool {
        let begun = self.begun.contains(&state.population().job_id(ix));
        let mut members = state.job(ix).tasks.iter().map(|task| state.task(*task));
        begun && !members.any(|task| task.joined_bound || !task.ours)
    }

    /// Forgets all of them, unless jobs still are gangs.
    pub fn forget_unless(&mut self, gangs: bool) {
        if !gangs {
            let setbacks = std::mem::take(&mut self.setbacks);
            *self = Self {
                setbacks,
                ..Self::default()
            };
        }
    }

    /// Every partial gang and when it was first seen as one, by job index.
    pub fn all(&self) -> Vec<(JobIx, i64)> {
        let mut all: Vec<_> = self.since.iter().map(|(id, s)| (id.ix(), *s)).collect();
        all.sort_unstable();
        all
    }

    /// Gangs whose time is over, and that are given up with this.
    pub fn take_overdue(&mut self, state: &State, now_s: i64) -> Vec<OverdueGang> {
        let all: Vec<(JobIx, i64, i64)> = self.deadlines(state).collect();
        let due = all.into_iter().filter(|(_, _, due_s)| *due_s <= now_s);
        let overdue = due.map(|(job, since_s, _)| OverdueGang {
            job,
            parts: parts_bound_in_part(state, job),
            after_s: now_s - since_s,
            again_s: self.setbacks.add(state.population().job_key(job), now_s),
        });
        let overdue: Vec<OverdueGang> = overdue.collect();
        let next_s = self.deadlines(state).map(|(_, _, due_s)| due_s).min();
        self.setbacks.next_s = next_s;
        overdue
    }

    /// Gangs that will be given up: the job, since when it is partial, when its time is over.
    fn deadlines(&self, state: &State) -> impl Iterator<Item = (JobIx, i64, i64)> {
        let partial = self.all().into_iter();
        let ours = partial.filter(|(job, _)| {
            state.population().has_job(*job)
                && (self.was_bound_in_part(state, *job)
                    || !parts_bound_in_part(state, *job).is_empty())
        });
        ours.filter_map(|(job, since_s)| {
            let due_s = self
                .setbacks
                .due_s(&state.population().job_key(job), since_s)?;
            Some((job, since_s, due_s))
        })
    }
}
