//! What pods beyond the minimum of their jobs hold: room that was given to them before a group was admitted
//! that has not even its minimum now.

use pumice_model::{JobIx, ResIx, ResVec, State};

use crate::outcome::{JobNote, Unplaced};
use crate::refusal::{Bound, Overrun};
use crate::session::Session;

impl Session<'_> {
    /// Notes of an admitted group that found no room for its minimum how much pods beyond the minimum of
    /// others hold of what it lacks, where that would do.
    pub fn note_extras(&mut self, ix: JobIx) {
        let job = self.state.job(ix);
        let lacks = job.unallocated_minimum();
        let is_short = job.group().is_some() && !job.is_pending() && !job.is_pipelined();
        let Some(note) = self.notes.get_mut(&ix).filter(|_| is_short) else {
            return;
        };
        let short = short_of(note);
        let needed = lacks.iter().filter(|(_, amount)| *amount > 0);
        let needed: Vec<_> = needed.filter(|(ix, _)| short.contains(ix)).collect();
        if needed.is_empty() {
            return;
        }
        let held = self.extras.get_or_insert_with(|| sum_up(self.state));
        let enough = needed
            .iter()
            .filter(|(ix, amount)| held.get(*ix) >= *amount);
        note.extras = enough.map(|(ix, _)| (*ix, held.get(*ix))).collect();
    }
}

/// Resources of which the cluster, or what the queue deserves of it, had too little.
fn short_of(note: &JobNote) -> Vec<ResIx> {
    let refusal = note.refusal.iter().flat_map(|refusal| refusal.overruns());
    let is_of_room = |overrun: &&Overrun| matches!(overrun.bound, Bound::Cluster | Bound::Deserved);
    let refused = refusal.filter(is_of_room).map(|overrun| overrun.resource);
    let nearest = note.unplaced.iter().filter_map(|(_, why)| match why {
        Unplaced::NoNode(error) => error.nearest.as_ref(),
        Unplaced::RoleFailed | Unplaced::NoDomain(_) | Unplaced::Kept(_) => None,
    });
    let missed = nearest.flat_map(|miss| &miss.short);
    refused.chain(missed.map(|short| short.resource)).collect()
}

fn sum_up(state: &State) -> ResVec {
    let mut sum = ResVec::default();
    for (_, job) in state.population().jobs() {
        let has_minimum = job.min_resources.is_some() && job.group().is_some();
        if has_minimum && job.allocated_count() > job.min_available {
            sum.add_saturating(&job.elastic());
        }
    }
    sum
}
