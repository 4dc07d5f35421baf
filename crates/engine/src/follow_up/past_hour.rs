//! How many pods were decided to be bound and evicted in the last hour: a counter for each minute, whatever comes.

/// Minutes of an hour.
const MINUTES: usize = 60;
/// Seconds of a minute.
const MINUTE_S: i64 = 60;

/// What was decided in a minute, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DecidedCount {
    /// Pods to bind.
    pub binds: u64,
    /// Pods to evict.
    pub evictions: u64,
}

impl DecidedCount {
    fn add(&mut self, other: Self) {
        self.binds = self.binds.saturating_add(other.binds);
        self.evictions = self.evictions.saturating_add(other.evictions);
    }
}

/// The last hour.
#[derive(Clone, Default)]
pub(crate) struct PastHour {
    /// By minute since the epoch, counted round.
    minutes: Vec<DecidedCount>,
    /// The minute that was counted last.
    newest: i64,
    /// When counting began, seconds since the epoch.
    since_s: Option<i64>,
}

impl PastHour {
    /// A cycle decided so much.
    pub fn note(&mut self, now_s: i64, decided: DecidedCount) {
        self.since_s.get_or_insert(now_s);
        if self.minutes.is_empty() {
            self.minutes.resize(MINUTES, DecidedCount::default());
            self.newest = now_s.div_euclid(MINUTE_S);
        }
        self.turn(now_s);
        let at = slot(self.newest);
        self.minutes[at].add(decided);
    }

    /// What was decided in the hour before `now_s`.
    pub fn sum(&self, now_s: i64) -> DecidedCount {
        let mut sum = DecidedCount::default();
        let passed = now_s.div_euclid(MINUTE_S).saturating_sub(self.newest);
        let left = (MINUTES as i64).saturating_sub(passed.max(0)).max(0);
        let counted = self.minutes.iter().enumerate();
        // The youngest of them, going back from the one that was counted last.
        let young = |at: usize| {
            let back = (slot(self.newest) + MINUTES - at) % MINUTES;
            (back as i64) < left
        };
        let counted = counted.filter(|(at, _)| young(*at));
        counted.for_each(|(_, count)| sum.add(*count));
        sum
    }

    /// When counting began.
    pub fn since_s(&self) -> Option<i64> {
        self.since_s
    }

    /// Minutes that have passed begin at nothing. A clock that was put back counts into the newest.
    fn turn(&mut self, now_s: i64) {
        let minute = now_s.div_euclid(MINUTE_S);
        let passed = minute.saturating_sub(self.newest);
        for step in 1..=passed.min(MINUTES as i64) {
            // Whoever slept longer than an hour goes round once.
            self.minutes[slot(minute - passed.min(MINUTES as i64) + step)] =
                DecidedCount::default();
        }
        self.newest = self.newest.max(minute);
    }
}

/// The counter of a minute.
fn slot(minute: i64) -> usize {
    minute.rem_euclid(MINUTES as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(binds: u64, evictions: u64) -> DecidedCount {
        DecidedCount { binds, evictions }
    }

    #[test]
    fn what_is_older_than_an_hour_does_not_count() {
        let mut hour = PastHour::default();
        assert_eq!(hour.sum(1_000_000), one(0, 0));
        let start = 1_000_020;
        hour.note(start, one(1, 0));
        hour.note(start + 59, one(2, 1));
        hour.note(start + 1800, one(4, 0));
        assert_eq!(hour.sum(start + 1800), one(7, 1));
        assert_eq!(hour.sum(start + 3599), one(7, 1));
        assert_eq!(hour.sum(start + 3600), one(4, 0));
        hour.note(start + 3600, one(8, 0));
        assert_eq!(hour.sum(start + 3600), one(12, 0));
        assert_eq!(hour.sum(start + 100_000), one(0, 0));
        hour.note(start + 100_000, one(16, 0));
        assert_eq!(hour.sum(start + 100_000), one(16, 0));
        assert_eq!(hour.since_s(), Some(start));
    }

    #[test]
    fn a_clock_that_goes_wrong_costs_nothing_and_loses_nothing() {
        let mut hour = PastHour::default();
        hour.note(6_000, one(1, 0));
        hour.note(-6_000, one(2, 0));
        assert_eq!(hour.sum(6_000), one(3, 0));
        hour.note(i64::MAX, one(4, 0));
        assert_eq!(hour.sum(i64::MAX), one(4, 0));
        assert_eq!(hour.sum(i64::MIN), one(4, 0));
    }

    #[test]
    fn it_sums_up_what_a_list_of_all_would() {
        let mut hour = PastHour::default();
        let mut all: Vec<(i64, u64)> = Vec::new();
        let mut now_s = 0;
        for step in 0..2_000_u64 {
            now_s += (step * step % 97) as i64;
            hour.note(now_s, one(step, 0));
            all.push((now_s, step));
            let minute = now_s.div_euclid(60);
            let young = |at_s: i64| minute - at_s.div_euclid(60) < 60;
            let expected = all.iter().filter(|(at_s, _)| young(*at_s));
            let expected: u64 = expected.map(|(_, count)| count).sum();
            assert_eq!(hour.sum(now_s).binds, expected, "{step}");
        }
    }
}
