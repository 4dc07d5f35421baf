//! Reclaim: who may take, and who gives (spec/02 §10.4, spec/07 §3, §4).

use pumice_framework::Refusal;
use pumice_framework::points::{Purpose, QueueDistance, Reclaimer, Victims};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_model::resource::ResVec;
use pumice_model::{QueueIx, ResIx, State, TaskIx};
use rustc_hash::FxHashMap;

use super::CapacityPlugin;
use crate::deserving;

/// What queues hold once those are gone that were chosen so far; queues that lose nobody are as they are.
#[derive(Default)]
struct Remaining(FxHashMap<QueueIx, ResVec>);

impl Remaining {
    fn of<'a>(&'a self, plugin: &'a CapacityPlugin, queue: QueueIx) -> &'a ResVec {
        self.0.get(&queue).unwrap_or_else(|| plugin.held(queue))
    }

    fn lose(&mut self, plugin: &CapacityPlugin, queue: QueueIx, request: &ResVec) {
        for above in plugin.tree.path(queue) {
            let left = self
                .0
                .entry(above)
                .or_insert_with(|| plugin.held(above).clone());
            left.sub(request);
        }
    }
}

impl CapacityPlugin {
    fn deserves(&self, state: &State, queue: QueueIx, request: &ResVec) -> Result<(), Refusal> {
        let (held, own) = (self.held(queue), self.of(queue));
        deserving::deserves(state, request, |ix| held.get(ix), |ix| own.deserves(ix))
    }

    /// The lowest queue by which `queue` may reclaim: itself, or a near ancestor.
    ///
    /// # Errors
    /// Why the queue itself may not.
    fn entitled_by(
        &self,
        state: &State,
        queue: QueueIx,
        request: &ResVec,
    ) -> Result<QueueIx, Refusal> {
        let Err(refusal) = self.deserves(state, queue, request) else {
            return Ok(queue);
        };
        let mut near = self.tree.near_ancestors(queue, self.levels);
        let by = near.find(|above| self.deserves(state, *above, request).is_ok());
        by.ok_or(refusal)
    }

    /// Whether a queue, or a near ancestor, gives up a pod: it holds more than it deserves of something
    /// that both pods ask, or nothing that the pod asks is among what it deserves.
    fn gives(
        &self,
        queue: QueueIx,
        request: &ResVec,
        common: impl Iterator<Item = ResIx>,
        left: &Remaining,
    ) -> bool {
        let own = self.of(queue);
        let mut asked = request.iter().filter(|(_, amount)| *amount > 0);
        if asked.all(|(ix, _)| own.deserves(ix).is_none()) {
            return true;
        }
        let left = left.of(self, queue);
        deserving::exceeds(common, |ix| left.get(ix), |ix| own.deserves(ix))
    }

    /// Whether a queue keeps what it is guaranteed without a pod.
    fn keeps_guarantee(&self, queue: QueueIx, request: &ResVec, left: &Remaining) -> bool {
        let guarantee = &self.of(queue).guarantee;
        let left = left.of(self, queue);
        let mut asked = request.iter().filter(|(_, amount)| *amount > 0);
        asked.all(|(ix, amount)| {
            let least = guarantee.get(ix);
            least <= 0 || left.get(ix).saturating_sub(amount) >= least
        })
    }
}

impl Reclaimer for CapacityPlugin {
    fn may_reclaim(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        let record = state.queue(queue);
        if !record.is_open() {
            return Err(Refusal::NotOpen(record.object.state));
        }
        self.takes_part(queue)?;
        let request = &self.claims.charged(state, task);
        self.entitled_by(state, queue, request).map(|_| ())
    }
}

impl Victims for CapacityPlugin {
    fn speaks(&self, purpose: Purpose) -> bool {
        purpose == Purpose::Reclaim
    }

    fn victims(
        &self,
        state: &State,
        purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        if !self.speaks(purpose) {
            return VictimAnswer::abstains();
        }
        let queue_of = |task: TaskIx| {
            let job = state.task(task).job;
            let queue = job.and_then(|job| state.job(job).queue);
            queue.filter(|queue| self.tree.fault_for_jobs(*queue).is_none())
        };
        let Some(taker) = queue_of(preemptor) else {
            return VictimAnswer::ordering(Weight::Veto, Vec::new());
        };
        let wanted = &self.claims.charged(state, preemptor);
        // Who may take only because of an ancestor does not take from what is below that as well.
        let by = self.entitled_by(state, taker, wanted).unwrap_or(taker);
        let mut left = Remaining::default();
        let mut allowed = Vec::new();
        for task in candidates {
            let Some(giver) = queue_of(*task) else {
                continue;
            };
            let request = self.claims.charged(state, *task);
            let common = deserving::common(&request, wanted);
            if common.clone().next().is_none() || self.tree.is_within(giver, by) {
                continue;
            }
            let is_apart = |above: &QueueIx| !self.tree.is_within(taker, *above);
            let mut branch = self.tree.path(giver).take_while(is_apart);
            if !branch.all(|above| self.keeps_guarantee(above, &request, &left)) {
                continue;
            }
            let near = self.tree.near_ancestors(giver, self.levels);
            let mut asked = std::iter::once(giver).chain(near.take_while(is_apart));
            if asked.all(|queue| self.gives(queue, &request, common.clone(), &left)) {
                left.lose(self, giver, &request);
                allowed.push(*task);
            }
        }
        VictimAnswer::ordering(Weight::Veto, allowed)
    }
}

impl QueueDistance for CapacityPlugin {
    fn queue_distance(&self, _: &State, preemptor: QueueIx, victim: QueueIx) -> u32 {
        self.tree.distance(preemptor, victim)
    }
}
