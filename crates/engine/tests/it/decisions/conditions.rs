//! What the status of a PodGroup says.

use pumice_model::object::{
    GroupPhase, GroupStatus, HighestTier, PodPhase, QueueState, TopologyRequest,
};

use super::cluster::*;

#[test]
fn a_group_without_minimum_and_without_pods_is_not_completed() {
    // Admitted, and refused for want of 40 cores.
    for (cores, phase) in [("1c", GroupPhase::Inqueue), ("40c", GroupPhase::Pending)] {
        let min_resources = Some(amounts(cores));
        let empty = group("g", 0).waiting().min_resources(min_resources);
        let mut cluster = Cluster::new().with(node("n1", "4c 8Gi pods=9")).with(empty);
        cluster.cycle();
        assert_eq!(cluster.phase("g"), phase, "{cores}");
    }
    let ended = pod("p", "1c").on("n1").phase(PodPhase::Succeeded);
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(group("g", 0))
        .with(ended.group("g"));
    cluster.cycle();
    assert_eq!(cluster.phase("g"), GroupPhase::Completed);
}

#[test]
fn a_group_that_cannot_be_admitted_has_a_phase_and_says_why_in_the_first_cycle() {
    let blank = group("g", 2)
        .status(GroupStatus {
            is_blank: true,
            ..GroupStatus::default()
        })
        .min_resources("2c");
    let of = |queue: &str| blank.clone().queue(queue);
    let too_large = blank.clone().min_resources("6c");
    let topology = blank
        .clone()
        .topology(Some(TopologyRequest::Hard(HighestTier::Missing)));
    for (group, reason, says) in [
        (too_large, "NotEnoughResources", "does not admit ns/g"),
        (of("small"), "NotEnoughResources", "capability 1"),
        (of("shut"), "NotEnoughResources", "queue shut is Closed"),
        (of("absent"), "QueueNotFound", "not found"),
        (topology, "NotEnoughResources", "network topology"),
    ] {
        for has_pods in [false, true] {
            let mut cluster = Cluster::new()
                .with(node("n1", "4c 8Gi pods=9"))
                .with(queue("small").capability("1c"))
                .with(queue("shut").state(QueueState::Closed))
                .with(group.clone());
            if has_pods {
                cluster = cluster.with(pod("p0", "1c").group("g"));
                cluster = cluster.with(pod("p1", "1c").group("g"));
            }
            assert_eq!(cluster.decide().groups.len(), 1, "{says}: it is written");
            assert_eq!(cluster.phase("g"), GroupPhase::Pending);
            let told = cluster.condition("g", "Unschedulable").expect(says);
            assert_eq!((told.status.as_str(), &*told.reason), ("True", reason));
            assert!(told.message.contains(says), "{}", told.message);
        }
    }
}

#[test]
fn an_unschedulable_condition_turns_false_when_the_group_is_scheduled() {
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("p0", "1c").group("g"))
        .with(pod("p1", "1c").group("g"));
    assert_eq!(cluster.cycle().len(), 0);
    let status = |cluster: &Cluster, kind| cluster.condition("g", kind).map(|found| found.status);
    assert_eq!(status(&cluster, "Unschedulable").as_deref(), Some("True"));
    assert_eq!(status(&cluster, "Scheduled"), None);
    cluster = cluster.with(node("n2", "1c 8Gi pods=9"));
    assert_eq!(cluster.cycle().len(), 2);
    assert_eq!(status(&cluster, "Unschedulable").as_deref(), Some("False"));
    assert_eq!(status(&cluster, "Scheduled").as_deref(), Some("True"));
    // Nothing of what was in the way is left.
    let cleared = cluster.condition("g", "Unschedulable").expect("it stays");
    assert_eq!(cleared.reason, "tasks in gang are ready to be scheduled");
    assert_eq!(cleared.message, "");
}

#[test]
fn a_group_that_can_never_be_ready_says_what_it_lacks() {
    let roles = |minima: &[(&str, i32)]| {
        minima
            .iter()
            .map(|(role, min)| ((*role).to_owned(), *min))
            .collect::<Vec<_>>()
    };
    let cases = [
        (
            3,
            roles(&[]),
            "NotEnoughTasks",
            "Not enough valid tasks for gang-scheduling, valid: 2",
        ),
        (
            2,
            roles(&[("ps", 1)]),
            "NotEnoughPodsOfTask",
            "Not enough valid pods of each task",
        ),
    ];
    for (min_member, min_task_member, reason, message) in cases {
        let gang = group("g", min_member).min_task_member(min_task_member);
        let mut cluster = Cluster::new()
            .with(node("n1", "4c 8Gi pods=9"))
            .with(gang)
            .with(pod("p0", "1c").group("g"))
            .with(pod("p1", "1c").group("g"));
        assert_eq!(cluster.cycle().len(), 0);
        let found = cluster
            .condition("g", "Unschedulable")
            .expect("a condition");
        assert_eq!(
            (found.status.as_str(), found.reason.as_str()),
            ("True", reason)
        );
        assert!(found.message.starts_with(message), "{}", found.message);
    }
}

#[test]
fn the_message_names_the_first_task_that_failed_and_is_not_written_again() {
    let of_role = |name: &str| pod(name, "9c").role(name);
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(group("g", 1));
    for name in ["p2", "p0", "p1"] {
        cluster = cluster.with(of_role(name).group("g"));
    }
    assert_eq!(cluster.decide().groups.len(), 1);
    let message = cluster
        .condition("g", "Unschedulable")
        .expect("a condition")
        .message;
    assert!(
        message.contains("Origin reason is p0: 0/1 nodes are unavailable"),
        "{message}"
    );
    for at in 0..5 {
        // Something else changes, so that the cycle is not skipped.
        let other = pod(&format!("x{at}"), "").on("n1").ours(false);
        cluster.apply(other);
        let decisions = cluster.decide();
        assert!(
            !decisions.skipped && decisions.groups.is_empty(),
            "change {at}"
        );
    }
}

#[test]
fn a_condition_follows_the_counts_a_minute_after_it_was_written() {
    let mut cluster = Cluster::new()
        .with(node("n1", "9c 8Gi pods=9"))
        .with(group("g", 5))
        .with(pod("p0", "1c").group("g"));
    let message = |cluster: &Cluster| {
        let told = cluster.condition("g", "Unschedulable");
        told.expect("a condition").message
    };
    cluster.engine.cycle(100);
    let first = "Not enough valid tasks for gang-scheduling, valid: 1, min: 5: make 4 more of its pods, or \
                 lower minMember";
    assert_eq!(message(&cluster), first);
    for name in ["p1", "p2", "p3"] {
        cluster.apply(pod(name, "1c").group("g"));
    }
    cluster.engine.cycle(110);
    cluster.engine.reports(110);
    cluster.engine.cycle(111);
    assert_eq!(message(&cluster), first, "only numbers differ");
    assert_eq!(
        cluster.engine.wake_at_s().map(|at_s| at_s <= 160),
        Some(true)
    );
    for now_s in 112..160 {
        assert!(cluster.engine.cycle(now_s).groups.is_empty(), "{now_s}");
        cluster.engine.reports(now_s);
    }
    let decisions = cluster.engine.cycle(160);
    assert_eq!(decisions.groups.len(), 1);
    assert!(decisions.skipped, "nothing has happened");
    assert!(message(&cluster).contains("valid: 4, min: 5: make 1 more of its pods"));
    // Its event follows.
    let events: Vec<String> = (160..240)
        .flat_map(|now_s| {
            cluster.engine.cycle(now_s);
            cluster.engine.reports(now_s).events
        })
        .map(|event| event.message)
        .collect();
    assert!(
        events.last().is_some_and(|last| last.contains("valid: 4")),
        "{events:?}"
    );
    let wake_at_s = cluster.engine.wake_at_s();
    assert!(
        wake_at_s.is_none_or(|at_s| at_s > 1000),
        "nothing is left to say soon: {wake_at_s:?}"
    );
}
