//! Room for the pods of PodGroups, which another controller makes.

use serde_json::json;

use super::*;

const NAME: &str = "ray";

/// Kind of a PodGroup, and what a pod says to be of it.
struct GroupKind {
    kind: ManagedKind,
    spec: fn(i32) -> Value,
}

const VOLCANO: GroupKind = GroupKind {
    kind: ManagedKind::PodGroup,
    spec: |least| json!({"minMember": least, "queue": "default"}),
};

const NATIVE: GroupKind = GroupKind {
    kind: ManagedKind::NativeGroup,
    spec: |least| json!({"schedulingPolicy": {"gang": {"minCount": least}}}),
};

impl GroupKind {
    fn world(&self, least: i32) -> World {
        let mut world = World::new(controllers);
        world.lists_none(ManagedKind::ProvisioningRequest);
        let group =
            json!({"metadata": {"name": NAME, "namespace": "n"}, "spec": (self.spec)(least)});
        world.server.apply(self.kind, group);
        world
    }

    /// A pod of the group as admission leaves it, of its own labels and environment.
    fn pod(&self, name: &str, cpu: &str, class: &str) -> Value {
        let mut annotations = json!({
            "pumice.sh/provisioning-class": class,
            "autoscaling.x-k8s.io/consume-provisioning-request": NAME,
            "autoscaling.x-k8s.io/provisioning-class-name": class,
        });
        let container = json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}},
            "env": [{"name": "RANK", "value": name}], "volumeMounts": [{"name": "token", "mountPath": "/t"}]});
        let volumes = json!([{"name": "token", "projected": {"sources": []}}]);
        let mut spec = json!({"schedulerName": "volcano", "hostname": name, "containers": [container], "volumes": volumes});
        match self.kind {
            ManagedKind::PodGroup => annotations["scheduling.k8s.io/group-name"] = json!(NAME),
            _ => spec["schedulingGroup"] = json!({"podGroupName": NAME}),
        }
        let metadata = json!({"name": name, "namespace": "n", "annotations": annotations, "labels": {"pod": name}});
        json!({"metadata": metadata, "spec": spec})
    }

    /// Pods that are alike to an autoscaler.
    fn add(&self, world: &mut World, names: &[&str], cpu: &str) {
        for name in names {
            let pod = self.pod(name, cpu, CLASS);
            world.server.apply(ManagedKind::Pod, pod);
        }
        world.settle();
    }

    fn group(&self) -> ManagedRef {
        ManagedRef::new(self.kind, "n", NAME)
    }

    fn told(&self, world: &World) -> Vec<String> {
        let events = world.events.iter();
        let events = events.filter(|event| event.reason == "Provisioning");
        let line = |event: &pumice_controllers::runtime::ObjectEvent| {
            assert_eq!(event.about, self.group());
            format!("{}{}", if event.warning { "! " } else { "" }, event.message)
        };
        events.map(line).collect()
    }
}

/// Processor and number of pods of each set.
fn asked(world: &World) -> Vec<(String, i64)> {
    let sets = request(world).and_then(|request| request["spec"]["podSets"].as_array());
    let set = |set: &Value| {
        let name = set["podTemplateRef"]["name"].as_str().expect("a name");
        let of = ManagedRef::new(ManagedKind::PodTemplate, "n", name);
        let template = world
            .server
            .get(&of)
            .expect("it is there before the request");
        let cpu = &template["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"];
        let cpu = cpu.as_str().expect("an amount").to_owned();
        (cpu, set["count"].as_i64().expect("a count"))
    };
    sets.into_iter().flatten().map(set).collect()
}

#[test]
fn pods_of_both_kinds_of_group_get_their_room_by_one_request() {
    for of in [VOLCANO, NATIVE] {
        let mut world = of.world(4);
        let all = ["head", "w-0", "w-1", "w-2"];
        of.add(&mut world, &all[..1], "1");
        of.add(&mut world, &all[1..], "4");
        says(&mut world, &all, "GangIncomplete");
        assert!(request(&world).is_none());
        says(&mut world, &all, "Unschedulable");
        let expected = [("1".to_owned(), 1), ("4".to_owned(), 3)];
        assert_eq!(asked(&world), expected);
        let made = request(&world).expect("it is asked for");
        let owner = &made["metadata"]["ownerReferences"][0];
        assert_eq!(owner["kind"], "PodGroup");
        let api_version = of.kind.path().api_version();
        assert_eq!(owner["apiVersion"], api_version);
        assert_eq!(made["metadata"]["name"], NAME);
        for template in world.server.all(ManagedKind::PodTemplate) {
            let spec = &template["template"]["spec"];
            assert!(spec["hostname"].is_null() && spec["volumes"].is_null());
            let container = &spec["containers"][0];
            assert!(container["env"].is_null() && container["volumeMounts"].is_null());
            assert_eq!(
                template["metadata"]["ownerReferences"][0]["uid"],
                owner["uid"]
            );
        }
        autoscaler(&mut world, "Provisioned", "nodes are there");
        let asks = format!(
            "asks for room for 4 pods at once, by ProvisioningRequest {NAME} of class {CLASS}"
        );
        let has = format!("ProvisioningRequest {NAME} has its room: nodes are there");
        let told = of.told(&world);
        assert_eq!(told.first(), Some(&asks));
        assert!(told.iter().any(|line| line.starts_with(&has)), "{told:?}");
        bind(&mut world, &all);
        world.pass_seconds(3_600);
        assert!(request(&world).is_some(), "it stays with its group");
    }
}

#[test]
fn what_a_group_needs_to_start_comes_first_and_then_the_others() {
    let mut world = NATIVE.world(2);
    NATIVE.add(&mut world, &["a", "b", "c"], "4");
    says(&mut world, &["a", "b", "c"], "Unschedulable");
    assert_eq!(asked(&world), [("4".to_owned(), 2)]);
    autoscaler(&mut world, "Provisioned", "");
    bind(&mut world, &["a", "b"]);
    autoscaler(&mut world, "BookingExpired", "");
    world.pass_seconds(301);
    assert_eq!(asked(&world), [("4".to_owned(), 1)]);
}

#[test]
fn a_group_whose_parts_need_their_own_asks_for_all() {
    let mut world = VOLCANO.world(1);
    world.server.edit(&VOLCANO.group(), |group| {
        group["spec"]["minTaskMember"] = json!({"w": 1});
    });
    VOLCANO.add(&mut world, &["a", "b"], "4");
    says(&mut world, &["a"], "Unschedulable");
    assert!(request(&world).is_none(), "of one nothing is known");
    says(&mut world, &["b"], "Unschedulable");
    assert!(request(&world).is_none(), "another one may come");
    world.pass_seconds(11);
    assert_eq!(asked(&world), [("4".to_owned(), 2)]);
}

#[test]
fn pods_that_come_one_by_one_and_are_no_gang_are_asked_for_together() {
    let mut world = VOLCANO.world(1);
    VOLCANO.add(&mut world, &["a"], "4");
    says(&mut world, &["a"], "Unschedulable");
    world.pass_seconds(9);
    VOLCANO.add(&mut world, &["b"], "4");
    says(&mut world, &["a", "b"], "Unschedulable");
    world.pass_seconds(9);
    assert!(request(&world).is_none());
    world.pass_seconds(2);
    assert_eq!(asked(&world), [("4".to_owned(), 2)]);
}

#[test]
fn pods_that_do_not_ask_are_bought_for_one_by_one_and_hold_up_nobody() {
    let mut world = VOLCANO.world(3);
    let mut head = VOLCANO.pod("head", "1", CLASS);
    head["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": NAME});
    world.server.apply(ManagedKind::Pod, head);
    VOLCANO.add(&mut world, &["a", "b"], "4");
    says(&mut world, &["head", "a", "b"], "Unschedulable");
    assert!(request(&world).is_none(), "another pod may have gone");
    world.pass_seconds(61);
    assert_eq!(asked(&world), [("4".to_owned(), 2)]);
}

#[test]
fn a_request_for_which_no_pod_waits_any_more_is_taken_back() {
    for ends in ["bound", "gone"] {
        let mut world = VOLCANO.world(2);
        VOLCANO.add(&mut world, &["a", "b"], "4");
        says(&mut world, &["a", "b"], "Unschedulable");
        assert!(request(&world).is_some());
        match ends {
            "bound" => bind(&mut world, &["a", "b"]),
            _ => {
                for name in ["a", "b"] {
                    world.server.remove(&pod_ref(name));
                }
                world.settle();
            }
        }
        assert!(request(&world).is_none(), "{ends}");
    }
}

#[test]
fn it_goes_with_its_group_and_a_process_that_is_new_asks_once() {
    let mut world = VOLCANO.world(2);
    VOLCANO.add(&mut world, &["a", "b"], "4");
    says(&mut world, &["a", "b"], "Unschedulable");
    let first = uid(&world);
    world.restart();
    world.settle();
    assert_eq!(uid(&world), first);
    world.server.delete(&VOLCANO.group(), "", false);
    world.settle();
    assert!(request(&world).is_none());
    assert!(world.server.all(ManagedKind::PodTemplate).is_empty());
}

#[test]
fn wrong_words_and_pods_without_their_request_are_told_on_the_group() {
    for of in [VOLCANO, NATIVE] {
        let mut world = of.world(2);
        let wrong = of.pod("wrong", "1", "Check Capacity");
        world.server.apply(ManagedKind::Pod, wrong);
        let mut alone = of.pod("alone", "1", CLASS);
        let annotations = alone["metadata"]["annotations"].as_object_mut();
        let annotations = annotations.expect("annotations");
        annotations.remove("autoscaling.x-k8s.io/consume-provisioning-request");
        world.server.apply(ManagedKind::Pod, alone);
        for (name, class) in [("a", CLASS), ("b", "other")] {
            world
                .server
                .apply(ManagedKind::Pod, of.pod(name, "1", class));
        }
        world.settle();
        says(&mut world, &["wrong", "alone", "a", "b"], "Unschedulable");
        let told = of.told(&world).join("\n");
        for words in [
            "! annotation pumice.sh/provisioning-class: \"Check Capacity\" is no name of a class, as ",
            "! pods of the group have annotation pumice.sh/provisioning-class and not \
             autoscaling.x-k8s.io/consume-provisioning-request: ray with",
            "pods of the group say another, as other, and wait in vain: write one class on all",
        ] {
            assert!(told.contains(words), "{words}\n{told}");
        }
        assert!(request(&world).is_none(), "one more is needed");
        world.server.edit(&of.group(), |group| {
            group["spec"] = (of.spec)(1);
        });
        world.pass_seconds(11);
        assert_eq!(asked(&world), [("1".to_owned(), 1)]);
    }
}

#[test]
fn a_request_of_somebody_else_and_pods_of_jobs_are_left_alone() {
    let mut world = VOLCANO.world(1);
    let other = json!({"metadata": {"name": NAME, "namespace": "n"}, "spec": {"provisioningClassName": CLASS}});
    world.server.apply(ManagedKind::ProvisioningRequest, other);
    VOLCANO.add(&mut world, &["a"], "4");
    says(&mut world, &["a"], "Unschedulable");
    world.pass_seconds(3_600);
    assert!(request(&world).is_some_and(|request| request["spec"]["podSets"].is_null()));
    let words =
        "! ProvisioningRequest ray is not of this PodGroup: delete it, and room is asked for";
    assert_eq!(VOLCANO.told(&world), [words]);
    let mut world = VOLCANO.world(1);
    let mut pod = VOLCANO.pod("a", "4", CLASS);
    pod["metadata"]["annotations"]["volcano.sh/job-name"] = json!("train");
    world.server.apply(ManagedKind::Pod, pod);
    world.settle();
    says(&mut world, &["a"], "Unschedulable");
    assert!(request(&world).is_none());
}

#[test]
fn of_a_gang_that_lost_a_pod_nothing_is_asked_for_before_the_scheduler_has_heard_of_it() {
    let mut world = VOLCANO.world(2);
    VOLCANO.add(&mut world, &["a"], "4");
    let other = VOLCANO.pod("b", "4", "other");
    world.server.apply(ManagedKind::Pod, other);
    world.settle();
    says(&mut world, &["a", "b"], "Unschedulable");
    world.server.remove(&pod_ref("b"));
    world.settle();
    assert!(request(&world).is_none(), "half a gang");
    says(&mut world, &["a"], "GangIncomplete");
    world.pass_seconds(600);
    assert!(request(&world).is_none());
    VOLCANO.add(&mut world, &["b"], "4");
    says(&mut world, &["a", "b"], "Unschedulable");
    assert_eq!(asked(&world), [("4".to_owned(), 2)]);
}

#[test]
fn nobody_asks_in_the_name_of_a_job_or_by_the_word_of_another_scheduler() {
    let mut world = VOLCANO.world(1);
    world.server.edit(&VOLCANO.group(), |group| {
        group["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job", "name": "train", "uid": "j", "controller": true}]);
    });
    VOLCANO.add(&mut world, &["a"], "4");
    says(&mut world, &["a"], "Unschedulable");
    assert!(request(&world).is_none());
    let mut world = NATIVE.world(1);
    let mut pod = NATIVE.pod("a", "4", CLASS);
    pod["spec"]["schedulerName"] = json!("default-scheduler");
    world.server.apply(ManagedKind::Pod, pod);
    world.settle();
    says(&mut world, &["a"], "Unschedulable");
    assert!(request(&world).is_none());
}

#[test]
fn a_large_group_is_looked_at_once_a_second_and_asks_for_all_that_it_lacks() {
    let mut world = VOLCANO.world(100);
    let names: Vec<String> = (0..100).map(|number| format!("p-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    VOLCANO.add(&mut world, &names, "4");
    says(&mut world, &names, "Unschedulable");
    world.pass_seconds(2);
    assert_eq!(asked(&world), [("4".to_owned(), 100)]);
}

#[test]
fn templates_go_with_the_request_that_names_them() {
    let mut world = VOLCANO.world(2);
    VOLCANO.add(&mut world, &["a", "b"], "4");
    says(&mut world, &["a", "b"], "Unschedulable");
    assert_eq!(world.server.all(ManagedKind::PodTemplate).len(), 1);
    for name in ["a", "b"] {
        world.server.remove(&pod_ref(name));
    }
    world.settle();
    assert!(world.server.all(ManagedKind::PodTemplate).is_empty());
}

#[test]
fn the_version_of_a_group_of_kubernetes_is_the_one_that_it_was_written_by() {
    let written = json!([{"apiVersion": "scheduling.k8s.io/v1alpha2", "manager": "m"}]);
    let group = json!({"metadata": {"name": NAME, "namespace": "n", "managedFields": written}});
    let read = |group: &Value| {
        let text = group.to_string();
        let read = pumice_controllers::runtime::read_object(NATIVE.kind, text.as_bytes());
        match read.expect("it is one") {
            Some(pumice_controllers::runtime::Observed::NativeGroup(group)) => group.api_version,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(&group), "scheduling.k8s.io/v1alpha2");
    let newest = json!({"metadata": {"name": NAME}});
    assert_eq!(read(&newest), "scheduling.k8s.io/v1beta1");
}

#[test]
fn more_kinds_of_pods_than_a_request_may_have_are_told() {
    let mut world = VOLCANO.world(33);
    let names: Vec<String> = (1..=33).map(|number| format!("p-{number}")).collect();
    for (at, name) in names.iter().enumerate() {
        VOLCANO.add(&mut world, &[name], &(at + 1).to_string());
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    says(&mut world, &names, "Unschedulable");
    assert!(request(&world).is_none());
    let words =
        "! 33 kinds of pods lack nodes, and a ProvisioningRequest has 32 sets of pods at most";
    assert!(VOLCANO.told(&world)[0].starts_with(words));
}

#[test]
fn of_pods_that_say_more_than_a_template_takes_nothing_is_kept_and_that_is_told() {
    let mut world = VOLCANO.world(2);
    VOLCANO.add(&mut world, &["a"], "4");
    let mut pod = VOLCANO.pod("b", "4", CLASS);
    let many: Vec<Value> = (0..1_000)
        .map(|at| json!({"key": format!("key-{at}"), "operator": "Exists"}))
        .collect();
    pod["spec"]["tolerations"] = json!(many);
    world.server.apply(ManagedKind::Pod, pod);
    world.settle();
    says(&mut world, &["a", "b"], "Unschedulable");
    assert!(request(&world).is_none(), "half a gang is not bought");
    let told = VOLCANO.told(&world).join("\n");
    let words = "! pods of the group have more than 16 KiB of affinity, volumes and the like";
    assert!(told.contains(words), "{told}");
}

#[test]
fn labels_that_the_pods_own_rules_name_stay_in_the_template() {
    let mut world = VOLCANO.world(1);
    let mut pod = VOLCANO.pod("a", "4", CLASS);
    pod["metadata"]["labels"]["app"] = json!("ray");
    let selector = json!({"matchLabels": {"app": "ray"}});
    let terms = json!([{"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}]);
    pod["spec"]["affinity"] =
        json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}});
    world.server.apply(ManagedKind::Pod, pod);
    world.settle();
    says(&mut world, &["a"], "Unschedulable");
    world.pass_seconds(11);
    let templates = world.server.all(ManagedKind::PodTemplate);
    assert_eq!(
        templates[0]["template"]["metadata"]["labels"],
        json!({"app": "ray"})
    );
}
