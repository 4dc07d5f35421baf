//! What pods say: those without a node, and those that a device plugin or the kubelet holds up.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::Value;

use super::super::words::{age, counts};
use super::job::since;
use super::{AccountStep, AccountWhy, WorkloadAccount};

/// Names told of pods that are held up for the same reason.
const MAX_NAMES: usize = 3;

/// Seconds within which a device plugin answers.
const PLUGIN_ANSWERS_S: i64 = 5;

/// Annotations in which device plugins say how far they are.
const PLUGIN_PHASES: [&str; 2] = ["volcano.sh/bind-phase", "hami.io/bind-phase"];

/// What a container waits for in the ordinary course of things.
const ORDINARY: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// Pods that wait on their node, or ended there, for the same reason.
pub(super) struct HeldUp {
    pub why: AccountWhy,
    /// They have failed: the Job may go on without them.
    pub have_failed: bool,
    pods: Vec<String>,
}

impl fmt::Display for HeldUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.pods.iter().take(MAX_NAMES).cloned();
        let names: Vec<String> = names.collect();
        write!(f, "{}", names.join(", "))?;
        match self.pods.len().saturating_sub(MAX_NAMES) {
            0 => {}
            more => write!(f, " and {more} more")?,
        }
        write!(f, ": {}: {}", self.why.reason, self.why.message)
    }
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Pods by phase.
pub(super) fn in_words(pods: &[Value]) -> String {
    let mut by_phase: BTreeMap<String, usize> = BTreeMap::new();
    for pod in pods {
        *by_phase.entry(phase(pod)).or_default() += 1;
    }
    counts(&by_phase)
}

/// The phase; `Terminating` of a pod that is being deleted, and `Bound` of one that waits on its
/// node.
pub(in crate::live) fn phase(pod: &Value) -> String {
    let phase = text(&pod["status"]["phase"]);
    let is_bound = pod["spec"]["nodeName"].is_string();
    match phase {
        _ if pod["metadata"]["deletionTimestamp"].is_string() => "Terminating".to_owned(),
        "" | "Pending" if is_bound => "Bound".to_owned(),
        "" => "Pending".to_owned(),
        phase => phase.to_owned(),
    }
}

/// Why the first pod that has no node has none, as the scheduler has written it.
pub(super) fn without_node(pods: &[Value]) -> Option<AccountWhy> {
    pods.iter().find_map(unscheduled)
}

pub(super) fn unscheduled(pod: &Value) -> Option<AccountWhy> {
    if pod["spec"]["nodeName"].is_string() {
        return None;
    }
    let gates = pod["spec"]["schedulingGates"].as_array();
    let gates: Vec<&str> = gates
        .into_iter()
        .flatten()
        .map(|gate| text(&gate["name"]))
        .collect();
    if !gates.is_empty() {
        let message = format!(
            "spec.schedulingGates has {}: nobody schedules the pod until whoever set it takes it away",
            gates.join(", ")
        );
        return Some(AccountWhy::new("SchedulingGated", message));
    }
    let conditions = pod["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let found = conditions.find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
    found.map(|one| AccountWhy::new(text(&one["reason"]), text(&one["message"])))
}

/// Pods that do not get on on their nodes, by reason, in the order of the pods.
pub(super) fn on_nodes(pods: &[Value], now: Timestamp) -> Vec<HeldUp> {
    let mut all: Vec<HeldUp> = Vec::new();
    for pod in pods {
        let Some(why) = on_node(pod, now) else {
            continue;
        };
        let name = text(&pod["metadata"]["name"]).to_owned();
        match all.iter_mut().find(|known| known.why == why) {
            Some(known) => known.pods.push(name),
            None => all.push(HeldUp {
                why,
                have_failed: pod["status"]["phase"] == "Failed",
                pods: vec![name],
            }),
        }
    }
    all
}

/// Why a pod that has a node does not run there.
pub(super) fn on_node(pod: &Value, now: Timestamp) -> Option<AccountWhy> {
    let node = pod["spec"]["nodeName"].as_str()?;
    let status = &pod["status"];
    match text(&status["phase"]) {
        "Failed" => Some(ended(pod)),
        "" | "Pending" => plugin(pod, node, now).or_else(|| waiting(status)),
        "Running" => waiting(status),
        _ => None,
    }
}

/// Seconds since the pod was bound.
pub(in crate::live) fn bound_at(pod: &Value) -> Option<Timestamp> {
    let conditions = pod["status"]["conditions"].as_array()?;
    let mut conditions = conditions.iter();
    let bound = conditions.find(|one| one["type"] == "PodScheduled" && one["status"] == "True");
    text(&bound?["lastTransitionTime"]).parse().ok()
}

/// The device plugin has not said yet that it has served the pod, or that it cannot.
fn plugin(pod: &Value, node: &str, now: Timestamp) -> Option<AccountWhy> {
    let annotations = &pod["metadata"]["annotations"];
    let mut phases = PLUGIN_PHASES
        .iter()
        .map(|key| (*key, text(&annotations[*key])));
    let (key, phase) = phases.find(|(_, phase)| matches!(*phase, "allocating" | "failed"))?;
    if phase == "failed" {
        let message = format!(
            "the device plugin of node {node} says that it could not serve the pod ({key} is \
             failed); its log says why"
        );
        return Some(AccountWhy::new("DevicePluginFailed", message));
    }
    let waited = since(bound_at(pod)?, now);
    (waited >= PLUGIN_ANSWERS_S).then(|| {
        AccountWhy::new(
            "DevicePluginSilent",
            format!(
                "bound to node {node}, whose device plugin has not answered yet ({key} is allocating); \
                 see whether it runs: kubectl get pods -A --field-selector spec.nodeName={node}"
            ),
        )
    })
}

/// What containers wait for, init containers first.
fn waiting(status: &Value) -> Option<AccountWhy> {
    let kinds = ["initContainerStatuses", "containerStatuses"];
    let all = kinds.iter().flat_map(|kind| status[*kind].as_array());
    all.flatten().find_map(|container| {
        let waiting = &container["state"]["waiting"];
        let reason = text(&waiting["reason"]);
        let is_news = !reason.is_empty() && !ORDINARY.contains(&reason);
        is_news.then(|| {
            let name = text(&container["name"]);
            let message = format!("container {name}: {}", text(&waiting["message"]));
            AccountWhy::new(reason, message.trim_end_matches(": "))
        })
    })
}

/// How a pod has failed.
fn ended(pod: &Value) -> AccountWhy {
    let status = &pod["status"];
    if let Some(reason) = status["reason"].as_str() {
        return AccountWhy::new(reason, text(&status["message"]));
    }
    let containers = status["containerStatuses"].as_array();
    let mut containers = containers.into_iter().flatten();
    let found = containers.find_map(|container| {
        let end = &container["state"]["terminated"];
        let code = end["exitCode"].as_i64().filter(|code| *code != 0)?;
        let name = text(&container["name"]);
        let reason = text(&end["reason"]);
        Some(AccountWhy::new(
            if reason.is_empty() { "Failed" } else { reason },
            format!("container {name} has ended with code {code}"),
        ))
    });
    found.unwrap_or_else(|| AccountWhy::new("Failed", "the pod has failed and says no more"))
}

/// `waited 3m for its node`, of a pod that has one.
pub(in crate::live) fn waited(pod: &Value) -> Option<String> {
    let created: Timestamp = text(&pod["metadata"]["creationTimestamp"]).parse().ok()?;
    let seconds = since(created, bound_at(pod)?);
    Some(format!("{} until it had a node", age(seconds)))
}

/// What a pod alone says.
pub(in crate::live) fn of_pod(pod: &Value, now: Timestamp) -> WorkloadAccount {
    let metadata = &pod["metadata"];
    let node = text(&pod["spec"]["nodeName"]);
    let why = match node {
        "" => unscheduled(pod),
        _ => on_node(pod, now),
    };
    let step = |what, says: &str| {
        let says = says.to_owned();
        (!says.is_empty()).then_some(AccountStep { what, says })
    };
    let scheduler = text(&pod["spec"]["schedulerName"]);
    let steps = [
        step("Node", node),
        step("Scheduler", scheduler),
        step("Created", text(&metadata["creationTimestamp"])),
        waited(pod).and_then(|waited| step("Waited", &waited)),
    ];
    WorkloadAccount {
        about: format!(
            "pod {}/{}",
            text(&metadata["namespace"]),
            text(&metadata["name"])
        ),
        phase: phase(pod),
        why,
        steps: steps.into_iter().flatten().collect(),
    }
}
