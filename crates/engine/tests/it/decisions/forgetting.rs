//! What a burst of pods leaves behind, once they have gone and nothing more comes.

use pumice_model::Delta;

use super::cluster::*;

/// Pods of a burst, each with a label and a term of its own.
const BURST: usize = 200;

/// Names, terms and label keys that are kept.
fn kept(cluster: &Cluster) -> (usize, usize, usize) {
    let kept = cluster.engine.state().footprint();
    (kept.names, kept.terms, kept.label_keys)
}

/// A burst comes, waits, and is deleted.
fn burst(cluster: &mut Cluster, now_s: i64) {
    let before = kept(cluster);
    let names = (0..BURST).map(|at| format!("burst-{at}"));
    let names: Vec<String> = names.collect();
    for name in &names {
        let mut burst = pod(name, "9c").app(name);
        burst.anti_affinity = vec![pods_of(name, HOSTNAME)];
        cluster.apply(burst);
    }
    cluster.engine.cycle(now_s);
    let during = kept(cluster);
    assert!(during.0 >= before.0 + BURST, "{during:?}");
    assert!(during.1 >= before.1 + BURST, "{during:?}");
    for name in &names {
        cluster.apply(Delta::PodDelete(name.clone()));
    }
}

#[test]
fn what_a_burst_left_behind_is_forgotten_though_nothing_comes_after_it() {
    let mut cluster = Cluster::new().with(node("n", "4c 8Gi pods=99"));
    cluster.engine.cycle(1000);
    cluster.engine.forget_unused();
    while !cluster.engine.cycle(1000).skipped {}
    let before = kept(&cluster);
    burst(&mut cluster, 1001);
    while !cluster.engine.cycle(1070).skipped {}
    assert_eq!(kept(&cluster), before);
    burst(&mut cluster, 1071);
    while !cluster.engine.cycle(1073).skipped {}
    let left = kept(&cluster);
    assert!(
        left.0 >= before.0 + BURST,
        "not soon after the last time: {left:?}"
    );
    assert!(cluster.engine.cycle(1110).is_empty());
    assert_eq!(kept(&cluster), before);
    assert!(cluster.engine.cycle(1180).skipped, "and that wakes nobody");
}
