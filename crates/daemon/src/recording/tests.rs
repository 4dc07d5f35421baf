//! What is kept of what was recorded, and what never is.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use pumice_conf::DEFAULT_CONF;
use pumice_decider::{Clock, DeciderOptions};
use pumice_engine::{REGISTRY, Unobserved};
use pumice_fixtures::ToDelta as _;
use pumice_model::Delta;
use pumice_record::{
    RecordedDecider, Replay, ReplayEvent, Tape, TapeBlocks, TapeEntry, TapePiece, TapeReader,
};
use tempfile::TempDir;

use super::*;

/// A moment, in seconds.
struct At(u64);

impl Clock for At {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

fn blocks() -> TapeBlocks {
    TapeBlocks::new("a test", "p")
}

fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new().expect("metrics"))
}

fn bounds(memory: usize, folder: Option<&TempDir>) -> RecordingBounds {
    RecordingBounds {
        memory,
        folder: folder.map(|folder| folder.path().to_owned()),
        size: 20_000,
        age: Duration::from_secs(3600),
    }
}

/// A decider that is configured and places a pod each second; what was kept in memory.
fn run(bounds: &RecordingBounds, seconds: u64) -> Vec<u8> {
    let (mut feed, ring) = start(bounds, "a test", metrics()).expect("started");
    let (mut decider, begin) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    feed.begin(&mut decider, begin);
    let config = pumice_conf::parse(DEFAULT_CONF, &REGISTRY).config;
    decider.configure(&config.expect("valid"), Some(DEFAULT_CONF));
    decider.apply(vec![
        pumice_fixtures::queue("root").delta(),
        pumice_fixtures::queue("default").delta(),
        pumice_fixtures::node("n1", "100c 100Gi pods=110").delta(),
    ]);
    decider.set_synced();
    decider.set_leader(true);
    for second in 1..=seconds {
        let pod = pumice_fixtures::pod(&format!("p{second}"), "1m");
        decider.apply(vec![pod.delta()]);
        decider.step(&At(second), &mut Unobserved);
        decider.take_effects();
        // What stands does not grow, and copies of it neither.
        decider.apply(vec![Delta::PodDelete(format!("p{second}"))]);
        feed.hand_over(&mut decider, Duration::from_secs(second));
        feed.flush(&mut decider);
        while feed.is_busy() {
            std::thread::yield_now();
        }
    }
    drop(feed);
    ring.bytes()
}

fn entries(bytes: &[u8]) -> Vec<TapeEntry> {
    let pieces = TapeReader::new(bytes).filter_map(|piece| match piece {
        TapePiece::Header(_) | TapePiece::Block(_) => None,
        TapePiece::Entry(entry) => Some(*entry),
        TapePiece::Lost(part) | TapePiece::Unreadable(part) => panic!("{part:?}"),
    });
    pieces.collect()
}

fn placed(bytes: &[u8]) -> (usize, Vec<bool>) {
    let mut replay = Replay::new(None);
    let (mut placed, mut begins) = (0, Vec::new());
    for entry in entries(bytes) {
        match replay.take(entry).expect("a configuration") {
            Some(ReplayEvent::Began { fresh, .. }) => begins.push(fresh),
            Some(ReplayEvent::Stepped(step)) => {
                assert_eq!(step.now, step.recorded);
                placed += step.now.len();
            }
            _ => {}
        }
    }
    (placed, begins)
}

#[test]
fn what_is_kept_in_memory_is_decided_again() {
    let bytes = run(&bounds(1 << 20, None), 5);
    assert_eq!(placed(&bytes), (5, vec![true]));
}

#[test]
fn the_oldest_segments_go_and_each_later_one_begins_at_a_copy() {
    let bytes = run(&bounds(20_000, None), 300);
    assert!(bytes.len() <= 20_000, "{}", bytes.len());
    let (placed, begins) = placed(&bytes);
    assert!((5..300).contains(&placed), "{placed}");
    assert!(!begins.is_empty() && !begins.contains(&true), "{begins:?}");
}

#[test]
fn files_are_new_ones_that_only_their_owner_reads_and_the_oldest_go() {
    let folder = TempDir::new().expect("a folder");
    let victim = folder.path().join("victim");
    std::fs::write(&victim, "kept").expect("written");
    symlink(&victim, folder.path().join("recording-0.pumice")).expect("linked");
    run(&bounds(0, Some(&folder)), 300);
    assert_eq!(std::fs::read(&victim).expect("there"), b"kept");
    let mut names = Vec::new();
    let mut all = 0;
    for entry in std::fs::read_dir(folder.path())
        .expect("a folder")
        .flatten()
    {
        let name = entry.file_name().into_string().expect("UTF-8");
        let metadata = entry.metadata().expect("metadata");
        if metadata.is_file() && name != "victim" {
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
            all += metadata.len();
            names.push(name);
        }
    }
    assert!(names.len() > 1, "{names:?}");
    assert!(all <= 20_000, "{all}");
    assert!(
        !names.contains(&"recording-0-1.pumice".to_owned()),
        "{names:?}"
    );
    for name in names {
        let bytes = std::fs::read(folder.path().join(name)).expect("there");
        assert!(!entries(&bytes).is_empty());
    }
}

#[test]
fn a_folder_that_is_not_there_is_said_at_the_start() {
    let folder = TempDir::new().expect("a folder");
    let mut bounds = bounds(0, Some(&folder));
    bounds.folder = Some(folder.path().join("absent"));
    let error = start(&bounds, "a test", metrics()).err().expect("refused");
    assert!(format!("{error:#}").contains("--record-dir="), "{error:#}");
}

#[test]
fn where_the_writer_cannot_follow_the_recording_breaks_off_and_begins_again_at_a_copy() {
    let metrics = metrics();
    let (mut feed, end) = feed::pipe(Arc::clone(&metrics));
    let (mut decider, begin) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    feed.begin(&mut decider, begin);
    let mut rounds = 0;
    while decider.is_recording() {
        decider.set_synced();
        feed.hand_over(&mut decider, Duration::from_secs(rounds));
        rounds += 1;
        assert!(rounds < 100_000, "nobody reads, and nothing breaks off");
    }
    // Nobody waits for the writer, and nothing is recorded meanwhile.
    feed.hand_over(&mut decider, Duration::from_secs(rounds));
    assert!(!decider.is_recording());
    let ring = Arc::new(MemoryRing::new(1 << 20));
    let writer = RecordingWriter::new(blocks(), Arc::clone(&ring), None, end, metrics);
    let writer = std::thread::spawn(move || writer.run());
    while feed.is_busy() {
        std::thread::yield_now();
    }
    feed.hand_over(&mut decider, Duration::from_secs(rounds + 1));
    assert!(decider.is_recording());
    drop(feed);
    writer.join().expect("ended");
    let entries = entries(&ring.bytes());
    let breaks = entries
        .iter()
        .position(|entry| matches!(entry, TapeEntry::BreaksOff { .. }));
    let begins = entries
        .iter()
        .rposition(|entry| matches!(entry, TapeEntry::Begin { fresh: false, .. }));
    assert_eq!(breaks.expect("it is said") + 1, begins.expect("it goes on"));
}

#[test]
fn nothing_of_environments_and_secrets_is_recorded() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: the-pod\n  namespace: ns\n  uid: u\nspec:\n  \
                schedulerName: volcano\n  containers:\n  - name: c\n    image: i\n    args: [--token=HIDDEN1]\n    \
                env:\n    - name: PASSWORD\n      value: HIDDEN2\n";
    let pod = serde_yaml::from_str(text).expect("a pod");
    let reading = pumice_ingest::Options::default();
    let read = pumice_ingest::pod(&pod, &reading).expect("readable").object;
    let conf = format!(
        "{DEFAULT_CONF}metrics:\n  type: elasticsearch\n  address: http://m\n  elasticsearch.password: HIDDEN3\n"
    );
    let config = pumice_conf::parse(&conf, &REGISTRY).config.expect("valid");
    let shown = pumice_conf::text_without_secrets(&conf, &config, &REGISTRY);
    let (mut decider, begin) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    decider.record(true);
    decider.configure(&config, shown.as_deref());
    decider.apply(vec![Delta::PodApply(Box::new(read))]);
    let copy = decider.segment_start(Duration::ZERO).expect("recorded");
    let mut all = Vec::new();
    let mut blocks = blocks();
    blocks.begin(begin, &mut |block| all.extend_from_slice(block));
    all.extend(blocks.block(&decider.take_tape()));
    blocks.begin(copy, &mut |block| all.extend_from_slice(block));
    let mut tape = Tape::default();
    entries(&all).iter().for_each(|entry| tape.push(entry));
    let all = tape.take();
    let text = String::from_utf8_lossy(&all);
    assert!(
        text.contains("elasticsearch") && text.contains("(hidden)") && text.contains("the-pod")
    );
    assert!(!text.contains("HIDDEN"), "{text}");
}

#[test]
fn what_stands_is_not_remembered_where_nothing_is_recorded() {
    let (mut decider, begin) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    RecordingFeed::off().begin(&mut decider, begin);
    decider.set_leader(true);
    assert!(!decider.is_recording());
    assert!(decider.segment_start(Duration::ZERO).is_none());
}

#[test]
fn a_folder_that_takes_no_files_is_tried_again_and_memory_goes_on() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("volume");
    std::fs::create_dir(&path).expect("made");
    let kept = RecordingFolder::open(&path, 1 << 20, Duration::from_secs(3600)).expect("there");
    std::fs::remove_dir(&path).expect("removed");
    let metrics = metrics();
    let (mut feed, end) = feed::pipe(Arc::clone(&metrics));
    let ring = Arc::new(MemoryRing::new(1 << 20));
    let mut writer = RecordingWriter::new(blocks(), Arc::clone(&ring), Some(kept), end, metrics);
    writer.retry_after = Duration::ZERO;
    let writer = std::thread::spawn(move || writer.run());
    let (mut decider, begin) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    feed.begin(&mut decider, begin);
    let mut round = |feed: &mut RecordingFeed, second: u64| {
        decider.set_synced();
        feed.hand_over(&mut decider, Duration::from_secs(second));
        feed.flush(&mut decider);
        while feed.is_busy() {
            std::thread::yield_now();
        }
    };
    (1..5).for_each(|second| round(&mut feed, second));
    std::fs::create_dir(&path).expect("the volume is back");
    (5..9).for_each(|second| round(&mut feed, second));
    drop(feed);
    writer.join().expect("ended");
    // In memory is all of it, in the file what came since, after a copy.
    let is_synced = |entry: &&TapeEntry| matches!(entry, TapeEntry::Synced);
    let all = entries(&ring.bytes());
    let begins = |entries: &[TapeEntry]| {
        let begins = entries.iter().filter_map(|entry| match entry {
            TapeEntry::Begin { fresh, .. } => Some(*fresh),
            _ => None,
        });
        begins.collect::<Vec<bool>>()
    };
    assert_eq!(begins(&all), [true, false]);
    let names: Vec<_> = std::fs::read_dir(&path)
        .expect("a folder")
        .flatten()
        .collect();
    assert_eq!(names.len(), 1, "{names:?}");
    let file = entries(&std::fs::read(names[0].path()).expect("there"));
    assert_eq!(begins(&file), [false]);
    let (in_all, in_file) = (all.iter().filter(is_synced), file.iter().filter(is_synced));
    assert!(in_all.count() > in_file.count());
}
