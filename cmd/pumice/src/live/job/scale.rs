//! `pumice job scale`: the number of pods of a task. A Job has one number a task, so `kubectl
//! scale`, which knows one number an object, cannot do it.

use std::process::ExitCode;

use clap::Args;
use pumice_api::Job;
use serde_json::{Value, json};

use super::super::user::{ClusterConnection, typed, wrong};
use super::named::{NamedJob, missing};

/// Arguments of `pumice job scale`.
#[derive(Args)]
pub struct JobScaleArguments {
    #[command(flatten)]
    job: NamedJob,
    /// Task; default: the only one
    #[arg(long, short, value_name = "NAME")]
    task: Option<String>,
    /// Pods the task is to have
    #[arg(long, short, value_name = "PODS")]
    replicas: u32,
    /// Pods of the Job that must run together, from now on
    #[arg(long, short, value_name = "PODS")]
    min: Option<u32>,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Changes the Job.
pub fn run(arguments: &JobScaleArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let object = arguments.job.read(&user)?;
    let job: Job = typed(&object)?;
    let patch = patch(
        &job,
        arguments.task.as_deref(),
        arguments.replicas,
        arguments.min,
    );
    let patch = patch.map_err(wrong)?;
    let (namespace, name) = (arguments.job.namespace(&user), arguments.job.name());
    let done = user.ask(user.objects.patch::<Job>(namespace, name, &patch))?;
    if done.is_none() {
        return Err(missing(namespace, name));
    }
    anstream::println!("job {namespace}/{name} is scaled");
    Ok(ExitCode::SUCCESS)
}

/// The change, which holds only for the Job that was read; or why there is none.
pub(super) fn patch(
    job: &Job,
    task: Option<&str>,
    replicas: u32,
    min: Option<u32>,
) -> Result<Value, String> {
    let tasks = &job.spec.tasks;
    let names = || {
        let names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
        names.join(", ")
    };
    let at = match (task, tasks.len()) {
        (None, 1) => Some(0),
        (None, _) => {
            return Err(format!(
                "the Job has the tasks {}\n  = help: say with --task which is meant",
                names()
            ));
        }
        (Some(name), _) => tasks.iter().position(|task| task.name == name),
    };
    let at = at.ok_or_else(|| {
        let name = task.unwrap_or_default();
        format!("the Job has no task {name:?}\n  = help: it has {}", names())
    })?;
    let others = tasks.iter().enumerate().filter(|(other, _)| *other != at);
    let others: i64 = others.map(|(_, task)| i64::from(task.replicas)).sum();
    let all = others + i64::from(replicas);
    let least = min.map_or(i64::from(job.spec.min_available), i64::from);
    if least > all {
        return Err(format!(
            "the Job would have {all} pods, and {least} must run together\n  = help: --min {all} lowers \
             that"
        ));
    }
    let own = tasks.get(at).and_then(|task| task.min_available);
    if let Some(own) = own.filter(|own| i64::from(*own) > i64::from(replicas)) {
        return Err(format!(
            "the task needs {own} pods (spec.tasks[{at}].minAvailable), and is to have {replicas}\n  = \
             help: write a smaller minAvailable into the Job first, or scale to {own} at least"
        ));
    }
    let mut patch = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": job.metadata.uid}),
        json!({"op": "add", "path": format!("/spec/tasks/{at}/replicas"), "value": replicas}),
    ];
    if let Some(min) = min {
        patch.push(json!({"op": "add", "path": "/spec/minAvailable", "value": min}));
    }
    Ok(Value::Array(patch))
}
