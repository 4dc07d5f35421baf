//! Commands to Jobs, as kubectl and vcctl make them.

use anyhow::{Result, ensure};
use pumice_e2e::{Controllers, Lab, LabGuard};
use serde_json::json;

use super::{JOBS, both, command, end_pod, events, job, look, pod_uids, wait_job, wait_phase};
use crate::LIMIT;

const COMMANDS: &str = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";

/// A Job that runs.
fn running(lab: &LabGuard, controllers: &Controllers, name: &str) -> Result<()> {
    lab.rest().create(JOBS, &job(name, 2))?;
    wait_phase(lab, controllers, name, "Running").map(|_| ())
}

/// Every Command is carried out or refused, and then gone.
fn wait_no_commands(lab: &LabGuard, controllers: &Controllers) -> Result<()> {
    controllers.eventually(LIMIT, "no Command is left", || {
        Ok(lab.rest().list(COMMANDS)?.is_empty().then_some(()))
    })
}

/// Phase before, action, phase after, retries.
const TABLE: [(&str, &str, &str, i64); 16] = [
    ("Running", "AbortJob", "Aborted", 0),
    ("Running", "CompleteJob", "Completed", 0),
    ("Running", "TerminateJob", "Terminated", 0),
    ("Running", "RestartJob", "Running", 1),
    ("Running", "ResumeJob", "Running", 0),
    ("Pending", "AbortJob", "Aborted", 0),
    ("Pending", "CompleteJob", "Completed", 0),
    ("Pending", "TerminateJob", "Terminated", 0),
    ("Pending", "RestartJob", "Pending", 1),
    ("Aborted", "ResumeJob", "Running", 1),
    ("Aborted", "RestartJob", "Aborted", 0),
    ("Aborted", "CompleteJob", "Aborted", 0),
    ("Completed", "ResumeJob", "Completed", 0),
    ("Completed", "RestartJob", "Completed", 0),
    ("Completed", "AbortJob", "Completed", 0),
    ("Terminated", "ResumeJob", "Terminated", 0),
];

#[test]
fn commands_do_in_each_phase_what_the_table_says() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "32", "256Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    let name_of = |at: usize| format!("told-{at}");
    for (at, (before, ..)) in TABLE.iter().enumerate() {
        let mut object = job(&name_of(at), 2);
        if *before == "Pending" {
            let pod = &mut object["spec"]["tasks"][0]["template"]["spec"];
            pod["nodeSelector"] = json!({"no": "node"});
        }
        lab.rest().create(JOBS, &object)?;
    }
    for (at, (before, ..)) in TABLE.iter().enumerate() {
        let first = if *before == "Pending" {
            "Pending"
        } else {
            "Running"
        };
        wait_phase(&lab, &controllers, &name_of(at), first)?;
        let way = match *before {
            "Aborted" => "AbortJob",
            "Completed" => "CompleteJob",
            "Terminated" => "TerminateJob",
            _ => continue,
        };
        command(&lab, &name_of(at), way)?;
        wait_phase(&lab, &controllers, &name_of(at), before)?;
    }
    let pods_before = pod_uids(&lab)?;
    for (at, (_, action, ..)) in TABLE.iter().enumerate() {
        command(&lab, &name_of(at), action)?;
    }
    wait_no_commands(&lab, &controllers)?;
    for (at, (before, action, after, retries)) in TABLE.iter().enumerate() {
        let name = name_of(at);
        let what = format!("is {after} after {action} in {before}");
        wait_job(&lab, &controllers, &name, &what, |seen| {
            (seen.phase.as_str(), seen.retries) == (*after, *retries)
        })?;
        let told = events(&lab, &name)?;
        let has_effect = before != after || *retries > 0;
        let word = if has_effect {
            "CommandIssued"
        } else {
            "CommandIgnored"
        };
        ensure!(
            told.iter().any(|line| line.starts_with(word)),
            "{what}: {told:?}"
        );
        let pod = format!("{name}-worker-0");
        let (old, new) = (pods_before.get(&pod), pod_uids(&lab)?.get(&pod).cloned());
        match (*before, *action, *after) {
            ("Running", "RestartJob", _) => ensure!(new.as_ref() != old, "{what}: {new:?}"),
            ("Running", "ResumeJob", _) => ensure!(new.as_ref() == old, "{what}: {new:?}"),
            (_, _, "Aborted" | "Completed" | "Terminated") => {
                ensure!(new.is_none(), "{what}: pod {new:?}");
            }
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn a_suspended_job_keeps_what_has_finished_and_goes_on_with_the_rest() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    running(&lab, &controllers, "paused")?;
    end_pod(&lab, "paused-worker-0", 0)?;
    wait_job(&lab, &controllers, "paused", "counts it", |seen| {
        seen.status["succeeded"] == 1
    })?;
    let before = pod_uids(&lab)?;
    command(&lab, "paused", "AbortJob")?;
    let aborted = wait_phase(&lab, &controllers, "paused", "Aborted")?;
    assert_eq!(aborted.status["succeeded"], 1, "{}", aborted.status);
    let kept = pod_uids(&lab)?;
    assert_eq!(kept.get("paused-worker-0"), before.get("paused-worker-0"));
    assert_eq!(kept.get("paused-worker-1"), None);
    command(&lab, "paused", "ResumeJob")?;
    wait_phase(&lab, &controllers, "paused", "Running")?;
    end_pod(&lab, "paused-worker-1", 0)?;
    let done = wait_phase(&lab, &controllers, "paused", "Completed")?;
    assert_eq!(done.status["succeeded"], 2, "{}", done.status);
    let now = pod_uids(&lab)?;
    assert_eq!(now.get("paused-worker-0"), before.get("paused-worker-0"));
    Ok(())
}

#[test]
fn the_user_tool_suspends_and_resumes_and_a_command_for_nobody_goes() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "10", "64Gi")?;
    let (controllers, _scheduler) = both(&lab)?;
    running(&lab, &controllers, "tool")?;
    let folder = lab.cluster().folder().to_owned();
    lab.cluster().shell(&folder, "pumice job suspend tool")?;
    wait_phase(&lab, &controllers, "tool", "Aborted")?;
    lab.cluster().shell(&folder, "pumice job resume tool")?;
    wait_phase(&lab, &controllers, "tool", "Running")?;
    let orphan = json!({
        "apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command",
        "metadata": {"name": "orphan", "namespace": "default"},
        "target": {
            "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "nobody", "uid": "",
        },
        "action": "AbortJob",
    });
    lab.rest().create(COMMANDS, &orphan)?;
    wait_no_commands(&lab, &controllers)?;
    assert_eq!(look(&lab, "tool")?.phase, "Running");
    Ok(())
}
