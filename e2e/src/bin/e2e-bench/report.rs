//! The figures, for people and for scripts.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

/// Bytes of a megabyte, as the goals count them.
const MEGABYTE: f64 = 1e6;

/// Everything measured. Counts of zero and `None` were not measured.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Pods bound in each throughput measurement.
    pub pods: usize,
    /// Pods per PodGroup.
    pub gang: usize,
    /// Pods that ran beforehand.
    pub running: usize,
    /// Requests in flight and binds per second of each try.
    pub raw_tries: Vec<(usize, f64)>,
    /// The best number of requests in flight.
    pub raw_at_once: usize,
    /// Binds per second of the API server with bare Bindings: before each round, after the last.
    pub raw_runs: Vec<Raw>,
    /// Pods made beforehand.
    pub rounds: Vec<Round>,
    /// While nothing changes.
    pub idle: Option<Idle>,
    /// Creation to bind, one pod at a time.
    pub latency_idle: Option<Latency>,
    /// Creation to bind at a steady rate.
    pub latency_load: Option<Latency>,
    /// From the start of a new process to its first bind.
    pub restart_to_first_bind_s: Option<f64>,
    /// From the expiry of a killed leader's lease to the standby's first bind.
    pub failover_after_expiry_s: Option<f64>,
    /// Plans of a gang of 100.
    pub plan: Option<PlanFigures>,
    /// Ten who look at the page.
    pub page: Option<PageFigures>,
    /// What could not be measured, and why.
    pub problems: Vec<String>,
}

/// What ten who look at the page cost.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageFigures {
    /// Part of its time in which the deciding thread answers.
    pub of_thread: f64,
    /// Milliseconds that the longest of these answers took.
    pub longest_ms: f64,
    /// From the creation of a pod until the page of somebody who looks has it.
    pub seen: Latency,
}

/// Bare Bindings.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Raw {
    /// Binds per second, first to last bind.
    pub binds_per_s: f64,
    /// Processor seconds of this program and the control plane.
    pub total_cpu_s: f64,
}

/// One measurement of throughput each way.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Round {
    /// Without events.
    pub without_events: Throughput,
    /// With events.
    pub with_events: Throughput,
}

/// A scheduler to which nothing happens.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Idle {
    /// Processor use.
    pub cpu_percent: f64,
    /// Writes but those of the lease.
    pub writes: usize,
    /// Resident memory.
    pub rss_bytes: u64,
    /// Most resident memory since its start.
    pub peak_rss_bytes: u64,
}

/// How pods that were all made beforehand are bound.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Throughput {
    /// Binds per second of the scheduler, first to last bind.
    pub binds_per_s: f64,
    /// From the start of the process to the last bind.
    pub start_to_all_bound_s: f64,
    /// Writes by verb and resource, until they come to an end; leases left out.
    pub writes: BTreeMap<String, usize>,
    /// Processor seconds from the start to the last bind.
    pub cpu_s: f64,
    /// Processor seconds of scheduler, control plane and this program together.
    pub total_cpu_s: f64,
    /// Resident memory after the last bind.
    pub rss_bytes: u64,
    /// Most resident memory until then.
    pub peak_rss_bytes: u64,
}

/// What plans cost.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanFigures {
    /// From the start of `pumice plan` to its end.
    pub printed: Latency,
    /// Longest time that the deciding thread spent on an answer.
    pub held_up_ms: f64,
}

/// Times in milliseconds.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Latency {
    /// Number of samples.
    pub samples: usize,
    /// Half of them took no longer.
    pub p50_ms: f64,
    /// 99 of 100 took no longer.
    pub p99_ms: f64,
    /// None took longer.
    pub max_ms: f64,
}

impl Latency {
    /// Latencies of these samples, in milliseconds.
    pub fn of(mut times_ms: Vec<f64>) -> Self {
        times_ms.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let rank = (times_ms.len() * percent).div_ceil(100);
            times_ms.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
        };
        Self {
            samples: times_ms.len(),
            p50_ms: at(50),
            p99_ms: at(99),
            max_ms: at(100),
        }
    }
}

impl Report {
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
        let line = |name: &str, value: String| (name.to_owned(), value);
        let mut lines = vec![line(
            "cluster",
            format!("{} nodes, {} running pods", self.nodes, self.running),
        )];
        for (at_once, rate) in &self.raw_tries {
            lines.push((
                format!("raw binds/s, {at_once} in flight"),
                format!("{rate:.0}"),
            ));
        }
        let (pods, at_once) = (self.pods, self.raw_at_once);
        for run in &self.raw_runs {
            let name = format!("raw binds/s, {pods} pods, {at_once} in flight");
            let cpu = 1000.0 * run.total_cpu_s / ratio(pods.max(1), 1);
            let text = format!("{:.0}, {cpu:.2} ms of CPU each", run.binds_per_s);
            lines.push((name, text));
        }
        for (round, raw) in self.rounds.iter().zip(self.raw_runs.windows(2)) {
            let [before, after] = raw else { continue };
            // The better ones: what else the machine does is not to flatter the scheduler.
            let raw = Raw {
                binds_per_s: before.binds_per_s.max(after.binds_per_s),
                total_cpu_s: before.total_cpu_s.min(after.total_cpu_s),
            };
            self.throughput_lines("events off", &round.without_events, raw, &mut lines);
            self.throughput_lines("events on", &round.with_events, raw, &mut lines);
        }
        if self.rounds.len() > 1 {
            self.mean_lines(&mut lines);
        }
        self.other_lines(&mut lines);
        lines
    }

    fn throughput_lines(
        &self,
        name: &str,
        throughput: &Throughput,
        raw: Raw,
        lines: &mut Vec<(String, String)>,
    ) {
        let mut add = |what: &str, value: String| lines.push((format!("{name}: {what}"), value));
        let rate = throughput.binds_per_s;
        let Raw {
            binds_per_s: raw,
            total_cpu_s: raw_cpu,
        } = raw;
        let share = 100.0 * rate / raw;
        add(
            "binds/s",
            format!("{rate:.0} ({share:.0} % of {raw:.0} raw)"),
        );
        let seconds = throughput.start_to_all_bound_s;
        add("start to last bind", format!("{seconds:.2} s"));
        let pods = self.pods.max(1);
        let total: usize = throughput.writes.values().sum();
        add("writes per bound pod", format!("{:.2}", ratio(total, pods)));
        for (what, count) in &throughput.writes {
            add(&format!("  {what}"), format!("{:.3}", ratio(*count, pods)));
        }
        let total = throughput.total_cpu_s;
        let each = 1000.0 * total / ratio(pods, 1);
        let share = 100.0 * raw_cpu / total;
        let text = format!("{each:.2} ms ({share:.0} % by CPU of raw)");
        add("CPU of all per bind", text);
        let cpu = throughput.cpu_s;
        let per_thousand = 1000.0 * cpu / ratio(pods, 1);
        add(
            "CPU",
            format!("{cpu:.2} s ({per_thousand:.2} s per 1,000 binds)"),
        );
        let (now, peak) = (throughput.rss_bytes, throughput.peak_rss_bytes);
        add("RSS, peak", format!("{}, {}", mega(now), mega(peak)));
    }

    /// Means of all rounds against the mean of all runs of the limit.
    fn mean_lines(&self, lines: &mut Vec<(String, String)>) {
        let raw = mean(self.raw_runs.iter().map(|run| run.binds_per_s));
        let raw_cpu = mean(self.raw_runs.iter().map(|run| run.total_cpu_s));
        let (off, on): (Vec<_>, Vec<_>) = self
            .rounds
            .iter()
            .map(|round| (&round.without_events, &round.with_events))
            .unzip();
        for (name, runs) in [("events off", off), ("events on", on)] {
            let share = 100.0 * mean(runs.iter().map(|run| run.binds_per_s)) / raw;
            let by_cpu = 100.0 * raw_cpu / mean(runs.iter().map(|run| run.total_cpu_s));
            lines.push((
                format!("{name}: means of {} rounds", runs.len()),
                format!("{share:.0} % of {raw:.0} raw; {by_cpu:.0} % by CPU"),
            ));
        }
    }

    fn other_lines(&self, lines: &mut Vec<(String, String)>) {
        let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
        if let Some(idle) = &self.idle {
            add("idle CPU", format!("{:.2} %", idle.cpu_percent));
            add("idle writes", idle.writes.to_string());
            let (now, peak) = (mega(idle.rss_bytes), mega(idle.peak_rss_bytes));
            add("idle RSS, peak", format!("{now}, {peak}"));
        }
        let latencies = [
            ("creation to bind, idle", &self.latency_idle),
            ("creation to bind, under load", &self.latency_load),
        ];
        let plan = self.plan.as_ref();
        let page = self.page.as_ref();
        let seen = page.map(|page| ("a change, until the page has it", &page.seen));
        let printed = plan.map(|plan| ("plan of a gang of 100, until printed", &plan.printed));
        let latencies = latencies.into_iter();
        let latencies = latencies.filter_map(|(name, latency)| Some((name, latency.as_ref()?)));
        for (name, latency) in latencies.chain(printed).chain(seen) {
            let Latency {
                p50_ms,
                p99_ms,
                max_ms,
                samples,
            } = latency;
            let text =
                format!("p50 {p50_ms:.1} ms, p99 {p99_ms:.1} ms, max {max_ms:.1} ms of {samples}");
            add(name, text);
        }
        if let Some(plan) = plan {
            add(
                "decisions held up by it",
                format!("{:.1} ms", plan.held_up_ms),
            );
        }
        if let Some(page) = page {
            let of_thread = 100.0 * page.of_thread;
            let longest = page.longest_ms;
            add(
                "deciding thread with ten who look",
                format!("{of_thread:.2} % of its time, {longest:.1} ms at the longest"),
            );
        }
        let times = [
            ("restart to first bind", self.restart_to_first_bind_s),
            ("failover after lease expiry", self.failover_after_expiry_s),
        ];
        for (name, seconds) in times {
            if let Some(seconds) = seconds {
                add(name, format!("{seconds:.2} s"));
            }
        }
    }
}

/// Zero for no values.
fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1);
    values.sum::<f64>() / ratio(count, 1)
}

/// Exact for counts below 2^32, which all of them are.
fn ratio(part: usize, whole: usize) -> f64 {
    let exact = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    exact(part) / exact(whole)
}

/// In megabytes.
pub fn mega(bytes: u64) -> String {
    let whole = u32::try_from(bytes / 1000).unwrap_or(u32::MAX);
    format!("{:.0} MB", f64::from(whole) * 1000.0 / MEGABYTE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_ranks_of_the_sorted_samples() {
        let latency = Latency::of((1..=200).rev().map(f64::from).collect());
        assert_eq!(latency.samples, 200);
        assert_eq!(
            (latency.p50_ms, latency.p99_ms, latency.max_ms),
            (100.0, 198.0, 200.0)
        );
        assert_eq!(Latency::of(Vec::new()).p99_ms, 0.0);
    }
}
