use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tracing_subscriber::fmt::MakeWriter;

use super::{Every, LevelHandle, LogFormat, subscriber};
use crate::level_socket::{SOCKET_NAME, SocketError, serve_level};

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("the paper").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Paper {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Paper {
    fn text(&self) -> String {
        let bytes = self.0.lock().expect("the paper").clone();
        String::from_utf8(bytes).expect("UTF-8")
    }
}

/// What is logged by `say` at a verbosity.
fn logged(format: LogFormat, verbosity: u32, say: impl FnOnce()) -> String {
    let paper = Paper::default();
    let (subscriber, _level) = subscriber(format, verbosity, paper.clone());
    tracing::subscriber::with_default(subscriber, say);
    paper.text()
}

fn say_everything() {
    tracing::info!("i");
    tracing::debug!("d");
    tracing::trace!("t");
    tracing::warn!(target: "kube_client", "w");
    tracing::info!(target: "kube_client", "li");
    tracing::debug!(target: "kube_client", "ld");
    tracing::trace!(target: "kube_client", "lt");
    tracing::error!(target: "kube_client::client::builder", "e");
}

#[test]
fn the_verbosity_decides_which_lines_are_shown() {
    for (verbosity, expected) in [
        (0, "i w"),
        (3, "i w"),
        (4, "i d w"),
        (5, "i d t w li e"),
        (7, "i d t w li e"),
        (8, "i d t w li ld e"),
        (10, "i d t w li ld lt e"),
        (u32::MAX, "i d t w li ld lt e"),
    ] {
        let text = logged(LogFormat::Klog, verbosity, say_everything);
        let messages: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once("] ").map(|(_, message)| message))
            .collect();
        assert_eq!(messages.join(" "), expected, "-v={verbosity}");
    }
}

#[test]
fn the_verbosity_changes_while_the_program_runs() {
    let paper = Paper::default();
    let (subscriber, level) = subscriber(LogFormat::Klog, 3, paper.clone());
    tracing::subscriber::with_default(subscriber, || {
        tracing::debug!("before");
        level.set(4).expect("logging is on");
        tracing::debug!("while");
        level.set(2).expect("logging is on");
        tracing::debug!("after");
    });
    assert_eq!(level.get(), 2);
    let text = paper.text();
    assert!(text.contains("while") && !text.contains("before") && !text.contains("after"));
}

#[test]
fn a_line_looks_like_one_of_klog() {
    let pid = std::process::id();
    let text = logged(LogFormat::Klog, 3, || {
        tracing::warn!(kind = "pods", count = 3, error = %"no such \"thing\"", "watch ended");
    });
    let (time, rest) = text.split_at(21);
    assert!(time.starts_with('W') && time[1..5].bytes().all(|byte| byte.is_ascii_digit()));
    assert_eq!((&time[5..6], &time[8..9], &time[14..15]), (" ", ":", "."));
    let expected = format!(
        " {pid:>7} pumice_admin::log::tests] watch ended kind=\"pods\" count=3 \
         error=\"no such \\\"thing\\\"\"\n"
    );
    assert_eq!(rest, expected);
}

#[test]
fn an_event_has_one_head_and_is_of_bounded_length() {
    let text = logged(LogFormat::Klog, 3, || {
        let bad = "a\nI0101 forged\r\u{1b}[31m";
        tracing::info!(name = bad, shown = ?bad, other = %bad, "{bad}");
        tracing::info!("{}", "ä".repeat(100_000));
    });
    let heads = text.lines().filter(|line| line.starts_with('I'));
    assert_eq!(heads.count(), 2, "{text}");
    assert!(
        text.contains("] a\n    I0101 forged\\r\\u{1b}[31m name="),
        "{text}"
    );
    assert!(!text.contains(['\r', '\u{1b}']));
    assert!(text.lines().all(|line| line.len() < 9_000));
    assert!(text.ends_with("… (cut)\n"));
}

#[test]
fn a_picture_of_several_lines_can_be_read() {
    let text = logged(LogFormat::Klog, 3, || {
        tracing::error!("not valid:\nerror: x\n  | ^\n");
    });
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with("not valid:"), "{text}");
    assert_eq!(lines[1..], ["    error: x", "      | ^"]);
}

#[test]
fn json_lines_have_message_and_fields_at_the_top() {
    let text = logged(LogFormat::Json, 3, || {
        tracing::info!(kind = "pods", "opened")
    });
    let line: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
    assert_eq!(line["message"], "opened");
    assert_eq!(line["kind"], "pods");
    assert_eq!(line["level"], "INFO");
}

#[test]
fn a_message_passes_once_a_period_with_the_number_left_out() {
    let every = Every::new(Duration::from_secs(60));
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(every.admit_at("a", at(0)), Some(0));
    assert_eq!(every.admit_at("b", at(0)), Some(0));
    assert_eq!(every.admit_at("a", at(1)), None);
    assert_eq!(every.admit_at("a", at(59)), None);
    assert_eq!(every.admit_at("a", at(60)), Some(2));
    assert_eq!(every.admit_at("a", at(61)), None);
}

#[test]
fn a_message_is_said_with_the_number_of_those_left_out_before_it() {
    let every = Every::new(Duration::from_secs(60));
    let text = logged(LogFormat::Json, 3, || {
        for _ in 0..3 {
            if let Some(suppressed) = every.admit("watch pods") {
                tracing::warn!(suppressed, "the watch of pods ended");
            }
        }
    });
    let line: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
    assert_eq!(line["suppressed"], 0, "{text}");
}

#[test]
fn too_many_keys_share_one_place_until_old_ones_are_out_of_date() {
    let every = Every::new(Duration::from_secs(60));
    let start = Instant::now();
    let admitted = (0..5_000)
        .filter(|key| every.admit_at(&key.to_string(), start).is_some())
        .count();
    assert_eq!(admitted, 1_025);
    let later = start + Duration::from_secs(60);
    assert_eq!(every.admit_at("new", later), Some(0));
}

/// A level that only counts.
fn level(verbosity: u32) -> LevelHandle {
    LevelHandle::new(verbosity, |_| Ok(()))
}

#[tokio::test(start_paused = true)]
async fn a_level_for_a_while_returns_to_the_one_before() {
    let level = level(3);
    level.set_for(5, Duration::from_secs(10)).expect("set");
    level.set_for(6, Duration::from_secs(60)).expect("set");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(level.get(), 6, "the first timer was overtaken");
    tokio::time::sleep(Duration::from_secs(50)).await;
    assert_eq!(level.get(), 3);
    level.set_for(9, Duration::from_secs(10)).expect("set");
    level.set(4).expect("set");
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(level.get(), 4, "a lasting change ends the wait");
}

#[tokio::test]
async fn a_level_that_cannot_be_applied_stays() {
    let level = LevelHandle::new(3, |_| Err(String::from("gone")));
    let error = level.set(4).expect_err("refused");
    assert_eq!(error.to_string(), "the log level cannot be changed: gone");
    assert_eq!(level.get(), 3);
}

/// Status and body of a request over the socket.
async fn ask(socket: &Path, request: &str) -> (u16, String) {
    let mut stream = tokio::net::UnixStream::connect(socket).await.expect("open");
    let head = format!("{request} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let status = answer[9..12].parse().expect("a status");
    let body = answer.split_once("\r\n\r\n").expect("a body").1;
    (status, body.to_owned())
}

#[tokio::test]
async fn the_socket_tells_and_changes_the_level() {
    let folder = tempfile::tempdir().expect("a folder");
    let level = level(3);
    let directory = folder.path().join("klog-socks");
    let socket = serve_level(&directory, level.clone()).expect("a socket");
    let path = socket.path().to_owned();
    let told = ask(&path, "GET /getlevel").await;
    assert_eq!(told, (200, String::from("Current klog log level: 3\n")));

    let changed = ask(&path, "GET /setlevel?level=5&duration=1h30m").await;
    let text = "the klog log level is 5 for 5400s\n";
    assert_eq!(changed, (200, String::from(text)));
    assert_eq!(level.get(), 5);

    for query in [
        "",
        "?level=5",
        "?duration=1m",
        "?level=0&duration=1m",
        "?level=-1&duration=1m",
        "?level=five&duration=1m",
        "?level=5&duration=0s",
        "?level=5&duration=-1m",
        "?level=5&duration=1",
        "?level=%zz&duration=1m",
    ] {
        let (status, text) = ask(&path, &format!("GET /setlevel{query}")).await;
        assert_eq!(status, 400, "{query}");
        assert!(text.contains("example: curl --unix-socket"), "{query}");
    }
    assert_eq!(level.get(), 5);
}

#[tokio::test]
async fn the_socket_is_closed_to_others_and_goes_with_its_owner() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("a/b");
    let mode = |path: &Path| {
        let metadata = std::fs::symlink_metadata(path).expect("it exists");
        metadata.permissions().mode() & 0o777
    };
    let first = serve_level(&directory, level(3)).expect("a socket");
    let path = first.path().to_owned();
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&directory), 0o750);
    drop(first);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_socket_left_over_is_replaced_and_another_file_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(SOCKET_NAME);
    drop(std::os::unix::net::UnixListener::bind(&path).expect("left over"));
    let socket = serve_level(folder.path(), level(3)).expect("replaced");
    assert_eq!(ask(&path, "GET /getlevel").await.0, 200);
    drop(socket);

    std::fs::write(&path, "data").expect("a file");
    let refused = serve_level(folder.path(), level(3));
    assert!(matches!(refused, Err(SocketError::Occupied(_))));
    assert_eq!(std::fs::read(&path).expect("still there"), b"data");
}
