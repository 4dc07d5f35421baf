//! Jobs of a queue go by a weighted sum of factors, which is told by number (spec/14).

use pumice_engine::Engine;
use pumice_engine::view::{Ask, JobFactorsView, View};
use pumice_fixtures::Dice;
use pumice_model::Delta;

use super::cluster::*;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: gang}, {name: predicates}, \
    {name: multifactor, arguments: {multifactor.age: 1000, multifactor.maxAge: 1h, multifactor.size: 500, \
    multifactor.use: 400}}, \
    {name: fairshare, enableJobOrder: false, enableQueueOrder: false, \
    arguments: {fairshare.users: said, fairshare.measure: cpu=1, fairshare.halfLife: 1h}}]}]\n";

/// A job of one pod.
fn comes(cluster: &mut Cluster, name: &str, user: &str, (created_s, cores): (i64, u64)) {
    cluster.apply(group(name, 1).user(user).created_s(created_s));
    cluster.apply(
        pod(&format!("{name}-0"), &format!("{cores}c"))
            .group(name)
            .created_s(created_s),
    );
}

fn cycle(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    cluster.accept(&decisions)
}

fn made_of(engine: &Engine, name: &str) -> Option<JobFactorsView> {
    let (namespace, name) = ("ns".to_owned(), name.to_owned());
    match engine.known().view(&Ask::Job { namespace, name }) {
        Ok(View::Job(view)) => view.made_of,
        other => unreachable!("{other:?}"),
    }
}

/// Four cores are full; a small job has waited for half an hour, and a large one for a quarter.
fn contested() -> Cluster {
    let mut cluster = Cluster::under(CONF).with(node("n1", "4c 8Gi pods=100"));
    comes(&mut cluster, "first", "ada", (0, 4));
    assert_eq!(cycle(&mut cluster, 10), ["first-0 n1"]);
    assert_eq!(cycle(&mut cluster, 1_000), [""; 0]);
    comes(&mut cluster, "small", "ada", (0, 1));
    comes(&mut cluster, "large", "bob", (900, 4));
    assert_eq!(cycle(&mut cluster, 1_800), [""; 0]);
    cluster
}

#[test]
fn the_job_with_the_larger_sum_has_the_next_place_and_everybody_is_told_why() {
    let mut cluster = contested();
    let told = |name| made_of(&cluster.engine, name).map(|made_of| made_of.to_string());
    let expected = "725 = 500 age (1000 × 0.500) + 125 size (500 × 0.250) + 100 use (400 × 0.250)";
    assert_eq!(told("small").as_deref(), Some(expected));
    let expected = "1150 = 250 age (1000 × 0.250) + 500 size (500 × 1.000) + 400 use (400 × 1.000)";
    assert_eq!(told("large").as_deref(), Some(expected));
    let Ok(View::Queues(view)) = cluster.engine.known().view(&Ask::Queues) else {
        unreachable!("a view of queues");
    };
    let rows = view.factors.expect("a plugin orders by factors").jobs;
    let rows = rows.iter().map(|row| (row.position, row.job.as_str()));
    assert_eq!(rows.collect::<Vec<_>>(), [(1, "ns/large"), (2, "ns/small")]);
    cluster.engine.apply(Delta::PodDelete("first-0".to_owned()));
    assert_eq!(cycle(&mut cluster, 1_801), ["large-0 n1"]);
}

/// Pods come, run and end; cores are short, and jobs get as old as counts. What is decided under sleep is what trying
/// everybody decides.
#[test]
fn jobs_that_sleep_get_what_they_would_get_if_all_were_tried() {
    for seed in 0..30 {
        let mut dice = Dice(seed);
        let start = || Cluster::under(CONF).with(node("n1", "6c 8Gi pods=99"));
        let (mut asleep, mut awake) = (start(), start());
        asleep.engine.set_full_check_interval_s(Some(i64::MAX));
        awake.engine.set_full_check_interval_s(None);
        let (mut now_s, mut bound, mut due) = (10, 0, 0);
        for step in 0..60 {
            now_s += 1 + dice.below(400) as i64;
            let created_s = now_s - dice.below(2_000) as i64;
            let (name, cores) = (format!("j{step}"), 1 + dice.below(4));
            let user = ["ada", "bob", "eve", ""][dice.below(4) as usize];
            let ends = dice.below(3) == 0;
            for cluster in [&mut asleep, &mut awake] {
                comes(cluster, &name, user, (created_s, cores));
                if ends {
                    cluster.first_bound_ends();
                }
            }
            let [one, all] = [&mut asleep, &mut awake].map(|cluster| cycle(cluster, now_s));
            assert_eq!(one, all, "seed {seed}, step {step}");
            bound += one.len();
            due += usize::from(asleep.engine.plugins_wake_at_s().is_some());
        }
        assert!(bound > 10 && due > 10, "{bound} {due}");
    }
}
