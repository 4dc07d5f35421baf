//! Two configurations over what was recorded: each decides every step once more, in the cluster as it really was.
//!
//! ```text
//!  recording ─ replayed under A ─► RecordedRun ─┐
//!            ─ replayed under B ─► RecordedRun ─┴─► RecordedComparison: sums, jobs, queues, nodes, pods
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use pumice_conf::Config;
use pumice_record::{Compared, Replay, ReplayEvent};
use serde::Serialize;

use super::table::list;
use crate::bad_input::BadInput;
use crate::columns::columns;
use crate::recordings::{self, ReadingEnd, RecordingSight, files, rfc3339};

/// Where a pod was placed first.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordedPlace {
    node: String,
    at: Duration,
}

/// A pod, as it was when it was first placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct RecordedPod {
    name: String,
    job: String,
    queue: String,
}

/// What one configuration would have done.
#[derive(Default)]
struct RecordedRun {
    /// By UID.
    pods: BTreeMap<String, (RecordedPod, RecordedPlace)>,
    evictions: usize,
    steps: u64,
    /// What is missing.
    lost: BTreeSet<String>,
}

/// A number under each of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedSum {
    /// What is counted, or of whom.
    what: String,
    a: i64,
    b: i64,
}

/// A job of which pods are placed otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedJobRow {
    job: String,
    queue: String,
    /// Pods placed.
    a: usize,
    b: usize,
    /// Pods that both place, on different nodes.
    elsewhere: usize,
    /// How much later B places the pods that both place, in seconds, all together; less than nothing: sooner.
    later_s: i64,
}

/// A pod that is placed otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedPodRow {
    pod: String,
    a: Option<String>,
    at_a: Option<String>,
    b: Option<String>,
    at_b: Option<String>,
}

/// What differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedComparison {
    sums: Vec<RecordedSum>,
    jobs: Vec<RecordedJobRow>,
    queues: Vec<RecordedSum>,
    nodes: Vec<RecordedSum>,
    pods: Vec<RecordedPodRow>,
    /// Parts of the recording of which nothing is known.
    lost: Vec<String>,
}

impl RecordedRun {
    fn of(files: &[files::RecordingFile], config: &Config) -> anyhow::Result<Self> {
        let mut run = Self::default();
        let mut replay = Replay::new(Some(config.clone()));
        recordings::read(
            files,
            ReadingEnd::default(),
            &mut replay,
            &mut |sight, replay| {
                match sight {
                    RecordingSight::Event(ReplayEvent::Stepped(step)) => run.see(&step, replay),
                    RecordingSight::Lost(part) => {
                        run.lost.insert(part.why.clone());
                    }
                    RecordingSight::Stuck(why) => {
                        run.lost.insert(why.to_string());
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            },
        )?;
        Ok(run)
    }

    fn see(&mut self, step: &Compared, replay: &Replay) {
        self.steps += 1;
        self.evictions += step.now_evicted.len();
        for (uid, node) in &step.now {
            self.pods.entry(uid.clone()).or_insert_with(|| {
                let place = RecordedPlace {
                    node: node.clone(),
                    at: step.at,
                };
                (RecordedPod::of(uid, replay), place)
            });
        }
    }
}

impl RecordedPod {
    fn of(uid: &str, replay: &Replay) -> Self {
        let found = replay.engine().and_then(|engine| {
            let state = engine.state();
            let task = state.population().task_by_uid(uid)?;
            let name = state.population().task_key(task);
            let job = state.task(task).job;
            let queue = job.map(|job| state.names().text(state.job(job).queue_name).to_owned());
            Some(Self {
                job: job.map_or_else(|| name.clone(), |job| state.population().job_key(job)),
                queue: queue.unwrap_or_default(),
                name,
            })
        });
        found.unwrap_or_else(|| Self {
            name: uid.to_owned(),
            ..Self::default()
        })
    }
}

/// Compares two configurations over recordings.
///
/// # Errors
/// No step can be read.
pub fn over(paths: &[PathBuf], a: &Config, b: &Config) -> anyhow::Result<RecordedComparison> {
    let files = files::find(paths)?;
    let runs = [RecordedRun::of(&files, a)?, RecordedRun::of(&files, b)?];
    if runs[0].steps == 0 {
        let why = runs[0].lost.first().cloned();
        let why = why.unwrap_or_else(|| "there is no step in it".to_owned());
        let text = format!(
            "error: --recording: {why}\n  = help: name a file of `pumice record export`, or of \
             --record-dir"
        );
        return Err(BadInput(text).into());
    }
    Ok(RecordedComparison::of(&runs))
}

impl RecordedComparison {
    fn of(runs: &[RecordedRun; 2]) -> Self {
        let [a, b] = runs;
        let by_queue = sums(runs, |pod, _| pod.queue.clone());
        let by_node = sums(runs, |_, place| place.node.clone());
        let used = |run: &RecordedRun| {
            let nodes = run.pods.values().map(|(_, place)| &place.node);
            count(nodes.collect::<BTreeSet<_>>().len())
        };
        let sum = |what: &str, a, b| RecordedSum {
            what: what.to_owned(),
            a,
            b,
        };
        let differing = |rows: Vec<RecordedSum>| -> Vec<RecordedSum> {
            rows.into_iter().filter(|row| row.a != row.b).collect()
        };
        let (pods, jobs) = others(a, b);
        Self {
            sums: vec![
                sum("pods placed", count(a.pods.len()), count(b.pods.len())),
                sum("evictions", count(a.evictions), count(b.evictions)),
                sum("nodes that pods were placed on", used(a), used(b)),
                sum(
                    "seconds later than the other, all pods that both place",
                    jobs.values().map(|row| (-row.later_s).max(0)).sum(),
                    jobs.values().map(|row| row.later_s.max(0)).sum(),
                ),
            ],
            jobs: jobs.into_values().collect(),
            queues: differing(by_queue),
            nodes: differing(by_node),
            pods,
            lost: a.lost.union(&b.lost).cloned().collect(),
        }
    }

    /// Something is placed, or evicted, otherwise.
    pub fn differs(&self) -> bool {
        !self.pods.is_empty() || self.sums.iter().any(|sum| sum.a != sum.b)
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Pods placed, by what they have in common.
fn sums(
    runs: &[RecordedRun; 2],
    of: impl Fn(&RecordedPod, &RecordedPlace) -> String,
) -> Vec<RecordedSum> {
    let mut rows: BTreeMap<String, [i64; 2]> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for (pod, place) in run.pods.values() {
            rows.entry(of(pod, place)).or_default()[at] += 1;
        }
    }
    let rows = rows.into_iter();
    rows.map(|(what, [a, b])| RecordedSum { what, a, b })
        .collect()
}

/// Pods that are placed otherwise, by name, and jobs of such pods, by name.
fn others(
    a: &RecordedRun,
    b: &RecordedRun,
) -> (Vec<RecordedPodRow>, BTreeMap<String, RecordedJobRow>) {
    let uids: BTreeSet<&String> = a.pods.keys().chain(b.pods.keys()).collect();
    let (mut pods, mut jobs) = (Vec::new(), BTreeMap::new());
    for uid in uids {
        let (in_a, in_b) = (a.pods.get(uid), b.pods.get(uid));
        let Some((pod, _)) = in_a.or(in_b) else {
            continue;
        };
        let places = [in_a, in_b].map(|found| found.map(|(_, place)| place));
        let row = jobs
            .entry(pod.job.clone())
            .or_insert_with(|| RecordedJobRow {
                job: pod.job.clone(),
                queue: pod.queue.clone(),
                a: 0,
                b: 0,
                elsewhere: 0,
                later_s: 0,
            });
        row.a += usize::from(in_a.is_some());
        row.b += usize::from(in_b.is_some());
        if let [Some(first), Some(second)] = places {
            row.elsewhere += usize::from(first.node != second.node);
            let second_s = |place: &RecordedPlace| count(place.at.as_secs() as usize);
            row.later_s += second_s(second) - second_s(first);
        }
        if places[0] != places[1] {
            let [(a, at_a), (b, at_b)] = places.map(|place| match place {
                Some(place) => (Some(place.node.clone()), Some(rfc3339(place.at))),
                None => (None, None),
            });
            let pod = pod.name.clone();
            pods.push(RecordedPodRow {
                pod,
                a,
                at_a,
                b,
                at_b,
            });
        }
    }
    pods.sort_by(|a, b| a.pod.cmp(&b.pod));
    jobs.retain(|_, row: &mut RecordedJobRow| {
        row.a != row.b || row.elsewhere > 0 || row.later_s != 0
    });
    (pods, jobs)
}

/// For people: sums first, then what differs.
pub fn print(out: &mut dyn Write, comparison: &RecordedComparison) -> anyhow::Result<()> {
    let row = |sum: &RecordedSum| [sum.what.clone(), sum.a.to_string(), sum.b.to_string()];
    columns(
        out,
        ["", "A", "B"],
        comparison.sums.iter().map(row).collect(),
    )?;
    if !comparison.differs() {
        writeln!(out, "\nNothing differs.")?;
    }
    let jobs = comparison.jobs.iter().map(|row| {
        [
            row.job.clone(),
            row.queue.clone(),
            row.a.to_string(),
            row.b.to_string(),
            row.elsewhere.to_string(),
            row.later_s.to_string(),
        ]
    });
    let head = ["JOB", "QUEUE", "PLACED A", "B", "ELSEWHERE", "B LATER, S"];
    list(out, "JOBS", head, jobs.collect())?;
    let head = ["QUEUE", "PLACED A", "B"];
    list(
        out,
        "QUEUES",
        head,
        comparison.queues.iter().map(row).collect(),
    )?;
    let head = ["NODE", "PLACED A", "B"];
    list(
        out,
        "NODES",
        head,
        comparison.nodes.iter().map(row).collect(),
    )?;
    let dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let pods = comparison.pods.iter().map(|row| {
        [
            row.pod.clone(),
            dash(&row.a),
            dash(&row.at_a),
            dash(&row.b),
            dash(&row.at_b),
        ]
    });
    list(out, "PODS", ["POD", "A", "AT", "B", "AT"], pods.collect())?;
    for lost in &comparison.lost {
        writeln!(out, "\nPart of the recording is missing: {lost}")?;
    }
    Ok(())
}
