//! What keeps a Job from running is told, once, and looked at again when it changes.

use super::*;
use crate::cluster::Alone;

/// Reason and message of the Job's state.
fn state(world: &World, job: &ManagedRef) -> (String, String) {
    let status = status(world, job);
    let text = |field: &str| {
        status["state"][field]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    (text("reason"), text("message"))
}

fn in_queue(queue: &str) -> Value {
    json!({"queue": queue, "tasks": [task("a", 1)]})
}

#[test]
fn an_invalid_job_is_pending_and_says_why_once() {
    let mut a = task("a", 1);
    a["dependsOn"] = json!({"name": ["b"]});
    let mut b = task("b", 1);
    b["dependsOn"] = json!({"name": ["a"]});
    let cases = [
        (
            json!({"tasks": [a, b]}),
            "wait for each other for ever: a, b",
        ),
        (
            json!({"tasks": [task("a", 1), task("a", 1)]}),
            "there is another task \"a\"",
        ),
        (
            json!({"tasks": [task(&"x".repeat(63), 1)]}),
            "which is not a name",
        ),
        (
            json!({"tasks": [task("a", 1)], "plugins": {"nosuch": []}}),
            "there is no such plugin",
        ),
    ];
    for (spec, expected) in cases {
        let mut world = world();
        let job = apply(&mut world, spec);
        world.pass_seconds(5);
        let (reason, message) = state(&world, &job);
        assert_eq!((&*reason, &*phase(&world, &job)), ("InvalidJob", "Pending"));
        assert!(message.contains(expected), "{message}");
        world.pass_seconds(3600);
        world.restart();
        world.pass_seconds(3600);
        assert_eq!(world.reasons(), ["InvalidJob"]);
        assert_eq!(world.written(), ["status Job n/j"]);
    }
}

#[test]
fn templates_that_make_no_pods_are_told_before_anything_is_made() {
    let with = |field: &str, value: Value| {
        let mut task = task("a", 1);
        task["template"]["spec"]["containers"][0][field] = value;
        json!({"tasks": [task]})
    };
    let limits = json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}});
    let cases = [
        (
            with("image", json!("")),
            "spec.tasks[0].template.spec.containers[0].image: it is missing; give it",
        ),
        (
            with("resources", limits),
            "spec.tasks[0].template.spec.containers[0].resources.requests.cpu: \"2\" is more than \
             the limit 1; lower it, or raise the limit",
        ),
        (
            with("volumeMounts", json!([{"name": "v", "mountPath": "/v"}])),
            "spec.tasks[0].template.spec.containers[0].volumeMounts[0].name: there is no \"v\" in \
             spec.tasks[0].template.spec.volumes; add it to spec.tasks[0].template.spec.volumes, or \
             remove this",
        ),
    ];
    for (spec, expected) in cases {
        let mut world = world();
        let job = apply(&mut world, spec);
        world.pass_seconds(5);
        let told = state(&world, &job);
        assert_eq!(told, ("InvalidJob".to_owned(), expected.to_owned()));
        assert_eq!(world.reasons(), ["InvalidJob"]);
        assert_eq!(world.server.names(ManagedKind::PodGroup).len(), 0);
    }
}

#[test]
fn volumes_of_the_job_and_of_its_plugins_may_be_mounted() {
    let mut world = world();
    let mut one = task("a", 1);
    let mounts = json!([{"name": "j-ssh", "mountPath": "/keys"}]);
    one["template"]["spec"]["initContainers"] =
        json!([{"name": "i", "image": "i", "volumeMounts": mounts}]);
    let job = run(&mut world, json!({"tasks": [one], "plugins": {"ssh": []}}));
    assert_eq!(phase(&world, &job), "Running");
}

#[test]
fn what_is_odd_is_told_once_and_the_job_runs() {
    let mut world = world();
    let policies = json!([{"event": "PodPending", "action": "RestartJob"}]);
    let plugins = json!({"ssh": ["--no-root"]});
    let spec = json!({"tasks": [task("a", 1)], "plugins": plugins, "policies": policies});
    let job = run(&mut world, spec);
    assert_eq!(phase(&world, &job), "Running");
    assert_eq!(world.reasons(), ["DoubtfulField"]);
}

#[test]
fn a_job_waits_for_its_queue_and_starts_when_it_opens() {
    let mut world = world();
    let job = apply(&mut world, in_queue("q"));
    world.pass_seconds(5);
    let (reason, message) = state(&world, &job);
    assert_eq!(reason, "QueueNotReady");
    assert!(message.contains("queue \"q\" does not exist"), "{message}");
    let queue = json!({"metadata": {"name": "q"}, "spec": {}});
    let queue = world.server.apply(ManagedKind::Queue, queue);
    world
        .server
        .edit(&queue, |queue| queue["status"]["state"] = json!("Closed"));
    world.pass_seconds(5);
    assert!(state(&world, &job).1.contains("is Closed"));
    let child = json!({"metadata": {"name": "child"}, "spec": {"parent": "q"}});
    let child = world.server.apply(ManagedKind::Queue, child);
    world
        .server
        .edit(&queue, |queue| queue["status"]["state"] = json!("Open"));
    world.pass_seconds(5);
    assert!(
        state(&world, &job)
            .1
            .contains("has queues below it, as \"child\"")
    );
    world.server.remove(&child);
    world.pass_seconds(5);
    assert_eq!(state(&world, &job), (String::new(), String::new()));
    assert_eq!(world.server.names(ManagedKind::PodGroup).len(), 1);
}

#[test]
fn a_job_that_waits_for_its_queue_is_looked_at_only_when_the_queue_may_take_it() {
    let mut alone = Alone::new(Box::<JobController>::default());
    let queue = |name: &str, parent: &str, state: &str, used: &str| {
        json!({"metadata": {"name": name, "uid": name}, "spec": {"parent": parent},
            "status": {"state": state, "allocated": {"cpu": used}}})
    };
    alone.told(ManagedKind::Queue, &queue("q", "root", "Closed", "1"));
    let job =
        json!({"metadata": {"name": "j", "namespace": "n", "uid": "j"}, "spec": in_queue("q")});
    let job = alone.told(ManagedKind::Job, &job);
    alone.look(&job[0]);
    for (name, parent, state, used, concerns) in [
        ("q", "root", "Closed", "2", false),
        ("q", "other", "Closed", "2", true),
        ("q", "other", "Open", "2", true),
        ("below", "q", "Open", "0", true),
        ("below", "q", "Open", "1", false),
        ("other", "root", "Open", "1", false),
    ] {
        let told = alone.told(ManagedKind::Queue, &queue(name, parent, state, used));
        let expected = if concerns { &job[..] } else { &[] };
        assert_eq!(told, expected, "{name} {parent} {state} {used}");
    }
}

#[test]
fn a_running_job_does_not_mind_that_its_queue_is_closed() {
    let mut world = world();
    let job = run(&mut world, in_queue("default"));
    let queue = ManagedRef::global(ManagedKind::Queue, "default");
    world
        .server
        .edit(&queue, |queue| queue["status"]["state"] = json!("Closed"));
    world.server.end_pods();
    world.pass_seconds(5);
    assert_eq!(phase(&world, &job), "Completed");
}

#[test]
fn a_job_waits_for_a_claim_it_names() {
    let mut world = world();
    let volumes = json!([{"mountPath": "/data", "volumeClaimName": "mine"}]);
    let job = apply(
        &mut world,
        json!({"tasks": [task("a", 1)], "volumes": volumes}),
    );
    world.pass_seconds(5);
    let (reason, message) = state(&world, &job);
    assert_eq!(reason, "PVCError");
    assert!(
        message.contains("PersistentVolumeClaim mine does not exist"),
        "{message}"
    );
    let claim = json!({"metadata": {"name": "mine", "namespace": "n"}, "spec": {}});
    world
        .server
        .apply(ManagedKind::PersistentVolumeClaim, claim);
    world.pass_seconds(5);
    world.server.admit_groups();
    world.pass_seconds(5);
    assert_eq!(pods(&world), ["j-a-0"]);
}

/// Pods are refused with these words.
fn refuse_pods(world: &mut World, words: &'static str) {
    world.server.refuse(move |write| {
        let is_pod = write.of.kind == ManagedKind::Pod;
        is_pod.then(|| crate::cluster::refusal(403, "Forbidden", words))
    });
}

#[test]
fn refused_pods_are_told_and_tried_one_at_a_time_until_one_is_taken() {
    let mut world = world();
    let words = "pods \"x\" is forbidden: exceeded quota: small";
    refuse_pods(&mut world, words);
    let job = apply(&mut world, json!({"tasks": [task("a", 20)]}));
    world.pass_seconds(1);
    world.server.admit_groups();
    world.pass_seconds(1);
    let tries = world
        .written()
        .iter()
        .filter(|w| w.starts_with("create Pod "))
        .count();
    assert!(
        (21..40).contains(&tries),
        "all once, then one by one: {tries}"
    );
    assert_eq!(
        state(&world, &job),
        ("FailedCreate".to_owned(), words.to_owned())
    );
    let told = world
        .reasons()
        .iter()
        .filter(|reason| **reason == "FailedCreate")
        .count();
    assert!(
        told <= tries - 19,
        "one for the first try, one for each that follows: {told}"
    );
    world.pass_seconds(3600 * 5);
    assert_eq!(phase(&world, &job), "Pending", "never terminal");
    let later = world
        .written()
        .iter()
        .filter(|w| w.starts_with("create Pod "))
        .count();
    assert!(later - tries < 100, "no hot loop: {later}");
    world.server.refuse_nothing();
    world.pass_seconds(600);
    assert_eq!(pods(&world).len(), 20);
    assert_eq!(state(&world, &job), (String::new(), String::new()));
}

#[test]
fn in_a_namespace_that_is_being_deleted_nothing_is_told() {
    let mut world = world();
    world.server.going.insert("n".to_owned());
    let job = json!({"metadata": {"name": "j", "namespace": "n"}, "spec": in_queue("default")});
    world.server.going.clear();
    world.server.apply(ManagedKind::Job, job);
    world.server.going.insert("n".to_owned());
    world.pass_seconds(60);
    assert!(world.events.is_empty(), "{:?}", world.events);
}

#[test]
fn a_running_job_that_is_made_invalid_says_so_and_may_end() {
    let mut world = world();
    let job = run(&mut world, json!({"tasks": [task("a", 2)]}));
    let edit = |world: &mut World, plugins: Value| {
        world
            .server
            .edit(&job, |job| job["spec"]["plugins"] = plugins);
        world.pass_seconds(5);
    };
    edit(&mut world, json!({"nosuch": []}));
    assert_eq!(phase(&world, &job), "Running");
    let (reason, message) = state(&world, &job);
    assert_eq!(reason, "InvalidJob");
    assert!(message.contains("there is no such plugin"), "{message}");
    edit(&mut world, json!({}));
    assert_eq!(state(&world, &job), (String::new(), String::new()));
    edit(&mut world, json!({"nosuch": []}));
    world.server.end_pods();
    world.pass_seconds(5);
    assert_eq!(phase(&world, &job), "Completed");
}

#[test]
fn why_a_group_is_not_placed_is_told_once() {
    let mut world = world();
    apply(&mut world, in_queue("default"));
    world.pass_seconds(2);
    let group = world.server.names(ManagedKind::PodGroup)[0].clone();
    for transition in ["1", "2"] {
        world.server.edit(&group, |group| {
            group["status"]["conditions"] = json!([{
                "type": "Unschedulable", "status": "True", "transitionID": transition,
                "reason": "NotEnoughResources", "message": "0/3 nodes fit",
            }, {
                "type": "Admitted", "status": "True", "transitionID": transition,
                "reason": "MinResources", "message": "cpu=2",
            }]);
        });
        world.pass_seconds(2);
    }
    let told: Vec<&str> = world
        .events
        .iter()
        .map(|event| event.message.as_str())
        .collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].ends_with("is not placed: NotEnoughResources: 0/3 nodes fit"),
        "{told:?}"
    );
}

#[test]
fn objects_of_somebody_else_by_the_names_of_plugins_are_left_alone_and_that_is_told() {
    let mut world = world();
    let theirs = |kind: ManagedKind, name: &str| {
        let metadata = json!({"namespace": "n", "name": name, "labels": {"of": "somebody"}});
        (kind, json!({"metadata": metadata, "data": {"a": "b"}}))
    };
    let objects = [
        theirs(ManagedKind::ConfigMap, "j-svc"),
        theirs(ManagedKind::Service, "j"),
        theirs(ManagedKind::Secret, "j-ssh"),
    ];
    let objects = objects.map(|(kind, object)| world.server.apply(kind, object));
    let before = objects
        .clone()
        .map(|of| world.server.get(&of).cloned().unwrap());
    let plugins = json!({"svc": [], "ssh": []});
    let job = apply(
        &mut world,
        json!({"tasks": [task("a", 2)], "plugins": plugins}),
    );
    world.pass_seconds(60);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Running");
    world.server.edit(&job, |job| {
        job["spec"]["tasks"][0]["replicas"] = json!(3);
    });
    world.pass_seconds(60);
    world.restart();
    world.pass_seconds(60);
    let after = objects
        .clone()
        .map(|of| world.server.get(&of).cloned().unwrap());
    assert_eq!(before, after);
    let mut taken = world.events.iter().filter(|one| one.reason == "NameTaken");
    for expected in [
        "not of this Job, but there already: ConfigMap n/j-svc, Service n/j; it is left as it is",
        "there already: Secret n/j-ssh; the controllers may not read whose it is",
    ] {
        let told = taken.next().map(|one| one.message.as_str());
        assert!(
            told.is_some_and(|told| told.starts_with(expected)),
            "{told:?}"
        );
    }
    assert_eq!(taken.count(), 0);
    let policy = ManagedRef::new(ManagedKind::NetworkPolicy, "n", "j");
    assert!(world.server.get(&policy).is_some());
}

#[test]
fn objects_that_a_killed_process_has_made_are_the_jobs_own_and_follow_it() {
    let mut world = world();
    let plugins = json!({"svc": []});
    let job = apply(
        &mut world,
        json!({"tasks": [task("a", 1)], "plugins": plugins}),
    );
    world.pass_seconds(5);
    // As if it had been killed before it could record them.
    world.server.edit(&job, |job| {
        job["status"]["controlledResources"] = json!({});
        job["spec"]["tasks"][0]["replicas"] = json!(2);
    });
    world.restart();
    world.pass_seconds(30);
    let of = ManagedRef::new(ManagedKind::ConfigMap, "n", "j-svc");
    let map = world.server.get(&of).unwrap();
    assert_eq!(map["data"]["VC_A_NUM"], "2");
    assert!(!world.reasons().contains(&"NameTaken"));
}

#[test]
fn keys_that_a_killed_process_has_made_are_never_patched_and_used_as_they_are() {
    let mut world = world();
    let plugins = json!({"ssh": []});
    let job = run(
        &mut world,
        json!({"tasks": [task("a", 1)], "plugins": plugins}),
    );
    let of = ManagedRef::new(ManagedKind::Secret, "n", "j-ssh");
    let before = world.server.get(&of).cloned();
    // As if it had been killed before it could record them.
    world.server.edit(&job, |job| {
        job["status"]["controlledResources"] = json!({});
        job["spec"]["tasks"][0]["replicas"] = json!(2);
    });
    world.restart();
    world.pass_seconds(30);
    assert!(before.is_some());
    assert_eq!(world.server.get(&of).cloned(), before);
    let pod = ManagedRef::new(ManagedKind::Pod, "n", "j-a-1");
    assert!(world.server.get(&pod).is_some());
    let written = world.written();
    assert!(
        !written.iter().any(|one| one.contains("patch Secret")),
        "{written:?}"
    );
}

#[test]
fn a_pod_of_somebody_else_by_the_name_of_one_of_the_job_is_told_and_waited_for() {
    let mut world = world();
    let pod = json!({"metadata": {"namespace": "n", "name": "j-a-0"}, "spec": {"containers": []}});
    let pod = world.server.apply(ManagedKind::Pod, pod);
    let job = apply(&mut world, json!({"tasks": [task("a", 1)]}));
    world.pass_seconds(1);
    world.server.admit_groups();
    world.pass_seconds(60);
    let (reason, message) = state(&world, &job);
    assert_eq!(reason, "NameTaken");
    let expected = "Pod n/j-a-0 is there already and not of this Job; delete it";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(world.reasons(), ["NameTaken"]);
    world.server.delete(&pod, "", false);
    world.pass_seconds(600);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Running");
    assert_eq!(state(&world, &job).0, "");
}

#[test]
fn objects_that_an_earlier_job_of_the_name_leaves_behind_are_waited_for() {
    let mut world = world();
    let old = json!({"metadata": {"namespace": "n", "name": "j"}});
    let old = world.server.apply(ManagedKind::Service, old);
    let plugins = json!({"svc": []});
    let job = apply(
        &mut world,
        json!({"tasks": [task("a", 1)], "plugins": plugins}),
    );
    world.pass_seconds(4);
    world.server.delete(&old, "", false);
    world.pass_seconds(2);
    carry_on(&mut world);
    assert_eq!(phase(&world, &job), "Running");
    let service = world.server.get(&old).unwrap();
    let owner = &service["metadata"]["ownerReferences"][0]["uid"];
    assert_eq!(*owner, uid(&world, &job));
    assert!(!world.reasons().contains(&"NameTaken"));
}
