//! Pods go where the kubelet will give them CPUs of NUMA nodes (spec/02 §22).

use anyhow::Result;
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, scratch};
use serde_json::{Map, Value, json};

use crate::{LIMIT, PODS, stays_pending, wait_running};

const NUMATOPOLOGIES: &str = "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies";

const CONF: &str = r#"
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: numa-aware
"#;

/// What a node tells of eight CPUs, the first four of NUMA node 0 and the others of 1; of these some are free.
fn numatopology(node: &str, free: &str) -> Value {
    let place = |cpu: usize| {
        let (numa, core) = (cpu / 4, cpu % 4);
        let at = json!({"numa": numa, "socket": numa, "core": core});
        (cpu.to_string(), at)
    };
    let cpus: Map<String, Value> = (0..8).map(place).collect();
    json!({
        "apiVersion": "nodeinfo.volcano.sh/v1alpha1", "kind": "Numatopology",
        "metadata": {"name": node},
        "spec": {
            "policies": {
                "CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node",
            },
            "numares": {"cpu": {"allocatable": free, "capacity": 8}},
            "cpuDetail": cpus,
        },
    })
}

/// A Guaranteed pod that asks for whole CPUs, all of one NUMA node.
fn pod(lab: &LabGuard, name: &str, cpu: &str) -> Result<()> {
    let amounts = json!({"cpu": cpu, "memory": "1Gi"});
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": {"volcano.sh/numa-topology-policy": "single-numa-node"},
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [{
                "name": "main", "image": "example.com/none",
                "resources": {"requests": amounts, "limits": amounts},
            }],
        },
    });
    lab.rest().create(PODS, &pod)?;
    Ok(())
}

/// Waits until the pod says why it waits.
fn wait_told(lab: &LabGuard, scheduler: &Scheduler, name: &str, why: &str) -> Result<()> {
    scheduler.eventually(LIMIT, &format!("{name} waits: {why}"), || {
        let text = lab.rest().get(&format!("{PODS}/{name}"))?["status"].to_string();
        Ok(text.contains(why).then_some(()))
    })
}

fn start(lab: &LabGuard) -> Result<(ConfigMount, Scheduler)> {
    let mount = ConfigMount::new(&scratch("conf")?, CONF)?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    Ok((mount, scheduler))
}

#[test]
fn a_node_of_which_nothing_is_told_takes_no_such_pod_and_what_is_broken_is_told() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "8", "64Gi")?;
    // One is of a node that does not exist, the other cannot be read.
    let elsewhere = numatopology("elsewhere", "0-7");
    lab.rest().create(NUMATOPOLOGIES, &elsewhere)?;
    let mut broken = numatopology("n-0", "0-7");
    broken["spec"]["numares"]["cpu"]["allocatable"] = json!("zero to seven");
    lab.rest().create(NUMATOPOLOGIES, &broken)?;
    let (_mount, scheduler) = start(&lab)?;
    pod(&lab, "p-0", "2")?;
    wait_told(&lab, &scheduler, "p-0", "numa info is empty")?;
    scheduler.eventually(LIMIT, "the broken object says what is wrong", || {
        let told = lab
            .cluster()
            .kubectl(&["describe", "numatopology", "n-0"], "")?;
        Ok((told.contains("Warning") && told.contains("zero to seven")).then_some(()))
    })?;
    stays_pending(&lab, "p-")?;
    let spec = &numatopology("n-0", "0-7")["spec"];
    let path = format!("{NUMATOPOLOGIES}/n-0");
    lab.rest().patch(&path, &json!({"spec": spec}))?;
    wait_running(&lab, &scheduler, "p-", 1)
}
