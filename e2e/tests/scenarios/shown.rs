//! What a user sees with kubectl: reasons that are the present ones, and who is told of faults.

use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, restricted, scratch};
use serde_json::json;

use crate::{GROUPS, LIMIT, LONG, PODS, bare_pod, wait_running};

/// Namespace and name of a pod that stands for the scheduler's own.
const OWN_POD: &str = "/api/v1/namespaces/volcano-system/pods/scheduler-0";

const BROKEN: &str = "actions: \"enqueue, fly\"\ntiers:\n- plugins:\n  - name: gang\n";

fn describe(lab: &LabGuard, what: &[&str]) -> Result<String> {
    let text = lab.cluster().kubectl(&[&["describe"], what].concat(), "")?;
    let events = text.split_once("Events:").map(|(_, events)| events);
    Ok(events.unwrap_or_default().to_owned())
}

/// Waits until the events that `kubectl describe` shows contain a text.
fn wait_shown(
    (lab, scheduler): (&LabGuard, &Scheduler),
    limit: Duration,
    what: &[&str],
    text: &str,
) -> Result<String> {
    let wanted = format!("kubectl describe {what:?} shows {text:?}");
    scheduler.eventually(limit, &wanted, || {
        let events = describe(lab, what)?;
        Ok(events.contains(text).then_some(events))
    })
}

#[test]
fn a_reason_that_changes_soon_after_the_first_is_shown() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    lab.cluster().kubectl(&["cordon", "n-0"], "")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(PODS, &bare_pod("p", Some("2")))?;
    let seen = (&lab, &scheduler);
    wait_shown(seen, LIMIT, &["pod", "p"], "were unschedulable")?;
    lab.cluster()
        .kubectl(&["taint", "node", "n-0", "x=y:NoSchedule"], "")?;
    lab.cluster().kubectl(&["uncordon", "n-0"], "")?;
    let events = wait_shown(seen, LONG, &["pod", "p"], "untolerated taint")?;
    ensure!(!events.contains("were unschedulable"), "{events}");
    Ok(())
}

#[test]
fn a_reason_that_stands_is_shown_again_when_events_are_forgotten_and_after_a_restart() -> Result<()>
{
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let forgetful = Setup {
        flags: vec!["--event-ttl=24s".to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &forgetful)?;
    lab.rest().create(PODS, &bare_pod("p", Some("40")))?;
    let forget = || {
        lab.cluster()
            .kubectl(&["delete", "events", "--all", "--wait=false"], "")
    };
    for _ in 0..2 {
        wait_shown((&lab, &scheduler), LIMIT, &["pod", "p"], "FailedScheduling")?;
        forget()?;
    }
    drop(scheduler);
    forget()?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    wait_shown((&lab, &scheduler), LIMIT, &["pod", "p"], "FailedScheduling")?;
    Ok(())
}

#[test]
fn queues_every_cluster_has_are_made_again() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
    for name in ["default", "root"] {
        let path = format!("{queues}/{name}");
        let uid = scheduler.eventually(LIMIT, "the queue is made", || {
            Ok(Some(lab.rest().get(&path)?["metadata"]["uid"].clone()))
        })?;
        lab.delete(&path)?;
        scheduler.eventually(LIMIT, "the queue is made again", || {
            let queue = lab.rest().get(&path)?;
            Ok((queue["metadata"]["uid"] != uid).then_some(()))
        })?;
    }
    lab.rest().create(PODS, &bare_pod("p", Some("1")))?;
    wait_running(&lab, &scheduler, "p", 1)
}

#[test]
fn groups_that_run_are_told_that_their_queue_was_deleted() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "64Gi")?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    let queues = "/apis/scheduling.volcano.sh/v1beta1/queues";
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "short-lived"}, "spec": {"weight": 1},
    });
    lab.rest().create(queues, &queue)?;
    lab.gang("runs", "short-lived", 2, 2)?;
    wait_running(&lab, &scheduler, "runs-", 2)?;
    ensure!(lab.rest().get(&format!("{GROUPS}/runs"))?["spec"]["queue"] == "short-lived");
    lab.delete(&format!("{queues}/short-lived"))?;
    let seen = (&lab, &scheduler);
    wait_shown(seen, LIMIT, &["pg", "runs"], "QueueDeleted")?;
    wait_running(&lab, &scheduler, "runs-", 2)
}

#[test]
fn an_invalid_configuration_in_a_config_map_is_shown_on_it() -> Result<()> {
    let lab = Lab::take()?;
    let write = |text: &str| {
        lab.cluster().apply(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  namespace: volcano-system\n  name: \
             volcano-scheduler-configmap\ndata:\n  volcano-scheduler.conf: {}\n",
            serde_json::Value::from(text)
        ))
    };
    write(&BROKEN.replace("fly", "allocate"))?;
    let flag = "--scheduler-configmap=volcano-system/volcano-scheduler-configmap";
    let setup = Setup {
        flags: vec![flag.to_owned()],
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    write(BROKEN)?;
    let map = ["cm", "-n", "volcano-system", "volcano-scheduler-configmap"];
    let seen = (&lab, &scheduler);
    let shown = wait_shown(seen, LIMIT, &map, "InvalidConfiguration")?;
    ensure!(shown.contains("line 1, column"), "{shown}");
    let log = scheduler.log();
    ensure!(
        log.contains("\n    error[E0202"),
        "a picture of lines:\n{log}"
    );
    write(&BROKEN.replace("fly", "backfill"))?;
    wait_shown(seen, LIMIT, &map, "it is valid again")?;
    Ok(())
}

/// A scheduler that believes to run in a pod.
pub fn in_a_pod(lab: &LabGuard, setup: Setup) -> Result<Setup> {
    let mut own = bare_pod("scheduler-0", None);
    own["spec"]["schedulerName"] = json!("nobody");
    lab.rest().delete_now(OWN_POD)?;
    lab.rest()
        .create("/api/v1/namespaces/volcano-system/pods", &restricted(own))?;
    let env = [
        ("POD_NAMESPACE", "volcano-system"),
        ("POD_NAME", "scheduler-0"),
    ];
    Ok(Setup {
        env: env.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec(),
        ..setup
    })
}

#[test]
fn an_invalid_configuration_in_a_file_is_shown_on_the_scheduler_s_pod() -> Result<()> {
    let lab = Lab::take()?;
    let mut mount = ConfigMount::new(&scratch("conf")?, &BROKEN.replace("fly", "allocate"))?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &in_a_pod(&lab, setup)?)?;
    mount.replace(BROKEN)?;
    let own = ["pod", "-n", "volcano-system", "scheduler-0"];
    wait_shown((&lab, &scheduler), LIMIT, &own, "InvalidConfiguration")?;
    Ok(())
}

#[test]
fn missing_definitions_are_shown_on_the_scheduler_s_pod() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.will_change_installation();
    let kind = "podgroups.scheduling.volcano.sh";
    lab.cluster()
        .kubectl(&["delete", "crd", kind, "--timeout=30s"], "")?;
    let setup = in_a_pod(&lab, Setup::default())?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    let own = ["pod", "-n", "volcano-system", "scheduler-0"];
    let seen = (&lab, &scheduler);
    let shown = wait_shown(seen, LIMIT, &own, "MissingDefinitions")?;
    ensure!(shown.contains("PodGroup not installed"), "{shown}");
    lab.cluster().install()?;
    wait_shown(seen, LONG, &own, "DefinitionsInstalled")?;
    Ok(())
}

#[test]
fn two_schedulers_for_the_same_pods_are_told() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "40", "64Gi")?;
    let schedulers = [(), ()].map(|()| Scheduler::start(lab.cluster(), &Setup::default()));
    let [one, other] = schedulers;
    let (one, other) = (one?, other?);
    let pods = (0..30).map(|n| bare_pod(&format!("p-{n}"), Some("1")));
    lab.rest().create_all(PODS, pods.collect(), 16)?;
    wait_running(&lab, &one, "p-", 30)?;
    one.eventually(LIMIT, "a pod says that two schedulers want it", || {
        let events = lab.rest().list("/api/v1/namespaces/default/events")?;
        let told = events
            .iter()
            .any(|e| e["reason"] == "BoundByAnotherScheduler");
        Ok(told.then_some(()))
    })?;
    let logs = one.log() + &other.log();
    ensure!(logs.contains("another scheduler has bound it"), "{logs}");
    Ok(())
}
