//! Objects on their way to the virtual API server: converted, checked, set aside when broken.

use std::collections::BTreeSet;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_ingest as ingest;
use pumice_model::Delta;

use super::World;
use crate::manifest::Manifest;
use crate::problem::{Place, Problem};
use crate::reader::{Item, Source, place_of_field};
use crate::run::Settings;

type Admitted = Result<(), Vec<ingest::Problem>>;

impl World {
    /// Adds one object, unless it is broken or one with its name is there already.
    pub(super) fn admit(&mut self, item: Item, sources: &[Source], settings: &Settings) {
        let Item { object, place } = item;
        let (kind, key) = identity(&object);
        let name = format!("{kind} {key}");
        if let Some(first) = self.places.get(&(kind, key.clone())) {
            let message = format!("given twice: the first one is at {first}");
            self.set_aside(place, name, message, "remove one of them");
            return;
        }
        let put = match object {
            Manifest::Job(job) => self.admit_job(*job, key.clone(), &settings.options),
            other => self.convert(other, &key, settings),
        };
        match put {
            Ok(()) => {
                self.places.insert((kind, key), place);
            }
            Err(found) => {
                let source = sources.iter().find(|source| source.name == place.file);
                for problem in found {
                    let at = match source {
                        Some(source) => place_of_field(source, &place, &problem.path),
                        None => place.clone(),
                    };
                    let message = format!("{}: {}", problem.path, problem.message);
                    self.set_aside(at, name.clone(), message, &problem.help);
                }
            }
        }
    }

    fn set_aside(&mut self, place: Place, object: String, message: String, help: &str) {
        let help = help.to_owned();
        self.problems.push(Problem { place, object, message, help, kept: false });
    }

    fn convert(&mut self, object: Manifest, key: &str, settings: &Settings) -> Admitted {
        let key = key.to_owned();
        match object {
            Manifest::Node(node) => {
                let node = ingest::node(&node)?;
                let wanted = &settings.node_selector;
                if wanted.is_empty() || wanted.iter().any(|pair| node.labels.contains(pair)) {
                    self.nodes.insert(key, node);
                }
            }
            Manifest::Pod(mut pod) => {
                self.resolve_priority(&mut pod);
                self.pods.insert(key, ingest::pod(&pod, &settings.options)?);
            }
            Manifest::PodGroup(group) => {
                self.groups.insert(key, ingest::pod_group(&group)?);
            }
            Manifest::Queue(queue) => {
                self.queues.insert(key, ingest::queue(&queue)?);
            }
            Manifest::PriorityClass(class) => {
                let class = ingest::priority_class(&class)?;
                self.priorities.insert(key, class.value);
                self.deltas.push(Delta::PriorityClassApply(class));
            }
            Manifest::Namespace(namespace) => {
                self.deltas.push(Delta::NamespaceApply(ingest::namespace(&namespace)?));
            }
            Manifest::Service(service) => {
                self.deltas.push(Delta::WorkloadApply(ingest::service(&service)?));
            }
            Manifest::ReplicationController(controller) => {
                let workload = ingest::replication_controller(&controller)?;
                self.deltas.push(Delta::WorkloadApply(workload));
            }
            Manifest::ReplicaSet(set) => {
                self.deltas.push(Delta::WorkloadApply(ingest::replica_set(&set)?));
            }
            Manifest::StatefulSet(set) => {
                self.deltas.push(Delta::WorkloadApply(ingest::stateful_set(&set)?));
            }
            Manifest::Job(_) => {}
        }
        Ok(())
    }

    /// Sets aside queues whose parent does not exist or that are their own ancestor, with all queues
    /// below them; the rest of the tree is not concerned.
    pub(super) fn hold_broken_queue_trees(&mut self) {
        let names: Vec<String> = self.queues.keys().cloned().collect();
        let broken: Vec<(String, String)> = names
            .into_iter()
            .filter_map(|name| self.broken_ancestry(&name).map(|why| (name, why)))
            .collect();
        for (name, why) in broken {
            self.queues.remove(&name);
            let place = self.places.get(&("Queue", name.clone())).cloned().unwrap_or_default();
            let help = "name an existing parent queue in spec.parent, or none";
            self.set_aside(place, format!("Queue {name}"), why, help);
        }
    }

    fn broken_ancestry(&self, name: &str) -> Option<String> {
        let mut visited = BTreeSet::from([name]);
        let mut at = name;
        loop {
            let parent = self.queues.get(at)?.parent.as_str();
            if parent.is_empty() || parent == "root" {
                return None;
            }
            if !self.queues.contains_key(parent) {
                return Some(format!("spec.parent: queue \"{parent}\" above it does not exist"));
            }
            if !visited.insert(parent) {
                return Some(format!("spec.parent: queue \"{parent}\" is its own ancestor"));
            }
            at = parent;
        }
    }

    /// Warns of names that lead nowhere; the objects take part all the same.
    pub(super) fn report_unknown_names(&mut self) {
        let mut found = Vec::new();
        for (key, pod) in &self.pods {
            if let Some(node) = pod.node.as_ref().filter(|node| !self.nodes.contains_key(*node)) {
                found.push((
                    ("Pod", key.clone()),
                    format!("spec.nodeName: node \"{node}\" does not exist"),
                    "give the node too; until then the pod counts on no node",
                ));
            }
            let group = pod.group.as_ref().map(|group| format!("{}/{group}", pod.namespace));
            if let Some(group) = group.filter(|g| pod.ours && !self.groups.contains_key(g)) {
                found.push((
                    ("Pod", key.clone()),
                    format!("PodGroup \"{group}\" does not exist"),
                    "give the PodGroup too, or remove annotation scheduling.k8s.io/group-name",
                ));
            }
        }
        for (key, group) in &self.groups {
            if !group.queue.is_empty() && !self.queues.contains_key(&group.queue) {
                found.push((
                    ("PodGroup", key.clone()),
                    format!("spec.queue: queue \"{}\" does not exist", group.queue),
                    "give the queue too, or name another one",
                ));
            }
        }
        for (id, message, help) in found {
            let place = self.places.get(&id).cloned().unwrap_or_default();
            let object = format!("{} {}", id.0, id.1);
            let help = help.to_owned();
            self.problems.push(Problem { place, object, message, help, kept: true });
        }
    }
}

/// Kind and key of an object: `namespace/name`, or the name of what has no namespace.
fn identity(object: &Manifest) -> (&'static str, String) {
    let spaced = |kind: &'static str, meta: &ObjectMeta| {
        let namespace = meta.namespace.as_deref().unwrap_or("default");
        (kind, format!("{namespace}/{}", meta.name.as_deref().unwrap_or_default()))
    };
    let plain =
        |kind: &'static str, meta: &ObjectMeta| (kind, meta.name.clone().unwrap_or_default());
    match object {
        Manifest::Node(o) => plain("Node", &o.metadata),
        Manifest::Pod(o) => spaced("Pod", &o.metadata),
        Manifest::PodGroup(o) => spaced("PodGroup", &o.metadata),
        Manifest::Queue(o) => plain("Queue", &o.metadata),
        Manifest::Job(o) => spaced("Job", &o.metadata),
        Manifest::PriorityClass(o) => plain("PriorityClass", &o.metadata),
        Manifest::Namespace(o) => plain("Namespace", &o.metadata),
        Manifest::Service(o) => spaced("Service", &o.metadata),
        Manifest::ReplicationController(o) => spaced("ReplicationController", &o.metadata),
        Manifest::ReplicaSet(o) => spaced("ReplicaSet", &o.metadata),
        Manifest::StatefulSet(o) => spaced("StatefulSet", &o.metadata),
    }
}
