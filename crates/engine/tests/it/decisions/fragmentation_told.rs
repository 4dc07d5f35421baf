//! What people are told of free cards that are of use to nobody (spec/10 §5), where the mix may come from, and what
//! somebody who makes pods can do with it.

use pumice_engine::view::{Ask, FreeCardsView, LeftOutView, NoRoom, View};
use pumice_model::object::NodeObject;
use pumice_model::{Delta, NoteAbout};

use super::cluster::*;
use super::devices::{holding, two_cards, vgpu};
use super::fragmentation::{asks, mix_view};
use super::views::pod_view;

/// With these lines of arguments of the plugin.
pub fn conf(arguments: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, backfill\"\n\
         tiers: [{{plugins: [{{name: gang}}, {{name: predicates}}, {{name: deviceshare, arguments: \
         {{deviceshare.VGPUEnable: true, deviceshare.SchedulePolicy: fragmentation}}}}, \
         {{name: fragmentation, arguments: {{{arguments}}}}}]}}]\n"
    )
}

const THIRDS_AND_HALVES: &str = "fragmentation.mix: [\
     \"30 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=8192\", \
     \"10 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=12288\"]";

fn in_pool(node: NodeObject, key: &str, pool: &str) -> NodeObject {
    let labels = vec![(key.to_owned(), pool.to_owned())];
    NodeObject { labels, ..node }
}

/// A pod on the first card of a node, of which it leaves 4384 MiB beside 8192.
fn notebook(name: &str, node: &str) -> Delta {
    let pod = holding("GPU-aa,NVIDIA,12000,0:", vgpu(name, 12_000));
    pod.on(node).delta()
}

/// Pool, free and useless cards.
fn rows(rows: &[FreeCardsView]) -> Vec<(&str, f64, f64)> {
    let rows = rows.iter();
    rows.map(|row| (row.pool.as_str(), row.free_cards, row.useless_cards))
        .collect()
}

/// What was said of a ConfigMap.
fn noted(cluster: &mut Cluster) -> Vec<String> {
    let notes = cluster.engine.take_device_notes().into_iter();
    let of_maps = notes.filter(|note| matches!(note.about, NoteAbout::ConfigMap(..)));
    of_maps.map(|note| note.text).collect()
}

#[test]
fn free_cards_are_told_by_pool_and_the_metric_says_what_the_page_says() {
    let mut cluster = Cluster::under(&conf(THIRDS_AND_HALVES))
        .with(in_pool(two_cards("n1"), "volcano.sh/nodegroup-name", "a"))
        .with(in_pool(two_cards("n2"), "karpenter.sh/nodepool", "b"))
        .with(two_cards("n3"))
        .with(node("n4", "8c 64Gi pods=20"))
        .with(notebook("one", "n1"))
        .with(notebook("two", "n2"));
    cluster.decide();
    let expected = [("", 2.0, 0.0), ("a", 1.51, 0.0), ("b", 1.51, 0.0)];
    assert_eq!(
        rows(&cluster.engine.metrics_snapshot().free_cards),
        expected
    );
    let mut told = 0;
    for at in 0..24 {
        cluster.apply(vgpu(&format!("more{at}"), 8_192));
        cluster.cycle();
        if at % 6 == 5 {
            cluster.apply(Delta::PodDelete(format!("more{}", at - 1)));
        }
        let free = cluster.engine.metrics_snapshot().free_cards;
        let mut page = mix_view(&cluster.engine).cards;
        for row in &mut page {
            (row.short, row.short_classes) = (Vec::new(), 0);
        }
        assert_eq!(free, page, "{at}");
        told += free.iter().filter(|row| row.useless_cards > 0.0).count();
    }
    assert!(told > 0, "some of it was of use to nobody");
}

/// Useless cards in percent of the free ones, by node; `None` where there is no mix.
fn on_the_map(cluster: &Cluster) -> Vec<(String, Option<i64>)> {
    let Ok(View::Nodes(map)) = cluster.engine.known().view(&Ask::Nodes) else {
        unreachable!("another view");
    };
    let cells = map.nodes.into_iter();
    cells
        .map(|cell| (cell.name, cell.card_useless_percent))
        .collect()
}

#[test]
fn the_map_of_nodes_says_of_each_what_its_pool_says_where_it_is_alone_in_it() {
    let mut cluster = Cluster::under(&conf(THIRDS_AND_HALVES))
        .with(in_pool(two_cards("n1"), "volcano.sh/nodegroup-name", "a"))
        .with(in_pool(two_cards("n2"), "volcano.sh/nodegroup-name", "b"))
        .with(in_pool(
            node("n3", "8c 64Gi pods=20"),
            "volcano.sh/nodegroup-name",
            "c",
        ))
        .with(notebook("one", "n1"));
    let mut useless = 0;
    for at in 0..12 {
        cluster.apply(vgpu(&format!("more{at}"), 8_192));
        cluster.cycle();
        let told = mix_view(&cluster.engine).cards;
        for (node, percent) in on_the_map(&cluster) {
            let pool = match node.as_str() {
                "n1" => "a",
                "n2" => "b",
                _ => "c",
            };
            let row = told.iter().find(|row| row.pool == pool);
            let of_pool = row.map_or(0.0, |row| row.useless_percent);
            let percent = percent.expect("there is a mix");
            assert!(
                (percent as f64 - of_pool).abs() <= 1.0,
                "{node} {percent} {of_pool}"
            );
            useless += percent;
        }
    }
    assert!(useless > 0);
    let without = Cluster::under(NO_QUEUE_PLUGIN).with(two_cards("n1"));
    assert_eq!(on_the_map(&without), [("n1".to_owned(), None)]);
}

#[test]
fn pools_are_those_of_the_label_that_is_named() {
    let arguments = format!("{THIRDS_AND_HALVES}, fragmentation.poolLabels: [rack]");
    let mut cluster = Cluster::under(&conf(&arguments))
        .with(in_pool(two_cards("n1"), "volcano.sh/nodegroup-name", "a"))
        .with(in_pool(two_cards("n2"), "rack", "r"));
    cluster.decide();
    assert_eq!(
        rows(&cluster.engine.metrics_snapshot().free_cards),
        [("", 2.0, 0.0), ("r", 2.0, 0.0)]
    );
    let config = super::devices::config(&conf(THIRDS_AND_HALVES));
    cluster.engine.reconfigure(&config);
    cluster.decide();
    assert_eq!(
        rows(&cluster.engine.metrics_snapshot().free_cards),
        [("", 2.0, 0.0), ("a", 2.0, 0.0)]
    );
    cluster
        .engine
        .reconfigure(&super::devices::config(super::devices::CONF));
    cluster.decide();
    assert_eq!(rows(&cluster.engine.metrics_snapshot().free_cards), []);
}

#[test]
fn classes_without_room_are_named_where_such_cards_are_free_and_those_that_count_nowhere_too() {
    let mix = "fragmentation.mix: [\
         \"5 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=20000\", \
         \"4 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=4000\", \
         \"3 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=30000\", \
         \"2 cpu=1 volcano.sh/vgpu-number=1 on zone=nowhere\", \
         \"1 cpu=1 nvidia.com/gpu=1\", \
         \"1 cpu=1 a.b/c=1 volcano.sh/vgpu-number=1\"]";
    let filling = holding("GPU-bb,NVIDIA,12000,0:", vgpu("filling", 12_000));
    let mut cluster = Cluster::under(&conf(mix))
        .with(two_cards("n1"))
        .with(notebook("one", "n1"))
        .with(filling.on("n1"));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert!(view.written);
    assert_eq!(view.from, "the argument fragmentation.mix");
    let no_room: Vec<_> = view.classes.iter().map(|class| class.no_room).collect();
    let of = |memory: &str| {
        let at = asks(&view).iter().position(|asks| asks.contains(memory));
        no_room[at.expect("it is told")]
    };
    assert_eq!(of("memory=20000"), Some(NoRoom::Now));
    assert_eq!(of("memory=4000"), None);
    assert_eq!(of("memory=30000"), Some(NoRoom::Ever));
    let twenty = "cpu=1 volcano.sh/vgpu-memory=20000 volcano.sh/vgpu-number=1";
    assert_eq!(view.cards[0].short, [twenty]);
    assert_eq!(view.cards[0].short_classes, 1);
    let left_out = |asks: &str, why: &str| LeftOutView {
        asks: asks.to_owned(),
        why: why.to_owned(),
    };
    let expected = [
        left_out(
            "cpu=1 volcano.sh/vgpu-number=1 on zone=nowhere",
            "no node lets such tasks in: look at its labels, affinity and tolerations",
        ),
        left_out(
            "cpu=1 nvidia.com/gpu=1",
            "asks cards of no kind that is shared here: see the switches of deviceshare",
        ),
        left_out(
            "a.b/c=1 cpu=1 volcano.sh/vgpu-number=1",
            "no node has a.b/c",
        ),
    ];
    assert_eq!(view.left_out, expected);
    assert_eq!(view.left_out_classes, 3);
}

/// Such a class would count most of all, the scarcer the cards that it can use.
#[test]
fn a_class_asks_in_vain_for_what_only_a_queue_names() {
    let mix = "fragmentation.mix: [\
         \"5 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=4000\", \
         \"1 cpu=1 a.b/c=1 volcano.sh/vgpu-number=1\"]";
    let mut cluster = Cluster::under(&conf(mix))
        .with(two_cards("n1"))
        .with(queue("q").capability("a.b/c=1"));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert_eq!(view.classes.len(), 1);
    assert_eq!(view.left_out[0].why, "no node has a.b/c");
}

#[test]
fn what_a_pod_is_told_to_leave_is_what_it_has_left_afterwards() {
    let mut cluster = Cluster::under(&conf(THIRDS_AND_HALVES))
        .with(two_cards("n1"))
        .with(two_cards("n2"))
        .with(notebook("one", "n1"));
    cluster.decide();
    cluster.apply(vgpu("third", 8_192));
    let foretold = pod_view(&cluster.engine, "third").leaves;
    assert_eq!(foretold.len(), 2, "{foretold:?}");
    assert_eq!(cluster.cycle(), [format!("third {}", foretold[0].node)]);
    let after = pod_view(&cluster.engine, "third").leaves;
    assert!(after[0].here && !after[1].here, "{after:?}");
    assert_eq!(after[0].node, foretold[0].node);
    assert_eq!(after[0].useless_cards, foretold[0].useless_cards);
    assert_eq!(after[0].added_cards, foretold[0].added_cards);
    // Who asks for no cards is told nothing, and neither is anybody where there is no mix.
    cluster.apply(pod("plain", "1c"));
    assert_eq!(pod_view(&cluster.engine, "plain").leaves, []);
    cluster
        .engine
        .reconfigure(&super::devices::config(super::devices::CONF));
    cluster.decide();
    assert_eq!(pod_view(&cluster.engine, "third").leaves, []);
}

pub fn map(text: &str) -> Delta {
    Delta::TaskMix {
        namespace: "volcano-system".to_owned(),
        name: "task-mix".to_owned(),
        text: text.to_owned(),
    }
}

#[test]
fn the_mix_of_a_config_map_counts_line_by_line_and_a_broken_one_changes_nothing() {
    let arguments = "fragmentation.configMap: volcano-system/task-mix";
    let mut cluster = Cluster::under(&conf(arguments))
        .with(two_cards("n1"))
        .with(notebook("one", "n1"));
    cluster.decide();
    // Until it is there what runs and waits counts.
    let view = mix_view(&cluster.engine);
    assert_eq!(
        (view.from.as_str(), view.written),
        ("what tasks asked", false)
    );
    assert_eq!(view.classes.len(), 1);
    let third = "cpu=1 volcano.sh/vgpu-memory=8192 volcano.sh/vgpu-number=1";
    let text = format!("# thirds\n\n- 30 {third}\n10 cpu=1\nmuch {third}\n");
    cluster.apply(map(&text));
    cluster.decide();
    let notes = noted(&mut cluster);
    let [note] = notes.as_slice() else {
        panic!("{notes:?}")
    };
    for expected in [
        "mix: line 4: `10 cpu=1` asks for no cards",
        "line 5: `much cpu=1",
        "the other lines count",
    ] {
        assert!(note.contains(expected), "{note}");
    }
    let view = mix_view(&cluster.engine);
    assert_eq!(view.from, "ConfigMap volcano-system/task-mix");
    assert_eq!(asks(&view), [third]);
    for broken in ["", "nonsense\n", "# only a remark\n", "10 cpu=1"] {
        cluster.apply(map(broken));
        cluster.decide();
        let notes = noted(&mut cluster).join("");
        assert!(
            notes.contains("what was known before stays in use"),
            "{notes}"
        );
        assert_eq!(asks(&mix_view(&cluster.engine)), [third], "{broken}");
    }
    // Neither does a configuration that is read again, nor one under another name.
    cluster
        .engine
        .reconfigure(&super::devices::config(&conf(arguments)));
    cluster.decide();
    assert_eq!(asks(&mix_view(&cluster.engine)), [third]);
    cluster.apply(Delta::TaskMix {
        namespace: "team".to_owned(),
        name: "task-mix".to_owned(),
        text: format!("1 {}", third.replace("8192", "1")),
    });
    cluster.decide();
    assert_eq!(asks(&mix_view(&cluster.engine)), [third]);
}

#[test]
fn of_thousands_of_written_classes_as_many_count_as_may() {
    let lines = (1..=3_000).map(|at| {
        format!(
            "{at} cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory={}",
            8 * at
        )
    });
    let text: Vec<String> = lines.collect();
    let arguments =
        "fragmentation.configMap: volcano-system/task-mix, fragmentation.maxClasses: 16";
    let mut cluster = Cluster::under(&conf(arguments)).with(two_cards("n1"));
    cluster.apply(map(&text.join("\n")));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert_eq!(view.classes.len(), 16);
    let merged = "3000 classes: the rarer ones count as those that are most alike";
    assert!(view.from.ends_with(merged), "{}", view.from);
    assert_eq!(noted(&mut cluster), [] as [&str; 0]);
    let text: Vec<&str> = std::iter::repeat_n("1 volcano.sh/vgpu-number=1", 5_000).collect();
    cluster.apply(map(&text.join("\n")));
    let told = noted(&mut cluster).join("");
    assert!(
        told.contains("more than 4096 lines; the last 904 do not count"),
        "{told}"
    );
}

/// Somebody with `edit` in a namespace makes pods of ever other kinds, one a cycle: each new mix costs a look at all
/// nodes, so there are few, and there never are more classes than the configuration lets there be.
#[test]
fn whoever_makes_pods_of_ever_other_kinds_gets_few_mixes_and_no_more_classes() {
    let mut cluster = Cluster::under(&conf("fragmentation.maxClasses: 8")).with(two_cards("n1"));
    let epoch = |cluster: &Cluster| cluster.engine.state().supplies().devices().mix_epoch();
    cluster.decide();
    let before = epoch(&cluster);
    for at in 0..640i64 {
        cluster.apply(vgpu(&format!("p{at}"), 30_000 + 997 * at));
        cluster.decide();
        cluster.apply(Delta::PodDelete(format!("p{at}")));
    }
    let mixes = epoch(&cluster) - before;
    assert!((2..=640 / 32 + 1).contains(&mixes), "{mixes}");
    assert!(mix_view(&cluster.engine).classes.len() <= 8);
    // Filters are not asked about the mix: where a pod fits, it fits as before.
    cluster.apply(vgpu("honest", 20_000));
    assert_eq!(cluster.cycle(), ["honest n1"]);
}

/// Somebody with `edit` in a namespace makes pods that can never be served: however many, they take no place of
/// classes of others, neither those that are seen nor those that are written.
#[test]
fn pods_that_can_never_be_served_take_no_place_of_those_that_can() {
    let mut cluster = Cluster::under(&conf("fragmentation.maxClasses: 1")).with(two_cards("n1"));
    for at in 0..40 {
        let mut pod = vgpu(&format!("refused{at}"), 4_000);
        pod.facts.annotations = pairs(&[("volcano.sh/vgpu-mode", "no such mode")]);
        cluster.apply(pod);
    }
    cluster.apply(vgpu("honest", 8_192));
    cluster.decide();
    let honest = "cpu=1 volcano.sh/vgpu-memory=8192 volcano.sh/vgpu-number=1";
    let view = mix_view(&cluster.engine);
    assert_eq!(asks(&view), [honest]);

    let written = format!(
        "fragmentation.maxClasses: 1, fragmentation.mix: [\"1000 cpu=1 nvidia.com/gpu=1\", \"1 {honest}\"]"
    );
    let mut cluster = Cluster::under(&conf(&written)).with(two_cards("n1"));
    cluster.decide();
    assert_eq!(asks(&mix_view(&cluster.engine)), [honest]);
}

/// Somebody with `edit` in a namespace makes a gang for which one card too few is there. It is tried whenever something
/// changes, and what is tried and taken back brings no other mix, which would cost everybody a look at all nodes.
#[test]
fn a_gang_that_is_tried_again_and_again_brings_no_other_mix() {
    let mut cluster = Cluster::under(&conf("fragmentation.halfLife: 1h")).with(group("gang", 25));
    for at in 10..22 {
        cluster.apply(two_cards(&format!("n{at}")));
    }
    for at in 0..25 {
        cluster.apply(vgpu(&format!("member{at}"), 24_576).group("gang"));
    }
    cluster.decide();
    let epoch = |cluster: &Cluster| cluster.engine.state().supplies().devices().mix_epoch();
    let before = epoch(&cluster);
    for at in 0..3 {
        // They come and go, and the gang is tried.
        let name = format!("short{at}");
        let pod = holding("GPU-aa,NVIDIA,24576,0:", vgpu(&name, 24_576));
        cluster.apply(pod.on("n10"));
        assert!(cluster.cycle().is_empty());
        cluster.apply(Delta::PodDelete(name));
        assert!(cluster.cycle().is_empty());
    }
    assert_eq!(epoch(&cluster), before);
}
