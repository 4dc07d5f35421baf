//! For which pods room is asked for.

use pumice_api::Job;
use pumice_api::job::TaskSpec;

use crate::job::{minimum, task_name};
use crate::runtime::{ObjectCache, PodWait, TrackedPhase};

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
    /// What a defaulted Job lacks of pods that wait for this request of this class. Nothing while some of the pods that it
    /// needs to start wait for something else.
    pub fn of(job: &Job, request: &str, class: &str, cache: &ObjectCache) -> Self {
        let meta = &job.metadata;
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (namespace, name, uid) = (text(&meta.namespace), text(&meta.name), text(&meta.uid));
        let mut is_undecided = false;
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
                (false, false) => {
                    let consumes = member.consumes.as_ref();
                    let is_for_it =
                        consumes.is_some_and(|(of, by)| (&**of, &**by) == (request, class));
                    let lacks = member.wait == PodWait::LacksNode && is_for_it;
                    tallies[at].lacking += i32::from(lacks);
                    is_undecided |= member.wait == PodWait::Undecided;
                }
            }
        }
        Self::chosen(job, tallies, is_undecided)
    }

    /// Pods to ask for, by what each task lacks.
    fn chosen(job: &Job, mut tallies: Vec<TaskTally>, is_undecided: bool) -> Self {
        let placed: i32 = tallies.iter().map(|tally| tally.placed).sum();
        let mut need = job.spec.min_available - placed;
        let least: i32 = job.spec.tasks.iter().map(minimum).sum();
        let is_short =
            |(tally, task): (&TaskTally, &TaskSpec)| minimum(task) - tally.placed > tally.lacking;
        if need <= 0 && is_undecided {
            // A request cannot be changed, so it waits until it knows them all.
            return Self::default();
        }
        if need > 0
            && least <= job.spec.min_available
            && tallies.iter().zip(&job.spec.tasks).any(is_short)
        {
            return Self::default();
        }
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
