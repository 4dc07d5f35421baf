//! Recordings as bytes: what is read again, and what is lost with a part of them.

mod anonymous;
mod damage;
mod shape;

use std::time::Duration;

use pumice_conf::DEFAULT_CONF;
use pumice_decider::{Clock, DeciderOptions};
use pumice_engine::{REGISTRY, Unobserved};
use pumice_fixtures::{ToDelta as _, node, pod, queue};
use pumice_record::{RecordedDecider, TapeBlocks, TapeEntry, TapePiece, TapeReader};

/// A moment, in seconds.
pub struct At(pub u64);

impl Clock for At {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

/// A decider that places a pod each second, as a header and a block for each of them.
pub fn recorded(seconds: u64) -> Vec<u8> {
    let (mut decider, start) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    let mut blocks = TapeBlocks::new("a test", "p");
    let mut bytes = Vec::new();
    blocks.begin(start, &mut |block| bytes.extend_from_slice(block));
    decider.record(true);
    tell_cluster(&mut decider);
    for second in 1..=seconds {
        let pod = pod(&format!("p{second}"), "1c");
        decider.apply(vec![pod.delta()]);
        decider.step(&At(second), &mut Unobserved);
        decider.take_effects();
        bytes.extend(blocks.block(&decider.take_tape()));
    }
    bytes
}

/// A node and queues, all of them, and that it may decide.
pub fn tell_cluster(decider: &mut RecordedDecider) {
    let config = pumice_conf::parse(DEFAULT_CONF, &REGISTRY).config;
    decider.configure(&config.expect("valid"), Some(DEFAULT_CONF));
    decider.apply(vec![
        queue("root").delta(),
        queue("default").delta(),
        node("n1", "100c 100Gi pods=110").delta(),
    ]);
    decider.set_synced();
    decider.set_leader(true);
}

/// What can be read of it, and how much is said to be lost.
pub fn read(bytes: &[u8]) -> (Vec<TapeEntry>, usize) {
    let (mut entries, mut lost) = (Vec::new(), 0);
    for piece in TapeReader::new(bytes) {
        match piece {
            TapePiece::Header(_) | TapePiece::Block(_) => {}
            TapePiece::Entry(entry) => entries.push(*entry),
            TapePiece::Lost(part) | TapePiece::Unreadable(part) => lost += part.bytes.len(),
        }
    }
    (entries, lost)
}
