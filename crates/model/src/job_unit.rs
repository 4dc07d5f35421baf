//! What is placed together, as the network sees it.

use crate::ix::{JobIx, NodeIx, TaskIx};
use crate::object::TopologyRequest;
use crate::state::Population;
use crate::task::Task;

/// What is placed together: a job, or one of its sub-jobs (spec/08 §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobUnit {
    /// Job that the unit is, or is a part of.
    pub job: JobIx,
    /// Index of the sub-job; `None`: the job as a whole.
    pub sub_job: Option<u16>,
}

impl JobUnit {
    /// Tasks that are placed together; none of a job or sub-job that is gone.
    pub fn tasks(self, population: &Population) -> &[TaskIx] {
        if !population.has_job(self.job) {
            return &[];
        }
        let job = population.job(self.job);
        match self.sub_job {
            None => &job.tasks,
            Some(at) => job.sub_jobs.get(at as usize).map_or(&[], |sub| &sub.tasks),
        }
    }

    /// What it asks of the network; a sub-job of no policy asks what its job does.
    pub fn request(self, population: &Population) -> Option<&TopologyRequest> {
        let job = population.job(self.job);
        let group = job.group()?;
        let policy = self.sub_job.map(|at| job.sub_jobs[at as usize].policy);
        match policy {
            Some(Some(policy)) => group.sub_groups[policy as usize].topology.as_ref(),
            Some(None) | None => group.topology.as_ref(),
        }
    }

    /// Whether a task is one of its own.
    pub fn holds(self, task: &Task) -> bool {
        let is_of_sub_job = self.sub_job.is_none_or(|at| at == task.sub_job);
        task.job == Some(self.job) && is_of_sub_job
    }

    /// The node of each placed pod, in order.
    pub fn placed_on(self, population: &Population) -> Vec<NodeIx> {
        let placed = self.tasks(population).iter().filter_map(|task| {
            let task = population.task(*task);
            task.node.filter(|_| task.status.is_placed())
        });
        let mut nodes: Vec<NodeIx> = placed.collect();
        nodes.sort_unstable();
        nodes
    }
}
