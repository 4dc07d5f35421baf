//! What is recorded, and how.

use std::time::Duration;

use pumice_conf::DEFAULT_CONF;
use pumice_decider::{DeciderMemory, DeciderOptions};
use pumice_fixtures::{ToDelta as _, group, node, pod, queue};
use pumice_model::Delta;
use pumice_model::object::{
    AttachmentObject, BudgetObject, ClaimObject, DeviceClassObject, HyperNodeObject, NodeUsage,
    NumatopologyObject, PvObject, QuotaObject, ResourceClaimObject, SliceObject,
};
use pumice_record::{
    FORMAT, OLDEST_FORMAT, Tape, TapeBlocks, TapeEntry, TapePiece, TapeReader, UntakenEffects,
};

use crate::{read, recorded};

/// One of each larger kind.
fn deltas() -> Vec<Delta> {
    vec![
        node("n1", "4c gpu=8").delta(),
        pod("p1", "1c").delta(),
        group("g1", 2).delta(),
        queue("q").delta(),
        Delta::HyperNodeApply(Box::<HyperNodeObject>::default()),
        Delta::NumatopologyApply(Box::<NumatopologyObject>::default()),
        Delta::PvApply(Box::<PvObject>::default()),
        Delta::PvcApply(Box::<ClaimObject>::default()),
        Delta::BudgetApply(Box::<BudgetObject>::default()),
        Delta::QuotaApply(Box::<QuotaObject>::default()),
        Delta::AttachmentApply(Box::<AttachmentObject>::default()),
        Delta::ResourceClaimApply(Box::<ResourceClaimObject>::default()),
        Delta::SliceApply(Box::<SliceObject>::default()),
        Delta::DeviceClassApply(Box::<DeviceClassObject>::default()),
        Delta::NodeUsage {
            node: "n1".to_owned(),
            usage: Some(NodeUsage::default()),
        },
    ]
}

fn block(entries: &[u8]) -> Vec<u8> {
    TapeBlocks::new("a test", "p").block(entries)
}

fn tape() -> Vec<u8> {
    let mut tape = Tape::default();
    tape.push(&TapeEntry::Begin {
        options: DeciderOptions::unlimited(),
        at: Duration::from_millis(1),
        fresh: true,
    });
    tape.push(&TapeEntry::Configure(Some(DEFAULT_CONF.to_owned())));
    tape.push_deltas(&deltas());
    tape.push(&TapeEntry::Step {
        readings: vec![1, 2],
        placed: vec![("u".to_owned(), "n".to_owned())],
        evicted: Vec::new(),
    });
    tape.push(&TapeEntry::Memory {
        of: Box::<DeciderMemory>::default(),
        untaken: UntakenEffects::of(&[]),
    });
    tape.take()
}

#[test]
fn entries_are_read_as_they_were_written() {
    let (entries, lost) = read(&block(&tape()));
    assert_eq!((entries.len(), lost), (5, 0));
    assert_eq!(entries[2], TapeEntry::Deltas(deltas()));
    // Many changes are several entries.
    let mut many = Tape::default();
    many.push_deltas(&vec![Delta::NodeDelete("n1".to_owned()); 2500]);
    let (entries, _) = read(&block(&many.take()));
    assert_eq!(entries.len(), 3);
}

#[test]
fn the_format_has_a_number_for_each_shape() {
    let shape = crc32fast::hash(&tape());
    assert_eq!(
        (FORMAT, shape),
        (8, 2_076_889_284),
        "what is recorded has changed: add one to FORMAT, and write both numbers here"
    );
}

/// A recording whose header says so.
fn in_format(format: u8) -> Vec<u8> {
    let mut other = recorded(1);
    // The format is the first number of the header, which has a checksum.
    other[25] = format;
    let length = usize::from(other[13]);
    let sum = {
        let mut crc = crc32fast::Hasher::new();
        crc.update(&other[4..21]);
        crc.update(&other[25..25 + length]);
        crc.finalize()
    };
    other[21..25].copy_from_slice(&sum.to_le_bytes());
    other
}

#[test]
fn formats_from_the_oldest_that_is_known_on_are_read() {
    let formats = OLDEST_FORMAT - 1..=FORMAT + 1;
    let read = formats.filter(|format| {
        let format = u8::try_from(*format).expect("small");
        read(&in_format(format)).1 == 0
    });
    assert_eq!(read.collect::<Vec<u32>>(), [8]);
}

#[test]
fn a_recording_of_another_format_is_told_with_who_made_it() {
    let other = in_format(99);
    let pieces: Vec<TapePiece> = TapeReader::new(&other).collect();
    let [TapePiece::Lost(part)] = &pieces[..] else {
        panic!("{pieces:?}");
    };
    assert!(part.why.contains("a test, in format 99"), "{}", part.why);
}
