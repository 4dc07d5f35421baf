//! What is concluded from a failure, and how long to wait before the next try.

use std::time::{Duration, Instant};

use tracing::{debug, warn};

use super::board::KindState;
use super::failure::WatchFailure;
use super::follower::KindFollower;
use super::listener::{Heard, KindListener, ReceiverGone};

/// Times an API server that serves the others must say that a kind with objects is not
/// installed before it is believed.
const ABSENCES_TO_BELIEVE: u32 = 3;

/// Times a kind that can be missed must be denied, by an API server that serves the others,
/// before it counts as empty: one that is starting denies everything for a moment.
const DENIALS_TO_BELIEVE: u32 = 5;

impl<L: KindListener> KindFollower<L> {
    /// Draws the conclusions from a failure. Returns how long to wait before the next round.
    pub(super) async fn recover(
        &mut self,
        failure: WatchFailure,
    ) -> Result<Duration, ReceiverGone> {
        self.failures = self.failures.saturating_add(1);
        let retry = self.limits.pace.retry(self.kind.name, self.failures);
        debug!(
            kind = self.kind.name,
            ?failure,
            ?retry,
            "a list or watch ended"
        );
        match failure {
            WatchFailure::Closed => return Err(ReceiverGone),
            WatchFailure::Ended => {
                let recheck = self.limits.pace.recheck;
                if self.listed.is_some_and(|at| at.elapsed() >= recheck) {
                    self.from = None;
                }
                return Ok(retry);
            }
            WatchFailure::Gone => self.from = None,
            WatchFailure::NotStreamed => {
                debug!(kind = self.kind.name, "lists are not streamed, but paged");
                self.streams = false;
                self.failures = 0;
                return Ok(Duration::ZERO);
            }
            WatchFailure::Absent if self.kind.may_be_absent => {
                self.from = None;
                return match self.kind.try_another_version() {
                    true => Ok(Duration::ZERO),
                    false => self.absent().await,
                };
            }
            WatchFailure::Absent => {
                let text = "the API server does not know this kind";
                self.complain(text).await?;
            }
            WatchFailure::Denied { verb, message } => {
                let text = self.listener.denial(&self.kind, verb, &message);
                self.complain(&text).await?;
                self.denials += u32::from(self.place.others_are_served());
                if !self.kind.required && self.denials >= DENIALS_TO_BELIEVE {
                    self.settle().await?;
                }
            }
            WatchFailure::Untrusted(error) => {
                self.from = None;
                self.complain(&error).await?;
            }
            WatchFailure::Broken { error, retry_after } => {
                // One cut is nothing; the watch goes on in a moment.
                if self.failures > 1 || self.from.is_none() {
                    self.complain(&error).await?;
                }
                self.place.count(|counts| counts.failures += 1);
                let longest = self.limits.pace.longest_absent_retry;
                return Ok(retry_after.map_or(retry, |asked| retry.max(asked.min(longest))));
            }
        }
        self.place.count(|counts| counts.failures += 1);
        Ok(retry)
    }

    /// The API server does not know the kind. What there was of it is gone, but only when the API
    /// server stays with it: one that is starting may not know it yet.
    async fn absent(&mut self) -> Result<Duration, ReceiverGone> {
        let name = self.kind.name;
        let known = self.ledger.len() > 0;
        self.absences += u32::from(!known || self.place.others_are_served());
        if known && self.absences < ABSENCES_TO_BELIEVE {
            let text = "the API server does not know this kind any more";
            self.complain(text).await?;
            return Ok(self.limits.pace.retry(name, self.failures));
        }
        if self.place.state() != KindState::Absent {
            self.listener.log_absence(&self.kind);
        }
        self.ledger.clear(&mut self.waiting);
        let gone = std::mem::take(&mut self.waiting);
        self.listener.tell(gone).await?;
        self.listener.listed(&self.ledger).await?;
        self.place.set_objects(0);
        self.place.contact();
        self.place.set_state(KindState::Absent);
        self.place.followed();
        self.failures = 0;
        self.settle().await?;
        Ok(self.limits.pace.absent(name, self.absences))
    }

    /// Makes a failure visible: in the state and to the listener always, in the log now and then.
    async fn complain(&mut self, error: &str) -> Heard {
        let every = self.limits.pace.complaint;
        if self.kind.logs && self.complained.is_none_or(|at| at.elapsed() >= every) {
            self.complained = Some(Instant::now());
            warn!(kind = self.kind.name, error, "cannot follow");
        }
        let state = KindState::Failing {
            error: error.to_owned(),
        };
        self.place.set_state(state);
        if self.kind.retells {
            self.from = None;
        }
        self.listener.failed(error, self.failures).await
    }
}
