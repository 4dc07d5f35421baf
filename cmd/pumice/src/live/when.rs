//! `pumice when`: when jobs start, if what runs ends when its owners say.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_plan::{EndBasis, JobMoment, JobStart, WhenRequest, WhenView};
use serde::Serialize;

use super::plan::named;
use super::scheduler::SchedulerConnection;
use super::words::{BAD, GOOD, HEAD, age, line, lines, print};

/// Ends with that where nobody can say when a job starts.
const UNKNOWN: u8 = 3;

/// Arguments of `pumice when`.
#[derive(Args)]
pub struct WhenArguments {
    /// Jobs of the cluster: a PodGroup, a workload or a pod, as NAME or NAMESPACE/NAME
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<String>,
    /// Namespace; default: the one of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// The answers, in the order of the question.
#[derive(Serialize)]
struct WhenList {
    jobs: Vec<WhenView>,
}

/// Asks and prints; ends with 0 where a start is known of each, else with 3.
pub fn run(arguments: &WhenArguments) -> anyhow::Result<ExitCode> {
    let scheduler = arguments.connection.open()?;
    let namespace = arguments.namespace.as_deref();
    let namespace = namespace.unwrap_or(scheduler.namespace());
    let mut all = WhenList { jobs: Vec::new() };
    for job in &arguments.jobs {
        let when = named(job, namespace);
        let question = serde_json::to_string(&WhenRequest { when })?;
        let view: WhenView = scheduler.post(&["plan"], &question)?;
        all.jobs.push(view);
    }
    print(&all, arguments.connection.output, table)?;
    let is_known = |view: &WhenView| view.has_started || view.expected.is_some();
    Ok(match all.jobs.iter().all(is_known) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(UNKNOWN),
    })
}

fn table(out: &mut dyn Write, all: &WhenList) -> anyhow::Result<()> {
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
    if !stay.is_empty() && !view.has_started {
        let text = format!("{}: taken to stay", stay.join(", "));
        line(out, "unknown", &text)?;
    }
    Ok(())
}

fn headline(view: &WhenView) -> (anstyle::Style, String) {
    if view.has_started {
        return (GOOD, "has started".to_owned());
    }
    let Some(expected) = &view.expected else {
        let why = match view.is_cut {
            true => "later than could be looked at; see --plan-time of the scheduler",
            false => "nobody can say: not when all has ended of which somebody said when",
        };
        return (BAD, why.to_owned());
    };
    let latest = view.latest.as_ref().map_or_else(
        || "no latest time: limits are not known".to_owned(),
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
        Some(EndBasis::Limit) => format!("{} ends {at}, by its limit", one.job),
    }
}
