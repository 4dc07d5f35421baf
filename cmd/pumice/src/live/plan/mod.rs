//! `pumice plan`: what would happen if.
//!
//! ```text
//!  manifests ─► pumice_sim::wanted ─┐
//!  --drain, --add-nodes, …  what_ifs┼► PlanRequest ─► /debug/plan of the leader ─► PlanView ─► table
//!  --conf, names of jobs ───────────┘
//! ```

mod manifests;
mod table;
mod what_ifs;

pub use manifests::PlanManifests;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pumice_plan::{PlanOutcome, PlanRequest, PlanView, PlannedJob, WhatIf};

use super::scheduler::SchedulerConnection;
use super::words::print;
use crate::bad_input::BadInput;
use crate::check::read;

/// Ends with what becomes of the jobs that are asked about.
const WAITS: u8 = 3;
const EVICTS: u8 = 4;

/// Arguments of `pumice plan`.
#[derive(Args)]
pub struct PlanArguments {
    /// Jobs of the cluster that are asked about: a PodGroup, a workload or a pod, as NAME or NAMESPACE/NAME
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Manifests of what there would be: files, directories, or `-` for standard input
    #[arg(long, short, value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Namespace; default: the one of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    /// Under this volcano-scheduler.conf
    #[arg(long, value_name = "FILE")]
    conf: Option<PathBuf>,
    /// With other amounts of a queue: `research=cpu=64,nvidia.com/gpu=16` sets its capability, `deserved.cpu=…`,
    /// `guarantee.cpu=…` and `weight=…` what they say
    #[arg(long, value_name = "NAME=AMOUNTS")]
    queue: Vec<String>,
    /// With so many nodes more
    #[arg(long, value_name = "N", requires = "like")]
    add_nodes: Option<usize>,
    /// The node that the further ones are like
    #[arg(long, value_name = "NODE", requires = "add_nodes")]
    like: Option<String>,
    /// With this node closed to new pods
    #[arg(long, value_name = "NODE")]
    cordon: Vec<String>,
    /// With this node closed and emptied
    #[arg(long, value_name = "NODE")]
    drain: Vec<String>,
    /// Without this job and its pods
    #[arg(long, value_name = "JOB")]
    remove: Vec<String>,
    /// Scheduler names that are ours (repeat for several)
    #[arg(
        long = "scheduler-name",
        default_value = "volcano",
        value_name = "NAME"
    )]
    scheduler_names: Vec<String>,
    #[command(flatten)]
    connection: SchedulerConnection,
}

/// Asks and prints; ends with 0 where all runs, 3 where something waits, 4 where others go for it.
pub fn run(arguments: &PlanArguments) -> anyhow::Result<ExitCode> {
    let manifests = PlanManifests::read(&arguments.filename)?;
    let configuration = conf(arguments)?;
    let scheduler = arguments.connection.open()?;
    let namespace = arguments.namespace.as_deref();
    let namespace = namespace.unwrap_or(scheduler.namespace());
    let mut request = PlanRequest {
        objects: manifests
            .objects(&arguments.scheduler_names, namespace)
            .map_err(BadInput)?,
        configuration,
        ..PlanRequest::default()
    };
    request.about = arguments
        .jobs
        .iter()
        .map(|job| named(job, namespace))
        .collect();
    request.what_ifs = what_ifs(arguments, namespace)?;
    if request == PlanRequest::default() {
        let text = "error: what would happen if what?\n  = help: give manifests with -f, the name of a job, \
                    or a change such as --drain NODE";
        return Err(BadInput(text.to_owned()).into());
    }
    let question = serde_json::to_string(&request)?;
    let view: PlanView = scheduler.post(&["plan"], &question)?;
    print(&view, arguments.connection.output, table::table)?;
    Ok(match view.outcome {
        PlanOutcome::Runs => ExitCode::SUCCESS,
        PlanOutcome::Waits => ExitCode::from(WAITS),
        PlanOutcome::Evicts => ExitCode::from(EVICTS),
    })
}

/// A job as the user names it.
pub fn named(job: &str, namespace: &str) -> PlannedJob {
    let (namespace, name) = job.split_once('/').unwrap_or((namespace, job));
    PlannedJob {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn what_ifs(arguments: &PlanArguments, namespace: &str) -> anyhow::Result<Vec<WhatIf>> {
    let mut all = Vec::new();
    for queue in &arguments.queue {
        all.push(what_ifs::queue(queue)?);
    }
    if let (Some(count), Some(like)) = (arguments.add_nodes, &arguments.like) {
        let like = like.clone();
        all.push(WhatIf::AddNodes { count, like });
    }
    all.extend(arguments.cordon.iter().cloned().map(WhatIf::Cordon));
    all.extend(arguments.drain.iter().cloned().map(WhatIf::Drain));
    let removed = arguments.remove.iter();
    all.extend(removed.map(|job| WhatIf::Remove(named(job, namespace))));
    Ok(all)
}

fn conf(arguments: &PlanArguments) -> anyhow::Result<Option<String>> {
    let Some(path) = &arguments.conf else {
        return Ok(None);
    };
    let text = String::from_utf8(read(path)?);
    let wrong = |_| BadInput(format!("error: {}: it is not UTF-8", path.display()));
    Ok(Some(text.map_err(wrong)?))
}
