//! How long the parts of a cycle take.

use std::time::Duration;

use pumice_engine::{Decisions, Engine};

use super::{Out, Teller};

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl Teller {
    /// Runs a cycle with its parts timed.
    pub fn observed_cycle(&mut self, engine: &mut Engine, now_s: i64) -> Decisions {
        engine.cycle(now_s)
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
