//! What was counted for the mix of tasks is kept for whoever leads next.

use pumice_fixtures::pod;
use pumice_model::KeptTopic;

use super::*;

const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
    tiers: [{plugins: [{name: gang}, {name: predicates}, {name: deviceshare, arguments: {deviceshare.VGPUEnable: true}}, \
    {name: fragmentation, arguments: {fragmentation.keepIn: ns/kept}}]}]\n";

fn keeping() -> Config {
    let parsed = pumice_conf::parse(CONF, &pumice_engine::REGISTRY);
    parsed.config.expect("a configuration")
}

/// A leader under a configuration that keeps what it counts.
fn bench() -> Bench {
    let mut bench = Bench::new([queue(), node("n1", 2000)]);
    bench.decider.configure(&keeping());
    let (namespace, name) = device_config_place(&keeping()).expect("cards are shared");
    bench.decider.set_device_config(namespace, name, None);
    bench.decider.take_effects();
    bench
}

fn heard(text: Option<&str>) -> Delta {
    Delta::KeptText {
        topic: KeptTopic::Tasks,
        namespace: "ns".to_owned(),
        name: "kept".to_owned(),
        text: text.map(str::to_owned),
    }
}

/// A pod that asks for cards.
fn asks(name: &str, created_s: i64) -> Delta {
    let mut pod = pod(name, "1c volcano.sh/vgpu-number=1");
    pod.facts = asks_a_gpu();
    pod.created_s(created_s).delta()
}

/// The texts that were written.
fn texts(writes: &[Write]) -> Vec<String> {
    let texts = writes.iter().filter_map(|write| match write {
        Write::KeptText {
            topic: KeptTopic::Tasks,
            namespace,
            name,
            text,
        } => {
            assert_eq!((namespace.as_str(), name.as_str()), ("ns", "kept"));
            Some(text.clone())
        }
        _ => None,
    });
    texts.collect()
}

/// So many tasks a text counts for, in whole ones, when little time has passed.
fn tasks(text: &str) -> u64 {
    let masses = text.lines().skip(1).map(|line| {
        let mass = line.trim_start_matches("{\"mass\":");
        let end = mass.find(',').expect("more follows");
        mass[..end].parse::<u64>().expect("a number")
    });
    (masses.sum::<u64>() + (1 << 19)) >> 20
}

#[test]
fn what_is_counted_is_written_soon_then_every_ten_minutes_at_most_and_only_if_somebody_came() {
    let mut bench = bench();
    bench.apply(heard(Some("")));
    bench.apply(asks("a", 1));
    assert_eq!(texts(&bench.at(10)), [""; 0], "nobody is in a hurry");
    let due = bench.decider.next_step(Duration::from_secs(10));
    assert!(due <= Duration::from_secs(40));
    assert_eq!(
        texts(&bench.at(39)),
        [""; 0],
        "the old text may be told late"
    );
    let first = texts(&bench.at(41));
    assert_eq!((first.len(), tasks(&first[0])), (1, 1));
    assert_eq!(texts(&bench.at(2_000)), [""; 0], "nobody has come since");
    bench.apply(asks("b", 2_000));
    bench.apply(asks("c", 2_001));
    let second = texts(&bench.at(2_010));
    assert_eq!((second.len(), tasks(&second[0])), (1, 3));
    bench.apply(asks("d", 2_010));
    assert_eq!(texts(&bench.at(2_020)), [""; 0]);
    assert_eq!(texts(&bench.at(2_611)).len(), 1);
}

/// What is written when a process is told to end.
fn last_texts(bench: &mut Bench) -> Vec<String> {
    bench.decider.rest();
    let effects = bench.decider.take_effects().into_iter();
    let writes = effects.filter_map(|effect| match effect {
        Effect::Write(write) => Some(write),
        _ => None,
    });
    texts(&writes.collect::<Vec<_>>())
}

#[test]
fn who_ends_in_order_writes_what_is_not_written_yet_once() {
    let mut bench = bench();
    bench.apply(heard(Some("")));
    bench.apply(asks("a", 1));
    bench.at(10);
    let last = last_texts(&mut bench);
    assert_eq!((last.len(), tasks(&last[0])), (1, 1));
    assert_eq!(last_texts(&mut bench), [""; 0], "it rests already");
}

#[test]
fn who_ends_in_order_writes_nothing_that_is_written_that_it_may_not_write_or_that_is_in_part() {
    type Prepared = fn(&mut Bench);
    let cases: [(&str, Prepared); 4] = [
        ("it is written", |bench| {
            assert_eq!(texts(&bench.at(100)).len(), 1);
        }),
        ("it does not lead", |bench| bench.decider.set_leader(false)),
        ("the ConfigMap is gone", |bench| bench.apply(heard(None))),
        ("what was counted before is not taken in", |bench| {
            let before = "{\"format\":1,\"asOf\":1,\"newest\":1}";
            bench.apply(heard(Some(before)));
        }),
    ];
    for (why, prepare) in cases {
        let mut bench = bench();
        bench.apply(heard(Some("")));
        bench.apply(asks("a", 1));
        bench.at(10);
        prepare(&mut bench);
        assert_eq!(last_texts(&mut bench), [""; 0], "{why}");
    }
}

#[test]
fn nothing_is_written_where_there_is_no_such_config_map_or_nobody_knows() {
    for told in [None, Some(heard(None))] {
        let mut bench = bench();
        if let Some(delta) = told {
            bench.apply(delta);
        }
        bench.apply(asks("a", 1));
        bench.at(10);
        assert_eq!(texts(&bench.at(5_000)), [""; 0]);
        bench.apply(heard(Some("")));
        assert_eq!(texts(&bench.at(5_010)).len(), 1);
    }
}

#[test]
fn who_comes_to_lead_goes_on_from_the_text_and_its_own_echo_changes_nothing() {
    let mut first = bench();
    first.apply(heard(Some("")));
    for at in 0..5 {
        first.apply(asks(&format!("a{at}"), 1));
    }
    first.at(10);
    let [text] = &texts(&first.at(620))[..] else {
        panic!("a text");
    };
    // The first one's pods are gone, but for one; one is new.
    let mut next = bench();
    next.decider.set_leader(false);
    next.apply(heard(Some(text)));
    next.apply(asks("a0", 1));
    next.apply(asks("b", 625));
    next.at(630);
    next.decider.set_leader(true);
    next.at(640);
    let [written] = &texts(&next.at(1_300))[..] else {
        panic!("a text");
    };
    assert_eq!(tasks(written), 6);
    // What it hears once it has written is its own, or nobody's business.
    next.apply(heard(Some(text)));
    next.apply(asks("c", 1_310));
    next.at(1_320);
    let [written] = &texts(&next.at(2_000))[..] else {
        panic!("a text");
    };
    assert_eq!(tasks(written), 7);
    // In its next term it begins with what somebody else has written meanwhile.
    next.decider.set_leader(false);
    next.apply(heard(Some(text)));
    next.decider.set_leader(true);
    next.at(2_010);
    let [written] = &texts(&next.at(2_700))[..] else {
        panic!("a text");
    };
    assert_eq!(tasks(written), 7, "five, and two that came after them");
}

#[test]
fn a_text_that_cannot_be_read_is_told_and_one_of_another_place_is_not_taken() {
    let mut bench = bench();
    bench.apply(heard(Some("nonsense")));
    let effects = bench.decider.take_effects().into_iter();
    let told: Vec<String> = effects
        .filter_map(|effect| match effect {
            Effect::Log(line) if line.level == LogLevel::Warning => Some(line.text),
            _ => None,
        })
        .collect();
    let [told] = &told[..] else {
        panic!("{told:?}");
    };
    assert!(
        told.contains("ConfigMap ns/kept") && told.contains("is replaced"),
        "{told}"
    );
    let epoch = |bench: &Bench| {
        let devices = bench.decider.engine().state().supplies().devices();
        devices.counted_epoch()
    };
    let before = epoch(&bench);
    bench.apply(Delta::KeptText {
        topic: KeptTopic::Tasks,
        namespace: "team".to_owned(),
        name: "kept".to_owned(),
        text: Some("{\"format\":1,\"asOf\":1,\"newest\":1}".to_owned()),
    });
    assert_eq!(epoch(&bench), before);
    bench.apply(heard(Some("{\"format\":1,\"asOf\":1,\"newest\":1}")));
    assert_ne!(epoch(&bench), before);
}
