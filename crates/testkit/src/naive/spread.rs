//! Topology spread constraints, as filter and as scorer (spec/02 §6.8, §8.6).

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::object::{
    NodeObject, PodObject, Selector, SpreadConstraint, Unsatisfiable, WorkloadObject,
};

use super::filters::{matches_required, tolerates_filtering_taints};
use super::state::{World, label, selects_pod};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";

/// Pods of the namespace on the node that the constraint counts.
fn matching(world: &World, node: &NodeObject, constraint: &SpreadConstraint, ns: &str) -> i64 {
    let selector = constraint.selector.as_ref();
    if selector.is_some_and(|selector| selector.requirements.is_empty()) {
        return 0;
    }
    let tasks = world.tasks_on(&node.name).into_iter();
    let counted = tasks.filter(|task| {
        let pod = &task.pod;
        !pod.deleting && pod.namespace == ns && selects_pod(selector, pod)
    });
    counted.count() as i64
}

/// The node takes part in counting under the constraint's inclusion policies.
fn included(pod: &PodObject, node: &NodeObject, constraint: &SpreadConstraint) -> bool {
    (!constraint.honor_affinity || matches_required(pod, node))
        && (!constraint.honor_taints || tolerates_filtering_taints(pod, node))
}

fn has_all_keys(node: &NodeObject, constraints: &[SpreadConstraint]) -> bool {
    let mut all = constraints.iter();
    all.all(|constraint| label(&node.labels, &constraint.topology_key).is_some())
}

fn of_kind(pod: &PodObject, kind: Unsatisfiable) -> Vec<SpreadConstraint> {
    let all = pod.spread.iter();
    all.filter(|constraint| constraint.when == kind)
        .cloned()
        .collect()
}

/// What the DoNotSchedule constraints of one pod count, by domain.
pub struct Counts(Vec<(SpreadConstraint, BTreeMap<String, i64>)>);

impl Counts {
    /// Counts all pods there are.
    pub fn of(world: &World, pod: &PodObject) -> Self {
        let constraints = of_kind(pod, Unsatisfiable::DoNotSchedule);
        let count = |constraint: &SpreadConstraint| {
            let mut counts: BTreeMap<String, i64> = BTreeMap::new();
            for other in world.nodes.values() {
                if has_all_keys(other, &constraints) && included(pod, other, constraint) {
                    let domain = label(&other.labels, &constraint.topology_key);
                    *counts
                        .entry(domain.unwrap_or_default().to_owned())
                        .or_insert(0) += matching(world, other, constraint, &pod.namespace);
                }
            }
            counts
        };
        Self(constraints.iter().map(|c| (c.clone(), count(c))).collect())
    }

    /// Every DoNotSchedule constraint holds with the pod on that node.
    pub fn let_onto(&self, pod: &PodObject, node: &NodeObject) -> bool {
        self.0.iter().all(|(constraint, counts)| {
            let Some(value) = label(&node.labels, &constraint.topology_key) else {
                return false;
            };
            let enough_domains = counts.len() as i64 >= i64::from(constraint.min_domains);
            let min = counts.values().min().copied().filter(|_| enough_domains);
            let itself = i64::from(selects_pod(constraint.selector.as_ref(), pod));
            let here = counts.get(value).copied().unwrap_or(0);
            here + itself - min.unwrap_or(0) <= i64::from(constraint.max_skew)
        })
    }
}

/// The constraints that score a pod without any of its own.
fn system_defaults(world: &World, pod: &PodObject) -> Vec<SpreadConstraint> {
    let mut selector = Selector::default();
    for workload in &world.workloads {
        if belongs_to(pod, workload) {
            let requirements = workload.selector.iter().flat_map(|s| &s.requirements);
            selector.requirements.extend(requirements.cloned());
        }
    }
    if selector.requirements.is_empty() {
        return Vec::new();
    }
    let constraint = |key: &str, max_skew: i32| SpreadConstraint {
        max_skew,
        topology_key: key.to_owned(),
        when: Unsatisfiable::ScheduleAnyway,
        selector: Some(selector.clone()),
        min_domains: 1,
        honor_affinity: true,
        honor_taints: false,
    };
    vec![constraint(HOSTNAME, 3), constraint(ZONE, 5)]
}

fn belongs_to(pod: &PodObject, workload: &WorkloadObject) -> bool {
    if workload.namespace != pod.namespace {
        return false;
    }
    match workload.kind.as_str() {
        "Service" => selects_pod(workload.selector.as_ref(), pod),
        kind => pod
            .owners
            .first()
            .is_some_and(|owner| owner.0 == kind && owner.1 == workload.name),
    }
}

/// Scores 0..=100 of the candidates, in their order; `None` when nothing is to be spread.
pub fn scores(world: &World, pod: &PodObject, nodes: &[&NodeObject]) -> Option<Vec<i64>> {
    let own = !pod.spread.is_empty();
    let constraints = if own {
        of_kind(pod, Unsatisfiable::ScheduleAnyway)
    } else {
        system_defaults(world, pod)
    };
    if constraints.is_empty() {
        return None;
    }
    // Without constraints of its own a pod is also scored on nodes that lack a key.
    let takes_part = |node: &NodeObject| !own || has_all_keys(node, &constraints);
    let domains: Vec<Domains> = constraints
        .iter()
        .map(|constraint| Domains::of(world, pod, nodes, constraint, &takes_part))
        .collect();
    let raw: Vec<Option<i64>> = nodes
        .iter()
        .map(|node| takes_part(node).then(|| raw_score(world, pod, node, &domains)))
        .collect();
    let min = raw.iter().flatten().min().copied().unwrap_or(0);
    let max = raw.iter().flatten().max().copied().unwrap_or(0);
    let scale = |raw: Option<i64>| match raw {
        None => 0,
        Some(_) if max == 0 => 100,
        Some(raw) => 100 * (max + min - raw) / max,
    };
    Some(raw.into_iter().map(scale).collect())
}

/// What a scoring constraint counts.
struct Domains<'a> {
    constraint: &'a SpreadConstraint,
    /// Pods by domain; for the host name they are counted on the node itself.
    pods: BTreeMap<String, i64>,
    /// Number of domains the candidates are in.
    size: usize,
}

impl<'a> Domains<'a> {
    fn of(
        world: &World,
        pod: &PodObject,
        candidates: &[&NodeObject],
        constraint: &'a SpreadConstraint,
        takes_part: &impl Fn(&NodeObject) -> bool,
    ) -> Self {
        let key = &constraint.topology_key;
        let present = || candidates.iter().filter(|node| takes_part(node));
        let mut pods = BTreeMap::new();
        if key == HOSTNAME {
            let size = present().count();
            return Self {
                constraint,
                pods,
                size,
            };
        }
        for node in world.nodes.values() {
            let value = label(&node.labels, key).filter(|_| takes_part(node));
            if let Some(value) = value.filter(|_| included(pod, node, constraint)) {
                *pods.entry(value.to_owned()).or_insert(0) +=
                    matching(world, node, constraint, &pod.namespace);
            }
        }
        // A candidate without the key is a domain of its own, with the empty value.
        let domains: BTreeSet<&str> = present()
            .map(|node| label(&node.labels, key).unwrap_or_default())
            .collect();
        let size = domains.len();
        Self {
            constraint,
            pods,
            size,
        }
    }
}

fn raw_score(world: &World, pod: &PodObject, node: &NodeObject, all: &[Domains]) -> i64 {
    let mut score = 0.0;
    for domains in all {
        let key = &domains.constraint.topology_key;
        let Some(value) = label(&node.labels, key) else {
            continue;
        };
        let count = if key == HOSTNAME {
            matching(world, node, domains.constraint, &pod.namespace)
        } else {
            domains.pods.get(value).copied().unwrap_or(0)
        };
        let weight = ((domains.size + 2) as f64).ln();
        score += count as f64 * weight + f64::from(domains.constraint.max_skew - 1);
    }
    score.round() as i64
}
