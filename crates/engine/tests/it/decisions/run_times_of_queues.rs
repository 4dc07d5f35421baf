//! What a queue says of how long its pods run that say nothing (docs/spec/11-time.md §1, docs/spec/12-reservations.md §1).

use super::cluster::*;
use super::reservations::{PLUGIN, cluster, come, cycle, start};

/// Both nodes are taken by pods of which nobody says anything but their queue.
const SILENT: &str = "
    node n1 4c 8Gi pods=9
    node n2 4c 8Gi pods=9
    group runs queue:q min:1 created:1
    pod  a  3c group:runs on:n1 since:100
    pod  b  3c group:runs on:n2 since:100 limit:2000s
    group big min:2 created:10
    pod  big-0 4c group:big created:10
    pod  big-1 4c group:big created:10
";

fn start_s(cluster: &Cluster) -> Option<i64> {
    start(cluster, "big").map(|(at_s, _)| at_s)
}

#[test]
fn it_counts_for_pods_that_say_nothing_before_what_the_configuration_says() {
    let conf = PLUGIN.replace("slack: 0s", "slack: 0s, reservation.defaultLimit: 9000s");
    for (queue, expected_s) in [
        ("queue q", 9_100),
        ("queue q limit:3000s", 3_100),
        ("queue q runs:2500s", 2_600),
        ("queue q runs:2500s limit:3000s", 3_100),
        ("queue q limit:500s", 2_100),
        ("queue q limit:soon runs:0", 9_100),
    ] {
        let mut cluster = cluster(&conf, &format!("{queue}\n{SILENT}"));
        cycle(&mut cluster, 200);
        assert_eq!(start_s(&cluster), Some(expected_s), "{queue}");
    }
}

#[test]
fn an_edit_while_pods_run_moves_their_ends_as_if_it_had_always_been_so() {
    let mut edited = cluster(PLUGIN, &format!("queue q limit:3000s\n{SILENT}"));
    cycle(&mut edited, 200);
    for (at_s, limit_s) in [(300, 5_000), (400, 2_500), (500, 4_000), (600, 700)] {
        let queue = format!("queue q limit:{limit_s}s");
        come(&mut edited, &queue);
        cycle(&mut edited, at_s);
        // What was promised is looked at as a whole every half a minute.
        cycle(&mut edited, at_s + 30);
        let mut fresh = cluster(PLUGIN, &format!("{queue}\n{SILENT}"));
        cycle(&mut fresh, at_s + 30);
        assert!(start_s(&fresh).is_some());
        assert_eq!(start(&edited, "big"), start(&fresh, "big"), "{limit_s}");
    }
    // Without it nobody says when what runs ends.
    come(&mut edited, "queue q");
    cycle(&mut edited, 700);
    cycle(&mut edited, 730);
    assert_eq!(start_s(&edited), None);
}

#[test]
fn who_is_kept_off_runs_as_soon_as_his_queue_says_that_he_is_gone_in_time() {
    let text = format!("queue q limit:3000s\n queue small\n{SILENT}");
    let mut cluster = cluster(PLUGIN, &text);
    cluster.engine.set_full_check_interval_s(Some(i64::MAX));
    cycle(&mut cluster, 200);
    come(
        &mut cluster,
        "group s queue:small min:1 created:20\npod s-0 1c group:s created:20",
    );
    assert_eq!(cycle(&mut cluster, 201), [""; 0]);
    come(&mut cluster, "queue small limit:1h");
    assert_eq!(cycle(&mut cluster, 202), [""; 0], "it would still be there");
    come(&mut cluster, "queue small limit:10m");
    assert_eq!(cycle(&mut cluster, 203), ["s-0 n1"]);
}

#[test]
fn nobody_is_let_past_by_a_default_that_is_below_what_he_expects() {
    for (queue, conf) in [
        ("queue small", "reservation.defaultLimit: 10m"),
        ("queue small limit:10m", "reservation.jobs: 1"),
    ] {
        let conf = PLUGIN.replace("slack: 0s", &format!("slack: 0s, {conf}"));
        let text = format!("{queue}\n queue q limit:3000s\n{SILENT}");
        let mut cluster = cluster(&conf, &text);
        cycle(&mut cluster, 200);
        for (name, runs) in [("long", "runs:2h"), ("short", "runs:5m"), ("mute", "")] {
            let job = format!(
                "group {name} queue:small min:1 created:20 {runs}\npod {name}-0 1c group:{name} created:20"
            );
            come(&mut cluster, &job);
        }
        let bound = cycle(&mut cluster, 200);
        let mut names: Vec<&str> = bound.iter().map(|one| &one[..one.len() - 3]).collect();
        names.sort_unstable();
        assert_eq!(names, ["mute-0", "short-0"], "{queue}");
    }
}

#[test]
fn what_a_queue_says_in_vain_is_told_on_it() {
    let mut cluster = cluster(
        NO_QUEUE_PLUGIN,
        "queue q runs:soon limit:-1h\nqueue r runs:1h",
    );
    cluster.engine.cycle(0);
    let told: Vec<String> = cluster
        .engine
        .reports(0)
        .queue_events
        .into_iter()
        .map(|event| event.message)
        .collect();
    let expected = "`pumice.sh/default-run-time` of the queue says nothing, since \"soon\" is no duration such as 2h30m; \
                    `pumice.sh/default-run-time-limit` of the queue says nothing, since \"-1h\" is not above 0: write a \
                    time above 0 and of ten years at most, such as \"2h30m\"";
    assert_eq!(told, [expected]);
}
