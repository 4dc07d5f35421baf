//! For which pods room is asked for.

use pumice_api::Job;

use super::ProvisioningLook;
use crate::job::{minimum, task_name};
use crate::runtime::{PodWait, TrackedPhase};

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
    pub fn of(look: &ProvisioningLook<'_>) -> Self {
        let (job, uid) = (look.job, super::uid(look.job));
        let wanted = (look.name.as_str(), look.class);
        let mut is_undecided = false;
        let mut tallies = vec![TaskTally::default(); job.spec.tasks.len()];
        for pod in look.cache.pods_of_job(&look.of.namespace, &look.of.name) {
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
                    let is_for_it = consumes.is_some_and(|(of, by)| (&**of, &**by) == wanted);
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
        let need = job.spec.min_available - placed;
        let is_enough = match need > 0 {
            true => choose_to_start(job, &mut tallies, need),
            false => {
                for tally in &mut tallies {
                    tally.asked = tally.lacking;
                }
                // A request cannot be changed, so it waits until it knows them all.
                !is_undecided
            }
        };
        if !is_enough {
            return Self::default();
        }
        let sets = tallies.iter().enumerate();
        let sets = sets.filter(|(_, tally)| tally.asked > 0);
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

/// Chooses what a Job lacks to start: so many pods, with those that its tasks lack of their minimums. Whether there are as
/// many.
fn choose_to_start(job: &Job, tallies: &mut [TaskTally], mut need: i32) -> bool {
    let least: i32 = job.spec.tasks.iter().map(minimum).sum();
    let has_minimums = least <= job.spec.min_available;
    for (tally, task) in tallies.iter_mut().zip(&job.spec.tasks) {
        let short = minimum(task) - tally.placed;
        if has_minimums && short > tally.lacking {
            return false;
        }
        tally.asked = short.clamp(0, tally.lacking);
        need -= tally.asked;
    }
    for tally in tallies {
        let more = need.clamp(0, tally.lacking - tally.asked);
        tally.asked += more;
        need -= more;
    }
    need <= 0
}
