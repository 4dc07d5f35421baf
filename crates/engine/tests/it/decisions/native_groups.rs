//! PodGroups of Kubernetes itself (spec/03 §B10).

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

#[test]
fn a_gang_of_kubernetes_itself_is_bound_whole_and_its_status_is_kept_and_not_written() {
    let cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9"));
    let mut cluster = three(cluster.with(native(3)));
    let nothing = cluster.decide();
    assert!(nothing.binds.is_empty() && nothing.groups.is_empty());
    assert!(cluster.condition(TRAIN, "Unschedulable").is_some());
    cluster.apply(node("n2", "2c 8Gi pods=9"));
    let all = cluster.decide();
    assert!(all.groups.is_empty());
    assert_eq!(cluster.accept(&all).len(), 3);
    assert!(cluster.decide().groups.is_empty());
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
    // Whatever else changes of the object, its phase is ours.
    cluster.apply(native(2));
    assert_eq!(cluster.phase(TRAIN), GroupPhase::Running);
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
