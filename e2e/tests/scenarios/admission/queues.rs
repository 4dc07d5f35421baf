//! Queues (spec/03 D3).

use anyhow::{Context, Result};
use pumice_e2e::{Lab, eventually};
use serde_json::{Value, json};

use super::{QUEUES, hold, is_refused, judge, queue};
use crate::LIMIT;

fn hierarchy(path: &str, weights: &str) -> Value {
    let mut queue = queue("q", json!({}));
    queue["metadata"]["annotations"] =
        json!({"volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights});
    queue
}

fn wrong() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            QUEUES,
            queue(
                "q",
                json!({"guarantee": {"resource": {"cpu": "3"}}, "deserved": {"cpu": "2"}}),
            ),
            "spec.guarantee.resource.cpu: 3 is more than the deserved 2; write deserved >= guarantee",
        ),
        (
            QUEUES,
            queue(
                "q",
                json!({"guarantee": {"resource": {"memory": "1Gi"}}, "deserved": {"cpu": 2}}),
            ),
            "spec.guarantee.resource.memory: 1Gi is more than the deserved 0",
        ),
        (
            QUEUES,
            queue(
                "q",
                json!({"deserved": {"cpu": "2500m"}, "capability": {"cpu": 2}}),
            ),
            "spec.deserved.cpu: 2500m is more than the capability 2; write deserved <= capability",
        ),
        (
            QUEUES,
            queue(
                "q",
                json!({"guarantee": {"resource": {"cpu": 3}}, "capability": {"cpu": 2}}),
            ),
            "spec.guarantee.resource.cpu: 3 is more than the capability 2",
        ),
        (
            QUEUES,
            queue("q", json!({"capability": {"cpu": "-1"}})),
            "spec.capability.cpu: -1 is less than nothing; write 0 or more",
        ),
        (
            QUEUES,
            queue("q", json!({"parent": "q"})),
            "spec.parent: a queue cannot be its own parent",
        ),
        (
            QUEUES,
            hierarchy("root/a/b", "1/2"),
            "volcano.sh/hierarchy has 3 parts and volcano.sh/hierarchy-weights 2",
        ),
        (
            QUEUES,
            hierarchy("root/a", "1/0"),
            "volcano.sh/hierarchy-weights has \"0\"; write numbers above 0",
        ),
        (QUEUES, queue("q", json!({"weight": 70000})), "spec.weight"),
    ]
}

#[test]
fn a_queue_gets_its_defaults_and_what_it_says_of_itself_is_checked() -> Result<()> {
    let lab = Lab::take()?;
    lab.cluster().install_policies()?;
    let good = [
        (
            QUEUES,
            queue("q", json!({"guarantee": {"resource": {"cpu": 1}}})),
        ),
        (
            QUEUES,
            queue(
                "q",
                json!({"parent": "p", "guarantee": {"resource": {"cpu": 1}},
                "deserved": {"cpu": "1", "memory": "1Gi"}, "capability": {"cpu": "1500m"}}),
            ),
        ),
        (QUEUES, hierarchy("root/a", "1/0.5")),
    ];
    hold(&lab, &wrong(), &good)?;
    let filled = eventually(LIMIT, "the mutating policy is in force", || {
        let judged = judge(&lab, QUEUES, &hierarchy("a/b", "2/3"))?;
        let path = &judged["metadata"]["annotations"]["volcano.sh/hierarchy"];
        Ok((*path == "root/a/b").then_some(judged))
    })?;
    let annotations = &filled["metadata"]["annotations"];
    assert_eq!(annotations["volcano.sh/hierarchy-weights"], "1/2/3");
    lab.cluster().kubectl(
        &["create", "-f", "-"],
        "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: bare}, spec: {weight: 0}}",
    )?;
    let shown = lab
        .cluster()
        .kubectl(&["get", "queue", "bare", "-o", "json"], "")?;
    let shown: Value = serde_json::from_str(&shown)?;
    assert_eq!(
        (&shown["spec"]["weight"], &shown["spec"]["reclaimable"]),
        (&json!(1), &json!(true))
    );
    Ok(())
}

#[test]
fn root_and_default_stay_and_a_closing_queue_can_be_edited() -> Result<()> {
    let lab = Lab::take()?;
    for name in ["root", "default", "q"] {
        lab.rest()
            .create(QUEUES, &queue(name, json!({"weight": 1})))?;
    }
    lab.cluster().install_policies()?;
    let root = format!("{QUEUES}/root?dryRun=All");
    is_refused(
        || {
            lab.rest()
                .patch(&root, &json!({"spec": {"capability": {"cpu": 1}}}))
        },
        "spec.capability: the queue root is the whole cluster and cannot be limited",
    )?;
    lab.rest().patch(&root, &json!({"spec": {"weight": 2}}))?;
    for name in ["root", "default"] {
        let path = format!("{QUEUES}/{name}?dryRun=All");
        is_refused(
            || lab.rest().call(http::Method::DELETE, &path, None),
            &format!("the queue \"{name}\" cannot be deleted"),
        )?;
    }
    let path = format!("{QUEUES}/q");
    for state in ["Closing", "Unknown", "Closed", "Open"] {
        let status = json!({"status": {"state": state}});
        lab.rest().patch(&format!("{path}/status"), &status)?;
        lab.rest()
            .patch(
                &format!("{path}?dryRun=All"),
                &json!({"spec": {"weight": 5}}),
            )
            .with_context(|| format!("{state}: it is refused"))?;
    }
    lab.delete(&path)
}
