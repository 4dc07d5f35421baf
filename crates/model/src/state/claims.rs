//! Objects of resource.k8s.io, and the needs of tasks that follow from them.

use std::borrow::Cow;

use super::State;
use super::account::device_hold;
use crate::claim::{ClaimExit, ClaimPlan, ClaimPresence, ClaimReturn, ResourceClaimIx};
use crate::delta::Delta;
use crate::ix::{JobIx, QueueIx, ResourceNeedIx, TaskIx};
use crate::node::LoadMoment;
use crate::object::{PodObject, WrittenClaim};
use crate::resource::ResVec;
use crate::task::{Task, TaskStatus};
use crate::volume::ClaimIx;

/// What a pod keeps of volumes and devices while it leaves its node and comes back.
pub(super) struct RetainedSupplies {
    volumes: Vec<ClaimIx>,
    devices: Vec<ResourceClaimIx>,
}

impl State {
    /// Whether a pod is known with exactly these volumes and resource claims.
    pub(super) fn knows_supplies(&self, ix: TaskIx, pod: &PodObject) -> bool {
        self.volumes.knows(ix, pod) && self.resource_claims.knows(ix, pod)
    }

    /// Lets a pod keep what was assumed for it while it leaves its node and comes back.
    pub(super) fn retain_supplies(&mut self, ix: TaskIx) -> RetainedSupplies {
        RetainedSupplies {
            volumes: self.volumes.retain_claims(ix),
            devices: self.resource_claims.retain(ix),
        }
    }

    /// The end of [`State::retain_supplies`].
    pub(super) fn release_supplies(&mut self, ix: TaskIx, retained: RetainedSupplies) {
        let others = self.volumes.release_claims(ix, retained.volumes);
        self.renew_needs(&others);
        let others = self.resource_claims.release(ix, retained.devices);
        self.renew_claim_needs(&others);
    }

    /// Takes in the volumes and resource claims of a pod that is on no node now, if they are others.
    pub(super) fn learn_supplies(&mut self, ix: TaskIx, pod: &PodObject, task: &mut Task) {
        let known = self.task(ix);
        (task.volumes, task.resource_claims) = (known.volumes, known.resource_claims);
        if !self.volumes.knows(ix, pod) {
            self.volumes.unregister(ix, task.volumes);
            task.volumes = self.volumes.register(ix, pod);
        }
        if !self.resource_claims.knows(ix, pod) {
            let need = task.resource_claims;
            self.resource_claims.unregister(ix, need);
            task.resource_claims = self.register_claims(ix, pod);
        }
    }

    /// What stands against each device for the claims of a pod, if others of its job that hold a place for
    /// now have claims too: should these give their devices back, nobody could tell any more.
    pub fn why_claims_beside_gang(&self, task: TaskIx) -> Option<Box<str>> {
        let has_claims = |ix: TaskIx| self.tasks[ix.at()].resource_claims != ResourceNeedIx::NONE;
        if !has_claims(task) {
            return None;
        }
        let holds = |ix: &&TaskIx| {
            let status = self.tasks[ix.at()].status;
            let for_now = matches!(status, TaskStatus::Allocated | TaskStatus::Pipelined);
            for_now && has_claims(**ix)
        };
        let job = self.tasks[task.at()].job?;
        self.job(job).tasks.iter().find(holds)?;
        let why = self.resource_claims.why_not_served(task, &self.nodes)?;
        Some(why.into())
    }

    /// Takes in the resource claims of a pod that is on no node yet.
    pub(super) fn register_claims(&mut self, ix: TaskIx, pod: &PodObject) -> ResourceNeedIx {
        self.resource_claims.register(ix, pod, &mut self.resources)
    }

    /// Applies a change of an object of resource.k8s.io; others are none of its business.
    pub(super) fn apply_claims(&mut self, delta: Delta) {
        let claims = &mut self.resource_claims;
        let changed = match delta {
            Delta::ResourceClaimApply(claim) => claims.apply_claim(*claim),
            Delta::ResourceClaimDelete(namespace, name) => claims.delete_claim(&namespace, &name),
            Delta::SliceApply(slice) => claims.apply_slice(*slice),
            Delta::SliceDelete(name) => claims.delete_slice(&name),
            Delta::DeviceClassApply(class) => claims.apply_class(*class),
            Delta::DeviceClassDelete(name) => claims.delete_class(&name),
            Delta::TaintRuleApply(rule) => claims.apply_taint_rule(*rule),
            Delta::TaintRuleDelete(name) => claims.delete_taint_rule(&name),
            _ => false,
        };
        self.journal.note(changed);
    }

    /// Brings needs in step with objects, and asks selectors that were not asked.
    pub(super) fn seal_claims(&mut self) {
        self.resource_claims.seal(&self.nodes);
        self.renew_stale_needs();
        self.resource_claims.ask_selectors();
        self.renew_stale_needs();
    }

    fn renew_stale_needs(&mut self) {
        if self.resource_claims.is_stale() {
            let stale = self.resource_claims.take_stale();
            self.renew_claim_needs(&stale);
        }
    }

    /// Whether steps that selectors of devices take are limited each time the state is sealed: pods wait then
    /// until theirs are answered.
    pub fn limit_selectors(&mut self, is_limited: bool) {
        self.resource_claims.limit_selectors(is_limited);
    }

    /// Resolves the needs of tasks again. What they count for their queues follows, that of all who share a
    /// claim together.
    pub(super) fn renew_claim_needs(&mut self, tasks: &[TaskIx]) {
        let mut moved = Vec::new();
        for ix in tasks {
            let claims = &mut self.resource_claims;
            let need = claims.need_of(*ix, &mut self.resources);
            if claims.is_counted_otherwise(*ix, claims.need(need)) {
                moved.push(*ix);
            }
            let task = &mut self.tasks[ix.at()];
            claims.give_back(task.resource_claims);
            task.resource_claims = need;
        }
        if !moved.is_empty() {
            moved = self.resource_claims.counted_with(&moved);
        }
        moved.iter().for_each(|ix| self.uncount_claims(*ix));
        for ix in moved {
            self.count_claims(ix);
            self.touch_job_of(ix);
        }
    }

    /// A task with resource claims is about to enter its node, with the plan of the decision.
    pub(super) fn enter_claims(&mut self, ix: TaskIx, plan: Option<ClaimPlan>) {
        let task = &self.tasks[ix.at()];
        let Some(node) = task.node else { return };
        let decides = matches!(
            task.status,
            TaskStatus::Allocated | TaskStatus::Pipelined | TaskStatus::Binding
        );
        let need = task.resource_claims;
        let plan = decides.then(|| {
            let moment = match task.status {
                TaskStatus::Pipelined => LoadMoment::Released,
                _ => LoadMoment::Now,
            };
            let anew = || {
                self.resource_claims
                    .plan(ix, need, &self.nodes, node, moment)
            };
            plan.unwrap_or_else(anew)
        });
        let others = self.resource_claims.enter(ix, node, plan);
        self.renew_claim_needs(&others);
    }

    /// A task with resource claims has left its node, and is nowhere if its place was taken back. Of a place
    /// that was not decided nobody was told.
    pub(super) fn leave_claims(&mut self, ix: TaskIx, is_taken_back: bool) {
        let status = self.task(ix).status;
        let exit = match status {
            TaskStatus::Allocated | TaskStatus::Pipelined => ClaimExit::Unwritten,
            _ if is_taken_back => ClaimExit::Unwritten,
            _ => ClaimExit::Open,
        };
        let others = self.resource_claims.leave(ix, exit);
        self.renew_claim_needs(&others);
    }

    /// What counts for the queue of a task, with the devices of its resource claims: what the queue has, or
    /// would have, only because of this task (spec/09 §7).
    pub fn counted(&self, ix: TaskIx) -> Cow<'_, ResVec> {
        let mut amounts = self.charged(ix);
        let task = self.task(ix);
        if task.resource_claims != ResourceNeedIx::NONE {
            let queue = self.queue_of(task);
            self.resource_claims.add_charge(ix, queue, amounts.to_mut());
        }
        amounts
    }

    /// What of that its queue has anyway if evictions come to nothing that are decided: others share a
    /// claim with the task. `None` for a task without claims.
    pub fn counted_in_doubt(&self, ix: TaskIx) -> Option<ResVec> {
        let task = self.task(ix);
        let has_claims = task.resource_claims != ResourceNeedIx::NONE;
        let queue = self.queue_of(task).filter(|_| has_claims)?;
        Some(self.resource_claims.charge_in_doubt(ix, Some(queue)))
    }

    fn queue_of(&self, task: &Task) -> Option<QueueIx> {
        self.job(task.job?).queue
    }

    /// A pod, which may be gone, was bound, and these claims were written before.
    pub(super) fn note_written_claims(&mut self, uid: &str, written: &[WrittenClaim]) {
        let task = self.task_by_uid(uid);
        let settled = self.resource_claims.are_written(uid, task, written);
        self.follow_claims(settled);
    }

    /// The Binding of a pod, which may be gone, has failed: devices that were kept for what it may write are
    /// free.
    pub(super) fn note_unwritten_claims(&mut self, uid: &str) {
        let settled = self.resource_claims.are_not_written(uid);
        self.follow_claims(settled);
    }

    fn follow_claims(&mut self, (others, frees): (Vec<TaskIx>, bool)) {
        self.journal.note(frees);
        self.renew_claim_needs(&others);
    }

    /// Has pods that fit nowhere give back devices that keep them from nodes, one claim each.
    pub fn return_devices(&mut self, tasks: &[TaskIx]) -> Vec<ClaimReturn> {
        let claims = &mut self.resource_claims;
        let returns = tasks.iter();
        let returns = returns.filter_map(|ix| claims.return_devices(*ix, &self.nodes));
        returns.collect()
    }

    /// The devices of a claim were not given back.
    pub(super) fn keep_devices(&mut self, claim: ClaimReturn) {
        let is_news = self.resource_claims.keep_devices(claim);
        self.journal.note(is_news);
    }

    /// Tells its claims whether a task uses them.
    pub(super) fn tell_presence(&mut self, ix: TaskIx) {
        let task = self.task(ix);
        if task.resource_claims == ResourceNeedIx::NONE {
            return;
        }
        let presence = match task.status {
            TaskStatus::Pending | TaskStatus::Succeeded | TaskStatus::Failed => {
                ClaimPresence::Waits
            }
            TaskStatus::Releasing if task.node.is_some() => ClaimPresence::Goes,
            _ => ClaimPresence::There,
        };
        let node = task.node.map(|node| self.nodes.object(node).name.as_str());
        self.resource_claims.set_presence(ix, presence, node);
    }

    /// Counts the devices of a task for its queue, if it has a place and is not counted yet.
    pub(super) fn count_claims(&mut self, ix: TaskIx) {
        let task = self.task(ix);
        if task.resource_claims == ResourceNeedIx::NONE {
            return;
        }
        let (queue, hold) = (self.queue_of(task), device_hold(task));
        if let (Some(queue), Some(hold), None) = (queue, hold, self.resource_claims.counted_for(ix))
        {
            let sums = &mut self.queues[queue.at()].devices;
            self.resource_claims.count(ix, queue, hold, sums);
            self.touch_queue(queue);
        }
    }

    /// The inverse of [`State::count_claims`].
    pub(super) fn uncount_claims(&mut self, ix: TaskIx) {
        if let Some(queue) = self.resource_claims.counted_for(ix) {
            let sums = &mut self.queues[queue.at()].devices;
            self.resource_claims.uncount(ix, sums);
            self.touch_queue(queue);
        }
    }

    /// Queues are about to be others.
    pub(super) fn uncount_all_claims(&mut self) {
        for ix in self.resource_claims.counted() {
            self.uncount_claims(ix);
        }
    }

    /// Jobs have their queues.
    pub(super) fn count_all_claims(&mut self) {
        for ix in self.resource_claims.users() {
            self.count_claims(ix);
        }
    }

    /// Tasks of a job whose devices are counted.
    pub(super) fn counted_of_job(&self, job: JobIx) -> Vec<TaskIx> {
        let tasks = self.job(job).tasks.iter().copied();
        let counted = tasks.filter(|ix| self.task(*ix).resource_claims != ResourceNeedIx::NONE);
        counted.collect()
    }
}
