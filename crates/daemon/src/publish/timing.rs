//! How long the parts of a cycle take.

use std::time::{Duration, Instant};

use pumice_admin::metrics::{Metrics, OnSession};
use pumice_decider::StepResult;
use pumice_engine::{Decisions, Engine, Observer, Stage};
use pumice_record::RecordedDecider;

use super::{Out, Publisher};
use crate::clock::DeciderClock;
use crate::diag::{Activity, CyclePart, DecidingTimes, DiagView};

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Times what the engine tells of its cycle.
struct Stopwatch<'a> {
    metrics: &'a Metrics,
    times: &'a mut DecidingTimes,
    /// Starts of the parts that have not ended, the innermost last.
    starts: Vec<Instant>,
}

impl Observer for Stopwatch<'_> {
    fn begin(&mut self, _: Stage<'_>) {
        self.starts.push(Instant::now());
    }

    fn end(&mut self, stage: Stage<'_>) {
        let Some(start) = self.starts.pop() else {
            return;
        };
        let took = start.elapsed();
        match stage {
            Stage::Open => {
                self.metrics.open_session(ms(took));
                self.times.part(CyclePart::Open, took);
            }
            Stage::PluginOpen(name) => {
                self.metrics.plugin(name, OnSession::Open, ms(took));
                self.times.part(CyclePart::Plugin(name), took);
            }
            Stage::Action(name) => {
                self.metrics.action(name, ms(took));
                self.times.part(CyclePart::Action(name), took);
            }
            Stage::Close => self.times.part(CyclePart::Close, took),
        }
    }
}

impl Publisher {
    /// A step of the decider with the parts of its cycle timed.
    pub fn time_step(&mut self, decider: &mut RecordedDecider, clock: &DeciderClock) -> StepResult {
        let mut stopwatch = Stopwatch {
            metrics: &self.metrics,
            times: &mut self.times,
            starts: Vec::new(),
        };
        decider.step(clock, &mut stopwatch)
    }

    /// The deciding thread does something else from now on.
    pub fn does(&mut self, activity: Activity) {
        let now = self.clock.since_epoch();
        self.times.begin(activity, now);
    }

    /// Where the time of the deciding thread went.
    pub fn diag(&self, engine: &Engine) -> DiagView {
        let bindings = match &self.out {
            Out::Effects(effects) => effects.in_flight(),
            Out::Nowhere => 0,
        };
        self.times.view(self.clock.since_epoch(), engine, bindings)
    }

    /// Counts anew where it goes.
    pub fn reset_diag(&mut self, engine: &Engine) {
        let (steps, _) = engine
            .state()
            .supplies()
            .resource_claims()
            .stock()
            .selector_work();
        self.times.reset(self.clock.since_epoch(), steps);
    }

    /// A change has waited this long for the deciding thread.
    pub fn input_waited(&self, time: Duration) {
        self.metrics.ingest_lag(time.as_secs_f64());
    }

    /// Counts a cycle.
    pub(super) fn cycle_took(&self, took: Duration, decisions: &Decisions) {
        if decisions.skipped {
            self.metrics.idle_cycle();
        } else {
            self.metrics.cycle(ms(took));
            self.metrics.tried(decisions.tried, decisions.missed.len());
        }
        if let Out::Effects(effects) = &self.out {
            self.metrics.bind_inflight(effects.in_flight());
        }
    }
}
