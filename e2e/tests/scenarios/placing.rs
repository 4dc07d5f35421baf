//! Gangs, queues, bare pods.

use anyhow::Result;
use pumice_e2e::{Lab, LabGuard, Scheduler, Setup, pod_group};
use serde_json::{Value, json};

use crate::{
    GROUPS, LIMIT, PODS, bare_pod, no_node_is_overfull, stays_pending, wait_bound, wait_running,
};

#[test]
fn a_gang_of_100_runs() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(10, "10", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.gang("g", "default", 100, 100)?;
    wait_running(&lab, &scheduler, "g-", 100)?;
    scheduler.eventually(LIMIT, "the PodGroup is Running", || {
        Ok((lab.group_phase("g")? == "Running").then_some(()))
    })?;
    no_node_is_overfull(&lab)
}

#[test]
fn two_queues_share_by_weight() -> Result<()> {
    let lab = Lab::take()?;
    let queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
    for (name, weight) in [("light", 1), ("heavy", 3)] {
        let queue = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": weight},
        });
        lab.rest().create(queues, &queue)?;
    }
    lab.nodes(1, "8", "64Gi")?;
    // Both want everything before anyone decides.
    lab.gang("l", "light", 8, 1)?;
    lab.gang("h", "heavy", 8, 1)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    wait_bound(&lab, &scheduler, "h-", 6)?;
    wait_bound(&lab, &scheduler, "l-", 2)?;
    scheduler.eventually(LIMIT, "status.allocated of heavy is 6 CPUs", || {
        let queue = lab.rest().get(&format!("{queues}/heavy"))?;
        Ok((queue["status"]["allocated"]["cpu"] == "6").then_some(()))
    })
}

#[test]
fn missing_queues_are_made_and_bare_pods_run() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("bare", Some("1")))?;
    lab.rest().create(PODS, &bare_pod("light", None))?;
    wait_running(&lab, &scheduler, "bare", 1)?;
    wait_running(&lab, &scheduler, "light", 1)?;
    for queue in ["default", "root"] {
        let path = format!("/apis/scheduling.volcano.sh/v1beta1/queues/{queue}");
        scheduler.eventually(LIMIT, "the queue exists", || {
            lab.rest().get(&path).map(Some)
        })?;
    }
    Ok(())
}

#[test]
fn pods_of_other_schedulers_count_on_their_nodes() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let mut foreign = bare_pod("foreign", Some("3"));
    foreign["spec"]["schedulerName"] = json!("default-scheduler");
    foreign["spec"]["nodeName"] = json!("n-0");
    lab.rest().create(PODS, &foreign)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("two", Some("2")))?;
    lab.rest().create(PODS, &bare_pod("one", Some("1")))?;
    wait_running(&lab, &scheduler, "one", 1)?;
    stays_pending(&lab, "two")?;
    lab.delete(&format!("{PODS}/foreign"))?;
    wait_running(&lab, &scheduler, "two", 1)
}

/// Pods of a gang, each with anti-affinity terms of its own that nobody else has.
fn costly_gang(lab: &LabGuard, pods: usize, terms: usize) -> Result<()> {
    let spec = json!({"minMember": pods, "queue": "default"});
    lab.rest().create(GROUPS, &pod_group("costly", &spec))?;
    let pod = |number: usize| {
        let term = |at: usize| {
            json!({
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {format!("own-{at}"): format!("costly-{number}")}},
            })
        };
        let terms: Vec<Value> = (0..terms).map(term).collect();
        let mut pod = bare_pod(&format!("costly-{number}"), Some("10m"));
        pod["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "costly"});
        pod["spec"]["affinity"] =
            json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
        pod
    };
    lab.rest()
        .create_all(PODS, (0..pods).map(pod).collect(), 16)
}

#[test]
fn costly_pods_hold_up_nobody_who_came_after_them() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(20, "8", "512Gi")?;
    costly_gang(&lab, 100, 100)?;
    let plain = (0..100).map(|n| bare_pod(&format!("plain-{n}"), Some("10m")));
    lab.rest().create_all(PODS, plain.collect(), 16)?;
    let setup = Setup {
        flags: vec!["--job-work-limit=1000".to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    wait_running(&lab, &scheduler, "plain-", 100)?;
    wait_running(&lab, &scheduler, "costly-", 100)?;
    let (_, text) = scheduler.get("/debug/decisions")?;
    let shown: Value = serde_json::from_str(&text)?;
    let decisions = shown["decisions"].as_array();
    let cycles = |prefix: &str| {
        let prefix = format!("default/{prefix}-");
        let of = decisions.into_iter().flatten();
        let of = of.filter(|one| {
            one["pod"]
                .as_str()
                .is_some_and(|pod| pod.starts_with(&prefix))
        });
        of.filter_map(|one| one["cycle"].as_u64())
            .collect::<Vec<u64>>()
    };
    let (plain, costly) = (cycles("plain"), cycles("costly"));
    assert_eq!((plain.len(), costly.len()), (100, 100));
    assert!(
        plain.iter().max() < costly.iter().min(),
        "{plain:?} {costly:?}"
    );
    no_node_is_overfull(&lab)
}
