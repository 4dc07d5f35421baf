//! For which pods room is asked for.

use pumice_api::Job;

use crate::job::{minimum, task_name};
use crate::runtime::{ObjectCache, TrackedPhase};

/// Pods of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedSet {
    /// Position of the task in the Job.
    pub task: usize,
    /// Number of pods.
    pub count: i32,
}

/// Pods of a Job that lack nodes: of one that has not started those that it lacks to start, so that it starts where there is
/// no room for all; then the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodsToAskFor {
    sets: Vec<AskedSet>,
}

/// One task.
#[derive(Clone, Copy, Default)]
struct TaskTally {
    /// Pods that have a node, or have done their work.
    placed: i32,
    /// Pods that lack one.
    lacking: i32,
    asked: i32,
}

impl PodsToAskFor {
    /// What a defaulted Job lacks. Nothing while some of the pods that it needs to start wait for something else.
    pub fn of(job: &Job, cache: &ObjectCache) -> Self {
        let meta = &job.metadata;
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (namespace, name, uid) = (text(&meta.namespace), text(&meta.name), text(&meta.uid));
        let mut tallies = vec![TaskTally::default(); job.spec.tasks.len()];
        for pod in cache.pods_of_job(&namespace, &name) {
            let Some(member) = pod.member.as_ref().filter(|one| *one.job_uid == *uid) else {
                continue;
            };
            let mut tasks = job.spec.tasks.iter();
            let Some(at) = tasks.position(|task| *task_name(task) == *member.task) else {
                continue;
            };
            let is_over = pod.deleted.is_some() || pod.phase == TrackedPhase::Failed;
            let is_placed = pod.is_bound || pod.phase == TrackedPhase::Succeeded;
            match (is_over, is_placed) {
                (true, _) => {}
                (false, true) => tallies[at].placed += 1,
                (false, false) => tallies[at].lacking += i32::from(member.lacks_node),
            }
        }
        let placed: i32 = tallies.iter().map(|tally| tally.placed).sum();
        let mut need = job.spec.min_available - placed;
        if need <= 0 {
            tallies
                .iter_mut()
                .for_each(|tally| tally.asked = tally.lacking);
        } else {
            for (tally, task) in tallies.iter_mut().zip(&job.spec.tasks) {
                tally.asked = (minimum(task) - tally.placed).clamp(0, tally.lacking);
                need -= tally.asked;
            }
            for tally in &mut tallies {
                let more = need.clamp(0, tally.lacking - tally.asked);
                tally.asked += more;
                need -= more;
            }
            if need > 0 {
                return Self::default();
            }
        }
        let sets = tallies
            .iter()
            .enumerate()
            .filter(|(_, tally)| tally.asked > 0);
        let set = |(task, tally): (usize, &TaskTally)| AskedSet {
            task,
            count: tally.asked,
        };
        Self {
            sets: sets.map(set).collect(),
        }
    }

    /// Nothing is lacking.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Pods of each task that has some.
    pub fn sets(&self) -> &[AskedSet] {
        &self.sets
    }

    /// What is told when room is asked for.
    pub fn words(&self, request: &str, class: &str) -> String {
        let pods: i32 = self.sets.iter().map(|set| set.count).sum();
        format!(
            "asks for room for {pods} pods at once, by ProvisioningRequest {request} of class {class}"
        )
    }
}
