//! `pumice job logs`: what the pods of a Job have written.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use k8s_openapi::api::core::v1::Pod;
use pumice_api::keys;
use pumice_cluster::remote::LogPart;
use serde_json::Value;

use super::super::account::{is_owned_by, job_query, pod_phase};
use super::super::user::{ClusterConnection, wrong};
use super::named::NamedJob;

/// Pods whose logs are read at once.
const MAX_PODS: usize = 64;

/// Arguments of `pumice job logs`.
#[derive(Args)]
pub struct JobLogsArguments {
    #[command(flatten)]
    job: NamedJob,
    /// Only pods of this task
    #[arg(long, short, value_name = "NAME")]
    task: Option<String>,
    /// Only the pod of this index in its task
    #[arg(long, short, value_name = "NUMBER")]
    index: Option<u32>,
    /// Container; default: the only one, or the one the pod names
    #[arg(long, short, value_name = "NAME")]
    container: Option<String>,
    /// Go on until the pods have ended
    #[arg(long, short)]
    follow: bool,
    /// Only so many lines of each pod, the last ones
    #[arg(long, value_name = "LINES")]
    tail: Option<u32>,
    /// Show what the container wrote before its last restart
    #[arg(long, short)]
    previous: bool,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Reads and prints. Lines of several pods begin with the name of theirs.
pub fn run(arguments: &JobLogsArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let job = arguments.job.read(&user)?;
    let namespace = arguments.job.namespace(&user).to_owned();
    let query = job_query(arguments.job.name());
    let mut pods = user.ask(user.objects.list::<Pod>(&namespace, &query))?;
    let uid = job["metadata"]["uid"].as_str().unwrap_or_default();
    pods.retain(|pod| is_wanted(arguments, pod, uid));
    if pods.is_empty() {
        return Err(wrong(format!(
            "job {namespace}/{name} has no such pods\n  = help: `pumice pod list -j {name} -n \
             {namespace}` shows those it has, `pumice explain job/{name} -n {namespace}` why it has \
             none",
            name = arguments.job.name()
        )));
    }
    if pods.len() > MAX_PODS {
        return Err(wrong(format!(
            "these are {} pods, and at most {MAX_PODS} are read at once\n  = help: name a task with \
             --task, a pod with --index",
            pods.len()
        )));
    }
    let part = LogPart {
        container: arguments.container.clone(),
        follow: arguments.follow,
        tail: arguments.tail,
        previous: arguments.previous,
    };
    let is_one = pods.len() == 1;
    let asked = pods.iter().map(|pod| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let state = pod_phase(pod);
        let before = match is_one {
            true => String::new(),
            false => format!("[{name}] "),
        };
        let (objects, namespace, part) = (&user.objects, &namespace, &part);
        async move {
            let show = |line: String| {
                // Whoever reads the output has seen enough when it cannot be written.
                let _ = writeln!(anstream::stdout(), "{before}{line}");
            };
            let found = objects.logs(namespace, name, part, show).await;
            match found {
                Ok(true) => true,
                Ok(false) => {
                    anstream::eprintln!("note: pod {name} is gone");
                    false
                }
                Err(error) => {
                    anstream::eprintln!("note: pod {name} ({state}): {error}");
                    false
                }
            }
        }
    });
    let read = user.wait_for_all(asked);
    Ok(match read.contains(&true) {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(2),
    })
}

fn is_wanted(arguments: &JobLogsArguments, pod: &Value, job: &str) -> bool {
    let metadata = &pod["metadata"];
    let annotation = |key: &str| metadata["annotations"][key].as_str();
    let index = arguments.index.map(|index| index.to_string());
    is_owned_by(pod, job)
        && (arguments.task.is_none() || annotation(keys::TASK_SPEC) == arguments.task.as_deref())
        && (index.is_none() || annotation(keys::TASK_INDEX) == index.as_deref())
}
