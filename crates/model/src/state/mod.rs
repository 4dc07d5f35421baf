//! The one owner of everything the scheduler knows, in four parts.
//!
//! ```text
//!  population   tasks, jobs, queues, and what is remembered of them
//!  ground       nodes, shapes, domains of the network, who stands where
//!  supplies     volumes, resource claims, devices, CPUs, budgets and quotas, an extender's answers
//!  journal      what changed, and how often
//! ```
//!
//! The fields of a part are private to its folder. What has to agree in several parts is kept by books
//! (`books`), each of which borrows the parts it needs; the steps of tasks (`placement`), changes from outside (`apply`, `seal`)
//! and copies (`fork`) span them all.

mod applied;
mod apply;
mod before;
mod books;
mod counting;
mod dump;
mod fork;
mod ground;
mod journal;
mod outcomes;
mod placement;
mod pods;
mod population;
mod seal;
mod supplies;
mod sweep;
mod tree_parts;
mod trees;

use crate::intern::Interner;
use crate::ix::{JobIx, QueueIx, TaskIx};
use crate::job::Job;
use crate::node::Nodes;
use crate::object::GroupStatus;
use crate::queue::Queue;
use crate::resource::ResourceNames;
use crate::shape::Shape;
use crate::task::Task;

use population::JobBooks;

pub use applied::{Applied, GroupChange, PodChange};
pub use before::PodsBefore;
pub use books::{AnswerBooks, Charges, HeldCards};
pub use dump::{bound_pod, dump_in_parts, unplaced_pod};
pub use ground::Ground;
pub use journal::{ChangeJournal, ChangeReader};
pub use placement::{Placement, SupplyPlan};
pub use population::{Admissions, Evictions, Hold, Holds, Population, PriorityClasses, QueueTable};
pub use supplies::{Allowances, KnownBudget, Supplies};
pub use sweep::Footprint;
pub use tree_parts::{
    PartInPart, TreeMember, note_placed_within, parts_bound_in_part, parts_within,
};
pub use trees::settle_trees;

/// The cluster.
///
/// Reading is free for everybody. What is true of the cluster is changed by [`State::apply`] +
/// [`State::seal`] (what happened outside), by [`State::set_device_settings`] (how it is read), and by
/// [`State::place`], [`State::move_task`], [`State::evict`], [`State::restore`] and the status setters
/// (what a cycle decides), [`State::admissions`] among them. The other functions that take `&mut self` keep books: what was told of
/// (`take_…`), sums that are brought up to date. A search takes `&State`.
pub struct State {
    /// Tasks, jobs and queues.
    population: Population,
    /// Nodes, shapes, domains of the network, who stands where.
    ground: Ground,
    /// Volumes, claims, devices, CPUs, allowances, and the word of an extender.
    supplies: Supplies,
    journal: ChangeJournal,
}

impl State {
    /// An empty cluster. PodGroups and bare pods without a queue belong to `default_queue`.
    pub fn new(default_queue: &str) -> Self {
        let supplies = Supplies::new();
        Self {
            population: Population::new(default_queue),
            ground: Ground::new(supplies.devices().families().ignored_resources()),
            supplies,
            journal: ChangeJournal::default(),
        }
    }

    /// Who is there: tasks, jobs and queues.
    #[inline]
    pub fn population(&self) -> &Population {
        &self.population
    }

    /// Interned strings.
    pub fn names(&self) -> &Interner {
        self.population.names()
    }

    /// Where pods stand: nodes, shapes, domains of the network.
    #[inline]
    pub fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Interned resources.
    #[inline]
    pub fn resources(&self) -> &ResourceNames {
        self.ground.resources()
    }

    /// Nodes as columns, in the order of their names once sealed.
    #[inline]
    pub fn nodes(&self) -> &Nodes {
        self.ground.nodes()
    }

    /// Takes the keys of node labels that make domains while there are no HyperNodes, lowest tier first
    /// (spec/08 §2.3).
    pub fn set_network_labels(&mut self, labels: &[String]) {
        let is_news = self.ground.set_network_labels(labels);
        self.journal.note(is_news);
    }

    /// Volumes, claims, devices, CPUs, allowances, and the word of an extender.
    #[inline]
    pub fn supplies(&self) -> &Supplies {
        &self.supplies
    }

    /// How supplies are read, and notes on them.
    pub fn supplies_mut(&mut self) -> &mut Supplies {
        &mut self.supplies
    }

    /// What happened to the cluster: how often, to what, and since when somebody has not looked.
    #[inline]
    pub fn journal(&self) -> &ChangeJournal {
        &self.journal
    }

    /// The task with this index.
    #[inline]
    pub fn task(&self, ix: TaskIx) -> &Task {
        self.population.task(ix)
    }

    /// The shape of a task.
    #[inline]
    pub fn shape(&self, ix: TaskIx) -> &Shape {
        self.ground.shapes().get(self.task(ix).shape)
    }

    /// The job with this index.
    #[inline]
    pub fn job(&self, ix: JobIx) -> &Job {
        self.population.job(ix)
    }

    /// The queue with this index.
    #[inline]
    pub fn queue(&self, ix: QueueIx) -> &Queue {
        self.population.queues().get(ix)
    }

    /// What has changed since somebody last looked, to be taken.
    pub fn changes(&mut self) -> ChangeReader<'_> {
        ChangeReader {
            journal: &mut self.journal,
            population: &mut self.population,
        }
    }

    /// Which jobs this scheduler has admitted.
    pub fn admissions(&mut self) -> Admissions<'_> {
        Admissions {
            population: &mut self.population,
            journal: &mut self.journal,
            ground: &self.ground,
        }
    }

    /// Replaces the PodGroup status of a job, as written to the cluster.
    pub fn set_group_status(&mut self, ix: JobIx, status: GroupStatus) {
        JobBooks::of(self).set_group_status(ix, status);
    }

    /// Looks at nodes that have changed with the eyes of the mix of tasks ([`crate::device::KnownLook`]), for a task: what
    /// is found is kept, and says nothing that the nodes do not say.
    pub fn renew_looks(&self, task: TaskIx) {
        let demand = self.task(task).demand;
        self.supplies
            .devices()
            .renew_looks(self.ground.nodes(), demand);
    }
}
