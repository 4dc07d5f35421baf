//! The harness itself: what the scenarios rely on.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::Method;
use pumice_e2e::{
    DevicePlugins, Fault, FaultProxy, Identity, Lab, LabGuard, PluginSetup, Rest, eventually,
    gpu_node, is_status, scratch,
};
use pumice_sim::device_plugin::register::{NodeConfig, NodePlugin, PhysicalCard};
use pumice_sim::device_plugin::vgpu::{self, Generation};
use serde_json::{Value, json};

const PODS: &str = "/api/v1/namespaces/default/pods";
const LIMIT: Duration = Duration::from_secs(20);

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": "volcano",
            "containers": [{"name": "main", "image": "example.com/none"}],
        },
    })
}

fn bind(rest: &Rest, name: &str, node: &str) -> Result<Value> {
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    });
    rest.create(&format!("{PODS}/{name}/binding"), &binding)
}

fn wait_running(lab: &LabGuard, name: &str) -> Result<()> {
    eventually(LIMIT, &format!("{name} runs"), || {
        Ok((lab.running(name)? == 1).then_some(()))
    })
}

#[test]
fn a_cluster_answers_kubectl_with_the_release_it_was_built_from() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(3, "4", "8Gi")?;
    let nodes = lab.cluster().kubectl(&["get", "nodes", "-o", "name"], "")?;
    assert_eq!(nodes, "node/n-0\nnode/n-1\nnode/n-2\n");
    let versions = lab.cluster().kubectl(&["version", "-o", "json"], "")?;
    let versions: Value = serde_json::from_str(&versions)?;
    assert_eq!(versions["serverVersion"]["gitVersion"], "v1.37.1");
    assert_eq!(versions["clientVersion"]["gitVersion"], "v1.37.1");
    let refused = lab.cluster().kubectl(&["get", "nothing-such"], "");
    let message = format!("{:#}", refused.err().context("kubectl must fail")?);
    ensure!(message.contains("nothing-such"), "{message}");
    Ok(())
}

#[test]
fn a_bound_pod_runs_and_a_deleted_one_ends() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    lab.rest().create(PODS, &pod("a"))?;
    bind(lab.rest(), "a", "n-0")?;
    wait_running(&lab, "a")?;
    // With its grace period, so that the kubelet has something to do.
    lab.rest()
        .call(Method::DELETE, &format!("{PODS}/a"), None)?;
    eventually(LIMIT, "a is gone", || {
        match lab.rest().get(&format!("{PODS}/a")) {
            Err(error) if is_status(&error, 404) => Ok(Some(())),
            other => other.map(|_| None),
        }
    })
}

#[test]
fn paused_kubelets_catch_up_when_they_go_on() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    lab.kubelet().pause();
    for name in ["a", "b"] {
        lab.rest().create(PODS, &pod(name))?;
        bind(lab.rest(), name, "n-0")?;
    }
    lab.rest()
        .call(Method::DELETE, &format!("{PODS}/b"), None)?;
    assert_eq!(lab.running("")?, 0);
    lab.kubelet().resume();
    wait_running(&lab, "a")?;
    eventually(LIMIT, "b is gone", || {
        Ok((lab.rest().list(PODS)?.len() == 1).then_some(()))
    })
}

#[test]
fn the_schedulers_identity_may_bind_and_may_not_create_pods() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    let scheduler = Rest::new(lab.cluster().client(Identity::Scheduler)?);
    let refused = scheduler.create(PODS, &pod("b")).err();
    assert!(is_status(&refused.context("must be refused")?, 403));
    lab.rest().create(PODS, &pod("a"))?;
    bind(&scheduler, "a", "n-0")?;
    assert_eq!(lab.bound("a")?.len(), 1);
    let log = lab.cluster().folder().join("audit.log");
    eventually(LIMIT, "the bind is in the audit log", || {
        let text = std::fs::read_to_string(&log)?;
        Ok(text.contains("/pods/a/binding").then_some(()))
    })
}

#[test]
fn objects_outlive_a_killed_api_server() -> Result<()> {
    let mut lab = Lab::take()?;
    lab.nodes(2, "4", "8Gi")?;
    lab.rest().create(PODS, &pod("a"))?;
    bind(lab.rest(), "a", "n-1")?;
    lab.cluster_mut().kill_apiserver();
    assert!(lab.rest().get("/readyz").is_err());
    lab.cluster_mut().start_apiserver()?;
    assert_eq!(
        lab.bound("a")?.get("default/a").map(String::as_str),
        Some("n-1")
    );
    // The kubelet's watch broke and was begun anew.
    lab.rest().create(PODS, &pod("b"))?;
    bind(lab.rest(), "b", "n-0")?;
    wait_running(&lab, "b")
}

#[test]
fn the_proxy_refuses_delays_and_swallows_answers() -> Result<()> {
    let lab = Lab::take()?;
    let proxy = FaultProxy::start(lab.cluster())?;
    let path =
        lab.cluster()
            .kubeconfig_for(Identity::Scheduler, proxy.address(), "proxied.kubeconfig")?;
    let through = Rest::new(pumice_e2e::client_at(&path)?);
    lab.nodes(1, "4", "8Gi")?;
    assert_eq!(through.list("/api/v1/nodes")?.len(), 1);

    let is_bind = || -> pumice_e2e::Matcher { Box::new(|_, path| path.ends_with("/binding")) };
    lab.rest().create(PODS, &pod("a"))?;
    proxy.inject(1, Fault::Answer(429, Some(1)), is_bind());
    let refused = bind(&through, "a", "n-0")
        .err()
        .context("must be refused")?;
    assert!(is_status(&refused, 429), "{refused:#}");
    assert!(lab.bound("a")?.is_empty());

    proxy.inject(1, Fault::SwallowAnswer, is_bind());
    let unknown = bind(&through, "a", "n-0").err().context("must fail")?;
    assert!(!is_status(&unknown, 409), "{unknown:#}");
    assert_eq!(lab.bound("a")?.len(), 1, "the request reached the server");
    assert_eq!(proxy.hits(), 2);

    // No rule left.
    let conflict = bind(&through, "a", "n-0")
        .err()
        .context("must be refused")?;
    assert!(is_status(&conflict, 409), "{conflict:#}");
    Ok(())
}

#[test]
fn the_proxy_cuts_watches() -> Result<()> {
    let lab = Lab::take()?;
    let proxy = FaultProxy::start(lab.cluster())?;
    let path =
        lab.cluster()
            .kubeconfig_for(Identity::Scheduler, proxy.address(), "proxied.kubeconfig")?;
    let through = Rest::new(pumice_e2e::client_at(&path)?);
    lab.nodes(1, "4", "8Gi")?;
    let watching = std::thread::spawn(move || through.get("/api/v1/nodes?watch=true"));
    // Cut until it is seen: the watch may not have begun at the first cut.
    let ended = eventually(LIMIT, "the watch breaks", || {
        proxy.cut_watches();
        Ok(watching.is_finished().then_some(()))
    });
    ended?;
    let watched = watching.join().expect("no panic");
    assert!(watched.is_err(), "broken, not ended: {watched:?}");
    Ok(())
}

#[test]
fn containers_end_and_are_started_again_as_commands_and_restart_policies_say() -> Result<()> {
    let lab = Lab::take()?;
    lab.nodes(1, "4", "8Gi")?;
    // Script, restartPolicy, phase, exit code, and whether containers were started again.
    let table = [
        ("done", "sleep 0.2", "Never", "Succeeded", Some(0), false),
        ("broken", "exit 3", "Never", "Failed", Some(3), false),
        ("mended", "true", "OnFailure", "Succeeded", Some(0), false),
        ("again", "exit 1", "OnFailure", "Running", None, true),
        ("service", "true", "Always", "Running", None, true),
        (
            "endless",
            "tail -f /dev/null",
            "Never",
            "Running",
            None,
            false,
        ),
    ];
    for (name, script, policy, ..) in table {
        let mut object = pod(name);
        object["spec"]["restartPolicy"] = json!(policy);
        object["spec"]["containers"][0]["command"] = json!(["sh", "-c", script]);
        lab.rest().create(PODS, &object)?;
        bind(lab.rest(), name, "n-0")?;
    }
    for (name, _, _, phase, code, is_restarted) in table {
        eventually(LIMIT, &format!("{name} is {phase}"), || {
            let status = lab.rest().get(&format!("{PODS}/{name}"))?["status"].take();
            let container = &status["containerStatuses"][0];
            let ended = container["state"]["terminated"]["exitCode"].as_i64();
            let restarts = container["restartCount"].as_i64().unwrap_or(0) > 0;
            ensure!(
                status["phase"] == phase && ended == code && restarts == is_restarted,
                "{status}"
            );
            Ok(Some(()))
        })?;
    }
    Ok(())
}

#[test]
fn a_configuration_mount_is_swapped_in_one_step() -> Result<()> {
    let mut mount = pumice_e2e::ConfigMount::new(&scratch("mount")?, "one")?;
    assert_eq!(std::fs::read_to_string(mount.file())?, "one");
    mount.replace("two")?;
    assert_eq!(std::fs::read_to_string(mount.file())?, "two");
    Ok(())
}

/// A node with one card, as its plugin registers it.
fn card_node(lab: &LabGuard) -> Result<()> {
    let card = PhysicalCard {
        uuid: "GPU-aa".to_owned(),
        product: "Tesla P40".to_owned(),
        memory_mib: 24576,
        minor: 0,
        healthy: true,
    };
    let plugin = NodePlugin::new(NodeConfig::default(), vec![card]);
    let node = gpu_node("gpu", &plugin, "now");
    lab.rest().create("/api/v1/nodes", &node).map(|_| ())
}

/// A pod that asks for one vGPU, bound with annotations that say so.
fn bind_card(lab: &LabGuard, name: &str, time: u32, memory: u32) -> Result<()> {
    let mut object = pod(name);
    object["spec"]["containers"][0]["resources"]["limits"] =
        json!({vgpu::NUMBER: 1, "volcano.sh/vgpu-memory": memory});
    lab.rest().create(PODS, &object)?;
    let allocation = format!("GPU-aa,NVIDIA,{memory},0:");
    let binding = json!({
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, "annotations": {
            vgpu::NODE: "gpu",
            vgpu::TIME: time.to_string(),
            vgpu::IDS: allocation,
            vgpu::TO_ALLOCATE: allocation,
            vgpu::PHASE: vgpu::ALLOCATING,
        }},
        "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu"},
    });
    let path = format!("{PODS}/{name}/binding");
    lab.rest().create(&path, &binding).map(|_| ())
}

fn plugins(lab: &LabGuard, generation: Generation) -> Result<DevicePlugins> {
    let setup = PluginSetup {
        generation,
        ..PluginSetup::default()
    };
    DevicePlugins::start(lab, setup)
}

#[test]
fn device_plugins_serve_bound_pods_which_run_then() -> Result<()> {
    for generation in [Generation::V1_10, Generation::V1_12, Generation::Latest] {
        let lab = Lab::take()?;
        card_node(&lab)?;
        let lock = json!({"metadata": {"annotations": {vgpu::LOCK: "2026-01-01T10:00:00Z"}}});
        lab.rest().patch("/api/v1/nodes/gpu", &lock)?;
        bind_card(&lab, "served-a", 1, 1000)?;
        std::thread::sleep(Duration::from_secs(1));
        ensure!(lab.running("served-")? == 0, "it runs without its card");
        let plugins = plugins(&lab, generation)?;
        wait_running(&lab, "served-a")?;
        bind_card(&lab, "served-b", 2, 2000)?;
        wait_running(&lab, "served-b")?;
        assert_eq!(plugins.services().len(), 2);
        assert_eq!(plugins.strayed(), []);
        let pod = lab.rest().get(&format!("{PODS}/served-a"))?;
        let annotations = &pod["metadata"]["annotations"];
        assert_eq!(annotations[vgpu::PHASE], vgpu::SUCCESS);
        assert_eq!(annotations[vgpu::TO_ALLOCATE], "");
        assert_eq!(annotations[vgpu::IDS], "GPU-aa,NVIDIA,1000,0:");
        let node = lab.rest().get("/api/v1/nodes/gpu")?;
        assert_eq!(node["metadata"]["annotations"][vgpu::LOCK], Value::Null);
    }
    Ok(())
}

#[test]
fn device_plugins_swap_pods_whose_times_do_not_follow_their_binds() -> Result<()> {
    let lab = Lab::take()?;
    card_node(&lab)?;
    let plugins = plugins(&lab, Generation::Latest)?;
    plugins.stop();
    bind_card(&lab, "first", 2, 1000)?;
    // Of another age, so that kubelet's order is known after its restart.
    std::thread::sleep(Duration::from_millis(1500));
    bind_card(&lab, "second", 1, 2000)?;
    plugins.restart();
    eventually(LIMIT, "both are served", || {
        Ok((plugins.services().len() == 2).then_some(()))
    })?;
    assert_eq!(plugins.strayed().len(), 2, "{:?}", plugins.strayed());
    Ok(())
}

#[test]
fn a_pod_bound_without_device_annotations_is_failed_by_its_kubelet() -> Result<()> {
    let lab = Lab::take()?;
    card_node(&lab)?;
    let _plugins = plugins(&lab, Generation::Latest)?;
    lab.kubelet().pause();
    let mut object = pod("bare");
    object["spec"]["containers"][0]["resources"]["limits"] = json!({vgpu::NUMBER: 1});
    lab.rest().create(PODS, &object)?;
    bind(lab.rest(), "bare", "gpu")?;
    eventually(LIMIT, "it has failed", || {
        let pod = lab.rest().get(&format!("{PODS}/bare"))?;
        let reason = pod["status"]["reason"] == "UnexpectedAdmissionError";
        Ok((pod["status"]["phase"] == "Failed" && reason).then_some(()))
    })
}
