//! History in files that others read.

use std::path::Path;

use pumice_history::{HistoryRow, JobOutcome, SummaryKey, SummaryRow, WaitRow};

use super::csv;
use super::parquet;
use super::sheet::HistorySheet;
use super::table;
use super::times;

fn row(namespace: &str, user: &str) -> HistoryRow {
    let hours = [("cpu", 8.0), ("memory", 16.5), ("nvidia.com/gpu", 4.25)];
    HistoryRow {
        namespace: namespace.to_owned(),
        name: "train-7".to_owned(),
        uid: "6f9c".to_owned(),
        queue: "research".to_owned(),
        user: user.to_owned(),
        state: JobOutcome::Succeeded,
        submit_s: 1_793_000_000,
        start_s: Some(1_793_000_300),
        end_s: Some(1_793_003_900),
        waited_s: 300,
        waits: vec![
            WaitRow {
                reason: "no-node".to_owned(),
                seconds: 280,
                text: "the cluster is full".to_owned(),
            },
            WaitRow {
                reason: "gang".to_owned(),
                seconds: 20,
                text: String::new(),
            },
        ],
        held_s: 3_600,
        pods: 2,
        nodes: vec!["gpu-1".to_owned(), "gpu-2".to_owned()],
        nodes_at_once: 2,
        card_hours: 4.25,
        hours: hours.map(|(name, hours)| (name.to_owned(), hours)).into(),
        ..HistoryRow::default()
    }
}

fn rows() -> Vec<HistoryRow> {
    let waits = HistoryRow {
        name: "waits".to_owned(),
        state: JobOutcome::Waiting,
        start_s: None,
        end_s: None,
        ..row("default", "")
    };
    vec![row("default", "ada"), waits]
}

fn text(write: impl FnOnce(&mut Vec<u8>) -> anyhow::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("it is written");
    String::from_utf8(out).expect("a text")
}

#[test]
fn a_line_of_csv_has_all_of_a_job() {
    let written = text(|out| csv::write(out, &HistorySheet::of_rows(&rows())));
    let lines: Vec<&str> = written.split("\r\n").collect();
    assert_eq!(
        lines,
        [
            "namespace,job,uid,part,queue,user,state,submit,start,end,waited_seconds,waited_for,held_seconds,pods,evicted,nodes_at_once,nodes,card_hours,cpu_core_hours,memory_gib_hours,other_hours",
            "default,train-7,6f9c,0,research,ada,succeeded,2026-10-26T07:33:20Z,2026-10-26T07:38:20Z,2026-10-26T08:38:20Z,300,no-node=280;gang=20,3600,2,0,2,gpu-1;gpu-2,4.250000,8.000000,16.500000,nvidia.com/gpu=4.250000",
            "default,waits,6f9c,0,research,,waiting,2026-10-26T07:33:20Z,,,300,no-node=280;gang=20,3600,2,0,2,gpu-1;gpu-2,4.250000,8.000000,16.500000,nvidia.com/gpu=4.250000",
            "",
        ]
    );
}

/// Whoever may write PodGroups names a user as he likes: a spreadsheet computes none of it.
#[test]
fn no_cell_of_csv_is_a_formula() {
    for (said, cell) in [
        ("=1+2", "'=1+2"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        (
            "=HYPERLINK(\"http://x\",\"y\")",
            "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"",
        ),
        ("a,b", "\"a,b\""),
        ("a\nb", "\"a\nb\""),
        ("ada", "ada"),
    ] {
        assert_eq!(csv::quoted(said), cell, "{said}");
        let sheet = HistorySheet::of_rows(&[row("default", said)]);
        let written = text(|out| csv::write(out, &sheet));
        assert!(
            written.contains(&format!(",research,{cell},succeeded")),
            "{written}"
        );
    }
}

/// The file of the sample was read by others: see `docs/spec/14-history.md`.
#[test]
fn a_parquet_file_is_what_others_have_read() {
    let mut written = Vec::new();
    parquet::write(&mut written, &HistorySheet::of_rows(&rows())).expect("it is written");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/live/history/sample.parquet");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &written).expect("the sample");
    }
    let version = concat!("pumice ", env!("CARGO_PKG_VERSION")).as_bytes();
    assert!(written.windows(version.len()).any(|bytes| bytes == version));
    let sample = std::fs::read(&path).expect("the sample");
    assert!(
        sample == written,
        "other bytes: have them read again, then UPDATE_EXPECT=1"
    );
}

#[test]
fn a_table_has_a_line_a_job_and_one_a_sum() {
    let written = text(|out| table::rows(out, &rows()));
    let lines: Vec<&str> = written.lines().collect();
    assert!(lines[0].starts_with("JOB "), "{written}");
    assert!(
        lines[1].contains("default/train-7  research  ada   succeeded"),
        "{written}"
    );
    assert!(lines[1].ends_with("4.25        8.00"), "{written}");
    let sums = [("red", 1.0), ("", 9.0)].map(|(queue, card_hours)| SummaryRow {
        keys: vec![queue.to_owned()],
        jobs: 2,
        card_hours,
        ..SummaryRow::default()
    });
    let written = text(|out| table::sums(out, &[SummaryKey::Queue], &sums));
    let lines: Vec<&str> = written.lines().collect();
    assert!(
        lines[1].starts_with("-  "),
        "who used most is first: {written}"
    );
    assert_eq!(lines.last(), Some(&"10.00 card hours in all"));
}

#[test]
fn times_are_days_moments_and_how_long_ago() {
    let now = jiff::Timestamp::from_second(1_793_000_000).expect("a time");
    let read = |text: &str| times::second(text, now, "--from");
    for (text, at_s) in [
        ("2026-10-26", 1_792_972_800),
        ("2026-10-26T07:33:20Z", 1_793_000_000),
        ("7d", 1_793_000_000 - 7 * 86_400),
        ("90m", 1_793_000_000 - 5_400),
    ] {
        assert_eq!(read(text).ok(), Some(at_s), "{text}");
    }
    for text in ["", "yesterday", "-1h", "d", "2026-13-01", "99999999999999d"] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.contains("write a day such as 2026-11-01"), "{error}");
    }
}
