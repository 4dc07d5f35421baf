//! Which of what a Job, its PodGroup, its pods and the scheduler say is the answer.

use serde_json::json;

use super::*;

const UID: &str = "05a39eee-7b0f-4d4e-9d55-0f6a4d4ef1aa";

/// Three minutes after everything was made.
fn now() -> Timestamp {
    "2026-01-02T03:03:00Z".parse().expect("a time")
}

fn job(state: Value) -> AccountFacts {
    let job = json!({
        "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job",
        "metadata": {"name": "train", "namespace": "team", "uid": UID,
            "creationTimestamp": "2026-01-02T03:00:00Z"},
        "spec": {"minAvailable": 2, "queue": "q", "maxRetry": 3,
            "tasks": [{"name": "t", "replicas": 3, "template": {}}]},
        "status": {"state": state},
    });
    AccountFacts {
        kind: "Job".to_owned(),
        top: job,
        ..AccountFacts::default()
    }
}

fn state(phase: &str, reason: &str, message: &str) -> Value {
    json!({"phase": phase, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-02T03:01:00Z"})
}

fn group(phase: &str, reason: &str, message: &str) -> Value {
    let conditions = match reason {
        "" => json!([]),
        _ => {
            json!([
                {"type": "Unschedulable", "status": "True", "reason": reason, "message": message},
                {"type": "Admitted", "status": "True", "reason": "MinResources", "message": "cpu=2"},
            ])
        }
    };
    json!({"metadata": {"name": format!("train-{UID}"), "namespace": "team",
            "creationTimestamp": "2026-01-02T03:00:00Z"},
        "spec": {"minMember": 2, "queue": "q"},
        "status": {"phase": phase, "conditions": conditions}})
}

fn pod(name: &str, node: Option<&str>, status: Value) -> Value {
    json!({"metadata": {"name": name, "namespace": "team",
            "creationTimestamp": "2026-01-02T03:00:00Z"},
        "spec": {"nodeName": node, "containers": [{"name": "c"}]}, "status": status})
}

fn view(reason: Option<&str>, message: &str) -> JobView {
    JobView {
        kind: "PodGroup".to_owned(),
        reason: reason.map(str::to_owned),
        message: reason.map(|_| message.to_owned()),
        ..JobView::default()
    }
}

/// `reason: message`, or `-`.
fn why(facts: &AccountFacts, scheduler: Option<&JobView>) -> String {
    match account(facts, scheduler, now()).why {
        Some(why) => format!("{}: {}", why.reason, why.message),
        None => "-".to_owned(),
    }
}

#[test]
fn what_keeps_the_job_itself_is_the_answer_whatever_is_said_below() {
    let below = view(
        Some("NotEnoughPodsOfTask"),
        "2 more pods have to be created",
    );
    for (phase, reason, message) in [
        ("Pending", "QueueNotReady", "queue nosuch does not exist"),
        (
            "Pending",
            "InvalidJob",
            "tasks a and b depend on each other",
        ),
        (
            "Pending",
            "FailedCreate",
            "pods is forbidden: exceeded quota: small",
        ),
        (
            "Pending",
            "FailedCreate",
            "no PriorityClass with name high was found",
        ),
        ("Running", "FailedCreate", "exceeded quota: small"),
        (
            "Failed",
            "PodsFailed",
            "0 pods succeeded and 3 failed; minAvailable is 2",
        ),
    ] {
        let mut facts = job(state(phase, reason, message));
        let expected = format!("{reason}: {message}");
        assert_eq!(why(&facts, None), expected);
        facts.groups = vec![group("Pending", "NotEnoughPodsOfTask", "2 more pods")];
        assert_eq!(why(&facts, Some(&below)), expected);
    }
}

#[test]
fn a_suspended_job_says_by_whom_and_how_it_goes_on() {
    let facts = job(state("Aborted", "AbortJob", "Command train-abort"));
    assert_eq!(
        why(&facts, None),
        "Suspended: the Job is suspended: Command train-abort; `pumice job resume train -n team` \
         starts it again"
    );
}

#[test]
fn a_job_nobody_has_looked_at_says_that_the_controllers_do_not_run() {
    let facts = job(json!({}));
    let said = why(&facts, None);
    assert!(
        said.starts_with("NoController: no controller has looked at the Job in the 3m"),
        "{said}"
    );
    let mut young = job(json!({}));
    young.top["metadata"]["creationTimestamp"] = json!("2026-01-02T03:02:55Z");
    assert_eq!(why(&young, None), "-");
    let mut silent = job(state("Pending", "", ""));
    silent.silence = Some("the controllers do not run".to_owned());
    assert_eq!(
        why(&silent, None),
        "NoController: the controllers do not run"
    );
    // With a PodGroup there is more to say, and that they do not run is said beside it.
    silent.groups = vec![group("Inqueue", "NotEnoughResources", "full")];
    assert_eq!(why(&silent, None), "NotEnoughResources: full");
    let steps = account(&silent, None, now()).steps;
    assert!(steps.iter().any(|step| step.what == "Note"), "{steps:?}");
}

#[test]
fn the_scheduler_is_heard_before_what_it_has_written_and_what_the_job_repeats() {
    let mut facts = job(state("Pending", "NotEnoughResources", "old"));
    facts.groups = vec![group("Inqueue", "NotEnoughResources", "written")];
    let newest = view(Some("Unschedulable"), "newest");
    assert_eq!(why(&facts, Some(&newest)), "Unschedulable: newest");
    assert_eq!(why(&facts, None), "NotEnoughResources: written");
    facts.groups = vec![group("Running", "", "")];
    facts.top["status"]["state"] = state("Running", "RestartJob", "pod train-t-0 failed");
    assert_eq!(why(&facts, Some(&view(None, ""))), "-");
    let said = &account(&facts, None, now()).steps[0].says;
    assert_eq!(said, "Running for 2m, needs 2 of 3 pods, queue q");
    facts.top["status"]["retryCount"] = json!(1);
    let said = &account(&facts, None, now()).steps[0].says;
    assert!(
        said.ends_with("; restarted 1 of 3 times, last by RestartJob: pod train-t-0 failed"),
        "{said}"
    );
}

#[test]
fn that_pods_were_evicted_and_for_whom_stands_beside_what_keeps_the_job_now() {
    let gone =
        "pod train-t-0 was evicted by scheduler volcano: preempt for PodGroup team/first, at noon";
    let beside = |facts: &AccountFacts, scheduler: Option<&JobView>| {
        let steps = account(facts, scheduler, now()).steps;
        steps.into_iter().find(|step| step.what == "Job")
    };
    let says_so = |step: &Option<AccountStep>| {
        let says = step.as_ref().map(|step| step.says.as_str());
        says.is_some_and(|says| says.ends_with(&format!("queue q; {gone}")))
    };
    let mut waits = job(state("Pending", "PodEvicted", gone));
    waits.groups = vec![group("Inqueue", "NotEnoughResources", "full")];
    assert_eq!(why(&waits, None), "NotEnoughResources: full");
    assert_eq!(why(&waits, Some(&view(Some("A"), "b"))), "A: b");
    assert!(says_so(&beside(&waits, None)), "{:?}", beside(&waits, None));
    let mut runs = job(state("Running", "PodEvicted", gone));
    runs.groups = vec![group("Running", "", "")];
    assert_eq!(why(&runs, Some(&view(None, ""))), "-");
    assert!(says_so(&beside(&runs, None)), "{:?}", beside(&runs, None));
}

#[test]
fn a_pod_group_of_which_nobody_says_anything_has_no_scheduler() {
    let mut facts = job(state("Pending", "", ""));
    facts.groups = vec![group("Pending", "", "")];
    let said = why(&facts, None);
    assert!(said.starts_with("NoScheduler: "), "{said}");
    assert!(
        said.contains("kubectl -n volcano-system get pods"),
        "{said}"
    );
}

#[test]
fn where_all_are_placed_the_device_plugin_and_the_kubelet_are_asked() {
    let bound = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True",
        "lastTransitionTime": "2026-01-02T03:02:00Z"}]});
    let mut plugin = pod("train-t-0", Some("gpu-1"), bound);
    plugin["metadata"]["annotations"] = json!({"volcano.sh/bind-phase": "allocating"});
    let image = json!({"phase": "Pending", "containerStatuses": [{"name": "c",
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}]});
    let ordinary = json!({"phase": "Pending", "containerStatuses": [{"name": "c",
        "state": {"waiting": {"reason": "ContainerCreating"}}}]});
    let mut facts = job(state("Pending", "", ""));
    facts.groups = vec![group("Running", "", "")];
    let placed = view(None, "");
    facts.pods = vec![pod("train-t-1", Some("n"), ordinary)];
    assert_eq!(why(&facts, Some(&placed)), "-");
    facts.pods = vec![plugin];
    let said = why(&facts, Some(&placed));
    assert!(
        said.starts_with("DevicePluginSilent: bound to node gpu-1"),
        "{said}"
    );
    facts.pods[0]["metadata"]["annotations"] = json!({"hami.io/bind-phase": "failed"});
    let said = why(&facts, Some(&placed));
    assert!(said.starts_with("DevicePluginFailed: "), "{said}");
    facts.pods = ["a", "b", "c", "d"]
        .map(|name| pod(name, Some("n"), image.clone()))
        .to_vec();
    assert_eq!(
        why(&facts, Some(&placed)),
        "ImagePullBackOff: container c: no such image"
    );
    let on_node = account(&facts, Some(&placed), now()).steps;
    let on_node = on_node.iter().find(|step| step.what == "On node");
    assert_eq!(
        on_node.map(|step| step.says.as_str()),
        Some("a, b, c and 1 more: ImagePullBackOff: container c: no such image")
    );
}

#[test]
fn without_the_scheduler_pods_say_why_they_have_no_node() {
    let mut facts = job(state("Pending", "", ""));
    facts.groups = vec![group("Running", "", "")];
    let unplaced = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
        "reason": "Unschedulable", "message": "no node has it"}]});
    facts.pods = vec![pod("train-t-0", None, unplaced)];
    assert_eq!(why(&facts, None), "Unschedulable: no node has it");
    facts.pods[0]["spec"]["schedulingGates"] = json!([{"name": "example.com/wait"}]);
    assert!(
        why(&facts, None).starts_with("SchedulingGated: spec.schedulingGates has example.com/wait")
    );
    facts.pods.clear();
    facts.groups.clear();
    facts.warnings = vec![
        json!({"reason": "Old", "message": "m"}),
        json!({"reason": "New", "message": "n"}),
    ];
    assert_eq!(why(&facts, None), "New: n");
}

#[test]
fn the_first_line_is_short_and_what_it_means_comes_below() {
    let facts = job(state(
        "Pending",
        "QueueNotReady",
        "queue nosuch does not exist",
    ));
    let mut out = Vec::new();
    account_table(&mut out, &account(&facts, None, now())).expect("printed");
    let text = anstream::adapter::strip_str(&String::from_utf8_lossy(&out)).to_string();
    let expected = "\
Job team/train  Pending: QueueNotReady
  Why       queue nosuch does not exist
  Job       Pending for 2m, needs 2 of 3 pods, queue q
  PodGroup  none yet
  Pods      none
";
    assert_eq!(text, expected);
}

#[test]
fn a_lease_nobody_renews_is_silence_and_one_that_may_be_late_is_not() {
    let lease = |renewed: &str, holder: &str| {
        json!({"spec": {"holderIdentity": holder, "renewTime": renewed,
            "leaseDurationSeconds": 15}})
    };
    let silent = |lease: &Value| read::silence(lease, now()).is_some();
    assert!(!silent(&lease("2026-01-02T03:02:50.000000Z", "a")));
    assert!(!silent(&lease("2026-01-02T03:02:20.000000Z", "a")));
    assert!(silent(&lease("2026-01-02T03:02:00.000000Z", "a")));
    assert!(silent(&lease("2026-01-02T03:02:40.000000Z", "")));
    assert!(!silent(&json!({"spec": {}})));
}

#[test]
fn a_pod_alone_says_what_its_conditions_and_its_node_say() {
    let bound = json!({"phase": "Running", "conditions": [{"type": "PodScheduled", "status": "True",
        "lastTransitionTime": "2026-01-02T03:02:00Z"}]});
    let running = of_pod(&pod("p", Some("n"), bound), now());
    assert_eq!((running.phase.as_str(), running.why), ("Running", None));
    let waited = running.steps.iter().find(|step| step.what == "Waited");
    assert_eq!(
        waited.map(|step| step.says.as_str()),
        Some("2m until it had a node")
    );
}
