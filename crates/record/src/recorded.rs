//! A decider whose inputs are recorded, if somebody wants that.

use std::ops::Deref;
use std::time::Duration;

use pumice_conf::Config;
use pumice_decider::{Clock, Decider, DeciderOptions, Effect, ReportNews, StepResult};
use pumice_devices::ReportPlace;
use pumice_engine::{BindWait, Decisions, Engine, Observer};
use pumice_model::Delta;
use pumice_model::extender::ExtenderReply;
use pumice_model::object::NodeUsage;
use pumice_model::shard::ShardView;
use pumice_model::write::Outcome;

use crate::clocks::NotingClock;
use crate::digest::digest;
use crate::entry::{ReportsOf, TapeEntry, UntakenEffects};
use crate::standing::{SegmentStart, StandingCopy, StandingInputs};
use crate::tape::Tape;

/// A [`Decider`] that is told things by the functions here alone, so that nothing is missing in the recording.
pub struct RecordedDecider {
    decider: Decider,
    /// Not where nothing is to be recorded.
    standing: Option<StandingInputs>,
    tape: Option<Tape>,
}

impl RecordedDecider {
    /// A decider that knows nothing, and how a recording of it begins. Nothing is recorded before
    /// [`RecordedDecider::record`].
    pub fn new(options: DeciderOptions, clock: &dyn Clock) -> (Self, SegmentStart) {
        let clock = NotingClock::new(clock);
        let decider = Decider::new(options.clone(), &clock);
        let standing = StandingInputs::new(options);
        let start = SegmentStart {
            standing: standing.clone(),
            at: crate::clocks::first(&clock.readings()).unwrap_or_default(),
            copy: None,
        };
        let recorded = Self {
            decider,
            standing: Some(standing),
            tape: None,
        };
        (recorded, start)
    }

    /// Records from now on, or no more. What was not taken of an earlier recording is forgotten.
    pub fn record(&mut self, wanted: bool) {
        self.tape = (wanted && self.standing.is_some()).then(Tape::default);
    }

    /// Nothing will be recorded any more, so that nothing has to be remembered for it.
    pub fn never_record(&mut self) {
        self.tape = None;
        self.standing = None;
    }

    /// Whether it records.
    pub fn is_recording(&self) -> bool {
        self.tape.is_some()
    }

    /// A copy at which another segment can begin; none where nothing will be recorded any more.
    pub fn segment_start(&mut self, at: Duration) -> Option<SegmentStart> {
        let standing = self.standing.clone()?;
        let copy = Some(StandingCopy {
            fork: self.decider.engine_mut().fork(),
            memory: self.decider.memory(),
            untaken: UntakenEffects::of(self.decider.untaken()),
        });
        Some(SegmentStart { standing, at, copy })
    }

    /// What was recorded since the last time.
    pub fn take_tape(&mut self) -> Vec<u8> {
        self.tape.as_mut().map(Tape::take).unwrap_or_default()
    }

    fn note(&mut self, entry: &TapeEntry) {
        if let Some(standing) = &mut self.standing {
            standing.note(entry);
        }
        if let Some(tape) = &mut self.tape {
            tape.push(entry);
        }
    }

    /// For what nobody remembers: made only where it is recorded.
    fn note_with(&mut self, entry: impl FnOnce() -> TapeEntry) {
        if let Some(tape) = &mut self.tape {
            tape.push(&entry());
        }
    }

    /// As [`Decider::configure`], with the text of it without secrets, where it can be shown.
    pub fn configure(&mut self, config: &Config, text: Option<&str>) {
        self.note(&TapeEntry::Configure(text.map(str::to_owned)));
        self.decider.configure(config);
    }

    /// As [`Decider::apply`].
    pub fn apply(&mut self, deltas: Vec<Delta>) {
        if let Some(tape) = &mut self.tape {
            tape.push_deltas(&deltas);
        }
        self.decider.apply(deltas);
    }

    /// As [`Decider::take_extender_reply`].
    pub fn take_extender_reply(&mut self, reply: ExtenderReply) {
        self.note_with(|| TapeEntry::ExtenderReply(Box::new(reply.clone())));
        self.decider.take_extender_reply(reply);
    }

    /// As [`Decider::set_synced`].
    pub fn set_synced(&mut self) {
        self.note(&TapeEntry::Synced);
        self.decider.set_synced();
    }

    /// As [`Decider::set_leader`]. Recorded when it is news.
    pub fn set_leader(&mut self, leader: bool) {
        let known = self.standing.as_ref();
        if known.is_some_and(|standing| standing.leads() != leader) {
            self.note(&TapeEntry::Leader(leader));
        }
        self.decider.set_leader(leader);
    }

    /// As [`Decider::set_followed`]. Recorded when it is news.
    pub fn set_followed(&mut self, followed: bool) {
        let known = self.standing.as_ref();
        if known.is_some_and(|standing| standing.is_followed() != followed) {
            self.note(&TapeEntry::Followed(followed));
        }
        self.decider.set_followed(followed);
    }

    /// As [`Decider::rest`].
    pub fn rest(&mut self) {
        self.note(&TapeEntry::Rest);
        self.decider.rest();
    }

    /// As [`Decider::set_device_config`].
    pub fn set_device_config(&mut self, namespace: String, name: String, text: Option<String>) {
        self.note(&TapeEntry::DeviceConfig {
            namespace: namespace.clone(),
            name: name.clone(),
            text: text.clone(),
        });
        self.decider.set_device_config(namespace, name, text);
    }

    /// As [`Decider::set_node_reports`].
    pub fn set_node_reports(&mut self, place: &ReportPlace, news: ReportNews) {
        self.note(&TapeEntry::NodeReports(ReportsOf::of(place), news.clone()));
        self.decider.set_node_reports(place, news);
    }

    /// As [`Decider::set_node_usage`].
    pub fn set_node_usage(&mut self, measured: Vec<(String, NodeUsage)>) {
        self.note_with(|| TapeEntry::NodeUsage(measured.clone()));
        self.decider.set_node_usage(measured);
    }

    /// As [`Decider::set_bind_waits`].
    pub fn set_bind_waits(&mut self, waits: Vec<(String, BindWait)>) {
        self.note_with(|| TapeEntry::BindWaits(waits.clone()));
        self.decider.set_bind_waits(waits);
    }

    /// As [`Decider::set_shard`].
    pub fn set_shard(&mut self, view: ShardView) {
        self.note(&TapeEntry::Shard(view.clone()));
        self.decider.set_shard(view);
    }

    /// As [`Decider::on_outcome`].
    pub fn on_outcome(&mut self, outcome: Outcome, clock: &dyn Clock) {
        if self.tape.is_none() {
            self.decider.on_outcome(outcome, clock);
            return;
        }
        let clock = NotingClock::new(clock);
        self.decider.on_outcome(outcome.clone(), &clock);
        self.note_with(|| TapeEntry::Outcome(outcome, clock.readings()));
    }

    /// As [`Decider::step`].
    pub fn step(&mut self, clock: &dyn Clock, observer: &mut dyn Observer) -> StepResult {
        if self.tape.is_none() {
            return self.decider.step(clock, observer);
        }
        let clock = NotingClock::new(clock);
        let step = self.decider.step(&clock, observer);
        let (placed, evicted) = decided(self.decider.engine(), step.decisions.as_ref());
        self.note_with(|| TapeEntry::Step {
            readings: clock.readings(),
            placed,
            evicted,
        });
        step
    }

    /// As [`Decider::take_effects`].
    pub fn take_effects(&mut self) -> Vec<Effect> {
        let effects = self.decider.take_effects();
        self.note_with(|| TapeEntry::Effects {
            count: u32::try_from(effects.len()).unwrap_or(u32::MAX),
            digest: digest(&effects),
        });
        effects
    }

    /// As [`Decider::engine_mut`]: nothing that is done with it changes a decision.
    pub fn engine_mut(&mut self) -> &mut Engine {
        self.decider.engine_mut()
    }
}

impl Deref for RecordedDecider {
    type Target = Decider;

    fn deref(&self) -> &Decider {
        &self.decider
    }
}

/// Pods that a cycle decided to bind, by UID, with the node; and those to evict.
pub(crate) fn decided(
    engine: &Engine,
    decisions: Option<&Decisions>,
) -> (Vec<(String, String)>, Vec<String>) {
    let Some(decisions) = decisions else {
        return (Vec::new(), Vec::new());
    };
    let state = engine.state();
    let uid = |task| state.task(task).uid.to_string();
    let node = |node| state.nodes().object(node).name.clone();
    let placed = decisions.binds.iter();
    let placed = placed.map(|bind| (uid(bind.task), node(bind.node)));
    let evicted = decisions.evictions.iter();
    let evicted = evicted.map(|eviction| uid(eviction.task));
    (placed.collect(), evicted.collect())
}
