//! Where a page gets what it tells.

use pumice_engine::view::{Ask, JobView, Time, View};
use serde::{Deserialize, Serialize};

use crate::workload::ToldWorkload;

/// Who answers: a running scheduler, a simulation, a dump.
pub trait Source {
    /// What is known.
    ///
    /// # Errors
    /// There is nothing to show under that name, or nobody answers: why.
    fn ask(&mut self, ask: &Ask) -> Result<View, String>;

    /// The latest decisions, newest first.
    ///
    /// # Errors
    /// Nobody answers: why.
    fn decisions(&mut self) -> Result<Vec<PageDecision>, String>;

    /// The Job behind a PodGroup that is told of.
    fn workload(&mut self, of: &JobView) -> ToldWorkload;

    /// Whose page it is, and as of when.
    fn standing(&mut self) -> PageStanding;
}

/// Whose page it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageStanding {
    /// A cluster, a file.
    pub of: String,
    /// When what is told was so; `None` for now.
    pub as_of: Option<Time>,
    /// What a reader has to know about the answers, in one sentence; empty for nothing.
    pub note: String,
    /// It changes while one looks at it.
    pub is_live: bool,
    /// Where it is asked what would happen if.
    pub plans: PlansAsked,
    /// Nobody answers at the moment: where something cannot be told, that is why.
    pub unanswered: bool,
}

/// Where it is asked what would happen if.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlansAsked {
    /// On this page.
    Here,
    /// By commands, of whom this page is of.
    ByCommand,
    /// Nowhere: what is shown is past.
    #[default]
    Nowhere,
}

/// A decision, as the journal of a scheduler has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PageDecision {
    /// When, as RFC 3339 writes it; empty where nobody noted it.
    pub time: String,
    /// Number of the cycle.
    pub cycle: u64,
    /// `namespace/name` of the pod.
    pub pod: String,
    /// Node chosen; of a pod that is evicted, the one it leaves.
    pub node: String,
    /// `namespace/name` of its PodGroup; empty for a bare pod.
    pub group: String,
    /// Action that evicts it; empty for a pod that is bound.
    pub action: String,
    /// The job that gets the room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evicted_for: Option<String>,
    /// What is freed of cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
}
