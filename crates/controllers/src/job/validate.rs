//! What the admission webhook and the resource definition refuse, as far as one Job tells
//! (spec/03 B3, D2). Its queue is for the caller to check.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::api::core::v1::Container;
use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;
use pumice_api::job::TaskSpec;
use pumice_api::{Job, NetworkTopology, name as syntax};
use pumice_units::quantity;
use rustc_hash::FxBuildHasher;

use super::pods::is_generated_claim_name;
use super::problem::{JobProblem, JobProblems, add};
use super::{name, plugins, sum, task_name, validate_policies};

/// Most pods of one Job. Far above any gang that could be placed at once; keeps a typing mistake
/// from filling the memory.
pub const MAX_PODS: i64 = 1_000_000;

/// Policies for the CPUs of a task.
const TOPOLOGY_POLICIES: [&str; 4] = ["none", "best-effort", "restricted", "single-numa-node"];

/// Every reason why a defaulted Job would be refused; empty when it is fine.
pub fn validate(job: &Job) -> Vec<JobProblem> {
    let mut problems = JobProblems::new();
    if !syntax::is_qualified(name(job)) {
        let message = format!(
            "{:?} is not a name; use letters, digits, '-', '.', at most 63",
            name(job)
        );
        add(&mut problems, "metadata.name", message);
    }
    counts(job, &mut problems);
    tier(job.spec.network_topology.as_ref(), "spec", &mut problems);
    validate_policies::validate(&job.spec.policies, "spec", &mut problems);
    tasks(job, &mut problems);
    problems.extend(plugins::problems(job));
    volumes(job, &mut problems);
    dependencies(job, &mut problems);
    problems
}

fn counts(job: &Job, problems: &mut JobProblems) {
    let spec = &job.spec;
    let zero_or_more = [
        ("minAvailable", spec.min_available),
        ("maxRetry", spec.max_retry),
    ];
    for (field, value) in zero_or_more {
        at_least(0, value, format!("spec.{field}"), problems);
    }
    if let Some(value) = spec.min_success {
        at_least(1, value, "spec.minSuccess", problems);
    }
    if let Some(value) = spec.ttl_seconds_after_finished {
        at_least(0, value, "spec.ttlSecondsAfterFinished", problems);
    }
    let replicas = sum(job, |task| task.replicas.max(0));
    if i64::from(spec.min_available) > replicas {
        let message = format!(
            "{} is more than all {replicas} replicas",
            spec.min_available
        );
        add(problems, "spec.minAvailable", message);
    }
    if replicas > MAX_PODS {
        let message = format!("the job has {replicas} pods; at most {MAX_PODS} are allowed");
        add(problems, "spec.tasks", message);
    }
}

fn at_least(least: i32, value: i32, path: impl fmt::Display, problems: &mut JobProblems) {
    if value < least {
        add(
            problems,
            path,
            format!("{value} is too small; write {least} or more"),
        );
    }
}

/// Tier number and tier name exclude each other.
fn tier(topology: Option<&NetworkTopology>, path: &str, problems: &mut JobProblems) {
    let both =
        |t: &NetworkTopology| t.highest_tier_allowed.is_some() && !t.highest_tier_name.is_empty();
    if topology.is_some_and(both) {
        let message = "highestTierAllowed and highestTierName exclude each other; write one";
        add(problems, format!("{path}.networkTopology"), message);
    }
}

fn tasks(job: &Job, problems: &mut JobProblems) {
    if job.spec.tasks.is_empty() {
        add(
            problems,
            "spec.tasks",
            "there is no task; write at least one",
        );
    }
    let mut names = BTreeSet::new();
    for (at, task) in job.spec.tasks.iter().enumerate() {
        let path = format!("spec.tasks[{at}]");
        if !names.insert(task_name(task)) {
            let message = format!("there is another task {:?}; rename one", task_name(task));
            add(problems, format!("{path}.name"), message);
        }
        let pod = format!("{}-{}-{at}", name(job), task_name(task));
        if !syntax::is_qualified(&pod) {
            let message = format!(
                "its pods would be named {pod:?}, which is not a name of at most 63 characters"
            );
            add(problems, format!("{path}.name"), message);
        }
        task_counts(task, &path, problems);
        validate_policies::validate(&task.policies, &path, problems);
        topology_policy(task, &path, problems);
        partitions(task, &path, problems);
    }
}

fn task_counts(task: &TaskSpec, path: &str, problems: &mut JobProblems) {
    at_least(0, task.replicas, format!("{path}.replicas"), problems);
    at_least(0, task.max_retry, format!("{path}.maxRetry"), problems);
    let Some(minimum) = task.min_available else {
        return;
    };
    at_least(0, minimum, format!("{path}.minAvailable"), problems);
    let policy = task.partition_policy.as_ref();
    // One that follows from the partitions is told there.
    let from_partitions = policy.and_then(|policy| {
        let is_too_many = policy.min_partitions > policy.total_partitions;
        is_too_many.then(|| policy.min_partitions.checked_mul(policy.partition_size))?
    });
    if minimum > task.replicas && from_partitions != Some(minimum) {
        let message = format!("{minimum} is more than the {} replicas", task.replicas);
        add(problems, format!("{path}.minAvailable"), message);
    }
}

/// A NUMA policy needs whole CPUs in every container.
fn topology_policy(task: &TaskSpec, path: &str, problems: &mut JobProblems) {
    let wanted = task.topology_policy.as_str();
    if !wanted.is_empty() && !TOPOLOGY_POLICIES.contains(&wanted) {
        let message = format!(
            "{wanted:?} is not known; use {}",
            TOPOLOGY_POLICIES.join(", ")
        );
        add(problems, format!("{path}.topologyPolicy"), message);
    }
    let Some(pod) = task.template.spec.as_ref() else {
        return;
    };
    if wanted.is_empty() || wanted == "none" {
        return;
    }
    let init = pod.init_containers.iter().flatten();
    if !init.chain(&pod.containers).all(has_whole_cpus) {
        let message = "every container needs a whole number of cpus, for example \"2\"";
        add(problems, format!("{path}.topologyPolicy"), message);
    }
}

fn has_whole_cpus(container: &Container) -> bool {
    let Some(resources) = &container.resources else {
        return false;
    };
    let cpu = |list: &Option<pumice_api::ResourceList>| list.as_ref()?.get("cpu").cloned();
    let Some(text) = cpu(&resources.requests).or_else(|| cpu(&resources.limits)) else {
        return false;
    };
    let whole =
        |amount: quantity::Quantity| amount == quantity::Quantity::whole(amount.whole_ceil());
    quantity::parse(&text.0).is_ok_and(|amount| !amount.is_zero() && whole(amount))
}

fn partitions(task: &TaskSpec, path: &str, problems: &mut JobProblems) {
    let Some(policy) = &task.partition_policy else {
        return;
    };
    let path = format!("{path}.partitionPolicy");
    tier(policy.network_topology.as_ref(), &path, problems);
    at_least(
        1,
        policy.total_partitions,
        format!("{path}.totalPartitions"),
        problems,
    );
    at_least(
        1,
        policy.partition_size,
        format!("{path}.partitionSize"),
        problems,
    );
    at_least(
        0,
        policy.min_partitions,
        format!("{path}.minPartitions"),
        problems,
    );
    if policy.min_partitions > policy.total_partitions {
        let (least, all) = (policy.min_partitions, policy.total_partitions);
        let message = format!("{least} is more than the {all} of totalPartitions");
        add(problems, format!("{path}.minPartitions"), message);
    }
    let size = i64::from(policy.partition_size);
    let product = i64::from(policy.total_partitions) * size;
    if i64::from(task.replicas) != product {
        let message = format!(
            "its partitions make {product} pods, but the task has {}",
            task.replicas
        );
        add(problems, &path, message);
    }
    let least = i64::from(policy.min_partitions) * size;
    let minimum = task.min_available.map_or(least, i64::from);
    if policy.min_partitions > 0 && least != minimum {
        let message = format!("they make {least} pods, but minAvailable is {minimum}");
        add(problems, format!("{path}.minPartitions"), message);
    }
}

fn volumes(job: &Job, problems: &mut JobProblems) {
    let mut paths = BTreeSet::new();
    for (at, volume) in job.spec.volumes.iter().enumerate() {
        let path = format!("spec.volumes[{at}]");
        if volume.mount_path.is_empty() || volume.mount_path.contains(':') {
            let message = "write a path without ':', for example \"/data\"";
            add(problems, format!("{path}.mountPath"), message);
        } else if !paths.insert(&volume.mount_path) {
            let message = format!("{:?} is used twice", volume.mount_path);
            add(problems, format!("{path}.mountPath"), message);
        }
        let claim = &volume.volume_claim_name;
        // The controller writes the name it generated into the Job, Volcano's too.
        let is_ours = is_generated_claim_name(job, claim);
        if claim.is_empty() != volume.volume_claim.is_some() && !is_ours {
            add(
                problems,
                &path,
                "write exactly one of volumeClaimName and volumeClaim",
            );
        }
        if !claim.is_empty() && !syntax::is_dns_subdomain(claim) {
            let message = format!("{claim:?} is not a name of a claim");
            add(problems, format!("{path}.volumeClaimName"), message);
        }
    }
}

/// Tasks must depend on each other without a circle.
fn dependencies(job: &Job, problems: &mut JobProblems) {
    let mut graph: DiGraphMap<&str, (), FxBuildHasher> = DiGraphMap::default();
    for task in &job.spec.tasks {
        graph.add_node(task_name(task));
    }
    for (at, task) in job.spec.tasks.iter().enumerate() {
        for name in task.depends_on.iter().flat_map(|wanted| &wanted.name) {
            if graph.contains_node(name) {
                graph.add_edge(task_name(task), name, ());
            } else {
                let path = format!("spec.tasks[{at}].dependsOn.name");
                add(problems, path, format!("there is no task {name:?}"));
            }
        }
    }
    for circle in tarjan_scc(&graph) {
        let is_circle = |name: &&str| circle.len() > 1 || graph.contains_edge(name, name);
        let names = job.spec.tasks.iter().map(task_name);
        let names: Vec<&str> = names
            .filter(|name| circle.contains(name) && is_circle(name))
            .collect();
        if !names.is_empty() {
            let message = format!("these wait for each other for ever: {}", names.join(", "));
            add(problems, "spec.tasks", message);
        }
    }
}
