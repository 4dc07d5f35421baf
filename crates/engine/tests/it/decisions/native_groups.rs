//! PodGroups of Kubernetes itself (spec/03 §B10).

use pumice_engine::Decisions;
use pumice_model::Delta;
use pumice_model::object::{
    GroupCondition, GroupObject, GroupPhase, GroupStatus, HighestTier, NativeTraits, NodeObject,
    TopologyRequest,
};

use super::cluster::*;

const TRAIN: &str = "scheduling.k8s.io/train";

fn native(min_member: i32) -> GroupObject {
    GroupObject {
        is_native: true,
        ..group(TRAIN, min_member)
    }
}

fn three(cluster: Cluster) -> Cluster {
    let names = ["p0", "p1", "p2"].into_iter();
    names.fold(cluster, |cluster, name| {
        cluster.with(pod(name, "1c").group(TRAIN))
    })
}

/// What the object of the group says by now, if a cycle changed it.
fn says(cluster: &Cluster, decisions: &Decisions) -> Option<Vec<(bool, &'static str, String)>> {
    let state = cluster.engine.state();
    let job = state.population().job_by_key("ns", TRAIN).expect("a group");
    let native = state.job(job).status.native_conditions().into_iter();
    let said = native.map(|one| (one.holds, one.reason, one.message));
    decisions.groups.contains(&job).then(|| said.collect())
}

/// What is known of the group.
fn status(cluster: &Cluster) -> GroupStatus {
    let state = cluster.engine.state();
    let job = state.population().job_by_key("ns", TRAIN).expect("a group");
    state.job(job).status.clone()
}

/// An object of the group that says what was written of it.
fn as_told(cluster: &Cluster, group: GroupObject) -> GroupObject {
    let told = |one: &GroupCondition| one.status == "True";
    let mut conditions = status(cluster).conditions;
    conditions.retain(told);
    GroupObject {
        status: GroupStatus::of_native(conditions),
        ..group
    }
}

#[test]
fn a_gang_of_kubernetes_itself_is_bound_whole_and_its_status_says_why_it_waits_and_that_it_was_placed()
 {
    let cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    let nothing = cluster.decide();
    assert!(nothing.binds.is_empty());
    let told = cluster.condition(TRAIN, "Unschedulable").expect("it waits");
    let waits = (false, "Unschedulable", told.message);
    assert_eq!(says(&cluster, &nothing), Some(vec![waits]));
    cluster.apply(node("n2", "2c 8Gi pods=9"));
    let all = cluster.decide();
    let placed = (
        true,
        "Scheduled",
        "enough of its pods have nodes".to_owned(),
    );
    assert_eq!(says(&cluster, &all), None, "Bindings may fail");
    assert_eq!(cluster.accept(&all).len(), 3);
    let bound = cluster.decide();
    assert_eq!(says(&cluster, &bound), Some(vec![placed]));
    // Pods that run are counted, which its object has no word for.
    assert!(cluster.decide().groups.is_empty());
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
    // Whatever else changes of the object, what it has no word for is ours.
    let known = status(&cluster);
    assert_eq!(known.conditions.len(), 2, "one of them is told");
    cluster.apply(as_told(&cluster, native(2)));
    assert_eq!(status(&cluster), known);
}

#[test]
fn a_gang_whose_bindings_failed_in_part_does_not_say_that_it_was_placed() {
    let cluster = Cluster::new().with(node("n1", "9c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    assert_eq!(cluster.decide().binds.len(), 3);
    cluster.apply(pod("p0", "1c").group(TRAIN).on("n1"));
    for uid in ["p1", "p2"] {
        cluster.apply(Delta::BindFailed {
            uid: uid.to_owned(),
            message: "refused".to_owned(),
            at_s: 0,
        });
    }
    cluster.decide();
    assert!(!status(&cluster).says_placed());
}

#[test]
fn a_gang_that_lost_its_pods_is_not_admitted_by_a_queue_again() {
    let cluster = Cluster::new().with(node("n1", "9c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    let all = cluster.decide();
    cluster.accept(&all);
    cluster.decide();
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
    for uid in ["p0", "p1"] {
        cluster.apply(Delta::PodDelete(uid.to_owned()));
    }
    cluster.decide();
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Inqueue);
}

#[test]
fn a_write_that_lands_late_and_takes_back_that_a_group_was_placed_is_followed_by_another_one() {
    let cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    cluster.decide();
    let waits = as_told(&cluster, native(3));
    cluster.apply(node("n2", "2c 8Gi pods=9"));
    let all = cluster.decide();
    cluster.accept(&all);
    cluster.decide();
    cluster.apply(as_told(&cluster, native(3)));
    assert!(cluster.decide().groups.is_empty());
    cluster.apply(waits);
    let again = cluster.decide();
    let said = says(&cluster, &again).expect("it is written again");
    assert!(
        said.iter()
            .any(|(holds, reason, _)| *holds && *reason == "Scheduled")
    );
    assert!(cluster.decide().groups.is_empty());
}

#[test]
fn what_another_leader_has_said_of_a_group_is_taken_in() {
    let cluster = Cluster::new().with(node("n1", "3c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Inqueue);
    // It was placed and lost two of its pods before this engine decides anything.
    let placed = GroupCondition {
        kind: "Scheduled".to_owned(),
        status: "True".to_owned(),
        ..GroupCondition::default()
    };
    cluster.apply(GroupObject {
        status: GroupStatus::of_native(vec![placed]),
        ..native(3)
    });
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
    cluster.apply(node("n1", "1c 8Gi pods=9"));
    cluster.apply(pod("p0", "1c").group(TRAIN).on("n1"));
    let decisions = cluster.decide();
    assert!(decisions.binds.is_empty());
    let said = says(&cluster, &decisions);
    assert!(
        said.is_none(),
        "it says for ever that it was placed: {said:?}"
    );
}

#[test]
fn a_group_that_was_placed_says_so_for_ever_and_another_one_of_its_name_knows_nothing_of_it() {
    let cluster = Cluster::new().with(node("n1", "3c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    let all = cluster.decide();
    cluster.accept(&all);
    cluster.cycle();
    // More pods than there is room for: it waits again, and its object says that it was placed.
    cluster.apply(as_told(&cluster, native(4)));
    cluster.apply(pod("p3", "1c").group(TRAIN));
    let waits = cluster.decide();
    assert!(
        cluster
            .condition(TRAIN, "Unschedulable")
            .is_some_and(|told| told.status == "True")
    );
    assert_eq!(says(&cluster, &waits), None, "nothing new");
    let another = GroupObject {
        uid: "another".to_owned(),
        ..native(4)
    };
    cluster.apply(another);
    assert!(cluster.condition(TRAIN, "Scheduled").is_none());
}

#[test]
fn pods_whose_group_is_not_served_wait_and_say_so() {
    let mut cluster = three(Cluster::new().with(node("n1", "9c 8Gi pods=9")));
    assert!(cluster.cycle().is_empty());
    let (_, text) = cluster.why("p0");
    for part in [
        "PodGroup ns/train of scheduling.k8s.io, which spec.schedulingGroup names, not found",
        "v1beta1, v1alpha3 and v1alpha2",
    ] {
        assert!(text.contains(part), "{text}");
    }
    // One of Volcano of the same name is another one.
    cluster.apply(group("train", 1));
    assert!(cluster.cycle().is_empty());
    cluster.apply(native(3));
    assert_eq!(cluster.cycle().len(), 3);
}

#[test]
fn pods_of_a_workload_of_1_35_wait_and_are_told_what_to_name_instead() {
    let old = pod("p", "1c").group("scheduling.k8s.io/train/workers/0");
    let mut cluster = Cluster::new().with(node("n1", "9c 8Gi pods=9")).with(old);
    assert!(cluster.cycle().is_empty());
    let (_, text) = cluster.why("p");
    assert!(
        text.starts_with("train/workers/0 is named in spec.workloadRef"),
        "{text}"
    );
}

/// A node in a rack, or in none.
fn in_rack(name: &str, cores: u32, rack: &str) -> NodeObject {
    let node = node(name, &format!("{cores}c 8Gi pods=9"));
    match rack {
        "" => node,
        rack => node.labels(pairs(&[("rack", rack)])),
    }
}

/// The gang, all on nodes of one rack.
fn racked(min_member: i32) -> GroupObject {
    GroupObject {
        topology: Some(TopologyRequest::Hard(HighestTier::Label("rack".to_owned()))),
        ..native(min_member)
    }
}

#[test]
fn all_pods_of_a_group_go_to_nodes_with_one_value_of_its_label_or_none_does() {
    let cluster = Cluster::new()
        .with(in_rack("big", 9, ""))
        .with(in_rack("a1", 2, "a"))
        .with(in_rack("b1", 1, "b"))
        .with(in_rack("b2", 1, "b"));
    let mut cluster = three(cluster.with(racked(3)));
    assert!(cluster.cycle().is_empty(), "two in each rack");
    let (_, text) = cluster.why("p0");
    for part in [
        "no value of label rack has nodes for PodGroup",
        "best rack=a holds 2 of 3",
    ] {
        assert!(text.contains(part), "{text}");
    }
    cluster.apply(in_rack("b3", 1, "b"));
    assert_eq!(cluster.cycle(), ["p0 b1", "p1 b2", "p2 b3"]);
    // Another pod goes where they are, though there is room elsewhere.
    cluster.apply(pod("p3", "1c").group(TRAIN));
    assert!(cluster.cycle().is_empty());
    cluster.apply(in_rack("b4", 1, "b"));
    assert_eq!(cluster.cycle(), ["p3 b4"]);
}

#[test]
fn a_label_that_no_node_has_is_named_and_waited_for() {
    let mut cluster = three(Cluster::new().with(in_rack("n1", 9, "")).with(racked(3)));
    assert!(cluster.cycle().is_empty());
    let (_, text) = cluster.why("p0");
    assert!(
        text.contains("one value of label rack") && text.contains("which no node has"),
        "{text}"
    );
    let told = cluster
        .condition(TRAIN, "Unschedulable")
        .expect("a condition");
    assert!(told.message.contains("label rack"), "{}", told.message);
    cluster.apply(in_rack("n1", 9, "a"));
    assert_eq!(cluster.cycle().len(), 3);
}

#[test]
fn labels_of_many_groups_are_each_looked_for_and_those_of_nobody_forgotten() {
    let mut cluster = Cluster::new().with(node("n1", "9c 8Gi pods=9"));
    for at in 0..600 {
        let asks = GroupObject {
            topology: Some(TopologyRequest::Hard(HighestTier::Label(format!(
                "key{at}"
            )))),
            ..native(1)
        };
        cluster.apply(asks);
        cluster.engine.cycle(at);
    }
    cluster.apply(in_rack("n2", 9, "a"));
    cluster.apply(racked(3));
    let mut cluster = three(cluster);
    assert_eq!(cluster.cycle(), ["p0 n2", "p1 n2", "p2 n2"]);
}

#[test]
fn what_is_not_done_for_a_group_keeps_its_pods_waiting_and_is_said_on_it_and_on_them() {
    let cluster = Cluster::new().with(node("n1", "9c 8Gi pods=9"));
    let asks = GroupObject {
        native: NativeTraits {
            unserved: "its PodGroup is part of CompositePodGroup all".to_owned(),
            ..NativeTraits::default()
        },
        ..native(1)
    };
    let mut cluster = three(cluster.with(asks));
    assert!(cluster.cycle().is_empty(), "not even one of a basic group");
    let (_, text) = cluster.why("p0");
    assert!(text.contains("part of CompositePodGroup all"), "{text}");
    let told = cluster
        .condition(TRAIN, "Unschedulable")
        .expect("a condition");
    assert!(
        told.message.contains("part of CompositePodGroup all"),
        "{}",
        told.message
    );
    cluster.apply(native(1));
    assert_eq!(cluster.cycle().len(), 3);
}

#[test]
fn pods_that_name_another_group_too_are_told_on_the_group_that_counts() {
    let cluster = Cluster::new()
        .with(node("n1", "9c 8Gi pods=9"))
        .with(native(3));
    let mut cluster = three(cluster);
    let mut both = pod("p0", "1c").group(TRAIN);
    both.names_another_group = true;
    cluster.apply(both);
    cluster.cycle();
    let events = cluster.engine.reports_at_ms(0).events;
    let told = events
        .iter()
        .find(|event| event.reason == "GroupNamedTwice");
    let told = &told.expect("an event").message;
    assert!(told.contains("of pod p0 names another PodGroup"), "{told}");
}

#[test]
fn a_group_that_goes_while_its_pods_run_takes_none_of_them_away_and_others_wait_for_it() {
    let cluster = Cluster::new()
        .with(node("n1", "9c 8Gi pods=9"))
        .with(native(3));
    let mut cluster = three(cluster);
    assert_eq!(cluster.cycle().len(), 3);
    cluster.apply(Delta::GroupDelete("ns".to_owned(), TRAIN.to_owned()));
    cluster.apply(pod("p3", "1c").group(TRAIN));
    let decisions = cluster.decide();
    assert!(decisions.binds.is_empty() && decisions.evictions.is_empty());
    let (_, text) = cluster.why("p3");
    assert!(
        text.contains("PodGroup ns/train of scheduling.k8s.io"),
        "{text}"
    );
    cluster.apply(native(3));
    assert_eq!(cluster.cycle(), ["p3 n1"]);
}

#[test]
fn pods_of_a_group_that_is_gone_count_for_no_queue_until_it_is_back() {
    let own = || native(3).queue("own");
    let cluster = Cluster::new()
        .with(node("n1", "9c 8Gi pods=9"))
        .with(queue("own"))
        .with(own());
    let mut cluster = three(cluster);
    assert_eq!(cluster.cycle().len(), 3);
    let held = |cluster: &Cluster| {
        let state = cluster.engine.state();
        ["default", "own"].map(|name| {
            let queue = state.population().queue_by_name(name).expect("a queue");
            state
                .queue(queue)
                .allocated
                .get(pumice_model::resource::CPU)
        })
    };
    assert_eq!(held(&cluster), [0, 3000]);
    cluster.apply(Delta::GroupDelete("ns".to_owned(), TRAIN.to_owned()));
    assert_eq!(held(&cluster), [0, 0]);
    cluster.apply(own());
    assert_eq!(held(&cluster), [0, 3000]);
}

#[test]
fn a_minimum_above_the_pods_that_are_there_is_told_with_both_numbers() {
    let cluster = Cluster::new()
        .with(node("n1", "9c 8Gi pods=9"))
        .with(native(5));
    let mut cluster = three(cluster);
    assert!(cluster.cycle().is_empty());
    let told = cluster
        .condition(TRAIN, "Unschedulable")
        .expect("a condition");
    let remedy = "valid: 3, min: 5: make 2 more of its pods, or lower minCount";
    assert!(told.message.contains(remedy), "{}", told.message);
}

#[test]
fn a_gang_that_lost_a_pod_is_completed_before_others_also_by_a_process_that_knows_its_conditions_alone()
 {
    let mut placed = GroupStatus::default();
    placed.say_placed();
    let gang = GroupObject {
        created_s: 20,
        status: placed,
        ..native(2)
    };
    let mut cluster = Cluster::new()
        .with(node("n", "2c 8Gi pods=9"))
        .with(gang)
        .with(pod("p0", "1c").group(TRAIN).on("n"))
        .with(pod("p1", "1c").group(TRAIN))
        .with(group("older", 1))
        .with(pod("o", "1c").group("older"));
    assert_eq!(cluster.cycle(), ["p1 n"]);
}
