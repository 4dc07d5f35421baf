//! Selectors of devices that take long hold up nobody but those who wrote them, counted in cycles.

use pumice_model::object::ResourceClaimObject;

use super::claims::{claim, cluster, on_node, owning, told};
use super::cluster::*;

/// A thousand rounds; which of several such expressions it is makes another text of it.
fn costly(which: usize) -> String {
    let ten = "[0,1,2,3,4,5,6,7,8,9]";
    format!("{ten}.all(a, {ten}.all(b, {ten}.all(c, a + b + c + {which} >= 0)))")
}

fn selecting(namespace: &str, name: &str, selectors: Vec<String>) -> ResourceClaimObject {
    let mut claim = claim(name, name, 1);
    claim.namespace = namespace.to_owned();
    claim.spec.requests[0].choices[0].selectors = selectors;
    claim
}

/// Eight devices on each of eight nodes more, and a claim with three selectors that take long for each, whose
/// pod came first.
fn bombed() -> Cluster {
    let mut cluster = cluster(&["g0"]);
    cluster.engine.limit_work(Some(100_000));
    for at in 0..8 {
        let name = format!("m{at}");
        let devices: Vec<String> = (0..8).map(|at| format!("d{at}")).collect();
        let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
        cluster = cluster
            .with(node(&name, "8c 16Gi pods=9"))
            .with(on_node(&name, &devices));
    }
    let mut bomb = owning(pod("bomb", "1c"));
    bomb.namespace = "attacker".to_owned();
    let selectors = (0..3).map(costly).collect();
    cluster
        .with(told(selecting("attacker", "bomb", selectors)))
        .with(bomb)
}

#[test]
fn pods_with_and_without_claims_are_bound_before_the_selectors_of_another_are_evaluated() {
    let short = "device.driver == \"gpu.example.com\"".to_owned();
    let mut cluster = bombed()
        .with(pod("plain", "1c"))
        .with(told(selecting("ns", "p", vec![short])))
        .with(owning(pod("p", "1c")));
    let mut bound_after = Vec::new();
    let mut cycles = 0;
    loop {
        let decisions = cluster.decide();
        for line in cluster.accept(&decisions) {
            let name = line.split(' ').next().unwrap_or_default().to_owned();
            bound_after.push((name, cycles));
        }
        cycles += 1;
        assert!(cycles < 1_000, "{bound_after:?}");
        if decisions.settled {
            break;
        }
        if cycles == 1 {
            let (_, message) = cluster.why("bomb");
            assert!(
                message.contains("device selectors of its claims are still being evaluated"),
                "{message}"
            );
        }
    }
    let after = |name: &str| bound_after.iter().find(|(bound, _)| bound == name);
    let after = |name: &str| after(name).map(|(_, cycles)| *cycles);
    assert_eq!(after("plain"), Some(0), "{bound_after:?}");
    assert!(
        after("p").is_some_and(|cycles| cycles <= 2),
        "{bound_after:?}"
    );
    // It is resumed, not begun anew.
    assert!(
        after("bomb").is_some_and(|cycles| cycles > 10),
        "{bound_after:?}"
    );
}

#[test]
fn a_device_that_changes_is_asked_for_again_before_its_pods_are_tried() {
    let mut cluster = bombed();
    while !cluster.decide().settled {}
    let gone = claim("bomb", "bomb", 1);
    let selectors = vec![costly(0), "device.driver == \"x\"".to_owned()];
    let mut other = selecting("ns", "p", selectors);
    other.spec.requests[0].choices[0].count = gone.spec.requests[0].choices[0].count;
    let mut cluster = cluster.with(told(other)).with(owning(pod("p", "1c")));
    while !cluster.decide().settled {}
    let (_, before) = cluster.why("p");
    assert!(before.contains("selector false"), "{before}");
    // All devices of a node are others.
    let mut cluster = cluster.with(on_node("m0", &["e0", "e1", "e2", "e3"]));
    while !cluster.decide().settled {}
    let (_, after) = cluster.why("p");
    assert!(after.contains("selector false"), "{after}");
    assert!(after.contains("m0/e0"), "{after}");
}

#[test]
fn selectors_of_more_bytes_than_a_claim_may_have_are_refused() {
    let long = format!("device.driver == \"{}\"", "x".repeat(9_000));
    let mut cluster = cluster(&["g0"])
        .with(told(selecting("ns", "p", vec![long; 8])))
        .with(owning(pod("p", "1c")))
        .with(pod("plain", "1c"));
    assert_eq!(cluster.cycle(), ["plain n1"]);
    let (_, message) = cluster.why("p");
    assert!(
        message.contains("its selectors have 72152 bytes in all, more than 65536"),
        "{message}"
    );
}

/// Texts of several namespaces that are more than is kept compiled.
#[test]
fn long_selectors_of_several_namespaces_come_to_an_end_beside_each_other() {
    let mut cluster = cluster(&["g0"]);
    cluster.engine.limit_work(Some(100_000));
    let long = |which: usize| format!("device.driver != \"none-{which}\" // {}", "x".repeat(9_000));
    for at in 0..8 {
        let namespace = format!("team-{at}");
        let name = format!("p{at}");
        let selectors = (0..7).map(|one| long(at * 10 + one)).collect();
        let mut asks = owning(pod(&name, "1c"));
        asks.namespace.clone_from(&namespace);
        cluster = cluster
            .with(told(selecting(&namespace, &name, selectors)))
            .with(asks);
    }
    let settled = (0..2_000).any(|_| {
        let decisions = cluster.decide();
        cluster.accept(&decisions);
        decisions.settled
    });
    assert!(settled);
}
