//! Which objects count, and those that cannot be read.

use pumice_cluster::watch::{WatchInput, WatchOptions};
use serde_json::json;

use super::setup::{Setup, options, watch};
use super::turns::Turn::{List, Watch};
use super::wire::*;
use pumice_scripted::Then;

/// The next problems: of what, and the fields.
async fn problems(setup: &mut Setup) -> (String, Vec<String>) {
    match setup.told().await {
        WatchInput::Problems {
            about, problems, ..
        } => (
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
    /// In use, to add, missing.
    type Expected<'a> = (&'a [&'a str], Option<&'a [&'a str]>, bool);
    let expected: [Expected<'_>; 4] = [
        (&[], None, true),
        (&["a"], Some(&["b"]), false),
        (&["a", "b"], Some(&[]), false),
        (&["a", "b"], None, true),
    ];
    for (in_use, to_add, missing) in expected {
        let WatchInput::Shard(view) = setup.told().await else {
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
