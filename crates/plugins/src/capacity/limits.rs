//! What a queue and those above it may have at most, for a task and for a job (spec/02 §10.3).

use pumice_framework::{Bound, Overrun, Overruns, Refusal};
use pumice_model::resource::{PODS, is_of_device_class};
use pumice_model::{QueueIx, ResIx, ResVec, State, TaskIx};

use super::CapacityPlugin;
use crate::capability::{cluster_total, held_besides};
use crate::demand;

impl CapacityPlugin {
    /// Whether a queue and all of its ancestors stay within their real capability with a task, which
    /// waits or was just placed.
    pub(super) fn has_room(
        &self,
        state: &State,
        queue: QueueIx,
        task: TaskIx,
    ) -> Result<(), Refusal> {
        let nothing = ResVec::default();
        let request = self.claims.charged(state, task);
        self.has_room_beside(state, queue, task, &request, |_| &nothing)
    }

    /// Whether a queue and all of its ancestors stay within their real capability with a task that
    /// counts `request`, if each of them held `more` than it does.
    pub(super) fn has_room_beside<'a>(
        &self,
        state: &State,
        queue: QueueIx,
        task: TaskIx,
        request: &ResVec,
        more: impl Fn(QueueIx) -> &'a ResVec,
    ) -> Result<(), Refusal> {
        for above in self.tree.path(queue) {
            let (held, more) = (self.held(above), more(above));
            let held = |ix| held.get(ix).saturating_add(more.get(ix));
            let besides = |ix| held_besides(state, task, held(ix), request.get(ix));
            let demand = |ix| besides(ix).saturating_add(request.get(ix));
            let whose = (above != queue).then_some(above);
            let overruns = self.overruns(state, above, request, demand, |ix, (limit, bound)| {
                Overrun {
                    resource: ix,
                    above: whose,
                    bound,
                    limit,
                    total: cluster_total(state, ix),
                    used: besides(ix),
                    reserved: 0,
                    asked: request.get(ix),
                }
            });
            if !overruns.is_empty() {
                return Err(Refusal::Quota(overruns));
            }
        }
        Ok(())
    }

    /// The resources of which a queue, and each one above it, would have more than it may with a job that wants
    /// so much, the lowest queue first; queues that have room are left out.
    pub(super) fn overruns_of_job(
        &self,
        state: &State,
        queue: QueueIx,
        wanted: &ResVec,
    ) -> impl Iterator<Item = Overruns> {
        self.tree.path(queue).filter_map(move |above| {
            let held = self.held(above);
            let reserved = |ix| {
                let inqueue = self.sums.inqueue(above, ix);
                inqueue.saturating_sub(self.sums.elastic(above, ix))
            };
            let demand = |ix| {
                let (inqueue, elastic) =
                    (self.sums.inqueue(above, ix), self.sums.elastic(above, ix));
                demand::demand(wanted.get(ix), held.get(ix), inqueue, elastic)
            };
            let whose = (above != queue).then_some(above);
            let mut overruns =
                self.overruns(state, above, wanted, demand, |ix, (limit, bound)| Overrun {
                    resource: ix,
                    above: whose,
                    bound,
                    limit,
                    total: cluster_total(state, ix),
                    used: held.get(ix),
                    reserved: reserved(ix).max(0),
                    asked: wanted.get(ix),
                });
            overruns.retain(|overrun| overrun.resource != PODS);
            (!overruns.is_empty()).then_some(overruns)
        })
    }

    /// The resources of which a queue would have more than it may; `pods` only where it names them.
    fn overruns(
        &self,
        state: &State,
        queue: QueueIx,
        request: &ResVec,
        demand: impl Fn(ResIx) -> i64,
        overrun: impl Fn(ResIx, (i64, Bound)) -> Overrun,
    ) -> Overruns {
        let own = self.of(queue);
        let exceeds = |ix: ResIx| {
            let limit = own.limit(ix).filter(|(limit, _)| demand(ix) > *limit)?;
            match limit.1 {
                bound if ix == PODS && bound != Bound::Capability => None,
                // A class that is new since the cycle began.
                Bound::Cluster if is_of_device_class(state.resources().name(ix)) => None,
                _ => Some(limit),
            }
        };
        if request
            .iter()
            .all(|(ix, amount)| amount <= 0 || exceeds(ix).is_none())
        {
            return Overruns::new();
        }
        let resources = state.resources().in_order().iter();
        let asked = resources.filter(|ix| request.get(**ix) > 0);
        asked
            .filter_map(|ix| Some(overrun(*ix, exceeds(*ix)?)))
            .collect()
    }
}
