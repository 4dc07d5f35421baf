//! One cycle of the engine and of a plain list of events: who is bound where, who has places kept, when and where.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pumice_engine::view::{Ask, Time, View};
use pumice_fixtures::{Cluster, Dice};

use super::plain::{Gang, Holder, Node, Plain};
use crate::run;

/// Random clusters.
const CASES: u64 = 1500;

/// When the cycle is, seconds since the epoch.
const NOW_S: i64 = 10_000;

/// Longest time that a pod says it runs, or has run.
const LONGEST_S: i64 = 400;

fn seconds(dice: &mut Dice) -> i64 {
    10 + 10 * dice.below(LONGEST_S as u64 / 10) as i64
}

/// A cluster as a text and as a list.
fn case(dice: &mut Dice) -> (String, Plain) {
    let mut text = String::new();
    let mut plain = Plain {
        now_s: NOW_S,
        nodes: Vec::new(),
        holders: Vec::new(),
        gangs: Vec::new(),
        jobs: 1 + dice.below(2) as usize,
        default_limit_s: (dice.below(4) == 0).then(|| 2 * seconds(dice)),
        slack_s: 30 * (dice.below(3) as i64 / 2),
        kept: Vec::new(),
        bound: Vec::new(),
    };
    for at in 0..2 + dice.below(3) as usize {
        let node = Node {
            cores: 3 + dice.below(4) as i64,
            slots: 2 + dice.below(4) as i64,
        };
        plain.nodes.push(node);
        let _ = writeln!(text, "node n{at} {}c 64Gi pods={}", node.cores, node.slots);
        let mut cores = node.cores;
        for pod in 0..dice.below(3) {
            let asks = 1 + dice.below(3) as i64;
            if asks > cores {
                break;
            }
            cores -= asks;
            let since_s = NOW_S - seconds(dice);
            let expected_s = (dice.below(3) == 0).then(|| seconds(dice));
            let limit_s = (dice.below(4) > 0).then(|| seconds(dice));
            let _ = writeln!(
                text,
                "group r{at}{pod}\npod r{at}{pod} {asks}c group:r{at}{pod} on:n{at} since:{since_s} {}",
                run_times(expected_s, limit_s)
            );
            let bound_s = limit_s.or(expected_s).or(plain.default_limit_s);
            let until_s = bound_s.and_then(|bound_s| plain.end_s(since_s + bound_s));
            plain.holders.push(Holder {
                node: at,
                cores: asks,
                until_s,
            });
        }
    }
    for at in 0..2 + dice.below(5) {
        let gang = Gang {
            pods: 1 + dice.below(3) as usize,
            cores: 1 + dice.below(4) as i64,
            expected_s: (dice.below(3) == 0).then(|| seconds(dice)),
            limit_s: (dice.below(4) > 0).then(|| seconds(dice)),
        };
        let _ = writeln!(
            text,
            "group w{at} min:{1} created:{0}\npod w{at}*{1} {2}c group:w{at} created:{0} {3}",
            100 + at,
            gang.pods,
            gang.cores,
            run_times(gang.expected_s, gang.limit_s)
        );
        plain.gangs.push(gang);
    }
    (text, plain)
}

fn run_times(expected_s: Option<i64>, limit_s: Option<i64>) -> String {
    let runs = expected_s.map(|seconds| format!("runs:{seconds}s "));
    let limit = limit_s.map(|seconds| format!("limit:{seconds}s"));
    runs.unwrap_or_default() + &limit.unwrap_or_default()
}

fn conf(plain: &Plain) -> String {
    let default_limit = plain.default_limit_s.map_or(String::new(), |limit_s| {
        format!(", reservation.defaultLimit: {limit_s}s")
    });
    format!(
        "actions: \"enqueue, allocate, backfill\"\n\
         tiers: [{{plugins: [{{name: priority}}, {{name: gang}}, {{name: predicates}}, {{name: reservation, \
         arguments: {{reservation.jobs: {}, reservation.slack: {}s{default_limit}}}}}]}}]\n",
        plain.jobs, plain.slack_s
    )
}

/// What a cycle comes to, as lines: `pod on node` of whoever is bound, `gang at, nodes` of whoever is to start.
fn by_engine(text: &str, plain: &Plain) -> BTreeSet<String> {
    let config = run::config(&conf(plain));
    let mut engine = run::engine(&config, &Cluster::of(text).0);
    let decisions = engine.cycle(NOW_S);
    let state = engine.state();
    let binds = decisions.binds.iter().map(|bind| {
        let node = &state.nodes().object(bind.node).name;
        format!("{} on {node}", state.population().task_key(bind.task))
    });
    let mut lines: BTreeSet<String> = binds.collect();
    for at in 0..plain.gangs.len() {
        let (namespace, name) = ("ns".to_owned(), format!("w{at}"));
        let view = engine.known().view(&Ask::Job { namespace, name });
        let Ok(View::Job(view)) = view else {
            unreachable!("{view:?}");
        };
        if let Some(planned) = view.planned {
            lines.insert(format!("w{at} {:?} {:?}", planned.at, planned.nodes));
        }
    }
    lines
}

fn by_hand(plain: &mut Plain) -> BTreeSet<String> {
    plain.cycle();
    let bound = plain.bound.iter().flat_map(|(gang, nodes)| {
        let nodes = nodes.iter().enumerate();
        nodes.map(move |(pod, node)| format!("ns/w{gang}-{pod} on n{node}"))
    });
    let kept = plain.kept.iter().map(|kept| {
        let nodes: BTreeSet<String> = kept.nodes.iter().map(|node| format!("n{node}")).collect();
        let nodes: Vec<String> = nodes.into_iter().collect();
        format!("w{} {:?} {nodes:?}", kept.gang, Time::of(kept.at_s))
    });
    bound.chain(kept).collect()
}

#[test]
fn a_plain_list_of_events_keeps_the_same_places_and_lets_the_same_pods_run() {
    let (mut kept, mut bound) = (0, 0);
    let seeds = run::seeds(0, CASES);
    let cases = (seeds.end - seeds.start) as usize;
    for seed in seeds {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.below(2);
        let (text, mut plain) = case(&mut dice);
        let (hand, engine) = (by_hand(&mut plain), by_engine(&text, &plain));
        kept += plain.kept.len();
        bound += plain.bound.len();
        let context = || format!("seed {seed}:\n{}{text}", conf(&plain));
        assert_eq!(hand, engine, "{}", context());
    }
    // The cases are not trivial.
    assert!(kept > cases / 2, "{kept} have places kept");
    assert!(bound > cases / 2, "{bound} were bound");
}
