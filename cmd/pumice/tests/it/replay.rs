//! `pumice replay` of recordings that are made here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use pumice_conf::DEFAULT_CONF;
use pumice_decider::{Clock, DeciderOptions};
use pumice_engine::{REGISTRY, Unobserved};
use pumice_fixtures::{ToDelta as _, node, pod, queue};
use pumice_model::Delta;
use pumice_record::{RecordedDecider, Tape, TapeBlocks, TapeEntry};
use serde_json::Value;

/// A moment, in seconds.
struct At(u64);

impl Clock for At {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

/// Blocks of a decider that places a pod each second, one for each; the first has the configuration and two nodes.
pub fn blocks() -> Vec<Vec<u8>> {
    segments(usize::MAX).concat()
}

/// A leader that records, with two queues, node `n1` and one object more; who makes blocks of it; the begin of a segment.
fn leader_with(object: Delta) -> (RecordedDecider, TapeBlocks, Vec<u8>) {
    let (mut decider, start) = RecordedDecider::new(DeciderOptions::unlimited(), &At(0));
    decider.record(true);
    let config = pumice_conf::parse(DEFAULT_CONF, &REGISTRY).config;
    decider.configure(&config.expect("valid"), Some(DEFAULT_CONF));
    decider.apply(vec![
        queue("root").delta(),
        queue("default").delta(),
        node("n1", "4c 8Gi pods=110").delta(),
        object,
    ]);
    decider.set_synced();
    decider.set_leader(true);
    let maker = TapeBlocks::new("a test", "p");
    let mut first = Vec::new();
    maker.begin(start, &mut |block| first.extend_from_slice(block));
    (decider, maker, first)
}

/// As [`blocks`]: segments of so many seconds.
fn segments(length: usize) -> Vec<Vec<Vec<u8>>> {
    let n2 = node("n2", "8c 8Gi pods=110").delta();
    let (mut decider, mut maker, mut first) = leader_with(n2);
    first.extend(maker.block(&decider.take_tape()));
    let mut segments = vec![vec![first]];
    for second in 1..=4 {
        if segments[segments.len() - 1].len() > length {
            let copy = decider.segment_start(Duration::from_secs(second));
            let mut segment = Vec::new();
            maker.begin(copy.expect("recorded"), &mut |block| {
                segment.extend_from_slice(block);
            });
            segments.push(vec![segment]);
        }
        decider.apply(vec![pod(&format!("p{second}"), "1c").delta()]);
        decider.step(&At(second), &mut Unobserved);
        decider.take_effects();
        let block = maker.block(&decider.take_tape());
        segments.last_mut().expect("begun").push(block);
    }
    segments
}

/// A file of these bytes in a folder of its own.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("replay-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("recording-0.pumice");
    std::fs::write(&path, bytes).expect("written");
    path
}

fn pumice(command: &str, words: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pumice"))
        .arg(command)
        .arg(path)
        .args(words)
        .output()
        .expect("the binary runs")
}

fn report(words: &[&str], path: &Path) -> (Option<i32>, Value) {
    let output = pumice("replay", &[words, &["-o", "json"]].concat(), path);
    let report = serde_json::from_slice(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), report.unwrap_or(Value::String(said)))
}

#[test]
fn what_was_recorded_is_decided_once_more_from_a_file_and_from_its_folder() {
    let path = file("same", &blocks().concat());
    for path in [&path, path.parent().expect("a folder")] {
        let (code, report) = report(&[], path);
        assert_eq!(code, Some(0), "{report}");
        assert_eq!(
            (&report["placed"], &report["steps"]),
            (&4.into(), &4.into())
        );
        assert_eq!(report["differences"], Value::Array(Vec::new()));
        assert_eq!(report["recordedBy"][0], "a test");
    }
    let output = pumice("replay", &["--step"], &path);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("1970-01-01T00:00:02Z step 2\n  ns/p2 to n"),
        "{said}"
    );
    assert!(said.contains("the same, step by step"), "{said}");
}

#[test]
fn a_decision_that_is_not_the_one_recorded_ends_it_with_code_1_and_is_told() {
    // The second pod never came, says this recording, and was placed.
    let mut entries = blocks();
    let mut other = Tape::default();
    other.push(&TapeEntry::Step {
        readings: vec![2_000_000_000],
        placed: vec![("p2".to_owned(), "n1".to_owned())],
        evicted: Vec::new(),
    });
    let mut maker = TapeBlocks::new("a test", "p");
    // The third block of entries.
    (0..2).for_each(|_| drop(maker.block(&[])));
    let other = maker.block(&other.take());
    entries[2] = other;
    let (code, report) = report(&[], &file("other", &entries.concat()));
    assert_eq!(code, Some(1), "{report}");
    let difference = &report["differences"][0];
    assert_eq!(difference["what"], "recorded: p2 to n1", "{report}");
    assert_eq!(difference["step"], 2, "{report}");
}

#[test]
fn a_part_that_is_lost_is_told_with_its_bytes_and_time() {
    let mut parts = blocks();
    let from: usize = parts[..3].iter().map(Vec::len).sum();
    let to = from + parts[3].len();
    let last = parts[3].len() - 1;
    parts[3][last] ^= 1;
    let (code, report) = report(&[], &file("lost", &parts.concat()));
    assert_eq!(code, Some(0), "{report}");
    let lost = &report["lost"][0];
    assert_eq!(
        (&lost["fromByte"], &lost["toByte"]),
        (&from.into(), &to.into())
    );
    assert_eq!(lost["after"], "1970-01-01T00:00:02Z");
    assert_eq!(report["placed"], 2);
}

#[test]
fn another_configuration_tells_what_would_have_been() {
    let path = file("conf", &blocks().concat());
    let conf = path.with_file_name("other.conf");
    let text = "actions: \"enqueue\"\ntiers:\n- plugins:\n  - name: gang\n";
    std::fs::write(&conf, text).expect("written");
    let conf = conf.display().to_string();
    let (code, report) = report(&["--conf", &conf], &path);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["wouldBe"]["notByThen"], 4, "{report}");
    assert_eq!(report["pods"][0]["pod"], "ns/p1");
}

#[test]
fn what_was_known_at_a_time_is_a_document_that_simulate_reads() {
    let path = file("at", &blocks().concat());
    let document = path.with_file_name("then.json");
    let name = document.display().to_string();
    let words = ["--at", "1970-01-01T00:00:02Z", "--dump", &name];
    let output = pumice("replay", &words, &path);
    assert!(output.status.success(), "{output:?}");
    let output = pumice("simulate", &["--output", "json"], &document);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    // Two were placed then; the third had come, but no step had seen it.
    assert_eq!(
        report["binds"].as_array().map(Vec::len),
        Some(1),
        "{report}"
    );
    let again = pumice("replay", &words, &path);
    assert_eq!(again.status.code(), Some(2), "the file is there already");
    // A recording is taken for what was known at its end.
    let output = pumice("simulate", &["--output", "json"], &path);
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(report["binds"], Value::Array(Vec::new()), "{report}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("as of the step at 1970-01-01T00:00:04Z"),
        "{said}"
    );
}

#[test]
fn what_is_no_recording_is_said() {
    let path = file("none", b"apiVersion: v1\n");
    let (code, said) = report(&[], &path);
    assert_eq!(code, Some(2));
    assert!(said.to_string().contains("pumice record export"), "{said}");
}

#[test]
fn files_of_a_process_are_one_to_a_replay_and_without_the_first_it_is_as_of_a_copy() {
    let path = file("files", b"");
    std::fs::remove_file(&path).expect("removed");
    let folder = path.parent().expect("a folder");
    let name = |at: usize| folder.join(format!("recording-{at}.pumice"));
    // Names say nothing of the order.
    for (at, segment) in segments(1).iter().enumerate() {
        std::fs::write(name(9 - at), segment.concat()).expect("written");
    }
    let (code, said) = report(&[], folder);
    assert_eq!(code, Some(0), "{said}");
    let counts = [
        "exactSegments",
        "joinedSegments",
        "copiedSegments",
        "placed",
    ];
    let numbers = counts.map(|key| said[key].as_u64());
    assert_eq!(numbers, [Some(1), Some(3), Some(0), Some(4)], "{said}");
    std::fs::remove_file(name(9)).expect("removed");
    let (code, said) = report(&[], folder);
    assert_eq!(code, Some(0), "{said}");
    let numbers = counts.map(|key| said[key].as_u64());
    assert_eq!(numbers, [Some(0), Some(2), Some(1), Some(3)], "{said}");
}

#[test]
fn two_configurations_are_compared_over_what_was_recorded() {
    let path = file("compare", &blocks().concat());
    let conf = |name: &str, plugin: &str| {
        let text = format!(
            "actions: \"enqueue, allocate\"\ntiers:\n- plugins:\n  - name: predicates\n  - name: \
             {plugin}\n"
        );
        let path = path.with_file_name(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let (pack, spread) = (
        conf("pack.conf", "binpack"),
        conf("spread.conf", "nodeorder"),
    );
    let name = path.display().to_string();
    let words = [&*spread, "--recording", &name, "--exit-code", "--output"];
    let compared = |output: &str| {
        let words = [&words[..], &[output]].concat();
        pumice("compare", &words, Path::new(&pack))
    };
    let output = compared("json");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(said["sums"][0]["a"], 4, "{said}");
    assert_eq!(said["sums"][0]["b"], 4, "{said}");
    let moved = said["pods"].as_array().map_or(0, Vec::len);
    assert!((1..=4).contains(&moved), "{said}");
    assert_eq!(said["jobs"].as_array().map(Vec::len), Some(moved), "{said}");
    assert_eq!(said["nodes"].as_array().map(Vec::len), Some(2), "{said}");
    let output = compared("table");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(
        table.contains("pods placed") && table.contains("NODES"),
        "{table}"
    );
    // A configuration is as itself.
    let words = ["--recording", &name, "--exit-code"];
    let words = [&[&*pack], &words[..]].concat();
    let output = pumice("compare", &words, Path::new(&pack));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

fn explained(words: &[&str], path: &Path) -> (Option<i32>, String, String) {
    let path = path.display().to_string();
    let words = [words, &["--recording", &path]].concat();
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .arg("explain")
        .args(words)
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn explain_asks_of_the_past() {
    // The fifth pod asks more than there is.
    let (mut decider, mut maker, mut bytes) = leader_with(pod("big", "6c").delta());
    for second in [10, 20, 30] {
        if second == 20 {
            decider.apply(vec![node("n2", "8c 8Gi pods=110").delta()]);
        }
        decider.step(&At(second), &mut Unobserved);
        decider.take_effects();
    }
    bytes.extend(maker.block(&decider.take_tape()));
    let path = file("explain", &bytes);
    let at = |second: &str| format!("1970-01-01T00:00:{second}Z");
    let (code, said, notes) = explained(&["pod", "ns/big", "--at", &at("19")], &path);
    assert_eq!(code, Some(0), "{notes}");
    assert!(said.contains("pod ns/big  Pending"), "{said}");
    assert!(said.contains("cpu"), "{said}");
    assert!(
        notes.contains("as of the step at 1970-01-01T00:00:10Z, recorded by a test"),
        "{notes}"
    );
    let (code, said, _) = explained(&["ns/big", "--at", &at("20"), "-o", "json"], &path);
    let view: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((code, &view["node"]), (Some(0), &"n2".into()), "{view}");
    // The queue, at the end of it.
    let (code, said, _) = explained(&["queue", "default"], &path);
    assert!(code == Some(0) && said.contains("default"), "{said}");
    // What is not known there, and a time before all of it.
    let (code, _, notes) = explained(&["pod", "ns/bog"], &path);
    assert_eq!(code, Some(2));
    assert!(notes.contains("did you mean ns/big"), "{notes}");
    let (code, _, notes) = explained(&["ns/big", "--at", &at("05")], &path);
    assert_eq!(code, Some(2));
    assert!(
        notes.contains("no step up to 1970-01-01T00:00:05Z"),
        "{notes}"
    );
}

#[test]
fn a_recording_without_names_is_one_file_that_replays() {
    let path = file("unnamed", &blocks().concat());
    let out = path.with_file_name("out.pumice");
    let (from, to) = (path.display().to_string(), out.display().to_string());
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .args(["record", "export", &to, "--anonymous", "--from", &from])
        .output()
        .expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    assert!(
        said.contains("all 4 steps decide the same under other names"),
        "{said}"
    );
    let (code, report) = report(&["--step"], &out);
    assert_eq!((code, &report["placed"]), (Some(0), &4.into()), "{report}");
    // Nothing is written over, and what is no recording makes no file.
    let again = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .args(["record", "export", &to, "--anonymous", "--from", &from])
        .output()
        .expect("the binary runs");
    assert_eq!(again.status.code(), Some(2), "{again:?}");
}
