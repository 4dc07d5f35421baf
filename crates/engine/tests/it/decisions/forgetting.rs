//! What a burst of pods leaves behind, once they have gone and nothing more comes.

use pumice_model::Delta;

use super::cluster::*;

#[test]
fn what_a_burst_left_behind_is_forgotten_though_nothing_comes_after_it() {
    let mut cluster = Cluster::new().node(node("n", "4c 8Gi pods=99"));
    cluster.apply(Delta::PodApply(Box::new(pod("first", "9c"))));
    cluster.engine.cycle(1000);
    cluster.apply(Delta::PodDelete("first".to_owned()));
    while !cluster.engine.cycle(1000).skipped {}
    let before = cluster.engine.state().footprint();
    let names = (0..50).map(|at| format!("burst-{at}"));
    let names: Vec<String> = names.collect();
    for name in &names {
        let mut burst = app(name, 0, pod(name, "9c"));
        burst.anti_affinity = vec![pods_of(name)];
        cluster.apply(Delta::PodApply(Box::new(burst)));
    }
    cluster.engine.cycle(1001);
    let during = cluster.engine.state().footprint();
    assert!(during.names >= before.names + 50, "{during:?}");
    assert!(during.terms >= before.terms + 50, "{during:?}");
    for name in &names {
        cluster.apply(Delta::PodDelete(name.clone()));
    }
    while !cluster.engine.cycle(1003).skipped {}
    let left = cluster.engine.state().footprint();
    assert!(
        left.names >= before.names + 50,
        "not soon after the last time: {left:?}"
    );
    assert!(cluster.engine.cycle(1040).skipped);
    let after = cluster.engine.state().footprint();
    assert_eq!(
        (after.names, after.terms, after.counters, after.label_keys),
        (
            before.names,
            before.terms,
            before.counters,
            before.label_keys
        )
    );
    assert!(cluster.engine.cycle(1080).skipped, "and that wakes nobody");
}
