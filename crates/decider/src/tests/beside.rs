//! A dry run and the other scheduler.

use pumice_fixtures::{BuildPod as _, Cluster, ToDelta as _, pod};

use super::*;
use crate::beside::{BesideBook, BesideVerdict, BesideView};

/// A dry run with a book of both.
struct Pair {
    bench: Bench,
    book: BesideBook,
}

impl Pair {
    fn of(cluster: &str) -> Self {
        Self {
            bench: Bench::with(true, Cluster::of(cluster).0),
            book: BesideBook::default(),
        }
    }

    fn decides(&mut self, now_s: i64) {
        self.bench
            .clock
            .0
            .set(u64::try_from(now_s).expect("a time"));
        self.bench.decider.changed = true;
        let step = self.bench.decider.step(&self.bench.clock, &mut Unobserved);
        let decisions = step.decisions.expect("a cycle");
        self.book
            .decided(self.bench.decider.engine(), &decisions, now_s);
    }

    fn sees(&mut self, delta: Delta, now_s: i64) {
        let deltas = [delta.clone()];
        self.book.see(&deltas, self.bench.decider.engine(), now_s);
        self.bench.apply(delta);
    }

    fn view(&self) -> BesideView {
        self.book.view()
    }
}

const CLUSTER: &str = "
    node  n1 2c 8Gi pods=9
    node  n2 1c 8Gi pods=9
    group g
    pod   a 2c group:g
    group h
    pod   b 1c group:h
    group w
    pod   c 9c group:w
";

#[test]
fn each_pod_is_told_with_both_nodes_or_why_it_has_one_alone() {
    let mut pair = Pair::of(CLUSTER);
    pair.decides(10);
    let view = pair.view();
    assert_eq!((view.sums.ours_alone, view.sums.theirs_alone), (2, 0));
    assert_eq!(view.rows.len(), 2);
    let on = |name: &str, asks: &str, group: &str, node: &str| {
        pod(name, asks).group(group).on(node).delta()
    };
    pair.sees(on("a", "2c", "g", "n1"), 14);
    pair.sees(on("b", "1c", "h", "n1"), 11);
    pair.sees(on("c", "9c", "w", "n2"), 11);
    let view = pair.view();
    let sums = &view.sums;
    let counts = (
        sums.same_node,
        sums.other_node,
        sums.theirs_alone,
        sums.ours_alone,
        sums.later_s,
    );
    assert_eq!(counts, (1, 1, 1, 0, 5));
    assert_eq!(view.queues["default"], *sums);
    let alone = view
        .rows
        .iter()
        .find(|row| row.verdict == BesideVerdict::TheirsAlone);
    let why = alone.and_then(|row| row.why.clone()).expect("a reason");
    assert!(why.contains("cpu"), "{why}");
    // What was there already, and what is told again, is not compared.
    pair.sees(on("a", "2c", "g", "n1"), 20);
    pair.sees(on("new", "1c", "g", "n1"), 20);
    assert_eq!(pair.view().sums, *sums);
}

#[test]
fn what_is_placed_there_before_a_cycle_runs_here_is_no_difference() {
    let mut pair = Pair::of(CLUSTER);
    pair.decides(10);
    let quick = pod("quick", "1c");
    pair.sees(quick.delta(), 11);
    pair.sees(pod("quick", "1c").on("n2").delta(), 11);
    let sums = pair.view().sums;
    assert_eq!((sums.theirs_first, sums.theirs_alone), (1, 0));
}

#[test]
fn a_decision_that_is_made_again_counts_once_and_goes_with_its_pod() {
    let mut pair = Pair::of(CLUSTER);
    pair.decides(10);
    // Forgotten after a minute, and decided anew.
    pair.bench.at(80);
    pair.decides(90);
    assert_eq!(pair.view().sums.ours_alone, 2);
    let uid = pod("a", "2c").uid;
    pair.sees(Delta::PodDelete(uid), 91);
    assert_eq!(pair.view().sums.ours_alone, 1);
}
