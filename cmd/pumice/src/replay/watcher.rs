//! Looks at a replay, and tells what it shows.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use pumice_record::{Compared, LostPart, Replay, ReplayEvent, TapeHeader};
use serde::Serialize;

use super::ReplayFormat;
use super::outlook::{Hindsight, HindsightPod, HindsightSums};
use crate::recordings::{RecordingSight, rfc3339};

/// Pods that are told by name.
const MAX_TOLD: usize = 100;

/// A part of the recording of which nothing is known.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct LostLine {
    file: String,
    from_byte: usize,
    to_byte: usize,
    /// When the last step before it was.
    after: String,
    why: String,
}

/// Where something else was decided.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct DifferenceLine {
    at: String,
    step: u64,
    /// It must not be: the segment is exact.
    exact: bool,
    what: String,
}

/// All of it, for scripts.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ReplayReport {
    recorded_by: Vec<String>,
    from: Option<String>,
    to: Option<String>,
    /// Segments that begin at a decider that knew nothing.
    exact_segments: usize,
    /// Segments that begin at a copy.
    copied_segments: usize,
    /// Segments in which the process goes on from the one before: as exact as that.
    joined_segments: usize,
    steps: u64,
    placed: usize,
    evicted: usize,
    differences: Vec<DifferenceLine>,
    lost: Vec<LostLine>,
    problems: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_be: Option<HindsightSums>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pods: Vec<HindsightPod>,
}

/// See the module.
pub struct Watcher {
    outlook: Option<Hindsight>,
    tells_steps: bool,
    format: ReplayFormat,
    file: String,
    report: ReplayReport,
    has_failed: bool,
}

impl Watcher {
    /// One that has seen nothing yet.
    pub fn new(is_other: bool, tells_steps: bool, format: ReplayFormat) -> Self {
        Self {
            outlook: is_other.then(Hindsight::default),
            tells_steps: tells_steps && format == ReplayFormat::Table,
            format,
            file: String::new(),
            report: ReplayReport::default(),
            has_failed: false,
        }
    }

    /// Takes in what is read.
    pub fn look(&mut self, sight: RecordingSight<'_>, replay: &Replay) {
        match sight {
            RecordingSight::File(name) => self.begins(name),
            RecordingSight::Header(header) => self.header(header),
            RecordingSight::Lost(part) => self.lost(part, replay.now()),
            RecordingSight::Stuck(why) => self.stuck(&why.to_string()),
            RecordingSight::Event(event) => self.see(event, replay),
            RecordingSight::Configuration(_) => {}
        }
    }

    /// A file begins.
    fn begins(&mut self, file: &str) {
        file.clone_into(&mut self.file);
    }

    /// A segment begins.
    fn header(&mut self, header: &TapeHeader) {
        if !self.report.recorded_by.contains(&header.program) {
            self.report.recorded_by.push(header.program.clone());
        }
    }

    /// Something cannot be read.
    fn lost(&mut self, part: &LostPart, after: Duration) {
        let line = LostLine {
            file: self.file.clone(),
            from_byte: part.bytes.start,
            to_byte: part.bytes.end,
            after: rfc3339(after),
            why: part.why.clone(),
        };
        anstream::eprintln!(
            "{}: bytes {} to {} are lost, after {}: {}",
            line.file,
            line.from_byte,
            line.to_byte,
            line.after,
            line.why
        );
        self.report.lost.push(line);
    }

    /// The replay waits for the next segment.
    fn stuck(&mut self, why: &str) {
        anstream::eprintln!("{}: {why}", self.file);
        self.report.problems.push(why.to_owned());
    }

    /// How many steps there were.
    pub fn steps(&self) -> u64 {
        self.report.steps
    }

    /// A decision differs that must not.
    pub fn has_seen_enough(&self) -> bool {
        self.has_failed
    }

    /// A part could not be read, or not be gone on with.
    pub fn misses_parts(&self) -> bool {
        !self.report.lost.is_empty() || !self.report.problems.is_empty()
    }

    /// Why there is nothing to tell.
    pub fn nothing(&self) -> String {
        let lost = self.report.lost.first().map(|part| part.why.as_str());
        let why = self.report.problems.first().map(String::as_str);
        let why = why.or(lost).unwrap_or("there is no step in it");
        format!(
            "error: {}: {why}\n  = help: name a file of `pumice record export`, or of --record-dir",
            self.file
        )
    }

    /// Takes in what a replay shows.
    fn see(&mut self, event: ReplayEvent, replay: &Replay) {
        match event {
            ReplayEvent::Began { at, fresh } => {
                self.report.from.get_or_insert_with(|| rfc3339(at));
                match fresh {
                    true => self.report.exact_segments += 1,
                    false => self.report.copied_segments += 1,
                }
            }
            ReplayEvent::Copied { at, lacks } => self.copied(at, &lacks),
            ReplayEvent::WentOn { .. } => self.report.joined_segments += 1,
            ReplayEvent::KnowsLess { at } => {
                let at = rfc3339(at);
                self.stuck(&format!(
                    "parts of the copy of {at} are lost: what follows is decided without what they \
                     held, and may be another decision for that"
                ));
            }
            ReplayEvent::Waits { at } => {
                let at = rfc3339(at);
                self.stuck(&format!(
                    "something is missing after {at}: nothing is replayed up to the next segment"
                ));
            }
            ReplayEvent::Stepped(step) => self.see_step(&step, replay),
            ReplayEvent::ToldOtherwise {
                step,
                at,
                recorded,
                now,
            } if replay.is_exact() => {
                let what = format!(
                    "of {recorded} things that were wanted done some are others; there are {now}"
                );
                self.differs(at, step, true, what);
            }
            // A copy tells all again that was told before, and another configuration tells other things.
            ReplayEvent::ToldOtherwise { .. } => {}
            ReplayEvent::BrokeOff { at, why } => {
                let why = format!("the recording broke off at {}: {why}", rfc3339(at));
                self.stuck(&why);
            }
        }
    }

    /// What is to be known of a beginning in the middle, before anything follows from it.
    fn copied(&mut self, at: Duration, lacks: &[String]) {
        let (file, at) = (&self.file, rfc3339(at));
        match lacks {
            [] => anstream::eprintln!(
                "{file}: it begins at a copy of {at}: what is decided from there on is exact; what is \
                 written on objects is not compared, since what was told before is not known"
            ),
            lacks => anstream::eprintln!(
                "{file}: it begins at a copy of {at} that lacks {}: decisions may be others for that",
                lacks.join(", ")
            ),
        }
    }

    fn see_step(&mut self, step: &Compared, replay: &Replay) {
        let name = |uid: &str| {
            let state = replay.engine()?.state();
            let task = state.population().task_by_uid(uid)?;
            Some(state.population().task_key(task))
        };
        let report = &mut self.report;
        report.steps += 1;
        report.placed += step.recorded.len();
        report.evicted += step.recorded_evicted.len();
        report.to = Some(rfc3339(step.at));
        if let Some(outlook) = &mut self.outlook {
            outlook.see(step, name);
        }
        if self.tells_steps && !step.is_quiet() {
            anstream::println!("{} step {}", rfc3339(step.at), step.step);
            for (pod, node) in &step.now {
                anstream::println!("  {} to {node}", name(pod).unwrap_or_default());
            }
            for pod in &step.now_evicted {
                anstream::println!("  {} evicted", name(pod).unwrap_or_default());
            }
        }
        if self.outlook.is_none() && !step.is_same() {
            let what = difference(step, name);
            self.differs(step.at, step.step, replay.decides_exactly(), what);
        }
    }

    fn differs(&mut self, at: Duration, step: u64, exact: bool, what: String) {
        let at = rfc3339(at);
        if self.format == ReplayFormat::Table {
            anstream::println!("{at} step {step}: {what}");
        }
        self.has_failed |= exact;
        if self.report.differences.len() < MAX_TOLD {
            let line = DifferenceLine {
                at,
                step,
                exact,
                what,
            };
            self.report.differences.push(line);
        }
    }

    /// What it came to.
    pub fn sum_up(mut self) -> anyhow::Result<ExitCode> {
        if let Some(outlook) = &self.outlook {
            self.report.would_be = Some(outlook.sums());
            self.report.pods = outlook.others();
        }
        match self.format {
            ReplayFormat::Json => {
                let mut out = anstream::stdout().lock();
                serde_json::to_writer_pretty(&mut out, &self.report)
                    .map_err(std::io::Error::from)?;
                writeln!(out)?;
            }
            ReplayFormat::Table => self.print(),
        }
        Ok(match self.has_failed {
            true => ExitCode::from(1),
            false => ExitCode::SUCCESS,
        })
    }

    fn print(&self) {
        let report = &self.report;
        let time = |time: &Option<String>| time.clone().unwrap_or_else(|| "-".to_owned());
        anstream::println!("recorded by {}", report.recorded_by.join(", "));
        anstream::println!(
            "{} steps from {} to {}: {} pods placed, {} evicted",
            report.steps,
            time(&report.from),
            time(&report.to),
            report.placed,
            report.evicted
        );
        if let Some(sums) = report.would_be {
            anstream::println!(
                "under the other configuration, in the cluster as it was: {} as they were, {} earlier, \
                 {} elsewhere, {} not by the time they were placed, {} placed that were not; {} \
                 evicted instead of {}",
                sums.same,
                sums.earlier,
                sums.elsewhere,
                sums.not_by_then,
                sums.only_here,
                sums.evicted_here,
                sums.evicted
            );
            for pod in report.pods.iter().take(MAX_TOLD) {
                anstream::println!(
                    "  {}: {} {}, would be {} {}",
                    pod.pod,
                    pod.node.as_deref().unwrap_or("nowhere"),
                    time(&pod.at),
                    pod.node_here.as_deref().unwrap_or("nowhere"),
                    time(&pod.at_here)
                );
            }
            return;
        }
        if report.copied_segments > 0 {
            anstream::println!(
                "{} segments begin at a copy of the state: what is written on objects is not compared in them",
                report.copied_segments
            );
        }
        let missing = report.lost.len() + report.problems.len();
        if missing > 0 {
            anstream::println!(
                "{missing} parts are missing or could not be decided again: see above"
            );
        }
        match (report.differences.len(), self.has_failed) {
            (0, _) if missing > 0 => anstream::println!("what is left was decided again: the same"),
            (0, _) => anstream::println!("decided again: the same, step by step"),
            (_, true) => anstream::println!("decided again: NOT the same; stopped there"),
            (count, false) => anstream::println!("decided again: {count} steps differ"),
        }
    }
}

/// What is not the same in a step.
fn difference(step: &Compared, name: impl Fn(&str) -> Option<String>) -> String {
    let name = |uid: &str| name(uid).unwrap_or_else(|| uid.to_owned());
    let all = |pods: &[(String, String)]| -> Vec<String> {
        let lines = pods
            .iter()
            .map(|(pod, node)| format!("{} to {node}", name(pod)));
        lines.collect()
    };
    let (was, is) = (all(&step.recorded), all(&step.now));
    let gone = was.iter().filter(|line| !is.contains(line));
    let new = is.iter().filter(|line| !was.contains(line));
    let gone = gone.map(|line| format!("recorded: {line}"));
    let mut lines: Vec<String> = gone.chain(new.map(|line| format!("now: {line}"))).collect();
    for pod in &step.recorded_evicted {
        if !step.now_evicted.contains(pod) {
            lines.push(format!("recorded: {} evicted", name(pod)));
        }
    }
    for pod in &step.now_evicted {
        if !step.recorded_evicted.contains(pod) {
            lines.push(format!("now: {} evicted", name(pod)));
        }
    }
    if lines.is_empty() {
        return "the same in another order".to_owned();
    }
    lines.truncate(MAX_TOLD);
    lines.join("; ")
}
