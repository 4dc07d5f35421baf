//! Notes on jobs, from one cycle to the next.

use pumice_framework::JobNote;
use pumice_framework::sleep::Bed;
use pumice_model::JobIx;
use rustc_hash::FxHashMap;

use crate::Engine;

impl Engine {
    /// Takes the notes of a cycle; what was noted before of the jobs it looked at. Of those that slept the
    /// last word stands.
    pub(crate) fn renew_notes(
        &mut self,
        looked_at: Vec<JobIx>,
        mut notes: FxHashMap<JobIx, JobNote>,
    ) -> Vec<(JobIx, Option<JobNote>)> {
        if self.sleepers.has_slept() {
            let one = |ix: JobIx| (ix, self.notes.remove(&ix));
            let old: Vec<(JobIx, Option<JobNote>)> = looked_at.into_iter().map(one).collect();
            for (ix, note) in &old {
                // It had no turn, since it would have got nothing: what was found out before holds.
                if let Some(note) = note
                    && self.sleepers.bed(*ix) != Bed::None
                {
                    if let Some(new) = notes.get_mut(ix) {
                        keep_words(note, new);
                    } else {
                        self.notes.insert(*ix, note.clone());
                    }
                }
            }
            self.notes.extend(notes);
            return old;
        }
        for (ix, new) in &mut notes {
            if let Some(old) = self.notes.get(ix)
                && self.sleepers.bed(*ix) != Bed::None
            {
                keep_words(old, new);
            }
        }
        let mut old = std::mem::replace(&mut self.notes, notes);
        let noted: Vec<JobIx> = self.notes.keys().copied().collect();
        let mut all: Vec<(JobIx, Option<JobNote>)> =
            noted.into_iter().map(|ix| (ix, old.remove(&ix))).collect();
        all.extend(old.into_iter().map(|(ix, note)| (ix, Some(note))));
        all
    }
}

/// Of jobs that sleep and wait for the same one has a turn in an action that evicts: of the others its last
/// word stands.
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
