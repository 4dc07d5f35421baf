//! Lifecycle policies between kubelets, our scheduler and our controllers.

use std::time::Duration;

use anyhow::{Result, ensure};
use pumice_e2e::Lab;
use serde_json::json;

use super::{JOBS, both, end_pod, look, pod_uids, two_tasks, wait_job, wait_phase};
use crate::{LONG, PODS};

#[test]
fn a_gang_that_lost_its_place_is_restarted_by_a_policy_on_unknown() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = two_tasks("torn");
    object["spec"]["policies"] = json!([{"event": "Unknown", "action": "AbortJob"}]);
    lab.rest().create(JOBS, &object)?;
    wait_phase(&lab, &controllers, "torn", "Running")?;
    // Nothing can be placed any more.
    let closed = json!({"spec": {"unschedulable": true}});
    lab.rest().patch("/api/v1/nodes/n-0", &closed)?;
    std::thread::sleep(Duration::from_millis(500));
    lab.delete(&format!("{PODS}/torn-b-0"))?;
    let torn = wait_phase(&lab, &controllers, "torn", "Aborted")?;
    ensure!(torn.message.contains("Unknown"), "{}", torn.status);
    Ok(())
}

#[test]
fn a_policy_of_the_task_comes_before_one_of_the_job() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let mut object = two_tasks("both");
    object["spec"]["policies"] = json!([{"event": "*", "action": "AbortJob"}]);
    object["spec"]["tasks"][0]["policies"] = json!([{"exitCode": 7, "action": "RestartPod"}]);
    lab.rest().create(JOBS, &object)?;
    wait_phase(&lab, &controllers, "both", "Running")?;
    let before = pod_uids(&lab)?;
    end_pod(&lab, "both-a-1", 7)?;
    // The old one has to be gone first.
    controllers.eventually(LONG, "the pod is another one", || {
        let now = pod_uids(&lab)?;
        let pod = now.get("both-a-1");
        let is_another = pod.is_some() && pod != before.get("both-a-1");
        ensure!(is_another, "the Job is {}", look(&lab, "both")?.status);
        Ok(Some(()))
    })?;
    wait_job(&lab, &controllers, "both", "runs again", |seen| {
        seen.phase == "Running" && seen.retries == 1
    })?;
    // Another code is the Job's.
    end_pod(&lab, "both-a-1", 8)?;
    wait_phase(&lab, &controllers, "both", "Aborted").map(|_| ())
}
