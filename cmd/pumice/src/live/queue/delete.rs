//! `pumice queue delete`: not without a word on what is in it.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use pumice_api::{Job, PodGroup, Queue, keys};
use pumice_cluster::remote::ObjectsError;
use serde_json::Value;

use super::super::user::{ClusterConnection, ClusterUser, wrong};
use super::super::words::{or, short_group};
use super::{QueueName, missing};

/// Jobs named of those in a queue.
const MAX_NAMED: usize = 5;

/// Arguments of `pumice queue delete`.
#[derive(Args)]
pub struct QueueDeleteArguments {
    #[command(flatten)]
    name: QueueName,
    /// Delete it although jobs are in it: what runs goes on, what waits waits until there is a
    /// queue of that name again
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    connection: ClusterConnection,
}

/// Deletes the queue, unless something is below or in it.
pub(super) fn run(arguments: &QueueDeleteArguments) -> anyhow::Result<ExitCode> {
    let user = arguments.connection.open()?;
    let name = arguments.name.get();
    refuse_with_children(&user, name)?;
    if !arguments.force {
        refuse_with_jobs(&user, name)?;
    }
    if !user.ask(user.objects.delete::<Queue>("", name))? {
        return Err(missing(name));
    }
    anstream::println!("queue {name} is deleted");
    Ok(ExitCode::SUCCESS)
}

/// The queues below it would be without a parent.
fn refuse_with_children(user: &ClusterUser, name: &str) -> anyhow::Result<()> {
    let queues = user.ask(user.objects.list::<Queue>("", ""))?;
    let below = queues
        .iter()
        .filter(|queue| queue["spec"]["parent"] == name);
    let below: Vec<&str> = below
        .filter_map(|queue| queue["metadata"]["name"].as_str())
        .collect();
    match below.is_empty() || name == keys::ROOT_QUEUE {
        true => Ok(()),
        false => Err(wrong(format!(
            "queue {name} has queues below it: {}\n  = help: delete them first, or give them another \
             spec.parent",
            below.join(", ")
        ))),
    }
}

/// Jobs in it would wait for a queue that is not there any more.
fn refuse_with_jobs(user: &ClusterUser, name: &str) -> anyhow::Result<()> {
    let groups = user.try_ask(user.objects.list::<PodGroup>("", ""));
    // Jobs without PodGroup yet; of those one can do without.
    let jobs = user.try_ask(user.objects.list::<Job>("", ""));
    let known = groups.map(|groups| occupants(name, &groups, &jobs.unwrap_or_default()));
    match known {
        Ok(inside) => match refusal(name, &inside) {
            None => Ok(()),
            Some(refusal) => Err(wrong(refusal)),
        },
        Err(ObjectsError::NotAllowed { message, .. }) => Err(wrong(format!(
            "whether jobs are in queue {name} is not known: {message}\n  = help: say --force to delete \
             it all the same"
        ))),
        Err(error) => Err(wrong(error)),
    }
}

/// What has not ended of PodGroups and Jobs in a queue, as `namespace/name (phase)`.
pub(super) fn occupants(queue: &str, groups: &[Value], jobs: &[Value]) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_inside =
        |object: &&Value| or(&text(&object["spec"]["queue"]), keys::DEFAULT_QUEUE) == queue;
    let mut inside: Vec<(String, String)> = Vec::new();
    let groups = groups.iter().filter(is_inside).map(|group| {
        let phase = text(&group["status"]["phase"]);
        (group, phase)
    });
    let jobs = jobs.iter().filter(is_inside).map(|job| {
        let phase = text(&job["status"]["state"]["phase"]);
        (job, phase)
    });
    for (object, phase) in groups.chain(jobs) {
        let phase = or(&phase, "Pending").to_owned();
        if matches!(&*phase, "Completed" | "Failed" | "Terminated" | "Aborted") {
            continue;
        }
        let metadata = &object["metadata"];
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let name = format!("{namespace}/{}", short_group(&name));
        // A Job and its PodGroup are one.
        if inside.iter().all(|(known, _)| *known != name) {
            inside.push((name, phase));
        }
    }
    inside.sort();
    let told = inside.into_iter();
    told.map(|(name, phase)| format!("{name} ({phase})"))
        .collect()
}

/// Why a queue is not deleted with these in it.
pub(super) fn refusal(queue: &str, inside: &[String]) -> Option<String> {
    let named = inside.iter().take(MAX_NAMED).cloned();
    let mut named = named.collect::<Vec<_>>().join(", ");
    if let Some(more @ 1..) = inside.len().checked_sub(MAX_NAMED) {
        let _ = write!(named, " and {more} more");
    }
    let jobs = match inside.len() {
        0 => return None,
        1 => "a job".to_owned(),
        count => format!("{count} jobs"),
    };
    Some(format!(
        "queue {queue} has {jobs} in it: {named}\n  = help: `pumice queue close {queue}` lets nothing new \
         in; delete it when it is Closed, or now with --force: what runs goes on, what waits waits \
         until there is a queue of that name again"
    ))
}
