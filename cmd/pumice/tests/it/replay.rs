//! `pumice replay` of recordings that are made here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use pumice_conf::DEFAULT_CONF;
use pumice_decider::{Clock, DeciderOptions, Sharding};
use pumice_engine::{REGISTRY, Unobserved};
use pumice_fixtures::{ToDelta as _, node, pod, queue};
use pumice_record::{RecordedDecider, Tape, TapeEntry, block, header};
use serde_json::Value;

/// A moment, in seconds.
struct At(u64);

impl Clock for At {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0)
    }
}

fn options() -> DeciderOptions {
    DeciderOptions {
        default_queue: "default".to_owned(),
        ignored_provisioners: Vec::new(),
        period: Duration::from_secs(1),
        event_lifetime: Duration::from_secs(3600),
        sharding: Sharding::None,
        gang_deadline: Duration::ZERO,
        job_work_limit: None,
        full_check: Duration::from_secs(60),
        dry_run: false,
    }
}

/// Blocks of a decider that places a pod each second, one for each; the first has the configuration and two nodes.
fn blocks() -> Vec<Vec<u8>> {
    let (mut decider, start) = RecordedDecider::new(options(), &At(0));
    decider.record(true);
    let config = pumice_conf::parse(DEFAULT_CONF, &REGISTRY).config;
    decider.configure(&config.expect("valid"), Some(DEFAULT_CONF));
    decider.apply(vec![
        queue("root").delta(),
        queue("default").delta(),
        node("n1", "4c 8Gi pods=110").delta(),
        node("n2", "8c 8Gi pods=110").delta(),
    ]);
    decider.set_synced();
    decider.set_leader(true);
    let first = [start.bytes(), decider.take_tape()].concat();
    let mut blocks = vec![[header("a test", Duration::ZERO), block(&first)].concat()];
    for second in 1..=4 {
        decider.apply(vec![pod(&format!("p{second}"), "1c").delta()]);
        decider.step(&At(second), &mut Unobserved);
        decider.take_effects();
        blocks.push(block(&decider.take_tape()));
    }
    blocks
}

/// A file of these bytes in a folder of its own.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
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
    let other = block(&other.take());
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
}

#[test]
fn what_is_no_recording_is_said() {
    let path = file("none", b"apiVersion: v1\n");
    let (code, said) = report(&[], &path);
    assert_eq!(code, Some(2));
    assert!(said.to_string().contains("pumice record export"), "{said}");
}
