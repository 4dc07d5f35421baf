//! The virtual API server: objects, and the deltas a watch on them would deliver.

mod admission;
mod admit;
mod budgets;
mod controllers;
mod device_claims;
pub(crate) mod jobs;
mod priorities;
mod references;
mod remarks;
mod restore;
mod storage;
mod strangers;
mod unknown_resources;
mod waiting;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::node::v1::RuntimeClass;
use pumice_api::Job;
use pumice_model::object::{
    GroupObject, GroupStatus, NodeObject, Pairs, PodObject, PodPhase, PriorityClassObject,
    QueueObject,
};
use pumice_model::shard::{NodeShardView, Shards};
use pumice_model::{ClaimReturn, ClaimStep, Delta, VolumeStep};

use crate::device_plugin::answer_at_once;
use crate::manifest::Manifest;
use crate::problem::{InputPlace, InputProblem};
use crate::reader::{InputItem, InputSource};
use crate::settings::SimulationSettings;
use budgets::Budgets;
use controllers::Controllers;
use device_claims::DeviceClaims;
use priorities::{Priorities, SYSTEM_CLASSES};
use remarks::Remarks;
use storage::Storage;
use strangers::Strangers;
use unknown_resources::NamedResources;
use workloads::WrittenWorkload;

/// All objects, and what has changed since the engine was last told.
#[derive(Default)]
pub struct World {
    nodes: BTreeMap<String, NodeObject>,
    pods: BTreeMap<String, PodObject>,
    groups: BTreeMap<String, GroupObject>,
    queues: BTreeMap<String, QueueObject>,
    jobs: BTreeMap<String, Job>,
    controllers: Controllers,
    /// Names of pods that were deleted.
    deleted: BTreeSet<String>,
    /// What the scheduler writes on pods it evicts, until controllers know it; by name.
    marks: BTreeMap<String, String>,
    budgets: Budgets,
    storage: Storage,
    device_claims: DeviceClaims,
    strangers: Strangers,
    resources: NamedResources,
    shards: Vec<NodeShardView>,
    workloads: Vec<WrittenWorkload>,
    runtime_classes: BTreeMap<String, RuntimeClass>,
    priorities: Priorities,
    /// Pods by UID.
    uids: BTreeMap<String, String>,
    found: Remarks,
    deltas: Vec<Delta>,
    /// No pod gets a node before.
    starts_s: i64,
    /// What the engine is to be told after all objects.
    last_words: Vec<Delta>,
}

impl World {
    /// Puts everything that was read on the virtual API server; problems found on the way are added
    /// to those of the reader.
    pub fn new(
        items: Vec<InputItem>,
        sources: &[InputSource],
        settings: &SimulationSettings,
        problems: Vec<InputProblem>,
    ) -> (Self, Vec<InputProblem>) {
        let mut world = Self::default();
        world.found.problems = problems;
        // Classes first: pods and Jobs refer to them.
        let is_class = |item: &InputItem| {
            matches!(
                item.object,
                Manifest::PriorityClass(_) | Manifest::RuntimeClass(_)
            )
        };
        let (classes, others): (Vec<InputItem>, Vec<InputItem>) =
            items.into_iter().partition(is_class);
        // What nodes use comes last: it is read as a part of what they have.
        let is_usage = |item: &InputItem| matches!(item.object, Manifest::NodeMetrics(_));
        let (usage, others): (Vec<InputItem>, Vec<InputItem>) =
            others.into_iter().partition(is_usage);
        for item in classes.into_iter().chain(others).chain(usage) {
            world.admit(item, settings);
        }
        workloads::make_pods(&mut world, settings);
        world.report_broken_queue_trees();
        world.make_missing_queues(&settings.default_queue);
        world.refuse_jobs_of_inner_queues();
        world.storage.fill_in_default_class();
        world.share_nodes(settings);
        let unknown = world.unknown_resources();
        world.found.doubts.extend(unknown);
        world.report_unknown_names();
        world.found.locate(sources);
        world.date_numatopologies(settings.now_s);
        world.publish();
        let problems = std::mem::take(&mut world.found.problems);
        (world, problems)
    }

    /// A Numatopology that does not tell when it was written knows of all pods that have a node, and of nobody
    /// who gets one from now on, whatever the clock says.
    fn date_numatopologies(&mut self, now_s: i64) {
        let there = self.pods.values().filter(|pod| pod.node.is_some());
        let since_s = there.map(|pod| pod.scheduled_s.unwrap_or(pod.created_s));
        let newest_s = since_s.max().unwrap_or(now_s);
        let known_s = now_s.max(newest_s.saturating_add(1));
        for delta in &mut self.deltas {
            if let Delta::NumatopologyApply(object) = delta
                && object.written_s.is_none()
            {
                object.written_s = Some(known_s);
                self.starts_s = known_s;
            }
        }
    }

    /// Tells every node whether the own shard has it.
    fn share_nodes(&mut self, settings: &SimulationSettings) {
        let Some(own) = &settings.shard else {
            return;
        };
        let mut shards = Shards::new(&own.name);
        self.shards.drain(..).for_each(|shard| shards.apply(shard));
        let view = shards.changed().unwrap_or_default();
        for node in self.nodes.values_mut() {
            if !view.in_use.contains(&node.name) {
                node.shard = own.others;
            }
        }
    }

    fn make_missing_queues(&mut self, default_queue: &str) {
        for name in ["root", default_queue] {
            if self.queues.contains_key(name) || self.found.is_set_aside("Queue", name) {
                continue;
            }
            let queue = QueueObject {
                name: name.to_owned(),
                weight: 1,
                reclaimable: name != "root",
                ..QueueObject::default()
            };
            self.queues.insert(name.to_owned(), queue);
        }
    }

    /// Everything of the first watch, nodes and queues first.
    fn publish(&mut self) {
        let mut first: Vec<Delta> = Vec::new();
        let given = |name: &str| {
            self.found
                .places
                .contains_key(&("PriorityClass", name.to_owned()))
        };
        let system_classes = SYSTEM_CLASSES.into_iter();
        first.extend(
            system_classes
                .filter(|(name, _)| !given(name))
                .map(|(name, value)| {
                    Delta::PriorityClassApply(PriorityClassObject {
                        name: name.to_owned(),
                        value,
                        ..PriorityClassObject::default()
                    })
                }),
        );
        first.extend(
            self.nodes
                .values()
                .map(|n| Delta::NodeApply(Box::new(n.clone()))),
        );
        first.extend(
            self.queues
                .values()
                .map(|q| Delta::QueueApply(Box::new(q.clone()))),
        );
        first.extend(self.storage.first_deltas());
        first.extend(self.device_claims.first_deltas());
        self.budgets.renew(&self.pods, true, &mut self.deltas);
        first.append(&mut self.deltas);
        first.extend(
            self.groups
                .values()
                .map(|g| Delta::GroupApply(Box::new(g.clone()))),
        );
        first.extend(
            self.pods
                .values()
                .map(|p| Delta::PodApply(Box::new(p.clone()))),
        );
        first.append(&mut self.last_words);
        self.deltas = first;
    }

    /// Number of objects that were given and accepted.
    pub fn given(&self) -> usize {
        self.found.places.len()
    }

    /// Where an object was read.
    pub fn place(&self, kind: &'static str, key: &str) -> Option<InputPlace> {
        self.found.place(kind, key)
    }

    /// What a watch would have delivered since the last call.
    pub fn take_deltas(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    /// Accepts a Binding and what is written before it: the pod's claims are bound, and it has a
    /// node from `now_s` on.
    pub fn bind(
        &mut self,
        pod: &str,
        node: &str,
        (volumes, claims): (&[VolumeStep], &[ClaimStep]),
        annotations: &Pairs,
        now_s: i64,
    ) {
        for step in volumes {
            self.storage.take_step(step, &self.nodes, &mut self.deltas);
        }
        let uid = self.pods.get(pod).map(|pod| pod.uid.clone());
        for step in claims {
            let uid = uid.as_deref().unwrap_or_default();
            let claims = &mut self.device_claims;
            claims.take_step(step, uid, &mut self.deltas);
        }
        if let Some(pod) = self.pods.get_mut(pod) {
            pod.node = Some(node.to_owned());
            pod.scheduled_s = Some(now_s.max(self.starts_s));
            pod.records.clone_from(annotations);
            self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
        }
    }

    /// Accepts that a claim gives its devices back.
    pub fn return_devices(&mut self, claim: &ClaimReturn) {
        self.device_claims.give_back(claim, &mut self.deltas);
    }

    /// Accepts an eviction, and what the pod's condition says of it: the pod is terminating until
    /// its kubelet has ended it.
    pub fn evict(&mut self, key: &str, mark: String) {
        if let Some(pod) = self.pods.get_mut(key) {
            pod.deleting = true;
            self.marks.insert(key.to_owned(), mark);
            self.deleted.insert(key.to_owned());
            self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
        }
    }

    /// Accepts `status.nominatedNodeName` of a pod that waits; `None` clears it.
    pub fn nominate(&mut self, pod: &str, node: Option<&str>) {
        if let Some(pod) = self.pods.get_mut(pod)
            && pod.nominated_node.as_deref() != node
        {
            pod.nominated_node = node.map(str::to_owned);
            self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
        }
    }

    /// Accepts a PodGroup status.
    pub fn set_group_status(&mut self, group: &str, status: &GroupStatus) {
        if let Some(group) = self.groups.get_mut(group) {
            group.status = status.clone();
            self.deltas.push(Delta::GroupApply(Box::new(group.clone())));
        }
    }

    /// One round of the controllers of volumes, for claims that need no scheduler.
    pub fn run_storage(&mut self) {
        self.storage.run(&self.nodes, &mut self.deltas);
    }

    /// One round of the controller of resource claims.
    pub fn run_claims(&mut self) {
        let claims = &mut self.device_claims;
        claims.run(&self.groups, &mut self.pods, &mut self.deltas);
    }

    /// One round of the controllers of volumes and of resource claims.
    pub fn run_supplies(&mut self) {
        self.run_storage();
        self.run_claims();
    }

    /// One step of every kubelet: bound pods run, terminating pods go; budgets follow.
    pub fn run_kubelet(&mut self) {
        let mut gone = Vec::new();
        for (key, pod) in &mut self.pods {
            let Some(node) = &pod.node else { continue };
            if !self.nodes.contains_key(node) {
                continue;
            }
            if pod.deleting && matches!(pod.phase, PodPhase::Pending | PodPhase::Running) {
                self.deltas.push(Delta::PodDelete(pod.uid.clone()));
                gone.push(key.clone());
            } else if pod.phase == PodPhase::Pending {
                pod.phase = PodPhase::Running;
                pod.records = answer_at_once(&pod.records);
                self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
            }
        }
        for key in gone {
            self.pods.remove(&key);
        }
        self.budgets.renew(&self.pods, false, &mut self.deltas);
    }
}
