//! The condition of a PodGroup that tells when its job is to start (docs/spec/12-reservations.md §4).

use pumice_model::object::GroupCondition;

use super::cluster::*;
use super::reservations::{PLUGIN, TWO_NODES, cluster, come, cycle, planned};

/// What is told of the job `big`: status, reason and message.
fn told(cluster: &Cluster) -> Option<(String, String, String)> {
    let condition = cluster.condition("big", "PlannedStart")?;
    Some((condition.status, condition.reason, condition.message))
}

fn status(cluster: &Cluster) -> Option<String> {
    told(cluster).map(|(status, ..)| status)
}

/// How often the PodGroup `big` is written at these moments.
fn written(cluster: &mut Cluster, moments: impl Iterator<Item = i64>) -> usize {
    let state = |cluster: &Cluster| {
        let population = cluster.engine.state().population();
        population.job_by_key("ns", "big").expect("a group")
    };
    let mut count = 0;
    for now_s in moments {
        let groups = cluster.engine.cycle(now_s).groups;
        count += usize::from(groups.contains(&state(cluster)));
    }
    count
}

#[test]
fn it_says_what_explain_says_and_goes_when_the_job_starts() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    let words = planned(&cluster, "big").expect("a plan").to_string();
    let expected = "starts 1970-01-01T00:35:00Z if all end as they say, after ns/b, on n1, n2";
    assert_eq!(words, expected);
    let says = |reason: &str, words: &str| Some(("True".into(), reason.into(), words.into()));
    assert_eq!(told(&cluster), says("PlacesKept", &words));
    let group = cluster.condition("big", "Unschedulable");
    assert!(group.is_some(), "what else is told is told still");
    for gone in ["a", "b"] {
        let gone = pumice_model::Delta::PodDelete(gone.to_owned());
        cluster.engine.apply(gone);
    }
    assert_eq!(cycle(&mut cluster, 205), ["big-0 n1", "big-1 n2"]);
    assert_eq!(told(&cluster), None);
}

#[test]
fn a_plan_that_moved_says_what_was_planned_before_and_why() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    let gone = pumice_model::Delta::PodDelete("b".to_owned());
    cluster.engine.apply(gone);
    cycle(&mut cluster, 240);
    let (status, reason, message) = told(&cluster).expect("a condition");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Moved"));
    let expected = "starts 1970-01-01T00:18:20Z if all end as they say, after ns/a, on n1, n2; planned before for \
                    1970-01-01T00:35:00Z, but there is room earlier: something ended before its time, or came";
    assert_eq!(message, expected);
}

#[test]
fn however_often_the_plan_moves_it_is_told_every_half_minute_and_in_the_end_as_it_is() {
    let conf = PLUGIN.replace("slack: 0s", "slack: 0s, reservation.interval: 1s");
    let mut cluster = cluster(&conf, TWO_NODES);
    let mut count = written(&mut cluster, 200..=200);
    for now_s in 201..=280 {
        // Somebody cannot make up his mind.
        let limit_s = 2000 + (now_s % 7) * 100;
        let pod = format!("pod b 3c on:n2 since:100 limit:{limit_s}s");
        come(&mut cluster, &pod);
        count += written(&mut cluster, now_s..=now_s);
    }
    assert_eq!(count, 3, "at 200, 230 and 260");
    let due_s = cluster.engine.wake_at_s().expect("something is to be told");
    assert!((281..=290).contains(&due_s), "{due_s}");
    assert_eq!(written(&mut cluster, 281..=400), 1);
    let plan = planned(&cluster, "big").expect("a plan").to_string();
    assert_eq!(told(&cluster).expect("a condition").2, plan);
}

#[test]
fn while_nothing_moves_nothing_is_written() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    assert_eq!(written(&mut cluster, 200..=200), 1);
    for now_s in [201, 260, 700, 1_000] {
        let pod = format!("pod s{now_s} 9c created:{now_s} limit:10s");
        come(&mut cluster, &pod);
        assert_eq!(written(&mut cluster, now_s..=now_s), 0, "{now_s}");
    }
}

#[test]
fn a_plan_that_is_lost_is_told_as_that_and_a_new_one_no_sooner_than_half_a_minute_later() {
    let mut cluster = cluster(PLUGIN, TWO_NODES);
    cycle(&mut cluster, 200);
    let n2 = || node("n2", "4c 8Gi pods=9");
    cluster.apply(n2().unschedulable(true));
    cycle(&mut cluster, 231);
    assert_eq!(planned(&cluster, "big"), None);
    assert_eq!(status(&cluster).as_deref(), Some("False"));
    cluster.apply(n2());
    cycle(&mut cluster, 240);
    assert!(planned(&cluster, "big").is_some());
    assert_eq!(status(&cluster).as_deref(), Some("False"));
    cycle(&mut cluster, 261);
    assert_eq!(status(&cluster).as_deref(), Some("True"));
}

#[test]
fn an_engine_that_begins_with_what_was_told_writes_it_not_again_and_one_without_the_plugin_removes_it()
 {
    let mut first = cluster(PLUGIN, TWO_NODES);
    cycle(&mut first, 200);
    let known: Vec<GroupCondition> = {
        let state = first.engine.state();
        let ix = state.population().job_by_key("ns", "big").expect("a group");
        state.job(ix).status.conditions.clone()
    };
    let phase = first.phase("big");
    let begin = |conf: &str| {
        let mut next = cluster(conf, TWO_NODES);
        let mut group = group("big", 2).created_s(10);
        (group.status.phase, group.status.conditions) = (phase, known.clone());
        next.apply(group);
        next
    };
    let mut same = begin(PLUGIN);
    assert_eq!(written(&mut same, 200..=200), 0, "{:?}", told(&same));
    assert_eq!(told(&same), told(&first));
    let without = PLUGIN.replace(
        ", {name: reservation, arguments: {reservation.slack: 0s}}",
        ", {name: nodeorder}",
    );
    assert_ne!(without, PLUGIN);
    let mut without = begin(&without);
    cycle(&mut without, 201);
    assert_eq!(told(&without), None);
}
