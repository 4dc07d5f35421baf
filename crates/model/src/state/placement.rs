//! Tasks on nodes: what a decision takes there, and the books of every step.
//!
//! ```text
//!  choose_placement ─► Placement ─► place ─► Allocated, Pipelined ─► move_task: Binding, or back: Pending
//!                                            Running … ─► evict ─► Releasing ─► restore
//! ```
//!
//! What is chosen is chosen in [`State::choose_placement`], which changes nothing; the rest only books,
//! and every step has its exact inverse.

use super::books::CardBooks;
use super::books::CpuBooks;
use super::books::SupplyBooks;
use super::books::choose_cpus;
use super::population::Accounts;
use super::population::JobBooks;
use super::{Population, State, Supplies};
use crate::claim::ClaimPlan;
use crate::device::ChosenDevices;
use crate::ix::{NeedIx, NodeIx, ResourceNeedIx, TaskIx};
use crate::node::{LoadMoment, Nodes};
use crate::numa::CpuSet;
use crate::task::TaskStatus;
use crate::volume::VolumePlan;

use pumice_devices::LedgerTime;

/// What a task takes on a node besides room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Cards, if it asks for some and they are there.
    pub devices: Option<Box<ChosenDevices>>,
    /// None for most: it asks for nothing of that.
    pub supplies: Option<Box<SupplyPlan>>,
}

/// What few tasks take.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SupplyPlan {
    /// Volumes for its open claims.
    pub volumes: VolumePlan,
    /// CPUs for itself, where nodes tell of theirs.
    pub cpus: Option<Box<CpuSet>>,
    /// Devices for its open resource claims.
    pub claims: ClaimPlan,
}

/// How a task leaves a node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeExit {
    /// It stays there with its volumes, resource claims and CPUs, and counts as something else.
    Keeps,
    /// The place is taken back: the task is Pending.
    TakenBack,
    /// It is gone, or replaced by what is told of it.
    Leaves,
}

/// How a task enters a node.
#[derive(Default)]
pub(super) struct NodeEntry {
    /// What was decided about its volumes, resource claims and CPUs.
    pub supplies: Option<Box<SupplyPlan>>,
    /// It was there before, with the same devices, volumes and CPUs.
    pub keeps: bool,
}

impl SupplyPlan {
    /// Chooses for a task on a node, if it needs something.
    fn choose(
        population: &Population,
        nodes: &Nodes,
        supplies: &Supplies,
        (ix, node, later): (TaskIx, NodeIx, bool),
    ) -> Option<Box<Self>> {
        let task = population.task(ix);
        let (volumes, claims) = (task.volumes, task.resource_claims);
        let cpus = choose_cpus(population.names(), nodes, task, node);
        if volumes == NeedIx::NONE && claims == ResourceNeedIx::NONE && cpus.is_none() {
            return None;
        }
        Some(Box::new(Self {
            volumes: match volumes {
                NeedIx::NONE => VolumePlan::default(),
                need => supplies.volumes().plan(ix, need, nodes, node),
            },
            claims: match claims {
                ResourceNeedIx::NONE => ClaimPlan::default(),
                need => {
                    let moment = if later {
                        LoadMoment::Released
                    } else {
                        LoadMoment::Now
                    };
                    let claims = supplies.resource_claims();
                    claims.plan(ix, need, nodes, node, moment)
                }
            },
            cpus,
        }))
    }
}

impl State {
    /// Chooses devices and volumes for a task on a node: of what is there now, or, with `later`, once
    /// resources are released.
    pub fn choose_placement(&self, ix: TaskIx, node: NodeIx, later: bool) -> Placement {
        let view = match later {
            true => LedgerTime::Future,
            false => LedgerTime::Now,
        };
        let devices = match self.population.task(ix).involves_devices() {
            true => {
                let request = &self.shape(ix).request;
                self.held_cards().choose(ix, request, (node, view))
            }
            false => None,
        };
        let (population, nodes) = (&self.population, self.ground.nodes());
        Placement {
            devices,
            supplies: SupplyPlan::choose(population, nodes, &self.supplies, (ix, node, later)),
        }
    }

    /// Places a pending task on a node, Allocated or Pipelined, with what was chosen for it there.
    /// The inverse is [`State::move_task`] to Pending.
    pub fn place(&mut self, ix: TaskIx, status: TaskStatus, node: NodeIx, placement: Placement) {
        let chosen = placement.devices;
        let holding = chosen.map(|chosen| CardBooks::of(self).holding(ix, *chosen));
        self.population.task_mut(ix).holding = holding;
        let entry = NodeEntry {
            supplies: placement.supplies,
            keeps: false,
        };
        self.shift_task(ix, status, Some(node), entry);
    }

    /// Evicts a task: it is Releasing on its node, with the devices and volumes it has. The inverse is
    /// [`State::restore`] with the status it had.
    pub fn evict(&mut self, ix: TaskIx) {
        self.restore(ix, TaskStatus::Releasing);
    }

    /// Gives a task that was evicted its status back. In a plan for the future one that has ended is Succeeded: what it had
    /// on its node is free, and is its own again with the status it had.
    pub fn restore(&mut self, ix: TaskIx, status: TaskStatus) {
        let node = self.population.task(ix).node;
        let entry = NodeEntry {
            keeps: true,
            ..NodeEntry::default()
        };
        self.shift_task(ix, status, node, entry);
    }

    /// Gives a task a new status and node. Calling it with the old status and node undoes it, but for
    /// a placement's devices and volumes, which only [`State::place`] brings.
    pub fn move_task(&mut self, ix: TaskIx, status: TaskStatus, node: Option<NodeIx>) {
        self.shift_task(ix, status, node, NodeEntry::default());
    }

    /// Brings the node, the job, the queue and who stands where in step with a new status and
    /// node.
    fn shift_task(
        &mut self,
        ix: TaskIx,
        status: TaskStatus,
        node: Option<NodeIx>,
        entry: NodeEntry,
    ) {
        let task = self.population.task(ix);
        let (old_status, old_node, job) = (task.status, task.node, task.job);
        let has_claims = task.has_resource_claims();
        if (old_status, old_node) == (status, node) {
            return;
        }
        self.journal.changed();
        let same_place = old_node == node
            && old_status.load() == status.load()
            && (old_status == TaskStatus::Releasing) == (status == TaskStatus::Releasing);
        if has_claims {
            JobBooks::of(self).uncount_claims(ix);
        }
        if !same_place {
            let exit = match status {
                _ if entry.keeps => NodeExit::Keeps,
                TaskStatus::Pending => NodeExit::TakenBack,
                _ => NodeExit::Leaves,
            };
            self.leave_node(ix, exit);
        }
        // With devices a task counts other amounts on a node than before it, and on another.
        let same_amounts = same_place || !self.population.task(ix).involves_devices();
        if !same_amounts {
            Accounts::of(self).account(ix, old_status, old_node, -1);
        }
        let task = self.population.task_mut(ix);
        task.status = status;
        task.node = node;
        if status == TaskStatus::Pending {
            (task.holding, task.records) = (None, None);
            task.joined_bound = false;
        }
        if has_claims {
            SupplyBooks::of(self).tell_presence(ix);
        }
        if !same_place {
            self.enter_node(ix, entry);
        }
        match same_amounts {
            true => Accounts::of(self).account_move(ix, old_status, old_node),
            false => Accounts::of(self).account(ix, status, node, 1),
        }
        if has_claims {
            JobBooks::of(self).count_claims(ix);
        }
        if let Some(job) = job {
            self.population.touch_job(job, &mut self.journal);
        }
    }

    pub(super) fn leave_node(&mut self, ix: TaskIx, exit: NodeExit) {
        let keeps = exit == NodeExit::Keeps;
        let task = self.population.task(ix);
        let (Some(node), Some(load)) = (task.node, task.status.load()) else {
            return;
        };
        self.ground.count(task, node, -1);
        let has_volumes = task.volumes != NeedIx::NONE;
        let volumes = has_volumes.then(|| self.supplies.volumes().burden(ix));
        let slot = task.node_slot;
        let (has_cpus, has_claims) = (task.cpus.is_some(), task.has_resource_claims());
        let has_cards = task.holding.is_some();
        if let Some(moved) = self.ground.take(task, node, load, volumes.as_deref()) {
            self.population.task_mut(moved).node_slot = slot;
        }
        if has_cards {
            CardBooks::of(self).leave_devices(ix, load, node);
        }
        if !keeps && has_cpus {
            CpuBooks::of(self).leave_cpus(ix, node);
        }
        if has_volumes && !keeps {
            SupplyBooks::of(self).leave_volumes(ix);
        }
        if has_claims && !keeps {
            SupplyBooks::of(self).leave_claims(ix, exit == NodeExit::TakenBack);
        }
    }

    pub(super) fn enter_node(&mut self, ix: TaskIx, entry: NodeEntry) {
        let task = self.population.task(ix);
        let (Some(node), Some(load)) = (task.node, task.status.load()) else {
            return;
        };
        self.ground.count(task, node, 1);
        let shape = task.shape;
        let has_volumes = task.volumes != NeedIx::NONE;
        let has_claims = task.has_resource_claims();
        let has_cpus = task.cpus.is_some();
        let has_devices = task.involves_devices();
        let (volumes, claims, cpus) = match entry.supplies {
            Some(plan) => (Some(plan.volumes), Some(plan.claims), plan.cpus),
            None => (None, None, None),
        };
        if has_volumes && !entry.keeps {
            SupplyBooks::of(self).enter_volumes(ix, volumes);
        }
        if has_volumes {
            SupplyBooks::of(self).note_release(ix);
        }
        if has_claims && !entry.keeps {
            SupplyBooks::of(self).enter_claims(ix, claims);
        }
        if has_devices {
            CardBooks::of(self).enter_devices(ix, load, node, entry.keeps);
        }
        if has_cpus && !entry.keeps {
            CpuBooks::of(self).enter_cpus(ix, node, cpus);
        }
        let volumes = has_volumes.then(|| self.supplies.volumes().burden(ix));
        let slot = self.ground.put(ix, shape, node, load, volumes.as_deref());
        self.population.task_mut(ix).node_slot = slot;
    }
}
