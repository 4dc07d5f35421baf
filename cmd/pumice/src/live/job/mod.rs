//! `pumice job`: Jobs of a cluster, as `vcctl job` shows and starts them.

mod list;
mod logs;
mod named;
mod run;
mod scale;
mod view;
mod wait;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use pumice_api::Job;

use super::user::{ClusterConnection, typed, wrong};
use named::{NamedJob, missing};
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
    /// What the pods of a Job have written
    Logs(logs::JobLogsArguments),
    /// Wait until a Job has ended, runs, is suspended or gone; exit code 1 if it never will
    Wait(wait::JobWaitArguments),
    /// Change the number of pods of a task
    Scale(scale::JobScaleArguments),
    /// Delete the pods of a Job until it is resumed
    Suspend(JobControlArguments),
    /// Start a suspended Job again
    Resume(JobControlArguments),
    /// Delete a Job and its pods
    Delete(JobControlArguments),
}

/// Arguments of `suspend`, `resume` and `delete`.
#[derive(Args)]
pub struct JobControlArguments {
    #[command(flatten)]
    job: NamedJob,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Carries out what is asked for.
pub fn run(command: &JobCommand) -> anyhow::Result<ExitCode> {
    match command {
        JobCommand::Run(arguments) => run::run(arguments),
        JobCommand::List(arguments) => list::run(arguments),
        JobCommand::View(arguments) => view::run(arguments),
        JobCommand::Logs(arguments) => logs::run(arguments),
        JobCommand::Wait(arguments) => wait::run(arguments),
        JobCommand::Scale(arguments) => scale::run(arguments),
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

#[cfg(test)]
mod tests;
