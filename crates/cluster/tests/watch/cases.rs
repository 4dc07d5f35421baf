//! One script per behaviour.

use pumice_cluster::watch::{Input, KindState, WatchOptions};
use serde_json::{Value, json};

use crate::server::Answer::{List, Status, Stream, Watch};
use crate::server::{Then, bookmark, event, list, list_end, too_old};
use crate::{Setup, options, watch};

const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/pods";
const SERVICES: &str = "/api/v1/services";
const QUEUES: &str = "/apis/scheduling.volcano.sh/v1beta1/queues";
const GROUPS: &str = "/apis/scheduling.volcano.sh/v1beta1/podgroups";
const SHARDS: &str = "/apis/shard.volcano.sh/v1alpha1/nodeshards";

fn node(name: &str, version: &str) -> Value {
    json!({"metadata": {"name": name, "uid": format!("u-{name}"), "resourceVersion": version}})
}

fn labelled(name: &str, version: &str, zone: &str) -> Value {
    let mut node = node(name, version);
    node["metadata"]["labels"] = json!({"zone": zone});
    node
}

fn pod(name: &str, uid: &str, version: &str, scheduler: &str, on: Option<&str>) -> Value {
    json!({
        "metadata": {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": version},
        "spec": {"schedulerName": scheduler, "nodeName": on, "containers": []},
    })
}

fn queue(name: &str, version: &str, weight: Value) -> Value {
    let mut queue = node(name, version);
    queue["spec"] = json!({"weight": weight});
    queue
}

fn shard(name: &str, version: &str, desired: &[&str], in_use: &[&str]) -> Value {
    let mut shard = node(name, version);
    shard["spec"] = json!({"nodesDesired": desired});
    shard["status"] = json!({"nodesInUse": in_use});
    shard
}

fn added(object: Value) -> Value {
    event("ADDED", object)
}

fn modified(object: Value) -> Value {
    event("MODIFIED", object)
}

fn deleted(object: Value) -> Value {
    event("DELETED", object)
}

/// A watch on which the script ends.
fn rest() -> crate::server::Answer {
    Watch(Vec::new(), Then::Stay)
}

#[tokio::test]
async fn a_list_by_pages_is_followed_by_its_events() {
    let script = vec![
        List(list("9", Some("page-2"), &[node("a", "3"), node("b", "4")])),
        List(list("9", None, &[node("c", "5")])),
        Watch(
            vec![
                added(node("d", "10")),
                modified(node("a", "11")),
                deleted(node("b", "12")),
            ],
            Then::Stay,
        ),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a", "+node b", "+node c"]);
    for expected in ["+node d", "+node a", "-node b"] {
        assert_eq!(setup.deltas().await, [expected]);
    }
    let requests = setup.server.requests(NODES);
    assert!(requests[1].contains("limit=500"), "{requests:#?}");
    assert!(requests[2].contains("continue=page-2"), "{requests:#?}");
    assert!(requests[3].contains("resourceVersion=9"), "{requests:#?}");
    assert!(
        requests[3].contains("allowWatchBookmarks=true"),
        "{requests:#?}"
    );
    let status = setup.kind("Node");
    assert_eq!((status.objects, status.state), (3, KindState::Synced));
    assert!(status.last_contact_age.is_some() && status.last_event_age.is_some());
}

#[tokio::test]
async fn a_streamed_list_goes_over_into_the_watch() {
    let lines = vec![
        added(node("a", "3")),
        added(node("b", "8")),
        list_end("9"),
        modified(node("a", "10")),
    ];
    let script = vec![Stream(lines, Then::Cut), rest()];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a", "+node b"]);
    assert_eq!(setup.deltas().await, ["+node a"]);
    setup
        .until("Node", |status| status.counts.watches == 2)
        .await;
    let requests = setup.server.requests(NODES);
    assert!(requests[1].contains("resourceVersion=10"), "{requests:#?}");
    assert_eq!(setup.kind("Node").counts.lists, 1);
}

#[tokio::test]
async fn nothing_is_decided_before_every_list_is_complete() {
    let script = vec![
        List(list("9", Some("page-2"), &[node("a", "3")])),
        Status(500, "etcd is away"),
        List(list("9", Some("page-2"), &[node("a", "3")])),
        List(list("9", None, &[node("b", "4")])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert!(!setup.handle.synced());
    let mut synced_after = Vec::new();
    loop {
        match setup.next().await {
            Input::Synced => break,
            input => synced_after.push(input),
        }
    }
    assert!(setup.handle.synced());
    assert!(matches!(&synced_after[..], [Input::Deltas(deltas)] if deltas.len() == 2));
    assert!(setup.kind("Node").settled);
}

#[tokio::test]
async fn after_410_a_new_list_tells_only_the_difference_and_deletions() {
    let script = vec![
        List(list(
            "9",
            None,
            &[node("a", "3"), node("b", "4"), node("c", "5")],
        )),
        Watch(vec![too_old()], Then::End),
        List(list(
            "20",
            None,
            &[node("a", "3"), node("c", "15"), node("d", "16")],
        )),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await.len(), 3);
    assert_eq!(setup.deltas().await, ["+node c", "+node d", "-node b"]);
    assert_eq!(setup.kind("Node").counts.lists, 2);
}

#[tokio::test]
async fn half_of_a_later_list_tells_nothing() {
    let script = vec![
        List(list("9", None, &[node("a", "3"), node("b", "4")])),
        Status(410, "too old"),
        List(list("20", Some("page-2"), &[node("a", "15")])),
        Status(410, "the page has expired"),
        List(list("21", Some("page-2"), &[node("a", "15")])),
        List(list("21", None, &[node("c", "21")])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await.len(), 2);
    assert_eq!(setup.deltas().await, ["+node a", "+node c", "-node b"]);
}

#[tokio::test]
async fn an_older_version_is_dropped_counted_and_followed_by_a_new_list() {
    let script = vec![
        List(list("9", None, &[pod("p", "1", "8", "volcano", None)])),
        Watch(
            vec![
                modified(pod("p", "1", "12", "volcano", Some("n"))),
                modified(pod("p", "1", "11", "volcano", None)),
            ],
            Then::Stay,
        ),
        List(list(
            "13",
            None,
            &[pod("p", "1", "13", "volcano", Some("n"))],
        )),
        rest(),
    ];
    let mut setup = watch(options(), vec![(PODS, script)]).await;
    assert_eq!(setup.deltas().await, ["+pod 1 on no node"]);
    assert_eq!(setup.deltas().await, ["+pod 1 on n"]);
    assert_eq!(setup.deltas().await, ["+pod 1 on n"]);
    assert_eq!(setup.kind("Pod").counts.stale, 1);
}

#[tokio::test]
async fn a_list_older_than_what_is_known_deletes_nothing() {
    let script = vec![
        List(list("9", None, &[node("a", "3")])),
        Watch(vec![added(node("b", "15")), too_old()], Then::End),
        List(list("12", None, &[node("a", "3")])),
        List(list(
            "20",
            None,
            &[node("a", "3"), node("b", "15"), node("c", "18")],
        )),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    for expected in ["+node a", "+node b", "+node c"] {
        assert_eq!(setup.deltas().await, [expected]);
    }
}

#[tokio::test]
async fn a_cut_watch_goes_on_from_the_last_bookmark_or_event() {
    let script = vec![
        List(list("9", None, &[node("a", "3")])),
        Watch(vec![added(node("b", "10")), bookmark("30")], Then::Cut),
        Status(503, "starting"),
        Watch(vec![added(node("c", "31"))], Then::End),
        Watch(vec![deleted(node("c", "32"))], Then::Stay),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    for expected in ["+node a", "+node b", "+node c", "-node c"] {
        assert_eq!(setup.deltas().await, [expected]);
    }
    let requests = setup.server.requests(NODES);
    let versions: Vec<_> = requests[2..]
        .iter()
        .map(|query| query.rsplit_once("resourceVersion=").unwrap().1)
        .collect();
    assert_eq!(versions, ["9", "30", "30", "31"]);
    assert_eq!(setup.kind("Node").counts.lists, 1);
}

#[tokio::test]
async fn a_silent_watch_is_opened_anew() {
    let script = vec![
        List(list("9", None, &[node("a", "3")])),
        Watch(vec![bookmark("30")], Then::Stay),
        Watch(vec![added(node("b", "31"))], Then::Stay),
    ];
    let mut options = options();
    options.pace.silence = std::time::Duration::from_millis(300);
    let mut setup = watch(options, vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a"]);
    assert_eq!(setup.deltas().await, ["+node b"]);
}

#[tokio::test]
async fn a_kind_that_is_not_installed_counts_as_empty_and_is_noticed_when_it_is() {
    let script = vec![
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        List(list("9", None, &[queue("q", "3", json!(2))])),
        Watch(Vec::new(), Then::End),
        // The custom resource is deleted, and its queues with it.
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
        List(list("40", None, &[queue("q", "35", json!(3))])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(QUEUES, script)]).await;
    setup.handle.wait_synced().await;
    assert_eq!(setup.deltas().await, ["+queue q 2"]);
    assert_eq!(setup.deltas().await, ["-queue q"]);
    assert_eq!(setup.deltas().await, ["+queue q 3"]);
    let status = setup
        .until("Queue", |status| status.state == KindState::Synced)
        .await;
    assert_eq!((status.required, status.objects), (false, 1));
}

#[tokio::test]
async fn an_api_server_that_forgets_a_kind_for_a_moment_deletes_nothing() {
    let script = vec![
        List(list("9", None, &[queue("q", "3", json!(2))])),
        Watch(Vec::new(), Then::Cut),
        Status(404, "404 page not found"),
        List(list(
            "12",
            None,
            &[queue("q", "3", json!(2)), queue("r", "11", json!(1))],
        )),
        rest(),
    ];
    let mut setup = watch(options(), vec![(QUEUES, script)]).await;
    assert_eq!(setup.deltas().await, ["+queue q 2"]);
    assert_eq!(setup.deltas().await, ["+queue r 1"]);
}

#[tokio::test]
async fn an_absent_kind_that_is_required_keeps_the_gate_closed() {
    let script = vec![
        Status(404, "404 page not found"),
        Status(404, "404 page not found"),
    ];
    let setup = watch(options(), vec![(PODS, script)]).await;
    let failing = |status: &KindState| matches!(status, KindState::Failing { .. });
    setup
        .until("Pod", |status| {
            failing(&status.state) && status.counts.failures == 2
        })
        .await;
    setup.until("Service", |status| status.settled).await;
    assert!(!setup.handle.synced());
}

/// The error a kind shows.
fn error(state: &KindState) -> &str {
    match state {
        KindState::Failing { error } => error,
        _ => "",
    }
}

#[tokio::test]
async fn a_denial_names_the_rule_and_opens_the_gate_only_for_kinds_that_can_be_missed() {
    let denials = || vec![Status(403, "forbidden"), Status(403, "forbidden")];
    let setup = watch(options(), vec![(SERVICES, denials()), (NODES, denials())]).await;
    for (kind, plural, settled) in [("Service", "services", true), ("Node", "nodes", false)] {
        let status = setup
            .until(kind, |status| status.counts.failures == 2)
            .await;
        let rule =
            format!(r#"{{apiGroups: [""], resources: ["{plural}"], verbs: ["list", "watch"]}}"#);
        assert!(error(&status.state).contains(&rule), "{:?}", status.state);
        assert_eq!(status.settled, settled, "{kind}");
    }
    setup.until("Pod", |status| status.settled).await;
    assert!(!setup.handle.synced());
}

#[tokio::test]
async fn a_denial_that_is_lifted_fills_the_kind() {
    let script = vec![
        Status(403, "forbidden"),
        List(list("9", None, &[node("a", "3")])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a"]);
    setup.handle.wait_synced().await;
    let status = setup
        .until("Node", |status| status.state == KindState::Synced)
        .await;
    assert_eq!(status.objects, 1);
}

/// The next problems: of what, and the fields.
async fn problems(setup: &mut Setup) -> (String, Vec<String>) {
    match setup.told().await {
        Input::Problems { about, problems } => (
            about.to_string(),
            problems.into_iter().map(|problem| problem.path).collect(),
        ),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unreadable_object_hurts_nobody_else_and_recovers() {
    let script = vec![
        List(list(
            "9",
            None,
            &[
                queue("a", "3", json!("heavy")),
                queue("b", "4", json!(-1)),
                queue("c", "5", json!(1)),
            ],
        )),
        Watch(
            vec![
                modified(queue("a", "10", json!(2))),
                modified(queue("c", "11", json!([]))),
                deleted(queue("c", "12", json!([]))),
                deleted(queue("b", "13", json!(-1))),
            ],
            Then::Stay,
        ),
    ];
    let mut setup = watch(options(), vec![(QUEUES, script)]).await;
    let of = |about: &str, paths: &[&str]| {
        (
            about.to_owned(),
            paths
                .iter()
                .map(|path| (*path).to_owned())
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(setup.deltas().await, ["+queue c 1"]);
    assert_eq!(problems(&mut setup).await, of("Queue a", &["spec.weight"]));
    assert_eq!(problems(&mut setup).await, of("Queue b", &["spec.weight"]));
    assert_eq!(setup.deltas().await, ["+queue a 2"]);
    assert_eq!(problems(&mut setup).await, of("Queue a", &[]));
    assert_eq!(problems(&mut setup).await, of("Queue c", &["spec.weight"]));
    assert_eq!(setup.deltas().await, ["-queue c"]);
    assert_eq!(problems(&mut setup).await, of("Queue c", &[]));
    assert_eq!(problems(&mut setup).await, of("Queue b", &[]));
    assert_eq!(setup.kind("Queue").counts.unreadable, 3);
}

#[tokio::test]
async fn a_line_that_is_no_event_leads_to_a_new_list() {
    let script = vec![
        List(list("9", None, &[node("a", "3")])),
        Watch(vec![json!({"hello": 1})], Then::Stay),
        List(list("12", None, &[node("a", "3"), node("b", "11")])),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a"]);
    assert_eq!(setup.deltas().await, ["+node b"]);
}

#[tokio::test]
async fn pods_count_when_ours_or_on_a_node_and_leave_when_neither() {
    let script = vec![
        List(list(
            "9",
            None,
            &[
                pod("ours", "1", "2", "volcano", None),
                pod("waits", "2", "3", "default-scheduler", None),
                pod("runs", "3", "4", "default-scheduler", Some("n")),
            ],
        )),
        Watch(
            vec![
                modified(pod("waits", "2", "10", "default-scheduler", Some("n"))),
                modified(pod("ours", "1", "11", "default-scheduler", None)),
                // The same name again.
                added(pod("runs", "4", "12", "volcano", None)),
                deleted(pod("runs", "4", "13", "volcano", None)),
            ],
            Then::Stay,
        ),
    ];
    let mut setup = watch(options(), vec![(PODS, script)]).await;
    assert_eq!(setup.deltas().await, ["+pod 1 on no node", "+pod 3 on n"]);
    assert_eq!(setup.deltas().await, ["+pod 2 on n"]);
    assert_eq!(setup.deltas().await, ["-pod 1"]);
    assert_eq!(setup.deltas().await, ["-pod 3", "+pod 4 on no node"]);
    assert_eq!(setup.deltas().await, ["-pod 4"]);
}

#[tokio::test]
async fn a_node_that_leaves_the_selected_labels_is_removed() {
    let script = vec![
        List(list(
            "9",
            None,
            &[labelled("a", "3", "x"), labelled("b", "4", "y")],
        )),
        Watch(
            vec![
                modified(labelled("a", "10", "y")),
                modified(labelled("b", "11", "x")),
                deleted(labelled("a", "12", "y")),
                deleted(labelled("b", "13", "x")),
            ],
            Then::Stay,
        ),
    ];
    let options = WatchOptions {
        node_selector: vec![("zone".to_owned(), "x".to_owned())],
        ..options()
    };
    let mut setup = watch(options, vec![(NODES, script)]).await;
    for expected in ["+node a", "-node a", "+node b", "-node b"] {
        assert_eq!(setup.deltas().await, [expected]);
    }
}

#[tokio::test]
async fn pod_groups_are_told_by_namespace_and_name() {
    let group = |version: &str| {
        let mut group = node("g", version);
        group["metadata"]["namespace"] = json!("ns");
        group
    };
    let script = vec![
        List(list("9", None, &[group("3")])),
        Watch(vec![deleted(group("10"))], Then::Stay),
    ];
    let mut setup = watch(options(), vec![(GROUPS, script)]).await;
    assert_eq!(setup.deltas().await, ["+group ns/g"]);
    assert_eq!(setup.deltas().await, ["-group ns/g"]);
}

#[tokio::test]
async fn shards_tell_which_nodes_are_ours() {
    let script = vec![
        List(list("9", None, &[shard("other", "3", &["b"], &["b"])])),
        Watch(
            vec![
                added(shard("volcano", "10", &["a", "b"], &[])),
                modified(shard("other", "11", &["b"], &[])),
                deleted(shard("volcano", "12", &["a", "b"], &[])),
            ],
            Then::Stay,
        ),
    ];
    let options = WatchOptions {
        shard: Some("volcano".to_owned()),
        ..options()
    };
    let mut setup = watch(options, vec![(SHARDS, script)]).await;
    let expected: [(&[&str], Option<&[&str]>, bool); 4] = [
        (&[], None, true),
        (&["a"], Some(&["b"]), false),
        (&["a", "b"], Some(&[]), false),
        (&["a", "b"], None, true),
    ];
    for (in_use, to_add, missing) in expected {
        let Input::Shard(view) = setup.told().await else {
            panic!("not a shard");
        };
        assert!(view.in_use.iter().eq(in_use), "{view:?}");
        assert_eq!(
            view.status.map(|status| status.to_add),
            to_add.map(to_strings)
        );
        assert_eq!(view.missing, missing);
    }
}

fn to_strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
