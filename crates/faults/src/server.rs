//! The virtual API server, with the kubelets and controllers that act on its objects.
//!
//! Every change gets an event in one history, which the watches of replicas read with a delay of
//! their own. What is asked of the server is decided by the objects as they are when a request
//! lands, not when it was sent.

use std::collections::BTreeMap;

use pumice_model::object::{
    GroupObject, GroupStatus, HyperNodeObject, NodeObject, NodeUsage, NumatopologyObject, Pairs,
    PodObject, PodPhase, QueueObject,
};
use pumice_model::{Delta, KeptTopic};

use super::device_objects::DeviceObjects;
use super::server_kind::ServerKind;

/// One change of one object.
#[derive(Clone, Debug)]
pub struct ServerEvent {
    /// When it happened, milliseconds.
    pub at_ms: u64,
    /// Kind of the object.
    pub kind: ServerKind,
    /// Identity of the object within its kind.
    pub key: String,
    /// The change.
    pub delta: Delta,
}

/// Answer to a Binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAnswer {
    /// The pod is on the node.
    Done,
    /// The pod has a node already, or is being deleted.
    Conflict,
    /// There is no such pod, or its name belongs to another UID.
    Gone,
}

/// How often a pod is made anew by its controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The pod, without UID.
    pub pod: PodObject,
    /// A pod that ended or was deleted is made anew under the same name.
    pub replaced: bool,
}

/// An event, as people read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToldEvent {
    /// What it is about, as `Pod ns/name`.
    pub about: String,
    /// Reason of the event.
    pub reason: String,
    /// Message of the event.
    pub message: String,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct VirtualServer {
    /// Nodes by name.
    pub nodes: BTreeMap<String, NodeObject>,
    /// Queues by name.
    pub queues: BTreeMap<String, QueueObject>,
    /// PodGroups by `namespace/name`.
    pub groups: BTreeMap<String, GroupObject>,
    /// Pods by UID.
    pub pods: BTreeMap<String, PodObject>,
    /// HyperNodes by name.
    pub hyper_nodes: BTreeMap<String, HyperNodeObject>,
    /// There is such a kind of objects.
    pub has_hyper_nodes: bool,
    /// There may be PodGroups of Kubernetes itself.
    pub has_native_groups: bool,
    /// When those were served again the last time, milliseconds.
    pub native_groups_came_ms: Option<u64>,
    /// Objects of resource.k8s.io.
    pub devices: DeviceObjects,
    /// There are such kinds of objects.
    pub has_devices: bool,
    /// What nodes tell of their CPUs, by name of the node.
    pub numatopologies: BTreeMap<String, NumatopologyObject>,
    /// Events that processes have written, in order.
    pub told: Vec<ToldEvent>,
    /// Pods that somebody keeps making, by `namespace/name`.
    pub templates: BTreeMap<String, Template>,
    /// How much of nodes is used, as it was measured last.
    pub usage: BTreeMap<String, NodeUsage>,
    /// What the ConfigMaps say in which plugins keep what they know; of what is not named there is none.
    pub kept: BTreeMap<KeptTopic, String>,
    /// Everything that has happened.
    pub events: Vec<ServerEvent>,
    /// How much longer than a moment pods take to end, milliseconds.
    pub grace_ms: u64,
    /// When kubelets and controllers act on a pod next, by UID.
    due_ms: BTreeMap<String, u64>,
    /// When a pod is made anew, by `namespace/name`.
    remake_ms: BTreeMap<String, u64>,
    /// How often a pod of that `namespace/name` was made.
    made: BTreeMap<String, u64>,
    now_ms: u64,
}

/// `namespace/name`.
pub fn key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// The kind of a PodGroup.
fn group_kind(group: &GroupObject) -> ServerKind {
    match group.is_native {
        true => ServerKind::NativeGroup,
        false => ServerKind::Group,
    }
}

/// Whether a pod holds what it asks on its node.
pub fn holds(pod: &PodObject) -> bool {
    pod.node.is_some() && !matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed)
}

/// Objects as a list tells of them.
fn listed<T: Clone>(
    objects: &BTreeMap<String, T>,
    apply: fn(Box<T>) -> Delta,
) -> BTreeMap<String, Delta> {
    let told = |(key, object): (&String, &T)| (key.clone(), apply(Box::new(object.clone())));
    objects.iter().map(told).collect()
}

impl VirtualServer {
    /// Lets time pass; kubelets and controllers do what is due.
    pub fn advance(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        let due: Vec<String> = self
            .due_ms
            .iter()
            .filter(|(_, at)| **at <= now_ms)
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in due {
            self.due_ms.remove(&uid);
            self.kubelet(&uid);
        }
        let due: Vec<String> = self
            .remake_ms
            .iter()
            .filter(|(_, at)| **at <= now_ms)
            .map(|(key, _)| key.clone())
            .collect();
        for key in due {
            self.remake_ms.remove(&key);
            if let Some(template) = self.templates.get(&key).cloned() {
                self.make_pod(template.pod);
            }
        }
        self.run_devices();
    }

    /// Whether there are objects of a kind in this simulation.
    pub fn has(&self, kind: ServerKind) -> bool {
        match kind {
            ServerKind::HyperNode => self.has_hyper_nodes,
            ServerKind::NativeGroup => self.has_native_groups,
            ServerKind::DeviceClass | ServerKind::Slice | ServerKind::ResourceClaim => {
                self.has_devices
            }
            ServerKind::Numatopology => !self.numatopologies.is_empty(),
            _ => true,
        }
    }

    /// A bound pod starts, a dying one goes, and one on a node that is gone is collected.
    fn kubelet(&mut self, uid: &str) {
        let Some(pod) = self.pods.get(uid).cloned() else {
            return;
        };
        let node_is_there = pod
            .node
            .as_ref()
            .is_some_and(|node| self.nodes.contains_key(node));
        if pod.deleting || (pod.node.is_some() && !node_is_there) {
            self.remove_pod(uid);
        } else if pod.node.is_some() && pod.phase == PodPhase::Pending {
            self.put_pod(PodObject {
                phase: PodPhase::Running,
                ..pod
            });
        }
    }

    pub(super) fn note(&mut self, kind: ServerKind, key: String, delta: Delta) {
        self.events.push(ServerEvent {
            at_ms: self.now_ms,
            kind,
            key,
            delta,
        });
    }

    /// Adds or changes a node.
    pub fn put_node(&mut self, node: NodeObject) {
        self.note(
            ServerKind::Node,
            node.name.clone(),
            Delta::NodeApply(Box::new(node.clone())),
        );
        self.nodes.insert(node.name.clone(), node);
    }

    /// A node goes; its pods are collected a while later.
    pub fn remove_node(&mut self, name: &str) {
        if self.nodes.remove(name).is_some() {
            self.note(
                ServerKind::Node,
                name.to_owned(),
                Delta::NodeDelete(name.to_owned()),
            );
            let on_it = self
                .pods
                .values()
                .filter(|pod| pod.node.as_deref() == Some(name));
            let uids: Vec<String> = on_it.map(|pod| pod.uid.clone()).collect();
            for uid in uids {
                self.due_ms.insert(uid, self.now_ms + 1000);
            }
        }
    }

    /// Adds or changes a queue.
    pub fn put_queue(&mut self, queue: QueueObject) {
        self.note(
            ServerKind::Queue,
            queue.name.clone(),
            Delta::QueueApply(Box::new(queue.clone())),
        );
        self.queues.insert(queue.name.clone(), queue);
    }

    /// Adds or changes a HyperNode.
    pub fn put_hyper_node(&mut self, object: HyperNodeObject) {
        self.note(
            ServerKind::HyperNode,
            object.name.clone(),
            Delta::HyperNodeApply(Box::new(object.clone())),
        );
        self.hyper_nodes.insert(object.name.clone(), object);
    }

    /// A node tells of its CPUs.
    pub fn put_numatopology(&mut self, object: NumatopologyObject) {
        let written_s = i64::try_from(self.now_ms / 1000).ok();
        let object = NumatopologyObject {
            written_s,
            ..object
        };
        self.note(
            ServerKind::Numatopology,
            object.node.clone(),
            Delta::NumatopologyApply(Box::new(object.clone())),
        );
        self.numatopologies.insert(object.node.clone(), object);
    }

    /// A HyperNode goes.
    pub fn remove_hyper_node(&mut self, name: &str) {
        if self.hyper_nodes.remove(name).is_some() {
            self.note(
                ServerKind::HyperNode,
                name.to_owned(),
                Delta::HyperNodeDelete(name.to_owned()),
            );
        }
    }

    /// A queue goes.
    pub fn remove_queue(&mut self, name: &str) {
        if self.queues.remove(name).is_some() {
            self.note(
                ServerKind::Queue,
                name.to_owned(),
                Delta::QueueDelete(name.to_owned()),
            );
        }
    }

    /// Adds or changes a PodGroup.
    pub fn put_group(&mut self, group: GroupObject) {
        let key = key(&group.namespace, &group.name);
        let delta = Delta::GroupApply(Box::new(group.clone()));
        self.note(group_kind(&group), key.clone(), delta);
        self.groups.insert(key, group);
    }

    /// A PodGroup goes.
    pub fn remove_group(&mut self, key: &str) {
        if let Some(group) = self.groups.remove(key) {
            self.plan_syncs_of_group(&group.uid);
            let kind = group_kind(&group);
            let delta = Delta::GroupDelete(group.namespace, group.name);
            self.note(kind, key.to_owned(), delta);
        }
    }

    /// A PodGroup's status is written. Returns whether the group is there.
    pub fn put_status(&mut self, key: &str, uid: &str, status: GroupStatus) -> bool {
        let Some(group) = self
            .groups
            .get(key)
            .filter(|group| group.uid == uid)
            .cloned()
        else {
            return false;
        };
        let status = match group.is_native {
            true => pumice_fixtures::kept_natively(&status),
            false => status,
        };
        if group.status != status {
            self.put_group(GroupObject { status, ..group });
        }
        true
    }

    /// Somebody keeps a pod like that in the cluster.
    pub fn add_template(&mut self, template: Template) {
        let key = key(&template.pod.namespace, &template.pod.name);
        self.make_pod(template.pod.clone());
        if template.replaced {
            self.templates.insert(key, template);
        }
    }

    /// Makes a pod under a UID that was never used before; returns it.
    pub fn make_pod(&mut self, pod: PodObject) -> String {
        let made = self.made.entry(key(&pod.namespace, &pod.name)).or_insert(0);
        *made += 1;
        let uid = format!("{}-{}#{made}", pod.namespace, pod.name);
        let created_s = i64::try_from(self.now_ms / 1000).unwrap_or(0);
        self.put_pod(PodObject {
            uid: uid.clone(),
            created_s,
            ..pod
        });
        uid
    }

    /// A pod that was there before this world began: others of its name get other UIDs.
    pub fn put_old_pod(&mut self, pod: PodObject) {
        let number = pod.uid.rsplit_once('#');
        let number = number.and_then(|(_, number)| number.parse().ok());
        let made = self.made.entry(key(&pod.namespace, &pod.name)).or_insert(0);
        *made = (*made).max(number.unwrap_or(0));
        self.put_pod(pod);
    }

    /// Changes a pod.
    pub fn put_pod(&mut self, pod: PodObject) {
        let node_is_there = pod
            .node
            .as_ref()
            .is_some_and(|node| self.nodes.contains_key(node));
        let starts = pod.node.is_some() && pod.phase == PodPhase::Pending;
        if starts || pod.deleting {
            let wait_ms = if node_is_there { 300 } else { 1000 };
            let grace_ms = if pod.deleting { self.grace_ms } else { 0 };
            let due_ms = self.now_ms + wait_ms + grace_ms;
            self.due_ms.insert(pod.uid.clone(), due_ms);
        }
        self.note(
            ServerKind::Pod,
            pod.uid.clone(),
            Delta::PodApply(Box::new(pod.clone())),
        );
        self.note_claims_of(&pod);
        self.pods.insert(pod.uid.clone(), pod);
    }

    /// Somebody deletes a pod: one without a node goes at once.
    pub fn delete_pod(&mut self, uid: &str) {
        let Some(pod) = self.pods.get(uid).cloned() else {
            return;
        };
        match pod.node {
            None => self.remove_pod(uid),
            Some(_) if pod.deleting => {}
            Some(_) => self.put_pod(PodObject {
                deleting: true,
                ..pod
            }),
        }
    }

    /// The node on which a pod waits is written, unless it is on one.
    pub fn nominate(&mut self, uid: &str, node: Option<String>) {
        let waits = |pod: &&PodObject| pod.node.is_none() && !pod.deleting;
        if let Some(pod) = self.pods.get(uid).filter(waits).cloned() {
            self.put_pod(PodObject {
                nominated_node: node,
                ..pod
            });
        }
    }

    /// A running pod ends well.
    pub fn finish_pod(&mut self, uid: &str) {
        if let Some(pod) = self
            .pods
            .get(uid)
            .filter(|pod| pod.phase == PodPhase::Running)
            .cloned()
        {
            self.put_pod(PodObject {
                phase: PodPhase::Succeeded,
                ..pod
            });
        }
    }

    fn remove_pod(&mut self, uid: &str) {
        if let Some(pod) = self.pods.remove(uid) {
            self.due_ms.remove(uid);
            self.note_claims_of(&pod);
            self.note(
                ServerKind::Pod,
                uid.to_owned(),
                Delta::PodDelete(uid.to_owned()),
            );
            let key = key(&pod.namespace, &pod.name);
            if self.templates.contains_key(&key) {
                self.remake_ms.insert(key, self.now_ms + 500);
            }
        }
    }

    /// A Binding lands.
    pub fn bind(&mut self, uid: &str, node: &str, records: &Pairs) -> BindAnswer {
        let Some(pod) = self.pods.get(uid).cloned() else {
            return BindAnswer::Gone;
        };
        if pod.deleting || pod.node.is_some() {
            return BindAnswer::Conflict;
        }
        // As in Kubernetes, nobody looks whether there is such a node, and the server says when it was.
        self.put_pod(PodObject {
            node: Some(node.to_owned()),
            scheduled_s: i64::try_from(self.now_ms / 1000).ok(),
            records: records.clone(),
            ..pod
        });
        BindAnswer::Done
    }

    /// Every object of a kind, as a list shows it.
    pub fn list(&self, kind: ServerKind) -> BTreeMap<String, Delta> {
        match kind {
            ServerKind::Node => listed(&self.nodes, Delta::NodeApply),
            ServerKind::Queue => listed(&self.queues, Delta::QueueApply),
            ServerKind::Group | ServerKind::NativeGroup => {
                let mut groups = self.groups.clone();
                groups.retain(|_, group| group_kind(group) == kind);
                listed(&groups, Delta::GroupApply)
            }
            ServerKind::HyperNode => listed(&self.hyper_nodes, Delta::HyperNodeApply),
            ServerKind::Pod => listed(&self.pods, Delta::PodApply),
            ServerKind::Numatopology => listed(&self.numatopologies, Delta::NumatopologyApply),
            ServerKind::DeviceClass | ServerKind::Slice | ServerKind::ResourceClaim => {
                self.devices.list(kind)
            }
        }
    }

    /// How often a PodGroup was told when it is to start.
    pub fn told_plans(&self) -> u32 {
        let is_told = |event: &&ServerEvent| match &event.delta {
            Delta::GroupApply(group) => {
                let mut conditions = group.status.conditions.iter();
                conditions.any(|one| one.kind == "PlannedStart" && one.status == "True")
            }
            _ => false,
        };
        self.events.iter().filter(is_told).count() as u32
    }

    /// Time, milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.now_ms
    }
}
