//! Resources that pods ask for and nobody offers: any name may be written, so such names cost nobody anything, and
//! they count as soon as somebody offers them.

use super::cluster::*;

#[test]
fn names_that_nobody_offers_are_no_dimensions() {
    let mut cluster = Cluster::new().with(node("n", "4c 8Gi pods=99"));
    cluster.cycle();
    let before = cluster.engine.state().resources().len();
    let strange = |at: usize| {
        let names = (0..100).map(|name| format!("a.b/r{}=1", at * 100 + name));
        let request: Vec<String> = names.collect();
        pod(&format!("bomb-{at}"), &request.join(" "))
    };
    cluster = (0..100).fold(cluster, |cluster, at| cluster.with(strange(at)));
    // On its node, as whoever may write spec.nodeName can have it.
    let there = pod("there", "c.d/x=1 c.d/y=2").on("n");
    let cluster = cluster
        .with(there)
        .with(group("g", 1).waiting().min_resources("e.f/g=1"));
    let mut cluster = cluster.with(pod("plain", "1c"));
    assert_eq!(cluster.cycle(), ["plain n"]);
    assert_eq!(cluster.engine.state().resources().len(), before);
}

#[test]
fn what_is_offered_later_counts_for_those_who_asked_before() {
    let mut cluster = Cluster::new()
        .with(node("n", "4c 8Gi pods=99"))
        .with(pod("runs", "x.example/gpu=3").on("n"))
        .with(pod("large", "x.example/gpu=2 a.b/unknown=1"))
        .with(pod("two", "x.example/gpu=2"))
        .with(pod("one", "x.example/gpu=1"));
    assert!(cluster.cycle().is_empty());
    let (_, message) = cluster.why("one");
    assert!(message.contains("it asks 1 x.example/gpu,"), "{message}");
    let (_, message) = cluster.why("large");
    assert!(message.contains("it asks 1 a.b/unknown"), "{message}");
    assert!(message.contains("it asks 2 x.example/gpu"), "{message}");

    let mut cluster = cluster.with(node("n", "4c 8Gi pods=99 x.example/gpu=4"));
    assert_eq!(cluster.cycle(), ["one n"]);
    let (_, message) = cluster.why("two");
    assert!(message.contains("4 in all, 3 used"), "{message}");
    let (_, message) = cluster.why("large");
    assert!(message.contains("it asks 1 a.b/unknown,"), "{message}");
    assert!(!message.contains("it asks 2 x.example/gpu"), "{message}");
}
