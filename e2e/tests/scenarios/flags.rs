//! The command line of vc-scheduler.

use anyhow::{Result, ensure};
use pumice_e2e::{ConfigMount, Identity, Lab, LabGuard, Scheduler, Setup, scratch};
use serde_json::{Value, json};

use crate::live::{ensure_says, pumice};
use crate::{LIMIT, PODS, QUIET, bare_pod, stays_pending, wait_running};

/// The flags of a chart's Deployment and then some, with the argument that the chart meant for a
/// shell.
const FLAGS: [&str; 30] = [
    "--logtostderr",
    "--scheduler-name=volcano",
    "--scheduler-name=second",
    "--schedule-period=100ms",
    "--resync-period=0",
    "--default-queue=default",
    "--enable-pprof=false",
    "--priority-class=true",
    "--csi-storage=true",
    "--kube-api-qps=2000",
    "--kube-api-burst=2000",
    "--minimum-feasible-nodes=100",
    "--minimum-percentage-nodes-to-find=5",
    "--percentage-nodes-to-find=0",
    "--cache-dumper=true",
    "--node-worker-threads=20",
    "--gate-removal-worker-num=5",
    "--ignored-provisioners=example.com/a,example.com/b",
    "--resource-sync-timeout=60s",
    "--disable-default-scheduler-config=false",
    "--scheduler-sharding-mode=none",
    "--scheduler-sharding-name=volcano",
    "--leader_elect_resource_name=volcano",
    "--leader-elect-resource-namespace=volcano-system",
    "--leader-elect-resource-lock=leases",
    "--feature-gates=PriorityClass=true,CronVolcanoJobSupport=true",
    "--log-flush-frequency=5s",
    "-v=3",
    "--vmodule=cache=4",
    "2>&1",
];

#[test]
fn vc_schedulers_flags_are_accepted() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let conf = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../config/volcano-scheduler.conf"
    ))?;
    let setup = Setup {
        conf: Some(ConfigMount::new(&scratch("flags")?, &conf)?.file()),
        flags: FLAGS.map(str::to_owned).to_vec(),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("first", Some("1")))?;
    let mut second = bare_pod("second", Some("1"));
    second["spec"]["schedulerName"] = json!("second");
    lab.rest().create(PODS, &second)?;
    wait_running(&lab, &scheduler, "first", 1)?;
    wait_running(&lab, &scheduler, "second", 1)?;
    let (status, text) = scheduler.get_health("/healthz")?;
    assert_eq!((status, text.trim()), (200, "ok"));
    let (status, metrics) = scheduler.get("/metrics")?;
    assert_eq!(status, 200);
    ensure!(
        metrics.contains("volcano_e2e_scheduling_latency_milliseconds"),
        "{metrics}"
    );
    Ok(())
}

#[test]
fn only_selected_nodes_are_used() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "40", "8Gi")?;
    let shape = pumice_e2e::NodeShape {
        labels: vec![("pool", "ours".to_owned())],
        ..pumice_e2e::NodeShape::default()
    };
    lab.rest().create("/api/v1/nodes", &shape.object("ours"))?;
    let setup = Setup {
        flags: vec!["--node-selector=pool:ours".to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create(PODS, &bare_pod("fits", Some("1")))?;
    lab.rest().create(PODS, &bare_pod("huge", Some("40")))?;
    wait_running(&lab, &scheduler, "fits", 1)?;
    assert_eq!(
        lab.bound("fits")?.get("default/fits").map(String::as_str),
        Some("ours")
    );
    stays_pending(&lab, "huge")
}

#[test]
fn a_dry_run_decides_and_writes_nothing() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    // The other scheduler's: a dry run makes none.
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "default"},
        "spec": {"weight": 1},
    });
    let queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
    lab.rest().create(queues, &queue)?;
    let audit = lab.cluster().folder().join("audit.log");
    let lines = || -> Result<usize> {
        std::thread::sleep(QUIET);
        Ok(std::fs::read_to_string(&audit)?.lines().count())
    };
    let before = lines()?;
    let setup = Setup {
        flags: vec!["--dry-run".to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest()
        .create(PODS, &bare_pod("only-shown", Some("1")))?;
    scheduler.eventually(LIMIT, "the decision is shown", || {
        let (status, text) = scheduler.get("/debug/decisions")?;
        ensure!(status == 200, "{status}: {text}");
        Ok(text.contains("only-shown").then_some(()))
    })?;
    lab.rest().create(PODS, &bare_pod("waits", Some("40")))?;
    scheduler.eventually(LIMIT, "what waits is shown beside the decisions", || {
        let (_, text) = scheduler.get("/debug/decisions")?;
        let shown: Value = serde_json::from_str(&text)?;
        let time = shown["decisions"][0]["time"].as_str().unwrap_or_default();
        ensure!(
            time.ends_with('Z'),
            "a time as RFC 3339 writes it: {time:?}"
        );
        let first = &shown["waiting"]["first"][0];
        Ok((first["name"] == "default/waits").then_some(()))
    })?;
    stays_pending(&lab, "only-shown")?;
    assert_eq!(lines()?, before, "writes of a dry run");
    beside_another_scheduler(&lab, &scheduler)
}

/// What the other scheduler does is told beside what the dry run decided.
fn beside_another_scheduler(lab: &LabGuard, scheduler: &Scheduler) -> Result<()> {
    let other = |pod: &str| {
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "n-0"}});
        lab.rest()
            .create(&format!("{PODS}/{pod}/binding"), &binding)
    };
    let address = format!("http://127.0.0.1:{}", scheduler.port());
    let compared = |format: &str| {
        let words = [
            "compare",
            "--live",
            "--exit-code",
            "--output",
            format,
            "--server",
            &address,
        ];
        pumice(&words, &lab.cluster().kubeconfig(Identity::Admin))
    };
    let run = compared("table")?;
    ensure!(run.code == Some(3), "{:?} {}", run.code, run.error);
    ensure_says(&run.out, &["default/only-shown", "waits there since"])?;
    other("only-shown")?;
    other("waits")?;
    scheduler.eventually(LIMIT, "both are compared", || {
        let shown: Value = serde_json::from_str(&compared("json")?.out)?;
        let sums = &shown["sums"];
        Ok(
            (sums["sameNode"] == 1 && sums["theirsAlone"] == 1 && sums["oursAlone"] == 0)
                .then_some(()),
        )
    })?;
    let run = compared("table")?;
    ensure_says(&run.out, &["default/waits", "cpu"])
}

#[test]
fn a_pending_pod_is_explained() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("huge", Some("40")))?;
    scheduler.eventually(LIMIT, "the reason is explained", || {
        let (status, text) = scheduler.get("/debug/explain/default/huge")?;
        Ok((status == 200 && text.contains("cpu")).then_some(()))
    })
}
