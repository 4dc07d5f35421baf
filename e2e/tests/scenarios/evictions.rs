//! Who is evicted for whom on a real API server (spec/07): kubelets take the grace period they are
//! given, a budget says no, and a scheduler is killed between the eviction and the Binding.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, LabGuard, Scheduler, Setup, member, pod_group, scratch};
use serde_json::{Value, json};

use crate::{GROUPS, LIMIT, PODS, wait_running};

const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";

const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// Preempt within a queue, reclaim across them; gangs give up all they have.
const CONF: &str = r#"actions: "enqueue, allocate, preempt, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
    enableReclaimable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// A scheduler's setup with [`CONF`].
fn setup(flags: &[&str]) -> Result<Setup> {
    let path: PathBuf = scratch("evictions")?.join("volcano-scheduler.conf");
    std::fs::write(&path, CONF)?;
    Ok(Setup {
        conf: Some(path),
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
        ..Setup::default()
    })
}

fn classes(lab: &LabGuard) -> Result<()> {
    for (name, value) in [("low", 10), ("high", 100)] {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value,
        });
        lab.rest().create(CLASSES, &class)?;
    }
    Ok(())
}

/// A gang whose PodGroup and pods are of a class, one CPU a pod.
fn gang(
    lab: &LabGuard,
    name: &str,
    queue: &str,
    class: &str,
    pods: usize,
    min: usize,
) -> Result<()> {
    let spec = json!({"minMember": min, "queue": queue, "priorityClassName": class});
    lab.rest().create(GROUPS, &pod_group(name, &spec))?;
    for at in 0..pods {
        let mut pod = member(&format!("{name}-{at}"), name);
        pod["metadata"]["labels"] = json!({"of": name});
        pod["spec"]["priorityClassName"] = json!(class);
        lab.rest().create(PODS, &pod)?;
    }
    Ok(())
}

/// Makes a gang whose PodGroup and pods are of a class, and waits until all its pods run.
fn running_gang(
    lab: &LabGuard,
    scheduler: &Scheduler,
    name: &str,
    queue: &str,
    class: &str,
    pods: usize,
    min: usize,
) -> Result<()> {
    gang(lab, name, queue, class, pods, min)?;
    wait_running(lab, scheduler, &format!("{name}-"), pods)
}

/// Pods with that prefix that are being deleted.
fn going(lab: &LabGuard, prefix: &str) -> Result<Vec<Value>> {
    let mut pods = lab.rest().list(PODS)?;
    pods.retain(|pod| {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        name.starts_with(prefix) && !pod["metadata"]["deletionTimestamp"].is_null()
    });
    Ok(pods)
}

/// Messages of the events about an object with that reason.
fn told(lab: &LabGuard, kind: &str, name: &str, reason: &str) -> Result<Vec<String>> {
    let mut events = lab.rest().list("/api/v1/namespaces/default/events")?;
    events.retain(|event| {
        let about = &event["involvedObject"];
        about["kind"] == kind && about["name"] == name && event["reason"] == reason
    });
    let message = |event: &Value| event["message"].as_str().map(str::to_owned);
    Ok(events.iter().filter_map(message).collect())
}

#[test]
fn a_killed_scheduler_leaves_a_plan_that_the_next_one_finishes_when_the_grace_is_over() -> Result<()>
{
    let lab = Lab::take()?;
    classes(&lab)?;
    lab.nodes(2, "2", "64Gi")?;
    let setup = setup(&[])?;
    let mut scheduler = Scheduler::start(lab.cluster(), &setup)?;
    running_gang(&lab, &scheduler, "low", "default", "low", 4, 1)?;
    // Deleted pods take their time from here on.
    lab.kubelet().pause();
    gang(&lab, "high", "default", "high", 2, 2)?;
    let nominated = || -> Result<usize> {
        let pods = lab.rest().list(PODS)?;
        let named = |pod: &&Value| {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            name.starts_with("high-") && pod["status"]["nominatedNodeName"].is_string()
        };
        Ok(pods.iter().filter(named).count())
    };
    scheduler.eventually(LIMIT, "two go, and two wait for their places", || {
        Ok((going(&lab, "low-")?.len() == 2 && nominated()? == 2).then_some(()))
    })?;
    let whom = "Pod is evicted, because of preempt for PodGroup default/high";
    for pod in going(&lab, "low-")? {
        let name = pod["metadata"]["name"].as_str().context("a name")?;
        let conditions = pod["status"]["conditions"]
            .as_array()
            .context("conditions")?;
        let target = |one: &&Value| one["type"] == "DisruptionTarget" && one["status"] == "True";
        let target = conditions.iter().find(target).context("DisruptionTarget")?;
        ensure!(target["reason"] == "PreemptionByScheduler", "{target}");
        scheduler.eventually(LIMIT, "the victim is told", || {
            Ok(told(&lab, "Pod", name, "Evict")?
                .contains(&whom.to_owned())
                .then_some(()))
        })?;
    }
    scheduler.eventually(LIMIT, "the preemptor is told", || {
        let told = told(&lab, "PodGroup", "high", "Preempting")?;
        Ok(told
            .iter()
            .any(|text| text.contains("preempt evicts 2 pods"))
            .then_some(()))
    })?;
    ensure!(
        lab.bound("high-")?.is_empty(),
        "bound before the grace is over"
    );
    scheduler.process().kill();
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.kubelet().resume();
    wait_running(&lab, &scheduler, "high-", 2)?;
    let left = lab.running("low-")?;
    ensure!(left == 2, "{left} of the others run: nobody else had to go");
    Ok(())
}

#[test]
fn a_budget_that_says_no_keeps_its_pod_and_another_goes() -> Result<()> {
    let lab = Lab::take()?;
    classes(&lab)?;
    lab.nodes(1, "2", "64Gi")?;
    let setup = setup(&["--eviction-method=eviction-api"])?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    running_gang(&lab, &scheduler, "free", "default", "low", 1, 1)?;
    // The younger one would go first.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    running_gang(&lab, &scheduler, "kept", "default", "low", 1, 1)?;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"of": "kept"}}},
    });
    lab.rest().create(BUDGETS, &budget)?;
    running_gang(&lab, &scheduler, "high", "default", "high", 1, 1)?;
    let kept = (lab.running("kept-")?, going(&lab, "kept-")?.len());
    let log = scheduler.log();
    lab.delete(&format!("{BUDGETS}/keep"))?;
    ensure!(kept == (1, 0), "the budget's pod runs, is going: {kept:?}");
    ensure!(log.contains("disruption budget"), "the refusal is logged");
    ensure!(lab.running("free-")? == 0, "somebody went");
    Ok(())
}

#[test]
fn a_queue_gets_back_what_it_deserves() -> Result<()> {
    let lab = Lab::take()?;
    classes(&lab)?;
    lab.nodes(2, "2", "64Gi")?;
    for name in ["mine", "theirs"] {
        let queue = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": name}, "spec": {"weight": 1, "reclaimable": true},
        });
        lab.rest().create(QUEUES, &queue)?;
    }
    let scheduler = Scheduler::start(lab.cluster(), &setup(&[])?)?;
    running_gang(&lab, &scheduler, "theirs", "theirs", "low", 4, 1)?;
    running_gang(&lab, &scheduler, "mine", "mine", "low", 2, 2)?;
    let left = lab.running("theirs-")?;
    ensure!(left == 2, "{left} pods of the other queue run");
    // Numbers follow decisions within a second.
    scheduler.eventually(LIMIT, "the plan is counted", || {
        let plans = scheduler.metric("volcano_eviction_transactions_total")?;
        ensure!(plans >= Some(1.0), "plans that evict: {plans:?}");
        Ok(Some(()))
    })
}
