//! Resource claims (spec/09) on a real API server. No driver and no kubelet looks at the devices; claims are
//! given back as the controller of claims does it, by whoever tests.

use anyhow::{Result, ensure};
use http::Method;
use pumice_e2e::{Lab, LabGuard, Scheduler, Setup, member, pod_group, scratch};
use serde_json::{Value, json};

use crate::{GROUPS, LIMIT, PODS, QUIET, wait_bound, wait_running};

const API: &str = "/apis/resource.k8s.io/v1";
pub(crate) const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const LARGE: &str = "device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0";

/// GPUs of a node: name and memory.
fn gpus(lab: &Lab, node: &str, gpus: &[(&str, &str)]) -> Result<()> {
    let gpu = |(name, memory): &(&str, &str)| json!({"name": name, "capacity": {"memory": {"value": memory}}});
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": format!("{node}-gpus")},
        "spec": {
            "driver": "gpu.example.com", "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": gpus.iter().map(gpu).collect::<Vec<_>>(),
        },
    });
    lab.rest()
        .create(&format!("{API}/resourceslices"), &slice)?;
    Ok(())
}

/// Two large GPUs and a small one on the first node, and the class of all three.
pub(crate) fn devices(lab: &Lab) -> Result<()> {
    let all = [("gpu-0", "80Gi"), ("gpu-1", "24Gi"), ("gpu-2", "80Gi")];
    gpus(lab, "n-0", &all)?;
    let class = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'gpu.example.com'"}}]},
    });
    lab.rest().create(&format!("{API}/deviceclasses"), &class)?;
    Ok(())
}

/// A claim of a GPU that an expression holds for, and a pod that uses it.
fn pod_with_claim(lab: &LabGuard, name: &str, expression: &str) -> Result<()> {
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{
            "name": "gpu",
            "exactly": {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]},
        }]}},
    });
    lab.rest().create(CLAIMS, &claim)?;
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
            "containers": [{
                "name": "main", "image": "example.com/none",
                "resources": {"requests": {"cpu": "1"}, "claims": [{"name": "gpu"}]},
            }],
        },
    });
    lab.rest().create(PODS, &pod)?;
    Ok(())
}

/// The device that a claim has, and the pods it is reserved for.
fn given(lab: &LabGuard, claim: &str) -> Result<(String, Vec<String>)> {
    let claim = lab.rest().get(&format!("{CLAIMS}/{claim}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let status = &claim["status"];
    let users = status["reservedFor"].as_array().cloned();
    let users = users.unwrap_or_default();
    Ok((
        text(&status["allocation"]["devices"]["results"][0]["device"]),
        users.iter().map(|user| text(&user["name"])).collect(),
    ))
}

/// Waits until the message of a pod that waits has a text.
fn told(lab: &LabGuard, scheduler: &Scheduler, pod: &str, expected: &str) -> Result<()> {
    scheduler.eventually(LIMIT, expected, || {
        let pod = lab.rest().get(&format!("{PODS}/{pod}"))?;
        let conditions = pod["status"]["conditions"].to_string();
        Ok(conditions.contains(expected).then_some(()))
    })
}

#[test]
fn claims_get_devices_before_their_pods_are_bound_and_never_twice() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "8", "64Gi")?;
    devices(&lab)?;
    let mut scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    pod_with_claim(&lab, "train-0", LARGE)?;
    pod_with_claim(&lab, "train-1", LARGE)?;
    wait_running(&lab, &scheduler, "train-", 2)?;
    let on_first = lab.bound("train-")?.into_values().all(|node| node == "n-0");
    ensure!(on_first, "the devices are on n-0");
    let mut held = Vec::new();
    for name in ["train-0", "train-1"] {
        let (device, users) = given(&lab, name)?;
        ensure!(users == [name], "{name} is used by {users:?}");
        held.push(device);
    }
    held.sort();
    ensure!(held == ["gpu-0", "gpu-2"], "given: {held:?}");

    // Another process reads who has what, and an expression that fails keeps its own pod off, nobody else.
    scheduler.process().kill();
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    pod_with_claim(&lab, "third-0", LARGE)?;
    pod_with_claim(
        &lab,
        "wrong-0",
        "device.attributes['gpu.example.com'].model == 'a'",
    )?;
    pod_with_claim(&lab, "small-0", "true")?;
    wait_bound(&lab, &scheduler, "small-", 1)?;
    ensure!(given(&lab, "small-0")?.0 == "gpu-1", "the one that is left");
    told(
        &lab,
        &scheduler,
        "third-0",
        "allocated to claim default/train-0",
    )?;
    told(&lab, &scheduler, "wrong-0", "selector fails")?;
    std::thread::sleep(QUIET);
    let waiting = given(&lab, "third-0")?;
    ensure!(waiting == (String::new(), Vec::new()), "it has {waiting:?}");

    // A pod ends, and its claim is given back.
    let (freed, _) = given(&lab, "train-0")?;
    lab.delete(&format!("{PODS}/train-0"))?;
    let mut claim = lab.rest().get(&format!("{CLAIMS}/train-0"))?;
    claim["status"] = json!({});
    let status = format!("{CLAIMS}/train-0/status");
    lab.rest().call(Method::PUT, &status, Some(&claim))?;
    wait_running(&lab, &scheduler, "third-", 1)?;
    ensure!(given(&lab, "third-0")? == (freed, vec!["third-0".to_owned()]));
    Ok(())
}

/// A scheduler ended after it had written what a claim gets, and before the Binding; now the node is full.
#[test]
fn a_claim_left_behind_on_a_full_node_gives_its_device_back_and_gets_another() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(2, "8", "64Gi")?;
    devices(&lab)?;
    gpus(&lab, "n-1", &[("gpu-0", "80Gi")])?;
    pod_with_claim(&lab, "left-0", "true")?;
    let pod = lab.rest().get(&format!("{PODS}/left-0"))?;
    let mut claim = lab.rest().get(&format!("{CLAIMS}/left-0"))?;
    claim["status"] = json!({
        "allocation": {
            "devices": {"results": [
                {"request": "gpu", "driver": "gpu.example.com", "pool": "n-0", "device": "gpu-0"},
            ]},
            "nodeSelector": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n-0"]}]},
            ]},
        },
        "reservedFor": [{"resource": "pods", "name": "left-0", "uid": pod["metadata"]["uid"]}],
    });
    let status = format!("{CLAIMS}/left-0/status");
    lab.rest().call(Method::PUT, &status, Some(&claim))?;
    let full = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "full-0"},
        "spec": {
            "nodeName": "n-0",
            "containers": [{
                "name": "main", "image": "example.com/none", "resources": {"requests": {"cpu": "8"}},
            }],
        },
    });
    lab.rest().create(PODS, &full)?;
    let scheduler = Scheduler::start(lab.cluster(), &Setup::default())?;
    wait_bound(&lab, &scheduler, "left-", 1)?;
    ensure!(lab.bound("left-")?.into_values().eq(["n-1".to_owned()]));
    let claim = lab.rest().get(&format!("{CLAIMS}/left-0"))?;
    let pool = &claim["status"]["allocation"]["devices"]["results"][0]["pool"];
    ensure!(pool == "n-1", "its device is of {pool}");
    ensure!(given(&lab, "left-0")? == ("gpu-0".to_owned(), vec!["left-0".to_owned()]));
    Ok(())
}

/// The pod with a claim of a device for a group of one in a queue.
fn pod_in_queue(lab: &LabGuard, queue: &str, name: &str) -> Result<()> {
    let spec = json!({"minMember": 1, "queue": queue});
    lab.rest().create(GROUPS, &pod_group(name, &spec))?;
    let claim = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
    });
    lab.rest().create(CLAIMS, &claim)?;
    let mut pod = member(name, name);
    pod["spec"]["resourceClaims"] = json!([{"name": "gpu", "resourceClaimName": name}]);
    pod["spec"]["containers"][0]["resources"]["claims"] = json!([{"name": "gpu"}]);
    lab.rest().create(PODS, &pod)?;
    Ok(())
}

#[test]
fn a_queue_takes_as_many_devices_as_its_capability_names_and_its_status_shows_them() -> Result<()> {
    const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
                        tiers: [{plugins: [{name: gang}, {name: predicates}, {name: capacity}]}]\n";
    const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
    let lab = Lab::take()?;
    lab.nodes(2, "8", "64Gi")?;
    devices(&lab)?;
    let queue = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "research"},
        "spec": {"weight": 1, "capability": {"deviceclass/gpu": 1}},
    });
    lab.rest().create(QUEUES, &queue)?;
    let conf = scratch("claims")?.join("volcano-scheduler.conf");
    std::fs::write(&conf, CONF)?;
    let setup = Setup {
        conf: Some(conf),
        ..Setup::default()
    };
    let scheduler = Scheduler::start(lab.cluster(), &setup)?;
    pod_in_queue(&lab, "research", "first-0")?;
    wait_running(&lab, &scheduler, "first-", 1)?;
    pod_in_queue(&lab, "research", "second-0")?;
    told(
        &lab,
        &scheduler,
        "second-0",
        "insufficient deviceclass/gpu (capability 1, used 1, asked 1)",
    )?;
    scheduler.eventually(LIMIT, "the status shows the device", || {
        let queue = lab.rest().get(&format!("{QUEUES}/research"))?;
        let shown = queue["status"]["allocated"]["deviceclass/gpu"] == json!("1");
        Ok(shown.then_some(()))
    })?;

    // With a higher limit it goes on.
    let mut queue = lab.rest().get(&format!("{QUEUES}/research"))?;
    queue["spec"]["capability"]["deviceclass/gpu"] = json!(2);
    let path = format!("{QUEUES}/research");
    lab.rest().call(Method::PUT, &path, Some(&queue))?;
    wait_running(&lab, &scheduler, "second-", 1)?;
    Ok(())
}
