//! What processes under faults have recorded is decided once more, step by step.

use pumice_faults::CONFIGURATION;
use pumice_faults::evictions::EVICTING;
use pumice_faults::recordings::{Recordings, run_recorded};
use pumice_model::write::Outcome;
use pumice_record::{Compared, Replay, ReplayEvent, TapeEntry, TapePiece, TapeReader};

use crate::{config, evicting};

/// Seeds whose processes are recorded.
const SEEDS: u64 = 60;

fn recorded(seed: u64) -> Recordings {
    let configurations = [(EVICTING, evicting()), (CONFIGURATION, config())];
    run_recorded(&configurations, seed).unwrap_or_else(|failure| panic!("{failure}"))
}

fn entries(tape: &[u8]) -> Vec<TapeEntry> {
    let pieces = TapeReader::new(tape).filter_map(|piece| match piece {
        TapePiece::Header(_) => None,
        TapePiece::Entry(entry) => Some(*entry),
        TapePiece::Lost(part) => panic!("{part:?}"),
    });
    pieces.collect()
}

/// What a replay has shown.
#[derive(Default)]
struct Shown {
    steps: u64,
    placed: usize,
    evicted: usize,
    differences: Vec<String>,
}

impl Shown {
    fn of(entries: Vec<TapeEntry>) -> Self {
        let mut replay = Replay::new(None);
        let mut shown = Self::default();
        for entry in entries {
            match replay.take(entry).expect("the configuration is there") {
                Some(ReplayEvent::Stepped(step)) => shown.compare(&step),
                Some(other @ ReplayEvent::ToldOtherwise { .. }) => {
                    shown.differences.push(format!("{other:?}"));
                }
                _ => {}
            }
        }
        shown
    }

    fn compare(&mut self, step: &Compared) {
        self.steps += 1;
        self.placed += step.recorded.len();
        self.evicted += step.recorded_evicted.len();
        if !step.is_same() {
            self.differences.push(format!("{step:?}"));
        }
    }
}

#[test]
fn what_processes_under_faults_have_recorded_is_decided_again_bit_for_bit() {
    let (mut processes, mut terms, mut edits) = (0, 0, 0);
    let mut all = Shown::default();
    for seed in 0..SEEDS {
        for tape in recorded(seed).tapes.values() {
            let entries = entries(tape);
            processes += 1;
            let is =
                |wanted: fn(&TapeEntry) -> bool| entries.iter().filter(|at| wanted(at)).count();
            terms += is(|entry| matches!(entry, TapeEntry::Leader(true)));
            edits += is(|entry| matches!(entry, TapeEntry::Configure(_))) - 1;
            let shown = Shown::of(entries);
            assert_eq!(shown.differences.first(), None, "seed {seed}");
            all.steps += shown.steps;
            all.placed += shown.placed;
            all.evicted += shown.evicted;
        }
    }
    let Shown {
        steps,
        placed,
        evicted,
        ..
    } = all;
    assert!(
        placed > 500 && evicted > 2,
        "{placed} placed, {evicted} evicted"
    );
    assert!(
        steps > 10_000 && processes >= 90,
        "{steps} steps, {processes} processes"
    );
    assert!(terms > 60 && edits > 150, "{terms} terms, {edits} edits");
}

#[test]
fn an_input_that_is_missing_is_noticed() {
    let mut noticed = 0;
    for seed in 0..SEEDS / 10 {
        for tape in recorded(seed).tapes.values() {
            let whole = entries(tape);
            let bound =
                |entry: &TapeEntry| matches!(entry, TapeEntry::Outcome(Outcome::Bound { .. }, _));
            let Some(missing) = whole.iter().position(bound) else {
                continue;
            };
            let mut rest = whole;
            rest.remove(missing);
            let differences = Shown::of(rest).differences;
            assert!(!differences.is_empty(), "seed {seed}, entry {missing}");
            noticed += 1;
        }
    }
    assert!(noticed > 5, "{noticed}");
}
