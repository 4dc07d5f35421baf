//! Volumes and resource claims of tasks: objects come and go, and the needs of tasks follow.

use crate::claim::{
    ClaimCounts, ClaimExit, ClaimPlan, ClaimPresence, ClaimReturn, ResourceClaimIx, ResourceClaims,
};
use crate::ix::TaskIx;
use crate::node::{LoadMoment, Nodes};
use crate::object::{GroupObject, PodObject, WrittenClaim};
use crate::resource::ResourceNames;
use crate::state::ChangeJournal;
use crate::state::population::{JobBooks, Population};
use crate::task::{Task, TaskStatus};
use crate::volume::{ClaimIx, VolumePlan, Volumes};

/// What a pod keeps of volumes and devices while it leaves its node and comes back.
pub(in crate::state) struct RetainedSupplies {
    volumes: Vec<ClaimIx>,
    devices: Vec<ResourceClaimIx>,
}

/// Keeps volumes and resource claims in step with the tasks that have them.
pub(in crate::state) struct SupplyBooks<'a> {
    pub population: &'a mut Population,
    pub volumes: &'a mut Volumes,
    pub claims: &'a mut ResourceClaims,
    pub counts: &'a mut ClaimCounts,
    pub nodes: &'a Nodes,
    pub resources: &'a mut ResourceNames,
    pub journal: &'a mut ChangeJournal,
}

impl SupplyBooks<'_> {
    fn jobs(&mut self) -> JobBooks<'_> {
        JobBooks {
            population: self.population,
            claims: self.claims,
            counts: self.counts,
            journal: self.journal,
        }
    }

    /// Takes in the volumes and resource claims of a pod that is new.
    pub fn register(&mut self, ix: TaskIx, pod: &PodObject) {
        let task = self.population.task_mut(ix);
        task.volumes = self.volumes.register(ix, pod);
        task.resource_claims = self.claims.register(ix, pod, self.resources);
    }

    /// Lets a pod keep what was assumed for it while it leaves its node and comes back.
    pub fn retain_supplies(&mut self, ix: TaskIx) -> RetainedSupplies {
        RetainedSupplies {
            volumes: self.volumes.retain_claims(ix),
            devices: self.claims.retain(ix),
        }
    }

    /// The end of [`SupplyBooks::retain_supplies`].
    pub fn release_supplies(&mut self, ix: TaskIx, retained: RetainedSupplies) {
        let others = self.volumes.release_claims(ix, retained.volumes);
        self.renew_needs(&others);
        let others = self.claims.release(ix, retained.devices);
        self.renew_claim_needs(&others);
    }

    /// Takes in the volumes and resource claims of a pod that is on no node now, if they are others.
    pub fn learn_supplies(&mut self, ix: TaskIx, pod: &PodObject, task: &mut Task) {
        let known = self.population.task(ix);
        (task.volumes, task.resource_claims) = (known.volumes, known.resource_claims);
        if !self.volumes.knows(ix, pod) {
            self.volumes.unregister(ix, task.volumes);
            task.volumes = self.volumes.register(ix, pod);
        }
        if !self.claims.knows(ix, pod) {
            let need = task.resource_claims;
            self.claims.unregister(ix, need);
            task.resource_claims = self.claims.register(ix, pod, self.resources);
        }
    }

    /// Brings needs in step with objects, and asks selectors that were not asked.
    pub fn seal_claims(&mut self) {
        self.claims.devices().seal(self.nodes);
        self.renew_stale_needs();
        self.claims.devices().ask_selectors();
        self.renew_stale_needs();
    }

    /// Counts what groups hold of claims for their queues, if that may be something else.
    pub fn settle_held(&mut self) {
        let is_stale = self.counts.take_held_stale();
        if let Some(all) = self.claims.take_held(is_stale, self.resources) {
            self.jobs().count_held(&all);
        }
    }

    fn renew_stale_needs(&mut self) {
        if self.claims.is_stale() {
            let stale = self.claims.take_stale();
            self.renew_claim_needs(&stale);
        }
    }

    /// Resolves the needs of tasks again. What they count for their queues follows, that of all who share a
    /// claim together.
    pub fn renew_claim_needs(&mut self, tasks: &[TaskIx]) {
        let mut moved = Vec::new();
        for ix in tasks {
            let claims = &mut *self.claims;
            let need = claims.need_of(*ix, self.resources);
            if self
                .counts
                .is_counted_otherwise(*ix, claims.needs().get(need))
            {
                moved.push(*ix);
            }
            let task = self.population.task_mut(*ix);
            claims.needs_mut().give_back(task.resource_claims);
            task.resource_claims = need;
        }
        if !moved.is_empty() {
            moved = self.counts.counted_with(&moved, self.claims);
        }
        let mut jobs = self.jobs();
        moved.iter().for_each(|ix| jobs.uncount_claims(*ix));
        for ix in moved {
            jobs.count_claims(ix);
            jobs.population.touch_job_of(ix, jobs.journal);
        }
    }

    /// A task with resource claims is about to enter its node, with the plan of the decision.
    pub fn enter_claims(&mut self, ix: TaskIx, plan: Option<ClaimPlan>) {
        let task = self.population.task(ix);
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
            let anew = || self.claims.plan(ix, need, self.nodes, node, moment);
            plan.unwrap_or_else(anew)
        });
        let others = self.claims.enter(ix, node, plan);
        self.renew_claim_needs(&others);
    }

    /// A task with resource claims has left its node, and is nowhere if its place was taken back. Of a place
    /// that was not decided nobody was told.
    pub fn leave_claims(&mut self, ix: TaskIx, is_taken_back: bool) {
        let status = self.population.task(ix).status;
        let exit = match status {
            TaskStatus::Allocated | TaskStatus::Pipelined => ClaimExit::Unwritten,
            _ if is_taken_back => ClaimExit::Unwritten,
            _ => ClaimExit::Open,
        };
        let others = self.claims.leave(ix, exit);
        self.renew_claim_needs(&others);
    }

    /// A PodGroup is there, with what it says of claims, or there is none with this namespace and name.
    pub fn learn_group_claims(&mut self, key: (&str, &str), group: Option<&GroupObject>) {
        let members = self.claims.learn_group(key, group);
        self.renew_claim_needs(&members);
    }

    /// A pod, which may be gone, was bound, and these claims were written before.
    pub fn note_written_claims(&mut self, uid: &str, written: &[WrittenClaim]) {
        let task = self.population.task_by_uid(uid);
        let settled = self.claims.are_written(uid, task, written);
        self.follow_claims(settled);
    }

    /// These claims are written, whatever became of the Binding.
    pub fn note_left_claims(&mut self, written: &[WrittenClaim]) {
        let settled = self.claims.are_left(written);
        self.follow_claims(settled);
    }

    /// The Binding of a pod, which may be gone, has failed: devices that were kept for what it may write are
    /// free.
    pub fn note_unwritten_claims(&mut self, uid: &str) {
        let settled = self.claims.are_not_written(uid);
        self.follow_claims(settled);
    }

    fn follow_claims(&mut self, (others, frees): (Vec<TaskIx>, bool)) {
        self.journal.note(frees);
        self.renew_claim_needs(&others);
    }

    /// The devices of a claim were not given back.
    pub fn keep_devices(&mut self, claim: ClaimReturn) {
        let is_news = self.claims.keep_devices(claim);
        self.journal.note(is_news);
    }

    /// Tells its claims whether a task uses them.
    pub fn tell_presence(&mut self, ix: TaskIx) {
        let task = self.population.task(ix);
        if !task.has_resource_claims() {
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
        self.claims.set_presence(ix, presence, node);
    }

    /// Resolves the needs of tasks again.
    pub fn renew_needs(&mut self, tasks: &[TaskIx]) {
        for ix in tasks {
            let need = self.volumes.need_of(*ix);
            let task = self.population.task_mut(*ix);
            self.volumes.needs_mut().give_back(task.volumes);
            task.volumes = need;
        }
    }

    /// A task with volumes is about to enter its node, with the plan of the decision. A placement that
    /// only comes back, because storage objects have changed, is planned anew.
    pub fn enter_volumes(&mut self, ix: TaskIx, plan: Option<VolumePlan>) {
        let task = self.population.task(ix);
        let Some(node) = task.node else { return };
        let decides = matches!(
            task.status,
            TaskStatus::Allocated | TaskStatus::Pipelined | TaskStatus::Binding
        );
        let need = task.volumes;
        let plan = decides.then(|| {
            let anew = || self.volumes.plan(ix, need, self.nodes, node);
            plan.unwrap_or_else(anew)
        });
        let others = self.volumes.enter(ix, need, plan);
        self.renew_needs(&others);
    }

    /// A task with volumes is on a node, and its room may be being released.
    pub fn note_release(&mut self, ix: TaskIx) {
        let releasing = self.population.task(ix).status == TaskStatus::Releasing;
        let others = self.volumes.set_releasing(ix, releasing);
        self.renew_needs(&others);
    }

    /// A task with volumes has left its node.
    pub fn leave_volumes(&mut self, ix: TaskIx) {
        let others = self.volumes.leave(ix);
        self.renew_needs(&others);
    }
}
