//! Objects on their way to the virtual API server: converted, checked, set aside when broken.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::{CompositePodGroup, NodeMetrics, ResourceList, keys};
use pumice_controllers::runtime::TrackedPod;
use pumice_ingest as ingest;
use pumice_model::Delta;
use pumice_model::object::{COMPOSITE_GROUP, NATIVE_GROUP};
use pumice_wire::rules::BrokenRule;

use super::World;
use super::budgets::Budgeted;
use super::workloads::{WrittenWorkload, replica_set};
use crate::manifest::Manifest;
use crate::reader::InputItem;
use crate::settings::SimulationSettings;

type Admitted = Result<(), Vec<ingest::ObjectProblem>>;

impl World {
    /// Adds one object, unless it is broken or one with its name is there already.
    pub(super) fn admit(&mut self, item: InputItem, settings: &SimulationSettings) {
        let InputItem {
            object,
            place,
            broken,
            served,
        } = item;
        let (kind, key) = identity(&object);
        let name = format!("{kind} {key}").trim_end().to_owned();
        if let Some(first) = self.found.places.get(&(kind, key.clone())) {
            let message = format!("given twice: the first one is at {first}");
            self.found
                .set_aside(place, name, message, "remove one of them");
            return;
        }
        if !broken.is_empty() && !served && !is_on_node(&object) {
            self.found
                .refuse(&place, &name, broken.into_iter().map(of_rule));
            return;
        }
        if !served {
            self.workloads.extend(WrittenWorkload::of(&object, &place));
        }
        let put = match object {
            Manifest::Job(job) => self.admit_job(*job, key.clone(), &settings.options),
            other => self.convert(other, &key, settings),
        };
        match put {
            Ok(()) => {
                // An API server has accepted it as it is, by rules that may be newer; or it holds a node already.
                self.found
                    .doubt(kind, &key, broken.into_iter().map(of_rule));
                self.found.places.insert((kind, key), place);
            }
            Err(found) => self.found.refuse(&place, &name, found.into_iter()),
        }
    }

    fn convert_pod(
        &mut self,
        mut pod: Pod,
        key: String,
        settings: &SimulationSettings,
    ) -> Admitted {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
        let is_on_node = node.is_some_and(|node| !node.is_empty());
        let odd = match self.admit_pod(&mut pod) {
            Ok(missing) => missing.collect(),
            Err(refused) if is_on_node => refused,
            Err(refused) => return Err(refused),
        };
        self.found.doubt("Pod", &key, odd);
        let claims = match is_on_node {
            true => Vec::new(),
            false => ingest::ephemeral_claims(&pod)?,
        };
        let annotations = pod.metadata.annotations.as_ref();
        let is_of_job = annotations.is_some_and(|map| map.contains_key(keys::JOB_NAME));
        let tracked = is_of_job.then(|| TrackedPod::read(&pod));
        self.resources.pod(pod.spec.as_ref());
        let wire = pod;
        let pod = ingest::pod(&wire, &settings.options)?;
        let mut pod = self.found.in_use("Pod", &key, pod);
        if let Some(other) = self.uids.insert(pod.uid.clone(), key.clone()) {
            self.uids.insert(pod.uid.clone(), other.clone());
            let twice = ingest::ObjectProblem {
                path: "metadata.uid".to_owned(),
                message: format!("{} is the uid of Pod {other} too", pod.uid),
                help: "remove metadata.uid from one of them".to_owned(),
            };
            if !is_on_node {
                return Err(vec![twice]);
            }
            self.found.doubt("Pod", &key, [twice]);
            pod.uid.clone_from(&key);
        }
        if !claims.is_empty() {
            self.storage.of_pods.insert(key.clone(), claims);
        }
        if let Some(mut tracked) = tracked {
            tracked.namespace = pod.namespace.as_str().into();
            tracked.uid = pod.uid.as_str().into();
            self.controllers.pods.insert(key.clone(), tracked);
        }
        if !pod.ours && pod.node.is_none() {
            self.strangers.count(&wire, &key);
        }
        self.pods.insert(key, pod);
        Ok(())
    }

    fn convert(&mut self, object: Manifest, key: &str, settings: &SimulationSettings) -> Admitted {
        let key = key.to_owned();
        match object {
            Manifest::Node(node) => self.convert_node(&node, key, settings)?,
            Manifest::Pod(pod) => self.convert_pod(*pod, key, settings)?,
            Manifest::PodGroup(group) => {
                let known = ingest::pod_group(&group, &settings.options)?;
                let mut group = *group;
                group.metadata.namespace = Some(known.namespace.clone());
                self.groups.insert(key.clone(), known);
                self.controllers.groups.insert(key, group);
            }
            Manifest::NativePodGroup(group) => {
                let read = ingest::native_pod_group(&group, &settings.options)?;
                self.groups.insert(key, read);
            }
            Manifest::CompositePodGroup(group) => convert_composite(self, &group, key, settings)?,
            Manifest::Queue(queue) => {
                let read = ingest::queue(&queue)?;
                self.resources.queue(&key, &queue);
                self.queues.insert(key, read);
            }
            Manifest::PriorityClass(class) => {
                let class = ingest::priority_class(&class)?;
                self.priorities.know(&class);
                self.deltas.push(Delta::PriorityClassApply(class));
            }
            Manifest::RuntimeClass(class) => {
                self.runtime_classes.insert(key, *class);
            }
            Manifest::Namespace(namespace) => {
                self.deltas
                    .push(Delta::NamespaceApply(ingest::namespace(&namespace)?));
            }
            workload @ (Manifest::Service(_)
            | Manifest::ReplicationController(_)
            | Manifest::Deployment(_)
            | Manifest::ReplicaSet(_)
            | Manifest::StatefulSet(_)) => self.convert_workload(&workload)?,
            Manifest::PodDisruptionBudget(budget) => {
                let object = ingest::pod_disruption_budget(&budget)?;
                self.budgets.0.insert(key, Budgeted::new(&budget, object)?);
            }
            Manifest::ResourceQuota(quota) => {
                let quota = Box::new(ingest::resource_quota(&quota)?);
                self.deltas.push(Delta::QuotaApply(quota));
            }
            Manifest::HyperNode(object) => {
                let object = Box::new(ingest::hyper_node(&object)?);
                self.deltas.push(Delta::HyperNodeApply(object));
            }
            Manifest::Numatopology(object) => {
                let object = Box::new(ingest::numatopology(&object)?);
                let doubt = ingest::numatopology_doubt(&object);
                self.found.doubt("Numatopology", &key, doubt);
                self.deltas.push(Delta::NumatopologyApply(object));
            }
            Manifest::NodeMetrics(metrics) => self.convert_metrics(&metrics, key, settings)?,
            Manifest::NodeShard(shard) => self.shards.push(pumice_ingest::node_shard(&shard)),
            Manifest::State(dump) => {
                let deltas = dump.deltas.into_iter();
                deltas.for_each(|delta| self.restore(delta, settings));
            }
            Manifest::Job(_) => {}
            // Its pods are made from it as written, and called after it.
            Manifest::BatchJob(job) => ingest::named(&job.metadata)?,
            storage => self.convert_storage(storage, key)?,
        }
        Ok(())
    }

    fn convert_node(
        &mut self,
        node: &Node,
        key: String,
        settings: &SimulationSettings,
    ) -> Admitted {
        let lists = node.status.iter();
        let lists = lists.flat_map(|status| [&status.allocatable, &status.capacity]);
        let names = lists.flatten().flat_map(ResourceList::keys);
        self.resources.node(names);
        let node = ingest::node(node)?;
        let wanted = &settings.node_selector;
        if wanted.is_empty() || wanted.iter().any(|pair| node.labels.contains(pair)) {
            self.nodes.insert(key, node);
        }
        Ok(())
    }

    /// What a node uses; of a node that takes no part nothing is asked.
    fn convert_metrics(
        &mut self,
        metrics: &NodeMetrics,
        node: String,
        settings: &SimulationSettings,
    ) -> Admitted {
        let Some(object) = self.nodes.get(&node) else {
            if !settings.node_selector.is_empty() {
                return Ok(());
            }
            return Err(vec![ingest::ObjectProblem {
                path: "metadata.name".to_owned(),
                message: format!("there is no Node {node}"),
                help: "give the Node too, or remove this".to_owned(),
            }]);
        };
        let usage = ingest::node_usage(metrics, object, settings.now_s)?;
        let doubts = ingest::node_usage_doubts(&usage, settings.now_s);
        self.found.doubt("NodeMetrics", &node, doubts);
        let usage = Some(usage);
        self.deltas.push(Delta::NodeUsage { node, usage });
        Ok(())
    }

    fn convert_workload(&mut self, object: &Manifest) -> Admitted {
        let workload = match object {
            Manifest::Service(service) => ingest::service(service)?,
            Manifest::ReplicationController(set) => ingest::replication_controller(set)?,
            Manifest::Deployment(object) => ingest::replica_set(&replica_set(object))?,
            Manifest::ReplicaSet(set) => ingest::replica_set(set)?,
            Manifest::StatefulSet(set) => ingest::stateful_set(set)?,
            _ => return Ok(()),
        };
        self.deltas.push(Delta::WorkloadApply(workload));
        Ok(())
    }

    fn convert_storage(&mut self, object: Manifest, key: String) -> Admitted {
        let storage = &mut self.storage;
        match object {
            Manifest::PersistentVolume(volume) => {
                let volume = ingest::persistent_volume(&volume)?;
                storage.volumes.insert(key, volume);
            }
            Manifest::PersistentVolumeClaim(claim) => {
                let claim = ingest::persistent_volume_claim(&claim)?;
                let claim = self.found.in_use("PersistentVolumeClaim", &key, claim);
                storage.claims.insert(key, claim);
            }
            Manifest::StorageClass(class) => {
                storage.classes.insert(key, ingest::storage_class(&class)?);
            }
            Manifest::CsiNode(node) => {
                storage.csi_nodes.insert(key, ingest::csi_node(&node)?);
            }
            Manifest::CsiDriver(driver) => {
                let driver = ingest::csi_driver(&driver)?;
                self.deltas.push(Delta::CsiDriverApply(driver));
            }
            Manifest::CsiStorageCapacity(capacity) => {
                let capacity = Box::new(ingest::csi_storage_capacity(&capacity)?);
                self.deltas.push(Delta::CsiCapacityApply(capacity));
            }
            Manifest::VolumeAttachment(attachment) => {
                let attachment = Box::new(ingest::volume_attachment(&attachment)?);
                self.deltas.push(Delta::AttachmentApply(attachment));
            }
            claims => self.device_claims.read(claims, key, &mut self.found)?,
        }
        Ok(())
    }
}

/// Whether an object is a pod that holds a node: it counts whatever it says.
fn is_on_node(object: &Manifest) -> bool {
    let Manifest::Pod(pod) = object else {
        return false;
    };
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
    node.is_some_and(|node| !node.is_empty())
}

/// A broken rule as a problem of the object.
pub(super) fn of_rule(rule: BrokenRule) -> ingest::ObjectProblem {
    ingest::ObjectProblem {
        path: rule.path,
        message: rule.message,
        help: rule.help,
    }
}

fn convert_composite(
    world: &mut World,
    group: &CompositePodGroup,
    key: String,
    settings: &SimulationSettings,
) -> Admitted {
    let read = ingest::composite_pod_group(group, &settings.options)?;
    world.groups.insert(key, read);
    Ok(())
}

/// Kind and key of an object: `namespace/name`, or the name of what has no namespace.
fn identity(object: &Manifest) -> (&'static str, String) {
    let spaced = |kind: &'static str, meta: &ObjectMeta| {
        let namespace = meta.namespace.as_deref().unwrap_or("default");
        (
            kind,
            format!("{namespace}/{}", meta.name.as_deref().unwrap_or_default()),
        )
    };
    let plain =
        |kind: &'static str, meta: &ObjectMeta| (kind, meta.name.clone().unwrap_or_default());
    match object {
        Manifest::Node(o) => plain("Node", &o.metadata),
        Manifest::Pod(o) => spaced("Pod", &o.metadata),
        Manifest::PodGroup(o) => spaced("PodGroup", &o.metadata),
        Manifest::NativePodGroup(o) => {
            let namespace = o.metadata.namespace.as_deref().unwrap_or("default");
            let name = o.metadata.name.as_deref().unwrap_or_default();
            ("PodGroup", format!("{namespace}/{NATIVE_GROUP}{name}"))
        }
        Manifest::CompositePodGroup(o) => {
            let namespace = o.metadata.namespace.as_deref().unwrap_or("default");
            let name = o.metadata.name.as_deref().unwrap_or_default();
            // Where all groups are known.
            ("PodGroup", format!("{namespace}/{COMPOSITE_GROUP}{name}"))
        }
        Manifest::Queue(o) => plain("Queue", &o.metadata),
        Manifest::Job(o) => spaced("Job", &o.metadata),
        Manifest::PriorityClass(o) => plain("PriorityClass", &o.metadata),
        Manifest::RuntimeClass(o) => plain("RuntimeClass", &o.metadata),
        Manifest::Namespace(o) => plain("Namespace", &o.metadata),
        Manifest::Service(o) => spaced("Service", &o.metadata),
        Manifest::ReplicationController(o) => spaced("ReplicationController", &o.metadata),
        Manifest::Deployment(o) => spaced("Deployment", &o.metadata),
        Manifest::BatchJob(o) => spaced("batch/Job", &o.metadata),
        Manifest::ReplicaSet(o) => spaced("ReplicaSet", &o.metadata),
        Manifest::HyperNode(o) => plain("HyperNode", &o.metadata),
        Manifest::Numatopology(o) => plain("Numatopology", &o.metadata),
        Manifest::NodeShard(o) => plain("NodeShard", &o.metadata),
        Manifest::NodeMetrics(o) => plain("NodeMetrics", &o.metadata),
        Manifest::StatefulSet(o) => spaced("StatefulSet", &o.metadata),
        Manifest::PodDisruptionBudget(o) => spaced("PodDisruptionBudget", &o.metadata),
        Manifest::ResourceQuota(o) => spaced("ResourceQuota", &o.metadata),
        Manifest::PersistentVolume(o) => plain("PersistentVolume", &o.metadata),
        Manifest::PersistentVolumeClaim(o) => spaced("PersistentVolumeClaim", &o.metadata),
        Manifest::StorageClass(o) => plain("StorageClass", &o.metadata),
        Manifest::CsiNode(o) => plain("CSINode", &o.metadata),
        Manifest::CsiDriver(o) => plain("CSIDriver", &o.metadata),
        Manifest::CsiStorageCapacity(o) => spaced("CSIStorageCapacity", &o.metadata),
        Manifest::VolumeAttachment(o) => plain("VolumeAttachment", &o.metadata),
        Manifest::ResourceClaim(o) => spaced("ResourceClaim", &o.metadata),
        Manifest::ResourceClaimTemplate(o) => spaced("ResourceClaimTemplate", &o.metadata),
        Manifest::DeviceClass(o) => plain("DeviceClass", &o.metadata),
        Manifest::ResourceSlice(o) => plain("ResourceSlice", &o.metadata),
        Manifest::DeviceTaintRule(o) => plain("DeviceTaintRule", &o.metadata),
        Manifest::State(_) => ("PumiceState", String::new()),
    }
}
