//! Times sum up, and what users write costs a bounded amount.

use pumice_engine::Engine;

use super::*;
use crate::publish::tests::config;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn engine() -> Engine {
    Engine::new(&config(), "default")
}

#[test]
fn what_the_thread_did_sums_to_the_time_since_counting_began() {
    let mut times = DecidingTimes::from(ms(1000));
    let moments = [
        (1010, Activity::Changes),
        (1013, Activity::Changes),
        (1015, Activity::Steps),
        (1035, Activity::Writes),
        (1036, Activity::Waits),
        (1100, Activity::Steps),
    ];
    for (at_ms, activity) in moments {
        times.begin(activity, ms(at_ms));
    }
    let view = times.view(ms(1150), &engine(), 3);
    let sum: f64 = view.thread.iter().map(|row| row.seconds).sum();
    assert!((sum - 0.150).abs() < 1e-9, "{view:?}");
    assert_eq!(view.seconds, 0.150);
    let steps = view.thread.iter().find(|row| row.name == "steps");
    let steps = steps.map(|row| (row.count, row.last_ms, row.mean_ms, row.longest_ms));
    assert_eq!(steps, Some((2, 50.0, 35.0, 50.0)));
    assert_eq!(view.now.bindings, 3);
    times.reset(ms(2000), 0);
    let view = times.view(ms(2000), &engine(), 0);
    assert!(view.thread.iter().all(|row| row.seconds == 0.0), "{view:?}");
}

#[test]
fn work_is_told_by_namespace_and_who_makes_many_hides_nobody_who_works_much() {
    let mut times = DecidingTimes::from(ms(0));
    let decisions = Decisions::default();
    times.cycle(ms(5), &decisions, &BTreeMap::from([("busy", 1_000_000)]));
    for at in 0..10_000 {
        let name = format!("loud-{at}");
        times.cycle(ms(1), &decisions, &BTreeMap::from([(name.as_str(), 1)]));
    }
    assert!(times.namespaces.len() <= MAX_NAMESPACES + 1);
    let view = times.view(ms(100), &engine(), 0);
    assert!(view.namespaces.len() <= 50);
    assert_eq!(view.namespaces[0].namespace, "busy");
    let all: u64 = times.namespaces.values().sum();
    assert_eq!(all, 1_010_000, "none is lost");
    assert_eq!(view.cycles[0].count, 10_001);
    let text = view.to_string();
    assert!(text.contains("busy "), "{text}");
    assert!(text.contains("(others)"), "{text}");
}
