//! Identity, state and containers of a pod.

use pumice_ingest::Options;
use pumice_model::object::{
    AskedPolicy, CpuRequest, Gates, HostPort, InitCpus, PodPhase, PreemptableMark, TopologyPolicy,
};
use serde_json::{Value, json};

use super::{pairs, problems, read, read_spec, with_spec};

#[test]
fn a_bare_pod_has_the_documented_defaults() {
    let pod = read(json!({"metadata": {"name": "p"}})).unwrap();
    assert_eq!(
        (pod.namespace.as_str(), pod.name.as_str()),
        ("default", "p")
    );
    assert_eq!((pod.uid.as_str(), pod.created_s), ("default/p", 0));
    assert_eq!((pod.priority, pod.ours), (1, false));
    assert_eq!(pod.preemptable, PreemptableMark::Unsaid);
    assert_eq!((pod.preempts, pod.nominated_node), (None, None));
    assert_eq!(
        (pod.phase, pod.deleting, pod.gates),
        (PodPhase::Pending, false, Gates::None)
    );
    assert_eq!((pod.node, pod.group, pod.queue), (None, None, None));
    assert_eq!((pod.role.as_str(), pod.container_count), ("", 0));
}

#[test]
fn metadata_is_read() {
    let pod = read(json!({
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u1",
            "creationTimestamp": "2024-01-02T03:04:05Z",
            "deletionTimestamp": "2024-01-02T03:04:06Z",
            "labels": {"b": "2", "a": "1", "volcano.sh/task-spec": "label"},
            "annotations": {"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": "worker",
                "scheduling.volcano.sh/queue-name": "q"},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "x"},
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "y",
                    "controller": true},
            ],
        },
        "spec": {"schedulerName": "volcano", "nodeName": "n1", "priorityClassName": "high",
            "nodeSelector": {"z": "1", "d": "ssd"}},
        "status": {"phase": "Running"},
    }))
    .unwrap();
    assert_eq!(
        (pod.uid.as_str(), pod.created_s, pod.deleting),
        ("u1", 1_704_164_645, true)
    );
    assert_eq!(
        pod.labels,
        pairs(&[("a", "1"), ("b", "2"), ("volcano.sh/task-spec", "label")])
    );
    assert_eq!(
        (pod.role.as_str(), pod.priority_class.as_str()),
        ("worker", "high")
    );
    assert_eq!(
        (pod.group.as_deref(), pod.queue.as_deref()),
        (Some("g"), Some("q"))
    );
    assert_eq!(pod.owners, pairs(&[("ReplicaSet", "r"), ("Thing", "t")]));
    assert_eq!(
        (pod.ours, pod.node.as_deref(), pod.phase),
        (true, Some("n1"), PodPhase::Running)
    );
    assert_eq!(pod.node_selector, pairs(&[("d", "ssd"), ("z", "1")]));
}

#[test]
fn a_pod_needs_a_name() {
    let found = problems(read(json!({"metadata": {"generateName": "p-"}})));
    assert_eq!(found, ["metadata.name: the name is missing"]);
}

#[test]
fn pods_are_ours_by_scheduler_name() {
    let wire = serde_json::from_value(with_spec(json!({"schedulerName": "b"}))).unwrap();
    for (names, ours) in [
        (vec!["a", "b"], true),
        (vec!["volcano"], false),
        (vec![], false),
    ] {
        let scheduler_names = names.into_iter().map(str::to_owned).collect();
        let options = Options {
            scheduler_names,
            ..Options::default()
        };
        let pod = pumice_ingest::pod(&wire, &options).unwrap().object;
        assert_eq!(pod.ours, ours);
    }
}

#[test]
fn phases_are_read_and_others_are_unknown() {
    let cases = [
        ("", PodPhase::Pending),
        ("Pending", PodPhase::Pending),
        ("Running", PodPhase::Running),
        ("Succeeded", PodPhase::Succeeded),
        ("Failed", PodPhase::Failed),
        ("Unknown", PodPhase::Unknown),
        ("Dreaming", PodPhase::Unknown),
    ];
    for (text, expected) in cases {
        let pod = json!({"metadata": {"name": "p"}, "status": {"phase": text}});
        assert_eq!(read(pod).unwrap().phase, expected, "{text}");
    }
}

#[test]
fn the_priority_annotation_wins_when_it_can_be_read() {
    let cases = [
        (Some("7"), Some(5), 7),
        (Some("-7"), Some(5), -7),
        (Some("x"), Some(5), 5),
        (Some("3000000000"), None, 1),
        (Some(""), Some(0), 0),
        (None, Some(5), 5),
        (None, None, 1),
    ];
    for (annotation, spec, expected) in cases {
        let pod = json!({
            "metadata": {"name": "p", "annotations": {"volcano.sh/task-priority": annotation
                .unwrap_or_default()}},
            "spec": {"priority": spec},
        });
        assert_eq!(
            read(pod).unwrap().priority,
            expected,
            "{annotation:?} {spec:?}"
        );
    }
}

#[test]
fn preemptable_is_the_annotation_then_the_label() {
    let cases = [
        (json!("true"), json!("false"), PreemptableMark::Yes),
        (json!("0"), Value::Null, PreemptableMark::No),
        (json!("maybe"), json!("true"), PreemptableMark::Unreadable),
        (json!(""), json!("true"), PreemptableMark::Unreadable),
        (Value::Null, json!("false"), PreemptableMark::No),
        (Value::Null, json!("T"), PreemptableMark::Yes),
        (Value::Null, Value::Null, PreemptableMark::Unsaid),
    ];
    for (annotation, label, expected) in cases {
        let map = |value: &Value| match value {
            Value::Null => json!({}),
            value => json!({ "volcano.sh/preemptable": value }),
        };
        let meta = json!({"name": "p", "annotations": map(&annotation), "labels": map(&label)});
        let pod = read(json!({ "metadata": meta })).unwrap();
        assert_eq!(pod.preemptable, expected, "{annotation} {label}");
    }
}

#[test]
fn what_a_pod_says_of_evictions_for_it_is_read() {
    let cases = [
        (Value::Null, None),
        (json!("Never"), Some(false)),
        (json!("PreemptLowerPriority"), Some(true)),
        (json!("Sometimes"), None),
    ];
    for (policy, expected) in cases {
        let pod = read_spec(json!({ "preemptionPolicy": policy }));
        assert_eq!(pod.preempts, expected, "{policy}");
    }
}

#[test]
fn the_node_that_a_pod_is_promised_is_read() {
    for (name, expected) in [(json!("n1"), Some("n1")), (json!(""), None)] {
        let status = json!({"phase": "Pending", "nominatedNodeName": name});
        let pod = read(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
        assert_eq!(pod.nominated_node.as_deref(), expected);
    }
}

#[test]
fn when_a_pod_got_its_node_is_read() {
    let at = "1970-01-01T00:01:40Z";
    let cases = [
        (json!([]), None),
        (
            json!([{"type": "Ready", "status": "True", "lastTransitionTime": at}]),
            None,
        ),
        (
            json!([{"type": "PodScheduled", "status": "False", "lastTransitionTime": at}]),
            None,
        ),
        (json!([{"type": "PodScheduled", "status": "True"}]), None),
        (
            json!([{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}]),
            Some(100),
        ),
    ];
    for (conditions, expected) in cases {
        let status = json!({"phase": "Running", "conditions": conditions});
        let pod = read(json!({"metadata": {"name": "p"}, "status": status})).unwrap();
        assert_eq!(pod.scheduled_s, expected, "{conditions}");
    }
}

#[test]
fn only_the_queue_admission_gate_is_ours() {
    let ours = json!({"name": "scheduling.volcano.sh/queue-allocation-gate"});
    let theirs = json!({"name": "example.com/wait"});
    let cases = [
        (vec![], Gates::None),
        (vec![ours.clone()], Gates::QueueAdmission),
        (vec![theirs.clone()], Gates::Foreign),
        (vec![ours, theirs], Gates::Foreign),
    ];
    for (gates, expected) in cases {
        assert_eq!(
            read_spec(json!({ "schedulingGates": gates })).gates,
            expected
        );
    }
}

#[test]
fn images_come_from_all_containers_and_image_volumes() {
    let pod = read_spec(json!({
        "initContainers": [{"image": "init"}],
        "containers": [{"image": "reg:5000/app"}, {"image": "app@sha256:0"}, {"image": ""}, {}],
        "volumes": [{"name": "v", "image": {"reference": "data:1"}}, {"name": "w"}],
    }));
    let expected = [
        "init:latest",
        "reg:5000/app:latest",
        "app@sha256:0",
        "data:1",
    ];
    assert_eq!(
        (pod.images.as_slice(), pod.container_count),
        (&expected.map(str::to_owned)[..], 5)
    );
}

fn port(ip: &str, protocol: &str, port: u16) -> HostPort {
    HostPort {
        ip: ip.to_owned(),
        protocol: protocol.to_owned(),
        port,
    }
}

#[test]
fn host_ports_come_from_containers_and_sidecars() {
    let ports = |port: u16| json!([{"containerPort": 80, "hostPort": port}]);
    let pod = read_spec(json!({
        "initContainers": [{"ports": ports(1)}, {"restartPolicy": "Always", "ports": ports(2)}],
        "containers": [{"ports": [{"containerPort": 80}, {"containerPort": 81, "hostPort": 3,
            "hostIP": "10.0.0.1", "protocol": "UDP"}]}, {"ports": ports(2)}],
    }));
    assert_eq!(
        pod.host_ports,
        [port("0.0.0.0", "TCP", 2), port("10.0.0.1", "UDP", 3)]
    );
    let on_host = read_spec(json!({"hostNetwork": true,
        "containers": [{"ports": [{"containerPort": 80}]}]}));
    assert_eq!(on_host.host_ports, [port("0.0.0.0", "TCP", 80)]);
    let bad = json!({"containers": [{"ports": ports(1)}, {"ports": [{"hostPort": 70000}]}]});
    let expected = "spec.containers[1].ports[0].hostPort: the port 70000 is out of range";
    assert_eq!(problems(read(with_spec(bad))), [expected]);
}

#[test]
fn what_a_scheduler_said_about_a_waiting_pod_is_read() {
    let with = |conditions: Value| {
        let pod = read(json!({
            "metadata": {"name": "p"},
            "status": {"conditions": conditions},
        }));
        pod.unwrap().told.map(|told| *told)
    };
    let condition = |status: &str| {
        json!([
            {"type": "Ready", "status": "False", "reason": "Other"},
            {"type": "PodScheduled", "status": status, "reason": "Unschedulable", "message": "m"},
        ])
    };
    let told = ("Unschedulable".to_owned(), "m".to_owned());
    assert_eq!(with(condition("False")), Some(told));
    assert_eq!(with(condition("True")), None);
    assert_eq!(with(json!([])), None);
}

/// What a pod asks of CPUs of its own.
fn asked_cpus(
    annotation: &str,
    init: Value,
    containers: Value,
    status: Value,
) -> Option<CpuRequest> {
    let metadata = match annotation {
        "" => json!({"name": "p"}),
        policy => json!({"name": "p", "annotations": {
            "volcano.sh/numa-topology-policy": policy}}),
    };
    let wire = json!({"metadata": metadata, "status": status,
        "spec": {"initContainers": init, "containers": containers}});
    let wire = serde_json::from_value(wire).expect("a Pod");
    let read = pumice_ingest::pod(&wire, &Options::default());
    read.expect("a pod").object.cpus.map(|cpus| *cpus)
}

/// Init containers as CPUs and whether they stay.
fn asks_after(policy: AskedPolicy, init: &[(u32, bool)], containers: &[u32]) -> Option<CpuRequest> {
    let init = init.iter().map(|(cpus, stays)| InitCpus {
        cpus: *cpus,
        stays: *stays,
    });
    Some(CpuRequest {
        policy,
        init: init.collect(),
        containers: containers.to_vec(),
    })
}

#[test]
fn only_guaranteed_pods_ask_for_cpus_of_their_own() {
    let container = |cpu: &str, memory: &str| json!({"name": "c", "resources": {"limits": {"cpu": cpu, "memory": memory}}});
    let asks = |policy: AskedPolicy, containers: &[u32]| asks_after(policy, &[], containers);
    let sidecar = |cpu: &str| {
        let mut sidecar = container(cpu, "1Gi");
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let two = || json!([container("2", "1Gi"), container("500m", "1Gi")]);
    let burstable = json!([{"name": "c", "resources": {
        "requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}}]);
    let only = |policy| AskedPolicy::Only(policy);
    for (annotation, init, containers, status, expected) in [
        (
            "",
            json!([]),
            two(),
            json!({}),
            asks(AskedPolicy::Any, &[2, 0]),
        ),
        (
            "none",
            json!([]),
            two(),
            json!({}),
            asks(AskedPolicy::Any, &[2, 0]),
        ),
        (
            "single-numa-node",
            json!([container("1", "1Gi")]),
            two(),
            json!({}),
            asks_after(only(TopologyPolicy::SingleNumaNode), &[(1, false)], &[2, 0]),
        ),
        (
            "",
            json!([sidecar("3"), container("250m", "1Gi"), sidecar("1500m")]),
            json!([container("500m", "1Gi")]),
            json!({}),
            asks_after(AskedPolicy::Any, &[(3, true), (0, false), (0, true)], &[0]),
        ),
        (
            "numa",
            json!([]),
            json!([container("100m", "1Gi")]),
            json!({}),
            asks(AskedPolicy::Unknown("numa".to_owned()), &[0]),
        ),
        (
            "",
            json!([]),
            json!([container("100m", "1Gi")]),
            json!({}),
            None,
        ),
        ("", json!([{"name": "i"}]), two(), json!({}), None),
        ("restricted", json!([]), burstable, json!({}), None),
        ("", json!([]), two(), json!({"qosClass": "Burstable"}), None),
    ] {
        let read = asked_cpus(annotation, init, containers.clone(), status);
        assert_eq!(read, expected, "{annotation} {containers}");
    }
}

#[test]
fn only_containers_that_are_written_down_by_name_keep_theirs() {
    let named = |resource: &str| {
        let container =
            |name: &str, limits: Value| json!({"name": name, "resources": {"limits": limits}});
        let pod = read_spec(json!({
            "initContainers": [container("fetch", json!({resource: "1"}))],
            "containers": [container("beside", json!({"cpu": "1"})), container("main", json!({resource: "1"}))],
        }));
        pod.facts.names
    };
    let both = [(0, "fetch".to_owned()), (2, "main".to_owned())];
    assert_eq!(named("enflame.com/drs-gcu"), both);
    // Pods that differ in names alone are alike.
    assert_eq!(named("nvidia.com/gpu"), []);
}
