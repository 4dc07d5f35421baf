//! What is known of nodes ahead of any question, against what is found without it.

use std::sync::Arc;

use proptest::prelude::*;
use pumice_devices::{
    AskedRoom, ContainerFacts, ContainerKind, DeviceMix, LedgerTime, MixClass, NodeRoom, NodeSet,
    PodFacts, Policy, Settings, Tags,
};
use pumice_fixtures::{BuildNode as _, ToDelta as _, node, pod};
use pumice_model::device::{amounts_of, asks_one_card, free_on};
use pumice_model::object::PodObject;
use pumice_model::{NodeIx, State, TaskIx, TaskStatus};

const COUNT: &str = "volcano.sh/vgpu-number";
const MEMORY: &str = "volcano.sh/vgpu-memory";

/// What happens to the cluster.
#[derive(Clone, Debug)]
enum HappensNext {
    /// A pod is placed on a node, if it fits, or taken back if it has a place.
    Moves { pod: usize, node: u32 },
    /// A pod that has a place is evicted, or stays after all.
    Leaves { pod: usize },
    /// Somebody asks about nodes, for a pod.
    Asks { pod: usize },
}

fn next() -> impl Strategy<Value = HappensNext> {
    prop_oneof![
        4 => (0usize..12, 0u32..5).prop_map(|(pod, node)| HappensNext::Moves { pod, node }),
        1 => (0usize..12).prop_map(|pod| HappensNext::Leaves { pod }),
        2 => (0usize..12).prop_map(|pod| HappensNext::Asks { pod }),
    ]
}

fn facts(cards: i64, memory: i64) -> PodFacts {
    PodFacts {
        containers: vec![ContainerFacts {
            kind: ContainerKind::Regular,
            amounts: vec![
                (MEMORY.to_owned(), memory * 1000),
                (COUNT.to_owned(), cards * 1000),
            ],
        }],
        ..PodFacts::default()
    }
}

/// Pods of few kinds: one of them asks no card, one asks two.
fn pods() -> Vec<PodObject> {
    let kinds = [
        (1, 4_000),
        (1, 9_000),
        (2, 9_000),
        (0, 0),
        (1, 24_576),
        (1, 12_288),
    ];
    let one = |number: usize| {
        let (cards, memory) = kinds[number % kinds.len()];
        let mut pod = pod(&format!("p{number}"), &format!("{}c", 1 + number % 3));
        if cards > 0 {
            pod.facts = facts(cards, memory);
        }
        pod
    };
    (0..12).map(one).collect()
}

/// Four nodes with cards, those of one of another type, and a node without.
fn cluster() -> State {
    let mut state = State::new("default");
    state.set_device_settings(Settings {
        configured: true,
        vgpu: true,
        policy: Policy::Fragmentation,
        ..Settings::default()
    });
    for number in 0..5 {
        let card = |at: usize| match number {
            3 => format!("GPU-{at},10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mps:"),
            _ => format!("GPU-{at},5,24576,NVIDIA-Tesla P40,true,hami-core:"),
        };
        // Cards of some are short of cpu.
        let cpu = if number == 1 { 64 } else { 8 };
        let register: String = (0..3).map(card).collect();
        let node = node(
            &format!("n{number}"),
            &format!("{cpu}c 64Gi pods=20 {COUNT}=30"),
        );
        let node = match number {
            4 => node,
            _ => node
                .device_annotations(&[("volcano.sh/node-vgpu-register", register.as_str())])
                .device_capacity(vec![(COUNT.to_owned(), 30_000)]),
        };
        state.apply(node.delta());
    }
    for pod in pods() {
        state.apply(pod.delta());
    }
    state.seal();
    state
}

/// Classes that ask one card each, the second of them thirds of one, and perhaps one that asks two.
fn mix(state: &State, asks_two: bool) -> Arc<DeviceMix> {
    let families = state.supplies().devices().families();
    let mut classes = vec![
        (7, 1, 4_000, 1_000),
        (4, 1, 8_192, 0),
        (5, 1, 12_288, 2_000),
        (1, 1, 24_576, 100),
    ];
    classes.extend(asks_two.then_some((3, 2, 9_000, 500)));
    let class = |(weight, cards, memory, cpu): (i64, i64, i64, i64)| {
        let demand = families.demand(&facts(cards, memory), Tags::default());
        let part = demand.parts[0].clone();
        let needs = [(0u16, cpu)].into_iter().filter(|(_, cpu)| *cpu > 0);
        MixClass::new(needs.collect(), part, usize::from(weight == 5), "").weighing(weight)
    };
    let cpu = state.resources().get("cpu").expect("nodes have some");
    let admitting = vec![NodeSet::of(5, |_| true), NodeSet::of(5, |at| at != 2)];
    let classes = classes.into_iter().map(class).collect();
    Arc::new(DeviceMix::new(vec![cpu.0.into()], classes, admitting, true))
}

/// What is known of nodes, in tests.
#[derive(Default)]
struct ToldOfNodes {
    /// Nodes of which something is.
    nodes: usize,
    /// Answers that followed from what cards are.
    quickly: usize,
}

/// Compares what is known of each node with what is found anew.
fn compare(state: &State, mix: &Arc<DeviceMix>) -> Result<ToldOfNodes, TestCaseError> {
    let (nodes, devices) = (state.nodes(), state.supplies().devices());
    let mut told = ToldOfNodes::default();
    let mut added_by_number: Vec<(u64, Vec<Option<i64>>)> = Vec::new();
    for node in nodes.indices() {
        let Some(look) = devices.look(mix, nodes, node) else {
            continue;
        };
        told.nodes += 1;
        let room = NodeRoom {
            node: node.at(),
            devices: &nodes.devices[node.at()],
            free: &free_on(mix, nodes, node, LedgerTime::Now),
            view: LedgerTime::Now,
        };
        let mut all = Vec::new();
        for (_, task) in state.population().tasks() {
            let request = &state.ground().shapes().get(task.shape).request;
            let asked = AskedRoom {
                devices: devices.demand(task.demand),
                amounts: &amounts_of(mix, request),
            };
            let added = mix.added_waste(&room, &asked, None);
            let known = look.cards.as_ref();
            prop_assert_eq!(mix.added_waste(&room, &asked, known), added);
            prop_assert_eq!(
                mix.pick(&room, &asked, known),
                mix.pick(&room, &asked, None)
            );
            let quickly = asks_one_card(asked.devices).and_then(|(family, ask)| {
                devices.added_by_look((&room, &look), &asked, (family, &ask))
            });
            if let Some(quickly) = quickly {
                prop_assert_eq!(quickly, added);
                told.quickly += 1;
            }
            all.push(added);
        }
        added_by_number.push((look.number, all));
    }
    for (number, all) in &added_by_number {
        let mut others = added_by_number.iter();
        prop_assert!(others.all(|(other, added)| other != number || added == all));
    }
    Ok(told)
}

fn happen(state: &mut State, what: &HappensNext) {
    let task = |state: &State, pod: usize| -> TaskIx {
        let uid = format!("p{pod}");
        state.population().task_by_uid(&uid).expect("it is there")
    };
    match *what {
        HappensNext::Moves { pod, node } => {
            let (ix, node) = (task(state, pod), NodeIx(node));
            if state.task(ix).status != TaskStatus::Pending {
                state.move_task(ix, TaskStatus::Pending, None);
                return;
            }
            let choice = state.choose_placement(ix, node, false);
            if choice.devices.is_some() || state.task(ix).demand.0 == 0 {
                state.place(ix, TaskStatus::Allocated, node, choice);
            }
        }
        HappensNext::Leaves { pod } => {
            let ix = task(state, pod);
            match state.task(ix).status {
                TaskStatus::Allocated => state.evict(ix),
                TaskStatus::Releasing => state.restore(ix, TaskStatus::Allocated),
                _ => {}
            }
        }
        HappensNext::Asks { pod } => state.renew_looks(task(state, pod)),
    }
}

proptest! {
    #[test]
    fn what_is_known_of_nodes_is_what_would_be_found(
        steps in prop::collection::vec(next(), 1..60),
        asks_two in any::<bool>(),
    ) {
        let mut state = cluster();
        let mix = mix(&state, asks_two);
        state.supplies_mut().set_device_mix(Some(&mix));
        prop_assert_eq!(compare(&state, &mix)?.nodes, 0);
        for step in &steps {
            happen(&mut state, step);
            let told = compare(&state, &mix)?;
            if matches!(step, HappensNext::Asks { .. }) {
                prop_assert_eq!(told.nodes, 5);
            }
        }
        // Another mix knows nothing of what this one knew.
        let other = Arc::new(DeviceMix::clone(&mix));
        state.supplies_mut().set_device_mix(Some(&other));
        prop_assert_eq!(compare(&state, &mix)?.nodes, 0);
    }
}

#[test]
fn what_a_card_adds_follows_from_what_it_comes_to_be() {
    let mut state = cluster();
    let mix = mix(&state, false);
    state.supplies_mut().set_device_mix(Some(&mix));
    for pod in 0..12 {
        happen(&mut state, &HappensNext::Asks { pod });
        let told = compare(&state, &mix).expect("all is as found anew");
        // Pods of the others ask no card, or two.
        assert!(told.quickly > 0 || pod % 6 == 2 || pod % 6 == 3, "{pod}");
        happen(&mut state, &HappensNext::Moves { pod, node: 1 });
    }
}

#[test]
fn looks_that_nobody_has_any_more_are_forgotten_and_found_again() {
    let mut state = cluster();
    let mix = mix(&state, false);
    state.supplies_mut().set_device_mix(Some(&mix));
    let mut random: u32 = 1;
    let mut next = |below: u32| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 16) % below
    };
    let mut highest = 0;
    for step in 0..9_000 {
        let (pod, node) = (next(12) as usize, next(4));
        happen(&mut state, &HappensNext::Moves { pod, node });
        happen(&mut state, &HappensNext::Asks { pod: 0 });
        if step % 500 == 0 {
            compare(&state, &mix).expect("all is as found anew");
        }
        let (nodes, devices) = (state.nodes(), state.supplies().devices());
        let looks = nodes
            .indices()
            .filter_map(|node| devices.look(&mix, nodes, node));
        highest = looks.map(|look| look.number).fold(highest, u64::max);
    }
    // More than are kept.
    assert!(highest > 1_034, "{highest}");
}
