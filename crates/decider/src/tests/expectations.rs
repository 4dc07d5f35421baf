//! Where a pod will be whose Binding waits.

use pumice_engine::BindWait;

use super::*;

fn named() -> PodRef {
    PodRef {
        namespace: "ns".to_owned(),
        name: "a".to_owned(),
        uid: "a".to_owned(),
    }
}

/// A pod whose Binding to `n1` waits for a lock, and what is said of that.
fn waiting() -> (Bench, Vec<Write>) {
    let mut bench = Bench::new([queue(), node("n1", 1000), gang(1), member("a").delta()]);
    bench.at(1);
    let waits = BindWait::Lock { most_s: 60 };
    bench.decider.set_bind_waits(vec![("a".to_owned(), waits)]);
    bench.at(2);
    let told = bench.at(5);
    (bench, told)
}

fn taken_back(writes: &[Write]) -> bool {
    let none = Write::Nominate {
        pod: named(),
        node: None,
    };
    writes.contains(&none)
}

#[test]
fn a_binding_that_waits_names_the_node_to_be() {
    let (mut bench, told) = waiting();
    let names = |write: &Write| matches!(write, Write::BindWaits { node, .. } if node == "n1");
    assert!(told.iter().any(names), "{told:?}");
    bench.hears(Outcome::Bound {
        pod: named(),
        node: "n1".to_owned(),
        claims: Vec::new(),
    });
    assert!(!taken_back(&bench.at(6)), "it is there");
}

#[test]
fn a_binding_that_waited_in_vain_takes_the_node_back() {
    let failures = [
        (BindFailure::GaveUp, true),
        (BindFailure::Outdated, true),
        (BindFailure::PodGone, false),
    ];
    for (failure, expected) in failures {
        let (mut bench, _) = waiting();
        // The object says so by now.
        bench.apply(member("a").nominated_node("n1").delta());
        bench.hears(Outcome::BindFailed {
            pod: named(),
            node: "n1".to_owned(),
            failure: failure.clone(),
            message: "m".to_owned(),
        });
        assert_eq!(taken_back(&bench.written()), expected, "{failure:?}");
        let engine = bench.decider.engine();
        let task = engine.state().population().task_by_uid("a").expect("a pod");
        // What the object still says is not believed.
        let believed = expected && engine.known().nominated_node(task).is_some();
        assert!(!believed, "{failure:?}");
    }
}
