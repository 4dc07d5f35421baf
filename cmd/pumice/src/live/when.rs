//! `pumice when`: when jobs start, if what runs ends when its owners say.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_plan::{EndBasis, JobMoment, JobStart, StartsView, WhenAbout, WhenRequest, WhenView};

use super::plan::named;
use super::scheduler::SchedulerConnection;
use super::words::{BAD, GOOD, HEAD, age, line, lines, print};
use crate::columns::columns;

/// Ends with that where nobody can say when a job starts.
const UNKNOWN: u8 = 3;

/// Arguments of `pumice when`.
#[derive(Args)]
pub struct WhenArguments {
    /// Jobs of the cluster: a PodGroup, a workload or a pod, as NAME or NAMESPACE/NAME
    #[arg(value_name = "JOB", required_unless_present = "queue")]
    jobs: Vec<String>,
    /// All jobs of this queue that wait, in the order in which they start
    #[arg(long, short, value_name = "NAME", conflicts_with = "jobs")]
    queue: Option<String>,
    /// Namespace; default: the one of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// Asks and prints; ends with 0 where a start is known of each, else with 3.
pub fn run(arguments: &WhenArguments) -> anyhow::Result<ExitCode> {
    let scheduler = arguments.connection.open()?;
    let namespace = arguments.namespace.as_deref();
    let namespace = namespace.unwrap_or(scheduler.namespace());
    let ask = |when: WhenAbout| -> anyhow::Result<StartsView> {
        let question = serde_json::to_string(&WhenRequest { when })?;
        scheduler.post(&["plan"], &question)
    };
    let output = arguments.connection.output;
    let all = match &arguments.queue {
        Some(queue) => {
            let queue = queue.clone();
            let all = ask(WhenAbout::Queue { queue })?;
            print(&all, output, of_queue)?;
            all
        }
        None => {
            let mut all = StartsView::default();
            for job in &arguments.jobs {
                let told = ask(WhenAbout::Job(named(job, namespace)))?;
                all.jobs.extend(told.jobs);
            }
            print(&all, output, table)?;
            all
        }
    };
    let is_known = |view: &WhenView| view.has_started || view.expected.is_some();
    Ok(match all.jobs.iter().all(is_known) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(UNKNOWN),
    })
}

/// A line a job, as `squeue --start` has it.
fn of_queue(out: &mut dyn Write, all: &StartsView) -> anyhow::Result<()> {
    if all.jobs.is_empty() {
        writeln!(out, "no job waits")?;
        return Ok(());
    }
    let dash = || "-".to_owned();
    let at = |start: Option<&JobStart>| {
        let at = start.and_then(|start| start.at.as_ref());
        at.map_or_else(dash, |at| at.0.clone())
    };
    let rows = all.jobs.iter().map(|view| {
        let expected = view.expected.as_ref();
        let after = expected.and_then(|start| start.after.first());
        [
            view.job.clone(),
            at(expected),
            expected.map_or_else(dash, |start| age(start.in_s)),
            at(view.latest.as_ref()),
            after.map_or_else(dash, |one| one.job.clone()),
        ]
    });
    let heads = ["JOB", "STARTS", "IN", "AT THE LATEST", "AFTER"];
    columns(out, heads, rows.collect())?;
    if all.not_told > 0 {
        writeln!(out, "… and {} more jobs", all.not_told)?;
    }
    let stay = all.jobs.first().and_then(taken_to_stay);
    if let Some(stay) = stay {
        writeln!(out, "{stay}")?;
    }
    Ok(())
}

fn table(out: &mut dyn Write, all: &StartsView) -> anyhow::Result<()> {
    for (at, view) in all.jobs.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        one(out, view)?;
    }
    Ok(())
}

fn one(out: &mut dyn Write, view: &WhenView) -> anyhow::Result<()> {
    let (colour, first) = headline(view);
    writeln!(out, "{HEAD}{}{HEAD:#} {colour}{first}{colour:#}", view.job)?;
    line(out, "queue", &view.queue)?;
    line(out, "now", view.message.as_deref().unwrap_or_default())?;
    if let Some(start) = &view.expected {
        let rows = |all: &[JobMoment]| all.iter().map(moment).collect::<Vec<_>>();
        lines(out, "after", &rows(&start.after))?;
        lines(out, "ahead", &rows(&start.ahead))?;
        line(out, "nodes", &start.nodes.join(", "))?;
        if start.not_told > 0 {
            line(out, "", &format!("… and {} more jobs", start.not_told))?;
        }
    }
    if let Some(stay) = taken_to_stay(view) {
        line(out, "unknown", &stay)?;
    }
    Ok(())
}

/// Pods of which nobody knows when they end.
fn taken_to_stay(view: &WhenView) -> Option<String> {
    let count = |count: usize, one: &str, several: &str| match count {
        0 => None,
        1 => Some(format!("1 pod on a node {one}")),
        _ => Some(format!("{count} pods on nodes {several}")),
    };
    let silent = count(view.unknown, "tells no run time", "tell no run time");
    let late = count(
        view.overrun,
        "runs longer than was said",
        "run longer than was said",
    );
    let stay: Vec<String> = silent.into_iter().chain(late).collect();
    (!stay.is_empty()).then(|| format!("{}: taken to stay", stay.join(", ")))
}

fn headline(view: &WhenView) -> (anstyle::Style, String) {
    if view.has_started {
        return (GOOD, "has started".to_owned());
    }
    let Some(expected) = &view.expected else {
        let why = match (view.has_no_pods, view.expected_is_cut) {
            (true, _) => "nobody can say: none of its pods is made yet",
            (false, true) => "later than could be looked at; see --plan-time of the scheduler",
            (false, false) => "nobody can say: not when all has ended of which somebody said when",
        };
        return (BAD, why.to_owned());
    };
    let latest = view.latest.as_ref().map_or_else(
        || match view.latest_is_cut {
            true => "the latest time is later than could be looked at".to_owned(),
            false => "no latest time: limits are not known".to_owned(),
        },
        |latest| format!("at the latest {}", moment_of(latest)),
    );
    let text = match expected.in_s {
        0 => "starts now".to_owned(),
        _ => format!(
            "starts {}, {latest}, if nobody comes who goes first",
            moment_of(expected)
        ),
    };
    (GOOD, text)
}

fn moment_of(start: &JobStart) -> String {
    let at = start.at.as_ref().map_or("", |at| at.0.as_str());
    format!("in {} ({at})", age(start.in_s))
}

fn moment(one: &JobMoment) -> String {
    let at = one.at.as_ref().map_or("", |at| at.0.as_str());
    match one.basis {
        None => format!("{} starts {at}", one.job),
        Some(EndBasis::RunTime) => format!("{} ends {at}, by its run time", one.job),
        Some(EndBasis::Deletion) => format!("{} ends {at}, being deleted", one.job),
        Some(EndBasis::Limit) => format!("{} ends {at}, by its limit", one.job),
    }
}
