//! Nominees keep the places they were promised (spec/07 §7): before any action, each is placed on its
//! node, now or once what is being released is gone.

use pumice_framework::Session;
use pumice_model::{JobIx, NodeIx, TaskIx};
use rustc_hash::FxHashMap;

use crate::attempt::place_within_limits;
use crate::kernel::Kernel;
use crate::worksheet::placeable;

/// Pods of a job that were promised places.
pub struct JobNominees {
    /// Job whose pods were promised places.
    pub job: JobIx,
    /// Nominees of the job, each with the node it was promised.
    pub pods: Vec<(TaskIx, NodeIx)>,
}

/// Places nominees, given job by job in the order in which they are to come. A job that is ready so is
/// bound. Returns those that do not fit their nodes any more, even once all is released.
pub fn place_nominees(
    session: &mut Session,
    kernel: &mut Kernel,
    nominees: &[JobNominees],
) -> Vec<TaskIx> {
    let mut ended = Vec::new();
    for nominees in nominees {
        place_job(session, kernel, nominees, &mut ended);
    }
    ended
}

fn place_job(
    session: &mut Session,
    kernel: &mut Kernel,
    nominees: &JobNominees,
    ended: &mut Vec<TaskIx>,
) {
    let job = nominees.job;
    let Some(queue) = session.state.job(job).queue else {
        return;
    };
    let nodes: FxHashMap<TaskIx, NodeIx> = nominees.pods.iter().copied().collect();
    let mut tasks: Vec<TaskIx> = placeable(session.state, job)
        .filter(|task| nodes.contains_key(task))
        .collect();
    session.plugins.sort_tasks(session.state, &mut tasks);
    let start = session.checkpoint();
    for task in tasks {
        match kernel.fits(session.state, session.plugins, task, nodes[&task]) {
            Ok(choice) => {
                place_within_limits(session, queue, job, task, choice);
            }
            Err(_) => ended.push(task),
        }
    }
    session.work.spend(job, kernel.take_effort());
    match session.plugins.job_ready(session.state, job) {
        true => session.commit_from(start),
        false => session.keep_from(start),
    }
}
