//! The pending tasks of a job, in the order they are tried.

use pumice_framework::Plugins;
use pumice_model::object::Gates;
use pumice_model::{JobIx, State, TaskIx, TaskStatus};

/// Which tasks are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// Tasks with a request.
    Requesting,
    /// Tasks without one.
    BestEffort,
}

/// Whether a task is to be placed by the actions: pending, ours, not held back after a failed
/// Binding, and not gated by somebody else.
/// Best-effort tasks must not be gated at all.
fn wanted(state: &State, ix: TaskIx, kind: TaskKind) -> bool {
    let task = state.task(ix);
    task.status == TaskStatus::Pending
        && task.ours
        && state.population().holds().get(ix).is_none()
        && match kind {
            TaskKind::Requesting => !task.best_effort && task.gates != Gates::Foreign,
            TaskKind::BestEffort => task.best_effort && task.gates == Gates::None,
        }
}

/// Tasks of a job that would be placed if there were room: wanted, and not gated.
pub fn placeable(state: &State, job: JobIx) -> impl Iterator<Item = TaskIx> {
    let tasks = state.job(job).tasks.iter().copied();
    tasks.filter(|task| {
        let wanted = |kind| wanted(state, *task, kind);
        let is_free = state.task(*task).gates == Gates::None;
        is_free && (wanted(TaskKind::Requesting) || wanted(TaskKind::BestEffort))
    })
}

/// Whether a job has any wanted task.
pub fn has_tasks(state: &State, job: JobIx, kind: TaskKind) -> bool {
    let record = state.job(job);
    let pending = record.count(TaskStatus::Pending);
    let best_effort = record.pending_best_effort as i32;
    match kind {
        TaskKind::Requesting if pending == best_effort => false,
        TaskKind::BestEffort if best_effort == 0 => false,
        _ => record.tasks.iter().any(|task| wanted(state, *task, kind)),
    }
}

/// Pending tasks in reverse order, so that the next one is at the end.
#[derive(Clone, Debug, Default)]
pub struct TaskQueue(Vec<TaskIx>);

impl TaskQueue {
    /// Orders those of `tasks` that are wanted.
    pub fn new(state: &State, plugins: &Plugins, tasks: &[TaskIx], kind: TaskKind) -> Self {
        let mut queue: Vec<TaskIx> = tasks
            .iter()
            .copied()
            .filter(|task| wanted(state, *task, kind))
            .collect();
        plugins.sort_tasks(state, &mut queue);
        queue.reverse();
        Self(queue)
    }

    /// Orders the tasks of a job that would be placed if there were room, best-effort ones among them.
    pub fn placeable(state: &State, plugins: &Plugins, job: JobIx) -> Self {
        let mut queue: Vec<TaskIx> = placeable(state, job).collect();
        plugins.sort_tasks(state, &mut queue);
        queue.reverse();
        Self(queue)
    }

    /// Takes the next task.
    pub fn pop(&mut self) -> Option<TaskIx> {
        self.0.pop()
    }

    /// How many are left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
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
