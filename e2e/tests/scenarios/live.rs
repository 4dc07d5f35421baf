//! `pumice explain`, `top`, `queues` and `cards` through the API server to the leading scheduler.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{
    ConfigMount, Identity, Lab, LabGuard, NodeShape, PortForwarder, Scheduler, Setup, programs,
    scratch,
};
use serde_json::{Value, json};

use crate::{LIMIT, wait_running};

/// Name of the scheduler's pod, which is its host name.
const POD: &str = "volcano-scheduler-0";

const CONF: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
"#;

/// What a run of the tool came to.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) error: String,
}

pub(crate) fn pumice(arguments: &[&str], kubeconfig: &Path) -> Result<Run> {
    let output = Command::new(programs::ours("pumice")?)
        .args(arguments)
        .env("KUBECONFIG", kubeconfig)
        .output()
        .context("run pumice")?;
    Ok(Run {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        error: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The output of a run that must succeed.
fn shown(lab: &LabGuard, arguments: &[&str]) -> Result<String> {
    let run = pumice(arguments, &lab.cluster().kubeconfig(Identity::Admin))?;
    ensure!(
        run.code == Some(0),
        "{arguments:?}: {:?}\n{}",
        run.code,
        run.error
    );
    Ok(run.out)
}

pub(crate) fn ensure_says(text: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        ensure!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    Ok(())
}

/// A leader in a pod of a node whose kubelet forwards ports.
pub(crate) fn leader_in_a_pod(lab: &LabGuard, forwarder: &PortForwarder) -> Result<Scheduler> {
    lab.rest()
        .create("/api/v1/nodes", &forwarder.node("control"))?;
    let setup = Setup {
        conf: Some(ConfigMount::new(&scratch("live")?, CONF)?.file()),
        ..Setup::default()
    };
    Scheduler::start_in_pod(lab.cluster(), POD, "control", setup)
}

fn gpu_node() -> Value {
    let mut node = NodeShape::default().object("gpu");
    let register = "GPU-aa,10,32768,NVIDIA-Tesla V100,true,hami-core:";
    node["metadata"]["annotations"] = json!({"volcano.sh/node-vgpu-register": register});
    // Nothing else shall run there.
    node["spec"] = json!({"taints": [{"key": "gpu", "effect": "NoSchedule"}]});
    for part in ["allocatable", "capacity"] {
        node["status"][part]["volcano.sh/vgpu-number"] = json!("10");
        node["status"][part]["volcano.sh/vgpu-memory"] = json!("32768");
    }
    node
}

/// A queue at its capability, a gang that no cluster of this size can take.
fn fill(lab: &LabGuard, scheduler: &Scheduler) -> Result<()> {
    lab.nodes(1, "4", "8Gi")?;
    lab.rest().create("/api/v1/nodes", &gpu_node())?;
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "training"},
        "spec": {"weight": 1, "capability": {"cpu": "2", "memory": "64Gi"}},
    });
    let queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
    lab.rest().create(queues, &queue)?;
    lab.gang("runs", "training", 2, 2)?;
    wait_running(lab, scheduler, "runs-", 2)?;
    lab.gang("limited", "training", 1, 1)?;
    lab.gang("large", "default", 9, 9)
}

fn both_gangs_wait(lab: &LabGuard, scheduler: &Scheduler) -> Result<()> {
    scheduler.eventually(LIMIT, "both gangs wait", || {
        let queues: Value = serde_json::from_str(&shown(lab, &["queues", "-o", "json"])?)?;
        let waiting = |name: &str| {
            let all = queues["queues"].as_array();
            let found = all.and_then(|all| all.iter().find(|queue| queue["name"] == name));
            found.is_some_and(|queue| queue["waiting"] == 1)
        };
        Ok((waiting("training") && waiting("default")).then_some(()))
    })
}

#[test]
fn a_running_scheduler_explains_through_the_api_server() -> Result<()> {
    let lab = Lab::take()?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    let scheduler = leader_in_a_pod(&lab, &forwarder)?;
    fill(&lab, &scheduler)?;
    both_gangs_wait(&lab, &scheduler)?;
    let text = shown(&lab, &["explain", "large-0"])?;
    let of_gang = [
        "pod default/large-0",
        "default/large",
        "1st of 1 waiting",
        "of its gang",
    ];
    ensure_says(&text, &of_gang)?;
    let text = shown(&lab, &["explain", "job", "large"])?;
    ensure_says(
        &text,
        &["PodGroup default/large", "9 Pending; needs 9", "To change"],
    )?;

    let text = shown(&lab, &["explain", "queue/training"])?;
    ensure_says(
        &text,
        &["queue training", "Open", "default/limited", "CAPABILITY"],
    )?;
    let text = shown(&lab, &["explain", "pod/limited-0"])?;
    let at_limit = ["queue training", "limit 2, held 2, asked 1"];
    ensure_says(&text, &at_limit)?;
    let queue = shown(&lab, &["explain", "queue/training", "--output", "json"])?;
    let queue: Value = serde_json::from_str(&queue)?;
    assert_eq!(queue["allocated"]["cpu"], "2");
    assert_eq!(queue["capability"]["cpu"], "2");
    assert_eq!(queue["first"][0]["name"], "default/limited");

    let text = shown(&lab, &["cards"])?;
    ensure_says(
        &text,
        &["GPU-aa", "hami-core", "0/32768", "0/10", "healthy"],
    )?;
    let text = shown(&lab, &["top"])?;
    ensure_says(
        &text,
        &[
            "3 nodes",
            "QUEUES",
            "NODES",
            "control",
            "Cordoned",
            "default/large",
        ],
    )?;
    ensure!(
        forwarder.forwarded() > 0,
        "nothing came through the kubelet"
    );

    // The same without the API server.
    let address = format!("http://127.0.0.1:{}", scheduler.port());
    let direct = shown(
        &lab,
        &[
            "explain",
            "queue/training",
            "-o",
            "json",
            "--server",
            &address,
        ],
    )?;
    let direct: Value = serde_json::from_str(&direct)?;
    assert_eq!(direct["allocated"], queue["allocated"]);
    Ok(())
}

#[test]
fn what_keeps_a_user_from_asking_is_said_with_what_to_do() -> Result<()> {
    let lab = Lab::take()?;
    let admin = lab.cluster().kubeconfig(Identity::Admin);
    let refused = |arguments: &[&str], kubeconfig: &Path, parts: &[&str]| -> Result<()> {
        let run = pumice(arguments, kubeconfig)?;
        ensure!(run.code == Some(2), "{:?}\n{}", run.code, run.error);
        ensure_says(&run.error, parts)
    };
    let none = ["there is no Lease volcano-system/volcano", "--server"];
    refused(&["top"], &admin, &none)?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    let scheduler = leader_in_a_pod(&lab, &forwarder)?;
    lab.nodes(1, "4", "8Gi")?;
    lab.gang("train", "default", 1, 1)?;
    wait_running(&lab, &scheduler, "train-", 1)?;
    let near = [
        "pod default/train-1 is not known here",
        "did you mean default/train-0?",
    ];
    refused(&["explain", "pod/train-1"], &admin, &near)?;
    // The scheduler itself may read its lease and pods, but ask for nobody's token.
    let denied = ["grant the verb create on serviceaccounts/token in namespace volcano-system"];
    let as_scheduler = lab.cluster().kubeconfig(Identity::Scheduler);
    refused(&["queues"], &as_scheduler, &denied)?;
    let port = ["port 1 of pod volcano-system/volcano-scheduler-0 cannot be reached"];
    refused(&["top", "--port", "1"], &admin, &port)
}

#[test]
fn a_standby_tells_what_it_would_decide_and_names_the_leader() -> Result<()> {
    let lab = Lab::take()?;
    let elects = |host: &str| Setup {
        elects: true,
        env: vec![("HOSTNAME".to_owned(), host.to_owned())],
        ..Setup::default()
    };
    let leader = Scheduler::start(lab.cluster(), &elects("first"))?;
    leader.eventually(LIMIT, "the first one leads", || {
        Ok((leader.get("/debug/top")?.0 == 200).then_some(()))
    })?;
    let large = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "large", "namespace": "default"},
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "image": "i",
            "resources": {"requests": {"cpu": "4000"}}}]}});
    lab.rest().create(crate::PODS, &large)?;
    let page = "/debug/explain/default/large";
    let message = |text: &str| -> Result<Value> {
        Ok(serde_json::from_str::<Value>(text)?["message"].clone())
    };
    let said = leader.eventually(LIMIT, "the leader says why it waits", || {
        let (status, text) = leader.get(page)?;
        let is_told = status == 200 && text.contains("cpu");
        is_told.then(|| message(&text)).transpose()
    })?;
    let standby = Scheduler::start(lab.cluster(), &elects("second"))?;
    standby.eventually(LIMIT, "the standby says the same", || {
        let (status, text) = standby.get(page)?;
        if status != 200 {
            return Ok(None);
        }
        let page: Value = serde_json::from_str(&text)?;
        let who = page["standby"]["leader"].as_str().unwrap_or_default();
        Ok((message(&text)? == said && who.starts_with("first_")).then_some(()))
    })?;
    let address = format!("http://127.0.0.1:{}", standby.port());
    let asked = ["explain", "large", "-n", "default", "--server", &address];
    let run = pumice(&asked, &lab.cluster().kubeconfig(Identity::Admin))?;
    ensure_says(&run.out, &["cpu"])?;
    let note = "what a replica that stands by would decide; the leader is first_";
    ensure_says(&run.error, &["note: as of 20", note])
}
