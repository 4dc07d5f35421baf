//! Results of a simulation on paper: a table for people, JSON and YAML for scripts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::ValueEnum;
use pumice_sim::Report;
use pumice_sim::report::{JobLine, Pending, PodGroupLine, ProblemLine, QueueLine, StrangerLine};
use serde::Serialize;

use crate::columns::columns;
use crate::mix_table;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();
const HEAD: Style = Style::new().bold();

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people
    Table,
    /// For scripts: stable keys
    Json,
    /// The contents of `json` as YAML
    Yaml,
}

/// Prints what scripts read as it is, and what people read by `table`, on standard output.
pub fn print<T: Serialize>(
    view: &T,
    format: OutputFormat,
    table: impl FnOnce(&mut dyn Write, &T) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    match format {
        OutputFormat::Json => {
            serde_json::to_writer_pretty(&mut out, view).map_err(std::io::Error::from)?;
            writeln!(out)?;
        }
        OutputFormat::Yaml => write!(out, "{}", serde_yaml::to_string(view)?)?,
        OutputFormat::Table => table(&mut out, view)?,
    }
    Ok(())
}

/// A simulation's report for people.
pub fn table(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    summary(out, report)?;
    binds(out, report)?;
    evictions(out, report)?;
    if !report.device_returns.is_empty() {
        section(out, "DEVICES GIVEN BACK (they kept a pod from nodes)")?;
        for claim in &report.device_returns {
            writeln!(out, "{claim}")?;
        }
    }
    if !report.pipelined.is_empty() {
        section(out, "PIPELINED (waiting for resources being released)")?;
        let rows = report
            .pipelined
            .iter()
            .map(|p| [p.pod.clone(), p.node.clone()]);
        columns(out, ["POD", "NODE"], rows.collect())?;
    }
    pending(out, report)?;
    queues(out, report)?;
    hyper_nodes(out, report)?;
    if let Some(mix) = &report.mix {
        writeln!(out)?;
        mix_table::free_cards(out, mix)?;
        if let Some(text) = mix_table::without_room(mix) {
            writeln!(out, "{text}")?;
        }
    }
    warnings(out, report)?;
    if !report.ignored.is_empty() {
        let kinds: Vec<String> = report
            .ignored
            .iter()
            .map(|i| format!("{} {}", i.count, i.kind))
            .collect();
        writeln!(out, "\nNo effect here: {}", kinds.join(", "))?;
    }
    Ok(())
}

fn summary(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    let (bound, waiting) = (report.binds.len(), report.pending.len());
    let held = report
        .pod_groups
        .iter()
        .filter(|group| group.waiting.is_some())
        .count();
    let colour = if waiting + held == 0 { GOOD } else { BAD };
    let cycles = if report.cycles == 1 {
        "cycle"
    } else {
        "cycles"
    };
    writeln!(
        out,
        "{HEAD}{bound} bound{HEAD:#}, {colour}{waiting} pending{colour:#}, {} evicted in {} \
         {cycles}",
        report.evictions.len(),
        report.cycles
    )?;
    if !report.other_schedulers.is_empty() {
        let lines: Vec<String> = report.other_schedulers.iter().map(stranger).collect();
        writeln!(out, "Of other schedulers: {}", lines.join(", "))?;
    }
    if let Some(source) = &report.configuration {
        writeln!(out, "Configuration: {source}")?;
    }
    let aside = set_aside(report);
    if aside > 0 {
        writeln!(
            out,
            "{BAD}Set aside: {aside} broken{BAD:#} (see the errors)"
        )?;
    }
    let mut phases: BTreeMap<&str, usize> = BTreeMap::new();
    report
        .pod_groups
        .iter()
        .for_each(|group| *phases.entry(group.phase).or_insert(0) += 1);
    if !phases.is_empty() {
        let text: Vec<String> = phases.iter().map(|(p, n)| format!("{n} {p}")).collect();
        writeln!(out, "PodGroups: {}", text.join(", "))?;
    }
    Ok(())
}

/// `2 pods of volcno (did you mean volcano?)`.
fn stranger(line: &StrangerLine) -> String {
    let pods = if line.pods == 1 { "pod" } else { "pods" };
    let meant = match line.nearest.as_str() {
        "" => String::new(),
        nearest => format!(" (did you mean {nearest}?)"),
    };
    format!("{} {pods} of {}{meant}", line.pods, line.scheduler)
}

/// Bound pods by job and node.
fn binds(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    if report.binds.is_empty() {
        return Ok(());
    }
    let jobs = job_names(report);
    let mut by_job: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for bind in &report.binds {
        let job = jobs
            .get(bind.group.as_str())
            .copied()
            .unwrap_or(&bind.group);
        let nodes = by_job.entry(job).or_default();
        nodes.entry(&bind.node).or_default().push(short(&bind.pod));
    }
    section(out, "BOUND")?;
    let mut rows = Vec::new();
    for (job, nodes) in by_job {
        for (at, (node, pods)) in nodes.into_iter().enumerate() {
            let job = if at == 0 {
                job.to_owned()
            } else {
                String::new()
            };
            rows.push([
                job,
                node.to_owned(),
                pods.len().to_string(),
                abridged(&pods),
            ]);
        }
    }
    columns(out, ["JOB", "NODE", "PODS", ""], rows)
}

/// Evicted pods by their jobs, and for whom they went.
fn evictions(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    if report.evictions.is_empty() {
        return Ok(());
    }
    let jobs = job_names(report);
    let job_of = |group: &str| jobs.get(group).copied().unwrap_or(group).to_owned();
    let mut together: BTreeMap<(String, String, &str), Vec<&str>> = BTreeMap::new();
    for eviction in &report.evictions {
        let key = (
            job_of(&eviction.group),
            eviction
                .by
                .as_deref()
                .map_or_else(|| "-".to_owned(), job_of),
            &*eviction.action,
        );
        let pods = together.entry(key).or_default();
        pods.push(short(&eviction.pod));
    }
    section(out, "EVICTED")?;
    let rows = together.into_iter().map(|((job, by, action), mut pods)| {
        pods.sort_unstable();
        let count = pods.len().to_string();
        [job, by, action.to_owned(), count, abridged(&pods)]
    });
    columns(out, ["JOB", "FOR", "ACTION", "PODS", ""], rows.collect())?;
    for eviction in report.evictions.iter().filter(|one| !one.cards.is_empty()) {
        let (pod, cards) = (short(&eviction.pod), eviction.cards.join("; "));
        writeln!(
            out,
            "  evicting {pod} on node {} frees {cards}",
            eviction.node
        )?;
    }
    Ok(())
}

/// Name of the Job that made a PodGroup, by the PodGroup's name.
fn job_names(report: &Report) -> BTreeMap<&str, &str> {
    report
        .jobs
        .iter()
        .map(|job| (job.group.as_str(), job.name.as_str()))
        .collect()
}

/// A name without its namespace.
fn short(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, name)| name)
}

fn abridged(pods: &[&str]) -> String {
    match pods {
        [first, .., last] if pods.len() > 3 => format!("{first} … {last}"),
        _ => pods.join(", "),
    }
}

/// What waits, job by job: why the job does, then its pods, those with the same reason together.
fn pending(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    let jobs = job_names(report);
    let mut waiting: BTreeMap<&str, Vec<&Pending>> = BTreeMap::new();
    for pod in &report.pending {
        waiting.entry(&pod.group).or_default().push(pod);
    }
    let groups: BTreeMap<&str, &PodGroupLine> = report
        .pod_groups
        .iter()
        .map(|group| (group.name.as_str(), group))
        .collect();
    for group in report
        .pod_groups
        .iter()
        .filter(|group| group.waiting.is_some())
    {
        waiting.entry(&group.name).or_default();
    }
    // What the Job itself says, also where it has no PodGroup or no pod.
    for job in report.jobs.iter().filter(|job| job.waits()) {
        waiting.entry(&job.group).or_default();
    }
    let says: BTreeMap<&str, &JobLine> = report
        .jobs
        .iter()
        .map(|job| (job.group.as_str(), job))
        .collect();
    if waiting.is_empty() {
        return Ok(());
    }
    section(out, "PENDING")?;
    for (name, pods) in waiting {
        let job = jobs.get(name).copied().unwrap_or(name);
        let group = groups.get(name);
        let says = says.get(name);
        let phase = group.map(|group| group.phase).or(says.map(|_| "Pending"));
        let headline = headline(phase, group.copied(), pods.len());
        writeln!(out, "{job}  {BAD}{headline}{BAD:#}")?;
        if let Some(job) = says.filter(|job| !job.message.is_empty()) {
            writeln!(out, "    {}: {}", job.reason, job.message)?;
        }
        if let Some(why) = group.and_then(|group| group.waiting.as_ref()) {
            writeln!(out, "    {why}")?;
        }
        pending_pods(out, &pods, group.is_some())?;
    }
    Ok(())
}

/// `Inqueue, 3 pods pending, 2/3 tasks in gang unschedulable`.
fn headline(phase: Option<&str>, group: Option<&PodGroupLine>, pods: usize) -> String {
    let mut parts: Vec<String> = phase.map(str::to_owned).into_iter().collect();
    match pods {
        0 => parts.push("no pods yet".to_owned()),
        1 => parts.push("1 pod pending".to_owned()),
        _ => parts.push(format!("{pods} pods pending")),
    }
    if let Some((short, tasks)) = group.and_then(|group| group.shortage) {
        parts.push(format!("{short}/{tasks} tasks in gang unschedulable"));
    }
    parts.join(", ")
}

fn pending_pods(out: &mut dyn Write, pods: &[&Pending], named: bool) -> anyhow::Result<()> {
    let mut by_message: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    let mut index: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for pod in pods {
        let message = pod.same_message.as_str();
        let at = *index.entry((&pod.reason, message)).or_insert_with(|| {
            by_message.push((&pod.reason, message, Vec::new()));
            by_message.len() - 1
        });
        by_message[at].2.push(short(&pod.pod));
    }
    for (reason, message, pods) in by_message {
        if named {
            writeln!(out, "  {}", abridged(&pods))?;
        }
        writeln!(out, "    {reason}: {message}")?;
    }
    Ok(())
}

fn queues(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    section(out, "QUEUES")?;
    let amounts = |map: &BTreeMap<String, String>| {
        let text: Vec<String> = map
            .iter()
            .map(|(name, amount)| format!("{name} {amount}"))
            .collect();
        if text.is_empty() {
            "-".to_owned()
        } else {
            text.join(", ")
        }
    };
    // The root is of interest only where something stands directly in it.
    let idle_root = |queue: &&QueueLine| queue.name == "root" && queue.deserved.is_empty();
    let rows = report
        .queues
        .iter()
        .filter(|queue| !idle_root(queue))
        .map(|queue| {
            let share = format!("{:.2}", queue.share);
            [
                queue.name.clone(),
                queue.state.to_owned(),
                share,
                amounts(&queue.allocated),
                amounts(&queue.deserved),
            ]
        });
    columns(
        out,
        ["NAME", "STATE", "SHARE", "ALLOCATED", "DESERVED"],
        rows.collect(),
    )
}

/// How many objects were set aside: of one there may be several errors. What cannot be told apart by name
/// counts by errors.
fn set_aside(report: &Report) -> usize {
    let aside = report.problems.iter().filter(|problem| problem.set_aside);
    let (nameless, named): (Vec<&ProblemLine>, Vec<&ProblemLine>) =
        aside.partition(|problem| problem.object.is_empty());
    let named: BTreeSet<&str> = named
        .iter()
        .map(|problem| problem.object.as_str())
        .collect();
    nameless.len() + named.len()
}

/// What owners are told of what is written on their objects: about which, and what.
pub fn told_to_owners(report: &Report) -> Vec<(String, &str)> {
    let jobs = job_names(report);
    let queues = report.queues.iter();
    let queues = queues.filter(|queue| !queue.warning.is_empty());
    let queues = queues.map(|queue| (format!("queue {}", queue.name), &queue.warning));
    let groups = report.pod_groups.iter().flat_map(|group| {
        let name = jobs.get(group.name.as_str()).copied();
        let name = name.unwrap_or(group.name.as_str());
        let warnings = group.warnings.iter();
        warnings.map(move |warning| (name.to_owned(), warning))
    });
    let pods = report.pod_warnings.iter();
    let pods = pods.map(|of| (of.pod.clone(), &of.warning));
    let hyper_nodes = report.hyper_nodes.iter();
    let hyper_nodes = hyper_nodes.filter(|one| !one.warning.is_empty());
    let hyper_nodes = hyper_nodes.map(|one| (format!("hypernode {}", one.name), &one.warning));
    let others = groups.chain(pods).chain(hyper_nodes);
    let all = queues.chain(others);
    all.map(|(about, text)| (about, text.as_str())).collect()
}

fn warnings(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    let all = told_to_owners(report);
    if all.is_empty() {
        return Ok(());
    }
    section(out, "WARNINGS")?;
    for (about, text) in all {
        writeln!(out, "{about}: {text}")?;
    }
    Ok(())
}

fn hyper_nodes(out: &mut dyn Write, report: &Report) -> anyhow::Result<()> {
    if report.hyper_nodes.is_empty() {
        return Ok(());
    }
    section(out, "HYPERNODES")?;
    let rows = report.hyper_nodes.iter().map(|one| {
        let (tier, nodes) = (one.tier.to_string(), one.nodes.to_string());
        [one.name.clone(), tier, nodes]
    });
    columns(out, ["NAME", "TIER", "NODES"], rows.collect())
}

/// The headline of a part, after an empty line.
pub fn section(out: &mut dyn Write, title: &str) -> anyhow::Result<()> {
    writeln!(out, "\n{HEAD}{title}{HEAD:#}")?;
    Ok(())
}
