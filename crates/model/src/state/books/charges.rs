//! What counts for the queue of a task.

use std::borrow::Cow;

use crate::ix::{QueueIx, TaskIx};
use crate::node::Nodes;
use crate::resource::{ResIx, ResVec};
use crate::shape::Shapes;
use crate::state::population::Population;
use crate::state::supplies::Supplies;
use crate::task::{Task, TaskStatus};

/// What tasks count for their queues, to be read.
#[derive(Clone, Copy)]
pub struct Charges<'a> {
    pub(in crate::state) population: &'a Population,
    pub(in crate::state) shapes: &'a Shapes,
    pub(in crate::state) nodes: &'a Nodes,
    pub(in crate::state) supplies: &'a Supplies,
}

impl<'a> Charges<'a> {
    /// Amounts that count for the queue of a task instead of those of its request.
    #[inline]
    fn device_charge(self, task: &'a Task) -> &'a [(ResIx, i64)] {
        match &task.holding {
            Some(holding) if task.node.is_some() => &holding.charge,
            _ => self.supplies.devices().charge(task.demand),
        }
    }

    /// What counts for the queue of a task.
    #[inline]
    pub fn charged(self, ix: TaskIx) -> Cow<'a, ResVec> {
        let task = self.population.task(ix);
        self.request_but(task, self.device_charge(task))
    }

    /// What counts for the queue of a task as long as it has no devices.
    pub fn charged_before(self, ix: TaskIx) -> Cow<'a, ResVec> {
        let task = self.population.task(ix);
        self.request_but(task, self.supplies.devices().charge(task.demand))
    }

    #[inline]
    fn request_but(self, task: &Task, instead: &[(ResIx, i64)]) -> Cow<'a, ResVec> {
        let mut amounts = Cow::Borrowed(&self.shapes.get(task.shape).request);
        for (resource, amount) in instead {
            amounts.to_mut().set(*resource, *amount);
        }
        amounts
    }

    /// What counts for the queue of a task, with the devices of its resource claims: what the queue has, or
    /// would have, only because of this task (spec/09 §7).
    pub fn counted(self, ix: TaskIx) -> Cow<'a, ResVec> {
        let mut amounts = self.charged(ix);
        let task = self.population.task(ix);
        if task.has_resource_claims()
            && let Some(need) = self.supplies.resource_claims().resolved(ix)
        {
            let (counts, queue) = (self.supplies.claim_counts(), self.queue_of(task));
            counts.add_charge(ix, need, queue, amounts.to_mut());
        }
        amounts
    }

    /// What counts for each of some tasks, resource claims included; what several of them claim counts for the first.
    pub fn counted_once(self, tasks: impl IntoIterator<Item = TaskIx>) -> Vec<ResVec> {
        let mut claims = Vec::new();
        let tasks = tasks.into_iter().map(|ix| {
            let mut amounts = self.charged(ix).into_owned();
            let has_claims = self.population.task(ix).has_resource_claims();
            let need = self.supplies.resource_claims().resolved(ix);
            if let Some(need) = need.filter(|_| has_claims) {
                need.charge.add_once(&mut claims, &mut amounts);
            }
            amounts
        });
        tasks.collect()
    }

    /// What of that its queue has anyway if evictions come to nothing that are decided: others share a
    /// claim with the task. `None` for a task without claims.
    pub fn counted_in_doubt(self, ix: TaskIx) -> Option<ResVec> {
        let task = self.population.task(ix);
        let has_claims = task.has_resource_claims();
        let queue = self.queue_of(task).filter(|_| has_claims)?;
        let need = self.supplies.resource_claims().resolved(ix)?;
        let counts = self.supplies.claim_counts();
        Some(counts.charge_in_doubt(ix, need, queue))
    }

    fn queue_of(self, task: &Task) -> Option<QueueIx> {
        self.population.job(task.job?).queue
    }

    /// What stands against each device for the claims of a pod, if others of its job that hold a place for
    /// now have claims too: should these give their devices back, nobody could tell any more.
    pub fn why_claims_beside_gang(self, task: TaskIx) -> Option<Box<str>> {
        if !self.population.task(task).has_resource_claims() {
            return None;
        }
        let holds = |ix: &&TaskIx| {
            let task = self.population.task(**ix);
            let for_now = matches!(task.status, TaskStatus::Allocated | TaskStatus::Pipelined);
            for_now && task.has_resource_claims()
        };
        let job = self.population.task(task).job?;
        self.population.job(job).tasks.iter().find(holds)?;
        let why = self
            .supplies
            .resource_claims()
            .why_not_served(task, self.nodes)?;
        Some(why.into())
    }
}
