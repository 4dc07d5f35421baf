//! Allocating jobs that are divided into sub-groups (spec/01 §6.2.3), over the whole cluster.
//!
//! Placing sub-groups inside HyperNodes comes with the network topology plugin; its place is the
//! choice of nodes in [`allocate`], which here is always all of them.

use pumice_framework::Session;
use pumice_model::{JobIx, QueueIx};

use crate::allocate::{Worksheet, allocate_tasks};
use crate::kernel::Kernel;

/// Places sub-jobs in turn until the job is ready. True when the placements are to stand.
pub(crate) fn allocate(
    session: &mut Session,
    kernel: &mut Kernel,
    queue: QueueIx,
    job: JobIx,
    worksheet: &mut Worksheet,
) -> bool {
    let start = session.checkpoint();
    let mut turns = in_order(session, job, worksheet);
    turns.reverse();
    while let Some(sub) = turns.pop() {
        let before = session.checkpoint();
        let tasks = &mut worksheet[sub as usize];
        let placed = allocate_tasks(session, kernel, queue, job, sub, tasks);
        if !placed || session.steps_since(before) == 0 {
            continue;
        }
        if session.chain.job_ready(session.state, job) {
            break;
        }
        if !tasks.is_empty() {
            // A sub-job that is ready may take more once the others have had their turn.
            turns.insert(0, sub);
        }
    }
    let stands = session.steps_since(start) > 0
        && (session.chain.job_ready(session.state, job)
            || session.chain.job_pipelined(session.state, job));
    if !stands {
        session.undo_to(start);
    }
    stands
}

/// Sub-jobs with tasks to place: first those needed to reach `minSubGroups` of each policy, then
/// the others, each part in SubJobOrder.
fn in_order(session: &Session, job: JobIx, worksheet: &Worksheet) -> Vec<u16> {
    let (state, chain) = (&*session.state, &*session.chain);
    let record = state.job(job);
    let mut all: Vec<u16> = (0..record.sub_jobs.len() as u16).collect();
    all.sort_by(|l, r| chain.sub_job_order(state, job, *l, *r));
    let ready = |sub: u16| chain.sub_job_ready(state, job, sub);
    let policies = record.group().map_or(0, |group| group.sub_groups.len());
    let mut missing: Vec<i32> = (0..policies)
        .map(|policy| {
            let min = record.group().map_or(0, |group| group.sub_groups[policy].min_groups);
            let of_policy = |sub: &&u16| {
                record.sub_jobs[**sub as usize].policy == Some(policy as u16) && ready(**sub)
            };
            min - all.iter().filter(of_policy).count() as i32
        })
        .collect();
    let (mut required, mut others) = (Vec::new(), Vec::new());
    for sub in all {
        let policy = record.sub_jobs[sub as usize].policy;
        let needed = policy.and_then(|policy| missing.get_mut(policy as usize));
        match needed {
            Some(missing) if *missing > 0 && !ready(sub) => {
                *missing -= 1;
                required.push(sub);
            }
            _ => others.push(sub),
        }
    }
    required.extend(others);
    required.retain(|sub| !worksheet[*sub as usize].is_empty());
    required
}
