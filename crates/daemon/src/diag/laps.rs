//! Sums of times.

use std::time::Duration;

/// How long something took, each time it was done.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lap {
    /// How often.
    pub count: u64,
    /// All together.
    pub total: Duration,
    /// The last time.
    pub last: Duration,
    /// Time that the longest of them took.
    pub longest: Duration,
}

impl Lap {
    /// Done once more.
    pub fn add(&mut self, took: Duration) {
        self.count += 1;
        self.total += took;
        self.last = took;
        self.longest = self.longest.max(took);
    }

    /// On the average; nothing where it was never done.
    pub fn mean(&self) -> Duration {
        let count = u32::try_from(self.count).unwrap_or(u32::MAX);
        self.total.checked_div(count).unwrap_or_default()
    }
}

/// What the deciding thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Waits for something to happen.
    Waits,
    /// Takes in what the watch brings.
    Changes,
    /// Takes in how writes ended.
    Outcomes,
    /// Takes a configuration, reports and measurements of nodes, and answers of an extender.
    Commands,
    /// Answers pages below `/debug`.
    Answers,
    /// Decides, and looks who waits and why: cycles and reports.
    Steps,
    /// Keeps the journal and counts.
    Records,
    /// Hands on what is to be written.
    Writes,
    /// Brings the numbers of queues, jobs and cards up to date.
    Numbers,
}

impl Activity {
    /// All of them, in the order in which they are told.
    pub const ALL: [Self; 9] = [
        Self::Waits,
        Self::Changes,
        Self::Outcomes,
        Self::Commands,
        Self::Answers,
        Self::Steps,
        Self::Records,
        Self::Writes,
        Self::Numbers,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waits => "waits",
            Self::Changes => "changes",
            Self::Outcomes => "outcomes",
            Self::Commands => "commands",
            Self::Answers => "answers",
            Self::Steps => "steps",
            Self::Records => "records",
            Self::Writes => "writes",
            Self::Numbers => "numbers",
        }
    }
}

/// One activity after the other, without gaps.
pub struct Activities {
    began: Duration,
    since: Duration,
    now: Activity,
    laps: [Lap; Activity::ALL.len()],
}

impl Activities {
    /// Waits from that time on.
    pub fn from(began: Duration) -> Self {
        Self {
            began,
            since: began,
            now: Activity::Waits,
            laps: [Lap::default(); Activity::ALL.len()],
        }
    }

    /// Goes on with something else; what goes on already is not begun again.
    pub fn begin(&mut self, activity: Activity, now: Duration) {
        if activity == self.now {
            return;
        }
        self.laps[self.now as usize].add(now.saturating_sub(self.since));
        self.since = self.since.max(now);
        self.now = activity;
    }

    /// Since when it is counted.
    pub fn began(&self) -> Duration {
        self.began
    }

    /// Each with its times until `now`.
    pub fn laps(&self, now: Duration) -> impl Iterator<Item = (Activity, Lap)> {
        let mut laps = self.laps;
        laps[self.now as usize].add(now.saturating_sub(self.since));
        Activity::ALL
            .into_iter()
            .map(move |what| (what, laps[what as usize]))
    }
}
