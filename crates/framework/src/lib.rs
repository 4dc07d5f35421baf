//! Contracts between the engine, the actions and the plugins.
//!
//! ```text
//!   actions ──ask──► Plugins ──tier rules──► Plugin, Plugin, …      (search methods: &self)
//!      │                                            │ describe a class of tasks once:
//!      │                                            ▼ static · node · domain · candidates
//!      └──place──► Session ──steps──► State         (undo = the inverse steps, newest first)
//! ```
//!
//! * [`plugin`]: the one trait plugins implement, and what they are told.
//! * [`mod@points`]: what plugins can say, one small trait an extension point.
//! * [`plugins`]: the configured plugins in tiers, asked by the rules of [`tiers`].
//! * [`domain_sum`], [`topology_keys`]: counts by topology domain, for filters and scores made of them.
//! * [`session`]: one cycle; [`transaction`]: its steps and their undo, and what was decided.
//! * [`outcome`]: what a cycle found out about a job.
//! * [`observer`]: who measures how long the parts of a cycle take.
//! * [`reason`]: why something does not fit, as data; text is made at the edge.
//! * [`verdict`]: whether a task fits a node, in two bytes.
//! * [`refusal`]: why a queue or the cluster says no, likewise.
//! * [`nobody_goes`]: why nobody is evicted for a job, likewise.
//! * [`obstacles`]: what of node objects keeps pods from nodes that would do, likewise.
//! * [`reserved`]: places that are kept for jobs that wait.
//! * [`mod@line`]: queues in which nobody passes the first job that waits.
//! * [`sleep`]: jobs that are not tried, because it is known that nothing would come of it.
//! * [`work_limit`]: how much of a cycle one job may take.

pub mod domain_sum;
mod eviction_tally;
mod extras;
mod hindrances;
pub mod line;
mod memory;
pub mod nobody_goes;
pub mod observer;
pub mod obstacles;
pub mod outcome;
pub mod plan;
pub mod plugin;
pub mod plugins;
pub mod points;
pub mod reason;
pub mod refusal;
pub mod reserved;
pub mod session;
pub mod sleep;
pub mod tiers;
pub mod topology_keys;
pub mod transaction;
pub mod verdict;
pub mod work_limit;

pub use domain_sum::DomainSum;
pub use eviction_tally::EvictionTally;
pub use memory::{PluginMemory, RememberedObject};
pub use nobody_goes::{
    BundleCounts, ContestedCard, ContestedCards, ForeignPod, ForeignPods, Hindrance, Keeper,
    NobodyGoes, VictimCounts,
};
pub use observer::{Observer, Stage, Unobserved};
pub use obstacles::{Barriers, Obstacles};
pub use outcome::{JobNote, KeptForOther, NearestDomain, NoDomain, Skip, Unplaced};
pub use plan::{Bind, Eviction, Plan};
pub use plugin::{Changed, ChangedQueues, CopiedPlugin, CycleInfo, Plugin, Step};
pub use plugins::{
    Plugins, hand_memories_on, job_factors, job_room, keep_memories, may_take, orders_by_factors,
    restore_memories, run_time_estimator, sort_by_number_and_age, stays_within, use_keeper,
};
pub use points::{Class, Invalid, QueueShare};
pub use reason::{FitError, Reason, ReasonId, ReasonKind, ReasonTable, SetId};
pub use refusal::{
    Bound, LimitOfUser, Overrun, Overruns, QueueFault, QuotaRefusal, QuotaShortage, Refusal,
    UserRefusal,
};
pub use session::{Evicts, Session};
pub use sleep::{SleepTimes, Sleepers};
pub use tiers::Vote;
pub use topology_keys::TopologyKeys;
pub use transaction::{Checkpoint, Choice, PlanStep};
pub use verdict::Verdict;
pub use work_limit::Work;
