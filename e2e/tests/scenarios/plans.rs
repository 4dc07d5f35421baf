//! `pumice plan` through the API server: what it says, and that this is what then happens.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Controllers, Identity, Lab, LabGuard, PortForwarder, Setup, scratch};
use serde_json::{Value, json};

use crate::controllers::job;
use crate::live::{Run, ensure_says, leader_in_a_pod, pumice};
use crate::{LIMIT, PODS};

const JOBS: &str = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";

/// A Job of so many pods, each of which takes half of a node.
fn halves(name: &str, replicas: usize) -> Value {
    let mut object = job(name, replicas);
    object["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] =
        json!("2");
    object
}

/// An hour after its pods got their nodes, two at the latest.
fn that_ends(mut job: Value) -> Value {
    job["metadata"]["annotations"] = json!({"pumice.sh/run-time": "1h"});
    job["spec"]["tasks"][0]["template"]["spec"]["activeDeadlineSeconds"] = json!(7200);
    job
}

fn plan(lab: &LabGuard, words: &[&str]) -> Result<Run> {
    let arguments = [&["plan"], words].concat();
    pumice(&arguments, &lab.cluster().kubeconfig(Identity::Admin))
}

/// It ended with that code; otherwise what it printed.
fn ends_with(run: &Run, code: i32) -> Result<()> {
    ensure!(
        run.code == Some(code),
        "{:?} {}{}",
        run.code,
        run.out,
        run.error
    );
    Ok(())
}

/// Writes a manifest to be asked about.
fn manifest(folder: &Path, object: &Value) -> Result<String> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, object.to_string())?;
    Ok(path.display().to_string())
}

/// Nodes of pods by name.
fn nodes_of(pods: &[Value]) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pair = |pod: &Value| {
        (
            text(&pod["metadata"]["name"]),
            text(&pod["spec"]["nodeName"]),
        )
    };
    pods.iter().map(pair).collect()
}

/// In the namespace that is named.
fn a_workload_is_planned_as_its_controllers_would_make_it(
    lab: &LabGuard,
    folder: &Path,
    job: &Value,
) -> Result<()> {
    let template = &job["spec"]["tasks"][0]["template"];
    let mut web = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}});
    web["spec"]["template"]["metadata"] = json!({"labels": {"app": "web"}});
    web["spec"]["template"]["spec"]["schedulerName"] = json!("volcano");
    let web = manifest(folder, &web)?;
    let run = plan(lab, &["-f", &web, "-n", "team"])?;
    ends_with(&run, 0)?;
    ensure_says(
        &run.out,
        &["team/podgroup-web in queue", "team/web-0", "team/web-1"],
    )
}

/// By the run time on the Job that runs, and at the latest by the deadline of its pods.
fn when_the_next_one_starts_is_told(lab: &LabGuard, controllers: &Controllers) -> Result<()> {
    let when = |words: &[&str]| {
        let arguments = [&["when"], words].concat();
        pumice(&arguments, &lab.cluster().kubeconfig(Identity::Admin))
    };
    lab.rest().create(JOBS, &halves("next", 2))?;
    controllers.eventually(LIMIT, "it is told when the next Job starts", || {
        let run = when(&["next"])?;
        ends_with(&run, 0)?;
        ensure_says(
            &run.out,
            &["starts in 59m", "at the latest in 119m", "by its run time"],
        )?;
        Ok(Some(()))
    })?;
    let run = when(&["small", "-o", "json"])?;
    let told: Value = serde_json::from_str(&run.out)?;
    ensure!(told["jobs"][0]["hasStarted"] == true, "{told:#}");
    let run = when(&["--queue", "default"])?;
    ends_with(&run, 0)?;
    ensure_says(&run.out, &["AT THE LATEST", "default/next", "59m"])?;
    let list = |words: &[&str]| {
        let arguments = [&["queue", "list", "--start"], words].concat();
        pumice(&arguments, &lab.cluster().kubeconfig(Identity::Admin))
    };
    for words in [Vec::new(), vec!["default"]] {
        let run = list(&words)?;
        ends_with(&run, 0)?;
        ensure_says(&run.out, &["QUEUE", "default/next", "59m"])?;
    }
    ends_with(&list(&["nobodys"])?, 2)?;
    let run = when(&["--queue", "nobodys"])?;
    ends_with(&run, 2)?;
    let run = when(&["smal"])?;
    ends_with(&run, 2)?;
    ensure_says(&run.error, &["default/smal is not known here"])
}

#[test]
fn what_is_planned_is_what_then_happens_and_nothing_before() -> Result<()> {
    let lab = Lab::take()?;
    let folder = scratch("plan")?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    let scheduler = leader_in_a_pod(&lab, &forwarder)?;
    lab.nodes(2, "4", "8Gi")?;
    let small = that_ends(halves("small", 3));
    let file = manifest(&folder, &small)?;
    let planned = scheduler.eventually(
        LIMIT,
        "the nodes are known, and the plan is that it runs",
        || {
            let run = plan(&lab, &["-f", &file, "-o", "json"])?;
            ends_with(&run, 0)?;
            Ok(Some(serde_json::from_str::<Value>(&run.out)?))
        },
    )?;
    let pods = planned["jobs"][0]["pods"].as_array().context("pods")?;
    let places = pods.iter().filter_map(|pod| {
        let name = pod["pod"].as_str()?.strip_prefix("default/")?;
        Some((name.to_owned(), pod["node"].as_str()?.to_owned()))
    });
    let places: BTreeMap<String, String> = places.collect();
    ensure!(places.len() == 3, "{planned:#}");
    ensure!(lab.rest().list(PODS)?.is_empty());
    // The first to list a kind may be told that the API server is not ready for it.
    scheduler.eventually(LIMIT, "there is no Job", || {
        Ok(lab.rest().list(JOBS)?.is_empty().then_some(()))
    })?;

    let large = manifest(&folder, &halves("large", 7))?;
    let run = plan(&lab, &["-f", &large])?;
    ends_with(&run, 3)?;
    let enough = [
        "it waits; nothing of this was done",
        "2 nodes more like n-0",
    ];
    ensure_says(&run.out, &enough)?;
    let run = plan(&lab, &["-f", &large, "--add-nodes", "2", "--like", "n-0"])?;
    ends_with(&run, 0)?;

    a_workload_is_planned_as_its_controllers_would_make_it(&lab, &folder, &small)?;

    let controllers = Controllers::start(lab.cluster(), &Setup::default())?;
    lab.rest().create(JOBS, &small)?;
    controllers.eventually(LIMIT, "the pods are where it was planned", || {
        let now = nodes_of(&lab.rest().list(PODS)?);
        ensure!(now == places, "{now:?}, planned {places:?}");
        Ok(Some(()))
    })?;

    let run = plan(&lab, &["small", "--drain", "n-0"])?;
    ends_with(&run, 3)?;
    let run = plan(&lab, &["small", "--drain", "n-9"])?;
    ends_with(&run, 2)?;
    ensure_says(&run.error, &["node n-9 is not known here"])?;
    ensure!(nodes_of(&lab.rest().list(PODS)?) == places);
    when_the_next_one_starts_is_told(&lab, &controllers)
}
