//! Allocating jobs that are divided into sub-groups (spec/01 §6.2.3).

mod assign;

use pumice_framework::{Checkpoint, Session};
use pumice_model::JobIx;

use crate::attempt::{Attempt, allocate_tasks, try_task};
use crate::domains;
use crate::kernel::Kernel;
use crate::worksheet::{TaskKind, TaskQueue, Worksheet};
use assign::Assignment;

/// Places sub-jobs in turn until the job is ready, and where that fails assigns them domains by search. True
/// when the placements are to stand.
pub(crate) fn allocate(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    worksheet: &mut Worksheet,
) -> bool {
    let job = attempt.job;
    let start = session.checkpoint();
    if !session.state.job(job).wants_topology() {
        return allocate_in_turn(session, kernel, attempt, worksheet, start);
    }
    let before = session.notes.get(&job).cloned().unwrap_or_default();
    let mut rest = worksheet.clone();
    if allocate_in_turn(session, kernel, attempt, &mut rest, start) {
        *worksheet = rest;
        return true;
    }
    let plugins = &session.plugins;
    if session.work.is_postponed(job)
        || plugins.job_ready(session.state, job)
        || plugins.job_pipelined(session.state, job)
    {
        return false;
    }
    let Some(mut assignment) = Assignment::new(session, attempt, worksheet) else {
        return false;
    };
    let told = session.notes.get(&job).cloned().unwrap_or_default();
    domains::forget_tries(session, job, &before);
    if assignment.search(session, kernel, worksheet, 0) {
        return true;
    }
    if !session.work.is_postponed(job) {
        domains::forget_tries(session, job, &told);
    }
    false
}

/// Places sub-jobs in turn until the job is ready, with what was placed from `from` on. True when the
/// placements are to stand; those made here are undone otherwise.
fn allocate_in_turn(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    worksheet: &mut Worksheet,
    from: Checkpoint,
) -> bool {
    let job = attempt.job;
    let start = session.checkpoint();
    forget_failures(session, job, None);
    let is_ready = |session: &Session| {
        session.steps_since(from) > 0 && session.plugins.job_ready(session.state, job)
    };
    while !is_ready(session)
        && let Some(sub) = next_sub_job(session, job, worksheet)
    {
        let before = session.checkpoint();
        forget_failures(session, job, Some(sub));
        let mut tasks = std::mem::take(&mut worksheet.tasks[sub as usize]);
        let placed = match session.state.job(job).wants_topology() {
            true => domains::allocate_sub_job(session, kernel, attempt, sub, &mut tasks),
            false => allocate_tasks(session, kernel, attempt, sub, &mut tasks),
        };
        if session.work.is_postponed(job) {
            session.undo_to(start);
            return false;
        }
        if !placed || session.steps_since(before) == 0 {
            // A sub-job that failed has no other turn in this cycle.
            continue;
        }
        worksheet.tasks[sub as usize] = tasks;
    }
    add_best_effort(session, kernel, attempt);
    let stands = session.steps_since(from) > 0
        && (session.plugins.job_ready(session.state, job)
            || session.plugins.job_pipelined(session.state, job));
    if !stands {
        session.undo_to(start);
    }
    stands
}

/// Failures of an earlier attempt do not count for this one.
pub(crate) fn forget_failures(session: &mut Session, job: JobIx, sub_job: Option<u16>) {
    if let Some(note) = session.notes.get_mut(&job) {
        note.failed_roles
            .retain(|(_, sub)| sub_job.is_some_and(|other| other != *sub));
    }
}

/// Best-effort members that no sub-job placed for itself, while the job is not ready.
fn add_best_effort(session: &mut Session, kernel: &mut Kernel, attempt: &Attempt) {
    let job = attempt.job;
    if session.state.job(job).pending_best_effort == 0 {
        return;
    }
    let members = session.state.job(job).tasks.clone();
    let mut tasks = TaskQueue::new(
        session.state,
        session.plugins,
        &members,
        TaskKind::BestEffort,
    );
    while !session.plugins.job_ready(session.state, job)
        && let Some(task) = tasks.pop()
    {
        match session.state.job(job).wants_topology() {
            true => domains::try_best_effort(session, kernel, attempt, task),
            false => {
                try_task(session, kernel, attempt, task);
            }
        }
    }
}

/// The sub-job with tasks left whose turn it is: those the job needs first, then SubJobOrder.
fn next_sub_job(session: &Session, job: JobIx, worksheet: &Worksheet) -> Option<u16> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let needed = |sub: u16| worksheet.required[sub as usize];
    (0..worksheet.tasks.len() as u16)
        .filter(|sub| !worksheet.tasks[*sub as usize].is_empty())
        .min_by(|l, r| {
            needed(*r)
                .cmp(&needed(*l))
                .then_with(|| plugins.sub_job_order(state, job, *l, *r))
        })
}

/// Sub-jobs needed to reach `minSubGroups` of their policy: as many that are not ready, in
/// SubJobOrder, as ready ones are missing.
pub(crate) fn required(session: &Session, job: JobIx) -> Vec<bool> {
    let (state, plugins) = (&*session.state, &*session.plugins);
    let record = state.job(job);
    let mut all: Vec<u16> = (0..record.sub_jobs.len() as u16).collect();
    all.sort_by(|l, r| plugins.sub_job_order(state, job, *l, *r));
    let ready = |sub: u16| plugins.sub_job_ready(state, job, sub);
    let policy_of = |sub: u16| record.sub_jobs[sub as usize].policy;
    let policies = record
        .group()
        .map_or(&[][..], |group| group.sub_groups.as_slice());
    let mut missing: Vec<i32> = policies.iter().map(|policy| policy.min_groups).collect();
    for sub in all.iter().filter(|sub| ready(**sub)) {
        if let Some(policy) = policy_of(*sub) {
            missing[policy as usize] -= 1;
        }
    }
    let mut required = vec![false; all.len()];
    for sub in all.into_iter().filter(|sub| !ready(*sub)) {
        if let Some(missing) = policy_of(sub).map(|policy| &mut missing[policy as usize])
            && *missing > 0
        {
            *missing -= 1;
            required[sub as usize] = true;
        }
    }
    required
}
