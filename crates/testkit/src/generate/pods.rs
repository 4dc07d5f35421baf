//! Pods of the groups, bare ones and those of other schedulers.

use pumice_model::object::{
    ADMITTED, Amounts, Gates, GroupCondition, GroupObject, GroupPhase, NodeObject, PodObject,
    PodPhase,
};

use crate::naive::START_S;

use super::constraints::constrain;
use super::nodes::{APPS, NAMESPACES};
use super::rng::Rng;
use super::{GPU, MIB, Theme, groups, has_room, pairs};

const MAX: usize = 40;

const MAX_IN_A_WIDE_CLUSTER: usize = 200;

pub fn pods(
    rng: &mut Rng,
    theme: &Theme,
    nodes: &[NodeObject],
    groups: &mut [GroupObject],
    queues: &[String],
) -> Vec<PodObject> {
    let mut pods = Vec::new();
    for group in groups.iter_mut() {
        members(rng, theme, nodes, group, &mut pods);
    }
    for index in 0..rng.below(4) {
        let namespace = any_namespace(rng);
        let mut pod = template(rng, theme, namespace);
        pod.name = format!("bare{index}");
        pod.queue = Some(groups::queue_name(rng, theme, queues)).filter(|name| !name.is_empty());
        pod.priority_class = rng.pick(&["", "low", "high"]).to_owned();
        pod.controlled = rng.one_in(2);
        settle(rng, nodes, &pods, &mut pod, false);
        pods.push(pod);
    }
    for index in 0..rng.below(5) {
        let namespace = any_namespace(rng);
        let mut pod = template(rng, theme, namespace);
        pod.name = format!("other{index}");
        pod.ours = false;
        settle(rng, nodes, &pods, &mut pod, true);
        pods.push(pod);
    }
    if theme.odd {
        let mut pod = template(rng, theme, NAMESPACES[0]);
        pod.name = "lost-0".to_owned();
        pod.group = Some("nobody".to_owned());
        pods.push(pod);
    }
    pods.truncate(match theme.is_wide() {
        true => MAX_IN_A_WIDE_CLUSTER,
        false => MAX,
    });
    name_uids(rng, &mut pods);
    pods
}

/// UIDs whose order has nothing to do with that of the names.
pub fn name_uids(rng: &mut Rng, pods: &mut [PodObject]) {
    for pod in pods {
        pod.uid = format!("{:04x}-{}-{}", rng.below(0x1_0000), pod.namespace, pod.name);
    }
}

pub fn any_namespace(rng: &mut Rng) -> &'static str {
    rng.pick(&[NAMESPACES[0], NAMESPACES[0], NAMESPACES[1]])
}

/// Pods of one group, and what follows from them: minResources, a believable phase.
pub fn members(
    rng: &mut Rng,
    theme: &Theme,
    nodes: &[NodeObject],
    group: &mut GroupObject,
    pods: &mut Vec<PodObject>,
) {
    let namespace = if group.namespace == NAMESPACES[0] {
        NAMESPACES[0]
    } else {
        NAMESPACES[1]
    };
    let master = template(rng, theme, namespace);
    let worker = if theme.roles {
        template(rng, theme, namespace)
    } else {
        master.clone()
    };
    let least = usize::try_from(group.min_member).unwrap_or(0);
    let number = if rng.one_in(10) {
        least.saturating_sub(1)
    } else {
        least + rng.below(if theme.is_wide() { 10 } else { 4 })
    };
    let indexed = rng.one_in(2);
    let started = group.status.phase != GroupPhase::Pending || rng.one_in(8);
    let mut minimum: Vec<(String, i64)> = Vec::new();
    for index in 0..number {
        let is_master = index == 0;
        let role = if is_master { "master" } else { "worker" };
        let mut pod = if is_master {
            master.clone()
        } else {
            worker.clone()
        };
        pod.group = Some(group.name.clone());
        pod.name = match indexed {
            true => format!("{}-{role}-{}", group.name, number - index),
            false => format!("{}{role}{index}", group.name),
        };
        vary(rng, theme, &mut pod, role, index);
        if index < least {
            add(&mut minimum, &pod.request);
        }
        let starts = started && rng.one_in(2);
        settle(rng, nodes, pods, &mut pod, starts);
        pods.push(pod);
    }
    minimum.retain(|(name, _)| name != "pods");
    group.min_resources = match rng.below(6) {
        0 => None,
        1 => Some(vec![("cpu".to_owned(), 1000)]),
        2 => Some(vec![("cpu".to_owned(), 8000)]),
        _ => Some(minimum),
    };
    admitted_with(&mut Rng::new(rng.clone().next(), 61), group);
}

/// What the scheduler before this one wrote of a group's admission: what it asks, more or less than that, nothing, or
/// what cannot be read.
fn admitted_with(rng: &mut Rng, group: &mut GroupObject) {
    if group.status.phase == GroupPhase::Pending || rng.one_in(3) {
        return;
    }
    let message = match rng.below(6) {
        0 => "nothing".to_owned(),
        1 => "cpu=500m".to_owned(),
        2 => "cpu=1, memory=1Gi".to_owned(),
        3 => "as much as there is".to_owned(),
        _ => group.admission_text(),
    };
    group.status.conditions.push(GroupCondition {
        kind: ADMITTED.to_owned(),
        status: "True".to_owned(),
        reason: "MinResources".to_owned(),
        message,
        ..GroupCondition::default()
    });
}

/// Adds the request to the sum.
pub fn add(to: &mut Amounts, request: &Amounts) {
    for (name, amount) in request {
        match to.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += amount,
            None => to.push((name.clone(), *amount)),
        }
    }
    to.sort();
}

/// What differs between the pods of one template.
fn vary(rng: &mut Rng, theme: &Theme, pod: &mut PodObject, role: &str, index: usize) {
    if theme.roles {
        pod.role = role.to_owned();
        pod.labels.push(("role".to_owned(), role.to_owned()));
    }
    if theme.sub_groups && !rng.one_in(8) {
        pod.labels
            .push(("slice".to_owned(), (index / 2).to_string()));
    }
    pod.labels.sort();
    strategy(&mut Rng::new(rng.clone().next(), 19), pod);
    load(&mut Rng::new(rng.clone().next(), 42), pod);
    pod.created_s = rng.pick(&[0, 10, 20]);
    if rng.one_in(if theme.sub_groups { 3 } else { 6 }) {
        pod.priority = rng.pick(&[0, 1, 5]);
    }
    if theme.gates && rng.one_in(5) {
        pod.gates = rng.pick(&[Gates::Foreign, Gates::Foreign, Gates::QueueAdmission]);
    }
    if theme.best_effort && rng.one_in(4) {
        request(pod, 0, 0, 0);
    }
}

/// Since when it is there, had it started, and limits.
fn load(rng: &mut Rng, pod: &mut PodObject) {
    let ago_s = rng.pick(&[None, Some(0), Some(10), Some(30), Some(90), Some(400)]);
    pod.scheduled_s = ago_s.map(|ago_s| START_S - ago_s);
    if rng.one_in(3) {
        pod.burst_cpu_milli = rng.pick(&[500, 4000]);
        pod.burst_memory_bytes = rng.pick(&[0, 1024 * MIB]);
    }
}

/// A pod's own way to score resources, which few pods have.
fn strategy(rng: &mut Rng, pod: &mut PodObject) {
    if !rng.one_in(4) {
        return;
    }
    let kind = rng.pick(&["MostAllocated", "LeastAllocated", "Balanced", ""]);
    let weights = rng.pick(&[
        r#"{"cpu": 3, "memory": 1}"#,
        r#"{"nvidia.com/gpu": 2, "cpu": 0}"#,
        r#"{"memory": 1.5}"#,
        "",
    ]);
    for (key, value) in [("scoring-type", kind), ("weight", weights)] {
        if !value.is_empty() {
            let key = format!("volcano.sh/resource-strategy-{key}");
            pod.annotations.push((key, value.to_owned()));
        }
    }
}

pub fn template(rng: &mut Rng, theme: &Theme, namespace: &str) -> PodObject {
    if theme.is_wide() && !rng.one_in(16) {
        let mut rng = Rng::new(rng.pick(&theme.kinds), 4);
        return any_template(&mut rng, theme, namespace);
    }
    any_template(rng, theme, namespace)
}

fn any_template(rng: &mut Rng, theme: &Theme, namespace: &str) -> PodObject {
    let app = rng.pick(APPS);
    let mut pod = PodObject {
        namespace: namespace.to_owned(),
        ours: true,
        labels: pairs(&[("app", app)]),
        priority: 1,
        created_s: rng.pick(&[0, 10, 20]),
        container_count: rng.pick(&[1, 1, 2]),
        ..PodObject::default()
    };
    if theme.spread && rng.one_in(2) {
        let kind = rng.pick(&["ReplicaSet", "StatefulSet", "Job"]);
        pod.owners = vec![(kind.to_owned(), format!("{app}-owner"))];
    }
    if theme.uniform {
        request(&mut pod, 1000, 1024, 0);
    } else {
        let cpu = rng.pick(&[0, 500, 1000, 1000, 2000]);
        let memory = rng.pick(&[0, 512, 1024, 2048]);
        let gpu = if theme.gpu {
            rng.pick(&[0, 1000, 2000])
        } else {
            0
        };
        request(&mut pod, cpu, memory, gpu);
    }
    if !theme.uniform || rng.one_in(2) {
        constrain(rng, theme, &mut pod);
    }
    if theme.best_effort && rng.one_in(6) {
        request(&mut pod, 0, 0, 0);
    }
    pod
}

fn request(pod: &mut PodObject, cpu_milli: i64, memory_mib: i64, gpu_milli: i64) {
    let containers = i64::from(pod.container_count);
    pod.request = vec![
        ("cpu".to_owned(), cpu_milli),
        ("memory".to_owned(), memory_mib * MIB),
        (GPU.to_owned(), gpu_milli),
        ("pods".to_owned(), 1),
    ];
    pod.request.retain(|(_, amount)| *amount > 0);
    pod.nonzero_cpu_milli = if cpu_milli > 0 {
        cpu_milli
    } else {
        100 * containers
    };
    let memory_mib = if memory_mib > 0 {
        memory_mib
    } else {
        200 * containers
    };
    pod.nonzero_memory_bytes = memory_mib * MIB;
}

/// Puts the pod on a node with room where it is to have started, and gives it a state.
pub fn settle(
    rng: &mut Rng,
    nodes: &[NodeObject],
    pods: &[PodObject],
    pod: &mut PodObject,
    starts: bool,
) {
    pod.deleting = rng.one_in(24);
    if !starts || pod.gates != Gates::None {
        return;
    }
    let node = rng.pick(nodes);
    let crowds = rng.one_in(16);
    if !crowds && !has_room(&node, pods, pod) {
        return;
    }
    pod.node = Some(if rng.one_in(32) {
        "gone".to_owned()
    } else {
        node.name
    });
    pod.phase = match rng.below(12) {
        0 => PodPhase::Succeeded,
        1 => PodPhase::Failed,
        2 => PodPhase::Unknown,
        3 | 4 => PodPhase::Pending,
        _ => PodPhase::Running,
    };
    pod.deleting = rng.one_in(4);
    is_to_end(rng, pod);
}

/// Says when a pod that is being deleted is to be gone, which may be long ago. Draws nothing that others would draw.
pub(super) fn is_to_end(rng: &Rng, pod: &mut PodObject) {
    let ends_by_s = rng.clone().pick(&[None, Some(-599), Some(-9000), Some(90)]);
    pod.ends_by_s = ends_by_s.filter(|_| pod.deleting);
}
