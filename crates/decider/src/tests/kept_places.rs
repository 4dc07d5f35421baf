//! Places that are promised to jobs are kept for whoever leads next.

use pumice_engine::view::{Ask, PlannedStart, Time, View};
use pumice_fixtures::{BuildPod as _, pod};
use pumice_model::KeptTopic;
use pumice_model::run_time::RUN_TIME_LIMIT;

use super::*;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: gang}, {name: predicates}, {name: reservation, arguments: \
    {reservation.jobs: 5, reservation.keepIn: ns/kept, reservation.slack: 0s}}]}]\n";

/// Two nodes, on each of which a pod runs that ends at some time, and a gang that waits for both.
fn bench() -> Bench {
    let mut bench = Bench::new([queue(), node("n1", 2000), node("n2", 2000)]);
    let parsed = pumice_conf::parse(CONF, &pumice_engine::REGISTRY);
    let config = parsed.config.expect("a configuration");
    bench.decider.configure(&config);
    for (name, node, limit) in [("a", "n1", "500s"), ("b", "n2", "900s")] {
        let mut runs = pod(name, "2c").on(node);
        runs.annotations = vec![(RUN_TIME_LIMIT.to_owned(), limit.to_owned())];
        runs.scheduled_s = Some(0);
        bench.apply(runs.delta());
    }
    bench.apply(gang(2));
    for name in ["g1", "g2"] {
        let waits = PodObject {
            request: pod(name, "2c").request,
            ..member(name)
        };
        bench.apply(waits.delta());
    }
    bench.decider.take_effects();
    bench
}

fn heard(text: &str) -> Delta {
    Delta::KeptText {
        topic: KeptTopic::Places,
        namespace: "ns".to_owned(),
        name: "kept".to_owned(),
        text: Some(text.to_owned()),
    }
}

fn texts(writes: &[Write]) -> Vec<String> {
    let texts = writes.iter().filter_map(|write| match write {
        Write::KeptText { text, .. } => Some(text.clone()),
        _ => None,
    });
    texts.collect()
}

fn planned(bench: &Bench) -> Option<PlannedStart> {
    let ask = Ask::Job {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
    };
    match bench.decider.engine().known().view(&ask) {
        Ok(View::Job(job)) => job.planned,
        other => panic!("{other:?}"),
    }
}

/// What a process wrote that promised something at 10.
fn kept_text() -> String {
    let mut bench = bench();
    bench.apply(heard(""));
    assert_eq!(texts(&bench.at(10)), [""; 0]);
    let [text] = &texts(&bench.at(45))[..] else {
        panic!("a text");
    };
    assert_eq!(texts(&bench.at(300)), [""; 0], "nothing has changed");
    text.clone()
}

#[test]
fn a_promise_is_that_of_the_process_before() {
    let text = kept_text();
    let mut next = bench();
    next.apply(heard(&text));
    next.at(200);
    let planned = planned(&next).expect("a promise");
    assert_eq!(planned.at, Time::of(900));
    assert_eq!(planned.since, Time::of(10));
    assert_eq!(planned.nodes, ["n1", "n2"]);
    // Without the text it is planned anew.
    let mut anew = bench();
    anew.at(200);
    let planned = self::planned(&anew).expect("a promise");
    assert_eq!(planned.since, Time::of(200));
}

#[test]
fn what_does_not_hold_any_more_is_planned_anew_and_nonsense_is_told() {
    let text = kept_text();
    let mut next = bench();
    next.apply(heard(&text));
    next.apply(Delta::PodDelete("b".to_owned()));
    next.at(200);
    // It may start sooner: that is looked for at once.
    assert_eq!(planned(&next).and_then(|planned| planned.at), Time::of(500));
    let mut gone = bench();
    gone.apply(heard(&text));
    gone.apply(Delta::NodeDelete("n2".to_owned()));
    gone.at(200);
    assert_eq!(planned(&gone), None, "there is no room for both");
    let mut odd = bench();
    odd.decider.apply(vec![heard("places, please")]);
    let effects = odd.decider.take_effects();
    let [Effect::Log(line)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        line.text,
        "places kept before, in ConfigMap ns/kept: the first line does not say its format: expected value at line 1 column 1; \
         they are planned anew, and the text is replaced"
    );
    odd.at(200);
    assert!(planned(&odd).is_some());
}
