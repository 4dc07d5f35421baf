//! Nodes whose cards are all there is to fight for.

use pumice_model::delta::Delta;
use pumice_model::object::{GroupObject, GroupPhase, NodeObject, PodObject, PodPhase};

use super::super::rng::Rng;
use super::super::{MIB, Theme, devices, pairs, pods};
use super::classes;

/// One or two nodes with cards, up to seven pods on them, each of a PodGroup of its own and of low priority, and
/// `ns/new`, which waits and is of high priority.
pub fn nodes_with_cards(rng: &mut Rng) -> Vec<Delta> {
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
    let theme = Theme {
        devices: true,
        npus: Vec::new(),
        ..Theme::new(rng)
    };
    let mut deltas = devices::furnish(rng, &theme, &mut nodes, &mut all);
    groups.push(group("new", "high"));
    let mut new = member("new");
    devices::ask_much(rng, &mut new);
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
