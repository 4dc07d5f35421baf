//! Objects of resource.k8s.io, and the needs of tasks that follow from them.

use super::State;
use crate::claim::{ClaimPlan, ResourceClaimIx};
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::object::PodObject;
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
            let claims = &mut self.resource_claims;
            claims.unregister(ix, task.resource_claims);
            task.resource_claims = claims.register(ix, pod);
        }
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
            _ => false,
        };
        self.generation += u64::from(changed);
    }

    /// Brings needs in step with objects, and asks selectors that were not asked.
    pub(super) fn seal_claims(&mut self) {
        self.resource_claims.seal(&self.nodes);
        if self.resource_claims.is_stale() {
            let stale = self.resource_claims.take_stale();
            self.renew_claim_needs(&stale);
        }
        self.resource_claims.ask_selectors();
    }

    /// Resolves the needs of tasks again.
    pub(super) fn renew_claim_needs(&mut self, tasks: &[TaskIx]) {
        for ix in tasks {
            let need = self.resource_claims.need_of(*ix);
            let task = &mut self.tasks[ix.at()];
            self.resource_claims.give_back(task.resource_claims);
            task.resource_claims = need;
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
            let anew = || self.resource_claims.plan(ix, need, &self.nodes, node);
            plan.unwrap_or_else(anew)
        });
        let others = self.resource_claims.enter(ix, plan);
        self.renew_claim_needs(&others);
    }

    /// A task with resource claims has left its node.
    pub(super) fn leave_claims(&mut self, ix: TaskIx) {
        let status = self.task(ix).status;
        let undecided = matches!(status, TaskStatus::Allocated | TaskStatus::Pipelined);
        let others = self.resource_claims.leave(ix, undecided);
        self.renew_claim_needs(&others);
    }
}
