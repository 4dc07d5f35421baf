//! Amounts of queues in resources that nothing in the cluster has: such a limit limits nothing.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::PodSpec;
use pumice_api::{Queue, ResourceList};
use pumice_ingest::ObjectProblem;

use super::World;
use super::references::hint;

/// Resources that every cluster has, whatever its nodes say.
const ALWAYS: [&str; 4] = ["cpu", "memory", "pods", "ephemeral-storage"];

/// What queues limit and what there is, by name.
#[derive(Default)]
pub(super) struct NamedResources {
    /// Key of the queue, path of the amount, resource.
    of_queues: Vec<(String, String, String)>,
    /// Resources that nodes and pods name.
    known: BTreeSet<String>,
    has_nodes: bool,
}

impl NamedResources {
    /// What a queue names.
    pub(super) fn queue(&mut self, key: &str, queue: &Queue) {
        let spec = &queue.spec;
        let guarantee = spec.guarantee.as_ref().map(|guarantee| &guarantee.resource);
        let lists = [
            ("spec.capability", Some(&spec.capability)),
            ("spec.deserved", Some(&spec.deserved)),
            ("spec.guarantee.resource", guarantee),
        ];
        for (path, list) in lists {
            let names = list.into_iter().flat_map(ResourceList::keys);
            let named = names.map(|name| {
                let path = match name.contains(['.', '/']) {
                    true => format!("{path}[{name}]"),
                    false => format!("{path}.{name}"),
                };
                (key.to_owned(), path, name.clone())
            });
            self.of_queues.extend(named);
        }
    }

    /// What a node has.
    pub(super) fn node<'n>(&mut self, names: impl Iterator<Item = &'n String>) {
        self.has_nodes = true;
        self.known.extend(names.cloned());
    }

    /// What the containers of a pod ask for.
    pub(super) fn pod(&mut self, spec: Option<&PodSpec>) {
        let containers = spec.into_iter().flat_map(|spec| {
            let init = spec.init_containers.iter().flatten();
            init.chain(&spec.containers)
        });
        let asked = containers.filter_map(|container| container.resources.as_ref());
        let lists = asked.flat_map(|asked| [&asked.requests, &asked.limits]);
        self.known
            .extend(lists.flatten().flat_map(|list| list.keys().cloned()));
    }
}

impl World {
    /// Amounts of queues that no node and no pod has, with the queue.
    pub(super) fn unknown_resources(&self) -> Vec<(&'static str, String, ObjectProblem)> {
        let NamedResources {
            of_queues,
            known,
            has_nodes,
        } = &self.resources;
        let is_unknown = |name: &str| {
            *has_nodes && !ALWAYS.contains(&name) && !known.contains(name) && !is_of_a_class(name)
        };
        let unknown = of_queues.iter().filter(|(.., name)| is_unknown(name));
        let told = unknown.map(|(key, path, name)| {
            let names = known.iter().map(String::as_str).chain(ALWAYS);
            let hint = hint(name, names);
            let problem = ObjectProblem {
                path: path.clone(),
                message: format!("no node and no pod has a resource {name:?}: it counts nothing"),
                help: format!("{hint}name a resource as nodes and pods do, or remove it"),
            };
            ("Queue", key.clone(), problem)
        });
        told.collect()
    }
}

/// Claimed devices are counted by their class, which no node names.
fn is_of_a_class(name: &str) -> bool {
    name.contains("deviceclass/")
}
