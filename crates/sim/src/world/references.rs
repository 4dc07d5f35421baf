//! Names that lead nowhere: said once everything has been read, and the objects take part all the same.

use std::collections::BTreeSet;

use pumice_conf::did_you_mean;
use pumice_controllers::job as controller;
use pumice_model::object::NATIVE_GROUP;

use super::World;
use crate::problem::InputProblem;

/// Where a pod names its PodGroup.
const GROUP_NAME: &str = "metadata.annotations.scheduling.k8s.io/group-name";

/// Where it names one of Kubernetes itself.
const SCHEDULING_GROUP: &str = "spec.schedulingGroup.podGroupName";

/// Where a PodGroup of Kubernetes itself names templates of claims.
const GROUP_CLAIMS: &str = "spec.resourceClaims";

/// Names among which the nearest to an unknown one is looked for.
const MAX_NAMES: usize = 1000;

/// Where a PodGroup, Job or pod names its PriorityClass.
const CLASS: &str = "spec.priorityClassName";

/// Kind and key of an object, the field with a name, what is wrong with it, and what to do.
type Misnomer<'a> = ((&'static str, &'a String), &'static str, String, String);

/// Which known name may have been meant, to stand before what helps; empty if none is near.
pub(super) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    did_you_mean(name, known).map_or(String::new(), |asked| format!("{asked} "))
}

impl World {
    /// Warns of queues whose parent does not exist or that are their own ancestor. They take part: a
    /// plugin that goes by the tree holds them with all queues below them, others do not look at it.
    pub(super) fn report_broken_queue_trees(&mut self) {
        let names = self.queues.keys();
        let broken = names.filter_map(|name| References(self).broken_parent(name));
        let broken: Vec<InputProblem> = broken.collect();
        for problem in broken {
            self.found.warn(problem, "spec.parent".to_owned());
        }
    }

    /// Warns of names that lead nowhere; the objects take part all the same.
    pub(super) fn report_unknown_names(&mut self) {
        for (problem, path) in References(self).warnings() {
            self.found.warn(problem, path);
        }
    }
}

/// Who names whom: a look at the objects, which changes nothing.
struct References<'w>(&'w World);

impl<'w> References<'w> {
    /// What is wrong with the parent of a queue.
    fn broken_parent(&self, name: &str) -> Option<InputProblem> {
        let fault = self.fault_of_parent(name)?;
        Some(InputProblem {
            place: self.0.place("Queue", name).unwrap_or_default(),
            object: format!("Queue {name}"),
            message: format!("spec.parent: {fault}"),
            help: "name an existing parent queue in spec.parent, or none; plugin capacity with \
                   enableHierarchy holds the queue and those below it until then"
                .to_owned(),
            kept: true,
        })
    }

    /// What is wrong with the parent of a queue itself, not with one further up.
    fn fault_of_parent(&self, name: &str) -> Option<String> {
        let parent_of = |at: &str| match self.0.queues.get(at).map_or("", |queue| &queue.parent) {
            "" | "root" => None,
            _ if at == "root" => None,
            parent => Some(parent),
        };
        let parent = parent_of(name)?;
        if !self.0.queues.contains_key(parent) {
            let aside = self.0.found.is_set_aside("Queue", parent);
            let why = if aside {
                "was set aside"
            } else {
                "does not exist"
            };
            return Some(format!("queue \"{parent}\" above it {why}"));
        }
        // A circle it is not part of ends after as many steps as there are queues.
        let path = std::iter::successors(Some(parent), |at| parent_of(at));
        let mut path = path.take(self.0.queues.len());
        let is_own_ancestor = path.any(|at| at == name);
        is_own_ancestor.then(|| format!("queue \"{name}\" is its own ancestor"))
    }

    /// Names that lead nowhere, each with its field.
    fn warnings(&self) -> Vec<(InputProblem, String)> {
        let aside: BTreeSet<&str> = self.0.found.objects_set_aside().collect();
        // `queue "a" does not exist`, or that it was set aside.
        let missing = |kind: &str, name: &str| {
            let known = aside.contains(format!("{kind} {name}").as_str());
            let why = if known {
                "was set aside"
            } else {
                "does not exist"
            };
            format!("{kind} \"{name}\" {why}")
        };
        let mut found: Vec<Misnomer<'_>> = Vec::new();
        for (key, pod) in &self.0.pods {
            if let Some(node) = pod
                .node
                .as_ref()
                .filter(|node| !self.0.nodes.contains_key(*node))
            {
                let missing = missing("Node", node);
                let help = "give the node too; until then the pod counts on no node".to_owned();
                found.push((("Pod", key), "spec.nodeName", missing, help));
            }
            let group = pod
                .group
                .as_ref()
                .map(|group| format!("{}/{group}", pod.namespace));
            if let Some(group) = group.filter(|group| pod.ours && !self.0.has_group(group)) {
                let missing = missing("PodGroup", &group);
                let (path, help) = match pod
                    .group
                    .as_ref()
                    .is_some_and(|g| g.starts_with(NATIVE_GROUP))
                {
                    true => (
                        SCHEDULING_GROUP,
                        "give the PodGroup too, or remove the field",
                    ),
                    false => (
                        GROUP_NAME,
                        "give the PodGroup too, or remove the annotation",
                    ),
                };
                found.push((("Pod", key), path, missing, help.to_owned()));
            }
        }
        found.extend(self.groups_of_no_queue(&missing));
        found.extend(self.cpus_of_no_node(&missing));
        found.extend(self.unknown_classes());
        found.extend(self.claims_of_no_template(&missing));
        let warnings = found.into_iter().map(|((kind, key), path, missing, help)| {
            let place = self.0.place(kind, key).unwrap_or_default();
            let (object, message) = (format!("{kind} {key}"), format!("{path}: {missing}"));
            let problem = InputProblem {
                place,
                object,
                message,
                help,
                kept: true,
            };
            (problem, path.to_owned())
        });
        warnings
            .chain(self.overridden_marks())
            .chain(self.told_doubts())
            .collect()
    }

    /// PodGroups whose queue is not there.
    fn groups_of_no_queue(&self, missing: &dyn Fn(&str, &str) -> String) -> Vec<Misnomer<'w>> {
        let names = || self.0.queues.keys().map(String::as_str).take(MAX_NAMES);
        let is_known = |queue: &str| queue.is_empty() || self.0.queues.contains_key(queue);
        let lost = self.0.groups.iter();
        let lost = lost.filter(|(_, group)| !is_known(&group.queue));
        lost.map(|(key, group)| {
            let hint = hint(&group.queue, names());
            let help = format!("{hint}give the queue too, or name another one");
            let missing = missing("Queue", &group.queue);
            (("PodGroup", key), "spec.queue", missing, help)
        })
        .collect()
    }

    /// PodGroups of Kubernetes itself with a claim of a template that is not there.
    fn claims_of_no_template(&self, missing: &dyn Fn(&str, &str) -> String) -> Vec<Misnomer<'w>> {
        let mut found: Vec<Misnomer<'w>> = Vec::new();
        for (key, group) in &self.0.groups {
            for template in group
                .native
                .claims
                .iter()
                .filter_map(|claim| claim.template.as_ref())
            {
                let name = format!("{}/{template}", group.namespace);
                if self.0.device_claims.lack(&name, &group.uid) {
                    let missing = missing("ResourceClaimTemplate", &name);
                    let help = "give the template too; until then pods that name this claim wait"
                        .to_owned();
                    found.push((("PodGroup", key), GROUP_CLAIMS, missing, help));
                }
            }
        }
        found
    }

    /// Numatopologies whose node is not there.
    fn cpus_of_no_node(&self, missing: &dyn Fn(&str, &str) -> String) -> Vec<Misnomer<'w>> {
        let told = self.0.found.places.keys();
        let told = told.filter(|(kind, _)| *kind == "Numatopology");
        let alone = told.filter(|(_, node)| !self.0.nodes.contains_key(node));
        let misnomers = alone.map(|(kind, node)| {
            let help = "it is called like its node: give the node too, or remove this".to_owned();
            ((*kind, node), "metadata.name", missing("Node", node), help)
        });
        misnomers.collect()
    }

    /// What is odd about objects that take part, each with its field.
    fn told_doubts(&self) -> Vec<(InputProblem, String)> {
        let told = self.0.found.doubts.iter().map(|(kind, key, doubt)| {
            let problem = InputProblem {
                place: self.0.place(kind, key).unwrap_or_default(),
                object: format!("{kind} {key}"),
                message: format!("{}: {}", doubt.path, doubt.message),
                help: doubt.help.clone(),
                kept: true,
            };
            (problem, doubt.path.clone())
        });
        told.collect()
    }

    /// Marks of templates that do not reach the pods, each with its field.
    fn overridden_marks(&self) -> Vec<(InputProblem, String)> {
        let marks = self.0.jobs.iter().flat_map(|(key, job)| {
            let marks = controller::overridden_marks(job).into_iter();
            marks.map(move |(task, message)| (key, task, message))
        });
        let told = marks.map(|(key, task, message)| {
            let problem = InputProblem {
                place: self.0.place("Job", key).unwrap_or_default(),
                object: format!("Job {key}"),
                message,
                help: "remove it from the template, or from the Job".to_owned(),
                kept: true,
            };
            (problem, format!("spec.tasks[{task}].template.metadata"))
        });
        told.collect()
    }

    /// PriorityClasses that are named and not there.
    fn unknown_classes(&self) -> Vec<Misnomer<'w>> {
        let groups = self.0.groups.iter();
        let groups = groups.map(|(key, group)| (("PodGroup", key), group.priority_class.as_str()));
        let jobs = self.0.jobs.iter();
        let jobs = jobs.map(|(key, job)| (("Job", key), job.spec.priority_class_name.as_str()));
        let pods = self.0.pods.iter().filter(|(_, pod)| pod.ours);
        let pods = pods.map(|(key, pod)| (("Pod", key), pod.priority_class.as_str()));
        let named = groups.chain(jobs).chain(pods);
        let unknown = named.filter(|(_, class)| {
            !class.is_empty() && !self.0.priorities.values.contains_key(*class)
        });
        let told = unknown.map(|(of, class)| {
            let names = self
                .0
                .priorities
                .values
                .keys()
                .map(String::as_str)
                .take(MAX_NAMES);
            let hint = hint(class, names);
            let value = self.0.priorities.default.unwrap_or(0);
            let missing = format!("PriorityClass \"{class}\" does not exist");
            let help =
                format!("{hint}give the class too; until then it counts as priority {value}");
            (of, CLASS, missing, help)
        });
        told.collect()
    }
}
