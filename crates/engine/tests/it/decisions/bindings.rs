//! What becomes of a decision whose Binding fails.

use pumice_model::object::NodeObject;
use pumice_model::{Delta, TaskStatus};

use super::cluster::*;

fn failed(pod: &str, at_s: i64) -> Delta {
    Delta::BindFailed {
        uid: pod.to_owned(),
        message: "pods quota exceeded".to_owned(),
        at_s,
    }
}

fn status(cluster: &Cluster, pod: &str) -> TaskStatus {
    let state = cluster.engine.state();
    state
        .task(state.population().task_by_uid(pod).expect("a pod"))
        .status
}

fn binds(cluster: &mut Cluster, now_s: i64) -> usize {
    cluster.engine.cycle(now_s).binds.len()
}

fn gang_of_two() -> Cluster {
    Cluster::new()
        .with(node("n1", "2c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("p0", "1c").group("g"))
        .with(pod("p1", "1c").group("g"))
}

#[test]
fn a_failed_binding_gives_its_place_back_and_leaves_the_others() {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 0), 2);
    cluster.apply(failed("p1", 0));
    assert_eq!(status(&cluster, "p0"), TaskStatus::Binding);
    assert_eq!(status(&cluster, "p1"), TaskStatus::Pending);
    let state = cluster.engine.state();
    let n1 = state.nodes().find("n1").expect("a node");
    assert_eq!(state.nodes().pod_count[n1.at()], 1);
    assert_eq!(binds(&mut cluster, 0), 0);
    assert_eq!(
        binds(&mut cluster, 1),
        1,
        "it is tried again after a second"
    );
}

#[test]
fn a_pod_whose_binding_failed_waits_until_its_next_try() {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 100), 2);
    cluster.apply(failed("p1", 104));
    assert_eq!(binds(&mut cluster, 101), 0);
    let text = "bind failed: pods quota exceeded, next try in 4 s";
    assert_eq!(cluster.why("p1"), ("SchedulerError", text.to_owned()));
    assert_eq!(cluster.engine.wake_at_s(), Some(105));
    // Nothing happens in between, and the pod object is told again.
    cluster.apply(pod("p1", "1c").group("g"));
    assert_eq!(binds(&mut cluster, 104), 0);
    assert_eq!(binds(&mut cluster, 105), 1);
    let wake_at_s = cluster.engine.wake_at_s();
    assert_eq!(wake_at_s, Some(161), "a minute after its group was told");
    assert_eq!(binds(&mut cluster, 161), 0);
    assert_eq!(cluster.engine.wake_at_s(), None);
}

#[test]
fn a_gang_names_the_member_whose_binding_failed() {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 0), 2);
    cluster.apply(failed("p1", 8));
    assert_eq!(binds(&mut cluster, 1), 0);
    let condition = cluster.condition("g", "Unschedulable").expect("it is told");
    let origin = "Origin reason is p1: bind failed: pods quota exceeded, next try in 8 s";
    assert!(condition.message.ends_with(origin), "{}", condition.message);
}

#[test]
fn only_a_pod_that_waits_for_its_binding_can_fail_to_bind() {
    let mut cluster = gang_of_two().with(pod("other", "0c").on("n1"));
    assert_eq!(cluster.cycle(), ["p0 n1", "p1 n1"]);
    for uid in ["p0", "other", "nobody"] {
        let before = cluster.engine.state().journal().generation();
        cluster.apply(failed(uid, 50));
        assert_eq!(
            cluster.engine.state().journal().generation(),
            before,
            "{uid}"
        );
    }
    assert_eq!(status(&cluster, "p0"), TaskStatus::Bound);
    assert_eq!(cluster.engine.wake_at_s(), None);
}

#[test]
fn a_failed_binding_to_a_node_that_is_gone_is_pending_again() {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 0), 2);
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    cluster.apply(failed("p0", 0));
    cluster.apply(failed("p1", 0));
    assert_eq!(binds(&mut cluster, 0), 0);
    cluster.apply(node("n1", "2c 8Gi pods=9"));
    assert_eq!(binds(&mut cluster, 1), 2);
}

#[test]
fn every_further_failure_doubles_the_wait_until_the_pod_is_on_a_node() {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 0), 2);
    let mut now_s = 0;
    for wait_s in [1, 2, 4] {
        cluster.apply(failed("p1", now_s));
        assert_eq!(cluster.engine.wake_at_s(), Some(now_s + wait_s));
        assert_eq!(binds(&mut cluster, now_s + wait_s - 1), 0);
        now_s += wait_s;
        assert_eq!(binds(&mut cluster, now_s), 1);
    }
    cluster.apply(pod("p1", "1c").group("g").on("n1"));
    cluster.apply(Delta::PodDelete("p1".to_owned()));
    cluster.apply(pod("p1", "1c").group("g"));
    assert_eq!(binds(&mut cluster, now_s), 1);
    cluster.apply(failed("p1", now_s));
    assert_eq!(cluster.engine.wake_at_s(), Some(now_s + 1));
}

#[test]
fn a_decision_that_was_taken_back_is_made_anew_at_once() {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 0), 2);
    let uid = "p1".to_owned();
    cluster.apply(Delta::BindTakenBack { uid });
    assert_eq!(status(&cluster, "p1"), TaskStatus::Pending);
    assert_eq!(binds(&mut cluster, 0), 1);
}

/// Number of conditions of the group, as the engine has it.
fn conditions(cluster: &Cluster) -> usize {
    let state = cluster.engine.state();
    let job = state.population().job_by_key("ns", "g").expect("a job");
    state.job(job).status.conditions.len()
}

#[test]
fn a_status_on_its_way_is_newer_than_the_one_a_watch_shows() {
    let old = || group("g", 2).delta();
    let mut cluster = gang_of_two();
    let groups = cluster.engine.cycle(0).groups;
    groups
        .iter()
        .for_each(|job| cluster.engine.status_sent(*job));
    assert_eq!((groups.len(), conditions(&cluster)), (1, 1), "Scheduled");
    cluster.apply(old());
    assert_eq!(conditions(&cluster), 1);
    // The newest has arrived: from now on the watch is believed.
    let newest = cluster.engine.state().job(groups[0]).status.clone();
    cluster.engine.status_written("ns", "g", &newest);
    cluster.apply(old());
    assert_eq!(conditions(&cluster), 0);
}

/// What becomes of the Bindings of two pods, one CPU each, on a node of two, after a change.
fn outdated(change: Delta) -> Vec<String> {
    let mut cluster = gang_of_two();
    assert_eq!(binds(&mut cluster, 0), 2);
    assert!(!cluster.engine.has_suspects());
    cluster.apply(change);
    let found = cluster.engine.outdated();
    for uid in ["p0", "p1"] {
        let known = cluster.engine.state().population().task_by_uid(uid);
        let kept = known.is_none() || status(&cluster, uid) == TaskStatus::Binding;
        assert!(kept, "a place is not given back before it is certain");
    }
    found
        .into_iter()
        .map(|one| format!("{}: {}", one.uid, one.why))
        .collect()
}

fn changed(change: impl FnOnce(&mut NodeObject)) -> Delta {
    let mut object = node("n1", "2c 8Gi pods=9");
    change(&mut object);
    object.delta()
}

#[test]
fn a_binding_on_its_way_is_outdated_once_its_node_would_not_be_chosen_any_more() {
    let both = |why: &str| vec![format!("p0: {why}"), format!("p1: {why}")];
    let gone = Delta::NodeDelete("n1".to_owned());
    assert_eq!(outdated(gone), both("the node is gone"));
    let cordoned = changed(|node| node.unschedulable = true);
    assert_eq!(outdated(cordoned), both("node(s) were unschedulable"));
    let nothing = changed(|node| node.labels.push(("x".to_owned(), "y".to_owned())));
    assert_eq!(outdated(nothing), Vec::<String>::new());
    let pod_gone = Delta::PodDelete("p1".to_owned());
    assert_eq!(outdated(pod_gone), ["p1: the pod is gone"]);
}

#[test]
fn of_the_bindings_to_a_node_that_shrank_only_as_many_are_outdated_as_do_not_fit() {
    let smaller = changed(|node| node.allocatable = amounts("1c 8Gi pods=9"));
    assert_eq!(outdated(smaller), ["p0: the node has less cpu than it had"]);
    let foreign = pod("foreign", "2c").on("n1").ours(false);
    let wanted = ["p0", "p1"].map(|pod| format!("{pod}: the node has less cpu than it had"));
    assert_eq!(outdated(foreign.delta()), wanted);
}
