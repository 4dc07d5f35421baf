//! What outlives a configuration, a copy of the engine and a process of what tasks were seen to ask, and until when what
//! somebody wrote is believed (spec/10 §4, §6).

use pumice_engine::Engine;
use pumice_model::{Delta, KeptTopic};

use super::cluster::*;
use super::devices::{config, two_cards, vgpu};
use super::fragmentation::{asks, mix_view};
use super::fragmentation_told::{conf, map};

const THIRD: &str = "cpu=1 volcano.sh/vgpu-memory=8192 volcano.sh/vgpu-number=1";
const HALF: &str = "cpu=1 volcano.sh/vgpu-memory=12288 volcano.sh/vgpu-number=1";

/// Pods that come one after the other and are gone before the next.
fn pass(cluster: &mut Cluster, name: &str, count: usize, memory: i64) {
    for at in 0..count {
        let name = format!("{name}{at}");
        cluster.apply(vgpu(&name, memory));
        cluster.decide();
        cluster.apply(Delta::PodDelete(name));
    }
}

/// What each class asks and the percent that it counts, as soon as the mix is weighed again.
fn weights(engine: &mut Engine) -> Vec<(String, f64)> {
    // Another node is a reason to weigh.
    engine.apply(two_cards("another").delta());
    engine.cycle(0);
    let classes = mix_view(engine).classes.into_iter();
    engine.apply(Delta::NodeDelete("another".to_owned()));
    classes
        .map(|class| (class.asks, class.weight_percent))
        .collect()
}

fn halves_and_thirds() -> Cluster {
    let mut cluster = Cluster::under(&conf("fragmentation.scarcity: false")).with(two_cards("n1"));
    pass(&mut cluster, "third", 30, 8_192);
    pass(&mut cluster, "half", 10, 12_288);
    cluster
}

fn three_of_four(weights: &[(String, f64)]) {
    let asks: Vec<&str> = weights.iter().map(|(asks, _)| asks.as_str()).collect();
    assert_eq!(asks, [THIRD, HALF]);
    assert!((weights[0].1 - 75.0).abs() < 0.1, "{weights:?}");
}

#[test]
fn a_configuration_that_is_read_again_goes_on_counting_and_counts_nobody_twice() {
    let mut cluster = halves_and_thirds();
    // Somebody is there when the configuration comes.
    cluster.apply(vgpu("stays", 12_288));
    cluster.decide();
    for _ in 0..3 {
        let again = config(&conf("fragmentation.scarcity: false"));
        cluster.engine.reconfigure(&again);
        cluster.decide();
    }
    cluster.engine.reconfigure(&config(super::devices::CONF));
    cluster.decide();
    let again = config(&conf("fragmentation.scarcity: false"));
    cluster.engine.reconfigure(&again);
    let weights = weights(&mut cluster.engine);
    let thirds = 100.0 * 30.0 / 41.0;
    assert!((weights[0].1 - thirds).abs() < 0.1, "{weights:?}");
    assert_eq!(weights.len(), 2);
}

#[test]
fn a_copy_of_the_engine_knows_what_was_counted() {
    let mut cluster = halves_and_thirds();
    let copy = config(&conf("fragmentation.scarcity: false"));
    let mut woken = cluster.engine.fork().wake(&copy);
    three_of_four(&weights(&mut woken));
    // Neither sees what the other does.
    three_of_four(&weights(&mut cluster.engine));
}

/// What a process has counted, as another one hears it.
fn kept(text: &str) -> Delta {
    Delta::KeptText {
        topic: KeptTopic::Tasks,
        namespace: "volcano-system".to_owned(),
        name: "counted".to_owned(),
        text: Some(text.to_owned()),
    }
}

#[test]
fn another_process_goes_on_from_the_text_and_counts_who_came_after_it_alone() {
    let mut cluster = Cluster::under(&conf("fragmentation.scarcity: false")).with(two_cards("n1"));
    let at = |name: &str, memory: i64, created_s: i64| vgpu(name, memory).created_s(created_s);
    for number in 0..30 {
        cluster.apply(at(&format!("third{number}"), 8_192, 100));
    }
    cluster.apply(at("known", 12_288, 200));
    cluster.engine.cycle(200);
    let text = cluster.engine.known().text_to_keep(KeptTopic::Tasks);
    assert_eq!(text.lines().count(), 3);

    // The thirds are gone, one that was counted is there, and nine are new.
    let mut next = Cluster::under(&conf("fragmentation.scarcity: false")).with(two_cards("n1"));
    next.apply(at("known", 12_288, 200));
    next.apply(kept(&text));
    for number in 0..9 {
        next.apply(at(&format!("new{number}"), 12_288, 201 + number));
    }
    next.engine.cycle(210);
    three_of_four(&weights(&mut next.engine));

    // It may come late, in place of what was counted until then.
    let mut late = Cluster::under(&conf("fragmentation.scarcity: false")).with(two_cards("n1"));
    late.apply(at("known", 12_288, 200));
    for number in 0..9 {
        late.apply(at(&format!("new{number}"), 12_288, 201 + number));
        late.engine.cycle(210);
    }
    late.apply(kept(&text));
    late.engine.cycle(210);
    three_of_four(&weights(&mut late.engine));

    // Nonsense changes nothing.
    for nonsense in ["", "nonsense", "{}"] {
        late.apply(kept(nonsense));
        late.engine.cycle(210);
        three_of_four(&weights(&mut late.engine));
    }
}

#[test]
fn what_is_written_counts_until_so_many_came_that_ask_something_else() {
    let written = format!("fragmentation.mix: [\"1 {THIRD}\"]");
    let mut cluster = Cluster::under(&conf(&written)).with(two_cards("n1"));
    // As it says, and a little beside it.
    pass(&mut cluster, "third", 100, 8_192);
    pass(&mut cluster, "half", 30, 12_288);
    weights(&mut cluster.engine);
    let view = mix_view(&cluster.engine);
    assert_eq!(
        (asks(&view), view.written, view.doubt.as_deref()),
        (vec![THIRD], true, None)
    );
    pass(&mut cluster, "more", 30, 12_288);
    weights(&mut cluster.engine);
    let view = mix_view(&cluster.engine);
    assert_eq!((asks(&view).len(), view.written), (2, false));
    assert_eq!(view.from, "what tasks asked");
    let doubt = "the argument fragmentation.mix does not count: of the tasks that came lately, 160 in all, 60 are not as it \
                 says; mend it, or set fragmentation.mixStands";
    assert_eq!(view.doubt.as_deref(), Some(doubt));
    // The configuration that comes next need not be surprised again, and one that insists is obeyed.
    cluster.engine.reconfigure(&config(&conf(&written)));
    cluster.decide();
    assert!(!mix_view(&cluster.engine).written);
    let insists = format!("{written}, fragmentation.mixStands: true");
    cluster.engine.reconfigure(&config(&conf(&insists)));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert_eq!((asks(&view), view.doubt.as_deref()), (vec![THIRD], None));
}

#[test]
fn a_config_map_that_is_mended_counts_again_and_one_that_lies_does_not() {
    let place = "fragmentation.configMap: volcano-system/task-mix";
    let mut cluster = Cluster::under(&conf(place)).with(two_cards("n1"));
    cluster.apply(map(&format!("1 {THIRD}")));
    pass(&mut cluster, "half", 40, 12_288);
    weights(&mut cluster.engine);
    let view = mix_view(&cluster.engine);
    assert_eq!((asks(&view), view.written), (vec![HALF], false));
    cluster.apply(map(&format!("7 {HALF}")));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert_eq!(view.from, "ConfigMap volcano-system/task-mix");
    assert_eq!(view.doubt, None);
}

/// Somebody with `edit` in a namespace makes pods of ever other kinds: a mix that an administrator wrote and lets stand is
/// not touched, and brings no other mix, and what is kept outside has a bound.
#[test]
fn pods_of_ever_other_kinds_change_nothing_of_a_mix_that_stands_and_what_is_kept_is_bounded() {
    let written = format!("fragmentation.mixStands: true, fragmentation.mix: [\"1 {THIRD}\"]");
    let mut cluster = Cluster::under(&conf(&written)).with(two_cards("n1"));
    cluster.decide();
    let epoch = |cluster: &Cluster| cluster.engine.state().supplies().devices().mix_epoch();
    let before = epoch(&cluster);
    for at in 0..3_000i64 {
        let mut pod = vgpu(&format!("p{at}"), 30_000 + 97 * at);
        pod.node_selector = pairs(&[("zone", &"z".repeat(at as usize))]);
        cluster.apply(pod);
        cluster.decide();
        cluster.apply(Delta::PodDelete(format!("p{at}")));
    }
    assert_eq!(epoch(&cluster), before);
    assert_eq!(asks(&mix_view(&cluster.engine)), [THIRD]);
    let text = cluster.engine.known().text_to_keep(KeptTopic::Tasks);
    assert!((1_000..=256 << 10).contains(&text.len()), "{}", text.len());
}
