//! What may be read of the engine, by whoever says something about it: why something waits, what people
//! ask, what is written on objects. Nobody can change anything through it.

use std::ops::Deref;

use std::collections::BTreeMap;

use pumice_actions::Action;
use pumice_conf::Arguments;
use pumice_framework::{Plugins, QueueShare, ReasonTable, SleepTimes};
use pumice_model::{JobIx, NodeIx, QueueIx, State, TaskIx, TaskStatus};

use crate::follow_up::FollowUp;
use crate::follow_up::bind_waits::BindWait;
use crate::follow_up::notes::Notes;

/// The engine for those who only read. Rooms add what they find out from it: [`crate::waiting`] what stands
/// in the way of pods and gangs, [`crate::view`] which cards they hold.
#[derive(Clone, Copy)]
pub struct Knowledge<'a> {
    pub(crate) state: &'a State,
    pub(crate) plugins: &'a Plugins,
    /// Reasons of the configuration.
    pub(crate) reasons: &'a ReasonTable,
    pub(crate) actions: &'a [(&'static Action, Arguments)],
    /// When jobs that sleep were tried last.
    pub(crate) sleep_times: &'a SleepTimes,
    /// What the last cycles found out about jobs.
    pub(crate) notes: &'a Notes,
    /// What is remembered from one cycle to the next.
    pub(crate) follow_up: &'a FollowUp,
    /// The last cycle.
    pub(crate) cycle: u64,
    /// When it was, in seconds since the epoch.
    pub(crate) now_s: i64,
    /// Configurations that were taken so far.
    pub(crate) configurations: u64,
}

impl<'a> Knowledge<'a> {
    /// The time of the last cycle, seconds since the epoch.
    pub fn now_s(&self) -> i64 {
        self.now_s
    }

    /// What the queue plugin says about a queue.
    pub fn queue_view(&self, queue: QueueIx) -> Option<QueueShare> {
        self.plugins.queue_view(self.state, queue)
    }

    /// What is wrong on queues, as their owners are told; nothing while a change of queues waits for its
    /// cycle.
    pub fn queue_warnings(&self) -> BTreeMap<QueueIx, String> {
        self.teller().warnings_on_queues().unwrap_or_default()
    }

    /// What is written on a PodGroup, or on a pod without one, that does not mean what it seems to; a
    /// sentence each.
    pub fn job_warnings(&self, ix: JobIx) -> Vec<String> {
        self.teller().job_warnings(ix)
    }

    /// The first thing that went wrong for a job, as text.
    pub fn cause_text(&self, ix: JobIx) -> Option<String> {
        self.wording().cause_text(ix)
    }

    /// The node on which a pod waits for others that are evicted for it.
    pub fn nominated_node(&self, task: TaskIx) -> Option<NodeIx> {
        let nominations = &self.follow_up.nominations;
        nominations.node_of(self.state, task)
    }

    /// What the Binding of a task waits for.
    pub(crate) fn bind_wait(&self, ix: TaskIx) -> Option<&'a BindWait> {
        let task = self.state.task(ix);
        let decided = task.status == TaskStatus::Binding && task.ours;
        let wait = decided.then(|| {
            self.follow_up
                .bind_waits
                .of(self.state.population().task_id(ix))
        });
        wait.flatten()
    }

    /// Bindings that wait.
    pub(crate) fn count_bind_waits(&self) -> usize {
        let known = self.follow_up.bind_waits.tasks();
        let known = known.filter_map(|task| self.state.population().known_task(task));
        known.filter(|task| self.bind_wait(*task).is_some()).count()
    }

    /// What cannot be read of the devices that a pod asks.
    pub(crate) fn unread_of(&self, ix: TaskIx) -> Option<String> {
        self.follow_up.unread_reports.of(self.state, ix)
    }
}

/// Texts about what waits. Each of its rooms words one kind of reason; a text about a gang quotes those of its
/// pods, and the other way round.
#[derive(Clone, Copy)]
pub(crate) struct Wording<'a>(Knowledge<'a>);

impl<'a> Deref for Wording<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, to be told in words.
    pub(crate) fn wording(&self) -> Wording<'a> {
        Wording(*self)
    }
}
