//! The gate in front of binds: as many at once as the window allows, in order, retries first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::window::{Sample, Window};

/// See the module.
pub(super) struct BindLimiter {
    state: Mutex<GateState>,
}

struct GateState {
    window: Window,
    in_flight: usize,
    waiting: VecDeque<oneshot::Sender<Permit>>,
    closed_until: Option<Instant>,
}

/// One request may be in flight. Say how it ended; a permit dropped without a word says nothing.
pub(super) struct Permit {
    gate: Arc<BindLimiter>,
    verdict: Option<(Sample, Instant)>,
}

impl BindLimiter {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(GateState {
                window: Window::new(),
                in_flight: 0,
                waiting: VecDeque::new(),
                closed_until: None,
            }),
        })
    }

    /// A poisoned lock is used on: every change under it is complete at every step.
    fn state(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn. `again` goes before all that have not been tried yet: what was begun is
    /// finished first.
    pub(super) async fn pass(self: &Arc<Self>, again: bool) -> Permit {
        loop {
            let turn = self.queue(again);
            // The sender is dropped only by a permit that was given to nobody.
            let Ok(permit) = turn.await else { continue };
            let closed = self.state().closed_until;
            match closed {
                Some(until) if Instant::now() < until => {
                    drop(permit);
                    tokio::time::sleep_until(until).await;
                }
                _ => return permit,
            }
        }
    }

    fn queue(self: &Arc<Self>, again: bool) -> oneshot::Receiver<Permit> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut state = self.state();
            match again {
                true => state.waiting.push_front(sender),
                false => state.waiting.push_back(sender),
            }
        }
        self.let_in();
        receiver
    }

    /// Lets in whoever fits. Permits are handed over outside the lock: one that finds its receiver
    /// gone comes back through `drop`, which locks.
    fn let_in(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                if state.in_flight >= state.window.limit() {
                    return;
                }
                let Some(next) = state.waiting.pop_front() else {
                    return;
                };
                state.in_flight += 1;
                next
            };
            let permit = Permit {
                gate: Arc::clone(self),
                verdict: None,
            };
            drop(next.send(permit));
        }
    }

    /// Nobody passes for this time (Retry-After). Never shortens an earlier one.
    pub(super) fn close_for(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.state();
        state.closed_until = state.closed_until.max(Some(until));
    }

    /// Whether somebody waits for a turn.
    pub(super) fn is_crowded(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// The window.
    pub(super) fn limit(&self) -> usize {
        self.state().window.limit()
    }
}

impl Permit {
    /// The request that was sent at `sent` has ended.
    pub(super) fn ended(mut self, sample: Sample, sent: Instant) {
        self.verdict = Some((sample, sent));
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        {
            let mut state = self.gate.state();
            let in_flight = state.in_flight;
            if let Some((sample, sent)) = self.verdict {
                state.window.ended(sample, sent, Instant::now(), in_flight);
            }
            state.in_flight -= 1;
        }
        self.gate.let_in();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_more_than_the_window_pass_and_retries_go_first() {
        let gate = BindLimiter::new();
        let mut inside = Vec::new();
        for _ in 0..16 {
            inside.push(gate.pass(false).await);
        }
        let new = gate.queue(false);
        let again = gate.queue(true);
        assert!(gate.is_crowded());
        inside.pop();
        let permit = again.await.expect("a turn");
        drop(permit);
        new.await.expect("a turn");
    }

    #[tokio::test]
    async fn a_turn_nobody_waits_for_any_more_goes_to_the_next() {
        let gate = BindLimiter::new();
        let mut inside = Vec::new();
        for _ in 0..16 {
            inside.push(gate.pass(false).await);
        }
        drop(gate.queue(false));
        let next = gate.queue(false);
        inside.pop();
        next.await.expect("a turn");
        drop(inside);
        assert_eq!(gate.state().in_flight, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_closed_gate_opens_after_its_time() {
        let gate = BindLimiter::new();
        let start = Instant::now();
        gate.close_for(Duration::from_secs(3));
        gate.close_for(Duration::from_secs(1));
        let permit = gate.pass(false).await;
        assert!(start.elapsed() >= Duration::from_secs(3));
        permit.ended(Sample::Answered, Instant::now());
    }
}
