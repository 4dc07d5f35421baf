//! A written mix that is wrong: it costs next to nothing, since what tasks are seen to ask counts beside it (spec/10 §4).

use pumice_model::Delta;

use super::cluster::*;
use super::devices::{asking, two_cards};
use super::fragmentation::{conf, mix_view};

/// Nodes of a small cluster, each with two cards and eight cores.
const NODES: usize = 16;

/// One after the other tasks come that ask cpu and part of a card or all of it, thousandths of a card in all, until as
/// much was asked as there is: what is given out of it, in percent.
fn given_out(conf: &str, seed: u64) -> f64 {
    let mut cluster = Cluster::under(conf);
    for at in 0..NODES {
        cluster.apply(two_cards(&format!("n{at:02}")));
    }
    let all = 2_000 * NODES as u64;
    let (mut random, mut asked, mut given, mut number) = (seed, 0, 0, 0);
    while asked < all {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (cpu, milli) = match (random >> 33) % 10 {
            0..3 => (1, 333),
            3..5 => (2, 500),
            5..7 => (1, 250),
            7 => (6, 250),
            _ => (3, 1_000),
        };
        let memory = 24_576 * milli / 1_000;
        let text = format!("{cpu}c volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory={memory}");
        cluster.apply(asking(&format!("p{number}"), &text));
        number += 1;
        asked += milli;
        let placed = cluster.cycle().len() as u64;
        given += placed * milli;
        if placed == 0 {
            cluster.apply(Delta::PodDelete(format!("p{}", number - 1)));
        }
    }
    100.0 * given as f64 / all as f64
}

/// In percent, over some draws.
fn mean(conf: &str) -> f64 {
    let all = (1..=12).map(|seed| given_out(conf, seed * 977));
    all.sum::<f64>() / 12.0
}

#[test]
fn a_mix_that_is_wrong_gives_out_no_less_than_binpack_but_for_two_points() {
    let binpack = mean(
        "actions: \"enqueue, allocate, backfill\"\n\
         tiers: [{plugins: [{name: gang}, {name: predicates}, {name: binpack}, {name: deviceshare, arguments: \
         {deviceshare.VGPUEnable: true, deviceshare.SchedulePolicy: binpack}}]}]\n",
    );
    let seen = mean(&conf("fragmentation", ""));
    for lie in [
        "1 cpu=8 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=12288",
        "1 cpu=8 volcano.sh/vgpu-number=2",
        "1 cpu=100m volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=24",
        "1 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=24576",
        "1 cpu=1 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=16384",
        "1 cpu=64 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=12288",
        "1 cpu=1 volcano.sh/vgpu-number=1 on zone=nowhere",
    ] {
        let given = mean(&conf("fragmentation", lie));
        assert!(
            given >= binpack - 2.0,
            "{lie}: {given:.2}; with binpack {binpack:.2}, with what is seen {seen:.2}"
        );
    }
    assert!(seen >= binpack, "{seen:.2}; with binpack {binpack:.2}");
}

#[test]
fn what_tasks_are_seen_to_ask_counts_beside_what_is_written_and_is_told_apart() {
    let written = "7 cpu=4 volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=4000";
    let mut cluster = Cluster::under(&conf("fragmentation", written)).with(two_cards("n1"));
    cluster.decide();
    let view = mix_view(&cluster.engine);
    assert_eq!(view.from, "the argument fragmentation.mix");
    for at in 0..80 {
        let text = "1c volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=20000";
        cluster.apply(asking(&format!("p{at}"), text));
    }
    cluster.decide();
    let view = mix_view(&cluster.engine);
    let whose = "the argument fragmentation.mix, and what tasks asked";
    assert_eq!(view.from, whose);
    let mut classes: Vec<(bool, bool)> = view
        .classes
        .iter()
        .map(|class| (class.written, class.asks.contains("memory=4000")))
        .collect();
    classes.sort_unstable();
    assert_eq!(classes, [(false, false), (true, true)]);
}
