//! Cards and nodes by what of the rest is of use (spec/10), and what people are told of it.

use pumice_engine::Engine;
use pumice_engine::view::{Ask, MixView, View};

use super::cluster::*;
use super::devices::{holding, split_card, two_cards, used, vgpu};
use super::network::{asking, hard, hyper_node, nodes_named};
use pumice_devices::LedgerTime;

const WRITTEN: &str = "30 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8192, \
                       10 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=12288";

fn conf(policy: &str, mix: &str) -> String {
    let mix: Vec<String> = mix
        .split(", ")
        .map(|class| format!("\"{class}\""))
        .collect();
    let mix = match mix[0].len() {
        2 => String::new(),
        _ => format!(", arguments: {{fragmentation.mix: [{}]}}", mix.join(", ")),
    };
    format!(
        "actions: \"enqueue, allocate, backfill\"\n\
         tiers: [{{plugins: [{{name: gang}}, {{name: predicates}}, {{name: deviceshare, arguments: \
         {{deviceshare.VGPUEnable: true, deviceshare.SchedulePolicy: {policy}}}}}, \
         {{name: fragmentation{mix}}}]}}]\n"
    )
}

pub fn mix_view(engine: &Engine) -> MixView {
    match engine.known().view(&Ask::Mix) {
        Ok(View::Mix(view)) => view,
        other => unreachable!("{other:?}"),
    }
}

/// What tasks of the classes ask.
pub fn asks(view: &MixView) -> Vec<&str> {
    let classes = view.classes.iter();
    classes.map(|class| class.asks.as_str()).collect()
}

/// A node of which the first card has 12576 MiB left, and a pod that asks for a third of a card.
fn third_beside_a_notebook(conf: &str) -> Cluster {
    let notebook = holding("GPU-aa,NVIDIA,12000,0:", vgpu("notebook", 12_000));
    Cluster::under(conf)
        .with(two_cards("n1"))
        .with(notebook.on("n1"))
        .with(vgpu("third", 8_192))
}

#[test]
fn a_card_is_taken_whose_rest_is_of_use_and_with_another_policy_the_fullest() {
    for (policy, expected) in [
        ("fragmentation", ["GPU-aa 12000", "GPU-bb 8192"]),
        ("binpack", ["GPU-aa 20192", "GPU-bb 0"]),
    ] {
        let mut cluster = third_beside_a_notebook(&conf(policy, WRITTEN));
        assert_eq!(cluster.decide().binds.len(), 1, "{policy}");
        assert_eq!(used(&cluster, "n1", LedgerTime::Now), expected, "{policy}");
    }
}

#[test]
fn the_page_tells_the_mix_as_it_is_written_and_which_cards_are_of_no_use() {
    let mut cluster = third_beside_a_notebook(&conf("binpack", WRITTEN));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert_eq!(view.absent, None);
    let expected = [
        "cpu=1 volcano.sh/vgpu-memory=8192 volcano.sh/vgpu-number=1",
        "cpu=1 volcano.sh/vgpu-memory=12288 volcano.sh/vgpu-number=1",
    ];
    assert_eq!(asks(&view), expected);
    // 4384 of 24576 MiB are left of the first card, which nobody asks; the other one is idle.
    let [cards] = &view.cards[..] else {
        panic!("{:?}", view.cards)
    };
    assert_eq!(cards.card_type, "NVIDIA-Tesla P40");
    assert_eq!((cards.free_cards, cards.useless_cards), (1.18, 0.18));
    assert!(view.classes.iter().all(|class| class.usable_cards == 1.0));
}

#[test]
fn without_a_written_mix_what_runs_and_waits_is_counted() {
    let mut cluster = third_beside_a_notebook(&conf("fragmentation", ""));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    let expected = [
        "cpu=1 volcano.sh/vgpu-memory=12000 volcano.sh/vgpu-number=1",
        "cpu=1 volcano.sh/vgpu-memory=8192 volcano.sh/vgpu-number=1",
    ];
    let mut sorted = asks(&view);
    sorted.sort_unstable();
    assert_eq!(sorted, expected);
    // What nobody offers is asked by no class, and does not hurt the others.
    let strange = vgpu("strange", 30_000);
    let mut cluster = cluster.with(strange);
    cluster.decide();
    assert!(mix_view(&cluster.engine).classes.len() >= 2);
}

#[test]
fn a_written_class_may_name_what_no_node_counts_since_a_ledger_does() {
    let mix = "1 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory-percentage=50";
    let mut cluster = third_beside_a_notebook(&conf("fragmentation", mix));
    cluster.decide();
    let classes = mix_view(&cluster.engine).classes;
    assert_eq!(classes.len(), 1, "{classes:?}");
    assert!(classes[0].usable_cards > 0.0, "{classes:?}");
}

#[test]
fn instances_of_a_split_card_are_chosen_and_counted_too() {
    let mix = "1 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=18000";
    let mut cluster = Cluster::under(&conf("fragmentation", mix))
        .with(split_card("n1"))
        .with(vgpu("small", 4_000));
    assert_eq!(cluster.decide().binds.len(), 1);
    let view = mix_view(&cluster.engine);
    let [cards] = &view.cards[..] else {
        panic!("{:?}", view.cards)
    };
    assert!(cards.free_cards > 0.0, "{cards:?}");
}

#[test]
fn without_the_plugin_there_is_no_mix_and_the_page_says_so() {
    let cluster = Cluster::under(super::devices::CONF).with(two_cards("n1"));
    let view = mix_view(&cluster.engine);
    let why = "the plugin fragmentation, which keeps the mix of tasks, is not configured";
    assert_eq!(view.absent.as_deref(), Some(why));
    assert_eq!((view.classes.len(), view.cards.len()), (0, 0));
}

/// Two halves fill what two others left, or break into a card that nobody has. Every card is the same to the rules of
/// the network; of the racks n2 makes nothing useless, and without the plugin's score the first one is taken.
#[test]
fn a_gang_goes_where_all_of_it_makes_least_useless() {
    let scored = conf("fragmentation", WRITTEN);
    let unscored = scored.replace(
        "fragmentation.mix:",
        "fragmentation.weight: 0, fragmentation.mix:",
    );
    for (conf, expected) in [(&scored, "n2"), (&unscored, "n1")] {
        let mut cluster = Cluster::under(conf)
            .with(two_cards("n1"))
            .with(two_cards("n2"))
            .with(holding("GPU-aa,NVIDIA,12288,0:", vgpu("one", 12_288)).on("n2"))
            .with(holding("GPU-bb,NVIDIA,12288,0:", vgpu("two", 12_288)).on("n2"))
            .with(asking("g", 2, hard(1)));
        for node in ["n1", "n2"] {
            cluster.apply(hyper_node(
                &format!("rack-{node}"),
                1,
                &[nodes_named(&format!("^{node}$"))],
            ));
        }
        for name in ["a", "b"] {
            cluster = cluster.with(vgpu(name, 12_288).group("g"));
        }
        let binds = cluster.cycle();
        let nodes = binds.iter().filter_map(|bind| bind.split(' ').nth(1));
        assert_eq!(nodes.collect::<Vec<_>>(), [expected; 2]);
    }
}
