//! A repetition that begins at a copy, from every copy that processes under faults have made: what is decided is what was
//! decided then, to the end.

use pumice_conf::Config;
use pumice_faults::evictions::EVICTING;
use pumice_faults::recordings::{StormKind, run_in_segments};
use pumice_faults::{CONFIGURATION, limiting_devices};
use pumice_record::{Replay, ReplayEvent, TapeEntry, TapePiece, TapeReader};

use crate::parse;

/// Seeds of each kind of storm.
const SEEDS: u64 = 20;

/// Steps after which a copy is made.
const EACH: u32 = 12;

/// What repetitions from copies have shown.
#[derive(Debug, Default)]
struct FromCopies {
    copies: usize,
    steps: usize,
    placed: usize,
    /// Copies that lack something.
    in_part: usize,
    /// Steps that decided something else although the copy lacks nothing.
    differences: Vec<String>,
    /// Others that decided something else.
    doubtful: usize,
    /// Steps that wanted something else done.
    told: usize,
}

impl FromCopies {
    /// Repeats what a process recorded from each of its copies on, with or without what it remembered.
    fn take(&mut self, segments: &[Vec<u8>], remembers: bool, whose: &str) {
        for from in 1..segments.len() {
            self.copies += 1;
            let mut replay = Replay::new(None);
            let pieces = segments[from..].iter().flat_map(|one| TapeReader::new(one));
            for piece in pieces.filter(|piece| remembers || !is_memory(piece)) {
                let event = replay.take_piece(piece).expect("it can be read");
                self.note(event, &replay, &format!("{whose}, copy {from}"));
            }
        }
    }

    fn note(&mut self, event: Option<ReplayEvent>, replay: &Replay, whose: &str) {
        match event {
            Some(ReplayEvent::Stepped(step)) => {
                self.steps += 1;
                self.placed += step.recorded.len();
                match (step.is_same(), replay.decides_exactly()) {
                    (true, _) => {}
                    (false, true) => self.differences.push(format!("{whose}: {step:?}")),
                    (false, false) => self.doubtful += 1,
                }
            }
            Some(ReplayEvent::ToldOtherwise { .. }) => self.told += 1,
            Some(ReplayEvent::Copied { lacks, .. }) => {
                self.in_part += usize::from(!lacks.is_empty());
            }
            Some(ReplayEvent::Began { .. } | ReplayEvent::WentOn { .. }) | None => {}
            Some(other) => panic!("{whose}: {other:?}"),
        }
    }
}

fn is_memory(piece: &TapePiece) -> bool {
    matches!(piece, TapePiece::Entry(entry) if matches!(**entry, TapeEntry::Memory { .. }))
}

/// What comes of a kind of storm, under configurations that follow each other.
fn repeated(storm: StormKind, texts: impl Fn(u64) -> [String; 2], remembers: bool) -> FromCopies {
    let mut all = FromCopies::default();
    for seed in 0..SEEDS {
        let texts = texts(seed);
        let parsed = texts.iter().map(|text| (&**text, parse(text)));
        let configurations: Vec<(&str, Config)> = parsed.collect();
        let recordings = run_in_segments(&configurations, seed, storm, EACH)
            .unwrap_or_else(|failure| panic!("{failure}"));
        for (process, tape) in &recordings.tapes {
            let whose = format!("{storm:?}, seed {seed}, process {process}");
            all.take(&tape.segments, remembers, &whose);
        }
    }
    all
}

fn plain(_: u64) -> [String; 2] {
    [EVICTING.to_owned(), CONFIGURATION.to_owned()]
}

#[test]
fn from_every_copy_on_it_is_decided_as_it_was() {
    for storm in [StormKind::Plain, StormKind::Topology] {
        let all = repeated(storm, plain, true);
        assert_eq!(all.differences.first(), None);
        assert_eq!((all.in_part, all.doubtful), (0, 0));
        assert!(all.copies > 500 && all.placed > 1000, "{all:?}");
    }
}

#[test]
fn so_it_is_where_claims_are_on_their_way() {
    let limiting = |seed: u64| plain(seed).map(|text| limiting_devices(&text));
    for all in [
        repeated(StormKind::Claims, plain, true),
        repeated(StormKind::Claims, limiting, true),
    ] {
        assert_eq!(all.differences.first(), None);
        assert_eq!((all.in_part, all.doubtful), (0, 0));
        assert!(all.copies > 500 && all.placed > 500, "{all:?}");
    }
}

/// Who sleeps beside places that are kept is not told: few decisions come a step earlier or later.
#[test]
fn where_places_are_kept_for_jobs_hardly_any_decision_is_another_one() {
    let keeping = |seed: u64| {
        let plugin = "  - name: reservation\n    arguments: {reservation.jobs: 3, reservation.defaultLimit: 40s, \
            reservation.slack: 5s}\n";
        plain(seed).map(|text| text + plugin)
    };
    let all = repeated(StormKind::Plain, keeping, true);
    assert_eq!(all.differences.first(), None);
    assert!(all.doubtful * 1000 < all.steps, "{all:?}");
    assert!(
        all.in_part > 100 && all.copies > 300 && all.placed > 500,
        "{all:?}"
    );
}

#[test]
fn what_a_process_remembers_is_missed_where_it_is_not_told() {
    let all = repeated(StormKind::Plain, plain, false);
    assert_eq!((all.in_part, all.differences.len()), (all.copies, 0));
    assert!(all.doubtful > 0, "{all:?}");
    // More is told again than where it is known what was due.
    assert!(all.told > repeated(StormKind::Plain, plain, true).told);
}
