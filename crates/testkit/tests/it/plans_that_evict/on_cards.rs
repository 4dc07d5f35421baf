//! Pods on cards go that an enumeration of all sets finds: the fewest, then the cheapest, of whom it is
//! tried what happens without them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use pumice_model::Delta;
use pumice_model::object::PodObject;
use pumice_testkit::generate::{CardShares, cluster_of_cards};
use pumice_testkit::naive::START_S;

use crate::run;

const CASES: u64 = 300;

/// Cases with cards that are known by index; they have less to tell apart.
const GPU_CASES: u64 = 80;

/// The configuration under which pods are evicted for others by priority.
fn preempting(shares: CardShares) -> String {
    let argument = match shares {
        CardShares::Vgpu => "VGPUEnable: true",
        CardShares::GpuMemory => "GPUSharingEnable: true",
        CardShares::GpuNumber => "GPUNumberEnable: true",
        CardShares::Vendors => "HAMiVendors: [NVIDIA, Hygon, Cambricon, Iluvatar, Mthreads, MetaX]",
    };
    format!(
        "actions: \"allocate, preempt\"\ntiers:\n- plugins:\n  - name: priority\n  - name: predicates\n  \
         - name: deviceshare\n    arguments:\n      deviceshare.{argument}\n"
    )
}

const NEW: &str = "ns/new";

/// What makes a set of victims dear, the most telling first: how many they are, what they cost from the dearest
/// down, where they stand among the others from the last one on.
type SetCost = (usize, Vec<(i32, i32, Reverse<i64>)>, Vec<usize>);

fn key(pod: &PodObject) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn pods(objects: &[Delta]) -> Vec<&PodObject> {
    let pods = objects.iter().filter_map(|object| match object {
        Delta::PodApply(pod) => Some(&**pod),
        _ => None,
    });
    pods.collect()
}

/// Values of the classes of PodGroups, by name of the group.
fn ranks(objects: &[Delta]) -> BTreeMap<&str, i32> {
    let value = |wanted: &str| {
        let mut classes = objects.iter().filter_map(|object| match object {
            Delta::PriorityClassApply(class) if class.name == wanted => Some(class.value),
            _ => None,
        });
        classes.next().expect("a known class")
    };
    let ranks = objects.iter().filter_map(|object| match object {
        Delta::GroupApply(group) => Some((group.name.as_str(), value(&group.priority_class))),
        _ => None,
    });
    ranks.collect()
}

/// The new pod is placed at once where there is this node alone, without these pods.
fn fits(shares: CardShares, objects: &[Delta], node: &str, without: &BTreeSet<String>) -> bool {
    let config = run::config(&preempting(shares).replace(", preempt", ""));
    let stays = |object: &&Delta| match object {
        Delta::NodeApply(other) => other.name == node,
        Delta::PodApply(pod) => {
            pod.node.as_ref().is_none_or(|other| other == node) && !without.contains(&key(pod))
        }
        _ => true,
    };
    let objects: Vec<Delta> = objects.iter().filter(stays).cloned().collect();
    let mut engine = run::engine(&config, &objects);
    let decisions = engine.cycle(START_S);
    let state = engine.state();
    let mut bound = decisions.binds.iter();
    bound.any(|bind| state.population().task_key(bind.task) == NEW)
}

/// The cheapest set on a node without which the new pod fits there.
fn cheapest(
    shares: CardShares,
    objects: &[Delta],
    node: &str,
) -> Option<(SetCost, BTreeSet<String>)> {
    let ranks = ranks(objects);
    let price = |pod: &&PodObject| {
        let group = pod.group.as_deref().expect("a group");
        (ranks[group], pod.priority, Reverse(pod.created_s))
    };
    let there = pods(objects).into_iter();
    let mut there: Vec<&PodObject> = there
        .filter(|pod| pod.node.as_deref() == Some(node))
        .collect();
    there.sort_by_key(|pod| (price(pod), key(pod), pod.uid.clone()));
    let sets = 1_usize..1 << there.len();
    let offers = sets.filter_map(|set| {
        let chosen: Vec<usize> = (0..there.len()).filter(|at| set >> at & 1 == 1).collect();
        let names = chosen.iter().map(|at| key(there[*at])).collect();
        let mut prices: Vec<_> = chosen.iter().map(|at| price(&there[*at])).collect();
        prices.sort_by(|left, right| right.cmp(left));
        let places = chosen.iter().rev().copied().collect();
        fits(shares, objects, node, &names).then_some(((chosen.len(), prices, places), names))
    });
    offers.min()
}

#[test]
fn the_fewest_and_cheapest_with_vgpus_go_by_enumeration() {
    by_enumeration(CardShares::Vgpu, CASES);
}

#[test]
fn the_fewest_and_cheapest_that_share_gpus_by_memory_go_by_enumeration() {
    by_enumeration(CardShares::GpuMemory, GPU_CASES);
}

#[test]
fn the_fewest_and_cheapest_with_whole_gpus_go_by_enumeration() {
    by_enumeration(CardShares::GpuNumber, GPU_CASES);
}

#[test]
fn the_fewest_and_cheapest_with_cards_of_hamis_vendors_go_by_enumeration() {
    by_enumeration(CardShares::Vendors, CASES);
}

fn by_enumeration(shares: CardShares, cases: u64) {
    let config = run::config(&preempting(shares));
    let (mut several, mut evictions) = (0, 0);
    let seeds = run::seeds(0, cases);
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let objects = cluster_of_cards(seed, shares);
        let mut engine = run::engine(&config, &objects);
        let decisions = engine.cycle(START_S);
        let state = engine.state();
        let going = decisions.evictions.iter();
        let going: BTreeSet<String> = going
            .map(|one| state.population().task_key(one.task))
            .collect();
        let nodes: BTreeSet<&str> = objects
            .iter()
            .filter_map(|object| match object {
                Delta::NodeApply(node) => Some(node.name.as_str()),
                _ => None,
            })
            .collect();
        let fits_now = nodes
            .iter()
            .any(|node| fits(shares, &objects, node, &BTreeSet::new()));
        let offers = nodes.iter().filter_map(|node| {
            let ((number, prices, _), names) = cheapest(shares, &objects, node)?;
            Some(((number, prices), *node, names))
        });
        let best = if fits_now { None } else { offers.min() };
        let expected = best.map(|(_, _, names)| names).unwrap_or_default();
        assert_eq!(going, expected, "seed {seed}");
        evictions += u64::from(!expected.is_empty());
        several += u64::from(expected.len() > 1);
    }
    // The cases are not trivial.
    assert!(evictions > cases / 6, "{evictions} of {cases}");
    assert!(several > cases / 60, "{several} of {cases}");
}
