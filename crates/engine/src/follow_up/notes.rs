//! Notes on jobs, from one cycle to the next.

use pumice_framework::JobNote;
use pumice_framework::Sleepers;
use pumice_framework::sleep::Bed;
use pumice_model::{Applied, GroupChange, JobIx, PodChange, TaskIx};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A job, and what was noted of it before.
pub(crate) type NoteBefore = (JobIx, Option<Arc<JobNote>>);

/// What the last cycles found out about jobs. By index, as cycles hand it out: of jobs that are gone nothing is
/// kept, nor of pods that are. What a copy has of a job is shared until it is noted anew.
#[derive(Clone, Default)]
pub(crate) struct Notes(FxHashMap<JobIx, Arc<JobNote>>);

impl Notes {
    /// What is noted of a job.
    pub fn get(&self, job: &JobIx) -> Option<&JobNote> {
        self.0.get(job).map(Arc::as_ref)
    }

    /// Jobs of which something is noted.
    pub fn jobs(&self) -> impl Iterator<Item = JobIx> {
        self.0.keys().copied()
    }

    /// Nothing is noted of anybody.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A change was applied: what was noted of a pod that has left a job means nothing any more.
    pub fn follow(&mut self, applied: &Applied) {
        if self.0.is_empty() {
            return;
        }
        if let Some(PodChange::Read { task, left } | PodChange::Gone { task, left }) = applied.pod
            && let Some(job) = left
        {
            self.forget_task(task.ix(), job.ix());
        }
        if let Some(GroupChange::Gone(job)) = applied.group {
            self.0.remove(&job.ix());
        }
        if let Some(job) = applied.job_gone {
            self.0.remove(&job.ix());
        }
    }

    fn forget_task(&mut self, task: TaskIx, job: JobIx) {
        if let Some(note) = self.0.get_mut(&job).map(Arc::make_mut) {
            note.unplaced.retain(|(unplaced, _)| *unplaced != task);
            note.discarded.remove(&task);
        }
    }

    /// Takes the notes of a cycle; what was noted before of the jobs it looked at. Of those that slept the
    /// last word stands.
    pub fn renew(
        &mut self,
        sleepers: &Sleepers,
        looked_at: &[JobIx],
        mut notes: FxHashMap<JobIx, JobNote>,
    ) -> Vec<NoteBefore> {
        if sleepers.has_slept() {
            let one = |ix: JobIx| (ix, self.0.remove(&ix));
            let old: Vec<NoteBefore> = looked_at.iter().copied().map(one).collect();
            for (ix, note) in &old {
                // It had no turn, since it would have got nothing: what was found out before holds.
                if let Some(note) = note
                    && sleepers.bed(*ix) != Bed::None
                {
                    if let Some(new) = notes.get_mut(ix) {
                        keep_words(note, new);
                    } else {
                        self.0.insert(*ix, note.clone());
                    }
                }
            }
            self.0.extend(shared(notes));
            return old;
        }
        for (ix, new) in &mut notes {
            if let Some(old) = self.0.get(ix)
                && sleepers.bed(*ix) != Bed::None
            {
                keep_words(old, new);
            }
        }
        let mut old = std::mem::replace(&mut self.0, shared(notes).collect());
        let noted: Vec<JobIx> = self.0.keys().copied().collect();
        let mut all: Vec<NoteBefore> = noted.into_iter().map(|ix| (ix, old.remove(&ix))).collect();
        all.extend(old.into_iter().map(|(ix, note)| (ix, Some(note))));
        all
    }
}

fn shared(notes: FxHashMap<JobIx, JobNote>) -> impl Iterator<Item = (JobIx, Arc<JobNote>)> {
    notes.into_iter().map(|(ix, note)| (ix, Arc::new(note)))
}

/// Keeps the last word on jobs that sleep with another one: of those that wait for the same only one has
/// a turn in an action that evicts.
fn keep_words(old: &JobNote, new: &mut JobNote) {
    let said = std::mem::replace(&mut new.nobody_goes, old.nobody_goes.clone());
    for word in said {
        let mut known = new.nobody_goes.iter_mut();
        match known.find(|old| (old.purpose, old.action) == (word.purpose, word.action)) {
            Some(old) => *old = word,
            None => new.nobody_goes.push(word),
        }
    }
}

/// Whether the queue is why pods of a job were not tried.
pub(crate) fn held_by_queue(note: &JobNote) -> bool {
    match &note.skip {
        Some(skip) => skip.is_of_queue(),
        None => note.refusal.is_some(),
    }
}
