//! What processes under faults have recorded is decided once more, step by step.

use pumice_faults::CONFIGURATION;
use pumice_faults::evictions::EVICTING;
use pumice_faults::recordings::{Recordings, run_recorded, run_week};
use pumice_model::write::Outcome;
use pumice_record::{
    AnonymousCopy, Compared, NameCollection, Replay, ReplayEvent, TapeEntry, TapePiece, TapeReader,
};

use crate::{config, evicting};

/// Seeds whose processes are recorded.
const SEEDS: u64 = 60;

fn recorded(seed: u64) -> Recordings {
    let configurations = [(EVICTING, evicting()), (CONFIGURATION, config())];
    run_recorded(&configurations, seed).unwrap_or_else(|failure| panic!("{failure}"))
}

fn pieces(segments: &[Vec<u8>]) -> Vec<TapePiece> {
    let pieces = segments.iter().flat_map(|segment| TapeReader::new(segment));
    let pieces = pieces.inspect(|piece| {
        let is_lost = matches!(piece, TapePiece::Lost(_) | TapePiece::Unreadable(_));
        assert!(!is_lost, "{piece:?}");
    });
    pieces.collect()
}

/// How many entries are of a kind.
fn count(pieces: &[TapePiece], wanted: fn(&TapeEntry) -> bool) -> usize {
    let is = |piece: &&TapePiece| matches!(piece, TapePiece::Entry(entry) if wanted(entry));
    pieces.iter().filter(is).count()
}

/// What a replay has shown.
#[derive(Default)]
struct Shown {
    steps: u64,
    placed: usize,
    evicted: usize,
    /// Segments that began at nothing, at a copy, and in which the decider went on.
    began: [usize; 3],
    differences: Vec<String>,
}

impl Shown {
    fn of(pieces: Vec<TapePiece>) -> Self {
        let mut replay = Replay::new(None);
        let mut shown = Self::default();
        for piece in pieces {
            match replay
                .take_piece(piece)
                .expect("the configuration is there")
            {
                Some(ReplayEvent::Stepped(step)) => shown.compare(&step),
                Some(ReplayEvent::Began { fresh, .. }) => shown.began[usize::from(!fresh)] += 1,
                Some(ReplayEvent::WentOn { .. }) => shown.began[2] += 1,
                Some(ReplayEvent::Copied { .. }) => {}
                // A copy tells all again that was told before.
                Some(ReplayEvent::ToldOtherwise { .. }) if !replay.is_exact() => {}
                Some(other) => shown.differences.push(format!("{other:?}")),
                None => {}
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
            let pieces = pieces(&tape.segments);
            processes += 1;
            terms += count(&pieces, |entry| matches!(entry, TapeEntry::Leader(true)));
            edits += count(&pieces, |entry| matches!(entry, TapeEntry::Configure(_))) - 1;
            let shown = Shown::of(pieces);
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
fn seven_days_are_decided_again_bit_for_bit_across_restarts_leaders_edits_and_segments() {
    let configurations = [(EVICTING, evicting()), (CONFIGURATION, config())];
    // In this one a replay differed once: being told of nothing was not recorded.
    let week = run_week(&configurations, 5).unwrap_or_else(|failure| panic!("{failure}"));
    let (mut terms, mut edits) = (0, 0);
    let mut all = Shown::default();
    let (mut later, mut later_steps) = (0, 0);
    let (mut first_s, mut last_s) = (u64::MAX, 0);
    for (identity, tape) in &week.tapes {
        let pieces = pieces(&tape.segments);
        terms += count(&pieces, |entry| matches!(entry, TapeEntry::Leader(true)));
        edits += count(&pieces, |entry| matches!(entry, TapeEntry::Configure(_))) - 1;
        for piece in &pieces {
            if let TapePiece::Entry(entry) = piece
                && let TapeEntry::Step { readings, .. } = &**entry
            {
                let at_s = readings.first().map_or(0, |first| first / 1_000_000_000);
                (first_s, last_s) = (first_s.min(at_s), last_s.max(at_s));
            }
        }
        // Some of them, under other names.
        let unnamed = (identity % 10 == 1).then(|| without_names(&pieces));
        let shown = Shown::of(pieces);
        assert_eq!(shown.differences.first(), None, "process {identity}");
        if let Some(unnamed) = unnamed {
            let renamed = Shown::of(self::pieces(&[unnamed]));
            assert_eq!(renamed.differences.first(), None, "process {identity}");
            assert_eq!(renamed.placed, shown.placed, "process {identity}");
        }
        // Nothing but the first begin is needed.
        assert_eq!(
            shown.began,
            [1, 0, tape.segments.len() - 1],
            "process {identity}"
        );
        all.steps += shown.steps;
        all.placed += shown.placed;
        all.evicted += shown.evicted;
        all.began[2] += shown.began[2];
        for segment in tape.segments.iter().skip(1) {
            let copied = Shown::of(self::pieces(std::slice::from_ref(segment)));
            assert_eq!(copied.began, [0, 1, 0], "process {identity}");
            later += copied.differences.len();
            later_steps += copied.steps;
        }
    }
    assert!(
        last_s - first_s > 7 * 24 * 3600 - 3600,
        "{first_s} to {last_s}"
    );
    let [joined, processes] = [all.began[2], week.tapes.len()];
    assert!(
        all.steps > 15_000 && all.placed > 500 && all.evicted > 2,
        "{} steps, {} placed, {} evicted",
        all.steps,
        all.placed,
        all.evicted
    );
    assert!(
        processes > 50 && joined > 100 && terms > 150 && edits > 50,
        "{processes} processes, {joined} joined, {terms} terms, {edits} edits"
    );
    // Each of them from its copy alone, too.
    assert_eq!(later, 0, "of {later_steps} steps after copies");
    assert!(later_steps > 5_000, "{later_steps}");
}

/// The recording of a process under other names.
fn without_names(pieces: &[TapePiece]) -> Vec<u8> {
    let mut names = NameCollection::default();
    for piece in pieces {
        if let TapePiece::Entry(entry) = piece {
            names.take(entry);
        }
    }
    let mut copy = AnonymousCopy::new(names.pseudonyms(), "faults");
    pieces.iter().for_each(|piece| copy.take(piece.clone()));
    let (bytes, sums) = copy.finish();
    assert_eq!((sums.differences, sums.left_out), (0, 0), "{sums:?}");
    bytes
}

#[test]
fn an_input_that_is_missing_is_noticed() {
    let mut noticed = 0;
    for seed in 0..SEEDS / 10 {
        for tape in recorded(seed).tapes.values() {
            let whole = pieces(&tape.segments);
            let bound = |piece: &TapePiece| {
                let TapePiece::Entry(entry) = piece else {
                    return false;
                };
                matches!(&**entry, TapeEntry::Outcome(Outcome::Bound { .. }, _))
            };
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
