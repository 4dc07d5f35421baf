//! Lists, watches, and what becomes of them when they break.

use pumice_cluster::follow::board::KindState;
use pumice_cluster::watch::WatchInput;
use serde_json::json;

use super::setup::{options, watch};
use super::turns::Turn::{List, Status, Stream, Watch};
use super::wire::*;
use pumice_scripted::Then;

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
    let requests = setup.requests(NODES);
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
    let requests = setup.requests(NODES);
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
            WatchInput::Synced => break,
            input => synced_after.push(input),
        }
    }
    assert!(setup.handle.synced());
    assert!(matches!(&synced_after[..], [WatchInput::Deltas(deltas)] if deltas.len() == 2));
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
    let requests = setup.requests(NODES);
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
async fn half_of_a_later_streamed_list_tells_nothing() {
    let first = vec![
        added(node("a", "3")),
        added(node("b", "4")),
        list_end("9"),
        too_old(),
    ];
    let half = vec![added(node("a", "15")), bookmark("20")];
    let whole = vec![
        added(node("c", "16")),
        added(node("a", "21")),
        list_end("22"),
    ];
    let script = vec![
        Stream(first, Then::Stay),
        Stream(half, Then::Cut),
        Stream(whole, Then::Stay),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a", "+node b"]);
    let difference = ["+node a", "+node c", "+node a", "-node b"];
    assert_eq!(setup.deltas().await, difference);
}

#[tokio::test]
async fn the_first_list_comes_in_parts_and_opens_the_gate_only_after_the_last() {
    let nodes = |from: usize| -> Vec<_> {
        let names = (from..from + 700).map(|at| format!("n{at}"));
        names.map(|name| node(&name, "3")).collect()
    };
    let script = vec![
        List(list("9", Some("2"), &nodes(0))),
        List(list("9", Some("3"), &nodes(700))),
        // Half-way; the next list begins anew and tells only the rest.
        Status(500, "etcd is away"),
        List(list("9", Some("2"), &nodes(0))),
        List(list("9", Some("3"), &nodes(700))),
        List(list("9", None, &nodes(1_400))),
        rest(),
    ];
    let mut setup = watch(options(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await.len(), 1_400);
    let mut before_the_gate = Vec::new();
    loop {
        match setup.next().await {
            WatchInput::Synced => break,
            WatchInput::Deltas(deltas) => before_the_gate.push(deltas.len()),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(before_the_gate, [700]);
    assert_eq!(setup.kind("Node").objects, 2_100);
}

#[tokio::test]
async fn pages_that_expire_again_and_again_are_given_up_for_one_list() {
    let expired = || {
        [
            List(list("9", Some("2"), &[node("a", "3")])),
            Status(410, "the page has expired"),
        ]
    };
    let script = expired().into_iter().chain(expired()).chain([
        List(list("9", None, &[node("a", "3"), node("b", "4")])),
        rest(),
    ]);
    let mut setup = watch(options(), vec![(NODES, script.collect())]).await;
    assert_eq!(setup.deltas().await, ["+node a", "+node b"]);
    let requests = setup.requests(NODES);
    assert!(!requests[5].contains("limit="), "{requests:#?}");
}

#[tokio::test]
async fn a_server_restored_from_a_backup_is_believed_when_it_insists() {
    let older = || List(list("5", None, &[node("a", "3")]));
    let refused = std::iter::repeat_with(older).take(8);
    let script = [
        List(list("9", None, &[node("a", "3"), node("b", "8")])),
        Status(410, "too old"),
    ];
    let script = script.into_iter().chain(refused).chain([older(), rest()]);
    let mut setup = watch(options(), vec![(NODES, script.collect())]).await;
    assert_eq!(setup.deltas().await, ["+node a", "+node b"]);
    assert_eq!(setup.deltas().await, ["+node a", "-node b"]);
}

#[tokio::test]
async fn a_lost_event_is_found_by_the_next_list_and_counted() {
    let script = vec![
        List(list("9", None, &[node("a", "3")])),
        Watch(vec![bookmark("20")], Then::End),
        // Version 15 lies before the bookmark, 21 after it.
        List(list("22", None, &[node("a", "15"), node("b", "21")])),
        rest(),
    ];
    let mut options = options();
    options.pace.recheck = std::time::Duration::ZERO;
    let mut setup = watch(options, vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node a"]);
    assert_eq!(setup.deltas().await, ["+node a", "+node b"]);
    let counts = setup.kind("Node").counts;
    assert_eq!((counts.diverged, counts.lists), (1, 2));
}
