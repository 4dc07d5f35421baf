//! A cluster autoscaler buys what gangs lack, at once, and nothing for what a queue holds back.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    Autoscaler, Controllers, Lab, LabGuard, NodeShape, PodRoom, Scheduler, Setup, pod_group,
    scratch,
};
use serde_json::{Value, json};

use crate::controllers::job;
use crate::{GROUPS, LIMIT, PODS, QUIET, bare_pod};

const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

/// A lab with so many nodes of so many cores, and an autoscaler that buys nodes of two.
fn with_autoscaler(nodes: usize, cpu: &'static str) -> Result<(LabGuard, Autoscaler)> {
    let lab = Lab::take()?;
    lab.nodes(nodes, cpu, "64Gi")?;
    let shape = NodeShape {
        cpu: "2",
        memory: "64Gi",
        ..NodeShape::default()
    };
    let autoscaler = Autoscaler::new(lab.rest().clone(), shape);
    Ok((lab, autoscaler))
}

/// Jobs are admitted by what their queue may have, and not by what the cluster has.
const BY_CAPABILITY: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, \
    {name: capacity, enableHierarchy: true}, {name: nodeorder}]}]\n";

pub(crate) fn by_capability() -> Result<Setup> {
    let conf = scratch("autoscaling")?.join("volcano-scheduler.conf");
    std::fs::write(&conf, BY_CAPABILITY)?;
    Ok(Setup {
        conf: Some(conf),
        ..Setup::default()
    })
}

pub(crate) fn create_queue(lab: &LabGuard, name: &str, cores: &str) -> Result<()> {
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "capability": {"cpu": cores}},
    });
    lab.rest().create(QUEUES, &queue).map(drop)
}

/// A pod without a PodGroup in that queue.
fn in_queue(name: &str, queue: &str, cpu: &str) -> Value {
    let mut pod = bare_pod(name, Some(cpu));
    pod["metadata"]["annotations"] = json!({"scheduling.volcano.sh/queue-name": queue});
    pod
}

/// The fewest nodes more on which all of these find room, by trying every way to place them.
fn fewest(free: &[PodRoom], one: PodRoom, asked: &[PodRoom]) -> usize {
    fn all_fit(free: &mut [PodRoom], asked: &[PodRoom]) -> bool {
        let Some((first, rest)) = asked.split_first() else {
            return true;
        };
        (0..free.len()).any(|at| {
            let before = free[at];
            let fits = free[at].take(*first) && all_fit(free, rest);
            free[at] = before;
            fits
        })
    }
    let enough = |more: &usize| {
        let mut nodes = free.to_vec();
        nodes.extend(vec![one; *more]);
        all_fit(&mut nodes, asked)
    };
    (0..=asked.len()).find(enough).expect("one node a pod")
}

/// Reason of the pod's condition `PodScheduled`, where it has been told.
fn reason(lab: &LabGuard, name: &str) -> Result<Option<String>> {
    let pod = lab.rest().get(&format!("{PODS}/{name}"))?;
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let mut reasons = conditions.filter(|condition| condition["type"] == "PodScheduled");
    let reason = reasons.next().and_then(|told| told["reason"].as_str());
    Ok(reason.map(str::to_owned))
}

/// Whatever the autoscaler sees while nothing else happens, it buys no more.
fn buys_no_more(autoscaler: &mut Autoscaler) -> Result<()> {
    let before = autoscaler.scale_ups().len();
    let end = std::time::Instant::now() + QUIET;
    while std::time::Instant::now() < end {
        autoscaler.look()?;
        std::thread::sleep(QUIET / 10);
    }
    let bought = autoscaler.scale_ups();
    ensure!(bought.len() == before, "it bought more: {bought:?}");
    Ok(())
}

#[test]
fn a_gang_gets_the_fewest_nodes_that_it_lacks_in_one_scale_up() -> Result<()> {
    let (lab, mut autoscaler) = with_autoscaler(2, "2")?;
    let setup = Setup {
        flags: vec!["--node-advice=500ms".to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("runs", Some("1")))?;
    crate::wait_running(&lab, &scheduler, "runs", 1)?;
    // One pod of the gang has room beside the one that runs, and three on the other node.
    let count = 9;
    let group = pod_group("g", &json!({"minMember": count}));
    lab.rest().create(GROUPS, &group)?;
    for at in 0..count {
        let mut pod = pumice_e2e::member(&format!("g-{at}"), "g");
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("600m");
        lab.rest().create(PODS, &pod)?;
    }
    let pods = lab.rest().list(PODS)?;
    let waits = pods.iter().filter(|pod| pod["metadata"]["name"] != "runs");
    let asked: Vec<PodRoom> = waits.map(PodRoom::asked_by).collect::<Result<_>>()?;
    let expected = fewest(&autoscaler.free()?, autoscaler.of_one()?, &asked);
    ensure!(expected == 2, "the scenario is another one: {expected}");
    scheduler.eventually(LIMIT, "nodes are bought", || {
        Ok((autoscaler.look()? > 0).then_some(()))
    })?;
    // While they are on their way nothing more is bought.
    buys_no_more(&mut autoscaler)?;
    scheduler.eventually(LIMIT, "the PodGroup is told what would help", || {
        let events = lab.rest().list("/api/v1/namespaces/default/events")?;
        let of_advice = |event: &&Value| event["reason"] == "NodesWouldHelp";
        let told = events.iter().find(of_advice).context("no event")?;
        ensure!(told["involvedObject"]["name"] == "g", "{told}");
        let text = format!("tried, and enough alone: {expected} nodes more like n-0");
        ensure!(told["message"] == text, "{told}");
        let count = scheduler.metric("pumice_helpful_nodes")?;
        Ok((count == Some(expected as f64)).then_some(()))
    })?;
    autoscaler.come()?;
    crate::wait_running(&lab, &scheduler, "g-", count)?;
    buys_no_more(&mut autoscaler)?;
    let bought = autoscaler.scale_ups();
    ensure!(bought == [expected], "{bought:?}, the least is {expected}");
    Ok(())
}

#[test]
fn nothing_is_bought_for_what_a_queue_holds_back() -> Result<()> {
    let (lab, mut autoscaler) = with_autoscaler(1, "2")?;
    create_queue(&lab, "small", "3")?;
    create_queue(&lab, "shut", "8")?;
    let shut = json!({"status": {"state": "Closed"}});
    lab.rest().patch(&format!("{QUEUES}/shut/status"), &shut)?;
    lab.rest().create(PODS, &in_queue("runs", "small", "2"))?;
    let scheduler = Scheduler::start(lab.cluster(), &by_capability()?)?;
    crate::wait_running(&lab, &scheduler, "runs", 1)?;
    // More than the queue may have beside the pod that runs.
    lab.gang("large", "small", 2, 2)?;
    lab.rest().create(PODS, &in_queue("closed", "shut", "1"))?;
    lab.rest().create(PODS, &in_queue("lost", "nowhere", "1"))?;
    // A gang whose other pods nobody has made.
    lab.gang("part", "default", 2, 3)?;
    let expected = [
        ("large-1", "QuotaExceeded"),
        ("closed", "QueueClosed"),
        ("lost", "QueueClosed"),
        ("part-0", "GangIncomplete"),
        ("part-1", "GangIncomplete"),
    ];
    for (pod, expected) in expected {
        scheduler.eventually(LIMIT, &format!("{pod} says {expected}"), || {
            let told = reason(&lab, pod)?.context("nothing is told")?;
            ensure!(told == expected, "{told}");
            Ok(Some(()))
        })?;
    }
    buys_no_more(&mut autoscaler)?;
    // The third pod comes, and all three get nodes.
    lab.rest()
        .create(PODS, &pumice_e2e::member("part-2", "part"))?;
    scheduler.eventually(LIMIT, "the gang runs on nodes that are bought", || {
        autoscaler.look()?;
        autoscaler.come()?;
        Ok((lab.running("part-")? == 3).then_some(()))
    })?;
    buys_no_more(&mut autoscaler)?;
    let bought: usize = autoscaler.scale_ups().iter().sum();
    ensure!(bought == 2, "{bought} nodes");
    Ok(())
}

#[test]
fn a_cluster_without_nodes_gets_those_of_the_job_that_its_queue_admits() -> Result<()> {
    let (lab, mut autoscaler) = with_autoscaler(0, "2")?;
    create_queue(&lab, "small", "5")?;
    let scheduler = Scheduler::start(lab.cluster(), &by_capability()?)?;
    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    // Each alone is within what the queue may have, both together are not.
    for name in ["first", "second"] {
        let mut job = job(name, 4);
        job["spec"]["queue"] = json!("small");
        let container = &mut job["spec"]["tasks"][0]["template"]["spec"]["containers"][0];
        container["resources"]["requests"]["cpu"] = json!("1");
        let jobs = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
        lab.rest().create(jobs, &job)?;
    }
    controllers.eventually(LIMIT, "nodes are bought", || {
        Ok((autoscaler.look()? > 0).then_some(()))
    })?;
    autoscaler.come()?;
    scheduler.eventually(LIMIT, "one Job runs", || {
        let running = [lab.running("first-")?, lab.running("second-")?];
        ensure!(matches!(running, [4, 0] | [0, 4]), "{running:?}");
        Ok(Some(()))
    })?;
    buys_no_more(&mut autoscaler)?;
    let bought = autoscaler.scale_ups();
    ensure!(bought == [2], "{bought:?}");
    Ok(())
}
