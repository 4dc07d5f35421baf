//! How many requests may be in flight: additive increase, multiplicative decrease.
//!
//! Grows while answers come fast and the window is used up: by one per answer until the first sign
//! of strain (so doubling per round trip), then by one per window of answers. Shrinks by a tenth
//! when answers become slow against the best latency seen lately, by half on 429, on server errors
//! and on silence; once per round trip, since one strain shows in many answers.

use std::time::Duration;

use tokio::time::Instant;

const START: f64 = 16.0;
const MIN: f64 = 1.0;
const MAX: f64 = 256.0;
/// Weight of a new latency in the mean.
const SMOOTHING: f64 = 0.1;
/// No growth while the mean is above both: seconds, and multiples of the best latency. Once the
/// server is busy more requests only wait longer, and each costs a connection.
const HOLD: (f64, f64) = (0.025, 4.0);
/// Shrink while the mean is above both.
const SHRINK: (f64, f64) = (0.1, 8.0);
const GENTLE: f64 = 0.9;
const HARD: f64 = 0.5;
/// The best latency is forgotten after this time: servers and their load change.
const BEST_LASTS: Duration = Duration::from_secs(30);

/// How a request ended, as far as load goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sample {
    /// Answered, be it yes or no.
    Answered,
    /// 429, a server error, or no answer.
    Strained,
    /// Says nothing about load, for example no connection.
    Ignored,
}

/// The window. Times are handed in.
#[derive(Debug)]
pub(super) struct Window {
    limit: f64,
    probing: bool,
    mean_s: f64,
    best_s: f64,
    best_until: Option<Instant>,
    next_best_s: f64,
    calm_from: Option<Instant>,
}

impl Window {
    pub(super) fn new() -> Self {
        Self {
            limit: START,
            probing: true,
            mean_s: 0.0,
            best_s: f64::INFINITY,
            best_until: None,
            next_best_s: f64::INFINITY,
            calm_from: None,
        }
    }

    /// Requests that may be in flight, 1 …= 256.
    pub(super) fn limit(&self) -> usize {
        self.limit as usize
    }

    /// A request that was sent at `sent` ended at `now`, with `in_flight` under way including it.
    pub(super) fn ended(&mut self, sample: Sample, sent: Instant, now: Instant, in_flight: usize) {
        match sample {
            Sample::Ignored => {}
            Sample::Strained => self.shrink(HARD, sent, now),
            Sample::Answered => {
                self.measure((now - sent).as_secs_f64(), now);
                let above = |(floor, times): (f64, f64)| {
                    self.mean_s > floor && self.mean_s > times * self.best_s
                };
                if above(SHRINK) {
                    self.shrink(GENTLE, sent, now);
                } else if !above(HOLD) && in_flight + 1 >= self.limit() {
                    let step = if self.probing { 1.0 } else { 1.0 / self.limit };
                    self.limit = (self.limit + step).min(MAX);
                }
            }
        }
    }

    fn measure(&mut self, latency_s: f64, now: Instant) {
        self.mean_s = match self.mean_s {
            0.0 => latency_s,
            mean => mean + SMOOTHING * (latency_s - mean),
        };
        match self.best_until {
            Some(until) if now < until => {}
            _ => {
                self.best_s = self.next_best_s;
                self.next_best_s = f64::INFINITY;
                self.best_until = Some(now + BEST_LASTS);
            }
        }
        self.next_best_s = self.next_best_s.min(latency_s);
        self.best_s = self.best_s.min(latency_s);
    }

    /// Once for all requests that were in flight together: one sent before the last decrease tells
    /// nothing about the window after it.
    fn shrink(&mut self, factor: f64, sent: Instant, now: Instant) {
        if self.calm_from.is_some_and(|calm| sent < calm) {
            return;
        }
        self.limit = (self.limit * factor).max(MIN);
        self.probing = false;
        self.calm_from = Some(now);
        // The mean restarts, or the slow answers of before would shrink the window again.
        self.mean_s = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn fed(window: &mut Window, sample: Sample, latency: Duration, count: usize) {
        let mut now = Instant::now() + Duration::from_secs(1000);
        for _ in 0..count {
            window.ended(sample, now, now + latency, window.limit());
            now += latency;
        }
    }

    #[test]
    fn it_starts_at_16_and_doubles_per_round_trip_while_answers_are_fast() {
        let mut window = Window::new();
        assert_eq!(window.limit(), 16);
        fed(&mut window, Sample::Answered, MS, 16);
        assert_eq!(window.limit(), 32);
        fed(&mut window, Sample::Answered, MS, 1000);
        assert_eq!(window.limit(), 256);
    }

    #[test]
    fn it_does_not_grow_while_it_is_not_used_up() {
        let mut window = Window::new();
        let now = Instant::now();
        for _ in 0..100 {
            window.ended(Sample::Answered, now, now + MS, 3);
        }
        assert_eq!(window.limit(), 16);
    }

    #[test]
    fn strain_halves_it_once_per_round_trip() {
        let mut window = Window::new();
        let sent = Instant::now();
        for answer in 1..=16 {
            window.ended(Sample::Strained, sent, sent + answer * MS, 16);
        }
        assert_eq!(window.limit(), 8);
        let sent = sent + 20 * MS;
        window.ended(Sample::Strained, sent, sent + MS, 8);
        assert_eq!(window.limit(), 4);
    }

    #[test]
    fn after_strain_it_grows_by_one_per_window_of_answers() {
        let mut window = Window::new();
        fed(&mut window, Sample::Strained, MS, 1);
        fed(&mut window, Sample::Answered, MS, 9);
        assert_eq!(window.limit(), 9);
    }

    #[test]
    fn answers_that_become_slow_shrink_it_gently() {
        let mut window = Window::new();
        fed(&mut window, Sample::Answered, 2 * MS, 16);
        fed(&mut window, Sample::Answered, 600 * MS, 7);
        assert!((16..32).contains(&window.limit()), "{}", window.limit());
    }

    #[test]
    fn a_server_that_is_always_slow_is_not_starved() {
        let mut window = Window::new();
        fed(&mut window, Sample::Answered, 500 * MS, 100);
        assert!(window.limit() >= 16, "{}", window.limit());
    }

    #[test]
    fn on_a_saturated_server_it_stops_growing_when_only_latency_grows() {
        // A server that takes 1 ms per request: whoever is in flight waits for all before it.
        let mut window = Window::new();
        let mut now = Instant::now();
        for i in 0..20_000 {
            let latency = MS * window.limit().min(i + 1) as u32;
            window.ended(Sample::Answered, now, now + latency, window.limit());
            now += MS;
        }
        assert!((20..60).contains(&window.limit()), "{}", window.limit());
    }

    #[test]
    fn no_connection_changes_nothing() {
        let mut window = Window::new();
        fed(&mut window, Sample::Ignored, MS, 100);
        assert_eq!(window.limit(), 16);
    }

    proptest! {
        #[test]
        fn it_stays_within_1_and_256(
            samples in prop::collection::vec((0u8..3, 0u64..3000, 0usize..300), 0..300),
        ) {
            let mut window = Window::new();
            let mut now = Instant::now();
            for (kind, latency, in_flight) in samples {
                let sample = [Sample::Answered, Sample::Strained, Sample::Ignored]
                    [usize::from(kind)];
                let before = window.limit();
                let sent = now;
                now += Duration::from_millis(latency);
                window.ended(sample, sent, now, in_flight);
                prop_assert!((1..=256).contains(&window.limit()));
                prop_assert!(window.limit() <= before + 1);
                if sample != Sample::Answered {
                    prop_assert!(window.limit() <= before);
                }
            }
        }
    }
}
