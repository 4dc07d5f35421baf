//! Broken objects among good ones.

use super::run::{Folder, GOOD, GOOD_LINES, simulate};

#[test]
fn a_document_that_is_no_yaml_is_left_out_and_the_next_one_read() {
    let after = "apiVersion: v1\nkind: Pod\nmetadata: {name: after}\nspec: {schedulerName: \
         volcano, containers: [{name: main}]}";
    simulate("broken", &format!("kind: [broken\n---\n{after}\n"))
        .goes_on(&["error: all.yaml:19:7: broken YAML: unclosed bracket '['"])
        .binds(&["default/after", "default/good"])
        .aside(1);
}

#[test]
fn a_value_of_the_wrong_kind_sets_its_object_aside() {
    let cases = [
        (
            "kind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: g}\n\
             spec:\n  minMember: many\n",
            "all.yaml:23:14: PodGroup g: spec.minMember: expected a whole number, found the \
             string \"many\"",
        ),
        (
            "kind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: g}\n\
             spec:\n  minMember: 99999999999\n",
            "all.yaml:23:14: PodGroup g: spec.minMember: ",
        ),
        (
            "kind: Pod\napiVersion: v1\nmetadata:\n  name: p\n  labels: {gen: 2}\n",
            "all.yaml:23:17: Pod p: metadata.labels.gen: expected a string, found the number 2",
        ),
        (
            "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec:\n  containers: {name: main}\n",
            "all.yaml:23:15: Pod p: spec.containers: expected a list, found a map",
        ),
        (
            "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {name: q}\n\
             spec: {reclaimable: \"true\"}\n",
            "all.yaml:22:21: Queue q: spec.reclaimable: expected true or false, found the string \
             \"true\"",
        ),
    ];
    for (rest, message) in cases {
        simulate("wrong-kind", rest)
            .goes_on(&[message])
            .binds(&["default/good"])
            .aside(1);
    }
}

#[test]
fn a_negative_or_absurd_quantity_sets_its_object_aside() {
    let pod = |requests: &str| {
        format!(
            "kind: Pod\napiVersion: v1\nmetadata: {{name: p}}\nspec:\n  schedulerName: volcano\n  \
             containers:\n  - name: main\n    resources:\n      requests:\n        {requests}\n"
        )
    };
    let path = "Pod default/p: spec.containers[0].resources.requests";
    let cases = [
        (
            "cpu: \"-1\"",
            format!("all.yaml:28:14: {path}.cpu: \"-1\" is negative"),
        ),
        (
            "cpu: -1",
            format!("all.yaml:28:14: {path}.cpu: \"-1\" is negative"),
        ),
        (
            "memory: 1e30",
            format!("all.yaml:28:17: {path}.memory: \"1e30\" is too large"),
        ),
        (
            "nvidia.com/gpu: 1e30",
            format!("all.yaml:28:25: {path}[nvidia.com/gpu]: "),
        ),
        ("cpu: lots", format!("all.yaml:28:14: {path}.cpu: ")),
    ];
    for (requests, message) in cases {
        simulate("quantity", &pod(requests))
            .goes_on(&[&message])
            .binds(&["default/good"])
            .aside(1);
    }
    let node = "kind: Node\napiVersion: v1\nmetadata: {name: n2}\nstatus:\n  allocatable:\n    \
                cpu: -4\n";
    simulate("node-quantity", node)
        .goes_on(&["all.yaml:24:10: Node n2: status.allocatable.cpu: \"-4\" is negative"])
        .binds(&["default/good"]);
}

#[test]
fn of_two_objects_with_one_name_the_first_counts() {
    let ran = simulate("twice", GOOD);
    let (node, pod) = (1 + GOOD_LINES, 8 + GOOD_LINES);
    ran.goes_on(&[
        &format!("all.yaml:{node}:1: Node n1: given twice: the first one is at all.yaml:1:1"),
        &format!(
            "all.yaml:{pod}:1: Pod default/good: given twice: the first one is at all.yaml:8:1"
        ),
    ])
    .binds(&["default/good"])
    .aside(2);
}

#[test]
fn a_pod_with_the_uid_of_another_is_set_aside() {
    let rest = "\
kind: Pod
apiVersion: v1
metadata: {name: one, uid: same}
spec: {schedulerName: volcano, containers: [{name: main}]}
---
kind: Pod
apiVersion: v1
metadata: {name: two, uid: same}
spec: {schedulerName: volcano, containers: [{name: main}]}
";
    let ran = simulate("same-uid", rest);
    let line = 8 + GOOD_LINES;
    ran.goes_on(&[&format!(
        "all.yaml:{}:28: Pod default/two: metadata.uid: same is the uid of Pod default/one too",
        line
    )])
    .binds(&["default/good", "default/one"])
    .aside(1);
}

#[test]
fn names_that_lead_nowhere_are_told_with_their_place() {
    let rest = "\
kind: Pod
apiVersion: v1
metadata: {name: elsewhere}
spec:
  nodeName: nowhere
  containers: [{name: main}]
---
kind: Pod
apiVersion: v1
metadata:
  name: orphan
  annotations:
    scheduling.k8s.io/group-name: gone
spec: {schedulerName: volcano, containers: [{name: main}]}
---
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: g}
spec:
  queue: nope
---
kind: Pod
apiVersion: v1
metadata:
  name: lost
  annotations: {scheduling.k8s.io/group-name: g}
spec: {schedulerName: volcano, containers: [{name: main}]}
";
    simulate("names", rest)
        .goes_on(&[
            "warning: all.yaml:23:13: Pod default/elsewhere: spec.nodeName: Node \"nowhere\" does \
             not exist",
            "warning: all.yaml:31:35: Pod default/orphan: \
             metadata.annotations.scheduling.k8s.io/group-name: PodGroup \"default/gone\" does not \
             exist",
            "warning: all.yaml:38:10: PodGroup default/g: spec.queue: Queue \"nope\" does not \
             exist",
        ])
        .binds(&["default/good"])
        .waits(&["default/lost", "default/orphan"])
        .aside(0);
}

#[test]
fn a_misspelt_queue_is_answered_with_the_nearest_one() {
    let rest = "\
kind: Queue
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: training}
---
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: g}
spec:
  queue: trainning
---
kind: Pod
apiVersion: v1
metadata:
  name: lost
  annotations: {scheduling.k8s.io/group-name: g}
spec: {schedulerName: volcano, containers: [{name: main}]}
";
    simulate("queue", rest)
        .goes_on(&[
            "PodGroup default/g: spec.queue: Queue \"trainning\" does not exist",
            "did you mean \"training\"? give the queue too, or name another one",
        ])
        .waits(&["default/lost"])
        .aside(0);
}

#[test]
fn a_broken_queue_tree_is_told_and_the_rest_of_the_queues_work() {
    let queue = |name: &str, parent: &str| {
        format!(
            "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {{name: {name}}}\n\
             spec:\n  parent: {parent}\n---\n"
        )
    };
    let member = |queue: &str| {
        format!(
            "kind: PodGroup\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {{name: \
             of-{queue}}}\nspec: {{queue: {queue}, minMember: 1}}\n---\nkind: Pod\napiVersion: \
             v1\nmetadata: {{name: of-{queue}, annotations: {{scheduling.k8s.io/group-name: \
             of-{queue}}}}}\nspec: {{\
             schedulerName: volcano, containers: [{{name: main, resources: {{requests: {{cpu: 1}}}}}}]}}\n---\n"
        )
    };
    let queues = [
        ("a", "b"),
        ("b", "a"),
        ("below", "a"),
        ("c", "gone"),
        ("fine", "root"),
    ];
    let rest: String = queues
        .iter()
        .map(|(name, parent)| queue(name, parent))
        .collect();
    let rest = rest + &member("a") + &member("fine");
    let said = [
        "warning: all.yaml:23:11: Queue a: spec.parent: queue \"a\" is its own ancestor",
        "warning: all.yaml:29:11: Queue b: spec.parent: queue \"b\" is its own ancestor",
        "warning: all.yaml:41:11: Queue c: spec.parent: queue \"gone\" above it does not exist",
    ];
    // Plugins that do not go by the tree do not look at it.
    let flat = simulate("tree", &rest).goes_on(&said);
    flat.binds(&["default/good", "default/of-a", "default/of-fine"])
        .aside(0);
    let tree = "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n  \
                - name: capacity\n    enableHierarchy: true\n";
    let folder = Folder::new("held-tree")
        .with("all.yaml", format!("{GOOD}{rest}"))
        .with("tree.conf", tree);
    let arguments = [
        "simulate",
        "--output",
        "json",
        "--config",
        "tree.conf",
        "all.yaml",
    ];
    let held = folder.run(&arguments).goes_on(&said);
    assert!(
        !held.err.contains("Queue below"),
        "it is not at fault itself"
    );
    let held = held.binds(&["default/good", "default/of-fine"]);
    let held = held.waits(&["default/of-a"]).aside(0);
    let report = held.report();
    let message = report["pending"][0]["message"].as_str().expect("a message");
    let why = "following spec.parent from a to b and on leads back to a";
    assert!(message.contains(why), "{message}");
    let queues = report["queues"].as_array().expect("queues").iter();
    let warned: Vec<&str> = queues
        .filter(|queue| queue["warning"].is_string())
        .filter_map(|queue| queue["name"].as_str())
        .collect();
    assert_eq!(warned, ["a", "b", "below", "c"]);
}

#[test]
fn more_members_than_pods_is_a_reason_to_wait() {
    let rest = "\
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: g}
spec: {minMember: 3}
---
kind: Pod
apiVersion: v1
metadata:
  name: alone
  annotations: {scheduling.k8s.io/group-name: g}
spec: {schedulerName: volcano, containers: [{name: main, resources: {requests: {cpu: 1}}}]}
";
    let ran = simulate("members", rest)
        .goes_on(&[])
        .binds(&["default/good"]);
    let ran = ran.waits(&["default/alone"]);
    let message = "Not enough valid tasks for gang-scheduling, valid: 1, min: 3: make 2 more of its pods, \
                   or lower minMember";
    assert_eq!(ran.report()["pending"][0]["message"], message);
    let job = "kind: Job\napiVersion: batch.volcano.sh/v1alpha1\nmetadata: {name: j}\nspec:\n  \
               minAvailable: 5\n  tasks:\n  - replicas: 2\n    template: {}\n";
    simulate("job-members", job)
        .goes_on(&[
            "all.yaml:23:17: Job default/j: spec.minAvailable: 5 is more than all 2 replicas",
        ])
        .binds(&["default/good"])
        .aside(1);
}

#[test]
fn unknown_kinds_are_counted_and_have_no_effect() {
    let widget = "kind: Widget\napiVersion: example.com/v1\nmetadata: {name: w}\n---\n";
    let ran = simulate("kinds", &widget.repeat(3))
        .goes_on(&[])
        .binds(&["default/good"])
        .aside(0);
    let expected = serde_json::json!([{"kind": "Widget", "count": 3}]);
    assert_eq!(ran.report()["ignored"], expected);
}

#[test]
fn documents_that_are_no_objects_are_left_out() {
    simulate("no-objects", "just a text\n---\n- 1\n---\nname: no kind\n")
        .goes_on(&[
            "error: all.yaml:19:1: expected an object with apiVersion and kind, found the string",
            "error: all.yaml:21:1: expected an object with apiVersion and kind, found a list",
            "error: all.yaml:23:1: the object has no `kind`",
        ])
        .binds(&["default/good"]);
}

#[test]
fn a_name_is_required() {
    simulate("nameless", "kind: Node\napiVersion: v1\nmetadata: {}\n")
        .goes_on(&["error: all.yaml:21:11: Node: metadata.name: the name is missing"])
        .binds(&["default/good"]);
}

#[test]
fn misspelt_fields_are_warnings_with_the_nearest_name_and_the_place() {
    let volcano = "scheduling.volcano.sh/v1beta1";
    let rest = format!(
        "\
kind: PodGroup
apiVersion: {volcano}
metadata: {{name: g, lables: {{a: b}}}}
spec:
  minMembers: 3
  queue: q
---
kind: Queue
apiVersion: {volcano}
metadata: {{name: q}}
spec:
  state: Closed
---
kind: Job
apiVersion: batch.volcano.sh/v1alpha1
metadata: {{name: j, resourceVersion: \"7\"}}
spec:
  tasks:
  - replica: 2
    template:
      spec:
        contaners: []
---
kind: Pod
apiVersion: v1
metadata: {{name: p}}
spec:
  schedulerNane: volcano
  frobnicate: true
  containers: [{{name: main}}]
---
kind: Pod
apiVersion: v1
metadata: {{name: served, resourceVersion: \"7\"}}
spec: {{ofALaterVersion: true}}
"
    );
    let ran = simulate("misspelt", &rest).goes_on(&[
        "warning: all.yaml:21:21: PodGroup g: unknown field metadata.lables: did you mean labels?",
        "warning: all.yaml:23:3: PodGroup g: unknown field spec.minMembers: did you mean \
         minMember?",
        "warning: all.yaml:30:3: Queue q: unknown field spec.state: it has no effect",
        "kubectl patch queue NAME --subresource status",
        "warning: all.yaml:37:5: Job j: unknown field spec.tasks[0].replica: did you mean \
         replicas?",
        "warning: all.yaml:40:9: Job j: unknown field spec.tasks[0].template.spec.contaners: did \
         you mean containers?",
        "warning: all.yaml:46:3: Pod p: unknown field spec.schedulerNane: did you mean \
         schedulerName?",
        "warning: all.yaml:47:3: Pod p: unknown field spec.frobnicate: it has no effect",
    ]);
    assert!(!ran.err.contains("ofALaterVersion"), "{}", ran.err);
    ran.binds(&["default/good"]).aside(0);
}

#[test]
fn a_key_given_twice_sets_its_object_aside_with_both_lines() {
    let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: lost}\n";
    simulate("no-separator", &format!("{pod}{pod}"))
        .goes_on(&[
            "error: all.yaml:22:1: kind is given twice, first in line 19; nothing of it is read",
            "put a line `---` between two objects",
        ])
        .binds(&["default/good"])
        .aside(1);
    let list = "\
kind: List
apiVersion: v1
items:
- kind: Pod
  apiVersion: v1
  metadata: {name: twice}
  spec:
    schedulerName: volcano
    containers: [{name: a, image: b, name: c}]
- kind: Pod
  apiVersion: v1
  metadata: {name: next}
  spec: {schedulerName: volcano, containers: [{name: main}]}
";
    simulate("twice-inside", list)
        .goes_on(&[
            "error: all.yaml:27:38: Pod twice: spec.containers[0].name is given twice, first in \
             line 27",
        ])
        .binds(&["default/good", "default/next"])
        .aside(1);
}

#[test]
fn a_template_that_a_group_names_and_that_is_not_there_is_told_and_its_pods_wait() {
    let group = |name: &str, claims: &str| {
        format!(
            "---\nkind: PodGroup\napiVersion: scheduling.k8s.io/v1beta1\nmetadata: {{name: {name}}}\nspec:\n  \
             schedulingPolicy: {{basic: {{}}}}\n  resourceClaims: {claims}\n"
        )
    };
    let pod = "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec:\n  schedulerName: volcano\n  schedulingGroup: \
               {podGroupName: g}\n  resourceClaims: [{name: gpu, resourceClaimTemplateName: none}]\n  \
               containers: [{name: main}]\n";
    let lacking = group("g", "[{name: gpu, resourceClaimTemplateName: none}]");
    simulate("group-template", &format!("{pod}{lacking}"))
        .goes_on(&["PodGroup default/scheduling.k8s.io/g: spec.resourceClaims: ResourceClaimTemplate \"default/none\" \
                    does not exist"])
        .binds(&["default/good"]);
    let five =
        ["a", "b", "c", "d", "e"].map(|name| format!("{{name: {name}, resourceClaimName: c}}"));
    simulate(
        "group-claims",
        &group("h", &format!("[{}]", five.join(", ")))[4..],
    )
    .goes_on(&["spec.resourceClaims: 5 are set"])
    .binds(&["default/good"])
    .aside(1);
}
