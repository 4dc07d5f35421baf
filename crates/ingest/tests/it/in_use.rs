//! What holds something counts, whatever of it cannot be read.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;
use pumice_ingest::{Options, Readable, persistent_volume_claim, pod, resource_claim};
use pumice_model::object::PodObject;
use pumice_model::resource::MAX_AMOUNT;
use serde_json::{Value, json};

use super::with_spec;

/// A pod with this `spec` on a node, and the fields that are told of.
fn on_node(mut spec: Value) -> (PodObject, Vec<String>) {
    spec["nodeName"] = json!("n1");
    let wire = serde_json::from_value(with_spec(spec)).expect("a pod");
    let Readable { object, doubts } = pod(&wire, &Options::default()).expect("it counts");
    (object, doubts.into_iter().map(|doubt| doubt.path).collect())
}

fn amount(pod: &PodObject, name: &str) -> Option<i64> {
    let mut amounts = pod.request.iter();
    Some(amounts.find(|(known, _)| known == name)?.1)
}

#[test]
fn an_amount_that_cannot_be_read_is_all_there_is_wherever_it_stands() {
    let asks = |list: &str, cpu: &str| json!({"resources": {list: {"cpu": cpu}}});
    let fine = asks("requests", "1");
    for bad in ["two", "-1", "", "1e99", "9007199254740993"] {
        let specs = [
            (
                json!({"containers": [asks("requests", bad), fine]}),
                "spec.containers[0].resources.requests.cpu",
            ),
            (
                json!({"containers": [fine, asks("limits", bad)]}),
                "spec.containers[1].resources.limits.cpu",
            ),
            (
                json!({"containers": [fine], "initContainers": [asks("requests", bad)]}),
                "spec.initContainers[0].resources.requests.cpu",
            ),
            (
                json!({"containers": [fine], "overhead": {"cpu": bad}}),
                "spec.overhead.cpu",
            ),
            (
                json!({"containers": [fine], "resources": {"requests": {"cpu": bad}}}),
                "spec.resources.requests.cpu",
            ),
        ];
        for (spec, path) in specs {
            let (pod, told) = on_node(spec);
            assert_eq!(amount(&pod, "cpu"), Some(MAX_AMOUNT), "{bad:?} at {path}");
            assert_eq!(told, [path], "{bad:?}");
        }
    }
}

#[test]
fn what_of_it_can_be_read_counts_as_it_is() {
    let (pod, told) = on_node(json!({"containers": [{"resources": {"requests": {
        "cpu": "60", "memory": "200Gi", "example.com/absent": "9007199254740993"}}}]}));
    assert_eq!(
        (amount(&pod, "cpu"), amount(&pod, "memory")),
        (Some(60_000), Some(200 << 30))
    );
    assert_eq!(amount(&pod, "example.com/absent"), Some(MAX_AMOUNT));
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(pod.node.as_deref(), Some("n1"));
}

#[test]
fn a_sum_that_is_too_large_is_all_there_is() {
    let half = json!({"resources": {"requests": {"memory": "5Pi"}}});
    let (pod, told) = on_node(json!({"containers": [half, half]}));
    assert_eq!(amount(&pod, "memory"), Some(MAX_AMOUNT));
    assert_eq!(told, ["spec.containers.memory"]);
}

#[test]
fn nothing_else_that_is_wrong_with_a_pod_takes_it_off_its_node() {
    let term = json!({"topologyKey": "", "labelSelector": {"matchExpressions": [
        {"key": "a", "operator": "Odd"}]}});
    let spec = json!({
        "containers": [{"ports": [{"hostPort": 70_000, "containerPort": 1}],
            "resources": {"requests": {"cpu": "1"}}}],
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "topologySpreadConstraints": [
            {"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Odd"}],
    });
    let (pod, told) = on_node(spec);
    assert_eq!(amount(&pod, "cpu"), Some(1000));
    assert!(
        told.iter().any(|path| path.contains("hostPort")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|path| path.contains("affinity")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|path| path.contains("topologySpread")),
        "{told:?}"
    );
}

#[test]
fn texts_of_users_are_told_in_part() {
    let long = "x".repeat(100_000);
    let spec =
        json!({"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": long}}}]});
    let wire = serde_json::from_value(with_spec(spec)).expect("a pod");
    let read = pod(&wire, &Options::default()).expect("it counts");
    assert!(
        read.doubts[0].message.len() < 500,
        "{}",
        read.doubts[0].message.len()
    );
}

#[test]
fn a_claim_that_has_something_counts() {
    let volume = |name: &str| {
        let wire = json!({"metadata": {"name": "c"}, "spec": {"volumeName": name,
            "resources": {"requests": {"storage": "much"}}}});
        persistent_volume_claim(&serde_json::from_value(wire).expect("a claim"))
    };
    assert_eq!(volume("pv").map(|read| read.doubts.len()).ok(), Some(1));
    assert!(volume("").is_err());
    let devices = |status: Value| {
        let wire = json!({"metadata": {"name": "c"}, "status": status,
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {
                "deviceClassName": "gpu", "allocationMode": "Some"}}]}}});
        let wire: ResourceClaim = serde_json::from_value(wire).expect("a claim");
        resource_claim(&wire)
    };
    let result = json!({"request": "r", "driver": "d", "pool": "p", "device": "gpu-0",
        "shareID": "s", "consumedCapacity": {"memory": "odd"}});
    let read =
        devices(json!({"allocation": {"devices": {"results": [result]}}})).expect("it counts");
    assert_eq!(read.doubts.len(), 2, "{:?}", read.doubts);
    let held = &read.object.allocation.expect("devices").devices.devices[0];
    let (_, consumed) = held.share.as_ref().expect("a share");
    assert!(consumed["memory"].whole_ceil() > MAX_AMOUNT);
    assert!(devices(json!({})).is_err());
}

#[test]
fn a_pod_that_names_more_than_anybody_needs_is_set_aside_unless_it_is_on_a_node() {
    let requests = |count: usize| -> Value {
        let names = (0..count).map(|at| (format!("a.b/r{at}"), json!("1")));
        Value::Object(names.collect())
    };
    let with = |count: usize, node: Option<&str>| -> Pod {
        let containers = json!([{"name": "c", "resources": {"requests": requests(count)}}]);
        let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": node, "containers": containers}});
        serde_json::from_value(pod).expect("a pod")
    };
    // With `pods`, which every pod asks for.
    assert!(pod(&with(127, None), &Options::default()).is_ok());
    let problems = pod(&with(128, None), &Options::default()).expect_err("too many");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].path, "spec.containers");
    assert_eq!(problems[0].message, "129 names of resources");
    assert_eq!(problems[0].help, "leave some out: 128 is the most");
    let read = pod(&with(128, Some("n")), &Options::default()).expect("it counts");
    assert_eq!(read.object.request.len(), 129);
    assert_eq!(read.doubts.len(), 1);
}

#[test]
fn a_pod_with_longer_annotations_than_anybody_needs_is_set_aside_unless_it_is_on_a_node() {
    let with = |key: &str, bytes: usize, node: Option<&str>| -> Pod {
        let annotations = json!({key: "x".repeat(bytes - key.len())});
        let pod = json!({"metadata": {"name": "p", "annotations": annotations},
            "spec": {"nodeName": node, "containers": [{"name": "c"}]}});
        serde_json::from_value(pod).expect("a pod")
    };
    let record = "volcano.sh/vgpu-ids-new";
    assert!(pod(&with(record, 32 * 1024, None), &Options::default()).is_ok());
    let problems = pod(&with(record, 32 * 1024 + 1, None), &Options::default());
    let problems = problems.expect_err("too much");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].path, "metadata.annotations");
    assert_eq!(problems[0].message, "32769 bytes that are read");
    assert_eq!(problems[0].help, "leave some out: 32768 is the most");
    let read = pod(&with(record, 32 * 1024 + 1, Some("n")), &Options::default());
    let read = read.expect("it counts");
    assert_eq!((read.object.records.len(), read.doubts.len()), (1, 1));
    // What nobody reads is not kept.
    let of_others = with("example.com/notes", 200_000, None);
    assert!(pod(&of_others, &Options::default()).is_ok());
    for key in [
        "scheduling.k8s.io/group-name",
        "scheduling.volcano.sh/queue-name",
    ] {
        let named = with(key, 64 * 1024, None);
        assert!(pod(&named, &Options::default()).is_err(), "{key}");
    }
}

/// What a pod may have at most so many of: the bound, words and field of the refusal, the spec of a pod with so many.
type BoundOfPod = (usize, &'static str, &'static str, fn(usize) -> Value);

const BOUNDS_OF_PODS: [BoundOfPod; 7] = [
    (
        128,
        "terms about pods",
        "spec.affinity",
        |count| json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": pod_terms(count)}}}),
    ),
    (128, "terms about pods", "spec.affinity", |count| {
        let weighed = pod_terms(count).into_iter();
        let weighed = weighed.map(|term| json!({"weight": 1, "podAffinityTerm": term}));
        let weighed: Vec<Value> = weighed.collect();
        json!({"affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighed}}})
    }),
    (
        128,
        "constraints",
        "spec.topologySpreadConstraints",
        |count| {
            let one = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}}});
            json!({"topologySpreadConstraints": vec![one; count]})
        },
    ),
    (10_000, "tests of nodes", "spec", |count| {
        let pairs = (0..count).map(|at| (format!("k{at}"), json!("v")));
        json!({"nodeSelector": Value::Object(pairs.collect())})
    }),
    // A term counts for itself, and its expression.
    (10_000, "tests of nodes", "spec", |count| {
        let one = json!({"matchExpressions": [{"key": "k", "operator": "Exists"}]});
        let empty = vec![json!({"key": "k", "operator": "Exists"}); count % 2];
        json!({"tolerations": empty, "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            {"nodeSelectorTerms": vec![one; count / 2]}}}})
    }),
    (
        10_000,
        "tests of nodes",
        "spec",
        |count| json!({"tolerations": vec![json!({"key": "k", "operator": "Exists"}); count]}),
    ),
    (128, "claims", "spec.resourceClaims", |count| {
        let claims =
            (0..count).map(|at| json!({"name": format!("c{at}"), "resourceClaimName": "c"}));
        json!({"resourceClaims": claims.collect::<Vec<Value>>()})
    }),
];

fn pod_terms(count: usize) -> Vec<Value> {
    let term = |at: usize| json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": at.to_string()}}});
    (0..count).map(term).collect()
}

#[test]
fn a_pod_with_more_terms_tests_or_claims_than_anybody_needs_is_set_aside_unless_it_is_on_a_node() {
    for (most, words, path, spec) in BOUNDS_OF_PODS {
        let read = |count: usize| -> Result<Readable<PodObject>, _> {
            let wire = serde_json::from_value(with_spec(spec(count))).expect("a pod");
            pod(&wire, &Options::default())
        };
        assert!(
            read(most).is_ok_and(|read| read.doubts.is_empty()),
            "{most} {words}"
        );
        let problems = read(most + 1).expect_err("too many");
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].path, path);
        assert_eq!(problems[0].message, format!("{} {words}", most + 1));
        let (_, doubts) = on_node(spec(most + 1));
        assert_eq!(doubts, [path]);
    }
}
