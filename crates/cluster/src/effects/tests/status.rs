use pumice_model::KeptTopic;
use pumice_model::object::{GroupCondition, GroupPhase, GroupStatus};

use super::*;
use crate::effects::coalesce::{Coalesce, Finish};
use crate::effects::status::{self, StatusWrite};
use crate::effects::verbs::{Target, WriteVerb};

const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups";
const QUEUE: &str = "/apis/scheduling.volcano.sh/v1beta1/queues/q";

fn group_status(phase: GroupPhase, urgent: bool) -> Write {
    Write::GroupStatus {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        uid: "g1".to_owned(),
        status: GroupStatus {
            phase,
            conditions: vec![GroupCondition {
                kind: "Scheduled".to_owned(),
                status: "True".to_owned(),
                reason: "tasks in gang are ready to be scheduled".to_owned(),
                message: String::new(),
                transition_id: "7".to_owned(),
                transition_s: 1_700_000_000,
            }],
            running: 2,
            succeeded: 0,
            failed: 0,
            is_blank: false,
        },
        urgent,
    }
}

fn group_wire(phase: &str) -> Value {
    json!({
        "phase": phase,
        "conditions": [{
            "type": "Scheduled",
            "status": "True",
            "reason": "tasks in gang are ready to be scheduled",
            "transitionID": "7",
            "lastTransitionTime": "2023-11-14T22:13:20Z",
        }],
        "running": 2,
        "succeeded": 0,
        "failed": 0,
    })
}

fn queue_status() -> Write {
    Write::QueueStatus {
        name: "q".to_owned(),
        allocated: vec![("cpu".to_owned(), 1500), ("memory".to_owned(), 1 << 30)],
    }
}

fn shard_status() -> Write {
    Write::ShardStatus {
        name: "volcano".to_owned(),
        nodes_in_use: vec!["n1".to_owned()],
        nodes_to_remove: Vec::new(),
        nodes_to_add: vec!["n2".to_owned()],
    }
}

/// Volcano's role: no patch of statuses, no get of PodGroups.
fn shipped_role(seen: &Seen) -> Answer {
    let object = json!({
        "metadata": {"name": "x", "uid": "g1", "resourceVersion": "7", "labels": {"keep": "me"}},
        "spec": {"future": "field"},
        "status": {"state": "Open", "phase": "Pending"},
    });
    match (seen.method.as_str(), seen.path.as_str()) {
        ("PATCH", _) => rbac("patch", "it"),
        ("GET", POD) => Answer::Json(200, pod_json("u1", "")),
        ("GET", path) if path.contains("fieldSelector") => {
            Answer::Json(200, json!({"items": [object]}))
        }
        ("GET", path) if path.contains("podgroups") => rbac("get", "podgroups"),
        ("GET", _) => Answer::Json(200, object),
        _ => Answer::ok(),
    }
}

#[tokio::test]
async fn a_pod_condition_is_a_strategic_patch_bound_to_the_uid() {
    let bench = Bench::new(|_| Answer::ok()).await;
    let write = Write::PodCondition {
        pod: pod(),
        reason: "Unschedulable".to_owned(),
        message: "no room".to_owned(),
    };
    bench
        .written([write, condition("Unschedulable", "still no room")])
        .await;
    bench.written([condition("Schedulable", "soon")]).await;
    let log = bench.server.log();
    assert_eq!(bench.server.lines(), vec![format!("PATCH {POD}/status"); 2]);
    assert_eq!(log[0].media, "application/strategic-merge-patch+json");
    let mut first = log[0].body.clone();
    let time = first["status"]["conditions"][0]["lastTransitionTime"].take();
    assert!(
        time.as_str().is_some_and(|time| time.ends_with('Z')),
        "{time}"
    );
    let wanted = json!({
        "metadata": {"uid": "u1"},
        "status": {"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "still no room", "lastTransitionTime": null,
        }]},
    });
    assert_eq!(first, wanted, "the newer one replaced the first");
    let second = &log[1].body["status"]["conditions"][0];
    assert_eq!(
        second["lastTransitionTime"],
        Value::Null,
        "the status has not changed"
    );
}

fn nominate(node: Option<&str>) -> Write {
    Write::Nominate {
        pod: pod(),
        node: node.map(str::to_owned),
    }
}

#[tokio::test]
async fn a_nomination_is_written_at_once_and_cleared_and_no_condition_takes_its_place() {
    let bench = Bench::new(|_| Answer::ok()).await;
    let began = tokio::time::Instant::now();
    let both = [nominate(Some("n1")), condition("Unschedulable", "no room")];
    bench.written(both).await;
    bench.written([nominate(None)]).await;
    let log = bench.server.log();
    assert_eq!(bench.server.lines(), vec![format!("PATCH {POD}/status"); 3]);
    let nomination =
        |node: Value| json!({"metadata": {"uid": "u1"}, "status": {"nominatedNodeName": node}});
    assert_eq!(log[0].body, nomination(json!("n1")));
    assert!(log[0].at - began < Duration::from_millis(900));
    assert_eq!(log[2].body, nomination(Value::Null));
}

#[tokio::test]
async fn under_volcanos_role_a_nomination_is_part_of_the_pod_unless_that_is_bound_or_says_so() {
    let put = |node: &'static str, nominated: &'static str, wanted: Option<&'static str>| async move {
        let script = move |seen: &Seen| match seen.method.as_str() {
            "GET" => {
                let mut pod = pod_json("u1", node);
                pod["status"]["nominatedNodeName"] = json!(nominated);
                Answer::Json(200, pod)
            }
            _ => shipped_role(seen),
        };
        let bench = Bench::new(script).await;
        bench.written([nominate(wanted)]).await;
        let puts = bench.server.all("PUT");
        puts.first().map(|put| put.body["status"].clone())
    };
    let status = json!({"phase": "Pending", "nominatedNodeName": "n1"});
    assert_eq!(put("", "n2", Some("n1")).await, Some(status));
    let cleared = json!({"phase": "Pending", "nominatedNodeName": null});
    assert_eq!(put("", "n2", None).await, Some(cleared));
    assert_eq!(put("", "n1", Some("n1")).await, None);
    assert_eq!(put("n3", "n2", None).await, None);
}

#[tokio::test]
async fn a_nomination_that_finds_no_answers_is_told() {
    let mut bench = Bench::new(|_| Answer::refuse(500, "etcd is away")).await;
    let status = StatusWrite::of(nominate(Some("n1"))).expect("a status");
    let shared = || Arc::clone(&bench.effects.lanes.shared);
    let again = status::write(shared(), status.clone(), 7).await;
    assert!(matches!(again, Finish::Again(_)), "{again:?}");
    assert_eq!(status::write(shared(), status, 8).await, Finish::Dropped);
    let failed = Outcome::NominationFailed { pod: pod() };
    assert_eq!(bench.outcome().await, failed);
}

#[tokio::test]
async fn a_bind_cancels_the_condition_that_waits() {
    let mut bench = Bench::new(|_| Answer::ok()).await;
    bench.effects.submit(condition("Unschedulable", "no room"));
    bench.effects.submit(bind());
    assert!(matches!(bench.outcome().await, Outcome::Bound { .. }));
    bench.effects.idle().await;
    assert_eq!(bench.server.lines(), [format!("POST {POD}/binding")]);
}

#[tokio::test]
async fn a_bind_waits_for_the_condition_that_is_being_written() {
    let script = |seen: &Seen| match seen.method.as_str() {
        "PATCH" => Answer::Silence,
        _ => Answer::ok(),
    };
    let mut options = options();
    options.request_timeout = Duration::from_secs(3);
    let mut bench = Bench::with(script, options, TermWatch::always()).await;
    bench.effects.submit(condition("Unschedulable", "no room"));
    bench.server.until("PATCH", 1).await;
    bench.effects.submit(bind());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(bench.server.log().len(), 1, "until the patch has timed out");
    assert!(matches!(bench.outcome().await, Outcome::Bound { .. }));
}

#[tokio::test]
async fn without_patch_the_pod_is_read_and_put_and_the_role_remembered() {
    let bench = Bench::new(shipped_role).await;
    bench.written([condition("Unschedulable", "no room")]).await;
    bench.written([condition("SchedulerError", "failed")]).await;
    let (patch, get) = (format!("PATCH {POD}/status"), format!("GET {POD}"));
    let put = format!("PUT {POD}/status");
    let lines = bench.server.lines();
    assert_eq!(
        lines.iter().collect::<Vec<_>>(),
        [&patch, &get, &put, &get, &put]
    );
    let object = &bench.server.log()[2].body;
    assert_eq!(object["metadata"]["resourceVersion"], "7");
    assert_eq!(object["status"]["phase"], "Pending");
    assert_eq!(object["status"]["conditions"][0]["reason"], "Unschedulable");
}

#[tokio::test]
async fn a_condition_is_not_put_on_a_bound_or_replaced_pod() {
    for (uid, node) in [("u1", "n1"), ("u2", "")] {
        let script = move |seen: &Seen| match seen.method.as_str() {
            "PATCH" => rbac("patch", "pods/status"),
            "GET" => Answer::Json(200, pod_json(uid, node)),
            _ => Answer::ok(),
        };
        let bench = Bench::new(script).await;
        bench.written([condition("Unschedulable", "no room")]).await;
        assert!(bench.server.all("PUT").is_empty());
    }
}

#[tokio::test]
async fn a_put_that_conflicts_reads_again() {
    let mut puts = 0;
    let script = move |seen: &Seen| match seen.method.as_str() {
        "PUT" if puts == 0 => {
            puts += 1;
            Answer::refuse(409, "the object has been modified")
        }
        _ => shipped_role(seen),
    };
    let bench = Bench::new(script).await;
    bench.written([condition("Unschedulable", "no room")]).await;
    assert_eq!(
        (bench.server.all("GET").len(), bench.server.all("PUT").len()),
        (2, 2)
    );
}

#[tokio::test]
async fn a_group_status_is_a_merge_patch_of_the_main_resource() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench
        .written([group_status(GroupPhase::Running, true)])
        .await;
    assert_eq!(bench.server.lines(), [format!("PATCH {GROUPS}/g")]);
    let seen = &bench.server.log()[0];
    assert_eq!(seen.media, "application/merge-patch+json");
    let wanted = json!({"metadata": {"uid": "g1"}, "status": group_wire("Running")});
    assert_eq!(seen.body, wanted);
}

#[tokio::test]
async fn with_volcanos_role_a_group_is_listed_and_put_whole() {
    let bench = Bench::new(shipped_role).await;
    bench
        .written([group_status(GroupPhase::Inqueue, true)])
        .await;
    let lines = bench.server.lines();
    let list = format!("GET {GROUPS}?fieldSelector=metadata.name%3Dg");
    assert_eq!(lines[1..], [list, format!("PUT {GROUPS}/g")]);
    let object = &bench.server.log()[2].body;
    assert_eq!(object["status"]["phase"], "Inqueue");
    assert_eq!(object["status"]["state"], "Open", "unknown fields stay");
    assert_eq!(object["spec"]["future"], "field");
    assert_eq!(object["metadata"]["resourceVersion"], "7");
}

#[tokio::test]
async fn a_group_waits_for_a_newer_status_unless_it_is_urgent() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench
        .effects
        .submit(group_status(GroupPhase::Pending, false));
    bench
        .effects
        .submit(group_status(GroupPhase::Inqueue, false));
    bench
        .effects
        .submit(group_status(GroupPhase::Running, true));
    bench.server.until("PATCH", 1).await;
    // The same again, as long as the watch may lag, is nothing new.
    bench
        .written([group_status(GroupPhase::Running, true)])
        .await;
    let log = bench.server.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].body["status"]["phase"], "Running");
}

#[tokio::test]
async fn a_queue_status_replaces_the_whole_list() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench.written([queue_status()]).await;
    assert_eq!(bench.server.lines(), [format!("PATCH {QUEUE}/status")]);
    let value = json!({"cpu": "1500m", "memory": "1Gi"});
    let wanted = json!([{"op": "add", "path": "/status/allocated", "value": value}]);
    assert_eq!(bench.server.log()[0].body, wanted);
}

#[tokio::test]
async fn a_queue_without_status_gets_one() {
    let script = |seen: &Seen| match seen.media.as_str() {
        "application/json-patch+json" => Answer::refuse(422, "path not found"),
        _ => Answer::ok(),
    };
    let bench = Bench::new(script).await;
    bench.written([queue_status()]).await;
    let log = bench.server.log();
    assert_eq!(log.len(), 2);
    let allocated = json!({"cpu": "1500m", "memory": "1Gi"});
    assert_eq!(log[1].body, json!({"status": {"allocated": allocated}}));
}

#[tokio::test]
async fn with_volcanos_role_queue_and_shard_statuses_are_read_and_put() {
    let bench = Bench::new(shipped_role).await;
    bench.written([queue_status(), shard_status()]).await;
    let puts = bench.server.all("PUT");
    let find = |text: &str| {
        puts.iter()
            .find(|seen| seen.path.contains(text))
            .expect("a put")
    };
    let queue = find("queues/q/status");
    assert_eq!(queue.body["status"]["state"], "Open");
    assert_eq!(queue.body["status"]["allocated"]["cpu"], "1500m");
    let shard = find("nodeshards/volcano/status");
    assert_eq!(shard.body["status"]["nodesInUse"], json!(["n1"]));
    assert_eq!(shard.body["status"]["nodesToAdd"], json!(["n2"]));
}

fn kept(topic: KeptTopic, text: &str) -> Write {
    Write::KeptText {
        topic,
        namespace: "volcano-system".to_owned(),
        name: "kept".to_owned(),
        text: text.to_owned(),
    }
}

#[tokio::test]
async fn of_a_config_map_in_which_plugins_keep_something_one_key_is_written_the_newest_text_alone()
{
    const MAP: &str = "/api/v1/namespaces/volcano-system/configmaps/kept";
    let bench = Bench::new(|_| Answer::ok()).await;
    let tasks = |text| kept(KeptTopic::Tasks, text);
    let writes = [tasks("old"), kept(KeptTopic::Use, "other"), tasks("new")];
    bench.written(writes).await;
    assert_eq!(
        bench.server.lines(),
        [MAP; 2].map(|map| format!("PATCH {map}"))
    );
    let log = bench.server.log();
    assert_eq!(log[0].media, "application/merge-patch+json");
    let mut bodies: Vec<String> = log.iter().map(|seen| seen.body.to_string()).collect();
    bodies.sort();
    let expected = [
        json!({"data": {"counted": "new"}}),
        json!({"data": {"used": "other"}}),
    ];
    assert_eq!(bodies, expected.map(|body| body.to_string()));
    // Without the verb patch it is read and put, and what else stands there stays.
    let script = |seen: &Seen| match seen.method.as_str() {
        "PATCH" => rbac("patch", "configmaps"),
        "GET" => Answer::Json(
            200,
            json!({"metadata": {"name": "kept"}, "data": {"mix": "m"}}),
        ),
        _ => Answer::ok(),
    };
    let bench = Bench::new(script).await;
    bench.written([kept(KeptTopic::Tasks, "new")]).await;
    let puts = bench.server.all("PUT");
    assert_eq!(puts[0].path, MAP);
    assert_eq!(puts[0].body["data"], json!({"mix": "m", "counted": "new"}));
}

#[tokio::test]
async fn what_a_starting_api_server_refused_is_written_once_it_is_up() {
    let mut requests = 0;
    let script = move |seen: &Seen| {
        requests += 1;
        match requests {
            1..=2 => rbac(&seen.method, "podgroups"),
            _ => Answer::ok(),
        }
    };
    let mut bench = Bench::new(script).await;
    bench
        .written([group_status(GroupPhase::Running, true)])
        .await;
    let lines = bench.server.lines();
    assert!(lines[0].starts_with("PATCH") && lines[1].starts_with("GET"));
    assert_eq!(lines[2..], [format!("PATCH {GROUPS}/g")]);
    let outcome = bench.outcome().await;
    assert!(
        matches!(outcome, Outcome::GroupStatusWritten { .. }),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_status_is_given_up_when_it_is_proven_that_no_way_is_granted() {
    let server = Server::start(|_| Answer::ok()).await;
    let shared = shared(&server);
    prove(&shared, Target::Group, &[WriteVerb::Patch, WriteVerb::Put]).await;
    let status = StatusWrite::of(group_status(GroupPhase::Running, true)).expect("a status");
    let finish = status::write(shared, status, 0).await;
    assert_eq!((finish, server.log().len()), (Finish::Dropped, 0));
}

#[tokio::test]
async fn a_status_refused_by_a_webhook_is_not_taken_for_a_missing_verb() {
    let mut refused = false;
    let script = move |_: &Seen| {
        let answer = match refused {
            false => Answer::refuse(403, "admission webhook denied the request"),
            true => Answer::ok(),
        };
        refused = true;
        answer
    };
    let bench = Bench::new(script).await;
    bench
        .written([group_status(GroupPhase::Running, true)])
        .await;
    bench
        .written([group_status(GroupPhase::Completed, true)])
        .await;
    assert_eq!(bench.server.lines(), vec![format!("PATCH {GROUPS}/g"); 2]);
}

#[tokio::test]
async fn a_status_is_tried_again_after_trouble_and_given_up_when_its_object_is_gone() {
    let mut answers = vec![
        Answer::refuse(404, "not found"),
        Answer::refuse(500, "down"),
        Answer::Cut,
    ];
    let bench = Bench::new(move |_: &Seen| answers.pop().expect("no fourth try")).await;
    bench.written([condition("Unschedulable", "no room")]).await;
    assert_eq!(bench.server.log().len(), 3);
}

#[tokio::test]
async fn a_refused_queue_is_told_so_that_it_can_be_tried_later_and_a_refused_pod_is_not() {
    let mut bench = Bench::new(|_| Answer::refuse(400, "no")).await;
    let queue = Write::QueueStatus {
        name: "q".to_owned(),
        allocated: Vec::new(),
    };
    bench
        .written([condition("Unschedulable", "m"), queue])
        .await;
    let name = "q".to_owned();
    assert_eq!(bench.outcome().await, Outcome::QueueStatusFailed { name });
    assert!(bench.outcomes.try_recv().is_err());
}

#[tokio::test]
async fn a_group_status_that_is_not_written_says_why_unless_nobody_waits_for_it() {
    let gone = || Outcome::GroupStatusNotNeeded {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
    };
    let refused = |message: &str| Outcome::GroupStatusFailed {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        message: message.to_owned(),
    };
    let ending = "podgroups \"g\" is forbidden: unable to create new content in namespace ns because \
                  it is being terminated";
    let invalid = "status.phase: Unsupported value";
    for (code, message, expected) in [
        (404, "podgroups \"g\" not found", gone()),
        (422, "metadata.uid: Invalid value", gone()),
        (403, ending, gone()),
        (400, invalid, refused(&format!("{invalid} (400)"))),
    ] {
        let mut bench = Bench::new(move |_: &Seen| Answer::refuse(code, message)).await;
        bench
            .written([group_status(GroupPhase::Running, true)])
            .await;
        assert_eq!(bench.outcome().await, expected, "{code}");
    }
}

#[test]
fn a_first_condition_does_not_wait_and_one_with_another_reason_a_second() {
    let condition = |reason: &str, message: &str| {
        let write = Write::PodCondition {
            pod: pod(),
            reason: reason.to_owned(),
            message: message.to_owned(),
        };
        StatusWrite::of(write).expect("a status")
    };
    let first = condition("Unschedulable", "no cpu");
    assert_eq!(first.delay(), Duration::ZERO);
    for (reason, seconds) in [("Unschedulable", 5), ("QuotaExceeded", 1)] {
        let next = condition(reason, "no memory");
        assert_eq!(
            next.spacing(&first),
            Duration::from_secs(seconds),
            "{reason}"
        );
    }
}
