//! Who used how much is kept for whoever leads next.

use pumice_fixtures::pod;
use pumice_model::KeptTopic;

use super::*;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: gang}, {name: predicates}, \
    {name: fairshare, arguments: {fairshare.keepIn: ns/kept, fairshare.measure: cpu=1}}]}]\n";

fn bench() -> Bench {
    let mut bench = Bench::new([queue(), node("n1", 2000)]);
    let parsed = pumice_conf::parse(CONF, &pumice_engine::REGISTRY);
    let config = parsed.config.expect("a configuration");
    bench.decider.configure(&config);
    bench.decider.take_effects();
    bench
}

fn heard(topic: KeptTopic, text: &str) -> Delta {
    Delta::KeptText {
        topic,
        namespace: "ns".to_owned(),
        name: "kept".to_owned(),
        text: Some(text.to_owned()),
    }
}

fn texts(writes: &[Write]) -> Vec<String> {
    let texts = writes.iter().filter_map(|write| match write {
        Write::KeptText { topic, text, .. } => {
            assert_eq!(*topic, KeptTopic::Use);
            Some(text.clone())
        }
        _ => None,
    });
    texts.collect()
}

#[test]
fn uses_are_written_soon_then_every_ten_minutes_while_something_is_used() {
    let mut bench = bench();
    bench.apply(heard(KeptTopic::Use, ""));
    assert_eq!(texts(&bench.at(10)), [""; 0]);
    assert_eq!(texts(&bench.at(50)), [""; 0], "nothing is used");
    bench.apply(pod("p", "1c").on("n1").delta());
    let [first] = &texts(&bench.at(60))[..] else {
        panic!("a text");
    };
    assert!(first.contains("\"measure\":\"cpu=1\""), "{first}");
    bench.apply(pod("q", "500m").on("n1").delta());
    assert_eq!(texts(&bench.at(100)), [""; 0], "nobody is in a hurry");
    bench.apply(Delta::PodDelete("q".to_owned()));
    let [second] = &texts(&bench.at(700))[..] else {
        panic!("a text");
    };
    assert!(
        second.contains("{\"queue\":\"default\",\"used\":\""),
        "{second}"
    );
}

#[test]
fn a_text_of_another_topic_or_measure_is_not_taken_and_the_latter_is_told() {
    let mut bench = bench();
    bench.decider.apply(vec![heard(KeptTopic::Tasks, "{}")]);
    assert!(bench.decider.take_effects().is_empty());
    let other = "{\"format\":1,\"asOf\":1,\"measure\":\"dominant\"}";
    bench.decider.apply(vec![heard(KeptTopic::Use, other)]);
    let effects = bench.decider.take_effects();
    let [Effect::Log(line)] = &effects[..] else {
        panic!("{effects:?}");
    };
    assert_eq!(
        line.text,
        "what was used before, in ConfigMap ns/kept: it is of fairshare.measure `dominant`, and `cpu=1` is configured; the \
         pods that are there are counted, and the text is replaced"
    );
    let before = bench
        .decider
        .engine()
        .state()
        .supplies()
        .kept_before(KeptTopic::Use);
    assert_eq!(before.epoch, 0);
}
