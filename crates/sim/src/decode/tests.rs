use k8s_openapi::api::core::v1::Pod;
use pumice_yaml::node::YamlNode;
use pumice_yaml::tree::{Budget, documents};

use super::{locate_dotted, to_json, typed};

const POD: &str = "\
kind: Pod
metadata:
  annotations:
    scheduling.k8s.io/group-name: g
    plain: x
spec:
  containers:
  - name: main
    image: busybox
    resources:
      requests:
        nvidia.com/gpu: 1
        cpu: 2
";

fn node(text: &str) -> YamlNode<'_> {
    documents(text, Budget::CONF)
        .next()
        .expect("a document")
        .expect("YAML")
}

fn place(text: &str, path: &str) -> (u32, u32) {
    let found = locate_dotted(&node(text), path);
    (found.line, found.column)
}

#[test]
fn a_dotted_path_leads_to_its_value() {
    let cases = [
        ("", (1, 1)),
        ("kind", (1, 7)),
        ("spec.containers[0].image", (9, 12)),
        ("spec.containers[0].resources.requests.cpu", (13, 14)),
        // Keys with dots, in both ways of writing them.
        (
            "spec.containers[0].resources.requests[nvidia.com/gpu]",
            (12, 25),
        ),
        (
            "spec.containers[0].resources.requests.nvidia.com/gpu",
            (12, 25),
        ),
        ("metadata.annotations.scheduling.k8s.io/group-name", (4, 35)),
        (
            "metadata.annotations[\"scheduling.k8s.io/group-name\"]",
            (4, 35),
        ),
        ("metadata.annotations['plain']", (5, 12)),
    ];
    for (path, expected) in cases {
        assert_eq!(place(POD, path), expected, "{path}");
    }
}

#[test]
fn a_path_that_does_not_exist_leads_as_far_as_it_does() {
    let cases = [
        ("status.phase", (1, 1)),
        ("metadata.name", (3, 3)),
        ("spec.containers[7].image", (8, 5)),
        ("spec.containers[x]", (8, 5)),
        ("spec.containers[0].images", (8, 5)),
        ("kind.of.thing", (1, 7)),
        ("spec.containers[0", (8, 5)),
        ("...", (1, 1)),
    ];
    for (path, expected) in cases {
        assert_eq!(place(POD, path), expected, "{path}");
    }
}

#[test]
fn the_longest_key_that_fits_is_taken() {
    assert_eq!(place("{a: {b: 1}, a.b: 2}\n", "a.b"), (1, 18));
}

#[test]
fn quantities_written_as_numbers_stay_as_written() {
    let json = to_json(&node(
        "resources: {limits: {cpu: 0.10, memory: 1e3, pods: 010}}\n",
    ));
    let expected = serde_json::json!({
        "resources": {"limits": {"cpu": "0.10", "memory": "1e3", "pods": "010"}}
    });
    assert_eq!(json, expected);
}

#[test]
fn the_capacity_of_a_numa_resource_is_a_number() {
    let text = "numares: {cpu: {allocatable: 0-3, capacity: 8}, memory: 5}\ncapacity: 8";
    let expected = serde_json::json!({
        "numares": {"cpu": {"allocatable": "0-3", "capacity": 8}, "memory": 5},
        "capacity": "8"});
    assert_eq!(to_json(&node(text)), expected);
}

#[test]
fn scalars_have_the_types_of_yaml_1_1() {
    let json = to_json(&node(
        "{a: yes, b: 017, c: \"yes\", d: ~, e: 1.5, f: 2026-01-01}\n",
    ));
    let expected = serde_json::json!({
        "a": true, "b": 15, "c": "yes", "d": null, "e": 1.5, "f": "2026-01-01"
    });
    assert_eq!(json, expected);
}

#[test]
fn a_mismatch_names_path_place_and_remedy() {
    let text = "metadata: {name: p}\nspec:\n  containers:\n  - name: main\n    image: 5\n";
    let mismatch =
        typed::<Pod>(&node(text), &to_json(&node(text))).expect_err("a number is no image");
    assert_eq!(mismatch.path, "spec.containers[0].image");
    assert_eq!((mismatch.location.line, mismatch.location.column), (5, 12));
    assert_eq!(mismatch.message, "expected a string, found the number 5");
    assert_eq!(mismatch.help, "put it in quotes: \"5\"");
}
