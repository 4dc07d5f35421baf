//! A record as it is told: what the job held in the time that is asked for, in hours.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hours::{counts_cards, unit_hours};
use crate::query::HistoryQuery;
use crate::record::{JobOutcome, JobRecord};

/// Seconds in which a job waited for one kind of reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRow {
    /// The kind, as metrics name it.
    pub reason: String,
    /// How long.
    pub seconds: i64,
    /// What was told of it last, cut short.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// One job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HistoryRow {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of its PodGroup, or of the pod.
    pub name: String,
    /// UID of its PodGroup.
    pub uid: String,
    /// How many parts were before it, in other queues or of other users.
    pub part: u32,
    /// Queue that it was charged to.
    pub queue: String,
    /// Whom it names as its user; empty for nobody.
    pub user: String,
    /// What became of it.
    pub state: JobOutcome,
    /// When it was made, seconds since the epoch.
    pub submit_s: i64,
    /// When its gang was first on nodes.
    pub start_s: Option<i64>,
    /// When it ended.
    pub end_s: Option<i64>,
    /// Seconds in which it waited, in all.
    pub waited_s: i64,
    /// For what.
    pub waits: Vec<WaitRow>,
    /// Seconds in the time that is asked for in which it held something.
    pub held_s: i64,
    /// Most pods on nodes at a time.
    pub pods: u32,
    /// How many of its pods were evicted.
    pub evicted: u32,
    /// Nodes on which pods of it were, the first ones.
    pub nodes: Vec<String>,
    /// Most nodes on which it was at a time.
    pub nodes_at_once: u32,
    /// Hours of cards in the time that is asked for.
    pub card_hours: f64,
    /// Hours of each resource in that time: of cores, devices, GiB.
    pub hours: BTreeMap<String, f64>,
}

impl HistoryRow {
    /// A record, and what it held in the time that is asked for.
    pub fn of(record: &JobRecord, query: &HistoryQuery) -> Self {
        let held = record.spans.within(query.from_s, query.until_s);
        let hours: BTreeMap<String, f64> = held
            .map(|(name, sum)| (name.to_owned(), unit_hours(name, sum)))
            .collect();
        let cards = hours.iter().filter(|(name, _)| counts_cards(name));
        Self {
            namespace: record.namespace.to_string(),
            name: record.name.to_string(),
            uid: record.uid.to_string(),
            part: record.part,
            queue: record.queue.to_string(),
            user: record.user.to_string(),
            state: record.outcome,
            submit_s: record.submit_s,
            start_s: record.start_s,
            end_s: record.end_s,
            waited_s: record.waited_s(),
            waits: waits(record),
            held_s: record.spans.seconds_within(query.from_s, query.until_s),
            pods: record.pods,
            evicted: record.evicted,
            nodes: record.nodes.iter().map(ToString::to_string).collect(),
            nodes_at_once: record.nodes_at_once,
            card_hours: cards.map(|(_, hours)| hours).sum(),
            hours,
        }
    }
}

fn waits(record: &JobRecord) -> Vec<WaitRow> {
    let some = record.waits.iter().filter(|wait| wait.seconds > 0);
    let rows = some.map(|wait| WaitRow {
        reason: wait.reason.to_string(),
        seconds: wait.seconds,
        text: wait.text.to_string(),
    });
    rows.collect()
}
