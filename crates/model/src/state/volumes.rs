//! Storage objects, and the needs of tasks that follow from them.

use super::State;
use super::placement::{NodeEntry, NodeExit};
use crate::delta::Delta;
use crate::ix::TaskIx;
use crate::task::TaskStatus;
use crate::volume::VolumePlan;

impl State {
    /// Further provisioners whose volumes do not count against limits, before anything is applied.
    pub fn ignore_provisioners(&mut self, names: impl IntoIterator<Item = String>) {
        self.volumes.ignore_provisioners(names);
    }

    /// Applies a change of a storage object, or of one of resource.k8s.io.
    pub(super) fn apply_storage(&mut self, delta: Delta) {
        let volumes = &mut self.volumes;
        let changed = match delta {
            Delta::PvApply(pv) => volumes.apply_pv(*pv),
            Delta::PvDelete(name) => volumes.delete_pv(&name),
            Delta::PvcApply(claim) => volumes.apply_claim(*claim),
            Delta::PvcDelete(namespace, name) => volumes.delete_claim(&namespace, &name),
            Delta::StorageClassApply(class) => volumes.apply_class(*class),
            Delta::StorageClassDelete(name) => volumes.delete_class(&name),
            Delta::CsiNodeApply(node) => volumes.apply_csi_node(*node),
            Delta::CsiNodeDelete(name) => volumes.delete_csi_node(&name),
            Delta::CsiDriverApply(driver) => volumes.apply_csi_driver(driver),
            Delta::CsiDriverDelete(name) => volumes.delete_csi_driver(&name),
            Delta::CsiCapacityApply(capacity) => volumes.apply_capacity(*capacity),
            Delta::CsiCapacityDelete(namespace, name) => volumes.delete_capacity(&namespace, &name),
            Delta::AttachmentApply(attachment) => volumes.apply_attachment(*attachment),
            Delta::AttachmentDelete(name) => volumes.delete_attachment(&name),
            other => return self.apply_claims(other),
        };
        self.journal.note(changed);
    }

    /// Brings needs, and what tasks have on their nodes, in step with storage objects.
    pub(super) fn seal_volumes(&mut self) {
        self.volumes.seal(&self.nodes);
        if !self.volumes.is_stale() {
            return;
        }
        for ix in self.volumes.take_stale() {
            let task = self.task(ix);
            if task.node.is_none() || task.status.load().is_none() {
                self.renew_needs(&[ix]);
                continue;
            }
            let retained = self.volumes.retain_claims(ix);
            self.leave_node(ix, NodeExit::Leaves);
            self.renew_needs(&[ix]);
            self.enter_node(ix, NodeEntry::default());
            let others = self.volumes.release_claims(ix, retained);
            self.renew_needs(&others);
        }
    }

    /// Resolves the needs of tasks again.
    pub(super) fn renew_needs(&mut self, tasks: &[TaskIx]) {
        for ix in tasks {
            let need = self.volumes.need_of(*ix);
            let task = &mut self.tasks[ix.at()];
            self.volumes.give_back(task.volumes);
            task.volumes = need;
        }
    }

    /// A task with volumes is about to enter its node, with the plan of the decision. A placement that
    /// only comes back, because storage objects have changed, is planned anew.
    pub(super) fn enter_volumes(&mut self, ix: TaskIx, plan: Option<VolumePlan>) {
        let task = &self.tasks[ix.at()];
        let Some(node) = task.node else { return };
        let decides = matches!(
            task.status,
            TaskStatus::Allocated | TaskStatus::Pipelined | TaskStatus::Binding
        );
        let need = task.volumes;
        let plan = decides.then(|| {
            let anew = || self.volumes.plan(ix, need, &self.nodes, node);
            plan.unwrap_or_else(anew)
        });
        let others = self.volumes.enter(ix, need, plan);
        self.renew_needs(&others);
    }

    /// A task with volumes is on a node, and its room may be being released.
    pub(super) fn note_release(&mut self, ix: TaskIx) {
        let releasing = self.task(ix).status == TaskStatus::Releasing;
        let others = self.volumes.set_releasing(ix, releasing);
        self.renew_needs(&others);
    }

    /// A task with volumes has left its node.
    pub(super) fn leave_volumes(&mut self, ix: TaskIx) {
        let others = self.volumes.leave(ix);
        self.renew_needs(&others);
    }
}
