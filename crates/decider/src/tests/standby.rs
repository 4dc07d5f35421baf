//! What a replica does that waits for its turn.

use super::*;

/// Pods of a burst, each with a label of its own.
const BURST: usize = 200;

#[test]
fn a_standby_forgets_what_a_burst_left_behind_as_a_leader_does() {
    let mut bench = Bench::new([queue(), node("n1", 2000)]);
    bench.decider.set_leader(false);
    let names = |bench: &Bench| bench.decider.engine.state().footprint().names;
    bench.at(1000);
    let before = names(&bench);
    let burst = |at: usize| format!("burst-{at}");
    for at in 0..BURST {
        let mut pod = member(&burst(at));
        pod.labels = vec![("of".to_owned(), burst(at))];
        bench.apply(pod.delta());
    }
    bench.at(1001);
    assert!(names(&bench) >= before + BURST);
    for at in 0..BURST {
        bench.apply(Delta::PodDelete(burst(at)));
    }
    bench.at(1002);
    // Nothing happens any more.
    for now_s in 1003..1040 {
        bench.clock.0.set(now_s);
        bench.decider.step(&bench.clock, &mut Unobserved);
    }
    assert!(names(&bench) < before + BURST / 10, "{}", names(&bench));
}
