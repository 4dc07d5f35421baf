//! The real scheduler on a real API server: what users do, and what goes wrong.

mod admission;
mod all_samples;
mod autoscaling;
mod bad_input;
mod claims;
mod configuration;
mod controllers;
mod definitions;
mod deploying;
mod devices;
mod effects;
mod election;
mod encodings;
mod evictions;
mod extender;
mod faults;
mod first_hour;
mod flags;
mod guide;
mod late_gangs;
mod live;
mod native;
mod network;
mod numa;
mod observed;
mod one_life;
mod operators;
mod outages;
mod page;
mod past;
mod placing;
mod plans;
mod provisioning;
mod recordings;
mod recovery;
mod secure;
mod shown;
mod simulating;
mod stale;
mod usage;
mod user_tool;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use pumice_e2e::{Fault, FaultProxy, Identity, Lab, Matcher, Scheduler, Setup};
use pumice_units::quantity;
use serde_json::{Value, json};

/// Longest wait for something that takes a moment.
const LIMIT: Duration = Duration::from_secs(40);

/// Longest wait for something behind a retry with growing pauses.
const LONG: Duration = Duration::from_secs(90);

/// Pause after which the scheduler has had many chances to do what it must not do.
const QUIET: Duration = Duration::from_secs(2);

/// Pods of the namespace the scenarios use.
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Collection of PodGroups of that namespace.
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

/// A pod with a request, or without (`None`), outside any PodGroup.
fn bare_pod(name: &str, cpu: Option<&str>) -> Value {
    let requests = cpu.map_or(json!({}), |cpu| json!({"cpu": cpu, "memory": "1Gi"}));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "containers": [{
                "name": "main", "image": "example.com/none", "resources": {"requests": requests},
            }],
        },
    })
}

/// Waits until this many pods with this prefix run.
fn wait_running(lab: &Lab, scheduler: &Scheduler, prefix: &str, count: usize) -> Result<()> {
    wait_running_for(LIMIT, lab, scheduler, prefix, count)
}

fn wait_running_for(
    limit: Duration,
    lab: &Lab,
    scheduler: &Scheduler,
    prefix: &str,
    count: usize,
) -> Result<()> {
    let what = format!("{count} pods of {prefix} run");
    scheduler.eventually(limit, &what, || {
        let (running, bound) = (lab.running(prefix)?, lab.bound(prefix)?);
        ensure!(running == count, "{running} run, bound are {bound:?}");
        Ok(Some(()))
    })
}

/// Waits until this many pods with this prefix are bound.
fn wait_bound(lab: &Lab, scheduler: &Scheduler, prefix: &str, count: usize) -> Result<()> {
    let what = format!("{count} pods of {prefix} are bound");
    scheduler.eventually(LIMIT, &what, || {
        Ok((lab.bound(prefix)?.len() == count).then_some(()))
    })
}

/// No pod with this prefix gets bound while nothing changes.
fn stays_pending(lab: &Lab, prefix: &str) -> Result<()> {
    std::thread::sleep(QUIET);
    let bound = lab.bound(prefix)?;
    ensure!(bound.is_empty(), "bound: {bound:?}");
    Ok(())
}

/// The CPUs of bound pods fit on every node that exists.
fn no_node_is_overfull(lab: &Lab) -> Result<()> {
    let milli = |value: &Value| -> Result<i64> {
        let text = value.as_str().unwrap_or("0");
        let amount = quantity::parse(text).ok().context("a quantity")?;
        Ok(amount.milli_ceil())
    };
    let mut used: BTreeMap<String, i64> = BTreeMap::new();
    for pod in lab.rest().list("/api/v1/pods")? {
        let Some(node) = pod["spec"]["nodeName"].as_str() else {
            continue;
        };
        let requests = &pod["spec"]["containers"][0]["resources"]["requests"];
        *used.entry(node.to_owned()).or_default() += milli(&requests["cpu"])?;
    }
    for node in lab.rest().list("/api/v1/nodes")? {
        let name = node["metadata"]["name"].as_str().unwrap_or_default();
        let room = milli(&node["status"]["allocatable"]["cpu"])?;
        let taken = used.get(name).copied().unwrap_or(0);
        ensure!(taken <= room, "{name}: {taken} of {room} milli-cores taken");
    }
    Ok(())
}

/// Accepted Bindings by pod, from the API server's audit log.
fn accepted_binds(lab: &Lab) -> Result<BTreeMap<String, usize>> {
    let text = std::fs::read_to_string(lab.cluster().folder().join("audit.log"))?;
    let mut binds = BTreeMap::new();
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let about = &entry["objectRef"];
        if about["subresource"] == "binding" && entry["responseStatus"]["code"] == 201 {
            let name = about["name"].as_str().unwrap_or_default().to_owned();
            *binds.entry(name).or_default() += 1;
        }
    }
    Ok(binds)
}

/// A proxy, and how a scheduler is started behind it.
fn behind_proxy(lab: &Lab) -> Result<(FaultProxy, Setup)> {
    let proxy = FaultProxy::start(lab.cluster())?;
    let address = proxy.address();
    let cluster = lab.cluster();
    let path = cluster.kubeconfig_for(Identity::Scheduler, address, "proxied.kubeconfig")?;
    let setup = Setup {
        kubeconfig: Some(path),
        ..Setup::default()
    };
    Ok((proxy, setup))
}

/// Bindings of pods whose name begins so.
fn binds_of(prefix: &str) -> Matcher {
    let part = format!("/pods/{prefix}");
    Box::new(move |_, path| path.contains(&part) && path.ends_with("/binding"))
}

/// Every Binding is held at the proxy, and lost if the scheduler goes away.
fn hold_binds(proxy: &FaultProxy, prefix: &str) {
    proxy.inject(usize::MAX, Fault::Delay(LONG), binds_of(prefix));
}
