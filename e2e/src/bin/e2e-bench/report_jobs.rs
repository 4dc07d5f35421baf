//! The controllers' figures, for people and for scripts.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::report::{Latency, mega};

/// Everything measured.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobFigures {
    /// The best number of creations in flight.
    pub raw_at_once: usize,
    /// Pods of large Jobs.
    pub making: Vec<MakingFigures>,
    /// Writes of the controllers for each Job of a hundred pods, by verb and resource.
    pub writes: BTreeMap<String, f64>,
    /// From the Job to the bound pod.
    pub latency: Option<Latency>,
    /// With many finished Jobs.
    pub known: Option<KnownFigures>,
}

/// How pods of large Jobs are made.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MakingFigures {
    /// Pods per second of the API server, created bare.
    pub raw_per_s: f64,
    /// Milliseconds of processor for each of them, control plane and this program.
    pub raw_cpu_ms: f64,
    /// Pods per second of the controllers.
    pub per_s: f64,
    /// Milliseconds of processor for each, control plane, controllers and this program.
    pub cpu_ms: f64,
    /// Milliseconds of processor for each, of the controllers alone.
    pub own_cpu_ms: f64,
    /// Most resident memory of the controllers.
    pub peak_rss_bytes: u64,
}

/// Controllers that know of much and have nothing to do.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KnownFigures {
    /// Finished Jobs.
    pub jobs: usize,
    /// Their pods.
    pub pods: usize,
    /// From the start of the process until it is ready.
    pub start_s: f64,
    /// Writes after the start.
    pub first_writes: usize,
    /// Writes while nothing changes.
    pub writes: usize,
    /// Processor use while nothing changes.
    pub cpu_percent: f64,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Most resident memory since the start.
    pub peak_rss_bytes: u64,
}

impl JobFigures {
    /// Stable keys, for scripts.
    pub fn json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Lines of name and value.
    pub fn table(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.lines() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<44} {value}");
        }
        text
    }

    fn lines(&self) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
        for round in &self.making {
            let MakingFigures {
                raw_per_s,
                raw_cpu_ms,
                per_s,
                cpu_ms,
                own_cpu_ms,
                ..
            } = round;
            let raw = format!("{raw_per_s:.0}, {raw_cpu_ms:.2} ms of CPU each");
            add(
                &format!("raw creations/s, {} in flight", self.raw_at_once),
                raw,
            );
            let share = 100.0 * per_s / raw_per_s;
            let by_cpu = 100.0 * raw_cpu_ms / cpu_ms;
            add(
                "pods of Jobs of 100 per second",
                format!("{per_s:.0} ({share:.0} % of raw)"),
            );
            let own =
                format!("{cpu_ms:.2} ms ({by_cpu:.0} % by CPU of raw), own {own_cpu_ms:.2} ms");
            add("CPU of all per pod", own);
            add("peak RSS", mega(round.peak_rss_bytes));
        }
        if !self.writes.is_empty() {
            let all: f64 = self.writes.values().sum();
            let pods = self.writes.get("create pods").copied().unwrap_or(0.0);
            add(
                "writes per Job of 100 pods beyond them",
                format!("{:.1}", all - pods),
            );
            for (what, count) in &self.writes {
                add(&format!("  {what}"), format!("{count:.1}"));
            }
        }
        if let Some(Latency {
            samples,
            p50_ms,
            p99_ms,
            max_ms,
        }) = &self.latency
        {
            let text =
                format!("p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms, max {max_ms:.1} ms of {samples}");
            add("Job of one pod to bind, idle", text);
        }
        if let Some(known) = &self.known {
            let (jobs, pods) = (known.jobs, known.pods);
            add("known", format!("{jobs} finished Jobs, {pods} pods"));
            add("start to ready", format!("{:.1} s", known.start_s));
            let (now, peak) = (mega(known.rss_bytes), mega(known.peak_rss_bytes));
            add("RSS, peak", format!("{now}, {peak}"));
            add("idle CPU", format!("{:.2} %", known.cpu_percent));
            add(
                "writes: after the start, idle",
                format!("{}, {}", known.first_writes, known.writes),
            );
        }
        lines
    }
}
