//! Pods of workloads that are only written down: no controller has made them yet, so they are made here, with the
//! PodGroup that the controller of lone pods gives them.
//!
//! A workload that comes from an API server has its pods there; of one whose pods are among the manifests too none
//! are made.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use k8s_openapi::jiff::Timestamp;
use pumice_api::{PodGroup, keys};
use pumice_controllers::list::ControllerOptions;
use pumice_controllers::pod_group::PodGroupController;
use pumice_controllers::runtime::{
    ApiVerb, ManagedKind, Manager, ManagerInput, ManagerOutput, Observed, TrackedPod, read_object,
};
use pumice_ingest::{self as ingest, ObjectProblem};
use pumice_wire::rules::{RuleScope, broken};
use serde::Serialize;
use serde_json::json;

use super::World;
use crate::manifest::Manifest;
use crate::problem::InputPlace;
use crate::reader::InputItem;
use crate::settings::SimulationSettings;

/// Most pods that are made of one workload.
const MAX_REPLICAS: i32 = 100_000;

/// By when a controller knows all that a PodGroup is made from, if it is ever known.
const ALL_KNOWN: Timestamp = Timestamp::MAX;

/// A workload and what its pods are made from.
pub(super) struct WrittenWorkload {
    /// As people call it: `Deployment default/web`.
    kind: &'static str,
    name: String,
    namespace: String,
    replicas: i32,
    template: PodTemplateSpec,
    /// `apiVersion` and `kind` of who controls the pods.
    owner: (&'static str, &'static str),
    /// The owner as controllers see it, where they read its kind.
    seen: Option<Observed>,
    place: InputPlace,
}

impl WrittenWorkload {
    /// A workload among manifests; `None` of all that has no template of pods.
    pub(super) fn of(object: &Manifest, place: &InputPlace) -> Option<Self> {
        const APPS: &str = "apps/v1";
        let (kind, meta, replicas, template) = match object {
            Manifest::Deployment(object) => {
                let spec = &object.spec;
                let template = spec.template.clone();
                ("Deployment", &object.metadata, spec.replicas, template)
            }
            Manifest::ReplicaSet(object) => {
                let spec = &object.spec;
                let template = spec.template.clone()?;
                ("ReplicaSet", &object.metadata, spec.replicas, template)
            }
            Manifest::StatefulSet(object) => {
                let spec = &object.spec;
                let template = spec.template.clone();
                ("StatefulSet", &object.metadata, spec.replicas, template)
            }
            Manifest::ReplicationController(object) => {
                let spec = object.spec.as_ref()?;
                let kind = "ReplicationController";
                let template = spec.template.clone()?;
                (kind, &object.metadata, spec.replicas, template)
            }
            Manifest::BatchJob(object) => {
                let spec = object.spec.as_ref()?;
                let at_once = spec.parallelism.unwrap_or(1);
                let at_once = at_once.min(spec.completions.unwrap_or(at_once));
                let is_suspended = spec.suspend == Some(true);
                let replicas = Some(if is_suspended { 0 } else { at_once });
                ("Job", &object.metadata, replicas, spec.template.clone())
            }
            _ => return None,
        };
        let owner = match object {
            Manifest::Deployment(_) => (APPS, "ReplicaSet"),
            Manifest::BatchJob(_) => ("batch/v1", kind),
            Manifest::ReplicationController(_) => ("v1", kind),
            _ => (APPS, kind),
        };
        let seen = match object {
            Manifest::Deployment(object) => seen(ManagedKind::ReplicaSet, &replica_set(object)),
            Manifest::ReplicaSet(object) => seen(ManagedKind::ReplicaSet, &**object),
            Manifest::StatefulSet(object) => seen(ManagedKind::StatefulSet, &**object),
            Manifest::BatchJob(object) => seen(ManagedKind::BatchJob, &**object),
            _ => None,
        };
        let namespace = meta.namespace.as_deref().unwrap_or("default");
        Some(Self {
            kind,
            name: meta.name.clone()?,
            namespace: namespace.to_owned(),
            replicas: replicas.unwrap_or(1),
            template,
            owner,
            seen,
            place: place.clone(),
        })
    }

    fn pod(&self, index: i32) -> Pod {
        let mut metadata = self.template.metadata.clone().unwrap_or_default();
        metadata.name = Some(format!("{}-{index}", self.name));
        metadata.namespace = Some(self.namespace.clone());
        let (api_version, kind) = self.owner;
        metadata.owner_references = Some(vec![OwnerReference {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            name: self.name.clone(),
            uid: self.name.clone(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }]);
        Pod {
            metadata,
            spec: self.template.spec.clone(),
            status: None,
        }
    }

    /// The PodGroup that the controller of lone pods makes for this pod and its siblings; `None` where they need
    /// none.
    fn group(&self, pod: &Pod, settings: &SimulationSettings) -> Option<PodGroup> {
        let options = ControllerOptions {
            scheduler_names: settings.options.scheduler_names.clone(),
            ..ControllerOptions::default()
        };
        let mut manager = Manager::new(vec![PodGroupController::make(&options)]);
        let pod = Observed::Pod(Box::new(TrackedPod::read(pod)));
        for object in self.seen.iter().cloned().chain([pod]) {
            manager.tell(ManagerInput::Seen(object), ALL_KNOWN);
        }
        manager.tell(ManagerInput::Synced, ALL_KNOWN);
        let orders = manager.work(ALL_KNOWN);
        orders.into_iter().find_map(|order| match order {
            ManagerOutput::Write(_, write) if write.of.kind == ManagedKind::PodGroup => {
                match write.verb {
                    ApiVerb::Create(object) => serde_json::from_value(object).ok(),
                    _ => None,
                }
            }
            _ => None,
        })
    }
}

/// The set of pods that a Deployment makes, under its own name.
pub(super) fn replica_set(deployment: &Deployment) -> ReplicaSet {
    let spec = deployment.spec.clone();
    ReplicaSet {
        metadata: deployment.metadata.clone(),
        spec: ReplicaSetSpec {
            min_ready_seconds: spec.min_ready_seconds,
            replicas: spec.replicas,
            selector: spec.selector,
            template: Some(spec.template),
        },
        status: None,
    }
}

/// An owner as controllers see it once a server has it: with its namespace, and a UID.
fn seen(kind: ManagedKind, object: &impl Serialize) -> Option<Observed> {
    let mut object = serde_json::to_value(object).ok()?;
    let meta = object.get_mut("metadata")?;
    meta["uid"] = meta.get("name").cloned().unwrap_or_default();
    if meta.get("namespace").is_none() {
        meta["namespace"] = json!("default");
    }
    read_object(kind, object.to_string().as_bytes()).ok()?
}

/// Puts the pods of all workloads that are only written down on the API server.
pub(super) fn make_pods(world: &mut World, settings: &SimulationSettings) {
    // Those of all are looked for before any is made: pods of one workload may have the labels of another.
    let mut left = std::mem::take(&mut world.workloads);
    left.retain(|workload| !has_pods(world, workload));
    for workload in left {
        make_pods_of(world, &workload, settings);
    }
}

/// Whether a pod that the template describes is among the manifests.
fn has_pods(world: &World, workload: &WrittenWorkload) -> bool {
    let meta = workload.template.metadata.as_ref();
    let labels = meta.and_then(|meta| meta.labels.as_ref());
    let Some(labels) = labels.filter(|labels| !labels.is_empty()) else {
        return false;
    };
    let mut pods = world.pods.values();
    pods.any(|pod| {
        let has = |(key, value): (&String, &String)| {
            let mut own = pod.labels.iter();
            own.any(|(name, said)| name == key && said == value)
        };
        pod.namespace == workload.namespace && labels.iter().all(has)
    })
}

fn make_pods_of(world: &mut World, workload: &WrittenWorkload, settings: &SimulationSettings) {
    if workload.replicas > MAX_REPLICAS {
        let name = format!("{} {}/{}", workload.kind, workload.namespace, workload.name);
        let problem = ObjectProblem {
            path: "spec.replicas".to_owned(),
            message: format!(
                "{} pods are more than the {MAX_REPLICAS} that are made of one workload",
                workload.replicas
            ),
            help: "write fewer".to_owned(),
        };
        world
            .found
            .refuse(&workload.place, &name, std::iter::once(problem));
        return;
    }
    let mut group = None;
    for index in 0..workload.replicas {
        let mut pod = workload.pod(index);
        if index == 0 {
            group = workload.group(&pod, settings);
            if let Some(wire) = &group
                && let Ok(made) = ingest::pod_group(wire, &settings.options)
            {
                let key = format!("{}/{}", made.namespace, made.name);
                world.groups.insert(key, made);
            }
        }
        if let Some(name) = group.as_ref().and_then(|group| group.metadata.name.clone()) {
            let annotations = pod.metadata.annotations.get_or_insert_default();
            annotations.insert(keys::GROUP_NAME.to_owned(), name);
        }
        let json = serde_json::to_value(&pod).unwrap_or_default();
        let before = world.found.problems.len();
        let item = InputItem {
            object: Manifest::Pod(Box::new(pod)),
            place: workload.place.clone(),
            broken: broken("", "Pod", &json, RuleScope::Sketch),
            served: false,
        };
        world.admit(item, settings);
        // What is wrong with one is wrong with all.
        if world.found.problems.len() > before {
            return;
        }
    }
}
