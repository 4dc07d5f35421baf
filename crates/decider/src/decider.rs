//! The state machine: what it knows between two steps.

use std::time::Duration;

use pumice_conf::Config;
use pumice_engine::Engine;

use crate::clock::{Clock, whole_s};
use crate::config_maps::DeviceConfigPlace;
use crate::dry_decisions::DryDecisions;
use crate::effect::Effect;
use crate::effect_list::EffectList;
use crate::expectations::Expectations;
use crate::kept_texts::KeptTexts;
use crate::node_reports::NodeReports;
use crate::node_sharing::NodeSharing;
use crate::options::DeciderOptions;
use crate::pending_cleanups::PendingCleanups;
use crate::reason_looks::ReasonLooks;
use crate::status_retries::StatusRetries;
use crate::told_usage::ToldUsage;
use crate::unanswered::UnansweredPods;

/// Shortest pause between two cycles: a burst of single changes is taken together.
pub(crate) const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// The state machine: see the crate.
pub struct Decider {
    pub(crate) engine: Engine,
    pub(crate) default_queue: String,
    /// There is a valid configuration.
    pub(crate) configured: bool,
    /// Where the device configuration is, and whether it was read since.
    pub(crate) device_config: (DeviceConfigPlace, bool),
    /// What ConfigMaps about nodes tell of.
    pub(crate) reports: NodeReports,
    pub(crate) usage: ToldUsage,
    /// Every first list is complete.
    pub(crate) synced: bool,
    pub(crate) leader: bool,
    /// It has led, now or before.
    pub(crate) has_led: bool,
    /// What decisions are made from is followed.
    pub(crate) followed: bool,
    pub(crate) resting: bool,
    /// Something has happened since the last cycle.
    pub(crate) changed: bool,
    pub(crate) period: Duration,
    /// When the last cycle ended, and how long it took.
    pub(crate) last_cycle: (Duration, Duration),
    pub(crate) report_due: Option<Duration>,
    pub(crate) looks: ReasonLooks,
    pub(crate) sharing: NodeSharing,
    pub(crate) retries: StatusRetries,
    pub(crate) cleanups: PendingCleanups,
    pub(crate) unanswered: UnansweredPods,
    pub(crate) expectations: Expectations,
    pub(crate) dry_decisions: DryDecisions,
    pub(crate) kept: KeptTexts,
    pub(crate) effects: EffectList,
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
            kept: KeptTexts::default(),
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
