//! What must hold after every step (spec/06 §3.3), found out from the virtual API server alone where
//! that is possible.
//!
//! A decision is made from what watches have shown, so a Binding may land on a node that has changed
//! a moment ago. What a node offered within [`WINDOW_MS`] before counts, and nothing older.

use std::collections::BTreeMap;

use pumice_conf::Config;
use pumice_model::object::{Amounts, GroupObject, GroupPhase, NodeObject, PodObject, PodPhase};
use pumice_model::{Delta, TaskStatus};

use super::claim_oracle;
use super::invariant::{Broken, Invariant, WINDOW_MS};
use super::network::{RequestInFlight, ServerCall};
use super::process::{Process, has_plugin};
use super::server::{VirtualServer, holds, key};
use super::server_kind::ServerKind;
use super::topology;

/// Annotation with the card of a pod that shares one.
const CARD: &str = "volcano.sh/gpu-index";

/// Resource of pods that share cards, and of their nodes.
pub const CARD_MEMORY: &str = "volcano.sh/gpu-memory";

/// Number of cards of a node.
pub const CARDS: &str = "volcano.sh/gpu-number";

/// What the oracle remembers of the past.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// Bindings that landed, by UID of the pod.
    binds: BTreeMap<String, u32>,
    /// Pods that were bound by somebody else, and when.
    foreign: BTreeMap<String, u64>,
    /// Amounts that nobody counts on nodes: the cards themselves say what is left.
    uncounted: Vec<String>,
    /// The configuration does not limit queues.
    queues_are_open: bool,
    /// The configuration does not place gangs as a whole.
    pub(super) gangs_may_be_partial: bool,
}

/// The amount of a resource.
pub fn amount(amounts: &Amounts, name: &str) -> i64 {
    let found = amounts.iter().find(|(known, _)| known == name);
    found.map_or(0, |(_, amount)| *amount)
}

impl Oracle {
    /// What holds under a configuration that somebody has written.
    pub(super) fn take_rules(&mut self, config: &Config, uncounted: &[String]) {
        self.uncounted = uncounted.to_vec();
        let limiting = ["proportion", "capacity"];
        self.queues_are_open = !limiting.iter().any(|name| has_plugin(config, name));
        self.gangs_may_be_partial = !has_plugin(config, "gang");
    }

    /// Somebody else puts a pod on a node.
    pub fn note_foreign(&mut self, uid: String, now_ms: u64) {
        self.foreign.insert(uid, now_ms);
    }

    /// A request is about to land.
    ///
    /// # Errors
    /// It is written outside a term.
    pub fn check_term(
        &self,
        lands_ms: u64,
        request: &RequestInFlight,
        leaders: &[u32],
    ) -> Result<(), Broken> {
        let by = request.by;
        if lands_ms > request.term_end_ms {
            let late_ms = lands_ms - request.term_end_ms;
            let text = format!(
                "{:?} of process {by} lands {late_ms} ms after its term",
                request.call
            );
            return Err(Invariant::Term.broken(text));
        }
        if let Some(other) = leaders.iter().find(|leader| **leader != by) {
            let text = format!(
                "{:?} of process {by} lands in the term of {other}",
                request.call
            );
            return Err(Invariant::Term.broken(text));
        }
        Ok(())
    }

    /// A Binding was accepted.
    ///
    /// # Errors
    /// Something holds more than it has, or the Binding is not whole.
    pub fn check_bind(&mut self, call: &ServerCall, server: &VirtualServer) -> Result<(), Broken> {
        let ServerCall::Bind { uid, node, records } = call else {
            return Ok(());
        };
        let count = self.binds.entry(uid.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            return Err(Invariant::OneBind.broken(format!("{uid} is bound {count} times")));
        }
        let Some(pod) = server.pods.get(uid) else {
            return Ok(());
        };
        if amount(&pod.request, CARD_MEMORY) > 0 && !records.iter().any(|(key, _)| key == CARD) {
            return Err(Invariant::NodeAndCard.broken(format!("{uid} is bound without its card")));
        }
        let recent = recent_nodes(server, node);
        if recent.is_empty() {
            return Err(Invariant::Nodes.broken(format!("{uid} is bound to {node}, which is gone")));
        }
        let most = |name: &str| {
            recent
                .iter()
                .map(|node| amount(&node.allocatable, name))
                .max()
        };
        let counted = pod.request.iter();
        for (name, asked) in counted.filter(|(name, _)| !self.uncounted.contains(name)) {
            let used = self.used(server, node, name);
            let most = most(name).unwrap_or(0);
            if *asked > 0 && used > most {
                let text = format!("{uid} is bound to {node}: {used} {name} of {most} are used");
                return Err(Invariant::Nodes.broken(text));
            }
        }
        self.check_card(server, pod, &recent)?;
        topology::check(server, pod)?;
        claim_oracle::check_bind(server, pod)?;
        match self.queues_are_open {
            true => Ok(()),
            false => check_queue(server, pod),
        }
    }

    /// What the pods of a node ask, those aside that somebody else has just put there.
    fn used(&self, server: &VirtualServer, node: &str, name: &str) -> i64 {
        let is_new = |uid: &str| {
            self.foreign
                .get(uid)
                .is_some_and(|at| at + WINDOW_MS > server.now_ms())
        };
        let there = server
            .pods
            .values()
            .filter(|pod| pod.node.as_deref() == Some(node));
        let holding = there.filter(|pod| holds(pod) && !is_new(&pod.uid));
        holding.map(|pod| amount(&pod.request, name)).sum()
    }

    fn check_card(
        &self,
        server: &VirtualServer,
        pod: &PodObject,
        recent: &[NodeObject],
    ) -> Result<(), Broken> {
        let card = |pod: &PodObject| {
            pod.records
                .iter()
                .find(|(key, _)| key == CARD)
                .map(|(_, card)| card.clone())
        };
        let (Some(own), Some(node)) = (card(pod), &pod.node) else {
            return Ok(());
        };
        let size = |node: &NodeObject| {
            amount(&node.device_capacity, CARD_MEMORY)
                / (amount(&node.device_capacity, CARDS) / 1000).max(1)
        };
        let size = recent.iter().map(size).max().unwrap_or(0);
        let there = server
            .pods
            .values()
            .filter(|other| other.node.as_ref() == Some(node) && holds(other));
        let on_card = there.filter(|other| card(other).as_ref() == Some(&own));
        let used: i64 = on_card.map(|pod| amount(&pod.request, CARD_MEMORY)).sum();
        if used <= size {
            return Ok(());
        }
        let text = format!(
            "card {own} of {node} holds {used} of {size} with {}",
            pod.uid
        );
        Err(Invariant::Cards.broken(text))
    }
}

/// The node as it was at some time within the window.
fn recent_nodes(server: &VirtualServer, name: &str) -> Vec<NodeObject> {
    let now = server.nodes.get(name).cloned();
    let before = recent(server, ServerKind::Node, name, |delta| match delta {
        Delta::NodeApply(node) => Some((**node).clone()),
        _ => None,
    });
    now.into_iter().chain(before).collect()
}

/// What the queue might hold at some time within the window; nothing named where it did not exist.
fn recent_capabilities(server: &VirtualServer, name: &str) -> Vec<Amounts> {
    recent(server, ServerKind::Queue, name, |delta| match delta {
        Delta::QueueApply(queue) => Some(queue.capability.clone()),
        _ => Some(Amounts::new()),
    })
}

/// What an object was within the window, the latest first, up to what it was when that began.
pub(super) fn recent<T>(
    server: &VirtualServer,
    kind: ServerKind,
    key: &str,
    read: impl Fn(&Delta) -> Option<T>,
) -> Vec<T> {
    let from_ms = server.now_ms().saturating_sub(WINDOW_MS);
    let events = server.events.iter().rev();
    let of_it = events.filter(|event| event.kind == kind && event.key == key);
    let mut found = Vec::new();
    for event in of_it {
        found.extend(read(&event.delta));
        if event.at_ms < from_ms {
            break;
        }
    }
    found
}

/// Name of the queue of a pod.
pub(super) fn queue_of(server: &VirtualServer, pod: &PodObject) -> String {
    let group = pod.group.as_ref().map(|group| key(&pod.namespace, group));
    let group = group.and_then(|key| server.groups.get(&key));
    let queue = group.map_or_else(|| pod.queue.clone(), |group| Some(group.queue.clone()));
    queue
        .filter(|queue| !queue.is_empty())
        .unwrap_or_else(|| "default".to_owned())
}

/// How much of a resource of a queue pods hold.
fn held_of<'a>(
    server: &VirtualServer,
    pods: impl Iterator<Item = &'a PodObject>,
    resource: &str,
) -> i64 {
    match resource.contains("deviceclass/") {
        true => claim_oracle::held_devices(server, pods, resource),
        false => pods.map(|pod| amount(&pod.request, resource)).sum(),
    }
}

fn check_queue(server: &VirtualServer, bound: &PodObject) -> Result<(), Broken> {
    let name = queue_of(server, bound);
    // Pods whose group is not served count for the default queue, and who decided did not know yet that it is again.
    let came_ms = server.native_groups_came_ms;
    if came_ms.is_some_and(|came_ms| came_ms + WINDOW_MS > server.now_ms()) {
        return Ok(());
    }
    // As in Volcano, a queue is not charged for pods that are on their way out; one whose eviction may be
    // refused is not.
    let charged = |pod: &PodObject| pod.ours && holds(pod) && !pod.deleting;
    let of_it = |pod: &&PodObject| charged(pod) && queue_of(server, pod) == name;
    let Some(queue) = server.queues.get(&name) else {
        return Ok(());
    };
    let recent = recent_capabilities(server, &name);
    for (resource, now) in &queue.capability {
        let most = recent.iter().try_fold(*now, |most, capability| {
            let (_, then) = capability.iter().find(|(known, _)| known == resource)?;
            Some(most.max(*then))
        });
        // It was unlimited a moment ago.
        let Some(most) = most else { continue };
        let all = || server.pods.values().filter(of_it);
        let held = held_of(server, all(), resource);
        // Who takes nothing of it may come, however much others hold since it was allowed more.
        let others = all().filter(|pod| pod.uid != bound.uid);
        if held == held_of(server, others, resource) {
            continue;
        }
        if held > most {
            let text = format!(
                "queue {name} holds {held} {resource} of {most} with {}",
                bound.uid
            );
            return Err(Invariant::Queues.broken(text));
        }
    }
    Ok(())
}

/// What a process thinks is under way is under way.
///
/// # Errors
/// A pod that nobody will do anything about.
pub fn check_process(process: &Process, server: &VirtualServer) -> Result<(), Broken> {
    let state = process.decider.engine().state();
    for (_, task) in state.population().tasks() {
        if task.status != TaskStatus::Binding || process.writers.has_bind(&task.uid) {
            continue;
        }
        let waits = server
            .pods
            .get(&*task.uid)
            .is_some_and(|pod| pod.node.is_none());
        if waits {
            let text = format!("{} has a place, and nobody binds it", task.uid);
            return Err(Invariant::NoLostPod.broken(text));
        }
    }
    for (ix, task) in state.population().tasks() {
        if state.population().evictions().before(ix).is_none()
            || process.writers.has_eviction(&task.uid)
        {
            continue;
        }
        let stays = server
            .pods
            .get(&*task.uid)
            .is_some_and(|pod| !pod.deleting && holds(pod));
        if stays {
            let text = format!("{} counts as going, and nobody evicts it", task.uid);
            return Err(Invariant::NoLostPod.broken(text));
        }
    }
    if process.leads && process.watches.is_listed() {
        let old = |pod: &&PodObject| pod.created_s * 1000 + 10_000 < server.now_ms() as i64;
        for pod in server.pods.values().filter(|pod| pod.ours).filter(old) {
            if state.population().task_by_uid(&pod.uid).is_none()
                && process.watches.is_followed(server.now_ms())
            {
                return Err(Invariant::NoLostPod.broken(format!("{} is not known", pod.uid)));
            }
        }
    }
    Ok(())
}

/// Whether a pod is one of a gang.
pub fn is_member(pod: &PodObject, group: &str) -> bool {
    let name = group.strip_prefix(pod.namespace.as_str());
    let name = name.and_then(|rest| rest.strip_prefix('/'));
    name.is_some() && name == pod.group.as_deref()
}

/// Whether a process that finds members on nodes must take the gang for one that was there as a whole: its status tells
/// of such a one, and whoever knew better ended before that was written (docs/internals/partial-gangs.md).
pub fn may_have_been_whole(group: &GroupObject) -> bool {
    let status = &group.status;
    let fresh = matches!(status.phase, GroupPhase::Pending | GroupPhase::Inqueue);
    let mut conditions = status.conditions.iter();
    !fresh && !conditions.any(|one| one.kind == "BoundInPart" && one.status == "True")
}

/// Pods of a gang that hold something.
pub fn holding_members(server: &VirtualServer, group: &str) -> usize {
    let members = server.pods.values().filter(|pod| is_member(pod, group));
    members.filter(|pod| holds(pod)).count()
}

/// A pod counts as bound.
pub(super) fn is_bound(pod: &PodObject) -> bool {
    pod.node.is_some() && pod.phase != PodPhase::Failed
}

/// Pods of a gang that count as bound.
pub fn bound_members(server: &VirtualServer, group: &str) -> usize {
    let members = server.pods.values().filter(|pod| is_member(pod, group));
    members.filter(|pod| is_bound(pod)).count()
}

/// As many of every gang that has any, by namespace and name, in one look at all pods.
pub fn bound_by_group(server: &VirtualServer) -> BTreeMap<(&str, &str), usize> {
    let mut bound = BTreeMap::new();
    for pod in server.pods.values().filter(|pod| is_bound(pod)) {
        if let Some(group) = &pod.group {
            *bound.entry((&*pod.namespace, &**group)).or_insert(0) += 1;
        }
    }
    bound
}
