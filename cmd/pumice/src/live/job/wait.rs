//! `pumice job wait`: until a Job is in a phase, or can never be.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use pumice_api::Job;

use super::super::account;
use super::super::user::{ClusterConnection, ClusterUser, typed, wrong};
use super::named::NamedJob;

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WaitedFor {
    /// It has ended; well or not says the exit code
    End,
    /// The pods of the Job run
    Running,
    /// The Job is suspended
    Suspended,
    /// It is gone
    Deleted,
}

/// Arguments of `pumice job wait`.
#[derive(Args)]
pub struct JobWaitArguments {
    #[command(flatten)]
    job: NamedJob,
    /// What to wait for
    #[arg(long = "for", value_enum, default_value = "end", value_name = "WHAT")]
    wanted: WaitedFor,
    /// Seconds to wait at most; 0: for ever
    #[arg(long, default_value_t = 0, value_name = "SECONDS")]
    timeout: u64,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// It is there.
    Reached,
    /// It has ended, or was suspended, and never gets there by itself.
    Missed,
    NotYet,
}

/// Whether a Job in this phase (`None`: it is gone) is where it shall be.
pub(super) fn reached(wanted: WaitedFor, phase: Option<&str>) -> Waited {
    let has_ended = phase.is_some_and(account::has_ended);
    let is_suspended = phase.is_some_and(account::is_suspended);
    match (wanted, phase) {
        (WaitedFor::Deleted, None) => Waited::Reached,
        (WaitedFor::Deleted, _) => Waited::NotYet,
        (_, None) => Waited::Missed,
        (WaitedFor::End, Some("Completed")) => Waited::Reached,
        (WaitedFor::End, _) if has_ended || is_suspended => Waited::Missed,
        (WaitedFor::Running, Some("Running" | "Completing" | "Completed")) => Waited::Reached,
        (WaitedFor::Running, _) if has_ended || is_suspended => Waited::Missed,
        (WaitedFor::Suspended, Some("Aborted")) => Waited::Reached,
        (WaitedFor::Suspended, _) if has_ended => Waited::Missed,
        _ => Waited::NotYet,
    }
}

/// Waits. 0: it is there; 1: it never will be by itself; 2: not in time.
pub fn run(arguments: &JobWaitArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let (namespace, name) = (arguments.job.namespace(&user), arguments.job.name());
    let started = Instant::now();
    let mut told = String::new();
    if arguments.wanted != WaitedFor::Deleted {
        arguments.job.read(&user)?;
    }
    loop {
        let object = user.ask(user.objects.get::<Job>(namespace, name))?;
        let job: Option<Job> = object.as_ref().map(typed).transpose()?;
        let now = job.as_ref().map(account::job_phase);
        let text = now.as_deref().unwrap_or("gone");
        if text != told {
            anstream::println!("job {namespace}/{name} is {text}");
            text.clone_into(&mut told);
        }
        match reached(arguments.wanted, now.as_deref()) {
            Waited::Reached => return Ok(ExitCode::SUCCESS),
            Waited::Missed => return Ok(ExitCode::from(1)),
            Waited::NotYet => {}
        }
        let limit = Duration::from_secs(arguments.timeout);
        if arguments.timeout > 0 && started.elapsed() >= limit {
            return Err(too_long(arguments, &user, object, text));
        }
        user.pause(PAUSE);
    }
}

fn too_long(
    arguments: &JobWaitArguments,
    user: &ClusterUser,
    object: Option<serde_json::Value>,
    phase: &str,
) -> anyhow::Error {
    let facts = object.map(|job| account::read_job(user, job));
    let why = facts.and_then(Result::ok).and_then(|facts| {
        let account = account::account(&facts, None, Timestamp::now());
        account.why
    });
    let why = why.map_or(String::new(), |why| {
        format!(": {}: {}", why.reason, why.message)
    });
    wrong(format!(
        "after {} s job {}/{} is {phase}{why}",
        arguments.timeout,
        arguments.job.namespace(user),
        arguments.job.name()
    ))
}
