//! The record of one job.

use serde::{Deserialize, Serialize};

use crate::spans::UseSpans;
use crate::words::{kept_name, kept_text, reasons};

/// Reasons of a record: there are fewer kinds of them.
const MAX_REASONS: usize = 64;

/// Nodes whose names a record has.
const MAX_NODES: usize = 64;

/// A clock that goes back by more than an hour begins anew.
const MAX_BACK_S: i64 = 3600;

/// What became of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOutcome {
    /// It waits.
    #[default]
    Waiting,
    /// The gang is on nodes.
    Running,
    /// All its pods have ended, none badly.
    Succeeded,
    /// All its pods have ended, some badly.
    Failed,
    /// It, or its last pod, was deleted before that.
    Deleted,
    /// It goes on as another part, in another queue or of another user.
    Moved,
    /// It ended while nobody looked.
    Unseen,
}

impl JobOutcome {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Deleted,
        Self::Moved,
        Self::Unseen,
    ];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Deleted => "deleted",
            Self::Moved => "moved",
            Self::Unseen => "unseen",
        }
    }

    /// It goes on.
    pub fn goes_on(self) -> bool {
        matches!(self, Self::Waiting | Self::Running)
    }
}

/// Seconds in which a job waited for one kind of reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSum {
    /// The kind, as metrics name it.
    pub reason: Box<str>,
    /// How long, in all.
    pub seconds: i64,
    /// What was told of it last, cut short.
    pub text: Box<str>,
}

/// One job, or a part of one that was moved to another queue or user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// UID of its PodGroup; `podgroup-` and the pod's UID for a pod without one.
    pub uid: Box<str>,
    /// How many parts were before it.
    pub part: u32,
    /// Namespace of the job.
    pub namespace: Box<str>,
    /// Name of its PodGroup, or of the pod.
    pub name: Box<str>,
    /// Queue that it is charged to.
    pub queue: Box<str>,
    /// Whom it names as its user; empty for nobody.
    pub user: Box<str>,
    /// When it was made, seconds since the epoch.
    pub submit_s: i64,
    /// When its gang was first on nodes.
    pub start_s: Option<i64>,
    /// When it ended, as far as it did.
    pub end_s: Option<i64>,
    /// What became of it.
    pub outcome: JobOutcome,
    /// Most pods on nodes at a time.
    pub pods: u32,
    /// How many of its pods were evicted.
    pub evicted: u32,
    /// Why it waited, longest ago first.
    pub waits: Vec<WaitSum>,
    /// Index of the reason for which it waits now.
    pub(crate) waits_for: Option<u32>,
    /// What it held.
    pub spans: UseSpans,
    /// Nodes on which pods of it were, the first ones.
    pub nodes: Vec<Box<str>>,
    /// Most nodes on which it was at a time.
    pub nodes_at_once: u32,
    /// Until when all this is so, seconds since the epoch.
    pub as_of_s: i64,
}

impl JobRecord {
    /// Seconds in which it waited, for whatever.
    pub fn waited_s(&self) -> i64 {
        let seconds = self.waits.iter().map(|wait| wait.seconds);
        seconds.fold(0, i64::saturating_add)
    }

    /// What it does went on until then.
    pub fn advance(&mut self, now_s: i64) {
        let went_s = now_s.saturating_sub(self.as_of_s);
        if went_s < 0 {
            if went_s < -MAX_BACK_S {
                self.spans.close();
                self.as_of_s = now_s;
            }
            return;
        }
        if let Some(wait) = self
            .waits_for
            .and_then(|at| self.waits.get_mut(at as usize))
        {
            wait.seconds = wait.seconds.saturating_add(went_s);
        }
        self.spans.advance(self.as_of_s, now_s);
        self.as_of_s = now_s;
    }

    /// It waits from now on, for this kind of reason.
    pub(crate) fn wait_for(&mut self, reason: &str, text: &str) {
        let known = self.waits.iter().position(|wait| *wait.reason == *reason);
        let at = match known {
            Some(at) => at,
            None if self.waits.len() < MAX_REASONS => {
                self.waits.push(WaitSum {
                    reason: kept_name(reason),
                    ..WaitSum::default()
                });
                self.waits.len() - 1
            }
            None => return,
        };
        if !text.is_empty() {
            self.waits[at].text = kept_text(text);
        }
        self.waits_for = u32::try_from(at).ok();
        (self.outcome, self.end_s) = (JobOutcome::Waiting, None);
    }

    /// The gang is on nodes from now on.
    pub(crate) fn run(&mut self) {
        if self.outcome != JobOutcome::Running {
            self.start_s.get_or_insert(self.as_of_s);
            (self.outcome, self.end_s) = (JobOutcome::Running, None);
            self.waits_for = None;
        }
    }

    /// It has ended, and holds nothing any more unless pods are still there.
    pub(crate) fn end(&mut self, outcome: JobOutcome) {
        if self.end_s.is_none() {
            self.end_s = Some(self.as_of_s);
        }
        self.outcome = outcome;
        self.waits_for = None;
    }

    /// Pods of it are on these nodes.
    pub(crate) fn be_on<'a>(&mut self, pods: usize, nodes: impl IntoIterator<Item = &'a str>) {
        let mut at_once = 0;
        for node in nodes {
            at_once += 1;
            let is_full = self.nodes.len() >= MAX_NODES;
            if !is_full && !self.nodes.iter().any(|known| **known == *node) {
                self.nodes.push(kept_name(node));
            }
        }
        self.nodes_at_once = self.nodes_at_once.max(at_once);
        self.pods = self.pods.max(u32::try_from(pods).unwrap_or(u32::MAX));
    }

    /// It waits, and it is known for what.
    pub(crate) fn waits_for_something(&self) -> bool {
        let waits = self.waits_for.and_then(|at| self.waits.get(at as usize));
        waits.is_some_and(|wait| *wait.reason != *reasons::UNSEEN)
    }
}
