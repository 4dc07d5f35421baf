//! Room for the pods of a Job that is asked for at once.

use jiff::SignedDuration;
use pumice_controllers::job::JobController;
use pumice_controllers::list::ControllerOptions;
use pumice_controllers::provisioning::ProvisioningController;
use pumice_controllers::runtime::{Controller, ManagedKind, ManagedRef};
use serde_json::{Value, json};

use crate::cluster::World;

mod groups;

const CLASS: &str = "best-effort-atomic-scale-up.autoscaling.x-k8s.io";

fn controllers() -> Vec<Box<dyn Controller>> {
    let options = ControllerOptions::default();
    vec![
        JobController::make(&options),
        ProvisioningController::make(&options),
    ]
}

/// A world with a Job of two tasks, `ps` of one pod and `worker` of two, that is admitted and has its pods.
fn world(class: Value, min_available: i32) -> World {
    let mut world = World::new(controllers);
    world.lists_none(ManagedKind::ProvisioningRequest);
    add_job(&mut world, class, min_available);
    world
}

fn add_job(world: &mut World, class: Value, min_available: i32) {
    let queue = json!({"metadata": {"name": "default"}, "spec": {}, "status": {"state": "Open"}});
    world.server.apply(ManagedKind::Queue, queue);
    let template = |cpu: &str| {
        let requests = json!({"requests": {"cpu": cpu}});
        json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": requests}]}})
    };
    let annotations = json!({"pumice.sh/provisioning-class": class});
    let job = json!({
        "metadata": {"name": "train", "namespace": "n", "annotations": annotations},
        "spec": {
            "minAvailable": min_available, "schedulerName": "volcano", "queue": "default",
            "tasks": [
                {"name": "ps", "replicas": 1, "minAvailable": 0, "template": template("1")},
                {"name": "worker", "replicas": 2, "template": template("4")},
            ],
        },
    });
    world.server.apply(ManagedKind::Job, job);
    world.settle();
    world.server.admit_groups();
    world.settle();
    assert_eq!(world.server.names(ManagedKind::Pod).len(), 3);
}

fn pod_ref(name: &str) -> ManagedRef {
    ManagedRef::new(ManagedKind::Pod, "n", name)
}

/// The scheduler says of pods why they have no node.
fn says(world: &mut World, pods: &[&str], reason: &str) {
    for name in pods {
        world.server.edit(&pod_ref(name), |pod| {
            pod["status"]["conditions"] =
                json!([{"type": "PodScheduled", "status": "False", "reason": reason}]);
        });
    }
    world.settle();
}

const ALL: [&str; 3] = ["train-ps-0", "train-worker-0", "train-worker-1"];

/// The one request there is.
fn request(world: &World) -> Option<&Value> {
    let all = world.server.all(ManagedKind::ProvisioningRequest);
    assert!(all.len() <= 1, "{all:?}");
    all.first().copied()
}

/// Task and count of each set of the request.
fn sets(world: &World) -> Vec<(String, i64)> {
    let sets = request(world).and_then(|request| request["spec"]["podSets"].as_array());
    let set = |set: &Value| {
        let name = set["podTemplateRef"]["name"].as_str().expect("a name");
        let task = name.rsplit('-').next().expect("a task");
        (task.to_owned(), set["count"].as_i64().expect("a count"))
    };
    sets.into_iter().flatten().map(set).collect()
}

/// The autoscaler says something of the request.
fn autoscaler(world: &mut World, condition: &str, message: &str) {
    let of = world
        .server
        .names(ManagedKind::ProvisioningRequest)
        .remove(0);
    let now = world.now.to_string();
    world.server.edit(&of, |request| {
        let condition = json!({"type": condition, "status": "True", "reason": "R", "message": message,
            "lastTransitionTime": now});
        let known = request["status"]["conditions"].as_array().cloned();
        request["status"]["conditions"] = json!([known.unwrap_or_default(), vec![condition]].concat());
    });
    world.settle();
}

fn told(world: &World) -> String {
    let mut events = world.events.iter();
    let last = events.rfind(|event| event.reason == "Provisioning");
    let last = last.expect("an event");
    assert_eq!(last.about.kind, ManagedKind::Job);
    format!("{}{}", if last.warning { "! " } else { "" }, last.message)
}

fn bind(world: &mut World, names: &[&str]) {
    for name in names {
        world.server.start_pod(&pod_ref(name));
    }
    world.settle();
}

fn uid(world: &World) -> Option<Value> {
    request(world).map(|request| request["metadata"]["uid"].clone())
}

#[test]
fn room_for_a_gang_is_asked_for_at_once_when_nodes_are_what_it_lacks() {
    let mut world = world(json!(CLASS), 3);
    says(&mut world, &ALL, "QuotaExceeded");
    assert!(request(&world).is_none(), "its queue holds it back");
    says(&mut world, &ALL[..2], "Unschedulable");
    assert!(
        request(&world).is_none(),
        "one of the gang waits for something else"
    );
    says(&mut world, &ALL, "Unschedulable");
    let expected = [("ps".to_owned(), 1), ("worker".to_owned(), 2)];
    assert_eq!(sets(&world), expected);
    let asked = request(&world).expect("it is asked for");
    assert_eq!(asked["spec"]["provisioningClassName"], CLASS);
    assert_eq!(asked["metadata"]["ownerReferences"][0]["kind"], "Job");
    let name = asked["metadata"]["name"].as_str().expect("a name");
    let name = name.to_owned();
    for pod in world.server.all(ManagedKind::Pod) {
        let annotations = &pod["metadata"]["annotations"];
        assert_eq!(
            annotations["autoscaling.x-k8s.io/consume-provisioning-request"],
            name
        );
        assert_eq!(
            annotations["autoscaling.x-k8s.io/provisioning-class-name"],
            CLASS
        );
    }
    let templates = world.server.all(ManagedKind::PodTemplate);
    let cpu = |template: &&Value| {
        template["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"].clone()
    };
    let cpus: Vec<Value> = templates.iter().map(cpu).collect();
    assert_eq!(cpus, [json!("1"), json!("4")]);
    let asks =
        format!("asks for room for 3 pods at once, by ProvisioningRequest {name} of class {CLASS}");
    assert_eq!(told(&world), asks);
    autoscaler(&mut world, "Provisioned", "nodes are there");
    let has = format!("ProvisioningRequest {name} has its room: nodes are there");
    assert!(told(&world).starts_with(&has), "{}", told(&world));
    bind(&mut world, &ALL);
    assert_eq!(told(&world), has);
    world.pass_seconds(3_600);
    assert!(request(&world).is_some(), "it stays with its Job");
    let writes = world.server.log.iter();
    let of_requests = writes.filter(|(write, _)| write.of.kind == ManagedKind::ProvisioningRequest);
    assert_eq!(of_requests.count(), 1, "one scale-up for the gang");
}

#[test]
fn what_is_not_given_is_asked_for_again_after_a_pause_with_its_templates() {
    let mut world = world(json!(CLASS), 3);
    says(&mut world, &ALL, "Unschedulable");
    autoscaler(&mut world, "Failed", "no such machines");
    let why = "is over (Failed): no such machines; its pods lack nodes still";
    assert!(told(&world).contains(why), "{}", told(&world));
    let first = uid(&world);
    world.pass(SignedDuration::from_secs(299));
    assert_eq!(uid(&world), first);
    for of in world.server.names(ManagedKind::PodTemplate) {
        world.server.remove(&of);
    }
    world.pass_seconds(2);
    assert!(uid(&world).is_some() && uid(&world) != first);
    assert_eq!(world.server.all(ManagedKind::PodTemplate).len(), 2);
    // Once it runs nothing more is asked for.
    autoscaler(&mut world, "Provisioned", "");
    bind(&mut world, &ALL);
    autoscaler(&mut world, "BookingExpired", "");
    let second = uid(&world);
    world.pass_seconds(3_600);
    assert_eq!(uid(&world), second);
    assert!(!told(&world).starts_with('!'), "{}", told(&world));
}

#[test]
fn what_a_gang_needs_to_start_comes_first_and_then_the_others() {
    let mut world = world(json!(CLASS), 2);
    says(&mut world, &ALL, "Unschedulable");
    assert_eq!(sets(&world), [("worker".to_owned(), 2)]);
    autoscaler(&mut world, "Provisioned", "");
    bind(&mut world, &ALL[1..]);
    autoscaler(&mut world, "BookingExpired", "");
    world.pass_seconds(301);
    assert_eq!(sets(&world), [("ps".to_owned(), 1)]);
}

#[test]
fn pods_that_were_made_without_the_annotation_are_not_asked_for_and_those_that_lost_it_are_told() {
    let mut world = world(json!(""), 3);
    let of = world.server.names(ManagedKind::Job).remove(0);
    let write = |world: &mut World, class: Value| {
        world.server.edit(&of, |job| {
            job["metadata"]["annotations"] = json!({"pumice.sh/provisioning-class": class});
        });
        world.settle();
    };
    write(&mut world, json!(CLASS));
    says(&mut world, &ALL, "Unschedulable");
    assert!(request(&world).is_none(), "nodes are bought for each");
    let mut world = self::world(json!(CLASS), 3);
    world
        .server
        .edit(&of, |job| job["metadata"]["annotations"] = json!({}));
    says(&mut world, &ALL, "Unschedulable");
    assert!(request(&world).is_none());
    let words = "! its pods wait for ProvisioningRequest train-";
    assert!(told(&world).starts_with(words), "{}", told(&world));
    let mut world = self::world(json!(CLASS), 3);
    write(&mut world, json!("Check Capacity"));
    assert!(told(&world).starts_with(words), "{}", told(&world));
}

#[test]
fn the_rest_of_a_job_that_runs_is_asked_for_when_all_is_known_of_it() {
    let mut world = world(json!(CLASS), 1);
    bind(&mut world, &ALL[..1]);
    says(&mut world, &ALL[1..2], "Unschedulable");
    assert!(request(&world).is_none(), "of one nothing is known");
    says(&mut world, &ALL[2..], "Unschedulable");
    assert_eq!(sets(&world), [("worker".to_owned(), 2)]);
}

#[test]
fn nothing_is_bought_for_a_job_that_was_stopped() {
    let mut world = world(json!(CLASS), 3);
    says(&mut world, &ALL, "Unschedulable");
    assert!(request(&world).is_some());
    let of = world.server.names(ManagedKind::Job).remove(0);
    world.server.edit(&of, |job| {
        job["status"]["state"]["phase"] = json!("Aborted")
    });
    world.settle();
    assert!(request(&world).is_none());
}

#[test]
fn nothing_is_bought_for_a_job_that_found_room_meanwhile() {
    let mut world = world(json!(CLASS), 3);
    says(&mut world, &ALL, "Unschedulable");
    bind(&mut world, &ALL[..2]);
    assert!(request(&world).is_some(), "one waits");
    bind(&mut world, &ALL[2..]);
    assert!(request(&world).is_none());
    let words = " is taken back: no pod waits for it";
    assert!(told(&world).ends_with(words), "{}", told(&world));
}

#[test]
fn a_request_of_somebody_else_is_left_alone() {
    let mut world = world(json!(CLASS), 3);
    let job = world.server.all(ManagedKind::Job)[0];
    let name = format!("train-{}", job["metadata"]["uid"].as_str().expect("a UID"));
    let other = json!({"metadata": {"name": name, "namespace": "n"}, "spec": {"provisioningClassName": "x"}});
    world.server.apply(ManagedKind::ProvisioningRequest, other);
    says(&mut world, &ALL, "Unschedulable");
    world.pass_seconds(3_600);
    let left = request(&world).expect("the other one");
    assert_eq!(left["spec"]["provisioningClassName"], "x");
    let words = "! ProvisioningRequest train-";
    assert!(told(&world).starts_with(words), "{}", told(&world));
}

#[test]
fn pods_of_an_earlier_job_of_that_name_count_for_nothing() {
    let mut world = world(json!(CLASS), 3);
    let mut old = world.server.get(&pod_ref(ALL[0])).expect("a pod").clone();
    old["metadata"]["name"] = json!("old");
    old["metadata"]["ownerReferences"][0]["uid"] = json!("gone");
    let meta = old["metadata"].as_object_mut().expect("metadata");
    meta.remove("uid");
    world.server.apply(ManagedKind::Pod, old);
    says(&mut world, &["old"], "Unschedulable");
    says(&mut world, &ALL[1..], "Unschedulable");
    assert!(request(&world).is_none());
}

#[test]
fn a_class_that_is_none_is_told_and_pods_are_as_without() {
    let mut world = world(json!("Check Capacity"), 3);
    says(&mut world, &ALL, "Unschedulable");
    assert!(request(&world).is_none());
    let words =
        "! annotation pumice.sh/provisioning-class: \"Check Capacity\" is no name of a class, as ";
    assert!(told(&world).starts_with(words), "{}", told(&world));
    for pod in world.server.all(ManagedKind::Pod) {
        let annotations = &pod["metadata"]["annotations"];
        assert!(annotations["autoscaling.x-k8s.io/consume-provisioning-request"].is_null());
    }
}

#[test]
fn where_the_definition_is_missing_that_is_told() {
    let mut world = World::new(controllers);
    add_job(&mut world, json!(CLASS), 3);
    says(&mut world, &ALL, "Unschedulable");
    assert!(request(&world).is_none());
    let words = "! the API server has no ProvisioningRequest";
    assert!(told(&world).starts_with(words), "{}", told(&world));
}
