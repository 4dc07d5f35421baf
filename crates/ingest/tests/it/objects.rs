//! Nodes, PodGroups, queues, classes, namespaces and workloads.

use pumice_ingest::{ObjectProblem, Options};
use pumice_model::object::{
    AssignedPod, CpuPlace, GroupObject, GroupPhase, HighestTier, HyperNodeMembers,
    NumatopologyObject, PreemptableMark, QueueState, Requirement, Selector, SelectorOp, Taint,
    TaintEffect, TopologyPolicy, TopologyRequest, WorkloadObject,
};
use serde_json::{Value, json};

use super::{amounts, pairs, problems};

macro_rules! read {
    ($reader:ident, $wire:expr) => {
        pumice_ingest::$reader(&serde_json::from_value($wire).expect("an object"))
    };
}

/// A PodGroup, with the annotations of one key.
fn pod_group(wire: Value) -> Result<GroupObject, Vec<ObjectProblem>> {
    let options = Options {
        annotations: vec!["example.com/read"],
        ..Options::default()
    };
    let wire = serde_json::from_value(wire).expect("a PodGroup");
    pumice_ingest::pod_group(&wire, &options)
}

#[test]
fn a_node_is_read() {
    let node = read!(
        node,
        json!({
            "metadata": {"name": "n1", "labels": {"zone": "a"}, "annotations": {
                "volcano.sh/oversubscription-cpu": "1500.7",
                "volcano.sh/oversubscription-memory": "lots"}},
            "spec": {"unschedulable": true, "taints": [
                {"key": "k", "effect": "NoSchedule"},
                {"key": "k", "value": "v", "effect": "PreferNoSchedule"}]},
            "status": {
                "capacity": {"cpu": "16"},
                "allocatable": {"cpu": "7910m", "memory": "16Gi", "pods": 110,
                    "ephemeral-storage": "1k", "nvidia.com/gpu": 8, "hugepages-2Mi": "0",
                    "attachable-volumes-csi-x": 25, "strange": 1},
                "images": [{"names": ["b", "a@sha256:0"], "sizeBytes": 5},
                    {"names": ["b:latest"], "sizeBytes": 7}]},
        })
    )
    .unwrap();
    assert_eq!((node.name.as_str(), node.unschedulable), ("n1", true));
    assert_eq!(node.labels, pairs(&[("zone", "a")]));
    let taint = |value: &str, effect| Taint {
        key: "k".into(),
        value: value.into(),
        effect,
    };
    let expected = [
        taint("", TaintEffect::NoSchedule),
        taint("v", TaintEffect::PreferNoSchedule),
    ];
    assert_eq!(node.taints, expected);
    let expected = [
        ("attachable-volumes-csi-x", 25_000),
        ("cpu", 7910),
        ("ephemeral-storage", 1000),
        ("hugepages-2Mi", 0),
        ("memory", 16 << 30),
        ("nvidia.com/gpu", 8000),
        ("pods", 110),
    ];
    assert_eq!(node.allocatable, amounts(&expected));
    assert_eq!(node.oversubscription, amounts(&[("cpu", 1500)]));
    assert_eq!(node.images, amounts(&[("a@sha256:0", 5), ("b:latest", 5)]));
}

#[test]
fn a_node_without_allocatable_offers_its_capacity() {
    let node = json!({"metadata": {"name": "n"}, "status": {"capacity": {"cpu": 2}}});
    assert_eq!(
        read!(node, node).unwrap().allocatable,
        amounts(&[("cpu", 2000)])
    );
}

#[test]
fn every_problem_of_a_node_is_reported() {
    let found = problems(read!(
        node,
        json!({
            "spec": {"taints": [{"key": "k", "effect": "Never"}]},
            "status": {"allocatable": {"cpu": "-1"}, "images": [{"sizeBytes": -1}]},
        })
    ));
    let expected = [
        "metadata.name: the name is missing",
        "spec.taints[0].effect: \"Never\" is not an effect",
        "status.allocatable.cpu: \"-1\" is negative",
        "status.images[0].sizeBytes: the size -1 is out of range",
    ];
    assert_eq!(found, expected);
}

/// Whoever may edit a namespace may make service accounts there: with each of them he is the same user.
#[test]
fn service_accounts_of_a_namespace_are_one_requester() {
    let requester = |name: &str| {
        let group = pod_group(json!({"metadata": {
            "namespace": "ns", "name": "g", "annotations": {"pumice.sh/requester": name}
        }}));
        group.expect("it can be read").requester
    };
    for account in ["default", "another"] {
        let name = format!("system:serviceaccount:lab:{account}");
        assert_eq!(requester(&name), "system:serviceaccounts:lab");
    }
    let others = ["system:serviceaccount:shop:default", "jane"].map(requester);
    assert_eq!(others, ["system:serviceaccounts:shop", "jane"]);
    assert_eq!(requester(&"x".repeat(129)), "");
}

#[test]
fn a_pod_group_is_read() {
    let group = pod_group(json!({
        "metadata": {"name": "g", "namespace": "ns", "creationTimestamp": "1970-01-01T00:01:00Z",
            "annotations": {"example.com/read": "1h", "example.com/other": "x"}},
        "spec": {"minMember": 3, "minTaskMember": {"w": 2, "a": 1}, "queue": "q",
            "priorityClassName": "high",
            "minResources": {"cpu": "3", "requests.cpu": "3", "count/pods": 3, "pods": 3},
            "subGroupPolicy": [{"name": "p", "matchLabelKeys": ["k"],
                "labelSelector": {"matchLabels": {"a": "b"}}}]},
        "status": {"phase": "Inqueue", "running": 1, "conditions": [
            {"type": "Scheduled", "status": "False", "reason": "old"},
            {"type": "Unschedulable", "status": "True", "transitionID": "c1",
                "lastTransitionTime": "1970-01-01T00:00:05Z"},
            {"type": "Scheduled", "status": "True"}]},
    }))
    .unwrap();
    assert_eq!((group.uid.as_str(), group.created_s), ("ns/g", 60));
    assert_eq!((group.min_member, group.queue.as_str()), (3, "q"));
    assert_eq!(group.annotation("example.com/read"), Some("1h"));
    assert_eq!(group.annotation("example.com/other"), None);
    assert_eq!(group.preemptable, PreemptableMark::Unsaid);
    assert_eq!(
        group.min_task_member,
        [("a".to_owned(), 1), ("w".to_owned(), 2)]
    );
    assert_eq!(
        group.min_resources,
        Some(amounts(&[("cpu", 3000), ("pods", 3)]))
    );
    assert_eq!(
        group.quota_request,
        amounts(&[
            ("count/pods", 3000),
            ("cpu", 3000),
            ("pods", 3000),
            ("requests.cpu", 3000)
        ])
    );
    let policy = &group.sub_groups[0];
    assert_eq!(
        (policy.size, policy.min_groups, group.wants_topology()),
        (1, 0, false)
    );
    assert_eq!(
        (group.status.phase, group.status.running),
        (GroupPhase::Inqueue, 1)
    );
    let kinds: Vec<_> = group
        .status
        .conditions
        .iter()
        .map(|c| (c.kind.as_str(), c.status.as_str()))
        .collect();
    assert_eq!(kinds, [("Unschedulable", "True"), ("Scheduled", "True")]);
    assert_eq!(group.status.conditions[0].transition_s, 5);
    assert_eq!(group.status.conditions[0].transition_id, "c1");
}

#[test]
fn a_pod_group_says_whether_its_pods_may_be_evicted() {
    let cases = [
        (
            json!({"annotations": {"volcano.sh/preemptable": "false"}}),
            PreemptableMark::No,
        ),
        (
            json!({"labels": {"volcano.sh/preemptable": "true"}}),
            PreemptableMark::Yes,
        ),
        (
            json!({"labels": {"volcano.sh/preemptable": "yes"}}),
            PreemptableMark::Unreadable,
        ),
    ];
    for (mut meta, expected) in cases {
        meta["name"] = json!("g");
        let group = pod_group(json!({"metadata": meta, "spec": {}})).unwrap();
        assert_eq!(group.preemptable, expected, "{meta}");
    }
}

#[test]
fn a_pod_group_may_want_a_topology_as_a_whole_or_in_parts() {
    for spec in [
        json!({"networkTopology": {"mode": "hard"}}),
        json!({"subGroupPolicy": [{"networkTopology": {}}]}),
    ] {
        let group = pod_group(json!({"metadata": {"name": "g"}, "spec": spec})).unwrap();
        assert!(group.wants_topology());
        assert_eq!(group.min_resources, None);
    }
}

#[test]
fn a_hyper_node_is_read_with_every_kind_of_member() {
    let read = read!(
        hyper_node,
        json!({
            "metadata": {"name": "s0", "uid": "u0"},
            "spec": {"tier": 2, "tierName": "rack", "members": [
                {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}},
                {"type": "Node", "selector": {"regexMatch": {"pattern": "^n"}}},
                {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}}},
                {"type": "HyperNode", "selector": {"exactMatch": {"name": "s1"}}},
                {"type": "HyperNode", "selector": {"regexMatch": {"pattern": "^s"}}},
            ]},
        })
    );
    let read = read.unwrap();
    assert_eq!(
        (read.name.as_str(), read.uid.as_str(), read.tier),
        ("s0", "u0", 2)
    );
    assert_eq!(read.tier_name, "rack");
    let text = |members: &HyperNodeMembers| match members {
        HyperNodeMembers::Node(name) => format!("node {name}"),
        HyperNodeMembers::NodesNamed(name) => format!("nodes {name}"),
        HyperNodeMembers::NodesLabelled(labels) => labels.requirements[0].key.clone(),
        HyperNodeMembers::Child(name) => format!("child {name}"),
        HyperNodeMembers::ChildrenNamed(name) => format!("children {name}"),
    };
    let members: Vec<String> = read.members.iter().map(text).collect();
    assert_eq!(
        members,
        ["node n1", "nodes ^n", "a", "child s1", "children ^s"]
    );
}

#[test]
fn every_problem_of_a_hyper_node_is_reported() {
    let found = problems(read!(
        hyper_node,
        json!({
            "metadata": {"name": "s0"},
            "spec": {"tier": -1, "members": [
                {"type": "Pod", "selector": {"exactMatch": {"name": "n1"}}},
                {"type": "Node"},
                {"type": "Node", "selector": {"exactMatch": {"name": ""}}},
                {"type": "Node", "selector": {"regexMatch": {"pattern": "("}}},
                {"type": "HyperNode", "selector": {"labelMatch": {}}},
                {"type": "Node", "selector": {"exactMatch": {"name": "a"}, "regexMatch": {"pattern": "b"}}},
                {"type": "HyperNode", "selector": {"regexMatch": {"pattern": ""}}},
            ]},
        })
    ));
    let places: Vec<&str> = found
        .iter()
        .map(|line| line.split(':').next().unwrap_or(""))
        .collect();
    assert_eq!(
        places,
        [
            "spec.tier",
            "spec.members[0].type",
            "spec.members[1].selector",
            "spec.members[2].selector.exactMatch.name",
            "spec.members[3].selector.regexMatch.pattern",
            "spec.members[4].selector.labelMatch",
            "spec.members[5].selector",
            "spec.members[6].selector.regexMatch.pattern",
        ]
    );
}

#[test]
fn a_hyper_node_without_a_tier_is_of_none_and_not_of_tier_0() {
    for wire in [
        json!({"metadata": {"name": "s0"}}),
        json!({"metadata": {"name": "s0"}, "spec": {"tier": null, "members": []}}),
    ] {
        assert_eq!(
            problems(read!(hyper_node, wire)),
            ["spec.tier: the tier is missing"]
        );
    }
    let wire = json!({"metadata": {"name": "s0"}, "spec": {"tier": 0}});
    let read = read!(hyper_node, wire).unwrap();
    assert_eq!((read.tier, read.members.len()), (0, 0));
}

#[test]
fn what_a_pod_group_asks_of_the_network_is_read() {
    let hard = |tier| Some(TopologyRequest::Hard(tier));
    let cases = [
        (
            json!({"mode": "soft", "highestTierAllowed": 2}),
            Some(TopologyRequest::Soft),
        ),
        (
            json!({"highestTierAllowed": 2, "highestTierName": "x"}),
            hard(HighestTier::Number(2)),
        ),
        (
            json!({"mode": "hard", "highestTierName": "x"}),
            hard(HighestTier::Name("x".to_owned())),
        ),
        (json!({"mode": "hard"}), hard(HighestTier::Missing)),
    ];
    for (wire, expected) in cases {
        let spec = json!({"networkTopology": wire, "subGroupPolicy": [{"networkTopology": wire}]});
        let group = pod_group(json!({"metadata": {"name": "g"}, "spec": spec})).unwrap();
        assert_eq!(group.topology, expected, "{wire}");
        assert_eq!(group.sub_groups[0].topology, expected, "{wire}");
    }
    for wire in [json!({"mode": "firm"}), json!({"highestTierAllowed": -1})] {
        let spec = json!({"networkTopology": wire});
        let read = pod_group(json!({"metadata": {"name": "g"}, "spec": spec}));
        assert!(
            problems(read)[0].starts_with("spec.networkTopology."),
            "{wire}"
        );
    }
}

#[test]
fn every_problem_of_a_pod_group_is_reported() {
    let found = problems(pod_group(json!({
        "metadata": {"name": "g"},
        "spec": {"minMember": -1, "minTaskMember": {"w": -2}, "minResources": {"cpu": "x"},
            "subGroupPolicy": [{"subGroupSize": 0, "minSubGroups": -1}]},
        "status": {"phase": "Dreaming"},
    })));
    let expected = [
        "spec.minMember: -1 is too small",
        "spec.minTaskMember.w: -2 is too small",
        "spec.subGroupPolicy[0].subGroupSize: 0 is too small",
        "spec.subGroupPolicy[0].minSubGroups: -1 is too small",
        "spec.minResources.cpu: \"x\" has no digits",
        "status.phase: \"Dreaming\" is not a phase",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_queue_is_read_and_has_its_defaults() {
    let queue = read!(
        queue,
        json!({
            "metadata": {"name": "q"},
            "spec": {"weight": 4, "capability": {"cpu": "4", "cpus": "4"},
            "deserved": {"memory": "1Gi", "gpu": "1", "cpus": "4"},
                "guarantee": {"resource": {"nvidia.com/gpu": 1}}, "reclaimable": false,
                "parent": "root", "priority": 2},
            "status": {"state": "Closing", "allocated": {"cpu": "1", "pods": "2"}},
        })
    )
    .unwrap();
    assert_eq!(
        (queue.weight, queue.priority, queue.reclaimable),
        (4, 2, false)
    );
    assert_eq!(queue.capability, amounts(&[("cpu", 4000)]));
    assert_eq!(queue.uncounted, ["cpus", "gpu"]);
    assert_eq!(queue.deserved, amounts(&[("memory", 1 << 30)]));
    assert_eq!(queue.guarantee, amounts(&[("nvidia.com/gpu", 1000)]));
    assert_eq!(queue.allocated, amounts(&[("cpu", 1000), ("pods", 2)]));
    assert_eq!(
        (queue.state, queue.parent.as_str()),
        (QueueState::Closing, "root")
    );
    let queue = read!(queue, json!({"metadata": {"name": "q"}})).unwrap();
    assert_eq!(
        (queue.weight, queue.priority, queue.reclaimable),
        (1, 0, true)
    );
    assert_eq!((queue.state, queue.hierarchy.len()), (QueueState::Open, 0));
}

#[test]
fn hierarchy_weights_are_one_per_part() {
    let cases: [(&str, &str, &[&str], &[f64]); 6] = [
        ("", "1/2", &[], &[]),
        (
            "root/eng/dev",
            "1/2/0.5",
            &["root", "eng", "dev"],
            &[1.0, 2.0, 0.5],
        ),
        ("eng/dev", "2/8", &["root", "eng", "dev"], &[1.0, 2.0, 8.0]),
        ("root/eng", "1", &["root", "eng"], &[1.0, 1.0]),
        ("root/eng", "x/-3/7", &["root", "eng"], &[1.0, 1.0]),
        ("root/eng", "", &["root", "eng"], &[1.0, 1.0]),
    ];
    for (path, weights, parts, expected) in cases {
        let queue = read!(
            queue,
            json!({"metadata": {"name": "q", "annotations": {
            "volcano.sh/hierarchy": path, "volcano.sh/hierarchy-weights": weights}}})
        )
        .unwrap();
        assert_eq!(queue.hierarchy, parts, "{path} {weights}");
        assert_eq!(queue.hierarchy_weights, expected, "{path} {weights}");
    }
}

#[test]
fn every_problem_of_a_queue_is_reported() {
    let found = problems(read!(
        queue,
        json!({
            "metadata": {"name": "q"},
            "spec": {"weight": -1, "priority": -1, "capability": {"cpu": "-1"}},
            "status": {"state": "Ajar"},
        })
    ));
    let expected = [
        "spec.weight: the weight -1 is out of range",
        "spec.priority: the priority -1 is negative",
        "spec.capability.cpu: \"-1\" is negative",
        "status.state: \"Ajar\" is not a state",
    ];
    assert_eq!(found, expected);
}

#[test]
fn classes_and_namespaces_are_read() {
    let class = json!({"metadata": {"name": "high"}, "value": 1000, "globalDefault": true,
        "preemptionPolicy": "Never"});
    let class = read!(priority_class, class).unwrap();
    assert_eq!(
        (class.name.as_str(), class.value, class.global_default),
        ("high", 1000, true)
    );
    assert!(class.never_preempts);
    let class = read!(priority_class, json!({"metadata": {"name": "none"}})).unwrap();
    assert_eq!((class.value, class.global_default), (0, false));
    assert!(!class.never_preempts);
    let namespace = json!({"metadata": {"name": "ns", "labels": {"team": "a"}}});
    let labels = read!(namespace, namespace).unwrap().labels;
    assert_eq!(
        labels,
        pairs(&[("kubernetes.io/metadata.name", "ns"), ("team", "a")])
    );
    let expected = ["metadata.name: the name is missing"];
    assert_eq!(
        problems(read!(namespace, json!({"metadata": {}}))),
        expected
    );
    assert_eq!(
        problems(read!(priority_class, json!({"metadata": {}}))),
        expected
    );
}

#[test]
fn budgets_are_read_and_one_that_is_newer_than_its_status_allows_nothing() {
    let of = |generation: i64, selector: Value| {
        json!({
            "metadata": {"name": "b", "namespace": "ns", "generation": generation},
            "spec": {"minAvailable": 1, "selector": selector},
            "status": {"observedGeneration": 2, "disruptionsAllowed": 3, "currentHealthy": 4,
                "desiredHealthy": 1, "expectedPods": 4,
                "disruptedPods": {"p1": "2024-01-02T03:04:05Z"}},
        })
    };
    let read = |wire| read!(pod_disruption_budget, wire);
    let budget = read(of(2, json!({"matchLabels": {"app": "web"}}))).unwrap();
    assert_eq!(
        (budget.namespace.as_str(), budget.name.as_str()),
        ("ns", "b")
    );
    assert_eq!((budget.allowed, budget.healthy), (3, 4));
    assert_eq!(budget.disrupted, ["p1"]);
    assert_eq!(budget.selector.unwrap().requirements.len(), 1);
    let changed = read(of(3, json!({}))).unwrap();
    assert_eq!(
        (changed.allowed, changed.selector),
        (0, Some(Selector::default()))
    );
    let bare = read(json!({"metadata": {"name": "b"}, "spec": {}})).unwrap();
    assert_eq!((bare.allowed, bare.selector), (0, None));
    let bad = json!({"matchExpressions": [{"key": "app", "operator": "Is"}]});
    assert_eq!(
        problems(read(of(2, bad))),
        ["spec.selector.matchExpressions[0].operator: \"Is\" is not an operator"]
    );
}

#[test]
fn quotas_are_read_under_the_names_they_are_written_with() {
    let read = |wire| read!(resource_quota, wire);
    let quota = read(json!({
        "metadata": {"name": "q", "namespace": "ns"},
        "spec": {"hard": {"pods": "9"}},
        "status": {"hard": {"requests.cpu": "1500m", "pods": "4", "memory": "1Ki"},
            "used": {"requests.cpu": "1", "pods": "2"}},
    }))
    .unwrap();
    assert_eq!(
        quota.hard,
        amounts(&[
            ("memory", 1_024_000),
            ("pods", 4000),
            ("requests.cpu", 1500)
        ])
    );
    assert_eq!(
        quota.used,
        amounts(&[("pods", 2000), ("requests.cpu", 1000)])
    );
    assert!(!quota.is_scoped);
    let new = read(json!({
        "metadata": {"name": "q"},
        "spec": {"hard": {"pods": "9"}, "scopes": ["BestEffort"]},
    }))
    .unwrap();
    assert_eq!(new.hard, amounts(&[("pods", 9000)]));
    assert!(new.is_scoped);
    let bad = json!({"metadata": {"name": "q"}, "status": {"hard": {"cpu": "-1"}}});
    assert_eq!(problems(read(bad)), ["status.hard.cpu: \"-1\" is negative"]);
}

#[test]
fn workloads_select_their_pods_and_empty_selectors_none() {
    let web = |kind: &str, selects: bool| WorkloadObject {
        kind: kind.to_owned(),
        namespace: "default".to_owned(),
        name: "w".to_owned(),
        selector: selects.then(|| Selector {
            requirements: vec![Requirement {
                key: "app".to_owned(),
                op: SelectorOp::In(vec!["web".to_owned()]),
            }],
        }),
        controller: None,
    };
    let wire = |spec: Value| json!({"metadata": {"name": "w"}, "spec": spec});
    let plain = || wire(json!({"selector": {"app": "web"}}));
    let template = wire(json!({"template": {"metadata": {"labels": {"app": "web"}}}}));
    let full = || wire(json!({"selector": {"matchLabels": {"app": "web"}}}));
    let rc = "ReplicationController";
    assert_eq!(read!(service, plain()), Ok(web("Service", true)));
    assert_eq!(read!(service, wire(json!({}))), Ok(web("Service", false)));
    assert_eq!(read!(replication_controller, plain()), Ok(web(rc, true)));
    assert_eq!(read!(replication_controller, template), Ok(web(rc, true)));
    assert_eq!(read!(replica_set, full()), Ok(web("ReplicaSet", true)));
    assert_eq!(
        read!(replica_set, wire(json!({"selector": {}}))),
        Ok(web("ReplicaSet", false))
    );
    assert_eq!(read!(stateful_set, full()), Ok(web("StatefulSet", true)));
    let mut made = full();
    made["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "1"},
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "2", "controller": true},
    ]);
    let made = read!(replica_set, made).expect("it is read");
    let deployment = ("Deployment".to_owned(), "d".to_owned());
    assert_eq!(made.controller, Some(deployment));
    let bad = json!({"selector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}});
    let expected = ["spec.selector.matchExpressions[0].operator: \"Is\" is not an operator"];
    assert_eq!(problems(read!(stateful_set, wire(bad))), expected);
}

#[test]
fn amounts_are_written_back_as_quantities() {
    let stored = amounts(&[
        ("cpu", 1500),
        ("memory", 3 << 30),
        ("nvidia.com/gpu", 2000),
        ("pods", 110),
    ]);
    let list = pumice_ingest::resource_list(&stored);
    let texts: Vec<_> = list
        .iter()
        .map(|(name, text)| (name.as_str(), text.0.as_str()))
        .collect();
    let expected = [
        ("cpu", "1500m"),
        ("memory", "3Gi"),
        ("nvidia.com/gpu", "2"),
        ("pods", "110"),
    ];
    assert_eq!(texts, expected);
}

#[test]
fn what_a_node_uses_is_read_as_a_part_of_what_it_has() {
    let node = read!(
        node,
        json!({"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "32", "memory": "128Gi"}}})
    );
    let node = node.expect("a node");
    let metrics = |more: Value| {
        let mut wire =
            json!({"metadata": {"name": "n"}, "usage": {"cpu": "30400m", "memory": "64Gi"}});
        wire.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let metrics = serde_json::from_value(wire).expect("metrics");
        pumice_ingest::node_usage(&metrics, &node, 77)
    };
    let usage = metrics(json!({"timestamp": "1970-01-01T00:01:00Z"})).expect("usage");
    assert_eq!((usage.cpu, usage.memory, usage.at_s), (95_000, 50_000, 60));
    assert_eq!(metrics(json!({})).expect("usage").at_s, 77);
    let nanos = metrics(json!({"usage": {"cpu": "1600000000n", "memory": "1Ki"}}));
    assert_eq!(nanos.expect("usage").cpu, 5000);
    let found = metrics(json!({"usage": {"cpu": "much"}})).expect_err("no amounts");
    let paths: Vec<&str> = found.iter().map(|problem| &*problem.path).collect();
    assert_eq!(paths, ["usage.cpu", "usage.memory"]);
}

#[test]
fn a_numatopology_is_read() {
    let object = read!(
        numatopology,
        json!({
            "metadata": {"name": "n1", "managedFields": [
                {"manager": "a", "time": "1970-01-01T00:00:50Z"},
                {"manager": "b", "time": "1970-01-01T00:00:09Z"},
                {"manager": "c"}]},
            "spec": {
                "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "restricted"},
                "resReserved": {"cpu": "1500m", "memory": "lots"},
                "numares": {"cpu": {"allocatable": "1-2, 8,3", "capacity": 4}},
                "cpuDetail": {
                    "2": {"numa": 1, "socket": 1, "core": 5},
                    "10": {"numa": 1, "socket": 1, "core": 6},
                    "1": {}},
                "podAllocations": [{"uid": "u1", "namespace": "ns", "name": "p1",
                    "containerAllocations": [
                        {"name": "main", "allocations": {"cpu": "3", "memory": "1Gi"}}]}]}
        })
    );
    let place = |cpu, numa, socket, core| CpuPlace {
        cpu,
        numa,
        socket,
        core,
    };
    let expected = NumatopologyObject {
        node: "n1".to_owned(),
        gives_cpus: true,
        policy: TopologyPolicy::Restricted,
        cpus: vec![place(1, 0, 0, 0), place(2, 1, 1, 5), place(10, 1, 1, 6)],
        free: vec![1, 2, 8],
        reserved: 2,
        assigned: vec![AssignedPod {
            uid: "u1".to_owned(),
            namespace: "ns".to_owned(),
            name: "p1".to_owned(),
        }],
        written_s: Some(50),
    };
    assert_eq!(object, Ok(expected));
}

#[test]
fn a_numatopology_that_cannot_be_read_is_refused_with_all_its_problems() {
    let nothing = read!(numatopology, json!({"metadata": {"name": "n1"}}));
    let nothing = nothing.expect("it tells nothing");
    assert!(!nothing.gives_cpus && nothing.cpus.is_empty());
    let read = read!(
        numatopology,
        json!({
            "metadata": {"name": "n1"},
            "spec": {
                "resReserved": {"cpu": "some"},
                "numares": {"cpu": {"allocatable": "0-3,x,5-4,99999"}},
                "cpuDetail": {"zero": {}, "1": {"numa": -1}},
                "podAllocations": [{"name": "p1", "containerAllocations": [
                    {"allocations": {"cpu": "1;2"}}]}]}
        })
    );
    let problems = read.expect_err("it is nonsense");
    let paths: Vec<&str> = problems.iter().map(|it| it.path.as_str()).collect();
    let free = "spec.numares.cpu.allocatable";
    let expected = [
        "spec.cpuDetail.1.numa",
        "spec.cpuDetail.zero",
        free,
        free,
        free,
        "spec.podAllocations[0].containerAllocations[0].allocations.cpu",
        "spec.resReserved.cpu",
    ];
    assert_eq!(paths, expected);
}

#[test]
fn a_rule_that_taints_devices_is_read_in_each_version() {
    for version in ["v1", "v1beta2"] {
        let rule = |spec: Value| {
            let wire = json!({
                "apiVersion": format!("resource.k8s.io/{version}"), "kind": "DeviceTaintRule",
                "metadata": {"name": "fans"}, "spec": spec,
                "status": {"conditions": [{"type": "EvictionInProgress"}]},
            });
            read!(device_taint_rule, wire).expect("a rule")
        };
        let taint = json!({"key": "example.com/fan", "value": "off", "effect": "NoExecute"});
        let named = rule(json!({
            "deviceSelector": {"driver": "gpu.example.com", "device": "g0"}, "taint": taint,
        }));
        let devices = named.devices.expect("it selects some");
        assert_eq!(devices.driver.as_deref(), Some("gpu.example.com"));
        assert_eq!(
            (devices.pool, devices.device.as_deref()),
            (None, Some("g0"))
        );
        assert_eq!(named.taint.key, "example.com/fan");
        assert_eq!(
            (named.taint.value.as_str(), named.taint.repels()),
            ("off", true)
        );
        assert_eq!(named.name, "fans");
        assert!(
            rule(json!({"deviceSelector": {}, "taint": taint}))
                .devices
                .is_some()
        );
        assert_eq!(rule(json!({"taint": taint})).devices, None);
    }
    assert!(
        read!(device_taint_rule, json!({})).is_err(),
        "it has no name"
    );
}
