//! Results of a simulation on paper: a table for people, JSON and YAML for scripts.

use std::collections::BTreeMap;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use pumice_sim::Report;

use crate::simulate::Format;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();
const HEAD: Style = Style::new().bold();

/// Prints a report on standard output.
pub fn print(report: &Report, format: Format) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, report)?;
            writeln!(out)?;
        }
        Format::Yaml => write!(out, "{}", serde_yaml::to_string(report)?)?,
        Format::Table => table(&mut out, report)?,
    }
    Ok(())
}

fn table(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    summary(out, report)?;
    binds(out, report)?;
    if !report.pipelined.is_empty() {
        section(out, "PIPELINED (waiting for resources being released)")?;
        let rows = report.pipelined.iter().map(|p| [p.pod.clone(), p.node.clone()]);
        columns(out, ["POD", "NODE"], rows.collect())?;
    }
    pending(out, report)?;
    queues(out, report)?;
    if !report.ignored.is_empty() {
        let kinds: Vec<String> =
            report.ignored.iter().map(|i| format!("{} {}", i.count, i.kind)).collect();
        writeln!(out, "\nNo effect here: {}", kinds.join(", "))?;
    }
    Ok(())
}

fn summary(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    let (bound, waiting) = (report.binds.len(), report.pending.len());
    let colour = if waiting == 0 { GOOD } else { BAD };
    let cycles = if report.cycles == 1 { "cycle" } else { "cycles" };
    writeln!(
        out,
        "{HEAD}{bound} bound{HEAD:#}, {colour}{waiting} pending{colour:#}, {} evicted in {} {cycles}",
        report.evictions.len(),
        report.cycles
    )?;
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    report.pod_groups.iter().for_each(|group| *phases.entry(group.phase).or_insert(0) += 1);
    if !phases.is_empty() {
        let text: Vec<String> = phases.iter().map(|(p, n)| format!("{n} {p}")).collect();
        writeln!(out, "PodGroups: {}", text.join(", "))?;
    }
    Ok(())
}

/// Pods by the job their name tells, with their nodes.
fn binds(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    if report.binds.is_empty() {
        return Ok(());
    }
    let mut by_job: BTreeMap<String, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for bind in &report.binds {
        let nodes = by_job.entry(family(report, &bind.pod)).or_default();
        let name = bind.pod.split_once('/').map_or(bind.pod.as_str(), |(_, name)| name);
        nodes.entry(&bind.node).or_default().push(name);
    }
    section(out, "BOUND")?;
    let mut rows = Vec::new();
    for (job, nodes) in by_job {
        for (at, (node, pods)) in nodes.into_iter().enumerate() {
            let job = if at == 0 { job.clone() } else { String::new() };
            rows.push([job, node.to_owned(), pods.len().to_string(), abridged(&pods)]);
        }
    }
    columns(out, ["JOB", "NODE", "PODS", ""], rows)
}

/// The PodGroup or Job whose name begins a pod's name, else the pod itself.
fn family(report: &Report, pod: &str) -> String {
    let jobs = report.jobs.iter().map(|job| job.name.as_str());
    let groups = report.pod_groups.iter().map(|group| group.name.as_str());
    let found = jobs.chain(groups).filter(|name| {
        pod.strip_prefix(name).is_some_and(|rest| rest.starts_with('-') || rest.is_empty())
    });
    found.max_by_key(|name| name.len()).unwrap_or(pod).to_owned()
}

fn abridged(pods: &[&str]) -> String {
    match pods {
        [first, .., last] if pods.len() > 3 => format!("{first} … {last}"),
        _ => pods.join(", "),
    }
}

/// Waiting pods, those with the same message together.
fn pending(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    if report.pending.is_empty() {
        return Ok(());
    }
    section(out, "PENDING")?;
    let mut by_message: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut index: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for pod in &report.pending {
        let at = *index.entry((&pod.reason, &pod.message)).or_insert_with(|| {
            by_message.push((&pod.reason, &pod.message, Vec::new()));
            by_message.len() - 1
        });
        by_message[at].2.push(&pod.pod);
    }
    for (reason, message, pods) in by_message {
        writeln!(out, "{} {BAD}{reason}{BAD:#}", abridged(&pods))?;
        writeln!(out, "    {message}")?;
    }
    Ok(())
}

fn queues(out: &mut impl Write, report: &Report) -> anyhow::Result<()> {
    section(out, "QUEUES")?;
    let amounts = |map: &BTreeMap<String, String>| {
        let text: Vec<String> = map.iter().map(|(name, amount)| format!("{name} {amount}")).collect();
        if text.is_empty() { "-".to_owned() } else { text.join(", ") }
    };
    let rows = report.queues.iter().map(|queue| {
        let share = format!("{:.2}", queue.share);
        [queue.name.clone(), queue.state.to_owned(), share, amounts(&queue.allocated), amounts(&queue.deserved)]
    });
    columns(out, ["NAME", "STATE", "SHARE", "ALLOCATED", "DESERVED"], rows.collect())
}

fn section(out: &mut impl Write, title: &str) -> anyhow::Result<()> {
    writeln!(out, "\n{HEAD}{title}{HEAD:#}")?;
    Ok(())
}

/// Left-aligned columns, two spaces apart.
fn columns<const N: usize>(
    out: &mut impl Write,
    head: [&str; N],
    rows: Vec<[String; N]>,
) -> anyhow::Result<()> {
    let mut widths = head.map(|title| title.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head = head.map(str::to_owned);
    for row in std::iter::once(&head).chain(&rows) {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}
