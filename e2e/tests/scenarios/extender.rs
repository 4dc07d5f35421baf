//! An extender has a word on decisions, and is told of them. One that is slow or lies hurts nobody else.

use anyhow::{Result, ensure};
use pumice_e2e::{ConfigMount, Lab, LabGuard, Scheduler, Setup, scratch};
use pumice_scripted::{Answer, Seen, Server};
use serde_json::{Value, json};

use crate::{LIMIT, LONG, PODS, bare_pod, stays_pending, wait_running};

/// A resource that nodes offer, and on which the extender has a word.
const LICENCE: &str = "example.com/licence";

/// The usual plugins and an extender with these arguments.
fn conf(extender: &Server, arguments: &[&str]) -> String {
    let url = extender.url();
    let mut text = format!(
        "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n- \
         plugins:\n  - name: predicates\n  - name: proportion\n  - name: nodeorder\n  - name: extender\n    \
         arguments:\n      extender.urlPrefix: {url}\n      extender.httpTimeout: 500ms\n"
    );
    for argument in arguments {
        text.push_str(&format!("      extender.{argument}\n"));
    }
    text
}

fn start(lab: &LabGuard, text: &str) -> Result<(ConfigMount, Scheduler)> {
    let mount = ConfigMount::new(&scratch("conf")?, text)?;
    let setup = Setup {
        conf: Some(mount.file()),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    Ok((mount, scheduler))
}

/// Waits until an event on a pod, or its condition, contains a text.
fn wait_told(lab: &LabGuard, scheduler: &Scheduler, pod: &str, text: &str) -> Result<()> {
    let what = format!("{pod} is told: {text}");
    scheduler.eventually(LONG, &what, || {
        let object = lab.rest().get(&format!("{PODS}/{pod}"))?;
        let conditions = object["status"]["conditions"].to_string();
        let events = lab.rest().list("/api/v1/namespaces/default/events")?;
        let tells = |event: &Value| {
            let message = event["message"].as_str().unwrap_or_default();
            event["involvedObject"]["name"] == pod && message.contains(text)
        };
        let is_told = conditions.contains(text) || events.iter().any(tells);
        Ok(is_told.then_some(()))
    })
}

fn admits(vote: i64) -> impl FnMut(&Seen) -> Answer + Send + 'static {
    move |seen| {
        let answer = match seen.path.as_str() {
            "/predicate" if seen.body["node"]["Name"] == "n-0" => {
                json!({"status": "too old", "code": 3})
            }
            "/jobEnqueueable" => json!({"status": vote}),
            _ => json!({}),
        };
        Answer::Json(200, answer)
    }
}

#[test]
fn an_extender_holds_a_job_back_and_refuses_a_node_and_is_told_what_was_decided() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "4", "8Gi")?;
    let extender = Server::apart(admits(-1));
    let asks = [
        "predicateVerb: predicate",
        "jobEnqueueableVerb: jobEnqueueable",
        "jobEnqueuedVerb: jobEnqueued",
        "allocateFuncVerb: allocate",
        "onSessionOpenVerb: open",
        "onSessionCloseVerb: close",
    ];
    let (_mount, scheduler) = start(&lab, &conf(&extender, &asks))?;
    lab.rest().create(PODS, &bare_pod("a", Some("3")))?;
    wait_told(&lab, &scheduler, "a", "it does not admit the job (said by")?;
    ensure!(extender.sent("/jobEnqueued").is_empty());
    extender.change(admits(1));
    wait_running(&lab, &scheduler, "a", 1)?;
    lab.rest().create(PODS, &bare_pod("b", Some("3")))?;
    wait_told(&lab, &scheduler, "b", "too old (said by")?;
    stays_pending(&lab, "b")?;
    let node = lab.rest().get(&format!("{PODS}/a"))?["spec"]["nodeName"].clone();
    ensure!(node == "n-1", "{node}");
    scheduler.eventually(LIMIT, "the extender is told", || {
        let enqueued = extender.sent("/jobEnqueued").len() >= 2;
        let is_placed = |message: &Value| {
            let task = &message["task"];
            task["Name"] == "a" && task["NodeName"] == "n-1"
        };
        let allocated = extender.sent("/allocate").iter().any(is_placed);
        let has_nodes = |message: &Value| !message["Nodes"]["n-1"].is_null();
        let opened = extender.sent("/open").iter().any(has_nodes);
        let closed = !extender.sent("/close").is_empty();
        Ok((enqueued && allocated && opened && closed).then_some(()))
    })
}

/// Nodes offer licences.
fn offer_licences(lab: &LabGuard) -> Result<()> {
    lab.nodes(2, "4", "8Gi")?;
    for node in ["n-0", "n-1"] {
        let offers = json!({LICENCE: "2"});
        let status = json!({"status": {"capacity": offers, "allocatable": offers}});
        let path = format!("/api/v1/nodes/{node}/status");
        lab.rest().patch(&path, &status)?;
    }
    Ok(())
}

/// A pod that asks for a licence.
fn licensed(name: &str) -> Value {
    let mut pod = bare_pod(name, Some("1"));
    let resources = &mut pod["spec"]["containers"][0]["resources"];
    resources["requests"][LICENCE] = json!("1");
    resources["limits"] = json!({LICENCE: "1"});
    pod
}

#[test]
fn an_extender_that_is_slow_or_lies_keeps_nobody_else_waiting() -> Result<()> {
    let lab = Lab::take()?;
    offer_licences(&lab)?;
    let extender = Server::apart(|_| Answer::Silence);
    let managed = format!("managedResources: [{LICENCE}]");
    let asks = [
        "predicateVerb: predicate",
        "allocateFuncVerb: allocate",
        &managed,
    ];
    let (_mount, scheduler) = start(&lab, &conf(&extender, &asks))?;
    lab.rest().create(PODS, &licensed("licensed"))?;
    lab.rest().create(PODS, &bare_pod("plain", Some("1")))?;
    wait_running(&lab, &scheduler, "plain", 1)?;
    wait_told(&lab, &scheduler, "licensed", "no answer within 500ms")?;
    extender.change(|_| Answer::Text(200, "<html>".to_owned()));
    wait_told(&lab, &scheduler, "licensed", "its answer cannot be read")?;
    lab.rest().create(PODS, &bare_pod("another", Some("1")))?;
    wait_running(&lab, &scheduler, "another", 1)?;
    scheduler.eventually(LONG, "it is left alone", || {
        Ok((scheduler.metric("pumice_extender_up")? == Some(0.0)).then_some(()))
    })?;
    stays_pending(&lab, "licensed")?;
    extender.change(|_| Answer::Json(200, json!({"status": ""})));
    scheduler.eventually(LONG, "the pod is bound once it answers", || {
        Ok((lab.bound("licensed")?.len() == 1).then_some(()))
    })?;
    ensure!(
        extender
            .sent("/allocate")
            .iter()
            .all(|told| told["task"]["Name"] == "licensed")
    );
    Ok(())
}
