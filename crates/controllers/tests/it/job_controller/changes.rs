//! Jobs that are changed, claims, plugins, and PodGroups of other controllers.

use super::*;

pub(crate) fn scale(world: &mut World, job: &ManagedRef, replicas: i32, min_available: i32) {
    world.server.edit(job, |job| {
        job["spec"]["tasks"][0]["replicas"] = json!(replicas);
        job["spec"]["tasks"][0]["minAvailable"] = json!(min_available);
        job["spec"]["minAvailable"] = json!(min_available);
    });
}

#[test]
fn a_job_grows_and_shrinks_and_its_group_follows() {
    let mut world = world();
    let policy = json!([{"event": "PodEvicted", "action": "RestartJob"}]);
    let job = run(
        &mut world,
        json!({"tasks": [task("a", 2)], "policies": policy}),
    );
    scale(&mut world, &job, 4, 3);
    world.pass_seconds(2);
    carry_on(&mut world);
    assert_eq!(pods(&world).len(), 4);
    let group = world.server.all(ManagedKind::PodGroup)[0]["spec"].clone();
    assert_eq!(
        (&group["minMember"], &group["minTaskMember"]["a"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(group["minResources"]["cpu"], "3");
    assert_eq!(status(&world, &job)["minAvailable"], 3);
    scale(&mut world, &job, 1, 1);
    world.pass_seconds(2);
    world.restart();
    carry_on(&mut world);
    assert_eq!(pods(&world), ["j-a-0"]);
    let after = status(&world, &job);
    assert_eq!(
        (&after["state"]["phase"], &after["running"]),
        (&json!("Running"), &json!(1))
    );
    assert_eq!(
        after["retryCount"],
        Value::Null,
        "pods we delete are not evicted"
    );
}

#[test]
fn a_claim_without_a_name_is_made_once_and_its_name_written_back() {
    let mut world = world();
    let claim = json!({
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    });
    let volumes = json!([{"mountPath": "/data", "volumeClaim": claim}]);
    let job = apply(
        &mut world,
        json!({"tasks": [task("a", 1)], "volumes": volumes}),
    );
    world.settle();
    world.restart();
    world.pass_seconds(2);
    world.server.admit_groups();
    world.pass_seconds(2);
    let claims = world.server.names(ManagedKind::PersistentVolumeClaim);
    assert_eq!(claims.len(), 1);
    let name = claims[0].name.clone();
    assert!(name.starts_with("j-pvc-") && name.len() == 18, "{name}");
    let known = world.server.get(&job).cloned().unwrap_or_default();
    assert_eq!(known["spec"]["volumes"][0]["volumeClaimName"], name);
    let recorded = &known["status"]["controlledResources"];
    assert_eq!(recorded[format!("volume-pvc-{name}")], name);
    let pod = world.server.get(&pod("j-a-0")).cloned().unwrap_or_default();
    let source = &pod["spec"]["volumes"][0]["persistentVolumeClaim"];
    assert_eq!(source["claimName"], name);
}

#[test]
fn a_group_by_the_name_of_the_job_is_taken_as_it_is() {
    let mut world = world();
    let group = json!({
        "metadata": {"name": "j", "namespace": "n"}, "spec": {"minMember": 1},
        "status": {"phase": "Inqueue"},
    });
    world.server.apply(ManagedKind::PodGroup, group);
    run(&mut world, json!({"tasks": [task("a", 1)]}));
    assert_eq!(world.server.names(ManagedKind::PodGroup).len(), 1);
    let pod = world.server.get(&pod("j-a-0")).cloned().unwrap_or_default();
    assert_eq!(
        pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"],
        "j"
    );
}

#[test]
fn what_plugins_make_is_there_before_the_pods_and_made_once() {
    let mut world = world();
    let spec = json!({"tasks": [task("a", 2)], "plugins": {"svc": [], "ssh": [], "env": []}});
    let job = run(&mut world, spec);
    let written = world.written();
    let at = |write: &str| written.iter().position(|one| one == write);
    let first_pod = at("create Pod n/j-a-0");
    assert!(first_pod.is_some());
    for made in [
        "ConfigMap n/j-svc",
        "Service n/j",
        "NetworkPolicy n/j",
        "Secret n/j-ssh",
    ] {
        let at = at(&format!("create {made}"));
        assert!(at.is_some() && at < first_pod, "{made}: {written:?}");
    }
    let recorded = &status(&world, &job)["controlledResources"];
    for plugin in ["svc", "ssh", "env"] {
        assert_eq!(recorded[format!("plugin-{plugin}")], plugin);
    }
    let pod = world.server.get(&pod("j-a-1")).cloned().unwrap_or_default();
    let env = pod["spec"]["containers"][0]["env"].to_string();
    assert!(env.contains("VC_TASK_INDEX"), "{env}");
    let before = world.written().len();
    world.restart();
    world.pass_seconds(60);
    assert_eq!(world.written().len(), before, "nothing is written again");
}

#[test]
fn hosts_follow_the_replicas_before_new_pods_are_made() {
    let mut world = world();
    let job = run(
        &mut world,
        json!({"tasks": [task("a", 2)], "plugins": {"svc": []}}),
    );
    let before = world.written().len();
    scale(&mut world, &job, 3, 3);
    world.pass_seconds(5);
    let written = world.written()[before..].to_vec();
    let at = |write: &str| written.iter().position(|one| one == write);
    let hosts = at("patch ConfigMap n/j-svc");
    assert!(
        hosts.is_some() && hosts < at("create Pod n/j-a-2"),
        "{written:?}"
    );
    let map = ManagedRef::new(ManagedKind::ConfigMap, "n", "j-svc");
    let map = world.server.get(&map).cloned().unwrap_or_default();
    assert!(map["data"].to_string().contains("j-a-2"), "{map}");
}

#[test]
fn objects_of_an_earlier_job_of_the_same_name_are_waited_out() {
    let mut world = world();
    let old = ManagedRef::new(ManagedKind::ConfigMap, "n", "j-svc");
    let object = json!({"metadata": {"name": "j-svc", "namespace": "n"}, "data": {"old": "1"}});
    world.server.apply(ManagedKind::ConfigMap, object);
    apply(
        &mut world,
        json!({"tasks": [task("a", 1)], "plugins": {"svc": []}}),
    );
    world.pass_seconds(2);
    world.server.remove(&old);
    world.pass_seconds(10);
    world.server.admit_groups();
    world.pass_seconds(5);
    let new = world.server.get(&old).cloned().unwrap_or_default();
    assert_eq!(new["data"]["old"], Value::Null, "{new}");
    assert_eq!(pods(&world), ["j-a-0"]);
}

#[test]
fn a_job_applied_again_waits_for_pods_of_the_earlier_one() {
    let mut world = world();
    let job = run(&mut world, json!({"tasks": [task("a", 1)]}));
    let first = uid(&world, &pod("j-a-0"));
    world.server.delete(&job, "", false);
    run(&mut world, json!({"tasks": [task("a", 1)]}));
    assert_eq!(
        uid(&world, &pod("j-a-0")),
        first,
        "it is still on its way out"
    );
    carry_on(&mut world);
    assert_ne!(uid(&world, &pod("j-a-0")), first);
    assert_eq!(phase(&world, &job), "Running");
    assert_eq!(status(&world, &job)["retryCount"], Value::Null);
}

#[test]
fn what_plugins_make_survives_a_restart() {
    let mut world = world();
    let policy = json!([{"event": "PodFailed", "action": "RestartJob"}]);
    let plugins = json!({"svc": [], "ssh": []});
    let spec = json!({"tasks": [task("a", 2)], "plugins": plugins, "policies": policy});
    let job = run(&mut world, spec);
    let keys = ManagedRef::new(ManagedKind::Secret, "n", "j-ssh");
    let before = world.server.get(&keys).cloned();
    world.server.end_pod(&pod("j-a-0"), 1);
    world.pass_seconds(1);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Running");
    assert_eq!(status(&world, &job)["retryCount"], 1);
    assert!(before.is_some());
    assert_eq!(world.server.get(&keys).cloned(), before);
}

#[test]
fn pods_of_a_queue_that_forwards_say_so() {
    let mut world = world();
    let clusters = json!([{"name": "far", "weight": 1}]);
    let queue = json!({"metadata": {"name": "q"}, "spec": {"extendClusters": clusters}});
    world.server.apply(ManagedKind::Queue, queue);
    run(&mut world, json!({"queue": "q", "tasks": [task("a", 1)]}));
    let meta = world.server.get(&pod("j-a-0")).cloned().unwrap_or_default()["metadata"].clone();
    for map in ["annotations", "labels"] {
        assert_eq!(meta[map]["volcano.sh/job-forwarding"], "true");
    }
}
