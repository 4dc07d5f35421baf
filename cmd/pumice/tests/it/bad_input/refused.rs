//! What an API server refuses, or what its admission changes: set aside or done here too.

use serde_json::{Value, json};

use super::run::{Folder, Ran, simulate};

fn job(name: &str, spec: Value) -> Value {
    let mut job = json!({"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"});
    job["metadata"] = json!({"name": name});
    job["spec"] = spec;
    job
}

/// A Job of pods with this container.
fn of_container(name: &str, fields: &Value) -> Value {
    let mut container = json!({"name": "main", "image": "none"});
    for (field, value) in fields.as_object().expect("fields") {
        container[field] = value.clone();
    }
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    job(
        name,
        json!({"tasks": [{"name": "m", "replicas": 1, "template": template}]}),
    )
}

fn run(name: &str, objects: &[Value]) -> Ran {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    simulate(name, &texts.join("\n---\n"))
}

/// Messages about an object.
fn told(ran: &Ran, object: &str) -> Vec<String> {
    let report = ran.report();
    let problems = report["problems"].as_array().cloned().unwrap_or_default();
    let of_it = problems
        .iter()
        .filter(|problem| problem["object"] == object);
    let text = |problem: &Value, key: &str| problem[key].as_str().expect("a text").to_owned();
    of_it
        .map(|problem| format!("{}; {}", text(problem, "message"), text(problem, "help")))
        .collect()
}

#[test]
fn templates_that_break_a_rule_set_their_job_aside_and_nothing_else() {
    let gpu = json!({"resources": {"limits": {"nvidia.com/gpu": "0.5"}}});
    let limit = json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}});
    let mount = json!({"volumeMounts": [{"name": "nope", "mountPath": "/x"}]});
    let mut label = of_container("j", &json!({}));
    label["spec"]["tasks"][0]["template"]["metadata"] = json!({"labels": {"a": "not valid!"}});
    let with = |field: &str, value: Value| {
        let mut job = of_container("j", &json!({}));
        job["spec"]["tasks"][0]["template"]["spec"][field] = value;
        job
    };
    let same = json!([{"name": "a", "image": "b"}, {"name": "a", "image": "b"}]);
    let cases = [
        (
            of_container("j", &gpu),
            "spec.containers[0].resources.limits[nvidia.com/gpu]: \"0.5\" is not a whole number; ",
        ),
        (
            of_container("j", &limit),
            "spec.containers[0].resources.requests.cpu: \"2\" is more than the limit 1; lower it, \
             or raise the limit",
        ),
        (
            of_container("j", &mount),
            "spec.containers[0].volumeMounts[0].name: there is no \"nope\" in \
             spec.tasks[0].template.spec.volumes; add it to spec.tasks[0].template.spec.volumes, \
             or remove this",
        ),
        (
            label,
            "metadata.labels.a: \"not valid!\" is not a value of a label; ",
        ),
        (
            with("containers", json!([])),
            "spec.containers: there is none; write at least one",
        ),
        (
            with("containers", same),
            "spec.containers[1].name: \"a\" is given twice, first as \
             spec.tasks[0].template.spec.containers[0].name; write another, or remove one of both",
        ),
        (
            with("restartPolicy", json!("never")),
            "spec.restartPolicy: \"never\" is not possible; write Never",
        ),
    ];
    for (job, expected) in cases {
        let ran = run(
            "refused-templates",
            &[job, of_container("fine", &json!({}))],
        );
        let ran = ran.goes_on(&["(the object is set aside)"]).aside(1);
        let told = told(&ran, "Job default/j");
        let expected = format!("spec.tasks[0].template.{expected}");
        assert!(
            told.len() == 1 && told[0].starts_with(&expected),
            "{told:?}"
        );
        ran.binds(&["default/fine-m-0", "default/good"]);
    }
}

#[test]
fn objects_of_every_kind_are_held_to_the_rules_with_the_place_of_the_value() {
    let of = |kind: &str, version: &str, rest: &str| {
        format!("kind: {kind}\napiVersion: {version}\nmetadata: {{name: x}}\n{rest}\n")
    };
    let cases = [
        (
            of(
                "Node",
                "v1",
                "spec:\n  taints:\n  - {key: a, effect: Never}",
            ),
            "all.yaml:24:22: Node x: spec.taints[0].effect: \"Never\" is not possible",
        ),
        (
            of(
                "Pod",
                "v1",
                "spec: {schedulerName: volcano, containers: [{image: a}]}",
            ),
            "all.yaml:22:45: Pod default/x: spec.containers[0].name: it is missing",
        ),
        (
            of("PriorityClass", "scheduling.k8s.io/v1", "value: 2000000000"),
            "all.yaml:22:8: PriorityClass x: value: 2000000000 is too large",
        ),
        (
            of(
                "ResourceClaim",
                "resource.k8s.io/v1",
                "spec: {devices: {requests: [{name: a, exactly: {}}]}}",
            ),
            "ResourceClaim default/x: spec.devices.requests[0].exactly.deviceClassName: it is missing",
        ),
        (
            of(
                "StorageClass",
                "storage.k8s.io/v1",
                "provisioner: a\nvolumeBindingMode: Later",
            ),
            "all.yaml:23:20: StorageClass x: volumeBindingMode: \"Later\" is not possible",
        ),
        (
            of(
                "PodGroup",
                "scheduling.volcano.sh/v1beta1",
                "spec: {queue: Not_A_Name}",
            ),
            "PodGroup default/x: spec.queue: \"Not_A_Name\" is not a name",
        ),
        (
            of(
                "Queue",
                "scheduling.volcano.sh/v1beta1",
                "spec: {dequeueStrategy: lifo}",
            ),
            "Queue x: spec.dequeueStrategy: \"lifo\" is not possible; ",
        ),
    ];
    for (object, expected) in cases {
        let expected = expected.trim_end_matches("; ");
        let ran = simulate("refused-kinds", &object);
        ran.goes_on(&[expected]).binds(&["default/good"]).aside(1);
    }
}

#[test]
fn what_an_api_server_has_accepted_is_told_and_takes_part() {
    let mut pod = json!({"kind": "Pod", "apiVersion": "v1"});
    pod["metadata"] = json!({"name": "p", "resourceVersion": "7"});
    pod["spec"] = json!({"schedulerName": "volcano", "dnsPolicy": "Newer",
        "containers": [{"name": "main"}]});
    let ran = run("served", &[pod]).goes_on(&["spec.dnsPolicy: \"Newer\" is not possible"]);
    ran.binds(&["default/good", "default/p"]).aside(0);
}

#[test]
fn a_runtime_class_adds_its_overhead_and_where_its_pods_go() {
    let class = |name: &str| {
        json!({"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": name},
            "handler": "kata", "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {"nodeSelector": {"kata": "yes"}}})
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "k1", "labels": {"kata": "yes"}},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}});
    let mut gang = of_container("j", &json!({"resources": {"requests": {"cpu": "1900m"}}}));
    gang["spec"]["tasks"][0]["replicas"] = json!(2);
    gang["spec"]["minAvailable"] = json!(2);
    gang["spec"]["tasks"][0]["template"]["spec"]["runtimeClassName"] = json!("kata");
    let ran = run("overhead", &[class("kata"), node.clone(), gang.clone()]);
    // 2 × (1900m + 250m) are more than 4 cpu.
    ran.goes_on(&[])
        .binds(&["default/good"])
        .waits(&["default/j-m-0", "default/j-m-1"]);
    gang["spec"]["tasks"][0]["replicas"] = json!(1);
    gang["spec"]["minAvailable"] = json!(1);
    let ran = run("overhead-fits", &[class("kata"), node, gang.clone()]);
    let ran = ran.goes_on(&[]).binds(&["default/good", "default/j-m-0"]);
    let report = ran.report();
    let binds = report["binds"].as_array().expect("binds").iter();
    let of_job: Vec<&Value> = binds
        .filter(|bind| bind["pod"] == "default/j-m-0")
        .collect();
    assert_eq!(of_job[0]["node"], "k1");
    let ran = run("overhead-none", &[class("katta"), gang]);
    ran.goes_on(&[
        "Job default/j: spec.tasks[0].template.spec.runtimeClassName: RuntimeClass \"kata\" does \
         not exist",
        "did you mean \"katta\"? give the class too",
    ])
    .binds(&["default/good", "default/j-m-0"]);
}

#[test]
fn an_overhead_of_its_own_is_refused() {
    let mut job = of_container("j", &json!({}));
    job["spec"]["tasks"][0]["template"]["spec"]["overhead"] = json!({"cpu": "1"});
    let ran = run("overhead-of-its-own", &[job])
        .goes_on(&["overhead: it must not be given where there is no runtimeClassName"]);
    ran.binds(&["default/good"]).aside(1);
}

#[test]
fn pods_of_other_schedulers_are_counted_and_a_misspelt_one_is_told() {
    let pod = |name: &str, scheduler: &str| {
        json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": name},
            "spec": {"schedulerName": scheduler, "containers": [{"name": "main"}]}})
    };
    let mut of_job = of_container("j", &json!({}));
    of_job["spec"]["schedulerName"] = json!("volcno");
    let objects = [pod("p1", "volcno"), pod("p2", "default-scheduler"), of_job];
    let ran = run("strangers", &objects);
    let ran = ran.goes_on(&[
        "Pod default/p1: spec.schedulerName: \"volcno\" is none of the schedulers here (one more pod \
         names it): did you mean \"volcano\"?",
    ]);
    let ran = ran.binds(&["default/good"]);
    let expected = json!([
        {"scheduler": "default-scheduler", "pods": 1},
        {"scheduler": "volcno", "pods": 2, "nearest": "volcano"},
    ]);
    assert_eq!(ran.report()["otherSchedulers"], expected);
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    let folder = Folder::new("strangers-table").with("all.yaml", texts.join("\n---\n"));
    let ran = folder.run(&["simulate", "all.yaml"]);
    let line =
        "Of other schedulers: 1 pod of default-scheduler, 2 pods of volcno (did you mean volcano?)";
    assert!(ran.out.contains(line), "{}", ran.out);
}

#[test]
fn an_amount_of_a_queue_that_nothing_has_is_told_with_the_nearest() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "g"},
        "status": {"allocatable": {"cpu": "4", "nvidia.com/gpu": "8", "pods": "10"}}});
    let queue = json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
        "metadata": {"name": "team"}, "spec": {"weight": 1,
        "capability": {"cpus": "4", "nvidia.com/gpus": "2", "memory": "1Gi"},
        "guarantee": {"resource": {"nvidia.com/gpu": "1"}}}});
    let ran = run("unknown-resources", &[node, queue]).goes_on(&[
        "Queue team: spec.capability.cpus: no node and no pod has a resource \"cpus\": it counts \
         nothing",
        "did you mean \"cpu\"? name a resource as nodes and pods do, or remove it",
        "spec.capability[nvidia.com/gpus]: no node and no pod has a resource",
        "did you mean \"nvidia.com/gpu\"?",
    ]);
    assert_eq!(told(&ran, "Queue team").len(), 2, "{}", ran.err);
    ran.aside(0);
}

#[test]
fn counts_of_retries_and_a_policy_that_never_acts_are_told() {
    let with = |change: &dyn Fn(&mut Value)| {
        let mut job = of_container("j", &json!({}));
        change(&mut job["spec"]);
        run("retries", &[job])
    };
    with(&|spec| spec["tasks"][0]["maxRetry"] = json!(-1))
        .goes_on(&["Job default/j: spec.tasks[0].maxRetry: -1 is too small; write 0 or more"])
        .binds(&["default/good"])
        .aside(1);
    let both = ["default/good", "default/j-m-0"];
    with(&|spec| spec["maxRetry"] = json!(0))
        .goes_on(&["spec.maxRetry: 0 counts as 3, as if it were not given"])
        .binds(&both)
        .aside(0);
    with(&|spec| spec["policies"] = json!([{"event": "PodPending", "action": "RestartJob"}]))
        .goes_on(&[
            "spec.policies[0]: PodPending without timeout never acts: every pod is pending at first",
            "say how long a pod may be pending, for example timeout: 10m",
        ])
        .binds(&both)
        .aside(0);
}

#[test]
fn what_a_plugin_cannot_make_or_does_not_know_is_told_and_the_job_runs() {
    let mut digit = of_container("1train", &json!({}));
    digit["spec"]["plugins"] = json!({"svc": []});
    run("digit", &[digit])
        .goes_on(&[
            "Job default/1train: metadata.name: \"1train\" begins with a digit: plugin svc makes a \
             Service of that name",
            "give it a name that begins with a letter, such as \"job-1train\"",
        ])
        .binds(&["default/1train-m-0", "default/good"]);
    let mut flag = of_container("j", &json!({}));
    flag["spec"]["plugins"] = json!({"ssh": ["--no-root"]});
    run("flag", &[flag])
        .goes_on(&[
            "Job default/j: spec.plugins.ssh[0]: there is no flag \"--no-root\"; use --ssh-key-file-path",
            "correct or remove it: the plugin runs without it",
        ])
        .binds(&["default/good", "default/j-m-0"])
        .aside(0);
}

#[test]
fn a_job_in_a_queue_with_queues_below_it_is_refused_and_told_where_to_go() {
    let queue = |name: &str, parent: &str| {
        json!({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": name}, "spec": {"weight": 1, "parent": parent}})
    };
    let mut job = of_container("j", &json!({}));
    job["spec"]["queue"] = json!("a");
    let queues = [queue("a", "root"), queue("a-1", "a"), queue("a-2", "a")];
    let all = [&queues[..], &[job.clone()]].concat();
    run("inner-queue", &all)
        .goes_on(&[
            "Job default/j: spec.queue: queue \"a\" has queues below it, as \"a-1\", \"a-2\", and takes \
             no Jobs",
            "name one of these",
        ])
        .binds(&["default/good"])
        .aside(1);
    job["spec"]["queue"] = json!("root");
    run("root-queue", &[job])
        .goes_on(&["spec.queue: queue \"root\" takes no Jobs"])
        .binds(&["default/good"])
        .aside(1);
}
