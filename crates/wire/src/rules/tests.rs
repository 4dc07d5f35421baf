use serde_json::{Value, json};

use super::{RuleScope, broken};

/// What is wrong with a pod whose spec has these fields besides a container.
fn of_spec(fields: &Value) -> Vec<String> {
    let mut spec = json!({"containers": [{"name": "c", "image": "i"}]});
    merge(&mut spec, fields);
    told("", "Pod", &json!({"metadata": {"name": "p"}, "spec": spec}))
}

/// What is wrong with a pod whose container has these fields.
fn of_container(fields: &Value) -> Vec<String> {
    let mut container = json!({"name": "c", "image": "i"});
    merge(&mut container, fields);
    of_spec(&json!({"containers": [container]}))
}

fn merge(into: &mut Value, fields: &Value) {
    for (key, value) in fields.as_object().unwrap() {
        into[key] = value.clone();
    }
}

fn told(group: &str, kind: &str, object: &Value) -> Vec<String> {
    let broken = broken(group, kind, object, RuleScope::Whole);
    broken.iter().map(ToString::to_string).collect()
}

fn assert_all(of: fn(&Value) -> Vec<String>, cases: &[(Value, &[&str])]) {
    for (fields, expected) in cases {
        assert_eq!(of(fields), *expected, "{fields}");
    }
}

#[test]
fn what_follows_the_rules_is_not_talked_about() {
    let fields = json!({
        "restartPolicy": "", "nodeSelector": null, "tolerations": [{"operator": "Exists"}],
        "volumes": [{"name": "v"}, {"name": "w", "emptyDir": {}}],
        "initContainers": [{"name": "i", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ],
        "containers": [
            {"name": "a", "image": "i", "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 81}],
             "resources": {"requests": {"cpu": "0.5", "a.io/b": "2"}, "limits": {"cpu": "1", "a.io/b": "2k"}}},
            {"name": "b", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}},
        ],
    });
    let wrong = [
        "spec.containers[0].resources.requests[a.io/b]: \"2\" is not the limit 2000; \
                  write the same for both: more than was asked for cannot be used of it",
    ];
    assert_eq!(of_spec(&fields), wrong);
}

#[test]
fn the_amounts_of_a_container_are_looked_at() {
    let asks = |requests: Value, limits: Value| json!({"resources": {"requests": requests, "limits": limits}});
    assert_all(
        of_container,
        &[
            (
                asks(json!({}), json!({"nvidia.com/gpu": "0.5"})),
                &[
                    "spec.containers[0].resources.limits[nvidia.com/gpu]: \"0.5\" is not a whole \
                   number; write a whole number, for example \"1\": only cpu and memory come in \
                   parts; a part of a card is asked for by resources of its own, such as those of \
                   vGPU",
                ],
            ),
            (
                asks(json!({"cpu": "2"}), json!({"cpu": "1"})),
                &[
                    "spec.containers[0].resources.requests.cpu: \"2\" is more than the limit 1; \
                   lower it, or raise the limit",
                ],
            ),
            (
                asks(json!({"nvidia.com/gpu": "1"}), json!({})),
                &[
                    "spec.containers[0].resources.requests[nvidia.com/gpu]: \"1\" has no limit \
                   beside it; write the same under limits: more than was asked for cannot be used \
                   of it",
                ],
            ),
            (
                asks(json!({"memory": "-1"}), json!({})),
                &[
                    "spec.containers[0].resources.requests.memory: \"-1\" is negative; write 0 or \
                   more, for example \"500m\" or \"4Gi\"",
                ],
            ),
            (
                asks(json!({"gpu": "1"}), json!({})),
                &[
                    "spec.containers[0].resources.requests.gpu: gpu is no resource of a container; \
                     use cpu, memory, ephemeral-storage or hugepages-SIZE, or what a device plugin \
                     offers under its full name, such as nvidia.com/gpu",
                ],
            ),
            (
                asks(json!({}), json!({"cpu": "1", "hugepages-2Mi": "3Mi"})),
                &[
                    "spec.containers[0].resources.limits.hugepages-2Mi: \"3Mi\" is not a number of \
                   pages of 2Mi; write a multiple of 2Mi",
                ],
            ),
            (
                asks(json!({}), json!({"hugepages-2Mi": "4Mi"})),
                &[
                    "spec.containers[0].resources: hugepages-2Mi is asked for without cpu or memory; \
                   ask for cpu or memory as well",
                ],
            ),
        ],
    );
}

#[test]
fn words_names_and_numbers_are_looked_at() {
    assert_all(
        of_spec,
        &[
            (
                json!({"containers": []}),
                &["spec.containers: there is none; write at least one"],
            ),
            (
                json!({"restartPolicy": "never"}),
                &["spec.restartPolicy: \"never\" is not possible; write Never"],
            ),
            (
                json!({"restartPolicy": "Sometimes"}),
                &[
                    "spec.restartPolicy: \"Sometimes\" is not possible; write Always, OnFailure or \
                   Never",
                ],
            ),
            (
                json!({"nodeSelector": {"a": "not valid!"}}),
                &[
                    "spec.nodeSelector.a: \"not valid!\" is not a value of a label; use letters, \
                   digits, '-', '_' and '.', at most 63, beginning and ending with a letter or \
                   digit",
                ],
            ),
            (
                json!({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}),
                &[
                    "spec.tolerations[0].value: \"b\" must not be given where operator is Exists; \
                   remove it",
                ],
            ),
            (
                json!({"tolerations": [{"effect": "NoSchedule"}]}),
                &[
                    "spec.tolerations[0].operator: it is missing where there is no key; write Exists",
                ],
            ),
            (
                json!({"tolerations": [{"key": "a", "tolerationSeconds": 5}]}),
                &[
                    "spec.tolerations[0].effect: it is missing where tolerationSeconds is given; \
                   write NoExecute",
                ],
            ),
            (
                json!({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone",
                    "whenUnsatisfiable": "ScheduleAnyway", "minDomains": 2}]}),
                &[
                    "spec.topologySpreadConstraints[0].maxSkew: 0 is too small; write 1 or more",
                    "spec.topologySpreadConstraints[0].minDomains: \"2\" must not be given where \
                     whenUnsatisfiable is ScheduleAnyway; remove it",
                ],
            ),
            (
                json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
                    {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]}}}}),
                &[
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.\
                   nodeSelectorTerms[0].matchExpressions[0].values: it is missing where operator is \
                   In; give it",
                ],
            ),
        ],
    );
}

#[test]
fn what_fields_say_of_each_other_is_looked_at() {
    assert_all(
        of_spec,
        &[
            (
                json!({"containers": [{"name": "a", "image": "i"}], "initContainers": [{"name": "a", "image": "i"}]}),
                &[
                    "spec.initContainers[0].name: \"a\" is given twice, first as \
                   spec.containers[0].name; write another, or remove one of both",
                ],
            ),
            (
                json!({"resourceClaims": [{"name": "a"}]}),
                &[
                    "spec.resourceClaims[0]: what it is to be is not given; write one of \
                   resourceClaimName, resourceClaimTemplateName",
                ],
            ),
        ],
    );
    assert_all(
        of_container,
        &[
            (
                json!({"volumeMounts": [{"name": "nope", "mountPath": "/x"}]}),
                &[
                    "spec.containers[0].volumeMounts[0].name: there is no \"nope\" in spec.volumes; \
                   add it to spec.volumes, or remove this",
                ],
            ),
            (
                json!({"ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80, "protocol": "TCP"}]}),
                &[
                    "spec.containers[0].ports[1].hostPort: \"80 TCP\" is given twice, first as \
                   spec.containers[0].ports[0].hostPort; write another, or remove one of both",
                ],
            ),
        ],
    );
}

/// What kube-apiserver says of such objects: a line each. A scenario of e2e asks it again.
const JUDGED: &str = include_str!("judged.jsonl");

#[test]
fn the_table_judges_as_an_api_server_does() {
    let mut count = 0;
    for line in JUDGED.lines() {
        let judged: Value = serde_json::from_str(line).unwrap();
        let object = &judged["object"];
        let version = object["apiVersion"].as_str().unwrap();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let told = told(group, object["kind"].as_str().unwrap(), object);
        assert_eq!(
            !told.is_empty(),
            judged["refused"] == true,
            "{object}: {told:?}"
        );
        count += 1;
    }
    assert!(count > 70, "{count}");
}

#[test]
fn a_sketch_needs_no_image() {
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}});
    assert_eq!(broken("", "Pod", &pod, RuleScope::Sketch), []);
    let whole = ["spec.containers[0].image: it is missing; give it"];
    assert_eq!(told("", "Pod", &pod), whole);
}

#[test]
fn other_kinds_are_looked_at_by_the_same_table() {
    let node = json!({"metadata": {"name": "N"}, "spec": {"taints": [{"key": "a", "effect": "no"}]},
        "status": {"allocatable": {"nvidia.com/gpu": "1500m"}}});
    let class = json!({"metadata": {"name": "system-mine"}, "value": 2_000_000_000});
    let cases = [
        (
            ("", "Node", node),
            vec![
                "metadata.name: \"N\" is not a name",
                "spec.taints[0].effect: \"no\" is not possible; write NoSchedule, PreferNoSchedule \
                 or NoExecute",
                "status.allocatable[nvidia.com/gpu]: \"1500m\" is not a whole number",
            ],
        ),
        (
            ("scheduling.k8s.io", "PriorityClass", class),
            vec![
                "metadata.name: \"system-mine\" begins like the classes of the system",
                "value: 2000000000 is too large",
            ],
        ),
    ];
    for ((group, kind, object), expected) in cases {
        let told = told(group, kind, &object);
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.starts_with(expected), "{told}");
        }
    }
}
