//! Places that are kept for jobs, for whoever comes after: as a text for another process, as lines of a memory for another
//! engine.
//!
//! ```text
//!  {"format":1}
//!  {"start":…,"end":…,"pods":[["UID","node"],…],"room":[["cpu",4000],…],"promised":…,"serial":…, …}     each job
//! ```
//!
//! Pods are named by UID, nodes and resources by name. Of whom a pod or a node is not there any more, it is planned anew.

use crate::kept_lines::{FormatLine, MAX_KEPT_BYTES, format_fault, line};
use pumice_framework::reserved::{JobReservation, Moved, MovedBy, Reservations};
use pumice_model::{JobId, State, TaskId};
use serde::{Deserialize, Serialize};

/// More lines of a text are not read.
const MAX_KEPT_LINES: usize = 4_096;
/// How the text is written.
const FORMAT: u32 = 1;

/// Places that are kept for a job, by names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptJobPlaces {
    start: i64,
    end: Option<i64>,
    /// UID and node of each.
    pods: Vec<(String, String)>,
    room: Vec<(String, i64)>,
    counted: Vec<String>,
    spans: bool,
    after: Option<String>,
    promised: i64,
    moved: Option<(i64, KeptMove)>,
    serial: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum KeptMove {
    Room,
    Overrun,
    PlacesTaken,
    Nodes,
}

impl KeptJobPlaces {
    /// By the names of a cluster. Pods that are gone are left out.
    pub fn of(state: &State, one: &JobReservation) -> Self {
        let population = state.population();
        let node = |node| state.nodes().object(node).name.clone();
        let pods = one.pods.iter();
        let pods = pods.filter_map(|(id, at)| Some((id.uid(population)?.to_owned(), node(*at))));
        let room = one.room.iter();
        let counted = one.counted.iter();
        Self {
            start: one.start_s,
            end: one.end_s,
            pods: pods.collect(),
            room: room
                .map(|(ix, amount)| (state.resources().name(*ix).to_owned(), *amount))
                .collect(),
            counted: counted
                .filter_map(|id| id.uid(population).map(str::to_owned))
                .collect(),
            spans: one.spans_nodes,
            after: one.after.as_deref().map(str::to_owned),
            promised: one.promised_s,
            moved: one.moved.map(|moved| {
                let why = match moved.why {
                    MovedBy::Room => KeptMove::Room,
                    MovedBy::Overrun => KeptMove::Overrun,
                    MovedBy::PlacesTaken => KeptMove::PlacesTaken,
                    MovedBy::Nodes => KeptMove::Nodes,
                };
                (moved.from_s, why)
            }),
            serial: one.serial,
        }
    }

    /// In a cluster: nothing, where a pod, a node or a resource of it is not there, or the pods are not those of one job.
    pub fn find(&self, state: &State) -> Option<JobReservation> {
        let population = state.population();
        let node = |name: &str| state.nodes().find(name);
        let pods = self.pods.iter();
        let pods = pods.map(|(uid, at)| Some((TaskId::by_uid(population, uid)?, node(at)?)));
        let pods: Vec<_> = pods.collect::<Option<_>>()?;
        let jobs = pods.iter().map(|(id, _)| {
            let task = population.known_task(*id)?;
            Some(population.job_id(state.task(task).job?))
        });
        let jobs: Vec<JobId> = jobs.collect::<Option<_>>()?;
        let job = *jobs
            .first()
            .filter(|first| jobs.iter().all(|job| job == *first))?;
        let room = self.room.iter();
        let room = room.map(|(name, amount)| Some((state.resources().get(name)?, *amount)));
        let counted = self
            .counted
            .iter()
            .filter_map(|uid| TaskId::by_uid(population, uid));
        let mut counted: Vec<TaskId> = counted.collect();
        counted.sort_unstable();
        Some(JobReservation {
            job,
            start_s: self.start,
            end_s: self.end,
            pods,
            room: room.collect::<Option<_>>()?,
            counted,
            spans_nodes: self.spans,
            after: self.after.as_deref().map(Box::from),
            promised_s: self.promised,
            moved: self.moved.map(|(from_s, why)| {
                let why = match why {
                    KeptMove::Room => MovedBy::Room,
                    KeptMove::Overrun => MovedBy::Overrun,
                    KeptMove::PlacesTaken => MovedBy::PlacesTaken,
                    KeptMove::Nodes => MovedBy::Nodes,
                };
                Moved { from_s, why }
            }),
            serial: self.serial,
        })
    }
}

/// What is kept, in its order, so much of it that the text is not too long.
pub fn text(state: &State, reserved: &Reservations) -> String {
    let mut text = line(&FormatLine { format: FORMAT });
    for one in reserved.all() {
        let line = line(&KeptJobPlaces::of(state, one));
        if text.len() + line.len() <= MAX_KEPT_BYTES {
            text.push_str(&line);
        }
    }
    text
}

/// What a text says of a cluster, each job once: lines that cannot be are passed over.
pub fn read(text: &str, state: &State) -> Vec<JobReservation> {
    if fault(text).is_some() {
        return Vec::new();
    }
    let lines = text.lines().skip(1).take(MAX_KEPT_LINES);
    let kept = lines.filter_map(|line| {
        let line: KeptJobPlaces = serde_json::from_str(line).ok()?;
        line.find(state)
    });
    let mut all: Vec<JobReservation> = Vec::new();
    for one in kept {
        if all.iter().all(|known| known.job != one.job) {
            all.push(one);
        }
    }
    all
}

/// Why a text says nothing, if it does not.
pub fn fault(text: &str) -> Option<String> {
    format_fault(text, FORMAT)
}
