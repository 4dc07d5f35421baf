//! Plugin `proportion`: divides the cluster among queues by weight (spec/02 §7).
//!
//! ```text
//!   open:   queues with jobs ──► entitlement each: deserved (water filling), ceiling, reservations
//!   search: allocated + pipelined of a queue, live from the state, against its entitlement
//! ```
//!
//! Arguments: none. Not together with hierarchical `drf` in one tier.

mod filling;

use std::borrow::Cow;
use std::cmp::Ordering;

use pumice_conf::PluginSpec;
use pumice_framework::points;
use pumice_framework::points::{
    Admission, Allocatable, Overused, Purpose, QueueOrder, QueueViews, Reclaimer, Victims, WhyKept,
};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{
    Bound, CycleInfo, Overrun, Overruns, Plugin, QueueShare, Refusal, Step, Vote,
};
use pumice_model::resource::PODS;
use pumice_model::{JobIx, Queue, QueueIx, ResIx, ResVec, State, TaskIx};
use rustc_hash::FxHashMap;

use crate::demand::{self, amount, is_within};
use crate::deserving::EPSILON;
use crate::{capability, deserving};
use filling::QueueClaim;

use crate::entry::PluginEntry;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "proportion",
    summary: "Divides the cluster among queues by weight.",
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |_, _| Box::new(Proportion::default()));

/// The plugin.
#[derive(Clone, Default)]
pub struct Proportion {
    /// By queue index; none for queues without jobs.
    queues: Vec<Option<Entitlement>>,
}

/// What a queue may have in this cycle; amounts by resource index.
#[derive(Clone)]
struct Entitlement {
    deserved: Vec<f64>,
    /// Most it could ever have: capability, and what others' guarantees leave.
    ceiling: Vec<f64>,
    /// Reservations of its admitted jobs.
    inqueue: ResVec,
    /// What its jobs hold beyond `minResources`.
    elastic: ResVec,
}

impl Proportion {
    fn of(&self, queue: QueueIx) -> Option<&Entitlement> {
        self.queues.get(queue.at())?.as_ref()
    }

    fn share(&self, state: &State, queue: QueueIx) -> f64 {
        let Some(entitlement) = self.of(queue) else {
            return 0.0;
        };
        let queue = state.queue(queue);
        let mut share = 0.0;
        for (at, deserved) in entitlement.deserved.iter().enumerate() {
            if *deserved >= EPSILON {
                share = f64::max(share, held(queue, ResIx(at as u16)) as f64 / deserved);
            }
        }
        share
    }
}

impl Entitlement {
    /// The most the queue could ever have of a resource, and what that comes from.
    fn ceiling_of(&self, state: &State, queue: &Queue, ix: ResIx) -> (Bound, i64) {
        let ceiling = amount(&self.ceiling, ix) as i64;
        let total = state.nodes().cluster_total.get(ix);
        let bound = match ceiling {
            _ if ceiling == total => Bound::Cluster,
            _ if ceiling == queue.capability.get(ix) => Bound::Capability,
            _ => Bound::Guarantees,
        };
        (bound, ceiling)
    }
}

/// What a queue holds in this cycle.
fn held(queue: &Queue, ix: ResIx) -> i64 {
    queue
        .allocated
        .get(ix)
        .saturating_add(queue.pipelined.get(ix))
}

impl Plugin for Proportion {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_queue_order: QueueOrder,
        as_overused: Overused,
        as_allocatable: Allocatable,
        as_admission: Admission,
        as_victims: Victims,
        as_reclaimer: Reclaimer,
        as_queue_views: QueueViews,
    );

    fn open(&mut self, state: &State, _cycle: &CycleInfo) {
        let mut order: Vec<QueueIx> = state
            .population()
            .queues()
            .iter()
            .filter(|(_, queue)| queue.jobs > 0)
            .map(|(ix, _)| ix)
            .collect();
        order.sort_by_key(|ix| &state.queue(*ix).object.name);
        let total: Vec<f64> = dimensions(state)
            .map(|ix| state.nodes().cluster_total.get(ix) as f64)
            .collect();
        let mut guaranteed = ResVec::default();
        state
            .population()
            .queues()
            .iter()
            .for_each(|(_, queue)| guaranteed.add_saturating(&queue.guarantee));
        let free = state.nodes().cluster_total.exceeding(&guaranteed);
        let mut claims: Vec<QueueClaim> = order.iter().map(|ix| claim(state, *ix, &free)).collect();
        filling::fill(&total, &mut claims);
        self.queues.clear();
        for (ix, claim) in order.iter().zip(claims) {
            if self.queues.len() <= ix.at() {
                self.queues.resize_with(ix.at() + 1, || None);
            }
            self.queues[ix.at()] = Some(Entitlement {
                deserved: claim.deserved,
                ceiling: claim.ceiling,
                inqueue: state.queue(*ix).reserved.clamped(),
                elastic: state.queue(*ix).elastic.clone(),
            });
        }
    }

    fn observe(&mut self, state: &State, step: Step) {
        let Step::Admitted(job) = step else {
            return;
        };
        let job = state.job(job);
        let entitlement = job.queue.and_then(|queue| self.queues.get_mut(queue.at()));
        if let Some(Some(entitlement)) = entitlement {
            entitlement.inqueue.add_saturating(&job.reservation());
        }
    }

    fn queue_warnings(&self, state: &State) -> Vec<(QueueIx, String)> {
        if !capability::has_device_amounts(state) {
            return Vec::new();
        }
        let warning = |(ix, queue): (QueueIx, &Queue)| {
            let named = capability::device_amounts(&queue.object);
            (!named.is_empty()).then(|| {
                let list = named.join(", ");
                let text = format!(
                    "plugin proportion does not count devices that pods claim: {list}; plugin capacity does"
                );
                (ix, text)
            })
        };
        state
            .population()
            .queues()
            .iter()
            .filter_map(warning)
            .collect()
    }
}

impl QueueOrder for Proportion {
    fn queue_order(&self, state: &State, left: QueueIx, right: QueueIx) -> Ordering {
        let priority = |queue| state.queue(queue).object.priority;
        let by_priority = priority(right).cmp(&priority(left));
        by_priority.then_with(|| self.share(state, left).total_cmp(&self.share(state, right)))
    }
}

impl Overused for Proportion {
    fn overused(&self, state: &State, queue: QueueIx) -> bool {
        let Some(entitlement) = self.of(queue) else {
            return false;
        };
        let queue = state.queue(queue);
        entitlement
            .deserved
            .iter()
            .enumerate()
            .all(|(at, deserved)| deserved - (held(queue, ResIx(at as u16)) as f64) < EPSILON)
    }

    fn is_lasting(&self) -> bool {
        // What it deserves is settled when the cycle opens; what it holds only grows.
        true
    }
}

impl Allocatable for Proportion {
    fn allocatable(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        let record = state.queue(queue);
        if !record.is_open() {
            return Err(Refusal::NotOpen(record.object.state));
        }
        let Some(entitlement) = self.of(queue) else {
            return Ok(());
        };
        let request = &state.charges().charged(task);
        let demand = |ix| held(record, ix).saturating_add(request.get(ix));
        let limit = |ix| amount(&entitlement.deserved, ix);
        if is_within(request, demand, limit) {
            return capability::holds(state, record, |ix| held(record, ix), task);
        }
        let total = &state.nodes().cluster_total;
        let overrun = |ix| {
            let limit = limit(ix) as i64;
            let asked = request.get(ix);
            let (bound, ceiling) = entitlement.ceiling_of(state, record, ix);
            // What no other job could change comes first.
            let (bound, limit) = match limit {
                _ if asked > ceiling || limit >= ceiling => (bound, ceiling),
                _ => (Bound::Deserved, limit),
            };
            Overrun {
                resource: ix,
                above: None,
                bound,
                limit,
                total: total.get(ix),
                used: held(record, ix),
                reserved: 0,
                asked,
            }
        };
        let overruns = demand::overruns(state, request, demand, limit, overrun);
        Err(Refusal::Quota(overruns))
    }

    fn within_limits(&self, state: &State, queue: QueueIx, task: TaskIx) -> Result<(), Refusal> {
        let record = state.queue(queue);
        capability::holds(state, record, |ix| held(record, ix), task)
    }

    fn room(&self, state: &State, queue: QueueIx, ix: ResIx) -> i64 {
        let record = state.queue(queue);
        let deserved = self
            .of(queue)
            .map(|entitlement| amount(&entitlement.deserved, ix));
        let limits = record.limits(state.resources());
        let own = limits.filter(|(of, _)| *of == ix).map(|(_, limit)| limit);
        let limit = own.chain(deserved.map(|deserved| deserved as i64)).min();
        limit.map_or(i64::MAX, |limit| limit.saturating_sub(held(record, ix)))
    }

    fn leaves_room_if_all_stay(&self, state: &State, queue: QueueIx, task: TaskIx) -> bool {
        let record = state.queue(queue);
        let held = |ix| held(record, ix).saturating_add(record.in_doubt.get(ix));
        capability::holds(state, record, held, task).is_ok()
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl Admission for Proportion {
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        let job = state.job(job);
        let Some(ix) = job.queue else {
            return (Vote::Abstain, None);
        };
        let queue = state.queue(ix);
        if !queue.is_open() {
            return (Vote::Reject, Some(Refusal::NotOpen(queue.object.state)));
        }
        let (Some(wanted), Some(entitlement)) = (&job.min_resources, self.of(ix)) else {
            return (Vote::Permit, None);
        };
        let demand = |ix| {
            let (inqueue, elastic) = (entitlement.inqueue.get(ix), entitlement.elastic.get(ix));
            demand::demand(wanted.get(ix), held(queue, ix), inqueue, elastic)
        };
        let limit = |ix| amount(&entitlement.ceiling, ix);
        if is_within(wanted, demand, limit) {
            return (Vote::Permit, None);
        }
        let overrun = |ix| {
            let (bound, limit) = entitlement.ceiling_of(state, queue, ix);
            let reserved = entitlement.inqueue.get(ix);
            Overrun {
                resource: ix,
                above: None,
                bound,
                limit,
                total: state.nodes().cluster_total.get(ix),
                used: held(queue, ix),
                reserved: reserved.saturating_sub(entitlement.elastic.get(ix)).max(0),
                asked: wanted.get(ix),
            }
        };
        let overruns = demand::overruns(state, wanted, demand, limit, overrun);
        (Vote::Reject, Some(Refusal::Quota(overruns)))
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

impl Reclaimer for Proportion {
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
        let Some(entitlement) = self.of(queue) else {
            return Ok(Overruns::new());
        };
        let deserved = |ix| Some(amount(&entitlement.deserved, ix));
        let request = &asked_by(state, tasks);
        let held = |ix| held(record, ix);
        let found = deserving::deserves(state, request, held, deserved, |_| false)?;
        // It gives out nothing beyond what a queue deserves, be it idle.
        match found.over.is_empty() {
            true => Ok(found.over),
            false => Err(Refusal::Quota(found.over)),
        }
    }
}

/// What tasks ask together, as their queue is charged.
fn asked_by<'a>(state: &'a State, tasks: &[TaskIx]) -> Cow<'a, ResVec> {
    deserving::sum_of(tasks.iter().map(|task| state.charges().charged(*task)))
}

impl Victims for Proportion {
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
        let wanted = deserving::asked(&asked_by(state, gang));
        let mut left: FxHashMap<QueueIx, ResVec> = FxHashMap::default();
        let mut allowed = Vec::new();
        for task in candidates {
            let job = state.task(*task).job;
            let Some(queue) = job.and_then(|job| state.job(job).queue) else {
                continue;
            };
            let Some(entitlement) = self.of(queue) else {
                continue;
            };
            let left = left
                .entry(queue)
                .or_insert_with(|| state.queue(queue).held());
            let request = state.charges().charged(*task);
            let deserved = |ix| amount(&entitlement.deserved, ix);
            let resources = deserving::common(&request, &wanted);
            if deserving::exceeds(resources, |ix| left.get(ix), deserved) {
                left.sub(&request);
                allowed.push(*task);
            }
        }
        VictimAnswer::ordering(Weight::Veto, allowed)
    }
}

impl QueueViews for Proportion {
    fn queue_view(&self, state: &State, queue: QueueIx) -> Option<QueueShare> {
        let entitlement = self.of(queue)?;
        let amounts = entitlement.deserved.iter().enumerate();
        let deserved = amounts
            .filter(|(_, amount)| **amount > 0.0)
            .map(|(at, amount)| (ResIx(at as u16), *amount))
            .collect();
        Some(QueueShare {
            deserved,
            share: self.share(state, queue),
            inqueue: entitlement.inqueue.clone(),
            overused: self.overused(state, queue),
        })
    }
}

fn dimensions(state: &State) -> impl Iterator<Item = ResIx> + use<> {
    (0..state.resources().len()).map(|at| ResIx(at as u16))
}

/// `free` is what no guarantee reserves.
fn claim(state: &State, ix: QueueIx, free: &ResVec) -> QueueClaim {
    let queue = state.queue(ix);
    let as_floats = |amount: &dyn Fn(ResIx) -> i64| -> Vec<f64> {
        dimensions(state).map(|ix| amount(ix) as f64).collect()
    };
    QueueClaim {
        weight: queue.object.weight as f64,
        request: as_floats(&|ix| {
            queue
                .allocated
                .get(ix)
                .saturating_add(queue.pending.get(ix))
        }),
        guarantee: as_floats(&|ix| queue.guarantee.get(ix)),
        ceiling: ceiling(state, queue, free),
        deserved: Vec::new(),
    }
}

/// What others' guarantees leave, and at most the capability.
fn ceiling(state: &State, queue: &Queue, free: &ResVec) -> Vec<f64> {
    let mut ceiling: Vec<f64> = dimensions(state)
        .map(|ix| (free.get(ix).saturating_add(queue.guarantee.get(ix))) as f64)
        .collect();
    for (ix, limit) in queue.limits(state.resources()) {
        let at = &mut ceiling[ix.0 as usize];
        *at = at.min(limit as f64);
    }
    ceiling
}

/// Whether a dimension does not count when it is asked whether anything is left.
fn is_pods(at: usize) -> bool {
    at == PODS.0 as usize
}

#[cfg(test)]
mod tests;
