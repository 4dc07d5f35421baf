//! Queues as `queue list`, `queue get` and `queues` show them: one table, which has less where less
//! is known.

use std::collections::BTreeMap;
use std::io::Write;

use pumice_api::{Queue, keys};
use pumice_engine::view::QueueView;
use serde::Serialize;
use serde_json::Value;

use super::user::typed;
use super::words::{amounts, or};
use crate::columns::columns;

/// Phases of PodGroups, in the order in which vcctl shows them.
const PHASES: [&str; 5] = ["Inqueue", "Pending", "Running", "Unknown", "Completed"];

const HEAD: [&str; 9] = [
    "NAME",
    "WEIGHT",
    "STATE",
    "PARENT",
    "INQUEUE",
    "PENDING",
    "RUNNING",
    "UNKNOWN",
    "COMPLETED",
];

/// What only the scheduler knows.
const MORE: [&str; 7] = [
    "PRIORITY",
    "SHARE",
    "PODS-WAIT",
    "PODS-RUN",
    "ALLOCATED",
    "DESERVED",
    "CAPABILITY",
];

/// One queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueueTableRow {
    pub name: String,
    /// `None`: the queue itself may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub state: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub parent: String,
    /// By phase; `None`: PodGroups may not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_groups: Option<BTreeMap<String, usize>>,
    /// What the scheduler says.
    #[serde(skip)]
    pub view: Option<QueueView>,
}

impl From<&QueueView> for QueueTableRow {
    fn from(view: &QueueView) -> Self {
        Self {
            name: view.name.clone(),
            weight: Some(view.weight),
            state: view.state.clone(),
            parent: view.parent.clone(),
            pod_groups: Some(view.pod_groups.clone()),
            view: Some(view.clone()),
        }
    }
}

/// Lines of queues of the API server. Nobody counts PodGroups where they may not be read.
pub(super) fn of_objects(
    queues: &[Value],
    groups: Option<&[Value]>,
) -> anyhow::Result<Vec<QueueTableRow>> {
    let mut counts = groups.map(counts);
    let mut lines = Vec::new();
    for object in queues {
        let queue: Queue = typed(object)?;
        let name = queue.metadata.name.clone().unwrap_or_default();
        lines.push(QueueTableRow {
            weight: Some(i64::from(queue.spec.weight.max(1))),
            state: state(&queue).to_owned(),
            parent: queue.spec.parent.clone(),
            pod_groups: counts
                .as_mut()
                .map(|counts| counts.remove(&name).unwrap_or_default()),
            view: None,
            name,
        });
    }
    Ok(lines)
}

/// Queues that PodGroups name, where queues may not be read.
pub(super) fn of_groups(groups: &[Value]) -> Vec<QueueTableRow> {
    let line = |(name, counts)| QueueTableRow {
        name,
        pod_groups: Some(counts),
        ..QueueTableRow::default()
    };
    counts(groups).into_iter().map(line).collect()
}

/// PodGroups by queue and phase.
fn counts(groups: &[Value]) -> BTreeMap<String, BTreeMap<String, usize>> {
    let mut all: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for group in groups {
        let queue = or(text(&group["spec"]["queue"]), keys::DEFAULT_QUEUE);
        let phase = or(text(&group["status"]["phase"]), "Pending");
        let phases = all.entry(queue.to_owned()).or_default();
        *phases.entry(phase.to_owned()).or_default() += 1;
    }
    all
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// A queue nobody has looked at is open.
pub(super) fn state(queue: &Queue) -> &str {
    or(&queue.status.state, "Open")
}

/// A line a queue, with the scheduler's columns where it was asked.
pub(super) fn table(out: &mut dyn Write, lines: &[QueueTableRow]) -> anyhow::Result<()> {
    if lines.iter().all(|line| line.view.is_none()) {
        return columns(out, HEAD, lines.iter().map(row).collect());
    }
    let joined = |first: [String; 9], more: [String; 7]| -> [String; 16] {
        let mut cells = first.into_iter().chain(more);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    };
    let head = joined(HEAD.map(str::to_owned), MORE.map(str::to_owned));
    let rows = lines.iter().map(|line| joined(row(line), more(line)));
    columns(out, head.each_ref().map(String::as_str), rows.collect())
}

fn row(line: &QueueTableRow) -> [String; 9] {
    let count = |phase: &str| match &line.pod_groups {
        Some(counts) => counts.get(phase).copied().unwrap_or_default().to_string(),
        None => "-".to_owned(),
    };
    let [inqueue, pending, running, unknown, completed] = PHASES.map(count);
    [
        line.name.clone(),
        line.weight
            .map_or("-".to_owned(), |weight| weight.to_string()),
        or(&line.state, "-").to_owned(),
        line.parent.clone(),
        inqueue,
        pending,
        running,
        unknown,
        completed,
    ]
}

fn more(line: &QueueTableRow) -> [String; 7] {
    let Some(view) = &line.view else {
        return std::array::from_fn(|_| "-".to_owned());
    };
    let pods = |names: &[&str]| {
        let counts = names.iter().filter_map(|name| view.pods.get(*name));
        counts.sum::<usize>().to_string()
    };
    [
        view.priority.to_string(),
        format!("{:.2}", view.share),
        pods(&["Pending", "Allocated", "Pipelined"]),
        pods(&["Running", "Bound", "Binding"]),
        amounts(&view.allocated),
        amounts(&view.deserved),
        amounts(&view.capability),
    ]
}
