//! What is concluded from a failure, and how long to wait before the next try.

use std::time::{Duration, Instant};

use tracing::{debug, error, info, warn};

use super::KindFollower;
use crate::watch::failure::WatchFailure;
use crate::watch::kinds::Importance;
use crate::watch::outbox::ReceiverGone;
use crate::watch::{INSTALL_DEFINITIONS, KindState, NEEDED_DEFINITIONS};

/// Times an API server that serves the required kinds must say that a kind with objects is not
/// installed before it is believed.
const ABSENCES_TO_BELIEVE: u32 = 3;

/// Times a kind that can be missed must be denied, by an API server that serves the required ones,
/// before it counts as empty: one that is starting denies everything for a moment.
const DENIALS_TO_BELIEVE: u32 = 5;

impl KindFollower {
    /// Draws the conclusions from a failure. Returns how long to wait before the next round.
    pub(super) async fn recover(
        &mut self,
        failure: WatchFailure,
    ) -> Result<Duration, ReceiverGone> {
        self.failures = self.failures.saturating_add(1);
        let retry = self.options.pace.retry(self.kind.name, self.failures);
        debug!(
            kind = self.kind.name,
            ?failure,
            ?retry,
            "a list or watch ended"
        );
        match failure {
            WatchFailure::Closed => return Err(ReceiverGone),
            WatchFailure::Ended => {
                let recheck = self.options.pace.recheck;
                if self.listed.is_some_and(|at| at.elapsed() >= recheck) {
                    self.from = None;
                }
                return Ok(retry);
            }
            WatchFailure::Gone => self.from = None,
            WatchFailure::NotStreamed => {
                self.streams = false;
                self.failures = 0;
                return Ok(Duration::ZERO);
            }
            WatchFailure::Absent if self.kind.need == Importance::Custom => {
                let (kind, is_older) = self.kind.in_another_version();
                self.kind = kind;
                if is_older {
                    self.from = None;
                    return Ok(Duration::ZERO);
                }
                return self.absent().await;
            }
            WatchFailure::Absent => self.complain("the API server does not know this kind"),
            WatchFailure::Denied(error) => {
                self.complain(&error);
                self.denials += u32::from(self.place.others_are_served());
                if self.kind.need != Importance::Required && self.denials >= DENIALS_TO_BELIEVE {
                    self.settle().await?;
                }
            }
            WatchFailure::Untrusted(error) => {
                self.from = None;
                self.complain(&error);
            }
            WatchFailure::Broken { error, retry_after } => {
                // One cut is nothing; the watch goes on in a moment.
                if self.failures > 1 || self.from.is_none() {
                    self.complain(&error);
                }
                self.place.count(|counts| counts.failures += 1);
                let longest = self.options.pace.longest_absent_retry;
                return Ok(retry_after.map_or(retry, |asked| retry.max(asked.min(longest))));
            }
        }
        self.place.count(|counts| counts.failures += 1);
        Ok(retry)
    }

    /// The API server does not know the kind. What there was of it is gone, but only when the API
    /// server stays with it: one that is starting may not know it yet.
    async fn absent(&mut self) -> Result<Duration, ReceiverGone> {
        let pace = &self.options.pace;
        self.from = None;
        let known = self.ledger.len() > 0;
        self.absences += u32::from(!known || self.place.others_are_served());
        if known && self.absences < ABSENCES_TO_BELIEVE {
            let wait = pace.retry(self.kind.name, self.failures);
            self.complain("the API server does not know this kind any more");
            return Ok(wait);
        }
        let wait = pace.absent(self.kind.name, self.absences);
        if self.place.state() != KindState::Absent {
            let (kind, api_version) = (self.kind.name, self.kind.api_version);
            match NEEDED_DEFINITIONS.contains(&kind) {
                true => error!(
                    kind,
                    api_version,
                    "not installed, nothing in queues or groups is scheduled: {INSTALL_DEFINITIONS}"
                ),
                false => info!(
                    kind,
                    api_version, "not installed in this version; the feature is off until it is"
                ),
            }
        }
        self.ledger.clear(&mut self.outbox.waiting);
        self.outbox.flush().await?;
        self.place.set_objects(0);
        self.place.contact();
        self.place.set_state(KindState::Absent);
        self.place.followed();
        self.failures = 0;
        self.settle().await?;
        Ok(wait)
    }

    /// Makes a failure visible: in the state always, in the log now and then.
    fn complain(&mut self, error: &str) {
        let error = error.to_owned();
        let every = self.options.pace.complaint;
        if self.complained.is_none_or(|at| at.elapsed() >= every) {
            self.complained = Some(Instant::now());
            warn!(kind = self.kind.name, error, "cannot follow");
        }
        self.place.set_state(KindState::Failing { error });
    }
}
