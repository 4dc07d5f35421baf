//! How long the parts of a cycle take.

use std::time::{Duration, Instant};

use pumice_admin::metrics::{Metrics, OnSession};
use pumice_decider::{Decider, StepResult};
use pumice_engine::{Decisions, Observer, Stage};

use super::{Out, Publisher};
use crate::clock::DeciderClock;

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Times what the engine tells of its cycle.
struct Stopwatch<'a> {
    metrics: &'a Metrics,
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
        let took = ms(start.elapsed());
        match stage {
            Stage::Open => self.metrics.open_session(took),
            Stage::PluginOpen(name) => self.metrics.plugin(name, OnSession::Open, took),
            Stage::Action(name) => self.metrics.action(name, took),
            Stage::Close => {}
        }
    }
}

impl Publisher {
    /// A step of the decider with the parts of its cycle timed.
    pub fn time_step(&self, decider: &mut Decider, clock: &DeciderClock) -> StepResult {
        let mut stopwatch = Stopwatch {
            metrics: &self.metrics,
            starts: Vec::new(),
        };
        decider.step(clock, &mut stopwatch)
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
