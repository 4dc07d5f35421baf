//! The loop that decides, as a pure state machine around the engine: inputs and time in, effects
//! out. The daemon drives it with watches, a clock and writers, the fault simulation with virtual
//! ones.
//!
//! ```text
//!  changes, outcomes, configuration, ─► Decider ─► Decider::step(clock) ─► Decisions, for numbers
//!  leader or not, followed or not         │  a cycle, a report: when they are due
//!                                         └► Decider::take_effects ─► writes, recalls, log lines
//! ```
//!
//! Nothing is decided before all first lists are complete, without a valid configuration, by a
//! replica that is not the leader, or while what happens in the cluster is not followed. A change is
//! acted on at once; while cycles take long, the pause between two is as long as the last one took,
//! so that changes are taken in bundles. A standby takes changes in and decides nothing; so does a
//! decider that rests, which still takes in how its last writes ended.
//!
//! Deliberately absent: threads, channels, sockets, and any clock but [`Clock`].

pub mod beside;
mod counted_tasks;
mod dry_decisions;
mod effect;
mod effect_list;
mod evictions;
mod expectations;
mod inputs;
mod node_reports;
mod node_sharing;
mod notes;
mod object_refs;
mod outcomes;
mod pending_cleanups;
mod reason_looks;
mod report;
mod silent_nodes;
mod status_retries;
mod step;
mod task_mix;
mod told_usage;
mod unanswered;

use std::time::Duration;

use pumice_conf::Config;
use pumice_engine::Engine;

pub use counted_tasks::counted_place;
pub use effect::{Effect, LogLevel, LogLine};
pub use inputs::{DeviceConfigPlace, device_config_place, report_places};
pub use node_reports::{ReportData, ReportNews};
pub use step::StepResult;
pub use task_mix::{MixPlace, mix_place};

use counted_tasks::CountedTasksKeeper;
use dry_decisions::DryDecisions;
use effect_list::EffectList;
use expectations::Expectations;
use node_reports::NodeReports;
use node_sharing::NodeSharing;
use pending_cleanups::PendingCleanups;
use reason_looks::ReasonLooks;
use status_retries::StatusRetries;
use told_usage::ToldUsage;
use unanswered::UnansweredPods;

/// Shortest pause between two cycles: a burst of single changes is taken together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// Where time comes from.
pub trait Clock {
    /// Time since 1970, by a clock that never goes back and never jumps.
    fn now(&self) -> Duration;
}

/// How nodes are shared with other schedulers by NodeShard objects (spec/01 §1.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Sharding {
    /// Not at all.
    None,
    /// Only nodes of the own shard.
    Hard,
    /// Nodes of the own shard first.
    Soft,
}

/// What a decider runs with.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct DeciderOptions {
    /// Queue of PodGroups and pods that name none.
    pub default_queue: String,
    /// Provisioners whose volumes do not count against node limits.
    pub ignored_provisioners: Vec<String>,
    /// Longest pause between two cycles; one on an unchanged cluster costs nothing.
    pub period: Duration,
    /// How long the API server keeps events: later they are written again.
    pub event_lifetime: Duration,
    /// How nodes of other shards are used.
    pub sharding: Sharding,
    /// How long a gang may stay bound in part; zero for any time.
    pub gang_deadline: Duration,
    /// Work a job may take of a cycle; `None`: any.
    pub job_work_limit: Option<u64>,
    /// How often jobs that sleep are tried all the same; zero: in every cycle.
    pub full_check: Duration,
    /// Decide without writing.
    pub dry_run: bool,
}

/// See the crate.
pub struct Decider {
    engine: Engine,
    default_queue: String,
    /// There is a valid configuration.
    configured: bool,
    /// Where the device configuration is, and whether it was read since.
    device_config: (DeviceConfigPlace, bool),
    /// What ConfigMaps about nodes tell of.
    reports: NodeReports,
    usage: ToldUsage,
    /// Every first list is complete.
    synced: bool,
    leader: bool,
    /// It has led, now or before.
    has_led: bool,
    /// What decisions are made from is followed.
    followed: bool,
    resting: bool,
    /// Something has happened since the last cycle.
    changed: bool,
    period: Duration,
    /// When the last cycle ended, and how long it took.
    last_cycle: (Duration, Duration),
    report_due: Option<Duration>,
    looks: ReasonLooks,
    sharing: NodeSharing,
    retries: StatusRetries,
    cleanups: PendingCleanups,
    unanswered: UnansweredPods,
    expectations: Expectations,
    dry_decisions: DryDecisions,
    counted: CountedTasksKeeper,
    effects: EffectList,
}

impl Decider {
    /// A decider that decides nothing until it has a configuration, complete lists and the lead.
    pub fn new(options: DeciderOptions, clock: &dyn Clock) -> Self {
        let mut engine = Engine::new(&Config::default(), &options.default_queue);
        engine.ignore_provisioners(options.ignored_provisioners);
        engine.set_event_lifetime_s(whole_s(options.event_lifetime));
        engine.set_partial_gang_deadline(whole_s(options.gang_deadline));
        engine.limit_work(options.job_work_limit);
        engine.set_full_check_interval_s(Some(whole_s(options.full_check)));
        Self {
            engine,
            default_queue: options.default_queue,
            configured: false,
            device_config: (None, true),
            reports: NodeReports::default(),
            usage: ToldUsage::default(),
            synced: false,
            leader: false,
            has_led: false,
            followed: true,
            resting: false,
            changed: false,
            period: options.period.max(SHORTEST_PAUSE),
            last_cycle: (clock.now(), Duration::ZERO),
            report_due: None,
            looks: ReasonLooks::default(),
            sharing: NodeSharing::new(options.sharding),
            retries: StatusRetries::default(),
            cleanups: PendingCleanups::default(),
            unanswered: UnansweredPods::default(),
            expectations: Expectations::default(),
            dry_decisions: DryDecisions::default(),
            counted: CountedTasksKeeper::default(),
            effects: EffectList::new(options.dry_run),
        }
    }

    /// The engine, to be read.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The engine, for what counts its changes since the last look: numbers and gauges.
    pub fn engine_mut(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Nodes of whose devices nothing new was told for longer than is usual.
    pub fn silent_nodes(&self) -> usize {
        self.reports.silent.len()
    }

    /// Whether there is a valid configuration.
    pub fn is_configured(&self) -> bool {
        self.configured
    }

    /// Whether a cycle would be run when it is due. A dry run needs no lead.
    pub fn may_decide(&self) -> bool {
        !self.resting
            && self.configured
            && self.followed
            && self.device_config.1
            && self.synced
            && (self.effects.is_dry() || self.leader)
    }

    /// What is to be done, in this order, since this was last asked.
    pub fn take_effects(&mut self) -> Vec<Effect> {
        self.effects.take()
    }
}

fn whole_s(time: Duration) -> i64 {
    i64::try_from(time.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
