//! Segments that are cut, or in which bytes are others.

use std::time::Duration;

use pumice_decider::DeciderOptions;
use pumice_fixtures::{ToDelta as _, pod};
use pumice_record::{RecordedDecider, Replay, ReplayEvent, TapeBlocks, TapeEntry, TapeReader};

use crate::{At, read, recorded};

#[test]
fn each_bit_that_is_another_is_noticed_and_loses_no_other_block() {
    let bytes = recorded(4);
    let (whole, lost) = read(&bytes);
    assert_eq!(lost, 0);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let (entries, lost) = read(&changed);
        assert!(lost > 0, "byte {at}");
        // What is left stands in its order.
        let mut rest = whole.iter();
        let all = entries.iter().all(|entry| rest.any(|known| known == entry));
        assert!(all, "byte {at}");
        // A block has three or four entries, the one with the configuration and the first pod eight.
        assert!(
            entries.len() + 9 > whole.len(),
            "byte {at}: {}",
            entries.len()
        );
    }
}

#[test]
fn a_cut_loses_what_comes_after_it_and_says_so_unless_it_is_between_blocks() {
    let bytes = recorded(4);
    let (whole, _) = read(&bytes);
    let mut clean = 0;
    for length in 0..bytes.len() {
        let (entries, lost) = read(&bytes[..length]);
        assert_eq!(entries, whole[..entries.len()], "{length} bytes");
        clean += usize::from(lost == 0);
    }
    // Nothing at all, the header, the begin, and the blocks before the last.
    assert_eq!(clean, 1 + 1 + 4);
}

#[test]
fn what_is_no_recording_is_one_lost_part() {
    let (entries, lost) = read(b"apiVersion: v1\nkind: List\n");
    assert_eq!((entries.len(), lost), (0, 26));
}

#[test]
fn lengths_that_were_made_up_ask_for_no_memory() {
    // A checksum that fits, and a length unpacked that does not.
    let mut block = b"PuBBE".to_vec();
    block.extend(0_u64.to_le_bytes());
    block.extend(4_u32.to_le_bytes());
    block.extend(u32::MAX.to_le_bytes());
    let mut crc = crc32(&block[4..]);
    crc.update(b"abcd");
    block.extend(crc.finalize().to_le_bytes());
    block.extend(b"abcd");
    assert_eq!(read(&block), (Vec::new(), block.len()));
}

fn crc32(bytes: &[u8]) -> crc32fast::Hasher {
    let mut crc = crc32fast::Hasher::new();
    crc.update(bytes);
    crc
}

#[test]
fn after_a_loss_nothing_is_decided_before_the_next_beginning() {
    let (entries, _) = read(&recorded(4));
    let begins = |entry: &&TapeEntry| matches!(entry, TapeEntry::Begin { .. });
    assert_eq!(entries.iter().filter(begins).count(), 1);
    let mut replay = Replay::new(None);
    let mut steps = 0;
    for (at, entry) in entries.iter().chain(&entries).enumerate() {
        if at == entries.len() / 2 {
            replay.lose();
        }
        let event = replay.take(entry.clone()).expect("a configuration");
        if let Some(ReplayEvent::Stepped(step)) = event {
            assert!(step.is_same() && step.now.len() == 1, "{step:?}");
            steps += 1;
        }
    }
    assert!((4..8).contains(&steps), "{steps}");
}

/// A block that says it has so many bytes, and of which the checksum is another one.
fn made_up(length: u32) -> Vec<u8> {
    let mut head = b"PuBBE".to_vec();
    head.extend(0_u64.to_le_bytes());
    head.extend(length.to_le_bytes());
    head.extend(length.to_le_bytes());
    head.extend(0_u32.to_le_bytes());
    head
}

#[test]
fn a_search_for_whole_blocks_ends_where_all_that_is_there_was_looked_at_often_enough() {
    let whole = recorded(1);
    let file = |heads: usize| {
        let rest: Vec<u8> = [vec![0; 100_000], whole.clone()].concat();
        let heads = (0..heads).flat_map(|_| made_up(100_000));
        [heads.collect(), rest].concat()
    };
    // A few that were made up hide nothing; many do.
    assert!(!read(&file(5)).0.is_empty());
    let all = file(500);
    assert_eq!(read(&all), (Vec::new(), all.len()));
}

/// Segments of one decider that places a pod each second, one second each: header and blocks, one by one.
fn segments(seconds: u64, crowd: usize) -> Vec<Vec<Vec<u8>>> {
    let (mut decider, start) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    let mut blocks = TapeBlocks::new("a test", "p");
    let mut segments = vec![Vec::new()];
    blocks.begin(start, &mut |block| segments[0].push(block.to_vec()));
    decider.record(true);
    crate::tell_cluster(&mut decider);
    let crowd = (0..crowd).map(|at| {
        let mut one = pod(&format!("ended-{at}"), "1m");
        one.labels = vec![("text".to_owned(), "x".repeat(1000))];
        one.phase = pumice_model::object::PodPhase::Succeeded;
        one.delta()
    });
    decider.apply(crowd.collect());
    for second in 1..=seconds {
        decider.apply(vec![pod(&format!("p{second}"), "1c").delta()]);
        decider.step(&At(second), &mut pumice_engine::Unobserved);
        decider.take_effects();
        let block = blocks.block(&decider.take_tape());
        segments.last_mut().expect("begun").push(block);
        if second < seconds {
            let copy = decider.segment_start(Duration::from_secs(second));
            let mut segment = Vec::new();
            blocks.begin(copy.expect("recorded"), &mut |block| {
                segment.push(block.to_vec())
            });
            segments.push(segment);
        }
    }
    segments
}

/// How often something happened: steps, segments gone on in, begins at copies, copies with gaps, waits.
fn replayed(blocks: &[Vec<u8>]) -> [usize; 5] {
    let mut replay = Replay::new(None);
    let mut counts = [0; 5];
    for piece in TapeReader::new(&blocks.concat()) {
        let event = replay.take_piece(piece).expect("a configuration");
        let at = match event {
            Some(ReplayEvent::Stepped(step)) => {
                assert!(step.is_same() && step.now.len() == 1, "{step:?}");
                0
            }
            Some(ReplayEvent::WentOn { .. }) => 1,
            Some(ReplayEvent::Began { fresh: false, .. }) => 2,
            Some(ReplayEvent::KnowsLess { .. }) => 3,
            Some(ReplayEvent::Waits { .. }) => 4,
            _ => continue,
        };
        counts[at] += 1;
    }
    counts
}

#[test]
fn a_replay_goes_on_from_segment_to_segment_and_needs_no_copy_for_it() {
    let all = segments(3, 0);
    assert_eq!(replayed(&all.concat()), [3, 2, 0, 0, 0]);
    // Not from one that is not there, nor over a block that is missing at its end.
    assert_eq!(replayed(&[&*all[0], &*all[2]].concat()), [2, 0, 1, 0, 0]);
    let mut cut = all.clone();
    cut[1].pop();
    assert_eq!(replayed(&cut.concat()), [2, 1, 1, 0, 0]);
    // A copy that is lost does not matter where it is not needed.
    for block in 1..all[1].len() - 1 {
        let mut less = all.clone();
        less[1].remove(block);
        assert_eq!(replayed(&less.concat()), [3, 2, 0, 0, 0], "without {block}");
    }
    // Whose entries they are nobody knows without the header.
    let mut headless = all;
    headless[1].remove(0);
    assert_eq!(replayed(&headless.concat()), [2, 0, 1, 0, 1]);
}

#[test]
fn of_a_copy_in_blocks_one_that_is_lost_loses_what_it_held() {
    let all = segments(2, 6000);
    let copy = &all[1];
    // The header, what stands, some of the state, its end, and entries.
    assert!(copy.len() >= 6, "{} blocks", copy.len());
    let largest = copy.iter().map(Vec::len).max();
    assert!(largest < Some(3 << 20), "{largest:?}");
    assert_eq!(replayed(copy), [1, 0, 1, 0, 0]);
    let without = |at: usize| {
        let mut rest = copy.clone();
        rest.remove(at);
        replayed(&rest)
    };
    assert_eq!(
        without(1),
        [0, 0, 0, 0, 0],
        "nothing is known of what stands"
    );
    assert_eq!(
        without(copy.len() - 3),
        [1, 0, 1, 1, 0],
        "some pods are not known"
    );
    assert_eq!(
        without(copy.len() - 2),
        [0, 0, 1, 0, 1],
        "whether it is all is not known"
    );
    // A byte that is another one is as good as a block that is missing.
    let mut changed = copy.clone();
    let at = changed.len() - 3;
    changed[at][100] ^= 1;
    assert_eq!(replayed(&changed), [1, 0, 1, 1, 0]);
}
