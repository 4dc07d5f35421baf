//! What is there all the time: nodes, queues, and pods that ran before.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::Config;
use pumice_devices::NodeReport;
use pumice_model::Delta;
use pumice_model::object::{Amounts, NodeObject};
use pumice_traces::TraceMachine;

use crate::problem::InputProblem;
use crate::reader::{DeviceMap, InputObjects, InputSource};
use crate::settings::SimulationSettings;
use crate::world::World;

const HOSTNAME: &str = "kubernetes.io/hostname";

/// Resource of cards that are shared as vGPUs.
pub const VGPU: &str = "volcano.sh/vgpu-number";

/// Resource of whole cards on nodes that are made here.
pub const WHOLE: &str = "nvidia.com/gpu";

/// Resources by which nodes of manifests offer whole cards, the first that one has.
const CARDS: [&str; 6] = [
    WHOLE,
    "amd.com/gpu",
    "huawei.com/Ascend910",
    "huawei.com/ascend-1980",
    "hygon.com/dcu",
    "metax-tech.com/gpu",
];

/// Pods that a node may have, where nobody says how many.
const PODS: i64 = 1024;

/// Pods that may share a card, and its memory in MiB, on nodes that are made here.
const CARD: (i64, i64) = (100, 81_920);

/// A cluster, for as many runs as one likes.
#[derive(Clone, Debug, Default)]
pub struct TraceGround {
    deltas: Vec<Delta>,
    /// Nodes that are made here.
    made: Vec<TraceMachine>,
    device_maps: Vec<DeviceMap>,
    pub(super) mix_maps: Vec<DeviceMap>,
    node_reports: Vec<NodeReport>,
    /// Queues that manifests bring.
    pub queues: BTreeSet<String>,
    /// Pods without node, and Jobs, that take no part.
    pub left_out: usize,
}

impl TraceGround {
    /// What manifests say; pods that have no node yet, and Jobs, take no part: the trace brings the work.
    pub fn of_manifests(
        input: InputObjects,
        sources: &[InputSource],
        settings: &SimulationSettings,
    ) -> (Self, Vec<InputProblem>) {
        let (mut world, problems) = World::new(input.items, sources, settings, input.problems);
        let mut deltas = world.take_deltas();
        let before = deltas.len();
        let runs = |delta: &Delta| match delta {
            Delta::PodApply(pod) if pod.node.is_some() => pod
                .group
                .clone()
                .map(|group| (pod.namespace.clone(), group)),
            _ => None,
        };
        let groups: BTreeSet<(String, String)> = deltas.iter().filter_map(runs).collect();
        deltas.retain(|delta| match delta {
            Delta::PodApply(pod) => pod.node.is_some(),
            Delta::GroupApply(group) => {
                groups.contains(&(group.namespace.clone(), group.name.clone()))
            }
            _ => true,
        });
        let left_out = before - deltas.len() + world.job_lines().len();
        let queues = deltas.iter().filter_map(|delta| match delta {
            Delta::QueueApply(queue) if world.place("Queue", &queue.name).is_some() => {
                Some(queue.name.clone())
            }
            _ => None,
        });
        let ground = Self {
            queues: queues.collect(),
            deltas,
            made: Vec::new(),
            device_maps: input.device_maps,
            mix_maps: input.mix_maps,
            node_reports: input.node_reports,
            left_out,
        };
        (ground, problems)
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        let given = self
            .deltas
            .iter()
            .filter(|delta| matches!(delta, Delta::NodeApply(_)));
        given.count() + self.made.len()
    }

    /// More nodes of this shape.
    pub fn add_shaped(&mut self, count: usize, shape: &TraceMachine) {
        let first = self.made.len();
        let nodes = (first..first + count).map(|number| TraceMachine {
            name: format!("node-{number:06}"),
            ..shape.clone()
        });
        self.made.extend(nodes);
    }

    /// The nodes of a list.
    pub fn add_machines(&mut self, machines: &[TraceMachine]) {
        self.made.extend_from_slice(machines);
    }

    /// More nodes like one of the manifests; false if there is none of that name.
    pub fn add_like(&mut self, count: usize, name: &str) -> bool {
        let node = self.deltas.iter().find_map(|delta| match delta {
            Delta::NodeApply(node) if node.name == name => Some(node.clone()),
            _ => None,
        });
        let Some(node) = node else {
            return false;
        };
        for number in 1..=count {
            let mut more = node.clone();
            more.name = format!("{name}-like-{number:06}");
            more.uid = String::new();
            for (key, value) in &mut more.labels {
                if key == HOSTNAME {
                    value.clone_from(&more.name);
                }
            }
            self.deltas.push(Delta::NodeApply(more));
        }
        true
    }

    /// Everything that the engine is told first, and by which resource nodes offer cards.
    pub(super) fn first(
        &self,
        config: &Config,
        settings: &super::TraceRunSettings,
    ) -> (Vec<Delta>, String) {
        let mut deltas = Vec::new();
        for map in &self.device_maps {
            deltas.push(Delta::DeviceConfig {
                namespace: map.namespace.clone(),
                name: map.name.clone(),
                text: Some(map.text.clone()),
            });
        }
        for report in &self.node_reports {
            deltas.push(Delta::NodeReport {
                node: report.node.clone(),
                topic: report.topic.to_owned(),
                text: Some(report.text.clone()),
            });
        }
        let made = if shares_cards(config) { VGPU } else { WHOLE };
        for machine in &self.made {
            let node = made_node(machine, made, &settings.model_label);
            deltas.push(Delta::NodeApply(Box::new(node)));
        }
        deltas.extend(self.deltas.iter().cloned());
        let named = settings.card_resource.clone();
        let resource = named.unwrap_or_else(|| {
            let offered = offered(&deltas);
            let mut known = std::iter::once(VGPU)
                .filter(|_| shares_cards(config))
                .chain(CARDS);
            known
                .find(|name| offered.contains_key(*name))
                .unwrap_or(made)
                .to_owned()
        });
        (deltas, resource)
    }
}

/// The configuration shares cards as vGPUs.
pub fn shares_cards(config: &Config) -> bool {
    let plugin = config.plugin("deviceshare");
    plugin.is_some_and(|plugin| plugin.arguments.bool("deviceshare.VGPUEnable") == Some(true))
}

/// What nodes offer in all.
fn offered(deltas: &[Delta]) -> BTreeMap<String, i64> {
    let mut all = BTreeMap::new();
    for delta in deltas {
        if let Delta::NodeApply(node) = delta {
            for (name, amount) in &node.allocatable {
                *all.entry(name.clone()).or_insert(0) += amount;
            }
        }
    }
    all
}

/// Cards of a node, in thousandths of one, by the resource that offers them.
pub fn cards_milli(node: &NodeObject, resource: &str) -> i64 {
    if resource != VGPU {
        let amounts = node.allocatable.iter();
        return amounts
            .filter(|(name, _)| name == resource)
            .map(|(_, amount)| *amount)
            .sum();
    }
    let register = "volcano.sh/node-vgpu-register";
    let annotation = node
        .device_annotations
        .iter()
        .find(|(key, _)| key == register);
    let cards = annotation.map_or(0, |(_, text)| {
        text.split(':').filter(|card| card.contains(',')).count()
    });
    cards as i64 * pumice_traces::WHOLE_CARD
}

fn made_node(machine: &TraceMachine, resource: &str, model_label: &str) -> NodeObject {
    let name = &machine.name;
    let mut labels = vec![(HOSTNAME.to_owned(), name.clone())];
    if !machine.model.is_empty() {
        labels.push((model_label.to_owned(), machine.model.clone()));
    }
    labels.sort();
    let mut allocatable: Amounts = vec![
        ("cpu".to_owned(), machine.cpu_milli.unwrap_or(0)),
        ("memory".to_owned(), machine.memory_bytes.unwrap_or(0)),
        ("pods".to_owned(), PODS),
    ];
    let (mut device_annotations, mut device_capacity) = (Vec::new(), Amounts::new());
    let cards = machine.cards;
    if cards > 0 && resource == VGPU {
        let (slots, mib) = CARD;
        let model = if machine.model.is_empty() {
            "card"
        } else {
            &machine.model
        };
        let card = |at| format!("GPU-{name}-{at},{slots},{mib},NVIDIA-{model},true,hami-core:");
        let register: String = (0..cards).map(card).collect();
        device_annotations.push(("volcano.sh/node-vgpu-register".to_owned(), register));
        for (name, amount) in [
            ("volcano.sh/vgpu-cores", 100 * cards),
            ("volcano.sh/vgpu-memory", mib * cards),
            (VGPU, slots * cards),
        ] {
            allocatable.push((name.to_owned(), 1000 * amount));
            device_capacity.push((name.to_owned(), 1000 * amount));
        }
    } else if cards > 0 {
        allocatable.push((resource.to_owned(), 1000 * cards));
        device_capacity.push((resource.to_owned(), 1000 * cards));
    }
    NodeObject {
        name: name.clone(),
        labels,
        allocatable,
        device_annotations,
        device_capacity,
        ..NodeObject::default()
    }
}
