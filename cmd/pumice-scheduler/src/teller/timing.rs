//! How long the parts of a cycle take.

use std::time::{Duration, Instant};

use pumice_admin::metrics::Metrics;
use pumice_engine::{Decisions, Engine, Observer};

use super::{Out, Teller};

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Times what the engine tells of its cycle.
struct Stopwatch<'a> {
    metrics: &'a Metrics,
    start: Instant,
}

impl Observer for Stopwatch<'_> {
    fn action_begin(&mut self, _: &str) {
        self.start = Instant::now();
    }

    fn action_end(&mut self, name: &str) {
        self.metrics.action(name, ms(self.start.elapsed()));
    }
}

impl Teller {
    /// Runs a cycle with its parts timed.
    pub fn observed_cycle(&mut self, engine: &mut Engine, now_s: i64) -> Decisions {
        let mut stopwatch = Stopwatch {
            metrics: &self.metrics,
            start: Instant::now(),
        };
        engine.cycle_observed(now_s, &mut stopwatch)
    }

    /// Counts a cycle.
    pub fn cycle_took(&mut self, took: Duration, decisions: &Decisions) {
        if decisions.skipped {
            self.metrics.idle_cycle();
        } else {
            self.metrics.cycle(ms(took));
        }
        if let Out::Effects(effects) = &self.out {
            self.metrics.bind_inflight(effects.in_flight());
        }
    }
}
