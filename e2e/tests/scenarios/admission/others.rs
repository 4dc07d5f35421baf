//! PodGroups, pods, HyperNodes, JobFlows (spec/03 D4) and Commands.

use anyhow::{Result, ensure};
use pumice_e2e::{Lab, eventually};
use serde_json::{Value, json};

use super::{hold, judge, object, queue};
use crate::{GROUPS, LIMIT, PODS, bare_pod};

const HYPER_NODES: &str = "/apis/topology.volcano.sh/v1alpha1/hypernodes";
const FLOWS: &str = "/apis/flow.volcano.sh/v1alpha1/namespaces/default/jobflows";
const COMMANDS: &str = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands";

fn group(spec: Value) -> Value {
    object("scheduling.volcano.sh/v1beta1", "PodGroup", "g", spec)
}

fn pod(annotations: Value) -> Value {
    let mut pod = bare_pod("p", None);
    pod["metadata"]["annotations"] = annotations;
    pod
}

fn hyper_node(members: Value) -> Value {
    let spec = json!({"tier": 1, "members": members});
    object("topology.volcano.sh/v1alpha1", "HyperNode", "h", spec)
}

fn flow(flows: Value) -> Value {
    object(
        "flow.volcano.sh/v1alpha1",
        "JobFlow",
        "f",
        json!({ "flows": flows }),
    )
}

fn command(action: &str, kind: &str) -> Value {
    let version = match kind {
        "Queue" => "scheduling.volcano.sh/v1beta1",
        _ => "batch.volcano.sh/v1alpha1",
    };
    json!({"apiVersion": "bus.volcano.sh/v1alpha1", "kind": "Command", "metadata": {"name": "c"},
        "action": action, "target": {"apiVersion": version, "kind": kind, "name": "q", "uid": "u"}})
}

type Case = (&'static str, Value, &'static str);

const MINIMUM: &str = "volcano.sh/jdb-min-available";
const MAXIMUM: &str = "volcano.sh/jdb-max-unavailable";

fn regex(pattern: &str) -> Value {
    json!([{"type": "Node", "selector": {"regexMatch": {"pattern": pattern}}}])
}

fn after(name: &str, target: &str) -> Value {
    json!({"name": name, "dependsOn": {"targets": [target]}})
}

fn wrong() -> Vec<Case> {
    let tier = json!({"highestTierAllowed": 1, "highestTierName": "x"});
    vec![
        (
            GROUPS,
            group(json!({"networkTopology": tier})),
            "exclude each other; write one",
        ),
        (
            GROUPS,
            group(json!({"subGroupPolicy": [{"name": "a", "networkTopology": tier}]})),
            "spec.subGroupPolicy[0].networkTopology",
        ),
        (
            PODS,
            pod(json!({MINIMUM: "0"})),
            "volcano.sh/jdb-min-available is \"0\"; write a number from 1",
        ),
        (
            PODS,
            pod(json!({MAXIMUM: "100%"})),
            "volcano.sh/jdb-max-unavailable is \"100%\"",
        ),
        (
            PODS,
            pod(json!({MINIMUM: "1", MAXIMUM: "1"})),
            "exclude each other; write one",
        ),
        (HYPER_NODES, hyper_node(json!([])), "spec.members"),
        (HYPER_NODES, hyper_node(Value::Null), "spec.members"),
        (
            HYPER_NODES,
            hyper_node(regex("node-(")),
            "missing closing )",
        ),
        (
            FLOWS,
            flow(json!([after("a", "b")])),
            "spec.flows[0].dependsOn.targets: there is no step \"b\"",
        ),
        (
            FLOWS,
            flow(json!([after("a", "a")])),
            "spec.flows[0].dependsOn.targets: the step waits for itself",
        ),
        (
            FLOWS,
            flow(json!([{"name": "a"}, {"name": "a"}])),
            "spec.flows[1].name: there is another step \"a\"",
        ),
        (
            COMMANDS,
            command("Explode", "Job"),
            "action: \"Explode\" is no action of a Job; use AbortJob",
        ),
        (
            COMMANDS,
            command("AbortJob", "Queue"),
            "action: \"AbortJob\" is no action of a Queue; use OpenQueue",
        ),
    ]
}

#[test]
fn pod_groups_pods_hyper_nodes_and_flows_are_checked() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let good = [
        (
            GROUPS,
            group(json!({"networkTopology": {"highestTierName": "x"}})),
        ),
        (PODS, pod(json!({MINIMUM: "99%"}))),
        (PODS, pod(json!({MAXIMUM: "3"}))),
        (HYPER_NODES, hyper_node(regex("^node-[0-9]+$"))),
        (FLOWS, flow(json!([{"name": "a"}, after("b", "a")]))),
        (COMMANDS, command("ResumeJob", "Job")),
        (COMMANDS, command("CloseQueue", "Queue")),
    ];
    hold(&lab, &wrong(), &good)?;
    // Pods of other schedulers are theirs.
    let mut theirs = pod(json!({MINIMUM: "0"}));
    theirs["spec"]["schedulerName"] = json!("default-scheduler");
    judge(&lab, PODS, &theirs).map(|_| ())
}

#[test]
fn who_may_write_commands_in_a_namespace_cannot_close_queues_with_them() -> Result<()> {
    let lab = Lab::take()?;
    lab.rest()
        .create(super::QUEUES, &queue("q", json!({"weight": 1})))?;
    lab.cluster().install_policies()?;
    let edit = "--clusterrole=edit";
    let grant = [
        "create",
        "rolebinding",
        "admission-jane",
        edit,
        "--user=jane",
    ];
    lab.cluster().kubectl(&grant, "")?;
    let by_jane = |kind: &str, action: &str| -> Result<Value> {
        let arguments = [
            "create",
            "--as=jane",
            "--dry-run=server",
            "-f",
            "-",
            "-o",
            "json",
        ];
        let printed = lab
            .cluster()
            .kubectl(&arguments, &command(action, kind).to_string())?;
        Ok(serde_json::from_str(&printed)?)
    };
    let answers = eventually(LIMIT, "jane may write Commands for Jobs only", || {
        by_jane("Job", "AbortJob")?;
        let refused = by_jane("Queue", "CloseQueue").err();
        Ok(refused.map(|error| format!("{error:#}")))
    });
    lab.cluster()
        .kubectl(&["delete", "rolebinding", "admission-jane"], "")?;
    let told = answers?;
    ensure!(
        told.contains("you may not update the queue \"q\""),
        "{told}"
    );
    Ok(())
}

#[test]
fn a_pod_that_asks_to_wait_for_its_queue_gets_the_gate() -> Result<()> {
    const GATE: &str = "scheduling.volcano.sh/queue-allocation-gate";
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let gates = |pod: &Value| -> Result<Value> {
        let judged = judge(&lab, PODS, pod)?;
        Ok(judged["spec"]["schedulingGates"].clone())
    };
    let asking = pod(json!({GATE: "true"}));
    eventually(LIMIT, "the policies are in force", || {
        Ok((gates(&asking)? == json!([{"name": GATE}])).then_some(()))
    })?;
    let mut with_another = asking.clone();
    with_another["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    let both = gates(&with_another)?;
    let names: Vec<&str> = both
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|gate| gate["name"].as_str())
        .collect();
    assert_eq!(names.len(), 2, "{both}");
    assert!(
        names.contains(&GATE) && names.contains(&"example.com/wait"),
        "{both}"
    );
    let mut given = asking.clone();
    given["spec"]["schedulingGates"] = json!([{"name": GATE}]);
    assert_eq!(gates(&given)?, json!([{"name": GATE}]), "once");
    let mut of_another = asking.clone();
    of_another["spec"]["schedulerName"] = json!("default-scheduler");
    for pod in [pod(json!({GATE: "false"})), pod(json!({})), of_another] {
        assert_eq!(gates(&pod)?, Value::Null);
    }
    Ok(())
}
