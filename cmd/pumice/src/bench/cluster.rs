//! A cluster made in memory.

use pumice_model::Delta;
use pumice_model::object::{
    GroupObject, GroupPhase, GroupStatus, HighestTier, HyperNodeMembers, HyperNodeObject,
    NATIVE_GROUP, NodeObject, PodObject, PodPhase, PodTerm, PriorityClassObject, QueueObject,
    Requirement, Selector, SelectorOp, SpreadConstraint, TopologyRequest, Unsatisfiable,
};

use super::arguments::{
    BenchDevices, EvictArguments, EvictFor, PlacementArguments, PodRule, QueueTreeArguments,
    WakeArguments,
};
use super::devices;

pub const MIB: i64 = 1 << 20;
const GIB: i64 = 1 << 30;
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Hands every object of the cluster to `apply`.
pub fn build(arguments: &PlacementArguments, mut apply: impl FnMut(Delta)) {
    for number in 0..arguments.queues.max(1) {
        apply(Delta::QueueApply(Box::new(queue(number))));
    }
    let mut random = arguments.seed;
    for number in 0..arguments.nodes {
        let mut node = node(number, next(&mut random));
        if let Some(report) = devices::equip(arguments.devices, &mut node) {
            apply(report);
        }
        apply(Delta::NodeApply(Box::new(node)));
    }
    hyper_nodes(arguments.nodes, arguments.topology, &mut apply);
    for number in 0..arguments.running {
        let mut pod = running(number, arguments.nodes);
        if arguments.devices == BenchDevices::Vgpu {
            let random = next(&mut (number as u64));
            devices::hold_vgpu(&mut pod, random, number / arguments.nodes.max(1));
        }
        if let Some(job) = number.checked_div(arguments.running_gang) {
            let name = format!("running-job-{job:06}");
            (pod.ours, pod.group) = (true, Some(name.clone()));
            if number % arguments.running_gang == 0 {
                let group = running_group(name, arguments.running_gang);
                apply(Delta::GroupApply(Box::new(group)));
            }
        }
        apply(Delta::PodApply(Box::new(pod)));
    }
    for job in 0..arguments.jobs {
        apply(Delta::GroupApply(Box::new(group(arguments, job))));
        for at in 0..arguments.gang {
            apply(Delta::PodApply(Box::new(pending(arguments, job, at))));
        }
    }
    for number in 0..arguments.plain {
        apply(Delta::PodApply(Box::new(plain(number))));
    }
}

/// HyperNodes of a tier that make one of the next tier, and nodes that make one of the first.
const MEMBERS: usize = 16;

fn hyper_nodes(nodes: usize, tiers: usize, mut apply: impl FnMut(Delta)) {
    let name = |tier: usize, at: usize| format!("tier-{tier}-{at:06}");
    let mut below = nodes;
    for tier in 1..=tiers {
        let count = below.div_ceil(MEMBERS);
        for at in 0..count {
            let members = (at * MEMBERS..below.min((at + 1) * MEMBERS)).map(|member| match tier {
                1 => HyperNodeMembers::Node(node_name(member)),
                _ => HyperNodeMembers::Child(name(tier - 1, member)),
            });
            apply(Delta::HyperNodeApply(Box::new(HyperNodeObject {
                name: name(tier, at),
                tier: tier as i64,
                members: members.collect(),
                ..HyperNodeObject::default()
            })));
        }
        below = count;
    }
}

/// A job keeps to one HyperNode of the highest tier, if there are any.
fn within_one(tiers: usize) -> Option<TopologyRequest> {
    let request = TopologyRequest::Hard(HighestTier::Number(tiers as i64));
    (tiers > 0).then_some(request)
}

/// SplitMix64.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn queue_name(number: usize) -> String {
    if number == 0 {
        "default".to_owned()
    } else {
        format!("queue-{number:05}")
    }
}

pub fn queue(number: usize) -> QueueObject {
    QueueObject {
        name: queue_name(number),
        weight: 1,
        reclaimable: true,
        ..Default::default()
    }
}

fn node_name(number: usize) -> String {
    format!("node-{number:06}")
}

fn node(number: usize, random: u64) -> NodeObject {
    let cpu = [64, 96, 128][(random % 3) as usize];
    NodeObject {
        name: node_name(number),
        labels: vec![
            (HOSTNAME.to_owned(), node_name(number)),
            (ZONE.to_owned(), format!("zone-{}", number % 3)),
        ],
        allocatable: vec![
            ("cpu".to_owned(), cpu * 1000),
            ("memory".to_owned(), 4 * cpu * GIB),
            ("pods".to_owned(), 256),
        ],
        ..NodeObject::default()
    }
}

pub fn request(cpu_milli: i64, memory_bytes: i64) -> PodObject {
    PodObject {
        namespace: "bench".to_owned(),
        ours: true,
        priority: 1,
        request: vec![
            ("cpu".to_owned(), cpu_milli),
            ("memory".to_owned(), memory_bytes),
            ("pods".to_owned(), 1),
        ],
        nonzero_cpu_milli: cpu_milli,
        nonzero_memory_bytes: memory_bytes,
        images: vec!["training:latest".to_owned()],
        container_count: 1,
        ..PodObject::default()
    }
}

fn running(number: usize, nodes: usize) -> PodObject {
    let mut pod = request(250, 256 * MIB);
    pod.name = format!("running-{number:07}");
    pod.uid = format!("uid-running-{number:07}");
    pod.ours = false;
    pod.node = Some(node_name(number % nodes.max(1)));
    pod.phase = PodPhase::Running;
    pod.labels = vec![
        ("app".to_owned(), format!("app-{}", number % 100)),
        ("instance".to_owned(), number.to_string()),
    ];
    pod
}

/// What the names begin with of running pods that leave room for nobody when they end.
pub const SMALL: &str = "small-";

/// What the names begin with of running pods that leave room for one waiting pod when they end.
pub const LARGE: &str = "large-";

/// Pods of each of these kinds on a node.
const OF_A_KIND: usize = 2;

/// A cluster that is full, and jobs that wait.
pub fn build_full(arguments: &WakeArguments, mut apply: impl FnMut(Delta)) {
    for number in 0..arguments.queues.max(1) {
        apply(Delta::QueueApply(Box::new(queue(number))));
    }
    hyper_nodes(arguments.nodes, arguments.topology, &mut apply);
    let gang = (arguments.pods / arguments.jobs.max(1)).max(1);
    let (cpu, memory) = amounts(arguments.classes.max(1) - 1);
    let of_domain = MEMBERS.saturating_pow(arguments.topology as u32);
    for number in 0..arguments.nodes {
        let node = node(number, 0);
        let mut rest = request(node.allocatable[0].1, node.allocatable[1].1);
        if arguments.topology > 0 && number.is_multiple_of(of_domain) {
            // Each domain has room for all pods of a gang but one.
            for (at, amount) in [cpu, memory].into_iter().enumerate() {
                rest.request[at].1 -= (gang as i64 - 1) * amount;
            }
        }
        let mut put = |mut pod: PodObject, name: String| {
            for at in 0..2 {
                rest.request[at].1 -= pod.request[at].1;
            }
            pod = settled(pod, name, number);
            pod
        };
        let mut pods = Vec::new();
        for at in 0..OF_A_KIND {
            let at = at * arguments.nodes + number;
            pods.push(put(request(50, 64 * MIB), format!("{SMALL}{at:07}")));
            let large = request(cpu.max(290), memory);
            pods.push(put(large, format!("{LARGE}{at:07}")));
        }
        pods.push(settled(rest, format!("rest-{number:07}"), number));
        apply(Delta::NodeApply(Box::new(node)));
        pods.into_iter()
            .for_each(|pod| apply(Delta::PodApply(Box::new(pod))));
    }
    for job in 0..arguments.jobs {
        let class = job % arguments.classes.max(1);
        let (cpu, memory) = amounts(class);
        let name = format!("job-{job:06}");
        let mut group = running_group(name.clone(), gang);
        group.queue = queue_name(job % arguments.queues.max(1));
        group.topology = within_one(arguments.topology);
        group.created_s = job as i64 / 10;
        group.status.phase = match arguments.pending {
            true => GroupPhase::Pending,
            false => GroupPhase::Inqueue,
        };
        let all = |amount: i64| gang as i64 * amount;
        let minimum = vec![
            ("cpu".to_owned(), all(cpu)),
            ("memory".to_owned(), all(memory)),
        ];
        group.min_resources = Some(minimum);
        apply(Delta::GroupApply(Box::new(group)));
        for at in 0..gang {
            let mut pod = request(cpu, memory);
            pod.name = format!("{name}-worker-{at}");
            pod.uid = format!("uid-{}", pod.name);
            pod.group = Some(name.clone());
            pod.role = "worker".to_owned();
            apply(Delta::PodApply(Box::new(pod)));
        }
    }
}

/// Pods on a node of [`build_occupied`].
const ON_A_NODE: usize = 16;

/// A cluster full of jobs, and jobs that wait for their room.
pub fn build_occupied(arguments: &EvictArguments, what: EvictFor, mut apply: impl FnMut(Delta)) {
    for number in 0..2 {
        apply(Delta::QueueApply(Box::new(queue(number))));
    }
    for (name, value) in [("low", 10), ("high", 100)] {
        apply(Delta::PriorityClassApply(PriorityClassObject {
            name: name.to_owned(),
            value,
            ..PriorityClassObject::default()
        }));
    }
    let by_priority = what == EvictFor::Priority;
    for number in 0..arguments.nodes {
        apply(Delta::NodeApply(Box::new(node(number, 0))));
    }
    let pods = arguments.nodes * ON_A_NODE;
    for number in 0..pods {
        let job = format!("old-{:06}", number / 100);
        if number.is_multiple_of(100) {
            let mut group = running_group(job.clone(), 1);
            group.priority_class = "low".to_owned();
            apply(Delta::GroupApply(Box::new(group)));
        }
        let mut pod = request(4000, 16 * GIB);
        pod.name = format!("{job}-worker-{}", number % 100);
        pod.uid = format!("uid-{}", pod.name);
        // Neighbours are of different jobs.
        pod.node = Some(node_name(number % arguments.nodes.max(1)));
        pod.phase = PodPhase::Running;
        pod.created_s = (number % 7) as i64;
        pod.group = Some(job);
        apply(Delta::PodApply(Box::new(pod)));
    }
    for job in 0..arguments.jobs {
        let name = format!("new-{job:06}");
        let mut group = running_group(name.clone(), arguments.gang);
        group.status.phase = GroupPhase::Inqueue;
        let wants = match arguments.nobody {
            true => "low",
            false => "high",
        };
        group.priority_class = wants.to_owned();
        // One queue deserves what it holds.
        let other = !by_priority && !arguments.nobody;
        group.queue = queue_name(usize::from(other));
        apply(Delta::GroupApply(Box::new(group)));
        for at in 0..arguments.gang {
            let class = (job * arguments.gang + at) % arguments.classes.max(1);
            let mut pod = request(4000, 16 * GIB - class as i64 * 4096);
            pod.name = format!("{name}-worker-{at}");
            pod.uid = format!("uid-{}", pod.name);
            pod.group = Some(name.clone());
            pod.role = format!("role-{class}");
            apply(Delta::PodApply(Box::new(pod)));
        }
    }
}

/// A tree of queues; all pods run in those that have no queue below them.
pub struct QueueTreeCluster {
    nodes: usize,
    /// `root` and all others, those above before those below.
    queues: Vec<QueueObject>,
    /// Which have no queue below them.
    leaves: Vec<usize>,
    pods: usize,
}

impl QueueTreeCluster {
    /// Pods of a job that runs.
    const GANG: usize = 10;

    /// As the arguments say.
    pub fn new(arguments: &QueueTreeArguments) -> Self {
        let children = arguments.children.max(1);
        let named = |number: usize| match number {
            0 => "root".to_owned(),
            number => queue_name(number),
        };
        let queues = (0..=arguments.queues.max(1)).map(|number| QueueObject {
            name: named(number),
            parent: match number {
                0 => String::new(),
                number => named((number - 1) / children),
            },
            deserved: Self::deserved(number),
            ..queue(number)
        });
        let leaf = |number: &usize| number * children + 1 > arguments.queues.max(1);
        Self {
            nodes: arguments.nodes.max(1),
            queues: queues.collect(),
            leaves: (1..=arguments.queues.max(1)).filter(leaf).collect(),
            pods: arguments.pods,
        }
    }

    fn deserved(number: usize) -> Vec<(String, i64)> {
        let cores = 10 + (number % 7) as i64;
        vec![("cpu".to_owned(), cores * 1000)]
    }

    /// The queues that have none below them, by number.
    pub fn leaves(&self) -> &[usize] {
        &self.leaves
    }

    /// Hands every object to `apply`.
    pub fn build(&self, mut apply: impl FnMut(Delta)) {
        for queue in &self.queues {
            apply(Delta::QueueApply(Box::new(queue.clone())));
        }
        for number in 0..self.nodes {
            apply(Delta::NodeApply(Box::new(node(number, 0))));
        }
        for number in 0..self.pods {
            let (job, at) = (number / Self::GANG, number % Self::GANG);
            let name = format!("old-{job:06}");
            if at == 0 {
                let mut group = running_group(name.clone(), Self::GANG / 2);
                group.queue = self.queue_of(job);
                apply(Delta::GroupApply(Box::new(group)));
            }
            let mut pod = member(&name, at, request(100, 128 * MIB));
            pod.node = Some(node_name(number % self.nodes));
            pod.phase = PodPhase::Running;
            apply(Delta::PodApply(Box::new(pod)));
        }
    }

    fn queue_of(&self, job: usize) -> String {
        let leaf = self.leaves[job % self.leaves.len()];
        self.queues[leaf].name.clone()
    }

    /// One pod less.
    pub fn end(&self, number: usize) -> Delta {
        Delta::PodDelete(format!("uid-old-{number:06}-worker-0"))
    }

    /// A job that waits.
    pub fn job(&self, number: usize, gang: usize) -> Vec<Delta> {
        let name = format!("new-{number:06}");
        let mut group = running_group(name.clone(), gang);
        group.status.phase = GroupPhase::Pending;
        group.queue = self.queue_of(number);
        let all = |amount: i64| amount * gang as i64;
        group.min_resources = Some(vec![("cpu".to_owned(), all(100))]);
        let pods = (0..gang).map(|at| member(&name, at, request(100, 128 * MIB)));
        let pods = pods.map(|pod| Delta::PodApply(Box::new(pod)));
        std::iter::once(Delta::GroupApply(Box::new(group)))
            .chain(pods)
            .collect()
    }

    /// A queue deserves something else.
    pub fn queue_change(&self, number: usize) -> Delta {
        let mut queue = self.queues[self.leaves[number % self.leaves.len()]].clone();
        queue.deserved = Self::deserved(number + 3);
        queue.deserved[0].1 += 500;
        Delta::QueueApply(Box::new(queue))
    }
}

/// A pod of a job.
fn member(job: &str, at: usize, mut pod: PodObject) -> PodObject {
    pod.name = format!("{job}-worker-{at}");
    pod.uid = format!("uid-{}", pod.name);
    pod.group = Some(job.to_owned());
    pod.role = "worker".to_owned();
    pod
}

/// A pod of another scheduler that runs.
fn settled(mut pod: PodObject, name: String, node: usize) -> PodObject {
    pod.uid = format!("uid-{name}");
    pod.name = name;
    pod.ours = false;
    pod.node = Some(node_name(node));
    pod.phase = PodPhase::Running;
    pod
}

fn running_group(name: String, gang: usize) -> GroupObject {
    let mut group = GroupObject {
        namespace: "bench".to_owned(),
        uid: name.clone(),
        name,
        min_member: gang as i32,
        queue: queue_name(0),
        ..GroupObject::default()
    };
    group.status.phase = GroupPhase::Running;
    group
}

/// A pod that is created alone: bare, or with a PodGroup of its own.
pub fn single(number: usize) -> (Option<Delta>, PodObject) {
    let mut pod = request(100, 128 * MIB);
    pod.name = format!("single-{number:04}");
    pod.uid = format!("uid-single-{number:04}");
    if number.is_multiple_of(2) {
        return (None, pod);
    }
    pod.group = Some(pod.name.clone());
    let mut group = running_group(pod.name.clone(), 1);
    group.status.phase = GroupPhase::Pending;
    group.min_resources = Some(pod.request.clone());
    (Some(Delta::GroupApply(Box::new(group))), pod)
}

/// cpu and memory of a class: no two classes are alike.
fn amounts(class: usize) -> (i64, i64) {
    let class = class as i64;
    (100 + 10 * (class % 20), 128 * MIB + class * 4096)
}

fn group(arguments: &PlacementArguments, job: usize) -> GroupObject {
    let (mut cpu, mut memory) = (0, 0);
    for at in 0..arguments.gang {
        let (c, m) = amounts((job * arguments.gang + at) % arguments.classes.max(1));
        (cpu, memory) = (cpu + c, memory + m);
    }
    let name = group_name(arguments, job);
    let group = GroupObject {
        namespace: "bench".to_owned(),
        uid: name.clone(),
        name,
        min_member: arguments.gang as i32,
        queue: queue_name(job % arguments.queues.max(1)),
        topology: within_one(arguments.topology),
        ..GroupObject::default()
    };
    match arguments.native_groups {
        true => GroupObject {
            is_native: true,
            status: GroupStatus::of_native(Vec::new()),
            ..group
        },
        false => GroupObject {
            min_resources: Some(vec![("cpu".to_owned(), cpu), ("memory".to_owned(), memory)]),
            ..group
        },
    }
}

/// Name of the PodGroup of a pending job.
fn group_name(arguments: &PlacementArguments, job: usize) -> String {
    let kind = match arguments.native_groups {
        true => NATIVE_GROUP,
        false => "",
    };
    format!("{kind}job-{job:06}")
}

fn pending(arguments: &PlacementArguments, job: usize, at: usize) -> PodObject {
    let number = job * arguments.gang + at;
    let class = number % arguments.classes.max(1);
    let (cpu, memory) = amounts(class);
    let mut pod = request(cpu, memory);
    devices::ask((arguments.devices, arguments.cards), &mut pod, class);
    pod.name = format!("job-{job:06}-worker-{at}");
    pod.uid = format!("uid-{number:08}");
    pod.group = Some(group_name(arguments, job));
    pod.role = "worker".to_owned();
    // Ten applications: a job competes with others that look like it.
    let app = format!("app-{}", job % 10);
    pod.labels = vec![
        ("app".to_owned(), app.clone()),
        ("job".to_owned(), format!("job-{job:06}")),
    ];
    let own = || is("job".to_owned(), format!("job-{job:06}"));
    match arguments.rule {
        PodRule::None => {}
        PodRule::AntiAffinity => pod.anti_affinity.push(by_host(own())),
        PodRule::SpreadHost => pod.spread.push(spread(own(), HOSTNAME)),
        PodRule::SpreadZone => pod.spread.push(spread(own(), ZONE)),
        PodRule::OwnAntiAffinity => pod.anti_affinity = own_terms(arguments, &mut pod),
        PodRule::OwnPreferred => {
            let terms = own_terms(arguments, &mut pod).into_iter();
            pod.preferred_anti_affinity = terms.map(|term| (1, term)).collect();
        }
    }
    pod
}

/// Gives a pod labels that no other pod has, and a term on each of them.
fn own_terms(arguments: &PlacementArguments, pod: &mut PodObject) -> Vec<PodTerm> {
    let own = |at| (format!("own-{at:04}"), pod.name.clone());
    let labels: Vec<(String, String)> = (0..arguments.terms).map(own).collect();
    let terms = labels.iter().cloned();
    let terms = terms.map(|(key, value)| by_host(is(key, value))).collect();
    pod.labels.extend(labels);
    pod.labels.sort();
    terms
}

fn is(key: String, value: String) -> Selector {
    Selector {
        requirements: vec![Requirement {
            key,
            op: SelectorOp::In(vec![value]),
        }],
    }
}

fn by_host(selector: Selector) -> PodTerm {
    PodTerm {
        namespaces: vec!["bench".to_owned()],
        namespace_selector: None,
        selector: Some(selector),
        topology_key: HOSTNAME.to_owned(),
    }
}

/// What the names of plain pods begin with.
pub const PLAIN: &str = "plain-";

fn plain(number: usize) -> PodObject {
    let mut pod = request(100, 128 * MIB);
    pod.name = format!("{PLAIN}{number:05}");
    pod.uid = format!("uid-{}", pod.name);
    pod.created_s = 1;
    pod
}

fn spread(selector: Selector, key: &str) -> SpreadConstraint {
    SpreadConstraint {
        max_skew: 1,
        topology_key: key.to_owned(),
        when: Unsatisfiable::DoNotSchedule,
        selector: Some(selector),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    }
}
