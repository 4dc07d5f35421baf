//! What is reserved for admitted jobs: what this scheduler admitted, whatever statuses say.

use pumice_model::Delta;
use pumice_model::object::{ADMITTED, GroupObject, GroupPhase};

use super::cluster::*;

const OVERCOMMIT: &str = "actions: \"enqueue, allocate, backfill\"\n\
                          tiers: [{plugins: [{name: gang}, {name: overcommit}, {name: predicates}]}]\n";

fn asking(name: &str, least: &str) -> GroupObject {
    group(name, 1).waiting().min_resources(least)
}

fn told(phase: GroupPhase, mut group: GroupObject) -> GroupObject {
    group.status.phase = phase;
    group
}

/// A node of ten cores, of which twelve may be reserved.
fn cluster() -> Cluster {
    Cluster::under(OVERCOMMIT).with(node("n", "10c 20Gi pods=99"))
}

fn phase_after_a_cycle(mut cluster: Cluster, group: &str) -> GroupPhase {
    cluster.cycle();
    cluster.phase(group)
}

#[test]
fn a_status_that_somebody_else_wrote_reserves_nothing() {
    for least in ["10c", "1000000c"] {
        let mut cluster = cluster();
        cluster.cycle();
        let forged = told(GroupPhase::Inqueue, asking("forged", least));
        let cluster = cluster.with(forged).with(asking("g", "10c"));
        assert_eq!(
            phase_after_a_cycle(cluster, "g"),
            GroupPhase::Inqueue,
            "{least}"
        );
    }
}

#[test]
fn when_a_scheduler_starts_statuses_count_as_far_as_they_could_be_true() {
    let older = |group: GroupObject| group.created_s(-1);
    for (least, expected) in [
        // It could be admitted, and is the older one.
        ("10c", GroupPhase::Pending),
        ("1000000c", GroupPhase::Inqueue),
    ] {
        let said = older(told(GroupPhase::Inqueue, asking("said", least)));
        let cluster = cluster().with(said).with(asking("g", "10c"));
        assert_eq!(phase_after_a_cycle(cluster, "g"), expected, "{least}");
    }
    // Of two that say so the cluster has one.
    let first = older(told(GroupPhase::Inqueue, asking("first", "8c")));
    let second = told(GroupPhase::Inqueue, asking("second", "8c"));
    let cluster = cluster().with(first).with(second).with(asking("g", "4c"));
    assert_eq!(phase_after_a_cycle(cluster, "g"), GroupPhase::Inqueue);
}

#[test]
fn a_minimum_that_is_raised_after_the_admission_reserves_no_more() {
    let mut cluster = cluster().with(asking("a", "2c"));
    cluster.cycle();
    assert_eq!(cluster.phase("a"), GroupPhase::Inqueue);
    let raised = told(GroupPhase::Inqueue, asking("a", "12c"));
    let cluster = cluster.with(raised).with(asking("g", "10c"));
    assert_eq!(phase_after_a_cycle(cluster, "g"), GroupPhase::Inqueue);
}

/// What the API server has of a group once the scheduler has written its status.
fn written(cluster: &Cluster, name: &str) -> GroupObject {
    let population = cluster.engine.state().population();
    let ix = population.job_by_key("ns", name).expect("the job");
    population.job(ix).group().expect("its PodGroup").clone()
}

#[test]
fn a_minimum_that_is_raised_before_the_scheduler_starts_again_reserves_no_more() {
    let least = [
        // What was admitted, what the minimum is when the scheduler starts again, and what another may have then.
        (Some("2c"), "12c", "10c", GroupPhase::Inqueue),
        (Some("2c"), "12c", "11c", GroupPhase::Pending),
        (None, "12c", "12c", GroupPhase::Inqueue),
        // Less is reserved at once.
        (Some("6c"), "1c", "11c", GroupPhase::Inqueue),
    ];
    for (admitted, later, asked, expected) in least {
        let group = match admitted {
            Some(least) => asking("a", least),
            None => group("a", 1).waiting(),
        };
        let mut first = cluster().with(group);
        first.cycle();
        let mut raised = asking("a", later);
        raised.status = written(&first, "a").status;
        assert_eq!(raised.status.phase, GroupPhase::Inqueue);
        let second = cluster()
            .with(raised.created_s(-1))
            .with(asking("g", asked));
        let phase = phase_after_a_cycle(second, "g");
        assert_eq!(phase, expected, "{admitted:?} {later} {asked}");
    }
}

#[test]
fn what_a_group_was_admitted_with_is_written_with_its_phase_and_not_again() {
    let told = |cluster: &Cluster| {
        let conditions = written(cluster, "a").status.conditions;
        let of_admission: Vec<_> = conditions
            .into_iter()
            .filter(|c| c.kind == ADMITTED)
            .collect();
        of_admission
    };
    let mut cluster = cluster().with(asking("a", "2500m 3Gi"));
    let decisions = cluster.decide();
    assert_eq!(decisions.groups.len(), 1);
    let first = told(&cluster);
    assert_eq!(first.len(), 1);
    assert_eq!(first[0].message, "cpu=2500m, memory=3Gi");

    // With another minimum nothing is to be written.
    let mut raised = asking("a", "5c");
    raised.status = written(&cluster, "a").status;
    let mut cluster = cluster.with(raised);
    assert_eq!(cluster.decide().groups, []);
    assert_eq!(told(&cluster), first);

    // A group that an older version has admitted is left as it is, too.
    let mut cluster = self::cluster().with(super::admissions::told(
        GroupPhase::Inqueue,
        asking("a", "2c"),
    ));
    assert_eq!(cluster.decide().groups, []);
    assert_eq!(told(&cluster), []);

    // Who waits again was admitted with nothing.
    let mut waiting = asking("a", "100c");
    waiting.status.conditions = first;
    let mut cluster = self::cluster().with(waiting);
    cluster.cycle();
    assert_eq!(cluster.phase("a"), GroupPhase::Pending);
    assert_eq!(told(&cluster), []);
}

#[test]
fn what_was_admitted_reserves_until_the_group_is_gone_or_waits_again() {
    let admitted = || {
        let mut cluster = cluster().with(asking("a", "10c"));
        cluster.cycle();
        let mut cluster = cluster.with(asking("g", "10c"));
        cluster.cycle();
        assert_eq!(cluster.phase("g"), GroupPhase::Pending);
        cluster
    };
    let gone = admitted().with(Delta::GroupDelete("ns".to_owned(), "a".to_owned()));
    assert_eq!(phase_after_a_cycle(gone, "g"), GroupPhase::Inqueue);

    // Another one of the same name whose status is made up.
    let another = told(GroupPhase::Inqueue, asking("a", "10c")).uid("another");
    assert_eq!(
        phase_after_a_cycle(admitted().with(another), "g"),
        GroupPhase::Inqueue
    );
}

#[test]
fn a_dump_tells_what_was_admitted() {
    let mut cluster = cluster().with(asking("a", "10c"));
    cluster.cycle();
    let forged = told(GroupPhase::Inqueue, asking("forged", "10c"));
    cluster = cluster.with(forged).with(asking("g", "10c"));
    cluster.cycle();
    let mut restored = Cluster::under(OVERCOMMIT);
    for delta in cluster.engine.state().dump() {
        restored.apply(delta);
    }
    let restored = restored.with(Delta::GroupDelete("ns".to_owned(), "a".to_owned()));
    assert_eq!(phase_after_a_cycle(restored, "g"), GroupPhase::Inqueue);
}
