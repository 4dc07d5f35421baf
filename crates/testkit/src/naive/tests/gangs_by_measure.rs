//! Members of a gang placed one by one make hardly more useless than the best of all ways to place them (spec/10 §3).

use pumice_conf::{Config, Value};
use pumice_model::object::{ContainerFacts, ContainerKind, NodeObject, PodObject};

use super::builders::*;
use crate::naive::cycle::Cycle;
use crate::naive::fragmentation;
use crate::naive::network::DomainNodes;
use crate::naive::place::{Reach, place_in};
use crate::naive::state::World;

/// Cards of the nodes.
const NODES: [usize; 5] = [2, 2, 4, 4, 8];

/// What tasks ask: cores, cards, and MiB of each of them.
const KINDS: [(i64, i64, i64); 7] = [
    (8, 1, 80_000),
    (4, 1, 40_000),
    (16, 2, 80_000),
    (4, 1, 24_000),
    (40, 4, 80_000),
    (2, 1, 8_000),
    (12, 1, 60_000),
];

const MEMBERS: usize = 3;

fn conf() -> Config {
    let on = Value::Bool(true);
    let policy = Value::Str("fragmentation".to_owned());
    let sharing = [
        ("deviceshare.VGPUEnable", on),
        ("deviceshare.SchedulePolicy", policy),
    ];
    config(
        &["allocate"],
        vec![
            plugin("predicates", &[]),
            plugin("fragmentation", &[]),
            plugin("deviceshare", &sharing),
        ],
    )
}

fn with_cards(at: usize, cards: usize) -> NodeObject {
    let name = format!("n{at}");
    let register: String = (0..cards)
        .map(|card| format!("GPU-{name}-{card},100,80000,A100,true,hami-core:"))
        .collect();
    let offer = format!(
        "{}c 4096Gi pods=1000 volcano.sh/vgpu-number={} volcano.sh/vgpu-memory={}",
        12 * cards,
        100 * cards,
        80_000 * cards
    );
    node(&name, &offer).device_annotations(&[("volcano.sh/node-vgpu-register", register.as_str())])
}

fn asking(name: &str, (cores, cards, mib): (i64, i64, i64)) -> PodObject {
    let text = format!("{cores}c volcano.sh/vgpu-number={cards} volcano.sh/vgpu-memory={mib}");
    let mut pod = pod(name, &text).uid(name);
    let of_cards = |(name, _): &&(String, i64)| name.contains('/');
    pod.facts.containers.push(ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: pod.request.iter().filter(of_cards).cloned().collect(),
    });
    pod
}

/// Cards that are of no use to the mean task.
fn wasted(cycle: &Cycle) -> f64 {
    let left = fragmentation::left_of(cycle, cycle.world.network.cluster());
    -left.unwrap_or(0) as f64 / 65_536.0 / 2000.0
}

/// What the members waste, each on one of the nodes from there on: the least and the most of all ways.
fn of_all_ways(cycle: &mut Cycle, members: &[String], from: usize) -> Option<(f64, f64)> {
    let [first, rest @ ..] = members else {
        let wasted = wasted(cycle);
        return Some((wasted, wasted));
    };
    let before: World = cycle.world.clone();
    let mut found: Option<(f64, f64)> = None;
    for at in from..NODES.len() {
        let here = DomainNodes {
            name: None,
            tier: 1,
            nodes: [format!("n{at}")].into(),
        };
        if place_in(cycle, first, Reach::Idle, Some(&here))
            && let Some((least, most)) = of_all_ways(cycle, rest, at)
        {
            let (low, high) = found.unwrap_or((least, most));
            found = Some((low.min(least), high.max(most)));
        }
        cycle.world = before.clone();
    }
    found
}

#[test]
fn members_one_by_one_waste_hardly_more_than_the_best_of_all_ways() {
    let config = conf();
    let (mut gangs, mut one_by_one, mut best, mut worst) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..30 {
        let mut dice = Dice(seed);
        let mut kind = || KINDS[dice.below(KINDS.len() as u64) as usize];
        let mut pods: Vec<PodObject> = (0..6 + seed % 9)
            .map(|at| asking(&format!("t{at}"), kind()))
            .collect();
        let kind = kind();
        let members: Vec<String> = (0..MEMBERS).map(|at| format!("m{at}")).collect();
        let others: Vec<String> = pods.iter().map(|pod| pod.uid.clone()).collect();
        pods.extend(members.iter().map(|name| asking(name, kind)));
        let nodes = NODES.iter().enumerate();
        let cluster = Cluster::default().nodes(nodes.map(|(at, cards)| with_cards(at, *cards)));
        let cluster = cluster.pods(pods);
        let mut cycle = cluster.cycle(&config);
        fragmentation::begin(&mut cycle);
        for uid in &others {
            place_in(&mut cycle, uid, Reach::Idle, None);
        }
        let Some((least, most)) = of_all_ways(&mut cycle, &members, 0) else {
            continue;
        };
        for uid in &members {
            assert!(
                place_in(&mut cycle, uid, Reach::Idle, None),
                "{seed}: {uid}"
            );
        }
        gangs += 1.0;
        one_by_one += wasted(&cycle);
        best += least;
        worst += most;
    }
    assert!(gangs > 15.0, "{gangs} gangs found room");
    let (more, differs) = ((one_by_one - best) / gangs, (worst - best) / gangs);
    assert!(more < 0.02, "{more} cards a gang more than the best way");
    // It matters where they are.
    assert!(differs > 0.2, "{differs} cards a gang between the ways");
}
