//! What the generated inputs are like, and laws the naive scheduler keeps on them.

mod influence;
mod npus;

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::{ActionSpec, Arg, ArgSpec, Config, PluginSpec, Registry, parse};
use pumice_model::delta::Delta;
use pumice_model::object::{NodeObject, PodObject, PodPhase};

use super::devices::is_uncounted;
use super::{amount, cluster, conf_text};
use crate::naive::{Outcome, schedule};

const fn int(name: &'static str) -> ArgSpec {
    Arg::int(name, 0, "").spec()
}

const fn plugin(name: &'static str, args: &'static [ArgSpec]) -> PluginSpec {
    PluginSpec {
        name,
        args,
        ..PluginSpec::PLAIN
    }
}

const fn action(name: &'static str) -> ActionSpec {
    ActionSpec {
        name,
        summary: "",
        args: &[],
    }
}

static REGISTRY: Registry = Registry {
    plugins: &[
        plugin("priority", &[]),
        plugin("gang", &[]),
        plugin("conformance", &[]),
        plugin(
            "overcommit",
            &[Arg::float("overcommit-factor", 0.0, "").spec()],
        ),
        plugin("drf", &[]),
        plugin(
            "predicates",
            &[Arg::switch("predicate.*", false, "").spec()],
        ),
        plugin("proportion", &[]),
        plugin(
            "nodeorder",
            &[
                int("leastrequested.weight"),
                int("mostrequested.weight"),
                int("balancedresource.weight"),
                int("nodeaffinity.weight"),
                int("podaffinity.weight"),
                int("tainttoleration.weight"),
                int("podtopologyspread.weight"),
                int("imagelocality.weight"),
            ],
        ),
        plugin(
            "binpack",
            &[
                int("binpack.weight"),
                int("binpack.cpu"),
                int("binpack.memory"),
                Arg::text("binpack.resources", "", "").spec(),
                int("binpack.resources.*"),
            ],
        ),
        plugin(
            "deviceshare",
            &[
                Arg::switch("deviceshare.VGPUEnable", false, "").spec(),
                Arg::switch("deviceshare.AscendHAMiVNPUEnable", false, "").spec(),
                Arg::switch("deviceshare.AscendMindClusterVNPUEnable", false, "").spec(),
                Arg::texts("deviceshare.HAMiVendors", "").spec(),
                Arg::text("deviceshare.SchedulePolicy", "", "").spec(),
                int("deviceshare.ScheduleWeight"),
                Arg::switch("deviceshare.InFlightGuard", true, "").spec(),
            ],
        ),
        plugin(
            "nodegroup",
            &[
                Arg::switch("strict", false, "").spec(),
                Arg::switch("enablePreferredOrder", false, "").spec(),
            ],
        ),
        plugin(
            "resource-strategy-fit",
            &[
                int("resourceStrategyFitWeight"),
                Arg::any("resources", "").spec(),
                Arg::any("sra", "").spec(),
                Arg::any("proportional", "").spec(),
            ],
        ),
        plugin(
            "usage",
            &[
                int("usage.weight"),
                int("cpu.weight"),
                int("memory.weight"),
                Arg::any("thresholds", "").spec(),
                Arg::any("estimator", "").spec(),
            ],
        ),
        plugin("task-topology", &[int("task-topology.weight")]),
        plugin(
            "network-topology-aware",
            &[
                int("weight"),
                int("hypernode.binpack.cpu"),
                int("hypernode.binpack.memory"),
                Arg::text("hypernode.binpack.resources", "", "").spec(),
                int("hypernode.binpack.resources.*"),
                Arg::switch("hypernode.binpack.normal-pod.enable", true, "").spec(),
                Arg::float("hypernode.binpack.normal-pod.fading", 0.8, "").spec(),
            ],
        ),
        plugin("sla", &[Arg::duration("sla-waiting-time", "").spec()]),
    ],
    actions: &[action("enqueue"), action("allocate"), action("backfill")],
};

const SEEDS: u64 = 400;

fn config(seed: u64) -> Config {
    let text = conf_text(seed);
    let outcome = parse(&text, &REGISTRY);
    let problem = || panic!("{:?} in:\n{text}", outcome.diagnostics);
    outcome.config.clone().unwrap_or_else(problem)
}

fn nodes(objects: &[Delta]) -> BTreeMap<&str, &NodeObject> {
    let mut nodes = BTreeMap::new();
    for object in objects {
        if let Delta::NodeApply(node) = object {
            nodes.insert(node.name.as_str(), &**node);
        }
    }
    nodes
}

fn pods(objects: &[Delta]) -> BTreeMap<String, &PodObject> {
    let mut pods = BTreeMap::new();
    for object in objects {
        if let Delta::PodApply(pod) = object {
            pods.insert(format!("{}/{}", pod.namespace, pod.name), &**pod);
        }
    }
    pods
}

/// Where a pod counts: on its node, unless it has ended.
fn place(pod: &PodObject) -> Option<&str> {
    let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
    pod.node.as_deref().filter(|_| !ended)
}

fn identity(object: &Delta) -> String {
    match object {
        Delta::NodeApply(node) => format!("node {}", node.name),
        Delta::PodApply(pod) => format!("pod {}/{}", pod.namespace, pod.name),
        Delta::GroupApply(group) => format!("group {}/{}", group.namespace, group.name),
        Delta::QueueApply(queue) => format!("queue {}", queue.name),
        Delta::PriorityClassApply(class) => format!("class {}", class.name),
        Delta::NamespaceApply(namespace) => format!("namespace {}", namespace.name),
        Delta::WorkloadApply(w) => format!("{} {}/{}", w.kind, w.namespace, w.name),
        Delta::PvApply(volume) => format!("volume {}", volume.name),
        Delta::PvcApply(claim) => format!("claim {}/{}", claim.namespace, claim.name),
        Delta::StorageClassApply(class) => format!("storage class {}", class.name),
        Delta::CsiNodeApply(node) => format!("CSI node {}", node.name),
        Delta::CsiDriverApply(driver) => format!("CSI driver {}", driver.name),
        Delta::CsiCapacityApply(c) => format!("capacity {}/{}", c.namespace, c.name),
        Delta::AttachmentApply(attachment) => format!("attachment {}", attachment.name),
        Delta::DeviceConfig {
            namespace, name, ..
        } => format!("config map {namespace}/{name}"),
        Delta::NodeReport { node, topic, .. } => format!("{topic} of {node}"),
        Delta::NodeUsage { node, .. } => format!("usage of {node}"),
        Delta::GroupController(_) => "controller of PodGroups".to_owned(),
        Delta::BudgetApply(budget) => format!("budget {}/{}", budget.namespace, budget.name),
        Delta::QuotaApply(quota) => format!("quota {}/{}", quota.namespace, quota.name),
        Delta::HyperNodeApply(object) => format!("hyper node {}", object.name),
        other => panic!("not an object: {other:?}"),
    }
}

#[test]
fn a_seed_always_gives_the_same_cluster_and_configuration() {
    for seed in 0..20 {
        assert_eq!(cluster(seed), cluster(seed));
        assert_eq!(conf_text(seed), conf_text(seed));
        assert_ne!(cluster(seed), cluster(seed + 1));
    }
}

#[test]
fn clusters_are_small_and_name_each_object_once() {
    for seed in 0..SEEDS {
        let objects = cluster(seed);
        let identities: BTreeSet<String> = objects.iter().map(identity).collect();
        assert_eq!(identities.len(), objects.len(), "{seed}");
        assert!((1..=12).contains(&nodes(&objects).len()));
        let pods = pods(&objects);
        assert!(pods.len() <= 40);
        let uids: BTreeSet<&str> = pods.values().map(|pod| pod.uid.as_str()).collect();
        assert_eq!(uids.len(), pods.len());
        for list in pods.values().map(|pod| &pod.request) {
            assert!(list.is_sorted(), "{list:?}");
        }
    }
}

fn run(seed: u64) -> (Vec<Delta>, Config, Outcome) {
    let (objects, config) = (cluster(seed), config(seed));
    let outcome = schedule(&config, &objects, "default", 3);
    (objects, config, outcome)
}

#[test]
fn no_node_that_was_not_over_its_capacity_gets_over_it() {
    for seed in 0..SEEDS {
        let (objects, _, outcome) = run(seed);
        let pods = pods(&objects);
        for (name, node) in nodes(&objects) {
            let bound = outcome.binds.iter().filter(|(_, to)| to == name);
            let new: Vec<&PodObject> = bound.map(|(pod, _)| pods[pod]).collect();
            let old = pods.values().filter(|pod| place(pod) == Some(name));
            let all: Vec<&PodObject> = old.copied().chain(new.iter().copied()).collect();
            let asked = new.iter().flat_map(|pod| &pod.request);
            for (dim, _) in asked.filter(|(dim, _)| !is_uncounted(dim)) {
                let used: i64 = all.iter().map(|pod| amount(&pod.request, dim)).sum();
                let extra = amount(&node.oversubscription, dim);
                assert!(
                    used <= amount(&node.allocatable, dim) + extra,
                    "{seed} {name} {dim}"
                );
            }
        }
    }
}

#[test]
fn a_gang_gets_its_minimum_or_nothing() {
    for seed in 0..SEEDS {
        let (objects, config, outcome) = run(seed);
        if !config
            .plugin("gang")
            .is_some_and(|gang| gang.enabled.job_ready)
        {
            continue;
        }
        let pods = pods(&objects);
        let bound: BTreeSet<&str> = outcome.binds.iter().map(|(pod, _)| pod.as_str()).collect();
        for object in &objects {
            let Delta::GroupApply(group) = object else {
                continue;
            };
            let members = pods.iter().filter(|(_, pod)| {
                pod.namespace == group.namespace && pod.group.as_ref() == Some(&group.name)
            });
            let members: Vec<_> = members.collect();
            let new = members
                .iter()
                .filter(|(name, _)| bound.contains(name.as_str()))
                .count();
            let ready = members.iter().filter(|(_, pod)| {
                !matches!(pod.phase, PodPhase::Failed | PodPhase::Unknown)
                    && (!pod.deleting || pod.phase == PodPhase::Succeeded)
                    && pod.node.is_some()
            });
            let total = (ready.count() + new) as i64;
            let enough = total >= i64::from(group.min_member);
            assert!(new == 0 || enough, "{seed} {} {new} {total}", group.name);
        }
    }
}

#[test]
fn only_open_pods_of_ours_are_bound_and_each_once() {
    for seed in 0..SEEDS {
        let (objects, _, outcome) = run(seed);
        let pods = pods(&objects);
        let mut seen = BTreeSet::new();
        for (name, node) in &outcome.binds {
            let pod = pods[name];
            assert!(seen.insert(name), "{seed} {name}");
            assert!(
                pod.ours && pod.node.is_none() && !pod.deleting,
                "{seed} {name}"
            );
            assert!(nodes(&objects).contains_key(node.as_str()));
        }
    }
}

#[test]
fn the_clusters_are_neither_idle_nor_hopeless() {
    let mut binds = 0;
    let mut busy = 0;
    let mut pipelined = 0;
    let mut phases: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..SEEDS {
        let (_, _, outcome) = run(seed);
        binds += outcome.binds.len();
        busy += usize::from(!outcome.binds.is_empty());
        pipelined += usize::from(!outcome.pipelined.is_empty());
        for phase in outcome.phases.into_values() {
            *phases.entry(phase).or_default() += 1;
        }
    }
    assert!(2 * binds as u64 > 5 * SEEDS, "{binds} binds");
    assert!(busy as u64 > SEEDS / 2);
    assert!(pipelined as u64 > SEEDS / 50);
    assert_eq!(phases.len(), 5);
}
