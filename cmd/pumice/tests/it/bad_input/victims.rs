//! What is wrong on objects that decide about evictions: budgets, marks, priority classes.

use serde_json::{Value, json};

use super::run::{Folder, Ran};

const CONF: &str = "actions: \"enqueue, allocate, preempt\"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n    \
                    enablePreemptable: false\n  - name: pdb\n- plugins:\n  - name: predicates\n";

fn pod(name: &str, class: &str, is_running: bool) -> Value {
    let mut pod = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": name, "labels": {"app": "web"}, "annotations": {}},
        "spec": {
            "schedulerName": "volcano",
            "priorityClassName": class,
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}],
        },
    });
    if is_running {
        pod["spec"]["nodeName"] = "n1".into();
        pod["status"] = json!({"phase": "Running"});
    }
    pod
}

/// A full node with two pods of low priority, and one of high priority that waits; `more` objects beside.
fn full(name: &str, more: &[Value], change: impl Fn(&mut [Value])) -> Ran {
    let class = |name: &str, value: i32| {
        let kind = json!({"kind": "PriorityClass", "apiVersion": "scheduling.k8s.io/v1"});
        let mut class = kind;
        class["metadata"] = json!({"name": name});
        class["value"] = value.into();
        class
    };
    let mut objects = vec![
        json!({
            "kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1"},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        }),
        class("low", 10),
        class("high", 100),
        pod("low-0", "low", true),
        pod("low-1", "low", true),
        pod("new", "high", false),
    ];
    change(&mut objects);
    objects.extend_from_slice(more);
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    let folder = Folder::new(name)
        .with("all.yaml", texts.join("\n---\n"))
        .with("evicts.conf", CONF);
    folder.run(&[
        "simulate",
        "--output",
        "json",
        "--config",
        "evicts.conf",
        "all.yaml",
    ])
}

fn budget(name: &str, spec: Value) -> Value {
    json!({
        "kind": "PodDisruptionBudget", "apiVersion": "policy/v1",
        "metadata": {"name": name}, "spec": spec,
    })
}

/// Who was evicted.
fn gone(ran: &Ran) -> Vec<String> {
    let report = ran.report();
    let evictions = report["evictions"].as_array().expect("a list").iter();
    let name = |line: &Value| line["pod"].as_str().expect("a name").to_owned();
    evictions.map(name).collect()
}

/// The message of the pod that waits.
fn why(ran: &Ran) -> String {
    let report = ran.report();
    let message = report["pending"][0]["message"].as_str();
    message.expect("a message").to_owned()
}

#[test]
fn a_budget_that_selects_nobody_says_so_and_protects_nobody() {
    let ghost = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "ghost"}}});
    let objects = [
        budget("ghost", ghost),
        budget("bare", json!({"minAvailable": 1})),
    ];
    let ran = full("budget-nobody", &objects, |_| {}).goes_on(&[
        "warning: all.yaml:13:1: PodDisruptionBudget default/ghost: spec.selector: it selects no pod of \
         namespace default",
        "warning: all.yaml:15:1: PodDisruptionBudget default/bare: spec.selector: there is none",
    ]);
    assert_eq!(gone(&ran).len(), 1, "{}", ran.out);
}

#[test]
fn a_budget_over_everything_says_so_and_pods_that_wait_name_it() {
    let all = budget("all", json!({"minAvailable": "100%", "selector": {}}));
    let ran = full("budget-all", &[all], |_| {}).goes_on(&[
        "PodDisruptionBudget default/all: spec.selector: it selects all 3 pods of namespace default and lets \
         none go",
    ]);
    assert_eq!(gone(&ran), [""; 0]);
    let why = why(&ran);
    assert!(
        why.contains("nobody may go: 2 by budget default/all"),
        "{why}"
    );
    let half = budget(
        "half",
        json!({"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}),
    );
    let ran = full("budget-half", &[half], |objects| {
        // It counts among those that have to be there.
        objects[5]["metadata"]["labels"] = json!({});
    });
    assert_eq!(
        (gone(&ran).len(), &*ran.err),
        (1, ""),
        "nothing is wrong with it"
    );
}

#[test]
fn budgets_that_an_api_server_would_refuse_are_set_aside() {
    let with = |limits: Value| {
        let mut spec = limits;
        spec["selector"] = json!({"matchLabels": {"app": "web"}});
        spec
    };
    let objects = [
        budget("negative", with(json!({"minAvailable": -1}))),
        budget(
            "both",
            with(json!({"minAvailable": 1, "maxUnavailable": 1})),
        ),
        budget("words", with(json!({"maxUnavailable": "some"}))),
        budget("much", with(json!({"minAvailable": "101%"}))),
    ];
    let ran = full("budget-refused", &objects, |_| {}).goes_on(&[
        "default/negative: spec.minAvailable: -1 is negative",
        "default/both: spec.maxUnavailable: minAvailable is there too",
        "default/words: spec.maxUnavailable: \"some\" is neither a number nor a percentage",
        "default/much: spec.minAvailable: \"101%\" is neither",
    ]);
    assert_eq!(gone(&ran).len(), 1);
    ran.aside(4);
}

#[test]
fn marks_that_contradict_each_other_are_told_on_their_podgroup() {
    let group = json!({
        "kind": "PodGroup", "apiVersion": "scheduling.volcano.sh/v1beta1",
        "metadata": {"name": "g", "annotations": {"volcano.sh/preemptable": "true"}},
        "spec": {"minMember": 0, "priorityClassName": "low"},
    });
    let ran = full("marks", &[group], |objects| {
        for at in [3, 4] {
            objects[at]["metadata"]["annotations"] = json!({"scheduling.k8s.io/group-name": "g"});
        }
        objects[3]["metadata"]["annotations"]["volcano.sh/preemptable"] = "false".into();
    });
    let ran = ran.goes_on(&[]);
    assert_eq!(gone(&ran), ["default/low-1"]);
    let warning = "the PodGroup is marked preemptable, but not pod low-0, not evicted";
    assert_eq!(ran.report()["podGroups"][0]["warnings"], json!([warning]));
}

#[test]
fn a_mark_nobody_can_read_on_a_lone_pod_is_told_on_it() {
    let ran = full("lone-mark", &[], |objects| {
        objects[3]["metadata"]["annotations"]["volcano.sh/preemptable"] = "maybe".into();
    });
    assert_eq!(gone(&ran), ["default/low-1"]);
    let told = &ran.report()["podWarnings"][0];
    assert_eq!(told["pod"], "default/low-0");
    let text = told["warning"].as_str().expect("text");
    assert!(
        text.contains("neither true nor false on pod low-0, not evicted"),
        "{text}"
    );
}

#[test]
fn a_mark_of_a_template_that_its_job_overrides_is_told() {
    let job = json!({
        "kind": "Job", "apiVersion": "batch.volcano.sh/v1alpha1",
        "metadata": {"name": "j", "annotations": {"volcano.sh/preemptable": "true"}},
        "spec": {"schedulerName": "volcano", "minAvailable": 1, "tasks": [{
            "name": "worker", "replicas": 1,
            "template": {
                "metadata": {"annotations": {"volcano.sh/preemptable": "false"}},
                "spec": {"containers": [{"name": "main"}]},
            },
        }]},
    });
    full("job-mark", &[job], |_| {}).goes_on(&[
        "Job default/j: task worker writes volcano.sh/preemptable \"false\" in its template, but the Job's own \
         annotation \"true\" takes its place on all pods",
    ]);
}

#[test]
fn a_priority_class_that_is_gone_is_told_and_nobody_goes_for_its_pods() {
    let ran = full("class-gone", &[], |objects| {
        objects[5]["spec"]["priorityClassName"] = "hihg".into();
    });
    let ran = ran.goes_on(&[
        "Pod default/new: spec.priorityClassName: PriorityClass \"hihg\" does not exist",
        "did you mean \"high\"? give the class too; until then it counts as priority 0",
    ]);
    assert_eq!(gone(&ran), [""; 0]);
    let told = &ran.report()["podWarnings"][0];
    assert_eq!(told["pod"], "default/new");
    let text = told["warning"].as_str().expect("text");
    assert!(text.starts_with("PriorityClass \"hihg\" does not exist: it counts as priority 0"));
    // Those of the system are always there.
    let ran = full("class-of-system", &[], |objects| {
        objects[5]["spec"]["priorityClassName"] = "system-node-critical".into();
    });
    assert_eq!((gone(&ran).len(), &*ran.err), (1, ""));
}
