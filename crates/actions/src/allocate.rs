//! Action `allocate`: places the tasks of admitted jobs (spec/01 §6.2).
//!
//! ```text
//!  queue in turn ─► job in turn ─► transaction: tasks in turn ─► kernel: best node
//!                                    │ job ready      commit, the job may have another turn
//!                                    │ job pipelined  the placements stand until the cycle ends
//!                                    └ neither        undo
//! ```
//!
//! Nothing is bound before the job is ready; from then on each turn places one task. With a limit of
//! work (`pumice_framework::work_limit`) a turn may end early, and then the job has another one in the next
//! cycle.

use std::sync::Arc;

use pumice_framework::Unplaced;
use pumice_framework::{Bound, Choice, FitError, Overrun, QueueShare, Session, Skip};
use pumice_model::object::Gates;
use pumice_model::{DomainIx, JobIx, NodeIx, QueueIx, State, Sym, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::asleep::{self, WokenSleepers};
use crate::by_queue::ByQueue;
use crate::domains;
use crate::kernel::Kernel;
use crate::sub_jobs;
use crate::worksheet::{TaskKind, TaskQueue, has_tasks};

/// What is left to do for each job.
pub(crate) type Worksheets = FxHashMap<JobIx, Worksheet>;

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
        let (state, plugins) = (&mut *session.state, &*session.plugins);
        match &self.nodes {
            None => kernel.best(state, plugins, task),
            Some(nodes) => kernel.best_among(state, plugins, task, nodes),
        }
    }
}

/// Tasks of one job that have not been tried.
#[derive(Clone)]
pub(crate) struct Worksheet {
    /// By sub-job; one entry when the job has none.
    pub tasks: Vec<TaskQueue>,
    /// Sub-jobs the job needs to reach `minSubGroups`.
    pub required: Vec<bool>,
}

/// Places tasks until no queue has a job left that could have another turn.
pub fn run(session: &mut Session, kernel: &mut Kernel) {
    let active = session.active_jobs(|state, job| has_tasks(state, job, TaskKind::Requesting));
    let rounds = session.work.rounds(session.state, active);
    for (at, round) in rounds.into_iter().enumerate() {
        if at > 0 {
            session.work.begin_further_round();
        }
        place(session, kernel, round);
    }
    session.all_were_tried();
}

fn place(session: &mut Session, kernel: &mut Kernel, round: Vec<JobIx>) {
    let mut jobs = ByQueue::new(session);
    for job in round {
        jobs.push(session, job);
    }
    // While some come in rounds of their own, nobody sleeps.
    let mut woken = WokenSleepers::for_places(session, kernel, &mut jobs, TaskKind::Requesting);
    let mut worksheets = Worksheets::default();
    while let Some(queue) = jobs.next_queue(session) {
        if session.work.is_full() {
            for job in jobs.take_all() {
                session.postpone(job);
            }
            return;
        }
        if session.plugins.overused(session.state, queue) {
            let view = session.plugins.queue_view(session.state, queue);
            let view = view.unwrap_or_default();
            let told = session.plugins.overused_refusal(session.state, queue);
            for job in jobs.take_jobs(queue) {
                let skip = match &told {
                    Some(refusal) => Skip::QueueHeldBack(refusal.clone()),
                    None => overused(session.state, queue, job, &view),
                };
                session.skip(job, skip);
            }
            continue;
        }
        let Some(job) = jobs.next_job(session, queue) else {
            continue;
        };
        let others_decided = !session.plan.binds.is_empty();
        let sleeper = woken.take(job);
        if sleeper.is_some_and(|turn| asleep::sleeps_on(session, kernel, turn)) {
            jobs.put_back(session, queue);
            continue;
        }
        if sleeper.is_some() {
            session.sleepers.woken(job);
        }
        let should_sleep = asleep::should_sleep(session, kernel, job);
        if session.work.lets_others_go(job, others_decided) {
            session.postpone(job);
        } else if turn(session, kernel, queue, job, &mut worksheets) {
            match session.work.is_over(job) {
                true => session.work.postpone(job),
                false => jobs.push(session, job),
            }
        }
        if should_sleep && session.sleepers.has_stirred(job) {
            session.sleepers.miss(job);
        }
        if let Some(turn) = sleeper {
            woken.next(session, &mut jobs, turn);
        }
        jobs.put_back(session, queue);
    }
}

/// Says that a queue has what it deserves of the resources a job's waiting pods ask.
fn overused(state: &State, queue: QueueIx, job: JobIx, view: &QueueShare) -> Skip {
    let record = state.queue(queue);
    let asked = &state.job(job).pending;
    let resources = state.resources().in_order().iter().copied();
    let overrun = |resource| {
        let deserved = view.deserved.iter().find(|(known, _)| *known == resource);
        Overrun {
            resource,
            above: None,
            bound: Bound::Deserved,
            limit: deserved.map_or(0, |(_, amount)| *amount as i64),
            total: state.nodes().cluster_total.get(resource),
            used: record
                .allocated
                .get(resource)
                .saturating_add(record.pipelined.get(resource)),
            reserved: 0,
            asked: asked.get(resource),
        }
    };
    let resources = resources.filter(|resource| asked.get(*resource) > 0);
    Skip::Overused(resources.map(overrun).collect())
}

/// One turn of a job; whether it may have another one.
fn turn(
    session: &mut Session,
    kernel: &mut Kernel,
    queue: QueueIx,
    job: JobIx,
    worksheets: &mut Worksheets,
) -> bool {
    let worksheet = worksheets
        .entry(job)
        .or_insert_with(|| worksheet(session, job));
    let start = session.checkpoint();
    let attempt = Attempt::anywhere(queue, job);
    let record = session.state.job(job);
    let placed = if record.wants_topology() {
        domains::allocate(session, kernel, &attempt, worksheet)
    } else if record.sub_jobs.is_empty() {
        allocate_tasks(session, kernel, &attempt, 0, &mut worksheet.tasks[0])
    } else {
        sub_jobs::allocate(session, kernel, &attempt, worksheet)
    };
    if !placed {
        session.note_extras(job);
        return false;
    }
    if session.plugins.job_ready(session.state, job) {
        let allocated = session.state.job(job).count(TaskStatus::Allocated) as usize;
        if allocated > session.steps_since(start) {
            session.commit_kept(job);
        }
        session.commit_from(start);
        return worksheet.tasks.iter().any(|tasks| !tasks.is_empty());
    }
    session.keep_from(start);
    false
}

fn worksheet(session: &Session, job: JobIx) -> Worksheet {
    let record = session.state.job(job);
    let order = |tasks: &[TaskIx]| {
        TaskQueue::new(session.state, session.plugins, tasks, TaskKind::Requesting)
    };
    if record.sub_jobs.is_empty() {
        return Worksheet {
            tasks: vec![order(&record.tasks)],
            required: vec![true],
        };
    }
    let tasks = record
        .sub_jobs
        .iter()
        .map(|sub| order(&sub.tasks))
        .collect();
    Worksheet {
        tasks,
        required: sub_jobs::required(session, job),
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
    if let Err(refusal) = session.plugins.allocatable(session.state, queue, task) {
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
    let found = attempt.best(session, kernel, task);
    session.work.spend(job, kernel.take_effort());
    match found {
        Ok(choice) => {
            if !place_within_limits(session, queue, job, task, choice) {
                return true;
            }
        }
        Err(error) => {
            note_no_node(session, job, task, error);
            return goes_on_after_failure(session, job, sub_job);
        }
    }
    !session.plugins.sub_job_ready(session.state, job, sub_job)
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
    match session.plugins.within_limits(session.state, queue, task) {
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
    let role = (
        session.state.task(task).role,
        session.state.task(task).sub_job,
    );
    let note = session.note(job);
    note.unplaced
        .push((task, Unplaced::NoNode(Arc::new(error))));
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
