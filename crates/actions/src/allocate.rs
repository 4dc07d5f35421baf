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

use pumice_framework::{Bound, Checkpoint, JobNote, Overrun, QueueShare, Session, Skip};
use pumice_model::{JobIx, JobUnit, QueueIx, State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::asleep::{self, WokenSleepers};
use crate::attempt::{Attempt, allocate_tasks};
use crate::by_queue::ByQueue;
use crate::domains::{self, DomainFit};
use crate::kernel::Kernel;
use crate::line;
use crate::reserve;
use crate::sub_jobs;
use crate::trees;
use crate::worksheet::{TaskKind, TaskQueue, Worksheet, has_tasks};

/// What is left to do for each job.
pub(crate) type Worksheets = FxHashMap<JobIx, Worksheet>;

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
    reserve::renew(session, kernel);
    session.hindrances.all_were_tried();
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
        if !line::has_room_of_user(session, job) {
            if let Some(turn) = sleeper {
                woken.next(session, &mut jobs, turn);
            }
            jobs.put_back(session, queue);
            continue;
        }
        if !line::has_turn(session, job) {
            jobs.put_back(session, queue);
            continue;
        }
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
    let before = BeforeTurn::of(session, job, worksheet);
    let mut stands = place_job(session, kernel, &attempt, worksheet);
    if let Some(before) = before.filter(|_| stands) {
        // It keeps clear of what those get who had their turns before it in vain.
        before.restore(session, job, worksheet, start);
        reserve::plan_for_vain(session, kernel);
        stands = place_job(session, kernel, &attempt, worksheet);
    }
    if !stands {
        session.note_extras(job);
        reserve::after_vain_turn(session, job);
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

/// What a turn changes besides the transaction, as it was before.
struct BeforeTurn {
    worksheet: Worksheet,
    note: Option<JobNote>,
    gains: usize,
}

impl BeforeTurn {
    /// Nothing, where nobody has to be looked for before somebody is placed.
    fn of(session: &Session, job: JobIx, worksheet: &Worksheet) -> Option<Self> {
        (!session.reserved.vain().is_empty()).then(|| Self {
            worksheet: worksheet.clone(),
            note: session.notes.get(&job).cloned(),
            gains: session.gains(),
        })
    }

    /// Takes the turn back.
    fn restore(
        self,
        session: &mut Session,
        job: JobIx,
        worksheet: &mut Worksheet,
        start: Checkpoint,
    ) {
        session.undo_tries_to(start);
        session.forget_gains_since(self.gains);
        session.notes.remove(&job);
        session.notes.extend(self.note.map(|note| (job, note)));
        *worksheet = self.worksheet;
    }
}

/// Places what a job needs. True when the placements are to stand.
pub(crate) fn place_job(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    worksheet: &mut Worksheet,
) -> bool {
    if !session.reserved.is_ahead(session.now_s) {
        reserve::find_outranked(session, attempt.job);
    }
    let record = session.state.job(attempt.job);
    if record.wants_topology() {
        in_domains(session, kernel, attempt, worksheet)
    } else if record.sub_jobs.is_empty() {
        allocate_tasks(session, kernel, attempt, 0, &mut worksheet.tasks[0])
    } else {
        by_parts(session, kernel, attempt, worksheet)
    }
}

/// Places a job that has sub-jobs. True when the placements are to stand.
fn by_parts(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    worksheet: &mut Worksheet,
) -> bool {
    match trees::of(session, attempt) {
        Some(tree) => trees::allocate(session, kernel, attempt, tree, worksheet),
        None => sub_jobs::allocate(session, kernel, attempt, worksheet),
    }
}

/// Places a job that asks for a place in the network, or whose sub-jobs do. True when the placements are
/// to stand.
fn in_domains(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    worksheet: &mut Worksheet,
) -> bool {
    let job = attempt.job;
    let try_in = |session: &mut Session, kernel: &mut Kernel, attempt: &Attempt| {
        let mut sheet = worksheet.clone();
        let stands = match session.state.job(job).sub_jobs.is_empty() {
            true => allocate_tasks(session, kernel, attempt, 0, &mut sheet.tasks[0]),
            false => by_parts(session, kernel, attempt, &mut sheet),
        };
        let fit = DomainFit::of(stands, session.plugins.job_ready(session.state, job));
        (fit, sheet)
    };
    sub_jobs::forget_failures(session, job, None);
    let unit = JobUnit::whole(job);
    let Some(sheet) = domains::search(session, kernel, attempt, unit, try_in) else {
        return false;
    };
    *worksheet = sheet;
    true
}

/// What is left to do for a job.
pub(crate) fn worksheet(session: &Session, job: JobIx) -> Worksheet {
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
