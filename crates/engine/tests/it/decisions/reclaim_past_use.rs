//! With `fairshare.reclaim` a queue takes from another one only once it used less for its weight (spec/13 §6).

use pumice_model::Delta;

use super::cluster::*;

fn conf(reclaim: bool) -> String {
    format!(
        "actions: \"enqueue, allocate, reclaim\"\n\
         tiers: [{{plugins: [{{name: gang}}, {{name: conformance}}, {{name: predicates}}, {{name: proportion}}, \
         {{name: fairshare, arguments: {{fairshare.measure: cpu=1, fairshare.halfLife: 1h, \
         fairshare.reclaim: {reclaim}}}}}]}}]\n"
    )
}

/// A job of some pods of one core each, of which one is enough.
fn comes(cluster: &mut Cluster, queue: &str, name: &str, pods: usize) {
    cluster.apply(group(name, 1).queue(queue));
    for at in 0..pods {
        let pod = pod(&format!("{name}-{at}"), "1c");
        cluster.apply(pod.group(name).created_s(1));
    }
}

fn cycle(cluster: &mut Cluster, now_s: i64) -> (usize, usize) {
    let decisions = cluster.engine.cycle(now_s);
    let evicted = decisions.evictions.len();
    (cluster.accept(&decisions).len(), evicted)
}

/// Two queues share four cores. `late` had all of them for an hour, and then `now` has: when `late` comes again, the first
/// moment in steps of ten minutes at which somebody goes for it.
fn first_eviction_s(reclaim: bool) -> i64 {
    let mut cluster = Cluster::under(&conf(reclaim))
        .with(queue("late"))
        .with(queue("now"))
        .with(node("n1", "4c 8Gi pods=99"));
    comes(&mut cluster, "late", "before", 4);
    assert_eq!(cycle(&mut cluster, 10), (4, 0));
    cycle(&mut cluster, 3_600);
    for at in 0..4 {
        cluster
            .engine
            .apply(Delta::PodDelete(format!("before-{at}")));
    }
    comes(&mut cluster, "now", "holds", 4);
    assert_eq!(cycle(&mut cluster, 3_610), (4, 0));
    cycle(&mut cluster, 3_620);
    comes(&mut cluster, "late", "again", 2);
    let mut times = (0..30).map(|step| 3_630 + 600 * step);
    let first = times.find(|now_s| cycle(&mut cluster, *now_s).1 > 0);
    first.expect("somebody goes in the end")
}

#[test]
fn who_had_more_lately_waits_for_what_he_deserves_and_who_had_less_does_not() {
    assert_eq!(first_eviction_s(false), 3_630);
    let first_s = first_eviction_s(true);
    // An hour fades to less than eight ninths of what the other one gets within some two thirds of an hour.
    assert!(
        (3_630 + 1_800..3_630 + 4_800).contains(&first_s),
        "{first_s}"
    );
}
