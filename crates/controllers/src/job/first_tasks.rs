//! Tasks that wait for no other (`dependsOn`): with them a Job begins.

use pumice_api::Job;
use pumice_api::job::TaskSpec;

use super::pods::startable;
use super::{minimum, sum};

/// Positions of the tasks that wait for none.
pub(super) fn first(job: &Job) -> Vec<usize> {
    startable(job, std::iter::empty())
}

pub(super) fn sum_of(job: &Job, tasks: &[usize], count: impl Fn(&TaskSpec) -> i32) -> i64 {
    let tasks = tasks.iter().filter_map(|at| job.spec.tasks.get(*at));
    tasks.map(|task| i64::from(count(task))).sum()
}

/// `minAvailable` of a Job that has none: the minimums of the tasks that wait for no other, so that
/// they can start; with the others it would be a gang that never does.
pub(super) fn default_minimum(job: &Job) -> i64 {
    match sum_of(job, &first(job), minimum) {
        0 => sum(job, minimum),
        started_first => started_first,
    }
}
