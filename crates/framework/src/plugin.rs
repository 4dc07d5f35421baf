//! The one trait plugins implement; what they can say stands in [`mod@crate::points`].

use pumice_model::{JobIx, QueueIx, State, TaskIx};

use crate::memory::PluginMemory;
use crate::points::{
    Admission, Allocatable, BindSteps, CandidateScores, ClassSignature, DomainFilters, DomainScore,
    EstimatesRunTimes, ExtenderQuestions, JobConsent, JobOrder, JobPipelined, JobReady, JobShares,
    JobStarving, JobValid, KeepsMix, KeepsPlaces, KeepsUse, Ledgers, NetworkSettings, NodeFilters,
    NodeScores, NodesRest, Overused, QueueDistance, QueueOrder, QueueViews, Reclaimer, SubJobOrder,
    TaskOrder, TimeLimits, UserRoom, VictimTasks, Victims, WeighsJobs,
};

/// What a plugin may know about the cycle besides the state.
#[derive(Clone, Debug, Default)]
pub struct CycleInfo {
    /// Now, seconds since the epoch: an input, never read from a clock.
    pub now_s: i64,
    /// What has changed since the plugin was opened last.
    pub changed: Changed,
}

/// What has changed since a plugin was opened last: outside (pods that came, ended, were deleted or
/// bound by others, Bindings that failed) and by the cycle before. By default everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Jobs that came, changed or went, by index, each once; some may be gone, and an index may mean
    /// another job now. `None`: any job.
    pub jobs: Option<Vec<JobIx>>,
    /// Queues, their status aside.
    pub queues: ChangedQueues,
    /// Some node came, changed or went. The load of nodes changes with jobs.
    pub nodes: bool,
}

impl Default for Changed {
    fn default() -> Self {
        Self {
            jobs: None,
            queues: ChangedQueues::Any,
            nodes: true,
        }
    }
}

/// Which queues have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedQueues {
    /// Some came, went or stands elsewhere in the tree: an index may mean another queue now.
    Any,
    /// No queue came or went; on these, by index, something else is written.
    Rewritten(Vec<QueueIx>),
}

impl ChangedQueues {
    /// Nothing has changed.
    pub const NONE: Self = Self::Rewritten(Vec::new());
}

/// A step of a cycle, told at once to every plugin. What happens outside of cycles is told by
/// [`Changed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The task was placed on, or pipelined to, the node it now has.
    Placed(TaskIx),
    /// The task is about to leave the node it has: the undo of `Placed`, or a placement that ends with
    /// its cycle.
    Leaving(TaskIx),
    /// The task is about to be evicted from the node it has.
    Evicting(TaskIx),
    /// The undo of `Evicting`: the task has its node and status again.
    Restored(TaskIx),
    /// The job has left phase Pending.
    Admitted(JobIx),
}

/// A copy of a plugin, which everyone that is `Clone` has.
pub trait CopiedPlugin {
    /// One that answers as this one does.
    fn copied(&self) -> Box<dyn Plugin>;
}

impl<P: Plugin + Clone + 'static> CopiedPlugin for P {
    fn copied(&self) -> Box<dyn Plugin> {
        Box::new(self.clone())
    }
}

/// Says which points a plugin serves, in its `impl` of [`Plugin`]: the method of each with its trait, which the plugin
/// implements, and where it serves only as configured, when.
#[macro_export]
macro_rules! points {
    ($this:ident; $($method:ident: $point:ident $(if $when:expr)?),+ $(,)?) => {$(
        fn $method(&$this) -> Option<&dyn $point> {
            $crate::points!(@some $this, $point $(, $when)?)
        }
    )+};
    (@some $this:ident, $point:ident) => { Some($this) };
    (@some $this:ident, $point:ident, $when:expr) => { ($when).then_some($this as &dyn $point) };
}

/// A plugin: built once per loaded configuration, kept over cycles.
///
/// Everything that is asked while an action searches takes `&self` and must follow from the state and
/// from what [`Plugin::open`] and [`Plugin::observe`] stored; answers about nodes must follow from the
/// class and the state alone (see [`crate::points::class`]). Sums that the state keeps exactly (per job,
/// queue and node) are read there. Sums of a plugin's own follow [`Changed`] and [`Step`], so that a
/// cycle costs what has changed.
///
/// It is data alone, and can be copied: questions are answered on a copy, by another thread.
pub trait Plugin: CopiedPlugin + Send + Sync {
    /// Name, as in the configuration.
    fn name(&self) -> &'static str;

    /// A cycle begins. Called once per cycle, before any action.
    fn open(&mut self, _state: &State, _cycle: &CycleInfo) {}

    /// All plugins are open: what one of them knows of past use, where one does. Told to those alone that order jobs by
    /// factors, right after they were opened.
    fn hear(&mut self, _state: &State, _cycle: &CycleInfo, _used: Option<&dyn KeepsUse>) {}

    /// A step was taken, or is about to be: see [`Step`].
    fn observe(&mut self, _state: &State, _step: Step) {}

    /// When its answers change although nothing happens, seconds since the epoch: a cycle is run then, in
    /// which every job is tried.
    /// Asked after every cycle; a time that has passed makes cycles run without pause.
    fn wake_at_s(&self) -> Option<i64> {
        None
    }

    /// What it remembers from one cycle to the next and cannot find out from the state; `None` for nothing.
    fn keep(&self, _state: &State) -> Option<PluginMemory> {
        None
    }

    /// Takes in what one like it remembered of the same state, before its first cycle.
    fn restore(&mut self, _told: &PluginMemory, _state: &State) {}

    /// What it remembers outlives the configuration, and is known to copies of the engine.
    fn memory_lasts(&self) -> bool {
        false
    }

    /// What the owner of a PodGroup should know of what is written on it or its pods: an annotation
    /// that cannot be read and is passed over. Told as an event; nothing is decided by it.
    fn job_warning(&self, _state: &State, _job: JobIx) -> Option<String> {
        None
    }

    /// What the owners of queues should know of what is written on them: each queue once, in any order.
    /// Told as an event. Asked only while queues are as they were when the plugin was opened.
    fn queue_warnings(&self, _state: &State) -> Vec<(QueueIx, String)> {
        Vec::new()
    }

    /// Order of jobs within a queue.
    fn as_job_order(&self) -> Option<&dyn JobOrder> {
        None
    }

    /// Order of queues.
    fn as_queue_order(&self) -> Option<&dyn QueueOrder> {
        None
    }

    /// Order of the tasks of a job.
    fn as_task_order(&self) -> Option<&dyn TaskOrder> {
        None
    }

    /// Order of the sub-jobs of a job.
    fn as_sub_job_order(&self) -> Option<&dyn SubJobOrder> {
        None
    }

    /// Which domain of the network is better.
    fn as_domain_score(&self) -> Option<&dyn DomainScore> {
        None
    }

    /// What is left for others where a unit was placed.
    fn as_nodes_rest(&self) -> Option<&dyn NodesRest> {
        None
    }

    /// What the tasks of the cluster ask of cards.
    fn as_task_mix(&self) -> Option<&dyn KeepsMix> {
        None
    }

    /// Who used how much lately.
    fn as_keeps_use(&self) -> Option<&dyn KeepsUse> {
        None
    }

    /// How long pods may run of which nobody says it.
    fn as_estimates_run_times(&self) -> Option<&dyn EstimatesRunTimes> {
        None
    }

    /// What the place of a job in its queue is made of.
    fn as_weighs_jobs(&self) -> Option<&dyn WeighsJobs> {
        None
    }

    /// Whether users of a queue may have more.
    fn as_user_room(&self) -> Option<&dyn UserRoom> {
        None
    }

    /// How places are kept for jobs that wait.
    fn as_keeps_places(&self) -> Option<&dyn KeepsPlaces> {
        None
    }

    /// What holds for the network as a whole.
    fn as_network_settings(&self) -> Option<&dyn NetworkSettings> {
        None
    }

    /// When a job may be committed.
    fn as_job_ready(&self) -> Option<&dyn JobReady> {
        None
    }

    /// When placements of a job that is not ready may stand.
    fn as_job_pipelined(&self) -> Option<&dyn JobPipelined> {
        None
    }

    /// Whether a job can be scheduled at all.
    fn as_job_valid(&self) -> Option<&dyn JobValid> {
        None
    }

    /// Whether a job is entitled to more.
    fn as_job_starving(&self) -> Option<&dyn JobStarving> {
        None
    }

    /// Whether a job may be admitted.
    fn as_admission(&self) -> Option<&dyn Admission> {
        None
    }

    /// Whether a queue has all it deserves.
    fn as_overused(&self) -> Option<&dyn Overused> {
        None
    }

    /// Whether a queue may take a task.
    fn as_allocatable(&self) -> Option<&dyn Allocatable> {
        None
    }

    /// What classes are told apart by, besides what the model knows.
    fn as_class_signature(&self) -> Option<&dyn ClassSignature> {
        None
    }

    /// Filters on one node.
    fn as_node_filters(&self) -> Option<&dyn NodeFilters> {
        None
    }

    /// Scores of one node.
    fn as_node_scores(&self) -> Option<&dyn NodeScores> {
        None
    }

    /// Filters by topology domain.
    fn as_domain_filters(&self) -> Option<&dyn DomainFilters> {
        None
    }

    /// Scores that compare candidates.
    fn as_candidate_scores(&self) -> Option<&dyn CandidateScores> {
        None
    }

    /// What nodes have in ledgers.
    fn as_ledgers(&self) -> Option<&dyn Ledgers> {
        None
    }

    /// Who may be evicted.
    fn as_victims(&self) -> Option<&dyn Victims> {
        None
    }

    /// Who is to be evicted for nobody's sake.
    fn as_victim_tasks(&self) -> Option<&dyn VictimTasks> {
        None
    }

    /// Who is ended because his time is over.
    fn as_time_limits(&self) -> Option<&dyn TimeLimits> {
        None
    }

    /// Whether a queue may reclaim.
    fn as_reclaimer(&self) -> Option<&dyn Reclaimer> {
        None
    }

    /// Whom a queue takes from first.
    fn as_queue_distance(&self) -> Option<&dyn QueueDistance> {
        None
    }

    /// What a Binding waits for.
    fn as_bind_steps(&self) -> Option<&dyn BindSteps> {
        None
    }

    /// What a queue deserves, for reports.
    fn as_queue_views(&self) -> Option<&dyn QueueViews> {
        None
    }

    /// Shares of jobs, for reports.
    fn as_job_shares(&self) -> Option<&dyn JobShares> {
        None
    }

    /// Whether a job may have turns.
    fn as_job_consent(&self) -> Option<&dyn JobConsent> {
        None
    }

    /// What an extender is to be asked.
    fn as_extender_questions(&self) -> Option<&dyn ExtenderQuestions> {
        None
    }
}
