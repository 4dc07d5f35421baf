//! A cluster in which time passes without faults, and how a scenario looks at it.

use pumice_faults::Simulation;
use pumice_faults::objects::{group, node, pod, queue};
use pumice_faults::server::Template;
use pumice_model::object::{GroupObject, GroupPhase, PodObject};

use crate::parse;

/// See the module.
pub struct CalmCluster(pub Simulation);

impl CalmCluster {
    /// Nodes `n0`, `n1`, … with so many milli-cores each, a scheduler with that configuration, and the
    /// queues that every cluster has.
    pub fn new(configuration: &str, nodes: usize, cpu_milli: i64) -> Self {
        let mut simulation = Simulation::new(&parse(configuration), 1, 1);
        simulation.server.put_queue(queue("root", 0));
        simulation.server.put_queue(queue("default", 0));
        for at in 0..nodes {
            let node = node(&format!("n{at}"), cpu_milli, 0);
            simulation.server.put_node(node);
        }
        Self(simulation)
    }

    /// A PodGroup that is made now, and its pods `<name>-0`, …; a pod that goes stays away.
    pub fn gang(&mut self, group: GroupObject, pods: usize, cpu_milli: i64) {
        let server = &mut self.0.server;
        let created_s = i64::try_from(server.now_ms() / 1000).expect("a time");
        let name = group.name.clone();
        server.put_group(GroupObject { created_s, ..group });
        for at in 0..pods {
            server.add_template(Template {
                pod: pod(&format!("{name}-{at}"), Some(&name), cpu_milli, 0),
                replaced: false,
            });
        }
    }

    /// A gang of a priority in a queue, one core a pod.
    pub fn gang_of(&mut self, name: &str, queue: &str, class: &str, pods: usize, min: i32) {
        let group = GroupObject {
            priority_class: class.to_owned(),
            ..group(name, min, queue)
        };
        self.gang(group, pods, 1000);
    }

    /// A pod without PodGroup.
    pub fn bare(&mut self, name: &str, cpu_milli: i64) {
        self.0.server.make_pod(pod(name, None, cpu_milli, 0));
    }

    pub fn pass(&mut self, seconds: u64) {
        let done = self.0.run_for(seconds);
        done.unwrap_or_else(|failure| panic!("{failure}"));
    }

    fn pods(&self, prefix: &str) -> impl Iterator<Item = &PodObject> {
        let pods = self.0.server.pods.values();
        pods.filter(move |pod| pod.name.starts_with(prefix))
    }

    /// Nodes of the pods with that prefix, in the order of the pods' names.
    pub fn places(&self, prefix: &str) -> Vec<String> {
        let mut bound: Vec<&PodObject> = self.pods(prefix).filter(|pod| !pod.deleting).collect();
        bound.sort_unstable_by_key(|pod| &pod.name);
        bound
            .into_iter()
            .filter_map(|pod| pod.node.clone())
            .collect()
    }

    /// How many pods with that prefix are on nodes, and not on their way out.
    pub fn bound(&self, prefix: &str) -> usize {
        self.places(prefix).len()
    }

    pub fn phase(&self, group: &str) -> GroupPhase {
        self.0.server.groups[&format!("ns/{group}")].status.phase
    }

    /// Somebody deletes the pods with that prefix.
    pub fn delete(&mut self, prefix: &str) {
        let uids: Vec<String> = self.pods(prefix).map(|pod| pod.uid.clone()).collect();
        for uid in uids {
            self.0.server.delete_pod(&uid);
        }
    }

    /// What the condition of a pod says of why it waits; empty while it says nothing.
    pub fn condition(&self, pod: &str) -> String {
        let told = self.pods(pod).find_map(|pod| pod.told.clone());
        told.map_or_else(String::new, |told| told.1)
    }

    /// Messages of the events about an object with that reason.
    pub fn told(&self, about: &str, reason: &str) -> Vec<&str> {
        let told = self.0.server.told.iter();
        let of_it = told.filter(|event| event.about == about && event.reason == reason);
        of_it.map(|event| event.message.as_str()).collect()
    }
}
