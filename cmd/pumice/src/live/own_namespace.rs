//! What one's own namespace says to a user who may not ask the scheduler: queues its PodGroups are
//! in, what waits in it and why, pods that ask devices.

use std::io::Write;

use k8s_openapi::api::core::v1::Pod;
use pumice_api::pod_group::is_why_a_group_waits;
use pumice_api::{PodGroup, Queue};
use pumice_cluster::remote::ObjectsError;
use serde_json::Value;

use super::account;
use super::queue_lines::{self, QueueTableRow};
use super::scheduler::{SchedulerConnection, is_denied};
use super::user::{ClusterUser, wrong};
use super::words::{HEAD, brief, or, short_group};
use crate::columns::columns;
use crate::output::OutputFormat;

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What is listed, or nothing where it may not be.
pub(super) fn readable(
    found: Result<Vec<Value>, ObjectsError>,
) -> anyhow::Result<Option<Vec<Value>>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(ObjectsError::NotAllowed { .. }) => Ok(None),
        Err(error) => Err(wrong(error)),
    }
}

/// Queues as far as the user may see them: the objects and all PodGroups, else those of the
/// namespace.
pub(super) fn queues(user: &ClusterUser, namespace: &str) -> anyhow::Result<Vec<QueueTableRow>> {
    let queues = readable(user.try_ask(user.objects.list::<Queue>("", "")))?;
    let all = readable(user.try_ask(user.objects.list::<PodGroup>("", "")))?;
    match (queues, all) {
        (Some(queues), groups) => queue_lines::of_objects(&queues, groups.as_deref()),
        (None, Some(groups)) => Ok(queue_lines::of_groups(&groups)),
        (None, None) => {
            let own = user.ask(user.objects.list::<PodGroup>(namespace, ""))?;
            Ok(queue_lines::of_groups(&own))
        }
    }
}

/// Where the scheduler may not be asked, what can be said instead is printed, and why it is not the
/// whole answer comes back as the error.
pub(super) fn instead(
    connection: &SchedulerConnection,
    error: anyhow::Error,
    show: impl FnOnce(&mut dyn Write, &ClusterUser, &str) -> anyhow::Result<()>,
) -> anyhow::Error {
    let is_table = connection.output == OutputFormat::Table;
    let cluster = connection
        .cluster()
        .filter(|_| is_table && is_denied(&error));
    let Some(cluster) = cluster else {
        return error;
    };
    // That the scheduler is out of reach matters more than what else may not be read.
    let _ = cluster.open().and_then(|user| {
        let namespace = user.namespace(None).to_owned();
        show(&mut anstream::stdout().lock(), &user, &namespace)
    });
    error
}

/// For `queues`.
pub(super) fn show_queues(
    out: &mut dyn Write,
    user: &ClusterUser,
    namespace: &str,
) -> anyhow::Result<()> {
    queue_lines::table(out, &queues(user, namespace)?)
}

/// For `top`: queues, and what waits.
pub(super) fn show_top(
    out: &mut dyn Write,
    user: &ClusterUser,
    namespace: &str,
) -> anyhow::Result<()> {
    writeln!(out, "{HEAD}QUEUES{HEAD:#}")?;
    show_queues(out, user, namespace)?;
    let groups = user.ask(user.objects.list::<PodGroup>(namespace, ""))?;
    let rows: Vec<[String; 5]> = groups.iter().filter_map(waiting).collect();
    writeln!(out, "\n{HEAD}WAITING IN {namespace}{HEAD:#}")?;
    columns(out, ["QUEUE", "JOB", "PHASE", "MIN", "WHY"], rows)
}

fn waiting(group: &Value) -> Option<[String; 5]> {
    let phase = or(text(&group["status"]["phase"]), "Pending");
    if matches!(phase, "Running" | "Completed") {
        return None;
    }
    let conditions = group["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten().rev();
    let said =
        conditions.find(|one| is_why_a_group_waits(text(&one["type"]), text(&one["status"])));
    let why = said.map_or("-".to_owned(), |one| brief(text(&one["message"])));
    Some([
        or(text(&group["spec"]["queue"]), "default").to_owned(),
        short_group(text(&group["metadata"]["name"])).to_owned(),
        phase.to_owned(),
        group["spec"]["minMember"].as_i64().unwrap_or(1).to_string(),
        why,
    ])
}

/// For `cards`: pods of the namespace that ask devices, and where they are.
pub(super) fn show_devices(
    out: &mut dyn Write,
    user: &ClusterUser,
    namespace: &str,
) -> anyhow::Result<()> {
    let pods = user.ask(user.objects.list::<Pod>(namespace, ""))?;
    let rows: Vec<[String; 4]> = pods.iter().filter_map(with_devices).collect();
    columns(out, ["POD", "STATUS", "NODE", "ASKS"], rows)
}

/// A pod that asks resources of vendors.
fn with_devices(pod: &Value) -> Option<[String; 4]> {
    let containers = pod["spec"]["containers"].as_array()?;
    let limits = containers
        .iter()
        .filter_map(|container| container["resources"]["limits"].as_object())
        .flatten();
    let devices = limits.filter(|(name, _)| name.contains('/'));
    let devices: Vec<String> = devices
        .map(|(name, amount)| format!("{name} {}", text(amount)))
        .collect();
    (!devices.is_empty()).then(|| {
        [
            text(&pod["metadata"]["name"]).to_owned(),
            account::pod_phase(pod),
            or(text(&pod["spec"]["nodeName"]), "-").to_owned(),
            devices.join(", "),
        ]
    })
}
