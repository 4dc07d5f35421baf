//! What PodGroups of Kubernetes itself say of evictions (spec/03 §B10): whether their pods go one by one, for whom
//! nobody goes, and how important they are.

use pumice_model::object::{GroupObject, NativeTraits};

use super::cluster::*;
use super::shielded::{conf, passing, told_on};
use super::victims::{NO_WHOLE, PREEMPT, Plans, cluster, for_gangs, ranked, small};

const OLD: &str = "scheduling.k8s.io/old";

fn native(name: &str, min_member: i32, native: NativeTraits) -> GroupObject {
    GroupObject {
        is_native: true,
        native,
        ..group(name, min_member)
    }
}

/// Three nodes, each full with a pod of low priority of one group, and a pod of high priority that waits.
fn full(conf: &str, min_member: i32, goes_whole: bool) -> Cluster {
    let traits = NativeTraits {
        goes_whole,
        ..NativeTraits::default()
    };
    let all = cluster(conf).with(ranked("low", native(OLD, min_member, traits)));
    let old = |at: usize, node| pod(&format!("old{at}"), "4c").group(OLD).on(node);
    all.with(small("n1"))
        .with(small("n2"))
        .with(small("n3"))
        .with(old(1, "n1"))
        .with(old(2, "n2"))
        .with(old(3, "n3"))
        .with(ranked("high", group("new", 1)))
        .with(pod("new", "4c").group("new"))
}

#[test]
fn a_group_that_goes_as_a_whole_loses_no_single_pod() {
    for min_member in [1, 2, 3] {
        assert_eq!(
            full(PREEMPT, min_member, false).plan(),
            ["-old3", "new (n3)"]
        );
        assert_eq!(full(PREEMPT, min_member, true).plan(), [""; 0]);
    }
}

#[test]
fn where_gangs_are_taken_a_group_that_goes_as_a_whole_goes_so_whatever_it_could_spare() {
    let whole = ["-old3", "-old2", "-old1", "new (n1)"];
    for min_member in [1, 2, 3] {
        assert_eq!(full(&for_gangs(""), min_member, true).plan(), whole);
    }
    // Without that word one pod that can be spared is enough.
    assert_eq!(full(&for_gangs(""), 1, false).plan(), ["-old3", "new (n3)"]);
    assert_eq!(full(&for_gangs(NO_WHOLE), 1, true).plan(), [""; 0]);
}

#[test]
fn one_of_its_pods_that_may_not_go_keeps_all_of_them() {
    let kept = pod("old2", "4c").group(OLD).on("n2");
    let kept = kept.preemptable(pumice_model::object::PreemptableMark::No);
    let mut all = full(&for_gangs(""), 1, true).with(kept);
    assert_eq!(all.plan(), [""; 0]);
}

#[test]
fn nobody_goes_for_a_group_that_says_so_and_its_own_priority_counts_before_its_class() {
    let new = "scheduling.k8s.io/new";
    let waits = |class: &str, traits: NativeTraits| {
        let old = ranked("mid", group("old", 1));
        let all = cluster(PREEMPT).with(small("n1")).with(old);
        let all = all.with(pod("old", "4c").group("old").on("n1"));
        let wanted = native(new, 1, traits).priority_class(class);
        all.with(wanted).with(pod("new", "4c").group(new)).plan()
    };
    let traits = |never_preempts, priority| NativeTraits {
        never_preempts,
        priority,
        ..NativeTraits::default()
    };
    let plan = ["-old", "new (n1)"];
    assert_eq!(waits("high", traits(false, None)), plan);
    assert_eq!(
        waits("high", traits(true, None)),
        [""; 0],
        "its policy is Never"
    );
    assert_eq!(
        waits("high", traits(false, Some(10))),
        [""; 0],
        "it is of 10"
    );
    assert_eq!(waits("low", traits(false, Some(70))), plan, "it is of 70");
    assert_eq!(
        waits("gone", traits(false, Some(70))),
        plan,
        "its class is gone"
    );
}

#[test]
fn a_queue_that_keeps_more_than_its_share_by_such_groups_is_told_and_marks_are_passed_over_for_it()
{
    let hogged = |conf: &str| {
        let mut all = Cluster::under(conf)
            .with(node("n1", "10c 64Gi pods=30"))
            .with(queue("hog").weight(1))
            .with(queue("owed").weight(9));
        for at in 0..10 {
            let name = format!("scheduling.k8s.io/hog{at}");
            let traits = NativeTraits {
                goes_whole: true,
                ..NativeTraits::default()
            };
            all = all.with(native(&name, 0, traits).queue("hog"));
            let hog = pod(&format!("hog{at}"), "1c").group(&name);
            all = all.with(hog.on("n1"));
        }
        let owed = group("owed", 1).queue("owed");
        all.with(owed).with(pod("owed0", "2c").group("owed"))
    };
    let gone = |all: &mut Cluster| {
        let plan = all.plan();
        plan.iter().filter(|line| line.starts_with("-hog")).count()
    };
    let mut kept = hogged(&conf("reclaim", ""));
    assert_eq!(gone(&mut kept), 0);
    assert!(told_on(&kept, "hog").contains("disruptionMode all"));
    for conf in [passing("reclaim"), conf("gangreclaim", "")] {
        let mut all = hogged(&conf);
        assert_eq!(gone(&mut all), 2, "{conf}");
        assert_eq!(told_on(&all, "hog"), "");
    }
}
