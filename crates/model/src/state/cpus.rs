//! CPUs that tasks get for themselves on nodes with a Numatopology: chosen when a task is placed, booked with
//! every step it takes, chosen anew from the objects before a cycle (spec/02 §22.2).

use std::sync::Arc;

use super::State;
use crate::ix::{NodeIx, TaskIx};
use crate::numa::{CpuSet, ExpectedPod, NodeCpus};
use crate::object::{CpuRequest, NumatopologyObject};

impl State {
    /// Takes in what a node tells of its CPUs; the node may come later.
    pub(super) fn set_numatopology(&mut self, object: NumatopologyObject) {
        if self.numatopologies.get(&object.node) == Some(&object) {
            return;
        }
        self.journal.changed();
        let name = object.node.clone();
        self.numatopologies.insert(name.clone(), object);
        self.read_cpus(&name);
    }

    pub(super) fn forget_numatopology(&mut self, node: &str) {
        if self.numatopologies.remove(node).is_some() {
            self.journal.changed();
            self.read_cpus(node);
        }
    }

    /// The node or its Numatopology is new: its tasks get their CPUs anew.
    pub(super) fn read_cpus(&mut self, node: &str) {
        let object = self.numatopologies.get(node).cloned();
        let Some(ix) = self.nodes.find(node) else {
            return;
        };
        if object.is_none() && self.nodes.cpus(ix).is_none() {
            return;
        }
        self.nodes.set_cpus(ix, object.map(NodeCpus::new));
        for task in self.nodes.tasks(ix).to_vec() {
            self.enter_cpus(task, ix, None);
        }
        self.cpus_stale = true;
    }

    /// The CPUs a task would get on a node; none where it gets none for itself.
    pub(super) fn choose_cpus(&self, ix: TaskIx, node: NodeIx) -> Option<Box<CpuSet>> {
        let (cpus, request) = self.expects_cpus(ix, node)?;
        Some(Box::new(cpus.choose(request)))
    }

    fn expects_cpus(&self, ix: TaskIx, node: NodeIx) -> Option<(&NodeCpus, &CpuRequest)> {
        let task = self.task(ix);
        let request = task.cpus.as_deref().filter(|cpus| cpus.takes_cpus())?;
        let cpus = self.nodes.cpus(node).filter(|cpus| cpus.aligns())?;
        let namespace = self.names.text(task.namespace);
        let is_told = cpus.is_assigned(&task.uid, namespace, &task.name);
        (!is_told).then_some((cpus, request))
    }

    /// Books the CPUs of a task that enters a node: those it was placed with, or what is left.
    pub(super) fn enter_cpus(&mut self, ix: TaskIx, node: NodeIx, chosen: Option<Box<CpuSet>>) {
        let Some(cpus) = chosen.or_else(|| self.choose_cpus(ix, node)) else {
            return;
        };
        if let Some(node) = self.nodes.cpus_mut(node) {
            node.enter(ix, *cpus);
            self.cpus_stale = true;
        }
    }

    /// The exact inverse of [`State::enter_cpus`].
    pub(super) fn leave_cpus(&mut self, ix: TaskIx, node: NodeIx) {
        if let Some(node) = self.nodes.cpus_mut(node) {
            node.leave(ix);
            self.cpus_stale = true;
        }
    }

    /// Whether the pod had its CPUs when its node last told which are free; one that runs had, where either
    /// time is not known.
    fn ran_when_told(&self, ix: TaskIx, told: &NumatopologyObject) -> bool {
        let task = self.task(ix);
        let created_s = Some(task.created_s).filter(|created_s| *created_s != 0);
        let since_s = task.scheduled_s.or(created_s);
        let times = told.written_s.zip(since_s);
        task.has_started && times.is_none_or(|(written_s, since_s)| since_s < written_s)
    }

    /// Chooses anew for all whose CPUs are not told, the oldest first. Part of [`State::seal`]; due again where
    /// tasks have left nodes since. Cheap when none have.
    pub fn settle_cpus(&mut self) {
        if !std::mem::take(&mut self.cpus_stale) {
            return;
        }
        for node in self.nodes.indices() {
            let stale = self.nodes.cpus(node).filter(|cpus| cpus.is_stale);
            let Some(stale) = stale else { continue };
            let tasks = stale.expected.iter().map(|(task, _)| *task);
            let mut order: Vec<TaskIx> = tasks.collect();
            order.sort_by_key(|ix| self.task(*ix).age());
            let request = |ix: TaskIx| self.tasks[ix.at()].cpus.clone();
            let order: Vec<(TaskIx, Arc<CpuRequest>, bool)> = order
                .into_iter()
                .filter_map(|ix| Some((ix, request(ix)?, self.ran_when_told(ix, stale.object()))))
                .collect();
            let order = order.iter().map(|(task, request, runs)| ExpectedPod {
                task: *task,
                request,
                ran: *runs,
            });
            if self.nodes.settle_cpus(node, order.collect()) {
                self.journal.changed();
            }
        }
    }

    /// What a pod asks of CPUs, shared by all that ask for the same.
    pub(super) fn share_cpu_request(&mut self, request: &CpuRequest) -> Arc<CpuRequest> {
        if let Some(known) = self.cpu_requests.get(request) {
            return known.clone();
        }
        if self.cpu_requests.len() >= self.cpu_requests_limit {
            self.cpu_requests
                .retain(|known| Arc::strong_count(known) > 1);
            self.cpu_requests_limit = 2 * self.cpu_requests.len() + 64;
        }
        let shared = Arc::new(request.clone());
        self.cpu_requests.insert(shared.clone());
        shared
    }
}
