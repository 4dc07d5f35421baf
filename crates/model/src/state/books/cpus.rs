//! CPUs that tasks get for themselves on nodes with a Numatopology: chosen when a task is placed, booked with
//! every step it takes, chosen anew from the objects before a cycle (spec/02 §22.2).

use std::sync::Arc;

use crate::intern::Interner;
use crate::ix::{NodeIx, TaskIx};
use crate::node::Nodes;
use crate::numa::{CpuSet, ExpectedPod, NodeCpus};
use crate::object::{CpuRequest, NumatopologyObject};
use crate::state::ChangeJournal;
use crate::state::population::Population;
use crate::state::supplies::ToldCpus;
use crate::task::Task;

/// The CPUs a task would get on a node; none where it gets none for itself.
#[inline]
pub(in crate::state) fn choose_cpus(
    names: &Interner,
    nodes: &Nodes,
    task: &Task,
    node: NodeIx,
) -> Option<Box<CpuSet>> {
    let request = task.cpus.as_deref().filter(|cpus| cpus.takes_cpus())?;
    let cpus = nodes.cpus(node).filter(|cpus| cpus.aligns())?;
    let namespace = names.text(task.namespace);
    let is_told = cpus.is_assigned(&task.uid, namespace, &task.name);
    (!is_told).then(|| Box::new(cpus.choose(request)))
}

/// Keeps CPUs of nodes in step with the tasks that are to have them.
pub(in crate::state) struct CpuBooks<'a> {
    pub population: &'a Population,
    pub nodes: &'a mut Nodes,
    pub cpus: &'a mut ToldCpus,
    pub journal: &'a mut ChangeJournal,
}

impl CpuBooks<'_> {
    /// Takes in what a node tells of its CPUs; the node may come later.
    pub fn set_numatopology(&mut self, object: NumatopologyObject) {
        if self.cpus.told.get(&object.node) == Some(&object) {
            return;
        }
        self.journal.changed();
        let name = object.node.clone();
        self.cpus.told.insert(name.clone(), object);
        self.read_cpus(&name);
    }

    /// A node tells nothing of its CPUs any more.
    pub fn forget_numatopology(&mut self, node: &str) {
        if self.cpus.told.remove(node).is_some() {
            self.journal.changed();
            self.read_cpus(node);
        }
    }

    /// The node or its Numatopology is new: its tasks get their CPUs anew.
    pub fn read_cpus(&mut self, node: &str) {
        let object = self.cpus.told.get(node).cloned();
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
        self.cpus.is_stale = true;
    }

    /// Books the CPUs of a task that enters a node: those it was placed with, or what is left.
    pub fn enter_cpus(&mut self, ix: TaskIx, node: NodeIx, chosen: Option<Box<CpuSet>>) {
        let choose = || {
            let (names, task) = (self.population.names(), self.population.task(ix));
            choose_cpus(names, self.nodes, task, node)
        };
        let Some(cpus) = chosen.or_else(choose) else {
            return;
        };
        if let Some(node) = self.nodes.cpus_mut(node) {
            node.enter(ix, *cpus);
            self.cpus.is_stale = true;
        }
    }

    /// The exact inverse of [`CpuBooks::enter_cpus`].
    pub fn leave_cpus(&mut self, ix: TaskIx, node: NodeIx) {
        if let Some(node) = self.nodes.cpus_mut(node) {
            node.leave(ix);
            self.cpus.is_stale = true;
        }
    }

    /// Whether the pod had its CPUs when its node last told which are free; one that runs had, where either
    /// time is not known.
    fn ran_when_told(&self, ix: TaskIx, told: &NumatopologyObject) -> bool {
        let task = self.population.task(ix);
        let created_s = Some(task.created_s).filter(|created_s| *created_s != 0);
        let since_s = task.scheduled_s.or(created_s);
        let times = told.written_s.zip(since_s);
        task.has_started && times.is_none_or(|(written_s, since_s)| since_s < written_s)
    }

    /// Chooses anew for all whose CPUs are not told, the oldest first. Cheap when no tasks have left nodes
    /// since the last time.
    pub fn settle(&mut self) {
        if !std::mem::take(&mut self.cpus.is_stale) {
            return;
        }
        for node in self.nodes.indices() {
            let stale = self.nodes.cpus(node).filter(|cpus| cpus.is_stale);
            let Some(stale) = stale else { continue };
            let tasks = stale.expected.iter().map(|(task, _)| *task);
            let mut order: Vec<TaskIx> = tasks.collect();
            order.sort_by_key(|ix| self.population.task(*ix).age());
            let request = |ix: TaskIx| self.population.task(ix).cpus.clone();
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
}
