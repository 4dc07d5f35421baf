//! What a pod takes from its node.

use pumice_model::resource::MAX_AMOUNT;
use serde_json::{Value, json};

use super::{amounts, problems, read, read_spec, with_spec};

const MIB: i64 = 1 << 20;

fn container(requests: Value) -> Value {
    json!({"resources": {"requests": requests}})
}

fn sidecar(requests: Value) -> Value {
    json!({"restartPolicy": "Always", "resources": {"requests": requests}})
}

/// What a case is about, the spec of the pod, and its request.
type Case = (&'static str, Value, Vec<(&'static str, i64)>);

fn check(cases: Vec<Case>) {
    for (name, spec, expected) in cases {
        assert_eq!(read_spec(spec).request, amounts(&expected), "{name}");
    }
}

fn one(cpu: &str) -> Value {
    container(json!({ "cpu": cpu }))
}

#[test]
fn containers_add_up_by_the_kubernetes_rule() {
    check(vec![
        ("nothing", json!({"containers": [{}]}), vec![("pods", 1)]),
        ("no containers", json!({}), vec![("pods", 1)]),
        (
            "apps add up, exactly, and are rounded once",
            json!({"containers": [one("0.0004"), one("0.0004")]}),
            vec![("cpu", 1), ("pods", 1)],
        ),
        (
            "a large init container sets the peak",
            json!({"initContainers": [one("3"), one("1")], "containers": [one("1"), one("1")]}),
            vec![("cpu", 3000), ("pods", 1)],
        ),
        (
            "apps and sidecars run together",
            json!({"initContainers": [sidecar(json!({"cpu": "1"})), one("1500m")],
                "containers": [one("2")]}),
            vec![("cpu", 3000), ("pods", 1)],
        ),
        (
            "an init container runs beside the sidecars started before it",
            json!({"initContainers": [one("4"), sidecar(json!({"cpu": "2"})), one("3"),
                sidecar(json!({"cpu": "1"}))], "containers": [one("1")]}),
            vec![("cpu", 5000), ("pods", 1)],
        ),
        (
            "the maximum is taken per resource",
            json!({
                "initContainers": [container(json!({"cpu": "2", "memory": "1Mi"}))],
                "containers": [container(json!({"cpu": "1", "memory": "4Mi"}))],
            }),
            vec![("cpu", 2000), ("memory", 4 * MIB), ("pods", 1)],
        ),
    ]);
}

#[test]
fn overhead_pod_level_amounts_and_limits_change_the_request() {
    check(vec![
        (
            "overhead comes on top",
            json!({"containers": [one("1")], "overhead": {"cpu": "250m", "memory": "1Mi"}}),
            vec![("cpu", 1250), ("memory", MIB), ("pods", 1)],
        ),
        (
            "pod-level requests replace those of containers",
            json!({"resources": {"requests": {"cpu": "1", "hugepages-2Mi": "4Mi",
                "nvidia.com/gpu": 9}}, "overhead": {"cpu": "1"},
                "containers": [container(json!({"cpu": "5", "memory": "1Mi",
                    "nvidia.com/gpu": 1}))]}),
            vec![
                ("cpu", 2000),
                ("hugepages-2Mi", 4 * MIB),
                ("memory", MIB),
                ("nvidia.com/gpu", 1000),
                ("pods", 1),
            ],
        ),
        (
            "a pod-level limit is the request where no container has one",
            json!({"resources": {"limits": {"cpu": "8", "memory": "8Mi"}},
                "containers": [one("1")]}),
            vec![("cpu", 1000), ("memory", 8 * MIB), ("pods", 1)],
        ),
        (
            "limits are the request where it is absent",
            json!({"containers": [{"resources": {
                "limits": {"volcano.sh/vgpu-number": 1, "cpu": "2", "memory": "2Mi"},
                "requests": {"cpu": "1"},
            }}]}),
            vec![
                ("cpu", 1000),
                ("memory", 2 * MIB),
                ("pods", 1),
                ("volcano.sh/vgpu-number", 1000),
            ],
        ),
        (
            "names the scheduler does not count are left out, zeros too",
            json!({"containers": [container(json!({"storage": "1", "requests.cpu": "1",
                "cpu": "0", "ephemeral-storage": "1Mi"}))]}),
            vec![("ephemeral-storage", MIB), ("pods", 1)],
        ),
    ]);
}

#[test]
fn a_resize_counts_the_larger_of_spec_and_status_unless_it_is_infeasible() {
    let pod = |reason: &str| {
        let mut pod = with_spec(json!({
            "containers": [{"name": "a", "resources": {"requests": {"cpu": "4"}}},
                {"name": "b", "resources": {"requests": {"cpu": "1"}}}],
            "initContainers": [{"name": "s", "restartPolicy": "Always",
                "resources": {"requests": {"cpu": "1"}}}],
        }));
        pod["status"] = json!({
            "phase": "Running",
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
            "containerStatuses": [
                {"name": "a", "resources": {"requests": {"cpu": "2"}},
                    "allocatedResources": {"cpu": "3"}},
                {"name": "b", "allocatedResources": {"cpu": "7"}},
            ],
            "initContainerStatuses": [{"name": "s", "resources": {"requests": {"cpu": "2"}}}],
        });
        read(pod).unwrap().request
    };
    // Without status resources (container b) the status does not count.
    assert_eq!(
        pod("Deferred"),
        amounts(&[("cpu", 4000 + 1000 + 2000), ("pods", 1)])
    );
    assert_eq!(
        pod("Infeasible"),
        amounts(&[("cpu", 3000 + 1000 + 2000), ("pods", 1)])
    );
}

#[test]
fn scores_count_a_default_for_containers_without_request() {
    let cases: Vec<(&str, Value, i64, i64)> = vec![
        (
            "empty container",
            json!({"containers": [{}]}),
            100,
            200 * MIB,
        ),
        (
            "each container by itself",
            json!({"containers": [container(json!({"cpu": "1"})),
                container(json!({"memory": "1Mi"}))]}),
            1100,
            201 * MIB,
        ),
        (
            "an explicit zero is a request",
            json!({"containers": [container(json!({"cpu": 0}))]}),
            0,
            200 * MIB,
        ),
        (
            "sidecars and overhead too",
            json!({"initContainers": [{"restartPolicy": "Always"}], "containers": [{}],
                "overhead": {"cpu": "10m"}}),
            210,
            400 * MIB,
        ),
        (
            "a pod-level budget covers containers without request",
            json!({"resources": {"requests": {"cpu": "1"}}, "containers": [{}, {}]}),
            1000,
            400 * MIB,
        ),
        (
            "beside a pod-level budget a resource some container asks for has no defaults",
            json!({"resources": {"requests": {"memory": "1Mi"}},
                "containers": [container(json!({"cpu": "1"})), {}]}),
            1000,
            MIB,
        ),
    ];
    for (name, spec, cpu, memory) in cases {
        let pod = read_spec(spec);
        assert_eq!(
            (pod.nonzero_cpu_milli, pod.nonzero_memory_bytes),
            (cpu, memory),
            "{name}"
        );
    }
}

#[test]
fn bad_quantities_are_problems_with_the_path_of_the_field() {
    let spec = json!({
        "containers": [
            {"resources": {"requests": {"cpu": "-1", "nvidia.com/gpu": "two", "storage": "x"}}},
            {"resources": {"limits": {"memory": "7Pi"}}},
            {"resources": {"limits": {"memory": "1Mi"}, "requests": {"memory": "8193Ti"}}},
        ],
        "overhead": {"cpu": ""},
    });
    let expected = [
        "spec.containers[0].resources.requests.cpu: \"-1\" is negative",
        "spec.containers[0].resources.requests[nvidia.com/gpu]: \"two\" has no digits",
        "spec.containers[0].resources.requests.storage: \"x\" has no digits",
        "spec.containers[2].resources.requests.memory: \"8193Ti\" is more than",
        "spec.overhead.cpu: the quantity is empty",
    ];
    let found = problems(read(with_spec(spec)));
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_sum_that_is_too_large_is_one_problem() {
    let most = container(json!({"memory": "8Pi"}));
    assert_eq!(
        read_spec(json!({"containers": [most]})).request[0].1,
        MAX_AMOUNT
    );
    let half = container(json!({"memory": "5Pi"}));
    let found = problems(read(with_spec(json!({"containers": [half, half]}))));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("spec.containers.memory: "),
        "{found:?}"
    );
}
