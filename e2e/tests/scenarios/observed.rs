//! What operators see of where time goes: traces of pods, and the times of the deciding thread.

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Lab, PortForwarder, Scheduler, Setup, scratch};
use pumice_scripted::{Answer, Server};
use serde_json::{Value, json};

use crate::secure::{pumice, user_with};
use crate::{LIMIT, PODS, bare_pod, wait_running};

/// The spans of a pod, the root first, among what a collector was sent.
fn trace_of(pod: &str, sent: &[Value]) -> Option<Vec<Value>> {
    let lists = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let resources = sent.iter().flat_map(|one| lists(one, "resourceSpans"));
    let scopes = resources.flat_map(|one| lists(&one, "scopeSpans"));
    let spans: Vec<Value> = scopes.flat_map(|one| lists(&one, "spans")).collect();
    let is_root = |span: &&Value| attribute(span, "k8s.pod.name") == Some(pod);
    let trace = spans.iter().find(is_root)?["traceId"].clone();
    Some(
        spans
            .into_iter()
            .filter(|span| span["traceId"] == trace)
            .collect(),
    )
}

fn attribute<'a>(span: &'a Value, key: &str) -> Option<&'a str> {
    let mut attributes = span["attributes"].as_array()?.iter();
    attributes.find(|attribute| attribute["key"] == key)?["value"]["stringValue"].as_str()
}

fn nanos(span: &Value, key: &str) -> Result<u64> {
    let text = span[key].as_str().context("a time")?;
    text.parse().context("nanoseconds")
}

#[test]
fn a_collector_gets_the_trace_of_a_pod_and_diag_says_where_the_time_went() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let forwarder = PortForwarder::start(lab.cluster())?;
    lab.rest()
        .create("/api/v1/nodes", &forwarder.node("control"))?;
    // Whoever takes any message in JSON and says that it is well is a collector.
    let collector = Server::apart(|_| Answer::Json(200, json!({})));
    let setup = Setup {
        flags: vec![format!("--tracing-endpoint={}", collector.url())],
        ..Setup::default()
    };
    let scheduler =
        Scheduler::start_in_pod(lab.cluster(), "volcano-scheduler-0", "control", setup)?;
    let mut gated = bare_pod("gated", Some("1"));
    gated["spec"]["schedulingGates"] = json!([{"name": "example.com/later"}]);
    lab.rest().create(PODS, &gated)?;
    scheduler.eventually(LIMIT, "the scheduler knows the pod", || {
        let (status, _) = scheduler.get("/debug/explain/default/gated")?;
        Ok((status == 200).then_some(()))
    })?;
    let free = r#"[{"op": "remove", "path": "/spec/schedulingGates"}]"#;
    let patch = ["patch", "pod", "gated", "--type=json", "-p", free];
    lab.cluster().kubectl(&patch, "")?;
    wait_running(&lab, &scheduler, "gated", 1)?;

    let trace = scheduler.eventually(LIMIT, "the collector has its trace", || {
        Ok(trace_of("gated", &collector.sent("/v1/traces")))
    })?;
    let (root, parts) = trace.split_first().context("a root")?;
    let mut from = nanos(root, "startTimeUnixNano")?;
    for part in parts {
        ensure!(part["parentSpanId"] == root["spanId"], "{part}");
        ensure!(nanos(part, "startTimeUnixNano")? == from, "{part}");
        from = nanos(part, "endTimeUnixNano")?;
    }
    ensure!(from == nanos(root, "endTimeUnixNano")?, "{trace:?}");
    let names: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["name"].as_str())
        .collect();
    for step in ["wait", "decide", "bind.request"] {
        ensure!(names.contains(&step), "{step} is missing: {names:?}");
    }
    let first = parts.first().context("a part")?;
    let reason = attribute(first, "pumice.wait.reason");
    ensure!(reason == Some("SchedulingGated"), "{first}");

    let operator = user_with(&lab, "volcano-scheduler-explain")?;
    let folder = scratch("diag")?;
    let (code, text) = pumice("diag", &operator, &folder)?;
    ensure!(code == Some(0), "{text}");
    for title in [
        "deciding thread since",
        "THREAD",
        "PARTS OF CYCLES",
        "COUNTS",
        "NOW",
    ] {
        ensure!(text.contains(title), "{title} is missing: {text}");
    }
    let (code, text) = pumice("diag -o json", &operator, &folder)?;
    ensure!(code == Some(0), "{text}");
    let told: Value = serde_json::from_str(&text)?;
    ensure!(told["counts"]["binds"] == 1, "{told}");
    ensure!(told["now"]["nodes"] == 2, "{told}");
    let of_thread = told["thread"].as_array().context("rows")?;
    let seconds = of_thread.iter().filter_map(|row| row["seconds"].as_f64());
    let all = told["seconds"].as_f64().context("seconds")?;
    ensure!((seconds.sum::<f64>() - all).abs() < 0.01 * all, "{told}");
    Ok(())
}
