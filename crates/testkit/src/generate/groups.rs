//! Queues and PodGroups.

use pumice_model::object::{
    GroupCondition, GroupLimits, GroupObject, GroupPhase, HighestTier, NodeGroups, QueueObject,
    QueueState, SubGroupPolicy, TopologyRequest,
};

use super::nodes::{NAMESPACES, NODE_GROUPS, is};
use super::rng::Rng;
use super::{GPU, MIB, Theme, mindcluster, npus};

/// Place in the hierarchy and weights; a shared part has one weight everywhere.
pub const PLACES: &[(&[&str], &[f64])] = &[
    (&["root", "x", "a"], &[1.0, 2.0, 1.0]),
    (&["root", "x", "b"], &[1.0, 2.0, 3.0]),
    (&["root", "y"], &[1.0, 1.0]),
    (&["root", "z", "c"], &[1.0, 3.0, 1.0]),
];

pub fn queues(rng: &mut Rng, theme: &Theme) -> Vec<QueueObject> {
    let number = rng.pick(&[1, 2, 3, 3, 4, 4]);
    let names = ["default", "q1", "q2", "q3"];
    let mut queues: Vec<QueueObject> = names
        .iter()
        .zip(PLACES)
        .take(number)
        .map(|(name, place)| queue(rng, theme, name, place))
        .collect();
    if rng.one_in(5) {
        queues.retain(|queue| queue.name != "default");
    }
    queues
}

pub fn queue(rng: &mut Rng, theme: &Theme, name: &str, place: &(&[&str], &[f64])) -> QueueObject {
    let mut queue = QueueObject {
        name: name.to_owned(),
        created_s: rng.pick(&[0, 10, 20]),
        weight: rng.pick(&[1, 1, 2, 3, 5]),
        priority: rng.pick(&[0, 0, 0, 0, 5]),
        reclaimable: true,
        ..QueueObject::default()
    };
    if theme.queue_limits && rng.one_in(3) {
        queue
            .capability
            .push(("cpu".to_owned(), rng.pick(&[0, 2000, 4000, 8000])));
        if rng.one_in(2) {
            let memory = rng.pick(&[4096, 8192]) * MIB;
            queue.capability.push(("memory".to_owned(), memory));
        }
        if theme.gpu && rng.one_in(2) {
            queue
                .capability
                .push((GPU.to_owned(), rng.pick(&[0, 1000, 2000])));
        }
    }
    if theme.queue_limits && rng.one_in(3) {
        queue
            .guarantee
            .push(("cpu".to_owned(), rng.pick(&[1000, 2000])));
    }
    if theme.odd && rng.one_in(6) {
        let states = [QueueState::Closed, QueueState::Closing, QueueState::Unknown];
        queue.state = rng.pick(&states);
    }
    if theme.hierarchy && !rng.one_in(8) {
        queue.hierarchy = place.0.iter().map(|part| (*part).to_owned()).collect();
        queue.hierarchy_weights = place.1.to_vec();
    }
    limits_of_all_pods(&mut Rng::new(rng.clone().next(), 20), theme, &mut queue);
    let mut own = Rng::new(rng.clone().next(), 15);
    node_groups(&mut own, &mut queue);
    queue.parent = parent(&mut own);
    queue
}

/// Limits that hold for pods without a request too, and for cards whose memory is not known before.
fn limits_of_all_pods(rng: &mut Rng, theme: &Theme, queue: &mut QueueObject) {
    if theme.queue_limits && rng.one_in(6) {
        let pods = rng.pick(&[0, 2, 5, 8]);
        queue.capability.push(("pods".to_owned(), pods));
    }
    if theme.devices && rng.one_in(3) {
        let memory = rng.pick(&[5000, 10_000, 20_000, 40_000]) * 1000;
        let name = "volcano.sh/vgpu-memory".to_owned();
        queue.capability.push((name, memory));
    }
    if theme.mindcluster && rng.one_in(4) {
        queue.capability.push(mindcluster::limit(rng));
    }
    if !theme.npus.is_empty() && rng.one_in(4) {
        queue.capability.push(npus::limit(rng, theme));
    }
    queue.capability.sort();
}

/// A parent, which may be missing, or make the queue its own ancestor.
fn parent(rng: &mut Rng) -> String {
    let names = ["", "root", "missing", "default", "absent", "q1", "q2", "q3"];
    rng.pick(&names).to_owned()
}

/// Groups of nodes a queue may use, and how much of them.
fn node_groups(rng: &mut Rng, queue: &mut QueueObject) {
    let list = |rng: &mut Rng, odds: usize| -> Vec<String> {
        let number = if rng.one_in(odds) {
            rng.between(1, 3)
        } else {
            0
        };
        let names = (0..number).map(|_| rng.pick(NODE_GROUPS).to_owned());
        names.collect()
    };
    if !rng.one_in(3) {
        queue.affinity = Some(NodeGroups {
            required: list(rng, 2),
            preferred: list(rng, 2),
            excluded: list(rng, 6),
            avoided: list(rng, 4),
        });
    }
    if rng.one_in(2) {
        let group = rng.pick(NODE_GROUPS).to_owned();
        let limits = vec![("cpu".to_owned(), rng.pick(&[500, 1000, 3000, 6000]))];
        queue.group_limits = GroupLimits::Of(vec![(group, limits)]);
    }
    if rng.one_in(24) {
        queue.group_limits = GroupLimits::Unreadable;
    }
}

/// PodGroups without minResources, which depend on their pods.
pub fn groups(rng: &mut Rng, theme: &Theme, queues: &[String]) -> Vec<GroupObject> {
    let number = match theme.is_wide() {
        true => rng.between(8, 16),
        false if theme.trees => rng.between(3, 10),
        false => rng.between(if theme.tight { 4 } else { 1 }, 8),
    };
    (0..number)
        .map(|index| group(rng, theme, index, queues))
        .collect()
}

pub fn group(rng: &mut Rng, theme: &Theme, index: usize, queues: &[String]) -> GroupObject {
    let name = format!("g{index}");
    let phases = [
        GroupPhase::Pending,
        GroupPhase::Pending,
        GroupPhase::Pending,
        GroupPhase::Inqueue,
        GroupPhase::Running,
        GroupPhase::Unknown,
    ];
    let mut group = GroupObject {
        namespace: rng
            .pick(&[NAMESPACES[0], NAMESPACES[0], NAMESPACES[1]])
            .to_owned(),
        uid: format!("{:04x}-{name}", rng.below(0x1_0000)),
        created_s: rng.pick(&[0, 10, 20]),
        min_member: match theme.is_wide() {
            true => rng.pick(&[1, 4, 8, 12]),
            false => rng.pick(&[1, 1, 2, 3, 4]),
        },
        queue: queue_name(rng, theme, queues),
        priority_class: rng.pick(&["", "", "low", "high", "absent"]).to_owned(),
        topology: (theme.odd && rng.one_in(16))
            .then_some(TopologyRequest::Hard(HighestTier::Missing)),
        name,
        ..GroupObject::default()
    };
    if theme.odd && rng.one_in(8) {
        group.min_member = 0;
    }
    if theme.roles && rng.one_in(2) {
        let least = [("master", 1), ("worker", rng.between(1, 3))];
        let least = least.map(|(role, min)| (role.to_owned(), min as i32));
        group.min_task_member = least.to_vec();
        let sum: i32 = least.iter().map(|(_, min)| min).sum();
        group.min_member = rng.pick(&[sum, sum, sum + 1, 1]);
    }
    if theme.sub_groups && !rng.one_in(4) {
        group.sub_groups = policies(rng);
    }
    group.status.phase = rng.pick(&phases);
    waiting_time(&mut Rng::new(rng.clone().next(), 17), &mut group);
    if theme.roles {
        near_and_apart(&mut Rng::new(rng.clone().next(), 37), &mut group);
    }
    if rng.one_in(8) {
        group.status.conditions.push(GroupCondition {
            kind: "Unschedulable".to_owned(),
            status: "True".to_owned(),
            reason: "NotEnoughResources".to_owned(),
            ..GroupCondition::default()
        });
    }
    group
}

/// Limits of `sla`: run out before the first cycle, between two cycles, later, never.
pub const WAITING_TIMES: &[&str] = &["1ns", "5500ms", "15s", "16500ms", "4m", "10m", "-1h"];

/// How long a group may wait.
fn waiting_time(rng: &mut Rng, group: &mut GroupObject) {
    for key in ["sla-waiting-time", "volcano.sh/sla-waiting-time"] {
        if rng.one_in(3) {
            let limit = match rng.one_in(12) {
                true => "soon",
                false => rng.pick(WAITING_TIMES),
            };
            group.annotations.push((key.to_owned(), limit.to_owned()));
        }
    }
}

/// Lists of `task-topology`: some name nobody, or somebody twice.
const TOPOLOGIES: &[&str] = &[
    "worker",
    "worker",
    "master,worker",
    "master, worker;worker",
    "master;worker",
    "ps;;worker,ps",
    "master,worker,master",
];

/// Which roles want to be near each other or apart, and which go first.
fn near_and_apart(rng: &mut Rng, group: &mut GroupObject) {
    for (odds, what) in [(2, "affinity"), (3, "anti-affinity")] {
        if rng.one_in(odds) {
            let key = format!("volcano.sh/task-topology-{what}");
            group
                .annotations
                .push((key, rng.pick(TOPOLOGIES).to_owned()));
        }
    }
    if rng.one_in(4) {
        let order = rng.pick(&["worker", "worker,master", "master,worker", "worker,worker"]);
        let key = "volcano.sh/task-topology-task-order".to_owned();
        group.annotations.push((key, order.to_owned()));
    }
}

/// A queue that exists, mostly; empty is the default one.
pub fn queue_name(rng: &mut Rng, theme: &Theme, queues: &[String]) -> String {
    if theme.odd && rng.one_in(10) {
        "absent".to_owned()
    } else if queues.is_empty() || rng.one_in(6) {
        String::new()
    } else {
        rng.pick(queues)
    }
}

fn policies(rng: &mut Rng) -> Vec<SubGroupPolicy> {
    let slices = SubGroupPolicy {
        name: "slices".to_owned(),
        selector: None,
        match_label_keys: vec!["slice".to_owned()],
        size: rng.pick(&[1, 2, 2, 3]),
        min_groups: rng.pick(&[0, 1, 2]),
        topology: None,
    };
    if rng.one_in(2) {
        return vec![slices];
    }
    let masters = SubGroupPolicy {
        name: "masters".to_owned(),
        selector: Some(is("role", "master")),
        match_label_keys: vec!["app".to_owned()],
        size: 1,
        min_groups: rng.pick(&[0, 1]),
        topology: None,
    };
    vec![masters, slices]
}
