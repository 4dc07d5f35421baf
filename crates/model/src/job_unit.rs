//! What is placed together, as the network sees it.

use crate::gang_tree;
use crate::ix::{JobIx, NodeIx, TaskIx};
use crate::object::TopologyRequest;
use crate::state::Population;
use crate::task::Task;

/// What is placed together: a job, or a part of one (spec/08 §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobUnit {
    /// Job that the unit is, or is a part of.
    pub job: JobIx,
    /// What of the job.
    pub part: UnitPart,
}

/// What of a job is placed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnitPart {
    /// All of it.
    Whole,
    /// A sub-job, by index.
    SubJob(u16),
    /// All sub-jobs below a CompositePodGroup of the tree that the job stands for, by its index there.
    Composite(u16),
}

impl JobUnit {
    /// A job as a whole.
    pub fn whole(job: JobIx) -> Self {
        Self {
            job,
            part: UnitPart::Whole,
        }
    }

    /// A sub-job, by index.
    pub fn sub_job(job: JobIx, at: u16) -> Self {
        Self {
            job,
            part: UnitPart::SubJob(at),
        }
    }

    /// What is below a CompositePodGroup, by its index in the tree of its job.
    pub fn composite(job: JobIx, at: u16) -> Self {
        Self {
            job,
            part: UnitPart::Composite(at),
        }
    }

    /// Units around a task that may ask for a place, the job first, then CompositePodGroups that do, its sub-job last.
    pub fn around(population: &Population, job: JobIx, task: &Task) -> Vec<Self> {
        let mut units = vec![Self::whole(job)];
        let record = population.job(job);
        let Some(sub) = record.sub_jobs.get(usize::from(task.sub_job)) else {
            return units;
        };
        if let (Some(tree), Some(group)) = (gang_tree::of(record), sub.policy) {
            let asking = tree.asking_around(group).into_iter();
            units.extend(asking.map(|at| Self::composite(job, at)));
        }
        units.push(Self::sub_job(job, task.sub_job));
        units
    }

    /// Tasks that are placed together; none of a job or part that is gone.
    pub fn tasks(self, population: &Population) -> impl Iterator<Item = TaskIx> {
        self.lists(population).flatten().copied()
    }

    /// How many tasks are placed together.
    pub fn size(self, population: &Population) -> usize {
        self.lists(population).map(<[TaskIx]>::len).sum()
    }

    fn lists(self, population: &Population) -> impl Iterator<Item = &[TaskIx]> {
        let job = population
            .has_job(self.job)
            .then(|| population.job(self.job));
        let of_sub_job = |at: u16| job?.sub_jobs.get(usize::from(at)).map(|sub| &*sub.tasks);
        let (single, below) = match self.part {
            UnitPart::Whole => (job.map(|job| &*job.tasks), Vec::new()),
            UnitPart::SubJob(at) => (of_sub_job(at), Vec::new()),
            UnitPart::Composite(node) => {
                let tree = job.and_then(gang_tree::of);
                (
                    None,
                    tree.map_or_else(Vec::new, |tree| tree.groups_below(node)),
                )
            }
        };
        let divided = job.filter(|_| !below.is_empty());
        let subs = divided.into_iter().flat_map(|job| &job.sub_jobs);
        let is_below = move |group: u16| below.contains(&group);
        let subs = subs.filter(move |sub| sub.policy.is_some_and(&is_below));
        single.into_iter().chain(subs.map(|sub| &*sub.tasks))
    }

    /// Whether a sub-job, by index, is the part or in it; none is of a job as a whole.
    fn has_sub_job(self, population: &Population, at: u16) -> bool {
        match self.part {
            UnitPart::Whole => false,
            UnitPart::SubJob(own) => own == at,
            UnitPart::Composite(node) => {
                let job = population.job(self.job);
                let group = job.sub_jobs.get(usize::from(at)).and_then(|sub| sub.policy);
                let tree = gang_tree::of(job).zip(group);
                tree.is_some_and(|(tree, group)| tree.groups_below(node).contains(&group))
            }
        }
    }

    /// What it asks of the network; a sub-job of no policy asks what its job does.
    pub fn request(self, population: &Population) -> Option<&TopologyRequest> {
        let job = population.job(self.job);
        let group = job.group()?;
        let policy = match self.part {
            UnitPart::Whole => None,
            UnitPart::SubJob(at) => job.sub_jobs[usize::from(at)].policy,
            UnitPart::Composite(at) => {
                let nodes = &group.native.tree.as_ref()?.nodes;
                return nodes.get(usize::from(at))?.topology.as_ref();
            }
        };
        match policy {
            Some(policy) => group.sub_groups[policy as usize].topology.as_ref(),
            None => group.topology.as_ref(),
        }
    }

    /// Whether a task is one of its own.
    pub fn holds(self, population: &Population, task: &Task) -> bool {
        task.job == Some(self.job)
            && (self.part == UnitPart::Whole || self.has_sub_job(population, task.sub_job))
    }

    /// The node of each placed pod, in order.
    pub fn placed_on(self, population: &Population) -> Vec<NodeIx> {
        let placed = self.tasks(population).filter_map(|task| {
            let task = population.task(task);
            task.node.filter(|_| task.status.is_placed())
        });
        let mut nodes: Vec<NodeIx> = placed.collect();
        nodes.sort_unstable();
        nodes
    }
}
