//! `pumice when`: when jobs start, if what runs ends when its owners say.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use pumice_plan::{EndBasis, JobMoment, JobStart, StartsView, WhenAbout, WhenView};

use super::plan::named;
use super::scheduler::SchedulerConnection;
use super::starts;
use super::words::{BAD, GOOD, HEAD, age, line, lines, print};

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
    let output = arguments.connection.output;
    let all = match &arguments.queue {
        Some(queue) => {
            let queue = queue.clone();
            let all = starts::ask(&scheduler, WhenAbout::Queue { queue })?;
            print(&all, output, starts::table)?;
            all
        }
        None => {
            let mut all = StartsView::default();
            for job in &arguments.jobs {
                let told = starts::ask(&scheduler, WhenAbout::Job(named(job, namespace)))?;
                all.jobs.extend(told.jobs);
            }
            print(&all, output, jobs)?;
            all
        }
    };
    Ok(starts::exit_code(&all))
}

fn jobs(out: &mut dyn Write, all: &StartsView) -> anyhow::Result<()> {
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
    if let Some(stay) = starts::taken_to_stay(view) {
        line(out, "unknown", &stay)?;
    }
    Ok(())
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
        Some(EndBasis::Guess) => format!("{} ends {at}, by a guess from jobs like it", one.job),
        Some(EndBasis::Limit) => format!("{} ends {at}, by its limit", one.job),
    }
}
