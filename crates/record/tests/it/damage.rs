//! Segments that are cut, or in which bytes are others.

use pumice_record::{Replay, ReplayEvent, TapeEntry};

use crate::{read, recorded};

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
    // Nothing at all, the header, and the blocks before the last.
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
