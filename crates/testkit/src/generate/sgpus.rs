//! GPUs of MetaX that are shared, whom their pods share them with, and what nodes tell of links.

use std::fmt::Write as _;

use pumice_model::object::{NodeObject, PodObject};

use super::rng::Rng;

/// Resources.
pub const COUNT: &str = "metax-tech.com/sgpu";
pub const MEMORY: &str = "metax-tech.com/vmemory";
pub const CORES: &str = "metax-tech.com/vcore";

/// With whom a pod shares its cards, which others that ask the same may see otherwise.
pub fn say_terms(rng: &mut Rng, pod: &mut PodObject) {
    let mut say = |odds: usize, key: &str, values: &[&str]| {
        if rng.one_in(odds) {
            let pair = (
                format!("metax-tech.com/sgpu-{key}"),
                rng.pick(values).to_owned(),
            );
            pod.facts.annotations.push(pair);
        }
    };
    let policies = [
        "fixed-share",
        "fixed-share",
        "fixed-share",
        "burst-share",
        "best-effort",
        "best-effort",
        "",
        "shared",
    ];
    say(2, "qos-policy", &policies);
    let classes = [
        "online", "online", "online", "offline", "offline", "offline", "", "batch",
    ];
    say(2, "app-class", &classes);
    say(
        3,
        "topology-aware",
        &["true", "true", "true", "1", "false", "maybe"],
    );
    pod.facts.annotations.sort();
}

/// What one container asks of cards that are shared; mostly little, so that there is room for others.
pub fn shared_amounts(rng: &mut Rng) -> Vec<(&'static str, i64)> {
    let mut amounts = vec![(COUNT, rng.pick(&[1, 1, 1, 1, 1, 1, 2, 2, 3, 0]))];
    if !rng.one_in(8) {
        amounts.push((MEMORY, rng.pick(&[4, 4, 8, 16, 5 << 30, 80])));
    }
    if !rng.one_in(4) {
        amounts.push((CORES, rng.pick(&[0, 10, 20, 20, 30, 60, 100, 101])));
    }
    amounts
}

/// Cards of MetaX that are shared: some linked, some with a policy that may be of before.
pub fn cards(rng: &mut Rng, node: &str, cards: i64, slots: i64) -> String {
    let cards = cards + rng.below(3) as i64;
    let card = |at: i64| {
        let mut more = String::new();
        if rng.one_in(3) {
            let policy = rng.pick(&["", "best-effort", "fixed-share", "burst-share"]);
            let _ = write!(more, r#","qosPolicy":"{policy}""#);
        }
        if !rng.one_in(4) {
            let _ = write!(more, r#","linkZone":{}"#, rng.pick(&[0, 4, 4, 9]));
        }
        let mib = rng.pick(&[65_536, 65_536, 32_768]);
        let cores = if rng.one_in(12) { 200 } else { 100 };
        let health = !rng.one_in(10);
        format!(
            r#"{{"uuid":"{node}-sgpu-{at}","totalDevCount":{slots},"totalCompute":{cores},"totalVRam":{mib},"healthy":{health}{more}}}"#
        )
    };
    let cards: Vec<String> = (0..cards).map(card).collect();
    format!("[{}]", cards.join(","))
}

/// What a node tells of so many whole cards together.
pub fn rate(rng: &mut Rng, node: &mut NodeObject) {
    for key in ["losses", "scores"] {
        if rng.one_in(3) {
            continue;
        }
        let mut told = Vec::new();
        for cards in 1..4 {
            if !rng.one_in(4) {
                told.push(format!(r#""{cards}":{}"#, rng.pick(&[0, 7, 60, 150, 2500])));
            }
        }
        let text = match rng.one_in(8) {
            true => "{\"1\": ".to_owned(),
            false => format!("{{{}}}", told.join(",")),
        };
        let key = format!("metax-tech.com/gpu.topology.{key}");
        node.device_annotations.push((key, text));
    }
}
