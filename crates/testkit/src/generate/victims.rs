//! Full clusters: low priority fills the nodes, others come.

mod cards;
mod protected;
mod timed;
mod trees;
mod varied;

use std::fmt::Write;

use pumice_model::delta::Delta;
use pumice_model::object::{
    Gates, GroupObject, GroupPhase, HostPort, NodeObject, PodObject, PodPhase, PodTerm,
    PreemptableMark, PriorityClassObject, QueueObject, QueueState,
};

use super::nodes::is;
use super::rng::Rng;
use super::{GPU, MIB, Theme, has_room, pairs, pods};
use crate::naive::Moment;

/// Priority classes and their values.
const CLASSES: &[(&str, i32)] = &[("low", 1), ("mid", 5), ("high", 10), ("never", 8)];

const MARKS: &[PreemptableMark] = &[
    PreemptableMark::No,
    PreemptableMark::Yes,
    PreemptableMark::Unreadable,
];

/// What decides in a cluster besides room.
struct Features {
    gpu: bool,
    ports: bool,
    anti_affinity: bool,
    /// Few slots for pods.
    slots: bool,
    best_effort: bool,
    gates: bool,
    marks: bool,
    roles: bool,
    limits: bool,
    devices: bool,
    /// Vendors of HAMi.
    makers: Vec<usize>,
    /// Pods that are being deleted when it begins, and pods of others.
    odd: bool,
    /// Queues have amounts of their own, and stand above and below each other.
    amounts: bool,
    /// There are budgets, cool-downs, critical pods, and queues in the tree of `drf`.
    protected: bool,
    /// Gangs have parts of their own.
    sub_groups: bool,
    spread: bool,
    volumes: bool,
    /// There are HyperNodes over more nodes, and gangs that ask for a place among them.
    domains: bool,
}

impl Features {
    fn new(rng: &mut Rng) -> Self {
        Self {
            gpu: rng.one_in(3),
            makers: Vec::new(),
            ports: rng.one_in(4),
            anti_affinity: rng.one_in(4),
            slots: rng.one_in(4),
            best_effort: rng.one_in(4),
            gates: rng.one_in(8),
            marks: rng.one_in(3),
            roles: rng.one_in(5),
            limits: rng.one_in(3),
            devices: rng.one_in(5),
            odd: rng.one_in(3),
            amounts: false,
            protected: false,
            sub_groups: false,
            spread: false,
            volumes: false,
            domains: false,
        }
    }
}

/// A small cluster whose nodes are full, or nearly, of gangs of which some may be evicted for others
/// that wait: only `…Apply` deltas, each identity once, in an order that means nothing.
#[must_use]
pub fn full_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 31);
    let rng = &mut rng;
    let features = Features::new(rng);
    filled(rng, &features)
}

/// As [`full_cluster`], with queues for the plugin `capacity`: they have amounts of their own, stand above
/// and below each other, and some have no place there.
#[must_use]
pub fn full_tree_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 33);
    let features = Features {
        amounts: true,
        marks: rng.one_in(8),
        ..Features::new(&mut rng)
    };
    filled(&mut rng, &features)
}

/// As [`full_cluster`], with pods that plugins protect and queues in the tree of `drf`.
#[must_use]
pub fn full_protected_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 35);
    let features = Features {
        protected: true,
        anti_affinity: false,
        ..Features::new(&mut rng)
    };
    filled(&mut rng, &features)
}

/// As [`full_cluster`], with nodes in revocable zones, of which it is known how much is used, and at times
/// with pods that plugins protect.
#[must_use]
pub fn full_timed_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 37);
    let rng = &mut rng;
    let features = Features {
        protected: rng.one_in(3),
        anti_affinity: false,
        marks: rng.one_in(6),
        ..Features::new(rng)
    };
    let mut deltas = filled(rng, &features);
    timed::furnish(rng, &mut deltas);
    deltas
}

/// As [`full_cluster`], with parts of gangs, topology spread, and volumes.
#[must_use]
pub fn full_varied_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 41);
    let rng = &mut rng;
    let features = Features {
        sub_groups: rng.one_in(2),
        spread: rng.one_in(2),
        volumes: rng.one_in(2),
        ..Features::new(rng)
    };
    filled(rng, &features)
}

/// As [`full_cluster`], of more nodes in HyperNodes, with gangs that ask for a place among them.
#[must_use]
pub fn full_network_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 62);
    let rng = &mut rng;
    let features = Features {
        domains: true,
        sub_groups: rng.one_in(3),
        protected: rng.one_in(6),
        anti_affinity: rng.one_in(12),
        ..Features::new(rng)
    };
    filled(rng, &features)
}

/// As [`full_cluster`], with cards of HAMi's vendors, of which pods may hold more than there is.
#[must_use]
pub fn full_vendor_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 71);
    let rng = &mut rng;
    let features = Features {
        makers: super::vendors::makers(rng),
        // Their resource is one of a vendor.
        gpu: false,
        ..Features::new(rng)
    };
    filled(rng, &features)
}

/// How the cards of [`cluster_of_cards`] are handed out.
#[derive(Clone, Copy, Debug)]
pub enum CardShares {
    /// vGPUs of every mode.
    Vgpu,
    /// By `volcano.sh/gpu-memory`.
    GpuMemory,
    /// Whole, by `volcano.sh/gpu-number`.
    GpuNumber,
    /// By HAMi's plugins of several vendors.
    Vendors,
}

/// One or two nodes whose cards are all there is to fight for, up to seven pods of low priority on them, and
/// `ns/new`, which waits and is of high priority.
#[must_use]
pub fn cluster_of_cards(seed: u64, shares: CardShares) -> Vec<Delta> {
    match shares {
        CardShares::Vgpu => cards::nodes_with_vgpus(&mut Rng::new(seed, 42)),
        CardShares::GpuMemory => cards::nodes_with_gpus(&mut Rng::new(seed, 43), false),
        CardShares::GpuNumber => cards::nodes_with_gpus(&mut Rng::new(seed, 44), true),
        CardShares::Vendors => cards::nodes_of_vendors(&mut Rng::new(seed, 70)),
    }
}

/// When the cycles of [`full_timed_cluster`] are, and what is measured in between.
#[must_use]
pub fn moments(seed: u64, objects: &[Delta]) -> Vec<Moment> {
    timed::moments(&mut Rng::new(seed, 38), objects)
}

/// A configuration in which plugins want pods gone, for [`full_timed_cluster`].
#[must_use]
pub fn timed_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 39);
    let mut text = conf_of(&mut rng, timed::ACTIONS, &timed::TIERS);
    timed::argue(&mut rng, &mut text);
    text
}

fn filled(rng: &mut Rng, features: &Features) -> Vec<Delta> {
    let number = if features.domains {
        rng.between(3, 8)
    } else {
        rng.between(1, 4)
    };
    let mut nodes: Vec<NodeObject> = (0..number).map(|at| node(rng, features, at)).collect();
    let mut queues = match features.amounts {
        true => trees::queues(rng, features.odd),
        false => queues(rng, features),
    };
    if features.protected {
        protected::place(rng, &mut queues);
    }
    let names = trees::names_for_jobs(&queues);
    let (mut groups, mut all) = (Vec::new(), Vec::new());
    let old = rng.between(2, 5) + if features.domains { number / 2 } else { 0 };
    for index in 0..old {
        let name = format!("old{index}");
        let class = rng.pick(&["low", "low", "low", "mid", ""]);
        groups.push(gang(
            rng,
            features,
            &names,
            (&name, class),
            Some(&nodes),
            &mut all,
        ));
    }
    for index in 0..rng.between(1, 4) {
        let name = format!("new{index}");
        let class = rng.pick(&["high", "high", "high", "mid", "never", ""]);
        groups.push(gang(rng, features, &names, (&name, class), None, &mut all));
    }
    for index in 0..rng.below(3) {
        let mut pod = member(rng, features, "ns1");
        pod.name = format!("bare{index}");
        pod.queue = Some(rng.pick(&names));
        pod.priority_class = rng.pick(&["low", "mid", "high"]).to_owned();
        if rng.one_in(2) {
            start(rng, &nodes, &all, &mut pod);
        }
        all.push(pod);
    }
    for index in 0..if features.odd { rng.below(3) } else { 0 } {
        let mut pod = member(rng, features, "ns1");
        pod.name = format!("other{index}");
        pod.ours = false;
        if start(rng, &nodes, &all, &mut pod) {
            all.push(pod);
        }
    }
    pods::name_uids(rng, &mut all);
    let mut deltas = furnish(rng, features, &mut nodes, &mut all);
    if features.domains {
        let theme = Theme {
            network: true,
            ..Theme::new(rng)
        };
        deltas.extend(super::network::furnish(rng, &theme, &nodes, &mut groups));
    }
    deltas.extend(classes(rng));
    deltas.extend(nodes.into_iter().map(|it| Delta::NodeApply(Box::new(it))));
    deltas.extend(queues.into_iter().map(|it| Delta::QueueApply(Box::new(it))));
    deltas.extend(groups.into_iter().map(|it| Delta::GroupApply(Box::new(it))));
    deltas.extend(all.into_iter().map(|it| Delta::PodApply(Box::new(it))));
    rng.shuffle(&mut deltas);
    deltas
}

/// Cards, what protects pods, and volumes.
fn furnish(
    rng: &mut Rng,
    features: &Features,
    nodes: &mut [NodeObject],
    pods: &mut [PodObject],
) -> Vec<Delta> {
    let mut deltas = Vec::new();
    if features.devices {
        let theme = Theme {
            devices: true,
            npus: Vec::new(),
            ..Theme::new(rng)
        };
        deltas.extend(super::devices::furnish(rng, &theme, nodes, pods));
    }
    if !features.makers.is_empty() {
        let theme = Theme {
            makers: features.makers.clone(),
            ..Theme::new(&mut rng.clone())
        };
        let mut rng = Rng::new(rng.clone().next(), 72);
        super::vendors::furnish(&mut rng, &theme, nodes, pods);
    }
    if features.protected {
        deltas.extend(protected::furnish(rng, pods));
    }
    if features.volumes {
        deltas.extend(varied::volumes(rng, nodes, pods));
    }
    deltas
}

fn classes(rng: &mut Rng) -> Vec<Delta> {
    let default = rng.one_in(6);
    let class = |(name, value): &(&str, i32)| {
        Delta::PriorityClassApply(PriorityClassObject {
            name: (*name).to_owned(),
            value: *value,
            global_default: default && *name == "mid",
            never_preempts: *name == "never",
        })
    };
    CLASSES.iter().map(class).collect()
}

fn node(rng: &mut Rng, features: &Features, index: usize) -> NodeObject {
    let name = format!("n{index}");
    let zone = rng.pick(&["z0", "z1"]);
    let slots = if features.slots {
        rng.between(2, 4)
    } else {
        110
    };
    let mut allocatable = vec![
        ("cpu".to_owned(), rng.pick(&[2000, 4000, 4000, 6000])),
        ("memory".to_owned(), rng.pick(&[4096, 8192, 8192]) * MIB),
        ("pods".to_owned(), slots as i64),
    ];
    if features.gpu && !rng.one_in(4) {
        allocatable.push((GPU.to_owned(), rng.pick(&[1000, 2000, 4000])));
    }
    allocatable.sort();
    NodeObject {
        labels: pairs(&[("kubernetes.io/hostname", &name), ("zone", zone)]),
        name,
        allocatable,
        unschedulable: rng.one_in(16),
        ..NodeObject::default()
    }
}

fn queues(rng: &mut Rng, features: &Features) -> Vec<QueueObject> {
    let number = match features.protected {
        true => rng.pick(&[1, 2, 3, 3]),
        false => rng.pick(&[1, 1, 1, 2, 2, 3]),
    };
    let names = ["default", "q1", "q2", "q3"];
    let queue = |name: &&str| {
        let mut queue = QueueObject {
            name: (*name).to_owned(),
            created_s: rng.pick(&[0, 10]),
            weight: rng.pick(&[1, 1, 2, 4]),
            priority: rng.pick(&[0, 0, 0, 5]),
            reclaimable: !rng.one_in(5),
            ..QueueObject::default()
        };
        if features.limits && rng.one_in(2) {
            let cpu = rng.pick(&[2000, 4000, 8000]);
            queue.capability.push(("cpu".to_owned(), cpu));
        }
        if features.limits && rng.one_in(2) {
            let cpu = rng.pick(&[500, 1000, 2000]);
            queue.guarantee.push(("cpu".to_owned(), cpu));
        }
        if features.odd && rng.one_in(8) {
            queue.state = rng.pick(&[QueueState::Closed, QueueState::Closing]);
        }
        queue
    };
    names.iter().take(number).map(queue).collect()
}

/// A PodGroup and its pods: on nodes that have room for them, or waiting.
fn gang(
    rng: &mut Rng,
    features: &Features,
    queues: &[String],
    (name, class): (&str, &str),
    nodes: Option<&[NodeObject]>,
    all: &mut Vec<PodObject>,
) -> GroupObject {
    let namespace = rng.pick(&["ns1", "ns1", "ns2"]);
    let (least, more) = match nodes {
        Some(_) => (rng.pick(&[0, 1, 1, 1, 2]), rng.between(1, 5)),
        None => (rng.pick(&[0, 1, 1, 2, 2, 3]), rng.below(2)),
    };
    let mut group = GroupObject {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: format!("{:04x}-{name}", rng.below(0x1_0000)),
        created_s: rng.pick(&[0, 10, 20]),
        min_member: least as i32,
        queue: rng.pick(queues),
        priority_class: class.to_owned(),
        ..GroupObject::default()
    };
    if features.marks && rng.one_in(6) {
        group.preemptable = rng.pick(MARKS);
    }
    if features.roles && least > 0 {
        group.min_task_member = vec![("worker".to_owned(), least as i32)];
    }
    if features.sub_groups && rng.one_in(2) {
        group.sub_groups.push(varied::slices(rng));
    }
    let template = member(rng, features, namespace);
    let mut minimum: Vec<(String, i64)> = Vec::new();
    let mut placed = 0;
    let has_none = nodes.is_none() && rng.one_in(10);
    for index in 0..if has_none { 0 } else { least + more } {
        let mut pod = PodObject {
            name: pod_name(features, name, index),
            ..sibling(rng, features, &template, (name, class), index)
        };
        if !group.sub_groups.is_empty() && !rng.one_in(6) {
            let slice = (index / 2).to_string();
            pod.labels.push(("slice".to_owned(), slice));
            pod.labels.sort();
        }
        if index < least {
            pods::add(&mut minimum, &pod.request);
        }
        if let Some(nodes) = nodes {
            pod.gates = Gates::None;
            placed += usize::from(start(rng, nodes, all, &mut pod));
            if features.odd && pod.node.is_some() && rng.one_in(10) {
                pod.deleting = true;
                pods::is_to_end(rng, &mut pod);
            }
        }
        all.push(pod);
    }
    minimum.retain(|(name, _)| name != "pods");
    group.min_resources = (!rng.one_in(4)).then_some(minimum);
    group.status.phase = match nodes {
        Some(_) if placed >= least && placed > 0 => GroupPhase::Running,
        _ => rng.pick(&[GroupPhase::Pending, GroupPhase::Inqueue]),
    };
    group
}

/// With roles a leader has no number in its name, and the others have one that counts (spec/01 §5.2).
fn pod_name(features: &Features, group: &str, index: usize) -> String {
    match index {
        0 if features.roles => format!("{group}-lead"),
        _ if features.roles => format!("{group}-w-{index}"),
        _ => format!("{group}-{index}"),
    }
}

/// A pod of a group, much like the others.
fn sibling(
    rng: &mut Rng,
    features: &Features,
    template: &PodObject,
    (group, class): (&str, &str),
    index: usize,
) -> PodObject {
    let known = CLASSES.iter().find(|(name, _)| *name == class);
    let value = known.map_or(0, |(_, value)| *value);
    let is_odd = rng.one_in(5);
    let mut pod = PodObject {
        group: Some(group.to_owned()),
        priority: if is_odd { rng.pick(&[0, 1, 5]) } else { value },
        created_s: rng.pick(&[0, 10, 20]),
        ..template.clone()
    };
    if rng.one_in(2) {
        pod.priority_class = class.to_owned();
    }
    if rng.one_in(4) {
        pod.request = member(rng, features, &pod.namespace).request;
    }
    if features.roles {
        pod.role = if index == 0 { "master" } else { "worker" }.to_owned();
    }
    if features.gates && rng.one_in(5) {
        pod.gates = rng.pick(&[Gates::Foreign, Gates::QueueAdmission]);
    }
    pod
}

fn member(rng: &mut Rng, features: &Features, namespace: &str) -> PodObject {
    let app = rng.pick(&["web", "db"]);
    let milli = rng.pick(&[500, 1000, 1000, 2000, 2000, 4000]);
    let memory = rng.pick(&[256, 512, 1024, 2048]) * MIB;
    let mut request = vec![
        ("cpu".to_owned(), milli),
        ("memory".to_owned(), memory),
        ("pods".to_owned(), 1),
    ];
    if features.gpu && rng.one_in(3) {
        request.push((GPU.to_owned(), rng.pick(&[1000, 1000, 2000])));
    }
    if features.best_effort && rng.one_in(4) {
        request.retain(|(name, _)| name == "pods");
    }
    request.sort();
    let amount = |name: &str| super::amount(&request, name);
    let (nonzero_cpu_milli, nonzero_memory_bytes) = match amount("cpu") {
        0 => (100, 200 * MIB),
        cpu => (cpu, amount("memory")),
    };
    let mut pod = PodObject {
        namespace: namespace.to_owned(),
        ours: true,
        labels: pairs(&[("app", app)]),
        priority: 1,
        created_s: rng.pick(&[0, 10, 20]),
        container_count: 1,
        controlled: rng.one_in(2),
        nonzero_cpu_milli,
        nonzero_memory_bytes,
        request,
        ..PodObject::default()
    };
    if features.ports && rng.one_in(2) {
        pod.host_ports.push(HostPort {
            ip: "0.0.0.0".to_owned(),
            protocol: "TCP".to_owned(),
            port: rng.pick(&[80, 81]),
        });
    }
    if features.anti_affinity && rng.one_in(2) {
        let key = rng.pick(&["kubernetes.io/hostname", "kubernetes.io/hostname", "zone"]);
        pod.anti_affinity.push(PodTerm {
            namespaces: vec![namespace.to_owned()],
            namespace_selector: None,
            selector: Some(is("app", rng.pick(&["web", "db"]))),
            topology_key: key.to_owned(),
        });
    }
    if features.spread && rng.one_in(2) {
        pod.spread.push(varied::spread(rng, app));
    }
    if features.marks {
        pod.preemptable = match rng.one_in(6) {
            true => rng.pick(MARKS),
            false => PreemptableMark::Unsaid,
        };
        pod.preempts = rng.pick(&[None, None, None, Some(true), Some(false)]);
    }
    pod
}

/// Puts the pod on a node with room for it, as Running, or Bound; says whether there is one.
fn start(rng: &mut Rng, nodes: &[NodeObject], all: &[PodObject], pod: &mut PodObject) -> bool {
    let fitting: Vec<&NodeObject> = nodes
        .iter()
        .filter(|node| has_room(node, all, pod))
        .collect();
    if fitting.is_empty() {
        return false;
    }
    pod.node = Some(rng.pick(&fitting).name.clone());
    pod.phase = rng.pick(&[PodPhase::Running, PodPhase::Running, PodPhase::Pending]);
    true
}

const ACTIONS: &[&str] = &[
    "enqueue, allocate, preempt, reclaim, backfill",
    "enqueue, allocate, preempt, reclaim, backfill",
    "enqueue, allocate, preempt, backfill",
    "enqueue, allocate, reclaim, backfill",
    "enqueue, reclaim, allocate, backfill, preempt",
    "allocate, preempt, reclaim",
];

/// Actions that take gangs as a whole.
const GANG_ACTIONS: &[&str] = &[
    "enqueue, allocate, gangpreempt, gangreclaim, backfill",
    "enqueue, allocate, gangpreempt, backfill",
    "enqueue, allocate, gangreclaim, backfill",
    "enqueue, gangpreempt, allocate, gangreclaim",
    "allocate, preempt, gangpreempt, gangreclaim",
];

/// A plugin: one in how many configurations lacks it, and its switches that matter here.
type Entry = (&'static str, usize, &'static [&'static str]);

/// Plugins by tier in Volcano's documents.
const TIERS: [&[Entry]; 2] = [
    &[
        ("priority", 6, &["enableJobStarving", "enablePreemptable"]),
        (
            "gang",
            10,
            &[
                "enablePreemptable",
                "enableReclaimable",
                "enableJobStarving",
            ],
        ),
        ("conformance", 4, &["enablePreemptable"]),
    ],
    &[
        ("overcommit", 2, &[]),
        ("drf", 2, &["enablePreemptable"]),
        ("predicates", 10, &[]),
        ("proportion", 4, &["enableReclaimable", "enablePreemptive"]),
        ("nodeorder", 3, &[]),
        ("binpack", 3, &[]),
    ],
];

/// A configuration that evicts: Volcano's usual tiers, or a random choice and order of their plugins and
/// switches.
#[must_use]
pub fn evicting_conf_text(seed: u64) -> String {
    let text = conf_of(&mut Rng::new(seed, 32), ACTIONS, &TIERS);
    match seed % 5 {
        4 => text.replace("enqueue, allocate, preempt", "enqueue, preempt, allocate"),
        _ => text,
    }
}

/// A configuration with the plugin `capacity`, otherwise as [`evicting_conf_text`].
#[must_use]
pub fn tree_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 34);
    let actions = match rng.one_in(3) {
        true => protected::ACTIONS,
        false => ACTIONS,
    };
    let mut text = conf_of(&mut rng, actions, &trees::TIERS);
    trees::argue(&mut rng, &mut text);
    text
}

/// A configuration with plugins that protect, and at times with the actions that take gangs as a whole.
#[must_use]
pub fn protecting_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 36);
    let by_tree = rng.one_in(3);
    let tiers = match by_tree {
        true => &protected::BY_TREE,
        false => &protected::BY_WEIGHT,
    };
    let mut text = conf_of(&mut rng, protected::ACTIONS, tiers);
    protected::argue(&mut rng, &mut text, by_tree);
    text
}

/// A configuration with the actions that take gangs as a whole, for [`full_network_cluster`].
#[must_use]
pub fn gangs_in_domains_conf_text(seed: u64) -> String {
    let mut rng = Rng::new(seed, 63);
    let mut text = conf_of(&mut rng, GANG_ACTIONS, &protected::BY_WEIGHT);
    super::conf::network_that_evicts(&mut rng, &mut text);
    text
}

fn conf_of(rng: &mut Rng, actions: &[&str], tiers: &[&[Entry]]) -> String {
    let is_usual = rng.one_in(3);
    let mut text = format!("actions: \"{}\"\ntiers:\n", rng.pick(actions));
    let mut plugins: Vec<Entry> = Vec::new();
    let mut starts = Vec::new();
    for tier in tiers {
        starts.push(plugins.len());
        plugins.extend(
            tier.iter()
                .filter(|(_, odds, _)| is_usual || !rng.one_in(*odds)),
        );
    }
    if !is_usual && rng.one_in(4) {
        rng.shuffle(&mut plugins);
        starts.push(rng.below(plugins.len() + 1));
    }
    for (at, (name, _, switches)) in plugins.iter().enumerate() {
        if at == 0 || starts.contains(&at) {
            text.push_str("- plugins:\n");
        }
        let _ = writeln!(text, "  - name: {name}");
        for switch in *switches {
            let is_chart = *switch == "enablePreemptable" && ["gang", "drf"].contains(name);
            let is_off = match is_chart {
                true => rng.one_in(2),
                false => !is_usual && rng.one_in(8),
            };
            if is_off {
                let _ = writeln!(text, "    {switch}: false");
            }
        }
        if *name == "overcommit" && rng.one_in(2) {
            text.push_str("    arguments:\n      overcommit-factor: 1.0\n");
        }
    }
    if rng.one_in(2) {
        text.push_str("  - name: deviceshare\n    arguments:\n");
        text.push_str("      deviceshare.VGPUEnable: true\n");
        let vendors = super::vendors::argument(&mut Rng::new(rng.clone().next(), 73));
        let _ = writeln!(text, "      deviceshare.HAMiVendors: {vendors}");
    }
    text
}
