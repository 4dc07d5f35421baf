//! Reclaim: who may take, and who gives (spec/02 §10.4, spec/07 §3, §4).

use std::borrow::Cow;

use pumice_framework::points::{Purpose, QueueDistance, Reclaimer, Victims, WhyKept};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{Overruns, Refusal};
use pumice_model::resource::ResVec;
use pumice_model::{QueueIx, ResIx, State, TaskIx};
use rustc_hash::FxHashMap;

use super::CapacityPlugin;
use crate::deserving::{self, StillDeserved};

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
    fn deserves(
        &self,
        state: &State,
        queue: QueueIx,
        request: &ResVec,
    ) -> Result<StillDeserved, Refusal> {
        let (held, own) = (self.held(queue), self.of(queue));
        let is_shared = |ix| self.entitlements.is_shared(ix);
        deserving::deserves(
            state,
            request,
            |ix| held.get(ix),
            |ix| own.deserves(ix),
            is_shared,
        )
    }

    /// The lowest queue by which `queue` may reclaim, itself or a near ancestor, and for what: one that still
    /// deserves everything that is asked goes before one that deserves a part of it.
    ///
    /// # Errors
    /// Why the queue itself may not.
    fn entitled_by(
        &self,
        state: &State,
        queue: QueueIx,
        request: &ResVec,
    ) -> Result<(QueueIx, StillDeserved), Refusal> {
        let own = self
            .deserves(state, queue, request)
            .map(|still| (queue, still));
        let deserves_all = |(_, deserved): &(QueueIx, StillDeserved)| deserved.over.is_empty();
        if own.as_ref().is_ok_and(deserves_all) {
            return own;
        }
        let mut part = None;
        for above in self.tree.near_ancestors(queue, self.levels) {
            match self
                .deserves(state, above, request)
                .map(|still| (above, still))
            {
                Ok(found) if deserves_all(&found) => return Ok(found),
                found => part = part.or(found.ok()),
            }
        }
        match part {
            Some(part) => own.or(Ok(part)),
            None => own,
        }
    }

    /// Whether a queue, or a near ancestor, gives up a pod: it holds more than it deserves of something
    /// that the pod asks and the preemptor's queue still deserves; what it does not name it does not
    /// deserve.
    fn gives(&self, queue: QueueIx, common: impl Iterator<Item = ResIx>, left: &Remaining) -> bool {
        let (own, left) = (self.of(queue), left.of(self, queue));
        let deserved = |ix| own.deserves(ix).unwrap_or(0.0);
        deserving::exceeds(common, |ix| left.get(ix), deserved)
    }

    /// What tasks ask together, as their queue is charged.
    fn asked_by<'a>(&self, state: &'a State, tasks: &[TaskIx]) -> Cow<'a, ResVec> {
        let charged = tasks.iter().map(|task| self.claims.charged(state, *task));
        deserving::sum_of(charged)
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
    fn may_reclaim(
        &self,
        state: &State,
        queue: QueueIx,
        tasks: &[TaskIx],
    ) -> Result<Overruns, Refusal> {
        let record = state.queue(queue);
        if !record.is_open() {
            return Err(Refusal::NotOpen(record.object.state));
        }
        self.takes_part(queue)?;
        let request = &self.asked_by(state, tasks);
        let (_, deserved) = self.entitled_by(state, queue, request)?;
        Ok(deserved.over)
    }
}

impl Victims for CapacityPlugin {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(deserving::QUEUE_DESERVES_IT)
    }

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
        self.victims_for_gang(state, purpose, &[preemptor], candidates)
    }

    fn victims_for_gang(
        &self,
        state: &State,
        purpose: Purpose,
        gang: &[TaskIx],
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
        let Some(taker) = gang.first().and_then(|first| queue_of(*first)) else {
            return VictimAnswer::ordering(Weight::Veto, Vec::new());
        };
        let wanted = &self.asked_by(state, gang);
        // Who may take only because of an ancestor does not take from what is below that as well.
        let (by, still) = match self.entitled_by(state, taker, wanted) {
            Ok((by, deserved)) => (by, deserved.still),
            Err(_) => (taker, deserving::asked(wanted)),
        };
        let mut left = Remaining::default();
        let mut allowed = Vec::new();
        for task in candidates {
            let Some(giver) = queue_of(*task) else {
                continue;
            };
            let request = self.claims.charged(state, *task);
            let common = deserving::common(&request, &still);
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
            if asked.all(|queue| self.gives(queue, common.clone(), &left)) {
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
