//! What is promised to jobs that ask for a place in the network (spec/08 §3), on random clusters, without
//! a second scheduler: hard mode never crosses its tier, soft mode takes the lowest tier there is room in.

use std::collections::{BTreeMap, BTreeSet};

use pumice_engine::Engine;
use pumice_model::object::{
    Gates, GroupObject, GroupPhase, HighestTier, NodeObject, PodObject, PodPhase, TopologyRequest,
};
use pumice_model::{Delta, TaskIx};
use pumice_testkit::generate::{network_cluster, network_conf_text};
use pumice_testkit::naive::{DomainTree, START_S};

use crate::kubelet::Outside;
use crate::run;

/// Random clusters.
const CASES: u64 = 600;

const CYCLES: u32 = 3;

/// Nodes by pod, `namespace/name`, of all that have a place.
fn places(engine: &Engine) -> BTreeMap<String, String> {
    let state = engine.state();
    let placed = state
        .population()
        .tasks()
        .filter(|(_, task)| task.status.is_placed());
    let known = placed.filter_map(|(ix, task)| Some((ix, task.node?)));
    let named = known.map(|(ix, node)| {
        let name = state.nodes().object(node).name.clone();
        (state.population().task_key(ix), name)
    });
    named.collect()
}

/// Pods of a group by sub-job, each with what it asks; the job itself has no name.
fn units<'a>(
    engine: &Engine,
    group: &'a GroupObject,
) -> Vec<(&'a TopologyRequest, BTreeSet<String>)> {
    let state = engine.state();
    let key = format!("{}/{}", group.namespace, group.name);
    let ix = state
        .population()
        .jobs()
        .find(|(ix, _)| state.population().job_key(*ix) == key);
    let Some((_, job)) = ix else {
        return Vec::new();
    };
    let keys = |tasks: &[TaskIx]| -> BTreeSet<String> {
        tasks
            .iter()
            .map(|task| state.population().task_key(*task))
            .collect()
    };
    let whole = group.topology.as_ref().map(|it| (it, keys(&job.tasks)));
    let parts = job.sub_jobs.iter().filter_map(|sub_job| {
        let asked = match sub_job.policy {
            Some(at) => group.sub_groups[at as usize].topology.as_ref(),
            None => group.topology.as_ref(),
        };
        asked.map(|it| (it, keys(&sub_job.tasks)))
    });
    whole.into_iter().chain(parts).collect()
}

/// Holds that every unit that got something in this cycle is within a domain of an allowed tier.
fn check(
    engine: &Engine,
    objects: &[Delta],
    tree: &DomainTree,
    new: &BTreeSet<String>,
    context: &str,
) -> usize {
    let places = places(engine);
    let mut held = 0;
    for object in objects {
        let Delta::GroupApply(group) = object else {
            continue;
        };
        for (request, pods) in units(engine, group) {
            // Values of a label of nodes are no tiers of this tree: the twin looks at those.
            let is_of_label = matches!(request, TopologyRequest::Hard(HighestTier::Label(_)));
            if is_of_label || pods.is_disjoint(new) {
                continue;
            }
            let highest = tree.highest_tier(request);
            let highest = highest.expect("pods were placed for a tier that is nowhere");
            let nodes = pods.iter().filter_map(|pod| places.get(pod).cloned());
            let nodes: BTreeSet<String> = nodes.collect();
            let tier = tree.smallest_around(&nodes).tier;
            assert!(
                tier <= highest,
                "{context}, {}: {request:?}, {nodes:?}",
                group.name
            );
            held += usize::from(highest < tree.top());
        }
    }
    held
}

#[test]
fn hard_mode_never_crosses_its_tier() {
    let mut held = 0;
    for seed in run::seeds(0, CASES) {
        let objects = network_cluster(seed);
        let tree = DomainTree::of_objects(&objects);
        let mut engine = run::engine(&run::config(&network_conf_text(seed)), &objects);
        let mut outside = Outside::new(&objects);
        engine.stand_by();
        for cycle in 0..CYCLES {
            let before: BTreeSet<String> = places(&engine).into_keys().collect();
            let now_s = START_S + i64::from(cycle);
            let decisions = engine.cycle(now_s);
            let after: BTreeSet<String> = places(&engine).into_keys().collect();
            let new = after.difference(&before).cloned().collect();
            let context = format!("seed {seed}, cycle {cycle}");
            held += check(&engine, &objects, &tree, &new, &context);
            let told = outside.carry_out(&engine, &decisions, (cycle, now_s + 1));
            told.into_iter().for_each(|delta| engine.apply(delta));
        }
    }
    assert!(held as u64 > CASES / 4, "{held} units were held together");
}

/// One soft gang of equal pods over the HyperNodes of a cluster, on empty nodes of few cores.
fn one_gang(seed: u64) -> (Vec<Delta>, BTreeMap<String, usize>, usize) {
    let mut objects = Vec::new();
    let mut places = BTreeMap::new();
    for object in network_cluster(seed) {
        match object {
            Delta::NodeApply(node) => {
                let cores = 1 + (node.name.len() + places.len() + seed as usize) % 3;
                places.insert(node.name.clone(), cores);
                objects.push(Delta::NodeApply(Box::new(NodeObject {
                    taints: Vec::new(),
                    unschedulable: false,
                    allocatable: vec![
                        ("cpu".to_owned(), cores as i64 * 1000),
                        ("pods".to_owned(), 110),
                    ],
                    oversubscription: Vec::new(),
                    ..*node
                })));
            }
            hyper_node @ Delta::HyperNodeApply(_) => objects.push(hyper_node),
            _ => {}
        }
    }
    let size = 1 + (seed / 3) as usize % 7;
    let mut group = GroupObject {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        min_member: size as i32,
        topology: Some(TopologyRequest::Soft),
        ..GroupObject::default()
    };
    group.status.phase = GroupPhase::Inqueue;
    objects.push(Delta::GroupApply(Box::new(group)));
    for at in 0..size {
        objects.push(Delta::PodApply(Box::new(PodObject {
            uid: format!("uid-{at}"),
            namespace: "ns".to_owned(),
            name: format!("g-worker-{at}"),
            group: Some("g".to_owned()),
            ours: true,
            request: vec![("cpu".to_owned(), 1000), ("pods".to_owned(), 1)],
            phase: PodPhase::Pending,
            gates: Gates::None,
            ..PodObject::default()
        })));
    }
    (objects, places, size)
}

const CONF: &str = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}, \
                    {name: network-topology-aware}]}]\n";

#[test]
fn soft_mode_takes_the_lowest_tier_with_room() {
    let (mut low, mut none) = (0, 0);
    for seed in run::seeds(0, CASES) {
        let (objects, places, size) = one_gang(seed);
        let tree = DomainTree::of_objects(&objects);
        let holds = |nodes: &BTreeSet<String>| nodes.iter().map(|node| places[node]).sum::<usize>();
        let able = tree.domains.iter().filter(|it| holds(&it.nodes) >= size);
        let expected = able.map(|domain| domain.tier).min();
        let mut engine = run::engine(&run::config(CONF), &objects);
        let decisions = engine.cycle(START_S);
        let state = engine.state();
        let names = decisions.binds.iter();
        let names = names.map(|bind| state.nodes().object(bind.node).name.clone());
        let nodes: BTreeSet<String> = names.collect();
        let found = (!nodes.is_empty()).then(|| tree.smallest_around(&nodes).tier);
        assert_eq!(
            decisions.binds.len(),
            expected.map_or(0, |_| size),
            "{seed}"
        );
        assert_eq!(found, expected, "seed {seed}");
        low += usize::from(expected.is_some_and(|tier| tier < tree.top()));
        none += usize::from(expected.is_none());
    }
    assert!(low as u64 > CASES / 3, "{low} below the cluster");
    assert!(none > 0, "always room");
}
