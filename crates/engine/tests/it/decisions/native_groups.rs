//! PodGroups of Kubernetes itself (spec/03 §B10).

use pumice_engine::Decisions;
use pumice_model::object::{GroupObject, GroupPhase};

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
    assert_eq!(says(&cluster, &all), Some(vec![placed]));
    assert_eq!(cluster.accept(&all).len(), 3);
    // Pods that run are counted, which its object has no word for.
    assert!(cluster.decide().groups.is_empty());
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
    // Whatever else changes of the object, its phase is ours.
    cluster.apply(native(2));
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
}

#[test]
fn a_group_that_was_placed_says_so_for_ever_and_another_one_of_its_name_knows_nothing_of_it() {
    let cluster = Cluster::new().with(node("n1", "3c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    let all = cluster.decide();
    cluster.accept(&all);
    cluster.cycle();
    // More pods than there is room for: it waits again, and its object says that it was placed.
    cluster.apply(native(4));
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
