//! `pumice job`: Jobs of a cluster, as `vcctl job` shows and starts them.

mod list;
mod run;
mod view;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pumice_api::Job;
use serde_json::Value;

use super::user::{ClusterConnection, ClusterUser, typed, wrong};
pub(super) use run::resources;

/// What to do with Jobs.
#[derive(Subcommand)]
pub enum JobCommand {
    /// Create a Job of one task, or the Job of a file
    Run(run::JobRunArguments),
    /// Jobs, a line each
    List(list::JobListArguments),
    /// What a Job wants, how far it is, and its events
    View(view::JobViewArguments),
    /// Delete the pods of a Job until it is resumed
    Suspend(JobControlArguments),
    /// Start a suspended Job again
    Resume(JobControlArguments),
    /// Delete a Job and its pods
    Delete(JobControlArguments),
}

/// One Job.
#[derive(Args)]
pub struct NamedJob {
    #[command(flatten)]
    name: JobName,
    /// Namespace; default: that of the context
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
}

/// Its name, in one of two ways.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct JobName {
    /// Name of the Job
    #[arg(value_name = "NAME")]
    named: Option<String>,
    /// The same, as vcctl takes it
    #[arg(long = "name", short = 'N', value_name = "NAME")]
    flag: Option<String>,
}

/// Arguments of `suspend`, `resume` and `delete`.
#[derive(Args)]
pub struct JobControlArguments {
    #[command(flatten)]
    job: NamedJob,
    #[command(flatten)]
    connection: ClusterConnection,
}

impl NamedJob {
    fn name(&self) -> &str {
        let name = self.name.named.as_deref().or(self.name.flag.as_deref());
        name.unwrap_or_default()
    }

    fn namespace<'a>(&'a self, user: &'a ClusterUser) -> &'a str {
        user.namespace(self.namespace.as_deref())
    }

    /// The Job, which must be there.
    fn read(&self, user: &ClusterUser) -> anyhow::Result<Value> {
        let (namespace, name) = (self.namespace(user), self.name());
        let found = user.ask(user.objects.get::<Job>(namespace, name))?;
        found.ok_or_else(|| missing(namespace, name))
    }
}

fn missing(namespace: &str, name: &str) -> anyhow::Error {
    wrong(format!(
        "there is no Job {namespace}/{name}\n  = help: `pumice job list --all-namespaces` shows \
         all; another namespace is named with --namespace"
    ))
}

/// Carries out what is asked for.
pub fn run(command: &JobCommand) -> anyhow::Result<ExitCode> {
    match command {
        JobCommand::Run(arguments) => run::run(arguments),
        JobCommand::List(arguments) => list::run(arguments),
        JobCommand::View(arguments) => view::run(arguments),
        JobCommand::Suspend(arguments) => control(arguments, &SUSPEND),
        JobCommand::Resume(arguments) => control(arguments, &RESUME),
        JobCommand::Delete(arguments) => delete(arguments),
    }
}

/// A Command for a Job, and the phases in which it has an effect.
struct JobControl {
    action: &'static str,
    effective: fn(&str) -> bool,
    done: &'static str,
}

const SUSPEND: JobControl = JobControl {
    action: "AbortJob",
    effective: |phase| matches!(phase, "" | "Pending" | "Running" | "Restarting"),
    done: "suspended",
};

const RESUME: JobControl = JobControl {
    action: "ResumeJob",
    effective: |phase| matches!(phase, "Aborting" | "Aborted"),
    done: "resumed",
};

fn control(arguments: &JobControlArguments, control: &JobControl) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let object = arguments.job.read(&user)?;
    let job: Job = typed(&object)?;
    let (namespace, name) = (arguments.job.namespace(&user), arguments.job.name());
    refuse_without_effect(&job, namespace, control)?;
    user.command(namespace, control.action, &object)?;
    anstream::println!(
        "job {namespace}/{name} is being {}; `pumice job view {name} -n {namespace}` shows it",
        control.done
    );
    Ok(ExitCode::SUCCESS)
}

/// A Job that has ended, or is where it shall go, is told so.
fn refuse_without_effect(job: &Job, namespace: &str, control: &JobControl) -> anyhow::Result<()> {
    let phase = job.status.state.phase.as_str();
    if (control.effective)(phase) {
        return Ok(());
    }
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let why = match phase {
        "" => "Pending",
        phase => phase,
    };
    Err(wrong(format!(
        "job {namespace}/{name} is {why}, so it cannot be {}",
        control.done
    )))
}

fn delete(arguments: &JobControlArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let (namespace, name) = (arguments.job.namespace(&user), arguments.job.name());
    if !user.ask(user.objects.delete::<Job>(namespace, name))? {
        return Err(missing(namespace, name));
    }
    anstream::println!("job {namespace}/{name} is deleted");
    Ok(ExitCode::SUCCESS)
}

/// The phase as it is shown: a Job that nobody has looked at is Pending.
fn phase(job: &Job) -> String {
    match job.status.state.phase.as_str() {
        "" => "Pending".to_owned(),
        phase => phase.to_owned(),
    }
}

/// Pods of all tasks.
fn replicas(job: &Job) -> i64 {
    let tasks = job.spec.tasks.iter();
    tasks.map(|task| i64::from(task.replicas)).sum()
}

#[cfg(test)]
mod tests;
