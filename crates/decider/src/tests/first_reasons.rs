//! How soon a pod that waits hears why.

use super::*;

/// A clock in milliseconds.
#[derive(Default)]
struct FineClock(Cell<u64>);

impl Clock for FineClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.get())
    }
}

#[test]
fn a_pod_hears_its_first_reason_within_a_second_whenever_it_comes() {
    for comes_ms in [0, 1, 250, 499, 730, 999] {
        let mut bench = Bench::new([queue(), node("n1", 500)]);
        let clock = FineClock(Cell::new(100_000));
        let mut told_ms = Vec::new();
        let mut came = false;
        while clock.0.get() < 105_000 {
            let now_ms = clock.0.get();
            if !came && now_ms >= 101_000 + comes_ms {
                came = true;
                let mut alone = member("a");
                alone.group = None;
                bench.apply(alone.delta());
            }
            bench.decider.step(&clock, &mut Unobserved);
            let told = bench
                .written()
                .into_iter()
                .filter(|write| matches!(write, Write::PodCondition { .. } | Write::Event { .. }));
            told_ms.extend(told.map(|_| now_ms));
            let next = bench.decider.next_step(clock.now());
            let next_ms = u64::try_from(next.as_millis()).expect("a time");
            let comes_at_ms = if came { u64::MAX } else { 101_000 + comes_ms };
            clock.0.set(next_ms.min(comes_at_ms).max(now_ms + 1));
        }
        let after_ms: Vec<u64> = told_ms.iter().map(|at| at - 101_000 - comes_ms).collect();
        // Its condition and its event, once.
        assert_eq!(after_ms.len(), 2, "{comes_ms}: {after_ms:?}");
        assert!(
            after_ms.iter().all(|after| (500..=750).contains(after)),
            "{comes_ms}: {after_ms:?}"
        );
    }
}
