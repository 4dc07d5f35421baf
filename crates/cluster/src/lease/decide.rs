//! What a candidate does next: a pure function of what it has seen.

use std::time::Duration;

use pumice_model::lag::RELEASE_PAUSE;

use super::ElectionSettings;

/// A reading of the local monotonic clock; only differences mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mono(pub Duration);

impl Mono {
    /// This much later.
    #[must_use]
    pub fn plus(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// Time until then, 0 when it has passed.
    #[must_use]
    pub fn until(self, then: Self) -> Duration {
        then.0.saturating_sub(self.0)
    }
}

/// What a Lease says, as far as the election cares. Its times are only compared with themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaseRecord {
    /// `spec.holderIdentity`; empty when released.
    pub holder: String,
    /// `spec.leaseDurationSeconds`; `None` when absent or not positive.
    pub duration: Option<Duration>,
    /// `spec.renewTime` in microseconds of the holder's clock; a mere stamp to us.
    pub renewed_us: Option<i64>,
    /// `spec.leaseTransitions`.
    pub transitions: i32,
}

/// Whether [`CandidateView::last`] is what the API server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Freshness {
    /// Not read yet, or a conflict says it is outdated.
    #[default]
    Outdated,
    /// There is no Lease.
    Missing,
    /// The last record is the newest we know of.
    Known,
}

/// All a candidate knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CandidateView {
    last: Option<LeaseRecord>,
    freshness: Freshness,
    since: Mono,
    /// The last record was seen before this process listed anything.
    precedes_lists: bool,
    term_from: Option<Mono>,
    read_at: Mono,
    not_before: Mono,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElectionStep {
    /// Read the Lease.
    Read,
    /// Make the Lease, held by us.
    Create,
    /// Become the holder by an update on the record's resource version.
    Take,
    /// Stay the holder, likewise.
    Renew,
    /// Nothing to do for so long.
    Wait(Duration),
    /// The term has ended: stop writing, then go on as a candidate.
    Lost(Loss),
}

/// Why a term ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loss {
    /// No renewal within the renew deadline.
    Deadline,
    /// The Lease names somebody else, or nobody.
    Taken,
    /// The Lease was deleted.
    Deleted,
}

impl CandidateView {
    /// The Lease as an answer showed it; `None` when there is none. `now` is when the answer came:
    /// later than the change, so that a standby waits too long rather than too short.
    pub fn saw(&mut self, record: Option<LeaseRecord>, now: Mono) {
        match record {
            Some(record) => {
                if self.last.as_ref() != Some(&record) {
                    self.last = Some(record);
                    self.since = now;
                    self.precedes_lists = false;
                }
                self.freshness = Freshness::Known;
            }
            // The last record stays: whoever held a Lease that was deleted may go on writing
            // until its term ends.
            None => self.freshness = Freshness::Missing,
        }
    }

    /// What this process knows of the cluster is listed from now on: what was written before the last record is in it.
    pub fn lists_follow(&mut self) {
        self.precedes_lists = true;
    }

    /// We have become or stayed the holder by a request sent at `sent` and answered at `now`.
    pub fn held(&mut self, record: LeaseRecord, sent: Mono, now: Mono) {
        self.saw(Some(record), now);
        self.term_from = Some(sent);
        self.not_before = Mono::default();
    }

    /// An update was refused because the Lease has changed.
    pub fn conflict(&mut self) {
        self.freshness = Freshness::Outdated;
    }

    /// A request failed: wait a while before the next.
    pub fn failed(&mut self, now: Mono, pause: Duration) {
        self.not_before = now.plus(pause);
    }

    /// When a standby reads again.
    pub fn read_again(&mut self, at: Mono) {
        self.read_at = at;
    }

    /// The term is over (see [`ElectionStep::Lost`]).
    pub fn drop_term(&mut self) {
        self.term_from = None;
    }

    /// When the request that began or renewed our term was sent.
    pub fn term_from(&self) -> Option<Mono> {
        self.term_from
    }

    /// The last record seen.
    pub fn last(&self) -> Option<&LeaseRecord> {
        self.last.as_ref()
    }

    /// When the last record may be taken over: `None` now, else that moment.
    fn foreign_until(&self, me: &ElectionSettings) -> Option<Mono> {
        let record = self.last.as_ref()?;
        let is_released = record.holder.is_empty();
        if record.holder == me.identity || is_released && self.precedes_lists {
            return None;
        }
        let pause = match is_released {
            true => RELEASE_PAUSE,
            false => record.duration.unwrap_or(me.lease_duration),
        };
        Some(self.since.plus(pause))
    }
}

#[cfg(test)]
impl CandidateView {
    /// This knowledge with `now` moved to `base` and every time limited to `reach` before it, stamps
    /// renamed: two states that behave alike become equal.
    pub(super) fn rebased(
        &self,
        now: Mono,
        base: Mono,
        reach: Duration,
        rename: &dyn Fn(i64) -> i64,
    ) -> Self {
        let floor = Mono(base.0.saturating_sub(reach));
        let shift = |time: Mono| Mono(base.0.saturating_sub(time.until(now))).max(floor);
        let mut last = self.last.clone();
        if let Some(record) = &mut last {
            record.renewed_us = record.renewed_us.map(rename);
        }
        Self {
            last,
            freshness: self.freshness,
            since: shift(self.since),
            precedes_lists: self.precedes_lists,
            term_from: self.term_from.map(shift),
            read_at: floor,
            not_before: floor,
        }
    }
}

/// The next action of a candidate.
pub fn decide(observed: &CandidateView, me: &ElectionSettings, now: Mono) -> ElectionStep {
    match observed.term_from {
        Some(from) => as_holder(observed, me, from, now),
        None => as_candidate(observed, me, now),
    }
}

fn as_holder(
    observed: &CandidateView,
    me: &ElectionSettings,
    from: Mono,
    now: Mono,
) -> ElectionStep {
    let end = from.plus(me.renew_deadline);
    if now >= end {
        return ElectionStep::Lost(Loss::Deadline);
    }
    let held = observed
        .last
        .as_ref()
        .map(|record| record.holder == me.identity);
    match observed.freshness {
        Freshness::Missing => return ElectionStep::Lost(Loss::Deleted),
        Freshness::Known if held != Some(true) => return ElectionStep::Lost(Loss::Taken),
        Freshness::Known | Freshness::Outdated => {}
    }
    let outdated = observed.freshness == Freshness::Outdated;
    let due = match outdated {
        true => observed.not_before,
        false => observed.not_before.max(from.plus(me.retry_period)),
    };
    if now < due {
        return ElectionStep::Wait(now.until(due.min(end)));
    }
    match outdated {
        true => ElectionStep::Read,
        false => ElectionStep::Renew,
    }
}

fn as_candidate(observed: &CandidateView, me: &ElectionSettings, now: Mono) -> ElectionStep {
    if now < observed.not_before {
        return ElectionStep::Wait(now.until(observed.not_before));
    }
    if observed.freshness == Freshness::Outdated {
        return ElectionStep::Read;
    }
    let free = observed.foreign_until(me);
    match (free, observed.freshness) {
        (Some(free), _) if now < free => {
            let due = observed.read_at.max(observed.not_before);
            match now < due {
                true => ElectionStep::Wait(now.until(due.min(free))),
                false => ElectionStep::Read,
            }
        }
        (_, Freshness::Missing) => ElectionStep::Create,
        _ => ElectionStep::Take,
    }
}

#[cfg(test)]
mod tests;
