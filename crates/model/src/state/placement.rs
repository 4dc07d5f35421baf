//! Tasks on nodes: what a decision takes there, and the books of every step.
//!
//! ```text
//!  choose_placement ─► Placement ─► place ─► Allocated, Pipelined ─► move_task: Binding, or back: Pending
//!                                            Running … ─► evict ─► Releasing ─► restore
//! ```
//!
//! What is chosen is chosen in [`State::choose_placement`], which changes nothing; the rest only books,
//! and every step has its exact inverse.

use super::State;
use crate::claim::ClaimPlan;
use crate::device::Holding;
use crate::ix::{NeedIx, NodeIx, ResourceNeedIx, TaskIx};
use crate::node::{Burden, LoadMoment};
use crate::numa::CpuSet;
use crate::shape::Shape;
use crate::task::TaskStatus;
use crate::topology::Stay;
use crate::volume::{OnNode, VolumePlan};

/// What a task takes on a node besides room.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Cards, if it asks for some and they are there.
    pub devices: Option<Box<Holding>>,
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

impl State {
    /// Chooses devices and volumes for a task on a node: of what is there now, or, with `later`, once
    /// resources are released.
    pub fn choose_placement(&mut self, ix: TaskIx, node: NodeIx, later: bool) -> Placement {
        let devices = match self.task(ix).involves_devices() {
            true => self.choose_devices(ix, node, later),
            false => None,
        };
        Placement {
            devices,
            supplies: self.choose_supplies(ix, node, later),
        }
    }

    fn choose_supplies(&self, ix: TaskIx, node: NodeIx, later: bool) -> Option<Box<SupplyPlan>> {
        let task = self.task(ix);
        let (volumes, claims) = (task.volumes, task.resource_claims);
        let cpus = self.choose_cpus(ix, node);
        if volumes == NeedIx::NONE && claims == ResourceNeedIx::NONE && cpus.is_none() {
            return None;
        }
        Some(Box::new(SupplyPlan {
            volumes: match volumes {
                NeedIx::NONE => VolumePlan::default(),
                need => self.volumes.plan(ix, need, &self.nodes, node),
            },
            claims: match claims {
                ResourceNeedIx::NONE => ClaimPlan::default(),
                need => {
                    let moment = if later {
                        LoadMoment::Released
                    } else {
                        LoadMoment::Now
                    };
                    let claims = &self.resource_claims;
                    claims.plan(ix, need, &self.nodes, node, moment)
                }
            },
            cpus,
        }))
    }

    /// Places a pending task on a node, Allocated or Pipelined, with what was chosen for it there.
    /// The inverse is [`State::move_task`] to Pending.
    pub fn place(&mut self, ix: TaskIx, status: TaskStatus, node: NodeIx, placement: Placement) {
        self.tasks[ix.at()].holding = placement.devices;
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

    /// Gives a task that was evicted its status back.
    pub fn restore(&mut self, ix: TaskIx, status: TaskStatus) {
        let node = self.task(ix).node;
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

    /// Brings the node, the job, the queue and the topology counters in step with a new status and
    /// node.
    fn shift_task(
        &mut self,
        ix: TaskIx,
        status: TaskStatus,
        node: Option<NodeIx>,
        entry: NodeEntry,
    ) {
        let (old_status, old_node) = (self.task(ix).status, self.task(ix).node);
        if (old_status, old_node) == (status, node) {
            return;
        }
        self.journal.changed();
        let same_place = old_node == node
            && old_status.load() == status.load()
            && (old_status == TaskStatus::Releasing) == (status == TaskStatus::Releasing);
        let has_claims = self.task(ix).resource_claims != ResourceNeedIx::NONE;
        if has_claims {
            self.uncount_claims(ix);
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
        let same_amounts = same_place || !self.task(ix).involves_devices();
        if !same_amounts {
            self.account(ix, old_status, old_node, -1);
        }
        let task = &mut self.tasks[ix.at()];
        task.status = status;
        task.node = node;
        if status == TaskStatus::Pending {
            (task.holding, task.records) = (None, None);
            task.joined_bound = false;
        }
        self.tell_presence(ix);
        if !same_place {
            self.enter_node(ix, entry);
        }
        match same_amounts {
            true => self.account_move(ix, old_status, old_node),
            false => self.account(ix, status, node, 1),
        }
        if has_claims {
            self.count_claims(ix);
        }
        self.touch_job_of(ix);
    }

    pub(super) fn leave_node(&mut self, ix: TaskIx, exit: NodeExit) {
        let keeps = exit == NodeExit::Keeps;
        let task = &self.tasks[ix.at()];
        let (Some(node), Some(load)) = (task.node, task.status.load()) else {
            return;
        };
        let (slot, stay) = (task.node_slot, Stay::of(task));
        let shape = self.shapes.get(task.shape);
        self.topology
            .shift(&self.names, shape.rules, task.appearance, stay, node, -1);
        let has_volumes = task.volumes != NeedIx::NONE;
        let volumes = has_volumes.then(|| self.volumes.burden(ix));
        let burden = burden(shape, volumes.as_deref());
        if let Some(moved) = self.nodes.take(node, slot, load, &burden) {
            self.tasks[moved.at()].node_slot = slot;
        }
        self.leave_devices(ix, load, node);
        if !keeps && self.task(ix).cpus.is_some() {
            self.leave_cpus(ix, node);
        }
        if has_volumes && !keeps {
            self.leave_volumes(ix);
        }
        if self.task(ix).resource_claims != ResourceNeedIx::NONE && !keeps {
            self.leave_claims(ix, exit == NodeExit::TakenBack);
        }
    }

    pub(super) fn enter_node(&mut self, ix: TaskIx, entry: NodeEntry) {
        let task = &self.tasks[ix.at()];
        let (Some(node), Some(load)) = (task.node, task.status.load()) else {
            return;
        };
        let (stay, shape) = (Stay::of(task), task.shape);
        let rules = self.shapes.get(shape).rules;
        self.topology
            .shift(&self.names, rules, task.appearance, stay, node, 1);
        let has_volumes = task.volumes != NeedIx::NONE;
        let has_claims = task.resource_claims != ResourceNeedIx::NONE;
        let has_cpus = task.cpus.is_some();
        let (volumes, claims, cpus) = match entry.supplies {
            Some(plan) => (Some(plan.volumes), Some(plan.claims), plan.cpus),
            None => (None, None, None),
        };
        if has_volumes && !entry.keeps {
            self.enter_volumes(ix, volumes);
        }
        if has_volumes {
            self.note_release(ix);
        }
        if has_claims && !entry.keeps {
            self.enter_claims(ix, claims);
        }
        self.enter_devices(ix, load, node, entry.keeps);
        if has_cpus && !entry.keeps {
            self.enter_cpus(ix, node, cpus);
        }
        let volumes = has_volumes.then(|| self.volumes.burden(ix));
        let burden = burden(self.shapes.get(shape), volumes.as_deref());
        let slot = self.nodes.put(node, ix, load, &burden);
        self.tasks[ix.at()].node_slot = slot;
    }
}

fn burden<'a>(shape: &'a Shape, volumes: Option<&'a OnNode>) -> Burden<'a> {
    Burden {
        request: &shape.request,
        nonzero_cpu_milli: shape.nonzero_cpu_milli,
        nonzero_memory_bytes: shape.nonzero_memory_bytes,
        ports: &shape.ports,
        volumes,
    }
}
