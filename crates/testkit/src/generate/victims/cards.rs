//! Nodes whose cards are all there is to fight for.

use std::collections::BTreeMap;

use pumice_model::delta::Delta;
use pumice_model::object::{
    ContainerFacts, ContainerKind, GroupObject, GroupPhase, NodeObject, PodObject, PodPhase,
};

use super::super::rng::Rng;
use super::super::{MIB, Theme, devices, pairs, pods, vendors};
use super::classes;

/// Cards known by index that pods share by memory, or have whole; MiB and numbers, as the resources of nodes and
/// pods tell them.
const GPU_MEMORY: &str = "volcano.sh/gpu-memory";
const GPU_NUMBER: &str = "volcano.sh/gpu-number";

/// Memory of such a card.
const CARD_MIB: i64 = 10_000;

/// vGPUs of every mode on one or two nodes.
pub fn nodes_with_vgpus(rng: &mut Rng) -> Vec<Delta> {
    let theme = Theme {
        devices: true,
        npus: Vec::new(),
        ..Theme::new(rng)
    };
    nodes_with_cards(rng, |rng, nodes, pods, new| {
        let known = devices::furnish(rng, &theme, nodes, pods);
        devices::ask_much(rng, new);
        known
    })
}

/// Cards of one or two of HAMi's vendors on one or two nodes.
pub fn nodes_of_vendors(rng: &mut Rng) -> Vec<Delta> {
    let mut makers = vendors::makers(rng);
    makers.truncate(2);
    let theme = Theme {
        makers,
        ..Theme::new(rng)
    };
    nodes_with_cards(rng, |rng, nodes, pods, new| {
        vendors::furnish(rng, &theme, nodes, pods);
        vendors::ask_much(rng, &theme, new);
        Vec::new()
    })
}

/// Cards that are shared by memory, or handed out whole, on one or two nodes.
pub fn nodes_with_gpus(rng: &mut Rng, whole: bool) -> Vec<Delta> {
    nodes_with_cards(rng, |rng, nodes, pods, new| {
        let mut counts = BTreeMap::new();
        for node in nodes {
            let count = rng.between(1, 3) as i64;
            let amounts = [(GPU_MEMORY, count * CARD_MIB), (GPU_NUMBER, count)];
            let amounts = amounts.map(|(name, amount)| (name.to_owned(), 1000 * amount));
            node.allocatable.extend(amounts.clone());
            node.device_capacity.extend(amounts);
            counts.insert(node.name.clone(), count);
        }
        // What is held of each card; a card of a pod that asks for all of it is nobody else's.
        let mut held: BTreeMap<(String, i64), i64> = BTreeMap::new();
        for pod in pods {
            let node = pod.node.clone().expect("it runs");
            let wanted = rng.pick(&[2000, 3000, 3000, 5000, 7000]);
            let part = if whole { CARD_MIB } else { wanted };
            let free = |index: &i64| {
                let held = held.get(&(node.clone(), *index)).copied();
                held.unwrap_or(0) + part <= CARD_MIB
            };
            let cards: Vec<i64> = (0..counts[&node]).filter(free).collect();
            if cards.is_empty() {
                continue;
            }
            let index = rng.pick(&cards);
            *held.entry((node, index)).or_default() += part;
            ask_gpus(
                pod,
                if whole {
                    (GPU_NUMBER, 1)
                } else {
                    (GPU_MEMORY, wanted)
                },
            );
            pod.records = pairs(&[("volcano.sh/gpu-index", &index.to_string())]);
        }
        let ask = match whole {
            true => (GPU_NUMBER, rng.pick(&[1, 1, 2, 3])),
            false => (GPU_MEMORY, rng.pick(&[4000, 6000, 8000, 10_000])),
        };
        ask_gpus(new, ask);
        Vec::new()
    })
}

fn ask_gpus(pod: &mut PodObject, (name, amount): (&str, i64)) {
    let amounts = vec![(name.to_owned(), 1000 * amount)];
    pod.request.extend(amounts.iter().cloned());
    pod.request.sort();
    let kind = ContainerKind::Regular;
    pod.facts.containers.push(ContainerFacts { kind, amounts });
}

/// One or two nodes, up to seven pods on them, each of a PodGroup of its own and of low priority, and
/// `ns/new`, which waits and is of high priority. Cards come from whoever furnishes nodes, the pods that run and the
/// new one, and tells what has to be known besides.
fn nodes_with_cards(
    rng: &mut Rng,
    furnish: impl FnOnce(&mut Rng, &mut [NodeObject], &mut [PodObject], &mut PodObject) -> Vec<Delta>,
) -> Vec<Delta> {
    let node = |at: usize| NodeObject {
        name: format!("n{at}"),
        labels: pairs(&[("kubernetes.io/hostname", &format!("n{at}"))]),
        allocatable: vec![
            ("cpu".to_owned(), 64_000),
            ("memory".to_owned(), 65_536 * MIB),
            ("pods".to_owned(), 110),
        ],
        ..NodeObject::default()
    };
    let mut nodes: Vec<NodeObject> = (0..rng.between(1, 2)).map(node).collect();
    let (mut groups, mut all) = (Vec::new(), Vec::new());
    for at in 0..rng.between(3, 7) {
        let pod = PodObject {
            node: Some(rng.pick(&nodes).name.clone()),
            phase: PodPhase::Running,
            priority: rng.pick(&[0, 0, 1]),
            created_s: rng.pick(&[0, 10, 20]),
            ..member(&format!("old{at}"))
        };
        groups.push(group(&pod.name, rng.pick(&["low", "low", "mid"])));
        all.push(pod);
    }
    pods::name_uids(rng, &mut all);
    groups.push(group("new", "high"));
    let mut new = member("new");
    let mut deltas = furnish(rng, &mut nodes, &mut all, &mut new);
    pods::name_uids(rng, std::slice::from_mut(&mut new));
    all.push(new);
    deltas.extend(classes(rng));
    deltas.extend(nodes.into_iter().map(|it| Delta::NodeApply(Box::new(it))));
    deltas.extend(groups.into_iter().map(|it| Delta::GroupApply(Box::new(it))));
    deltas.extend(all.into_iter().map(|it| Delta::PodApply(Box::new(it))));
    deltas
}

fn group(name: &str, class: &str) -> GroupObject {
    let mut group = GroupObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        queue: "default".to_owned(),
        priority_class: class.to_owned(),
        ..GroupObject::default()
    };
    group.status.phase = GroupPhase::Inqueue;
    group
}

fn member(name: &str) -> PodObject {
    PodObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        group: Some(name.to_owned()),
        ours: true,
        request: vec![
            ("cpu".to_owned(), 100),
            ("memory".to_owned(), MIB),
            ("pods".to_owned(), 1),
        ],
        nonzero_cpu_milli: 100,
        nonzero_memory_bytes: MIB,
        container_count: 1,
        ..PodObject::default()
    }
}
