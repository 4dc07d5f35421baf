//! `pumice history` against a scheduler in memory.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

fn row(name: &str) -> Value {
    json!({"namespace": "default", "name": name, "uid": name, "queue": "red", "user": "=1+1", "state": "running",
        "submitS": 1_793_000_000, "startS": 1_793_000_060, "waitedS": 60,
        "waits": [{"reason": "no-node", "seconds": 60}], "heldS": 3600, "pods": 1,
        "nodes": ["n1"], "nodesAtOnce": 1, "cardHours": 2.0, "hours": {"nvidia.com/gpu": 2.0}})
}

/// A scheduler in memory, and what it was asked.
struct ToldScheduler {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

/// One that answers what it is asked by a first line.
fn scheduler(answer: impl Fn(&str) -> (u16, String) + Send + 'static) -> ToldScheduler {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let mut head = [0; 8192];
            let length = stream.read(&mut head).expect("a request");
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let line = head.lines().next().unwrap_or_default().to_owned();
            let (status, text) = answer(&line);
            log.lock().expect("no panic").push(line);
            let length = text.len();
            let head = format!(
                "HTTP/1.1 {status} X\r\nServer: pumice-scheduler/0\r\nContent-Length: {length}\r\n\r\n"
            );
            let _ = stream.write_all((head + &text).as_bytes());
        }
    });
    ToldScheduler { url, asked }
}

/// Two answers with a job each, the second where the first says that there is more.
fn in_two_parts() -> ToldScheduler {
    scheduler(|line| {
        let is_second = line.contains("after=%7B%22open%22%3A%22a%22%7D");
        let part = match is_second {
            false => json!({"asOfS": 1, "rows": [row("a")], "next": {"open": "a"}, "lost": 0}),
            true => json!({"asOfS": 1, "rows": [row("b")], "next": null, "lost": 3}),
        };
        (200, part.to_string())
    })
}

fn run(scheduler: &ToldScheduler, words: &str) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_pumice"))
        .arg("history")
        .args(words.split_whitespace())
        .args(["--server", &scheduler.url])
        .output();
    output.expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn all_parts_of_an_answer_are_in_each_format() {
    let server = in_two_parts();
    let table = run(&server, "--from 2026-10-01 --to 2026-11-01");
    let (out, error) = (text(&table.stdout), text(&table.stderr));
    assert_eq!(table.status.code(), Some(0), "{error}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    assert!(
        lines[1].starts_with("default/a  red") && lines[2].starts_with("default/b"),
        "{out}"
    );
    assert!(
        error.contains("note: 3 records of jobs were lost"),
        "{error}"
    );
    let asked = server.asked.lock().expect("no panic")[0].clone();
    for part in ["/debug/history?from=1790812800", "until=1793491200"] {
        assert!(asked.contains(part), "{asked}");
    }

    let csv = text(&run(&server, "--from 2026-10-01 -o csv").stdout);
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.contains(",red,'=1+1,running,"), "{csv}");

    let document: Value =
        serde_json::from_slice(&run(&server, "--from 2026-10-01 --to 2026-11-01 -o json").stdout)
            .expect("JSON");
    assert_eq!(document["from"], "2026-10-01T00:00:00Z");
    assert_eq!(document["jobs"][1]["name"], "b");

    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("history.parquet");
    let _ = std::fs::remove_file(&file);
    let words = format!("--from 2026-10-01 -o parquet --file {}", file.display());
    assert_eq!(run(&server, &words).status.code(), Some(0));
    let bytes = std::fs::read(&file).expect("a file");
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let again = run(&server, &words);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("history.parquet"),
        "{}",
        text(&again.stderr)
    );
}

#[test]
fn a_job_that_is_named_is_told_in_lines() {
    let out = text(&run(&in_two_parts(), "default/a --from 2026-10-01").stdout);
    for line in [
        "default/a running\n",
        "  waited    60s no-node\n",
        "  held      for 60m\n",
        "            2.000 h of nvidia.com/gpu\n",
        "  nodes     n1\n",
    ] {
        assert!(out.contains(line), "{line}:\n{out}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let refuses = scheduler(|_| {
        let why =
            "no answer at the moment: no history is kept: see --history-dir of the scheduler\n";
        (503, why.to_owned())
    });
    for (words, says) in [
        ("", "see --history-dir of the scheduler"),
        ("-o parquet", "add --file FILE"),
        ("--from soon", "write a day such as 2026-11-01"),
        ("--from 1h --to 2h", "--from 1h is not before --to 2h"),
    ] {
        let output = run(&refuses, words);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(says), "{words}: {error}");
    }
}
