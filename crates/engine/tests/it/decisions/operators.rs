//! PodGroups as other operators treat them: made after their pods, replaced, emptied, made larger,
//! deleted under their pods, made anew under the same name.

use pumice_model::Delta;
use pumice_model::object::{GroupObject, GroupPhase, GroupStatus, PodObject, PodPhase};

use super::cluster::*;

fn applied(pod: PodObject) -> Delta {
    pod.delta()
}

/// A PodGroup as its operator made it, not admitted yet.
fn fresh(min_member: i32, min_resources: &str) -> GroupObject {
    group("g", min_member)
        .waiting()
        .min_resources((!min_resources.is_empty()).then(|| amounts(min_resources)))
}

/// The PodGroup with the phase it was given last, as a patch of its other fields leaves it.
fn kept(cluster: &Cluster, group: GroupObject) -> Delta {
    group
        .status(GroupStatus {
            phase: cluster.phase("g"),
            ..GroupStatus::default()
        })
        .delta()
}

fn of_g(name: &str, request: &str) -> PodObject {
    pod(name, request).replaced().group("g")
}

/// All that happens until nothing more does.
fn settle(cluster: &mut Cluster) -> Vec<String> {
    let mut lines = Vec::new();
    for _ in 0..4 {
        lines.extend(cluster.cycle());
    }
    lines
}

fn four_cores() -> Cluster {
    Cluster::new().with(node("n1", "4c 8Gi pods=20"))
}

#[test]
fn a_pod_that_comes_before_its_podgroup_waits_for_it_and_says_so() {
    let mut cluster = four_cores().with(of_g("driver", "1c"));
    assert_eq!(settle(&mut cluster), [""; 0]);
    let (reason, message) = cluster.why("driver");
    assert_eq!(reason, "GangIncomplete");
    assert!(message.starts_with("PodGroup ns/g not found"), "{message}");
    cluster.apply(fresh(1, "3c"));
    assert_eq!(settle(&mut cluster), ["driver n1"]);
}

#[test]
fn pods_of_a_gang_come_in_any_order_around_their_podgroup() {
    for at in 0..=3 {
        let mut steps: Vec<Delta> = ["a", "b", "c"].map(|name| applied(of_g(name, "1c"))).into();
        steps.insert(at, fresh(3, "3c").delta());
        let mut cluster = four_cores();
        let last = steps.pop().expect("four steps");
        for step in steps {
            cluster.apply(step);
            assert_eq!(settle(&mut cluster), [""; 0], "PodGroup at {at}");
        }
        cluster.apply(last);
        assert_eq!(settle(&mut cluster).len(), 3, "PodGroup at {at}");
    }
}

#[test]
fn a_podgroup_without_min_member_holds_no_pod_back() {
    let mut cluster = four_cores()
        .with(fresh(0, ""))
        .with(of_g("driver", "1c"))
        .with(of_g("exec-1", "9c"));
    assert_eq!(settle(&mut cluster), ["driver n1"]);
    assert_eq!(cluster.phase("g"), GroupPhase::Running);
}

#[test]
fn a_podgroup_replaced_without_its_status_is_admitted_again_and_nothing_is_lost() {
    // Before its driver is bound, and after: the place of three CPUs is not asked for twice.
    for bound_first in [false, true] {
        let mut cluster = four_cores().with(fresh(1, "3c"));
        settle(&mut cluster);
        assert_eq!(cluster.phase("g"), GroupPhase::Inqueue);
        let mut binds = Vec::new();
        cluster.apply(applied(of_g("driver", "1c")));
        if bound_first {
            binds.extend(settle(&mut cluster));
        }
        cluster.apply(fresh(1, "3c"));
        binds.extend(settle(&mut cluster));
        for name in ["exec-1", "exec-2"] {
            cluster.apply(applied(of_g(name, "1c")));
        }
        binds.extend(settle(&mut cluster));
        assert_eq!(binds, ["driver n1", "exec-1 n1", "exec-2 n1"]);
        assert_eq!(cluster.phase("g"), GroupPhase::Running);
    }
}

#[test]
fn what_an_operator_gives_back_when_its_job_has_ended_is_free_for_others() {
    let mut cluster = four_cores()
        .with(fresh(2, "4c"))
        .with(of_g("head", "2c"))
        .with(of_g("worker", "2c"));
    assert_eq!(settle(&mut cluster).len(), 2);
    for name in ["head", "worker"] {
        cluster.apply(applied(of_g(name, "2c").on("n1")));
    }
    settle(&mut cluster);
    for name in ["head", "worker"] {
        cluster.apply(Delta::PodDelete(name.to_owned()));
    }
    settle(&mut cluster);
    // It is still to be a gang, as far as anybody can tell.
    cluster.apply(fresh(1, "4c").name("next").uid("next"));
    cluster.apply(applied(pod("p", "4c").group("next")));
    assert_eq!(settle(&mut cluster), [""; 0]);
    assert_eq!(cluster.phase("g"), GroupPhase::Inqueue);
    // As the PodGroup of a RayJob whose cluster is gone: no member, no resources.
    let emptied = fresh(0, "");
    cluster.apply(kept(&cluster, emptied));
    assert_eq!(settle(&mut cluster), ["p n1"]);
}

#[test]
fn a_gang_that_runs_and_is_made_larger_keeps_its_pods_and_adds_the_new_ones_together() {
    let mut cluster = four_cores();
    cluster.engine.set_partial_gang_deadline(300);
    cluster.apply(fresh(2, "2c"));
    for name in ["head", "w1"] {
        cluster.apply(applied(of_g(name, "1c")));
    }
    assert_eq!(settle(&mut cluster), ["head n1", "w1 n1"]);
    for name in ["head", "w1"] {
        cluster.apply(applied(of_g(name, "1c").on("n1")));
    }
    settle(&mut cluster);
    // Three workers more, and room for two of them.
    let larger = fresh(5, "5c");
    cluster.apply(kept(&cluster, larger));
    for name in ["w2", "w3", "w4"] {
        cluster.apply(applied(of_g(name, "1c")));
    }
    assert_eq!(settle(&mut cluster), [""; 0]);
    let why = ["w2", "w3", "w4"].map(|name| cluster.why(name).1);
    let says = |part: &str| why.iter().filter(|text| text.contains(part)).count();
    assert_eq!(
        (
            says("once minAvailable is satisfied"),
            says("the cluster is full: cpu")
        ),
        (2, 1),
        "{why:?}"
    );
    assert_eq!(
        cluster.engine.give_up_gangs(i64::MAX),
        [],
        "it ran as a whole"
    );
    cluster.apply(node("n2", "1c 8Gi pods=20"));
    assert_eq!(settle(&mut cluster).len(), 3);
}

#[test]
fn a_podgroup_deleted_under_its_pods_leaves_them_and_is_missed_by_new_ones() {
    let mut cluster = four_cores().with(fresh(1, "")).with(of_g("launcher", "1c"));
    assert_eq!(settle(&mut cluster), ["launcher n1"]);
    cluster.apply(Delta::GroupDelete("ns".to_owned(), "g".to_owned()));
    cluster.apply(applied(of_g("late", "1c")));
    assert_eq!(settle(&mut cluster), [""; 0]);
    assert!(cluster.why("late").1.starts_with("PodGroup ns/g not found"));
    // Its place is still taken.
    cluster.apply(applied(pod("other", "4c")));
    assert_eq!(settle(&mut cluster), [""; 0]);
}

#[test]
fn a_restarted_application_has_its_podgroup_anew_beside_pods_that_have_ended() {
    let mut cluster = four_cores().with(fresh(1, "3c")).with(of_g("driver", "1c"));
    assert_eq!(settle(&mut cluster), ["driver n1"]);
    cluster.apply(applied(
        of_g("driver", "1c").on("n1").phase(PodPhase::Failed),
    ));
    settle(&mut cluster);
    cluster.apply(Delta::GroupDelete("ns".to_owned(), "g".to_owned()));
    cluster.apply(fresh(1, "3c").uid("second"));
    cluster.apply(Delta::PodDelete("driver".to_owned()));
    cluster.apply(applied(of_g("driver", "1c").uid("driver-2")));
    assert_eq!(settle(&mut cluster), ["driver n1"]);
    assert_eq!(cluster.phase("g"), GroupPhase::Running);
}

#[test]
fn pods_of_another_scheduler_count_as_members_and_are_never_deleted_for_their_gang() {
    // As pods of a Kubeflow TrainJob whose runtime forgot the schedulerName.
    let foreign = |pod: PodObject| pod.ours(false);
    let mut cluster = four_cores();
    cluster.engine.set_partial_gang_deadline(300);
    cluster.apply(fresh(2, "4c"));
    cluster.engine.cycle(10);
    for name in ["a", "b"] {
        cluster.apply(applied(foreign(of_g(name, "2c"))));
    }
    cluster.engine.cycle(20);
    cluster.apply(applied(foreign(of_g("a", "2c").on("n1"))));
    cluster.engine.cycle(30);
    assert_eq!(cluster.engine.partial_gangs().len(), 1);
    assert_eq!(cluster.engine.give_up_gangs(i64::MAX), []);
    let told = cluster
        .condition("g", "Unschedulable")
        .expect("a condition");
    let hint =
        "make 1 more of its pods, or lower minMember; 1 of its pods has another schedulerName";
    assert!(told.message.ends_with(hint), "{}", told.message);
    cluster.apply(applied(foreign(of_g("b", "2c").on("n1"))));
    cluster.engine.cycle(40);
    assert_eq!(cluster.phase("g"), GroupPhase::Running);
}
