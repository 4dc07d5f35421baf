//! Pods that run for longer than their limit are ended by plugin `runtimelimit` (docs/spec/11-time.md §3).

use pumice_engine::TIME_OVER;
use pumice_model::Delta;
use pumice_model::object::BudgetObject;

use super::cluster::*;
use super::reservations::{cluster, come, cycle, start};

const PLUGIN: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}, {name: predicates}, \
    {name: runtimelimit, arguments: {runtimelimit.grace: 10s}}]}]\n";

const NODE: &str = "node n1 9c 64Gi pods=99";

/// Who is evicted at a moment, by name.
fn goes(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    let state = cluster.engine.state();
    let evictions = decisions.evictions.iter();
    let mut names: Vec<String> = evictions
        .map(|one| {
            assert_eq!((one.by, one.reason), (None, TIME_OVER));
            state.task(one.task).name.to_string()
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_pod_is_evicted_once_its_limit_and_the_grace_are_over_and_a_cycle_is_due_then() {
    let text = format!(
        "{NODE}
        group a min:1
        pod a-0 1c group:a on:n1 since:100 limit:100s
        pod a-1 1c group:a on:n1 since:100 limit:300s
        pod a-2 1c group:a on:n1 since:100 runs:50s
        pod a-3 1c group:a on:n1 limit:1s
        pod a-4 1c group:a on:n1 since:100 going:900 limit:1s"
    );
    let mut cluster = cluster(PLUGIN, &text);
    assert_eq!(goes(&mut cluster, 150), [""; 0]);
    assert_eq!(cluster.engine.wake_at_s(), Some(210));
    assert_eq!(goes(&mut cluster, 209), [""; 0]);
    assert_eq!(goes(&mut cluster, 210), ["a-0"]);
    assert_eq!(goes(&mut cluster, 211), [""; 0], "it is on its way out");
    assert_eq!(cluster.engine.plugins_wake_at_s(), Some(410));
    assert_eq!(goes(&mut cluster, 500), ["a-1"]);
    assert_eq!(cluster.engine.plugins_wake_at_s(), None);
}

#[test]
fn a_gang_whose_pods_share_a_limit_ends_together_whoever_would_protect_it() {
    let text = format!(
        "{NODE}
        group g min:3 limit:100s fixed
        pod g*3 1c group:g on:n1 since:100 fixed"
    );
    let nobody_may_go = BudgetObject {
        namespace: "ns".to_owned(),
        name: "all".to_owned(),
        selector: Some(pumice_model::object::Selector::default()),
        ..BudgetObject::default()
    };
    let mut cluster = cluster(PLUGIN, &text).with(nobody_may_go);
    assert_eq!(goes(&mut cluster, 209), [""; 0]);
    assert_eq!(goes(&mut cluster, 210).len(), 3);
}

#[test]
fn without_the_plugin_nobody_is_ended() {
    let without = PLUGIN.replace(
        "runtimelimit, arguments: {runtimelimit.grace: 10s}",
        "nodeorder",
    );
    let text = format!("{NODE}\n pod a 1c on:n1 since:100 limit:100s");
    let mut cluster = cluster(&without, &text);
    assert_eq!(goes(&mut cluster, 99_999), [""; 0]);
}

#[test]
fn who_may_edit_his_pod_moves_his_own_end_and_the_queue_that_of_who_says_nothing() {
    let pods = "queue q limit:100s
        group mute queue:q min:1 created:1
        pod mute 1c group:mute on:n1 since:100";
    let own = |limit_s: i64| format!("pod own 1c on:n1 since:100 limit:{limit_s}s");
    let mut cluster = cluster(PLUGIN, &format!("{NODE}\n{pods}\n{}", own(100)));
    assert_eq!(goes(&mut cluster, 150), [""; 0]);
    come(&mut cluster, &own(500));
    come(&mut cluster, "queue q limit:300s");
    assert_eq!(goes(&mut cluster, 210), [""; 0]);
    assert_eq!(cluster.engine.plugins_wake_at_s(), Some(410));
    // A limit in the past is over at once.
    come(&mut cluster, &own(1));
    assert_eq!(goes(&mut cluster, 300), ["own"]);
    come(&mut cluster, "queue q");
    assert_eq!(goes(&mut cluster, 999), [""; 0]);
    come(&mut cluster, "queue q limit:1s");
    assert_eq!(goes(&mut cluster, 999), ["mute"]);
}

#[test]
fn an_eviction_that_is_refused_is_tried_again_later() {
    let text = format!("{NODE}\n pod a 1c on:n1 since:100 limit:100s");
    let mut cluster = cluster(PLUGIN, &text);
    assert_eq!(goes(&mut cluster, 300), ["a"]);
    cluster.engine.apply(Delta::EvictFailed {
        uid: "a".to_owned(),
        message: "no".to_owned(),
        at_s: 300,
    });
    assert_eq!(goes(&mut cluster, 300), [""; 0]);
    let due_s = cluster.engine.wake_at_s().expect("another try");
    assert!((301..=360).contains(&due_s), "{due_s}");
    assert_eq!(goes(&mut cluster, due_s), ["a"]);
}

#[test]
fn an_engine_that_followed_every_edit_ends_whom_a_new_one_ends() {
    let mut dice: u64 = 1;
    let mut throw = |end: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (dice >> 33) % end
    };
    let mut ended = 0;
    for _ in 0..60 {
        let mut lines: Vec<String> = vec![NODE.to_owned(), "queue q".to_owned()];
        lines.push("group g queue:q min:1 created:1".to_owned());
        let named = ["a", "b", "c"];
        let pod =
            |name: &str, limit: &str| format!("pod {name} 1c group:g on:n1 since:100 {limit}");
        lines.extend(named.map(|name| pod(name, "")));
        let mut followed = cluster(PLUGIN, &lines.join("\n"));
        for step in 0..8 {
            let now_s = 100 + step * 50;
            let limit = match throw(4) {
                0 => String::new(),
                _ => format!("limit:{}s", 20 + throw(900)),
            };
            let at = throw(5) as usize;
            lines[1 + at] = match at {
                0 => format!("queue q {limit}"),
                1 => format!("group g queue:q min:1 created:1 {limit}"),
                _ => pod(named[at - 2], &limit),
            };
            come(&mut followed, &lines[1 + at].clone());
            let mut fresh = cluster(PLUGIN, &lines.join("\n"));
            let expected = goes(&mut fresh, now_s);
            assert_eq!(goes(&mut followed, now_s), expected, "{lines:?}");
            assert_eq!(
                followed.engine.plugins_wake_at_s(),
                fresh.engine.plugins_wake_at_s(),
                "{lines:?}"
            );
            if !expected.is_empty() {
                ended += 1;
                break;
            }
        }
    }
    assert!(ended > 20, "{ended}");
}

#[test]
fn who_lies_about_his_run_time_every_day_breaks_no_promise() {
    let conf = PLUGIN.replace(
        "{name: runtimelimit",
        "{name: reservation, arguments: {reservation.slack: 10s}}, {name: runtimelimit",
    );
    let text = "
        node n1 4c 8Gi pods=9
        node n2 4c 8Gi pods=9
        pod  liar 3c on:n1 since:100 limit:1000s
        group big min:2 created:10
        pod  big-0 4c group:big created:10
        pod  big-1 4c group:big created:10";
    let mut cluster = cluster(&conf, text);
    assert_eq!(cycle(&mut cluster, 200), [""; 0]);
    assert_eq!(start(&cluster, "big").map(|(at_s, _)| at_s), Some(1100));
    assert_eq!(goes(&mut cluster, 1105), [""; 0]);
    assert_eq!(goes(&mut cluster, 1110), ["liar"]);
    cluster.engine.apply(Delta::PodDelete("liar".to_owned()));
    assert_eq!(cycle(&mut cluster, 1111), ["big-0 n1", "big-1 n2"]);
}

#[test]
fn no_nominee_is_bound_for_a_gang_that_loses_a_pod_at_that_moment() {
    let at = |now_s: i64| {
        let text = format!(
            "{NODE}
            group g min:2
            pod g-0 1c group:g on:n1 since:100 limit:100s"
        );
        let nominee = pod("g-1", "1c")
            .group("g")
            .nominated_node(Some("n1".to_owned()));
        let mut cluster = cluster(PLUGIN, &text).with(nominee);
        let decisions = cluster.engine.cycle(now_s);
        (decisions.binds.len(), decisions.evictions.len())
    };
    assert_eq!(at(209), (1, 0));
    assert_eq!(at(210), (0, 1), "the gang would be one short at once");
}
