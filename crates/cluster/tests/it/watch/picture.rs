//! Whether what decisions are made from is followed.

use std::sync::Arc;
use std::time::Duration;

use pumice_cluster::follow::WatchTimes;
use pumice_cluster::watch::WatchOptions;
use tokio::sync::Notify;

use super::setup::{Setup, options, watch};
use super::turns::Turn;
use super::turns::Turn::{List, Status, Stream, Watch};
use super::wire::*;
use pumice_scripted::Then;

/// No kind may be lost for longer than a moment, and silent watches are looked at often.
fn strict() -> WatchOptions {
    let short = Duration::from_millis(10);
    let pace = WatchTimes {
        caught_up: short,
        ..options().pace
    };
    WatchOptions {
        grace: Duration::from_millis(1),
        pace,
        ..options()
    }
}

fn looking() -> WatchOptions {
    let mut options = strict();
    options.pace.look = Duration::from_millis(10);
    options
}

impl Setup {
    /// Waits until these kinds are lost.
    async fn until_lost(&self, kinds: &[&str]) {
        let lost = || {
            let lost = self.handle.picture().lost();
            lost.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
        };
        let wait = async {
            while lost() != kinds {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), wait).await;
        assert!(waited.is_ok(), "lost: {:?}", lost());
    }
}

#[tokio::test]
async fn a_kind_that_protects_is_lost_while_its_watch_is_broken_and_found_again() {
    let script = || {
        let mut script = vec![List(list("9", None, &[])), Watch(vec![], Then::Cut)];
        script.extend(vec![Status(500, "down"); 200]);
        script.push(rest());
        script
    };
    let setup = watch(strict(), vec![(NODES, script()), (SERVICES, script())]).await;
    setup.handle.wait_synced().await;
    setup.until_lost(&["Node"]).await;
    let status = setup.kind("Node");
    assert!(status.lost_for.is_some(), "{status:?}");
    setup.handle.picture().followed().await;
    assert_eq!(setup.kind("Node").lost_for, None);
}

#[tokio::test]
async fn a_watch_that_withholds_what_happened_is_opened_anew() {
    let script = vec![
        List(list("9", None, &[])),
        Watch(vec![], Then::Stay),
        // The look sees what the watch has not brought.
        Watch(vec![added(node("d", "10"))], Then::Stay),
        List(list("11", None, &[node("d", "10")])),
        rest(),
    ];
    let mut setup = watch(looking(), vec![(NODES, script)]).await;
    assert_eq!(setup.deltas().await, ["+node d"]);
}

#[tokio::test]
async fn a_look_without_an_answer_means_not_followed_until_one_is_answered() {
    let mut script: Vec<Turn> = vec![
        List(list("9", None, &[])),
        Watch(vec![], Then::Stay),
        Watch(vec![], Then::Stay),
        Watch(vec![], Then::Stay),
    ];
    script.extend(vec![Watch(vec![], Then::End); 1_000]);
    let mut options = looking();
    options.pace.look_answer = Duration::from_millis(300);
    let setup = watch(options, vec![(NODES, script)]).await;
    setup.handle.wait_synced().await;
    setup.until_lost(&["Node"]).await;
    let watches = setup.kind("Node").counts.watches;
    setup.handle.picture().followed().await;
    assert_eq!(
        watches,
        setup.kind("Node").counts.watches,
        "not opened anew"
    );
}

/// A list, a watch that breaks, and a second list in one stream with the watch.
async fn listed_again(options: WatchOptions) -> Setup {
    let again = vec![added(node("d", "10")), list_end("11")];
    let script = vec![
        Stream(vec![list_end("9")], Then::Cut),
        Status(410, "too old"),
        Stream(again, Then::Stay),
    ];
    let setup = watch(options, vec![(NODES, script)]).await;
    setup.until("Node", |status| status.counts.lists == 2).await;
    setup
}

#[tokio::test]
async fn a_list_that_was_long_under_way_is_followed_only_with_the_events_behind_it() {
    let never = Duration::from_secs(3_600);
    let mut old = strict();
    (old.pace.young_list, old.pace.caught_up) = (Duration::ZERO, never);
    let setup = listed_again(old.clone()).await;
    assert!(setup.kind("Node").lost_for.is_some());
    // Once nothing more comes, they have come.
    old.pace.caught_up = Duration::from_millis(10);
    listed_again(old).await.handle.picture().followed().await;

    let mut young = strict();
    (young.pace.young_list, young.pace.caught_up) = (never, never);
    let setup = listed_again(young).await;
    setup
        .until("Node", |status| status.lost_for.is_none())
        .await;
}

#[tokio::test]
async fn what_was_held_up_on_the_way_is_followed_only_with_what_comes_behind_it() {
    for (caught_up, followed) in [(3_600_000, false), (10, true)] {
        let told = Arc::new(Notify::new());
        let held = Then::Held(Arc::clone(&told), vec![added(node("d", "10"))]);
        let mut script = vec![Stream(vec![list_end("9")], held)];
        // No look is answered.
        script.extend(vec![Watch(vec![], Then::Stay); 1_000]);
        let mut options = looking();
        options.pace.look_answer = Duration::from_millis(300);
        options.pace.caught_up = Duration::from_millis(caught_up);
        options.pace.young_list = Duration::from_secs(3_600);
        let setup = watch(options, vec![(NODES, script)]).await;
        setup.until_lost(&["Node"]).await;
        told.notify_one();
        setup
            .until("Node", |status| status.counts.events == 1)
            .await;
        if followed {
            setup.handle.picture().followed().await;
        } else {
            // The event counts before what it proves.
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(setup.kind("Node").lost_for.is_some());
        }
    }
}
