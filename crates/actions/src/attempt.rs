//! An attempt to place tasks of one job: in the cluster, or in one domain of the network.

use std::sync::Arc;

use pumice_framework::{Choice, FitError, Session, Unplaced, may_take, stays_within};
use pumice_model::object::Gates;
use pumice_model::{DomainIx, JobIx, NodeIx, QueueIx, Sym, TaskIx, TaskStatus};

use crate::kernel::Kernel;
use crate::reserve;
use crate::worksheet::{TaskKind, TaskQueue};

/// A job whose tasks are to be placed, and where.
#[derive(Clone)]
pub(crate) struct Attempt {
    pub queue: QueueIx,
    pub job: JobIx,
    /// The domain of the network; `None` for the cluster.
    pub within: Option<DomainIx>,
    /// Nodes of the domain; `None` for all.
    pub nodes: Option<Arc<[NodeIx]>>,
}

impl Attempt {
    /// In the cluster.
    pub fn anywhere(queue: QueueIx, job: JobIx) -> Self {
        Self {
            queue,
            job,
            within: None,
            nodes: None,
        }
    }

    /// The best place there is for a task now.
    ///
    /// # Errors
    /// Why no node fits.
    pub fn best(
        &self,
        session: &mut Session,
        kernel: &mut Kernel,
        task: TaskIx,
    ) -> Result<Choice, FitError> {
        if session.reserved.has_passed_over() {
            let left = reserve::nodes_left(session, task, self.nodes.as_deref());
            return kernel.best_among(session.state, session.plugins, task, &left);
        }
        let (state, plugins) = (&mut *session.state, &*session.plugins);
        match &self.nodes {
            None => kernel.best(state, plugins, task),
            Some(nodes) => kernel.best_among(state, plugins, task, nodes),
        }
    }
}

/// Tries tasks of one sub-job in turn until it is ready. True when the placements are to stand: the
/// sub-job is ready or would be once resources are released; otherwise they are undone.
pub(crate) fn allocate_tasks(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    sub_job: u16,
    tasks: &mut TaskQueue,
) -> bool {
    let job = attempt.job;
    let start = session.checkpoint();
    session.reserved.begin_try();
    let mut goes_on = true;
    while goes_on && let Some(task) = tasks.pop() {
        goes_on = try_task(session, kernel, attempt, task);
        if goes_on && session.work.is_over(job) {
            session.undo_to(start);
            session.work.give_more(job);
            session.postpone(job);
            return false;
        }
    }
    if goes_on {
        add_best_effort(session, kernel, attempt, sub_job);
    }
    if session.plugins.sub_job_ready(session.state, job, sub_job)
        || session
            .plugins
            .sub_job_pipelined(session.state, job, sub_job)
    {
        return true;
    }
    session.undo_to(start);
    false
}

/// Tries to place one task; whether to go on with the next one of its sub-job.
pub(crate) fn try_task(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    task: TaskIx,
) -> bool {
    let (queue, job) = (attempt.queue, attempt.job);
    if let Err(refusal) = may_take(session.plugins, session.state, queue, task) {
        session.note(job).refusal.get_or_insert(refusal);
        return true;
    }
    if session.state.task(task).gates != Gates::None {
        return true;
    }
    if role_has_failed(session, job, task) {
        session
            .note(job)
            .unplaced
            .push((task, Unplaced::RoleFailed));
        return true;
    }
    let sub_job = session.state.task(task).sub_job;
    loop {
        let found = attempt.best(session, kernel, task);
        session.work.spend(job, kernel.take_effort());
        let before = session.checkpoint();
        match found {
            Ok(choice) => {
                let node = choice.node;
                let ahead = reserve::ahead(session, task, &choice);
                if !place_within_limits(session, queue, job, task, choice) {
                    return true;
                }
                let Some(way) = reserve::in_whose_way(session, kernel, task) else {
                    session.reserved.set_ahead(task, ahead);
                    break;
                };
                session.undo_tries_to(before);
                if way.everywhere {
                    let why = reserve::kept_in_queue(session, way.job);
                    note_unplaced(session, job, task, why);
                    return goes_on_after_failure(session, job, sub_job);
                }
                reserve::pass_over(session, task, node, way.job);
            }
            Err(error) => {
                note_no_node(session, job, task, error);
                return goes_on_after_failure(session, job, sub_job);
            }
        }
    }
    let may_stop = match session.reserved.is_ahead(session.now_s) {
        // In a plan for the future everybody waits for somebody.
        true => session
            .plugins
            .sub_job_pipelined(session.state, job, sub_job),
        false => false,
    };
    !may_stop && !session.plugins.sub_job_ready(session.state, job, sub_job)
}

/// Places a task, unless its queue would have more than it may with what was chosen for the task.
pub(crate) fn place_within_limits(
    session: &mut Session,
    queue: QueueIx,
    job: JobIx,
    task: TaskIx,
    choice: Choice,
) -> bool {
    let before = session.checkpoint();
    session.place(task, choice);
    match stays_within(session.plugins, session.state, queue, task) {
        Ok(()) => true,
        Err(refusal) => {
            session.undo_to(before);
            let note = session.note(job);
            // It is the queue that has no room, whatever the node has.
            note.discarded.remove(&task);
            note.refusal.get_or_insert(refusal);
            false
        }
    }
}

/// Notes that a task found no node, for itself and for the others of its role.
fn note_no_node(session: &mut Session, job: JobIx, task: TaskIx, mut error: FitError) {
    error.claims = session.state.charges().why_claims_beside_gang(task);
    let why = match reserve::kept_for_other(session, task) {
        Some(kept) => Unplaced::Kept(Arc::new(kept)),
        None => Unplaced::NoNode(Arc::new(error)),
    };
    note_unplaced(session, job, task, why);
}

/// Notes why a task is not placed, for itself and for the others of its role.
fn note_unplaced(session: &mut Session, job: JobIx, task: TaskIx, why: Unplaced) {
    let role = (
        session.state.task(task).role,
        session.state.task(task).sub_job,
    );
    let note = session.note(job);
    note.unplaced.push((task, why));
    if !note.failed_roles.contains(&role) {
        note.failed_roles.push(role);
    }
}

/// Whether a task of the same role and sub-job has found no node in this cycle.
fn role_has_failed(session: &Session, job: JobIx, task: TaskIx) -> bool {
    let Some(note) = session.notes.get(&job) else {
        return false;
    };
    let task = session.state.task(task);
    task.role != Sym::default() && note.failed_roles.contains(&(task.role, task.sub_job))
}

/// Whether further tasks are tried after one found no node (spec/01 §3.4).
fn goes_on_after_failure(session: &Session, job: JobIx, sub_job: u16) -> bool {
    let record = session.state.job(job);
    let (min, tasks) = (record.min_available as usize, record.tasks.len());
    if let Some(sub) = record.sub_jobs.get(sub_job as usize) {
        return min != tasks && (sub.min_available as usize) < sub.tasks.len();
    }
    if min >= tasks {
        return false;
    }
    let failed: &[(Sym, u16)] = session
        .notes
        .get(&job)
        .map_or(&[], |note| note.failed_roles.as_slice());
    let has_failed = |role: Sym| failed.iter().any(|(other, _)| *other == role);
    let mut hopeless = record.roles.iter().filter(|role| has_failed(role.role));
    if record.roles_apply() {
        return hopeless.all(|role| role.ready() >= role.min);
    }
    let hopeful = record.roles.iter().filter(|role| !has_failed(role.role));
    let left: i32 = hopeful
        .map(|role| role.by_status[TaskStatus::Pending as usize] as i32)
        .sum();
    record.ready() + left >= record.min_available
}

/// Best-effort members count for a gang once they are placed: adds them while it is not ready.
fn add_best_effort(session: &mut Session, kernel: &mut Kernel, attempt: &Attempt, sub_job: u16) {
    let job = attempt.job;
    let record = session.state.job(job);
    if record.pending_best_effort == 0 {
        return;
    }
    let members = match record.sub_jobs.get(sub_job as usize) {
        Some(sub) => sub.tasks.clone(),
        None => record.tasks.clone(),
    };
    let mut tasks = TaskQueue::new(
        session.state,
        session.plugins,
        &members,
        TaskKind::BestEffort,
    );
    while !session.plugins.sub_job_ready(session.state, job, sub_job)
        && let Some(task) = tasks.pop()
    {
        if !try_task(session, kernel, attempt, task) {
            return;
        }
    }
}
