//! Bindings that come late, and watches that say nothing: no pod goes where it no longer may.

use anyhow::{Result, ensure};
use pumice_e2e::{
    Fault, FaultProxy, Identity, Judge, Lab, LabGuard, NodeShape, Scheduler, eventually,
};
use serde_json::{Value, json};

use crate::{
    LIMIT, LONG, PODS, accepted_binds, bare_pod, behind_proxy, binds_of, stays_pending,
    wait_running_for,
};

const NODE_WATCHES: &str = "/api/v1/nodes?";

fn judge(lab: &LabGuard) -> Result<Judge> {
    Ok(Judge::start(&lab.cluster().client(Identity::Admin)?))
}

/// What the judge says once it has seen so many pods bound.
fn acquitted(judge: &Judge, prefix: &str, pods: usize) -> Result<()> {
    eventually(LIMIT, "the judge has seen all pods", || {
        Ok((judge.bound(prefix) == pods).then_some(()))
    })?;
    judge.acquits(prefix)
}

fn selecting_pod(name: &str) -> Value {
    let mut pod = bare_pod(name, Some("1"));
    pod["spec"]["nodeSelector"] = json!({"pool": "a"});
    pod
}

fn node(name: &str) -> Value {
    let labels = vec![("pool", "a".to_owned())];
    let shape = NodeShape {
        cpu: "4",
        labels,
        ..NodeShape::default()
    };
    shape.object(name)
}

/// Makes a node useless for the pods of [`selecting_pod`].
fn spoil(lab: &LabGuard, name: &str, how: &str) -> Result<()> {
    let path = format!("/api/v1/nodes/{name}");
    let (path, patch) = match how {
        "gone" => return lab.delete(&path),
        "cordoned" => (path, json!({"spec": {"unschedulable": true}})),
        "tainted" => {
            let taints = json!([{"key": "e2e", "effect": "NoExecute"}]);
            (path, json!({"spec": {"taints": taints}}))
        }
        "relabelled" => (path, json!({"metadata": {"labels": {"pool": "b"}}})),
        _ => {
            let patch = json!({"status": {"allocatable": {"cpu": "100m"}}});
            (format!("{path}/status"), patch)
        }
    };
    lab.rest().patch(&path, &patch).map(|_| ())
}

/// Decides pods to a node, changes it, and lets the Bindings go.
fn decided_anew(
    lab: &LabGuard,
    proxy: &FaultProxy,
    scheduler: &Scheduler,
    judge: &Judge,
    how: &str,
) -> Result<()> {
    let (first, other) = (format!("{how}-first"), format!("{how}-other"));
    lab.rest().create("/api/v1/nodes", &node(&first))?;
    let before = proxy.hits();
    for n in 0..3 {
        let pod = selecting_pod(&format!("{how}-{n}"));
        lab.rest().create(PODS, &pod)?;
    }
    scheduler.eventually(LIMIT, "all three Bindings are under way", || {
        Ok((proxy.hits() >= before + 3).then_some(()))
    })?;
    let recalled = scheduler
        .metric("pumice_bind_recalled_total")?
        .unwrap_or(0.0);
    spoil(lab, &first, how)?;
    scheduler.eventually(LIMIT, "the Bindings are taken back", || {
        let now = scheduler
            .metric("pumice_bind_recalled_total")?
            .unwrap_or(0.0);
        Ok((now >= recalled + 3.0).then_some(()))
    })?;
    lab.rest().create("/api/v1/nodes", &node(&other))?;
    proxy.heal();
    wait_running_for(LONG, lab, scheduler, &format!("{how}-"), 3)?;
    let places = lab.bound(&format!("{how}-"))?;
    ensure!(places.values().all(|node| *node == other), "{places:?}");
    acquitted(judge, &format!("{how}-"), 3)?;
    // Out of the way of the next round.
    lab.delete(&format!("/api/v1/nodes/{first}"))?;
    spoil(lab, &other, "cordoned")
}

#[test]
fn bindings_that_waited_are_decided_anew_when_their_node_has_changed() -> Result<()> {
    let lab = Lab::take()?;
    let judge = judge(&lab)?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    for how in ["gone", "cordoned", "tainted", "relabelled", "shrunk"] {
        let busy = Fault::Answer(429, Some(1));
        proxy.inject(usize::MAX, busy, binds_of(&format!("{how}-")));
        decided_anew(&lab, &proxy, &scheduler, &judge, how)?;
    }
    Ok(())
}

#[test]
fn a_binding_without_an_answer_is_not_sent_again_to_a_node_that_was_cordoned() -> Result<()> {
    let lab = Lab::take()?;
    let judge = judge(&lab)?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    lab.rest().create("/api/v1/nodes", &node("silent-first"))?;
    // Never passed on: the scheduler cannot know.
    proxy.inject(usize::MAX, Fault::Refuse, binds_of("silent"));
    lab.rest().create(PODS, &selecting_pod("silent"))?;
    scheduler.eventually(LIMIT, "a Binding is in doubt", || {
        let unknown = scheduler.metric("pumice_bind_unknown_outcome_total")?;
        Ok(unknown.filter(|count| *count >= 1.0).map(|_| ()))
    })?;
    spoil(&lab, "silent-first", "cordoned")?;
    scheduler.eventually(LIMIT, "the Binding is taken back", || {
        let recalled = scheduler.metric("pumice_bind_recalled_total")?;
        Ok(recalled.filter(|count| *count >= 1.0).map(|_| ()))
    })?;
    lab.rest().create("/api/v1/nodes", &node("silent-other"))?;
    proxy.heal();
    // Only when no request of it can land any more: 65 s after the last one.
    wait_running_for(2 * LONG, &lab, &scheduler, "silent", 1)?;
    let places = lab.bound("silent")?;
    ensure!(
        places.values().all(|node| node == "silent-other"),
        "{places:?}"
    );
    ensure!(accepted_binds(&lab)?.get("silent") == Some(&1));
    acquitted(&judge, "silent", 1)
}

#[test]
fn a_watch_that_is_open_and_brings_nothing_is_found_out_and_opened_anew() -> Result<()> {
    let lab = Lab::take()?;
    let judge = judge(&lab)?;
    lab.rest().create("/api/v1/nodes", &node("n-0"))?;
    let (proxy, setup) = behind_proxy(&lab)?;
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    proxy.freeze(NODE_WATCHES, false);
    spoil(&lab, "n-0", "cordoned")?;
    lab.rest().create("/api/v1/nodes", &node("n-1"))?;
    scheduler.eventually(LIMIT, "the watch is opened anew", || {
        Ok(scheduler.log().contains("does not bring").then_some(()))
    })?;
    lab.rest().create(PODS, &selecting_pod("frozen"))?;
    wait_running_for(LIMIT, &lab, &scheduler, "frozen", 1)?;
    acquitted(&judge, "frozen", 1)
}

/// Nothing is decided until the watch of nodes is back, and then by what happened meanwhile.
fn waits_for_nodes(
    lab: &LabGuard,
    scheduler: &Scheduler,
    name: &str,
    heal: impl Fn(),
) -> Result<()> {
    let judge = judge(lab)?;
    scheduler.eventually(LIMIT, "/readyz names the nodes", || {
        let (status, text) = scheduler.get("/readyz")?;
        Ok((status != 200 && text.contains("Node for")).then_some(()))
    })?;
    spoil(lab, "n-0", "cordoned")?;
    lab.rest()
        .create("/api/v1/nodes", &node(&format!("{name}-other")))?;
    lab.rest().create(PODS, &selecting_pod(name))?;
    stays_pending(lab, name)?;
    ensure!(scheduler.metric("pumice_decisions_stopped")? == Some(1.0));
    heal();
    wait_running_for(LIMIT, lab, scheduler, name, 1)?;
    acquitted(&judge, name, 1)?;
    ensure!(scheduler.get("/readyz")?.0 == 200, "not ready again");
    ensure!(scheduler.metric("pumice_decisions_stopped")? == Some(0.0));
    Ok(())
}

#[test]
fn nothing_is_decided_while_nodes_are_not_followed() -> Result<()> {
    for fault in ["cut", "frozen"] {
        let lab = Lab::take()?;
        lab.rest().create("/api/v1/nodes", &node("n-0"))?;
        let (proxy, setup) = behind_proxy(&lab)?;
        let scheduler = Scheduler::start(lab.cluster(), &setup)?;
        match fault {
            "cut" => {
                let nodes = Box::new(|_: &http::Method, path: &str| path.contains(NODE_WATCHES));
                proxy.inject(usize::MAX, Fault::Refuse, nodes);
                proxy.cut_watches();
            }
            _ => proxy.freeze(NODE_WATCHES, true),
        }
        waits_for_nodes(&lab, &scheduler, fault, || proxy.heal())?;
    }
    Ok(())
}
