//! Queues that hold more than they deserve, and whose pods say that nobody may evict them: `reclaim` gets nothing back
//! from these, so that the annotation of a tenant outweighs the share of another queue.

use std::collections::BTreeSet;

use pumice_model::{Job, JobIx, QueueIx};

use crate::configured::{evicts, has_action};
use crate::report::teller::Teller;

/// What the queue is told. Without numbers, so that it is told once.
pub(crate) const TEXT: &str = "it holds more than it deserves, and pods with volcano.sh/preemptable: \"false\" cannot be \
     reclaimed from it, nor, by reclaim alone, pods of a PodGroup with disruptionMode all; honorPreemptable: false, an \
     argument of the action reclaim, passes over such marks";

impl Teller<'_> {
    /// Queues of which `reclaim` gets nothing back for what pods and PodGroups say of their eviction.
    pub(crate) fn shielded_queues(&self) -> BTreeSet<QueueIx> {
        let evicts = evicts(self.actions);
        if !evicts.reclaim || evicts.reclaim_passes_marks {
            return BTreeSet::new();
        }
        let state = self.state;
        let holds_more = |queue: &QueueIx| {
            state.queue(*queue).object.reclaimable
                && self.queue_view(*queue).is_some_and(|share| {
                    let held = &state.queue(*queue).allocated;
                    let beyond = |(ix, deserved): &(_, f64)| held.get(*ix) as f64 > *deserved;
                    share.deserved.iter().any(beyond)
                })
        };
        // Hardly any does, and then no job has to be looked at.
        let all = state.population().queues().iter().map(|(ix, _)| ix);
        let beyond: BTreeSet<QueueIx> = all.filter(holds_more).collect();
        if beyond.is_empty() {
            return beyond;
        }
        let takes_gangs = has_action(self.actions, &["gangreclaim"]);
        let has_marks = |job: &Job| has_marks(job) || !takes_gangs && job.goes_whole();
        let jobs = state.population().jobs().filter(|(_, job)| has_marks(job));
        let is_shield = |(ix, job): &(JobIx, &Job)| {
            let of_one = job.queue.is_some_and(|queue| beyond.contains(&queue));
            let goes_whole = !takes_gangs && job.goes_whole();
            of_one && self.holds_marked(*ix, goes_whole)
        };
        jobs.filter(is_shield)
            .filter_map(|(_, job)| job.queue)
            .collect()
    }

    /// Whether a job has a pod on a node that a mark, of all of its pods or of one, keeps there.
    fn holds_marked(&self, ix: JobIx, all: bool) -> bool {
        let mut tasks = self.state.job(ix).tasks.iter();
        tasks.any(|task| {
            let holds = self.state.task(*task).status.is_allocated();
            holds && (all || self.state.population().is_protected_by_mark(*task))
        })
    }
}

fn has_marks(job: &Job) -> bool {
    let by_group = job
        .group()
        .is_some_and(|group| group.preemptable.protects());
    by_group || job.marks.no > 0 || job.marks.unreadable > 0
}
