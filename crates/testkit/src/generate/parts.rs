//! Jobs of several parts, of which each keeps to a rack: racks are of unequal size and as large as one
//! way to share them needs, so that it matters which part takes which.

use pumice_model::delta::Delta;
use pumice_model::object::{
    Gates, GroupObject, GroupPhase, HighestTier, HyperNodeMembers, HyperNodeObject, NodeObject,
    PodObject, PodPhase, QueueObject, Shard, SubGroupPolicy, TopologyRequest,
};

use super::network::hyper_node;
use super::nodes::{NAMESPACES, is};
use super::pods::name_uids;
use super::rng::Rng;
use super::{MIB, has_room, pairs};

/// Which features a cluster has.
struct Traits {
    roles: bool,
    best_effort: bool,
    gates: bool,
    priorities: bool,
    started: bool,
    others: bool,
    /// Pods of several sizes.
    uneven: bool,
}

/// Pods that belong together, and the rack that has room for them.
struct Part {
    pods: Vec<PodObject>,
    rack: usize,
}

/// A small cluster in which sub-jobs share racks; otherwise as [`super::cluster`].
#[must_use]
pub fn partitioned_cluster(seed: u64) -> Vec<Delta> {
    let mut rng = Rng::new(seed, 71);
    let has = Traits {
        roles: rng.one_in(5),
        best_effort: rng.one_in(5),
        gates: rng.one_in(10),
        priorities: rng.one_in(3),
        started: rng.one_in(2),
        others: rng.one_in(3),
        uneven: rng.one_in(3),
    };
    let racks = rng.between(2, 5);
    let (mut groups, mut parts) = (Vec::new(), Vec::new());
    for index in 0..rng.pick(&[1, 1, 1, 2]) {
        let (group, own) = job(&mut rng, &has, index, racks);
        groups.push(group);
        parts.extend(own);
    }
    let (nodes, hyper_nodes) = network(&mut rng, &parts, racks);
    let mut pods: Vec<PodObject> = Vec::new();
    for mut pod in others(&mut rng, &has) {
        start(&mut rng, &nodes, &pods, &mut pod);
        pods.push(pod);
    }
    for part in parts {
        let prefix = format!("n{}-", part.rack);
        let mut near = nodes.clone();
        near.retain(|node| node.name.starts_with(&prefix));
        let started = has.started && rng.one_in(3);
        for mut pod in part.pods {
            let reach = if rng.one_in(8) { &nodes } else { &near };
            if started && rng.one_in(2) && pod.gates == Gates::None {
                start(&mut rng, reach, &pods, &mut pod);
            }
            pods.push(pod);
        }
    }
    name_uids(&mut rng, &mut pods);
    let mut all = vec![Delta::QueueApply(Box::new(queue(&mut rng)))];
    let nodes = nodes.into_iter().map(Box::new);
    all.extend(nodes.map(Delta::NodeApply));
    let hyper_nodes = hyper_nodes.into_iter().map(Box::new);
    all.extend(hyper_nodes.map(Delta::HyperNodeApply));
    all.extend(groups.into_iter().map(Box::new).map(Delta::GroupApply));
    all.extend(pods.into_iter().map(Box::new).map(Delta::PodApply));
    rng.shuffle(&mut all);
    all
}

fn queue(rng: &mut Rng) -> QueueObject {
    let mut queue = QueueObject {
        name: "default".to_owned(),
        weight: 1,
        reclaimable: true,
        ..QueueObject::default()
    };
    if rng.one_in(6) {
        let cores = rng.pick(&[3000, 6000, 9000]);
        queue.capability.push(("cpu".to_owned(), cores));
    }
    queue
}

fn request(rng: &mut Rng, own: &[TopologyRequest]) -> Option<TopologyRequest> {
    let at = rng.below(own.len() + 1);
    own.get(at).cloned()
}

fn hard(tier: i64) -> TopologyRequest {
    TopologyRequest::Hard(HighestTier::Number(tier))
}

/// A job with its parts, of one to three policies.
fn job(rng: &mut Rng, has: &Traits, index: usize, racks: usize) -> (GroupObject, Vec<Part>) {
    let mut group = GroupObject {
        namespace: NAMESPACES[0].to_owned(),
        name: format!("g{index}"),
        uid: format!("{:04x}-g{index}", rng.below(0x1_0000)),
        created_s: rng.pick(&[0, 10]),
        topology: request(
            rng,
            &[hard(2), hard(5), TopologyRequest::Soft, hard(2), hard(1)],
        ),
        ..GroupObject::default()
    };
    group.status.phase = rng.pick(&[
        GroupPhase::Inqueue,
        GroupPhase::Pending,
        GroupPhase::Running,
    ]);
    let (mut parts, mut needed) = (Vec::new(), 0);
    for at in 0..rng.between(1, 3) {
        let (policy, own) = policy(rng, has, at, racks, &group.name);
        needed += policy.size * policy.min_groups;
        group.sub_groups.push(policy);
        parts.extend(own);
    }
    if rng.one_in(5) {
        // They are of no policy.
        let rack = rng.below(racks);
        let pods = (0..rng.between(1, 2)).map(|at| {
            let name = format!("{}-rest-{at}", group.name);
            pod(rng, has, name, &group.name, 1000)
        });
        let pods = pods.collect();
        parts.push(Part { pods, rack });
    }
    let number: usize = parts.iter().map(|part| part.pods.len()).sum();
    group.min_member = rng.pick(&[0, 1, needed, needed, number as i32]);
    if has.roles && rng.one_in(3) {
        group.min_task_member = vec![("master".to_owned(), 1)];
    }
    (group, parts)
}

fn policy(
    rng: &mut Rng,
    has: &Traits,
    at: usize,
    racks: usize,
    group: &str,
) -> (SubGroupPolicy, Vec<Part>) {
    let kind = format!("p{at}");
    let number = rng.between(1, 3);
    let policy = SubGroupPolicy {
        name: kind.clone(),
        selector: Some(is("kind", &kind)),
        match_label_keys: vec!["part".to_owned()],
        size: rng.pick(&[1, 2, 2, 3, 4]),
        min_groups: match rng.one_in(4) {
            true => rng.below(number + 1) as i32,
            false => number as i32,
        },
        topology: match rng.below(8) {
            0 => request(rng, &[TopologyRequest::Soft]),
            1 => Some(hard(2)),
            _ => Some(hard(1)),
        },
    };
    let milli = if has.uneven {
        rng.pick(&[500, 1000, 2000])
    } else {
        1000
    };
    let mut parts = Vec::new();
    for part in 0..number {
        let more = i32::from(rng.one_in(5));
        let pods = (0..policy.size + more).map(|index| {
            let name = format!("{group}-{kind}x{part}-{index}");
            let mut pod = pod(rng, has, name, group, milli);
            let part = part.to_string();
            pod.labels = pairs(&[("kind", &kind), ("part", &part)]);
            pod
        });
        let pods = pods.collect();
        let rack = rng.below(racks);
        parts.push(Part { pods, rack });
    }
    (policy, parts)
}

fn pod(rng: &mut Rng, has: &Traits, name: String, group: &str, milli: i64) -> PodObject {
    let mut pod = PodObject {
        group: Some(group.to_owned()),
        ours: true,
        priority: if has.priorities {
            rng.pick(&[0, 1, 5])
        } else {
            1
        },
        created_s: rng.pick(&[0, 10]),
        ..plain(name, milli)
    };
    if has.roles {
        pod.role = rng.pick(&["master", "worker", "worker"]).to_owned();
        if pod.role == "master" {
            pod.request[0].1 *= 2;
        }
    }
    if has.best_effort && rng.one_in(4) {
        pod.request.retain(|(name, _)| name == "pods");
    }
    if has.gates && rng.one_in(4) {
        pod.gates = rng.pick(&[Gates::Foreign, Gates::QueueAdmission]);
    }
    pod
}

fn plain(name: String, milli: i64) -> PodObject {
    let memory = milli * MIB;
    PodObject {
        namespace: NAMESPACES[0].to_owned(),
        name,
        container_count: 1,
        request: vec![
            ("cpu".to_owned(), milli),
            ("memory".to_owned(), memory),
            ("pods".to_owned(), 1),
        ],
        nonzero_cpu_milli: milli,
        nonzero_memory_bytes: memory,
        ..PodObject::default()
    }
}

/// Pods of somebody else.
fn others(rng: &mut Rng, has: &Traits) -> Vec<PodObject> {
    let number = if has.others { rng.between(1, 4) } else { 0 };
    (0..number)
        .map(|index| plain(format!("other{index}"), 1000))
        .collect()
}

/// Puts the pod on one of the nodes, if it has room.
fn start(rng: &mut Rng, nodes: &[NodeObject], pods: &[PodObject], pod: &mut PodObject) {
    if nodes.is_empty() {
        return;
    }
    let node = rng.pick(nodes);
    if has_room(&node, pods, pod) {
        pod.node = Some(node.name);
        let phases = [PodPhase::Running, PodPhase::Running, PodPhase::Pending];
        pod.phase = rng.pick(&phases);
        if rng.one_in(16) {
            pod.phase = PodPhase::Succeeded;
        }
        pod.deleting = rng.one_in(if pod.ours { 12 } else { 2 });
        super::pods::is_to_end(rng, pod);
    }
}

/// Racks with room for their parts, more or less, of nodes of few cores, below switches or not.
fn network(rng: &mut Rng, parts: &[Part], racks: usize) -> (Vec<NodeObject>, Vec<HyperNodeObject>) {
    let (mut nodes, mut hyper_nodes) = (Vec::new(), Vec::new());
    for rack in 0..racks {
        let own = parts.iter().filter(|part| part.rack == rack);
        let requests = own.flat_map(|part| &part.pods).flat_map(|pod| &pod.request);
        let cpu = requests.filter(|(name, _)| name == "cpu");
        let needed = cpu.map(|(_, milli)| *milli).sum::<i64>();
        let mut cores = (needed + 999) / 1000 + rng.pick(&[-1, 0, 0, 0, 0, 1]);
        let first = nodes.len();
        while cores > 0 {
            let size = cores.min(rng.between(1, 4) as i64);
            nodes.push(node(format!("n{rack}-{}", nodes.len() - first), size));
            cores -= size;
        }
        let own = nodes[first..].iter();
        let members = own.map(|node| HyperNodeMembers::Node(node.name.clone()));
        hyper_nodes.push(hyper_node(format!("a{rack}"), 1, 0, members.collect()));
    }
    if rng.one_in(8) && !nodes.is_empty() {
        // It overlaps with others.
        let picked = (0..3).map(|_| HyperNodeMembers::Node(rng.pick(&nodes).name));
        let members = picked.collect();
        hyper_nodes.push(hyper_node("odd".to_owned(), 1, 0, members));
    }
    if !rng.one_in(3) {
        let size = rng.between(1, 3);
        for at in 0..racks.div_ceil(size) {
            let below = (at * size..racks.min((at + 1) * size)).map(|rack| format!("a{rack}"));
            let members = below.map(HyperNodeMembers::Child).collect();
            hyper_nodes.push(hyper_node(format!("b{at}"), 2, 1, members));
        }
    }
    (nodes, hyper_nodes)
}

fn node(name: String, cores: i64) -> NodeObject {
    NodeObject {
        labels: pairs(&[("kubernetes.io/hostname", &name)]),
        allocatable: vec![
            ("cpu".to_owned(), cores * 1000),
            ("memory".to_owned(), cores * 4096 * MIB),
            ("pods".to_owned(), 110),
        ],
        name,
        shard: Shard::Own,
        ..NodeObject::default()
    }
}
