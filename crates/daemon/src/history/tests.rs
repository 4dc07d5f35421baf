//! What is kept in a directory, and what is told of it.

use std::collections::BTreeSet;
use std::path::Path;

use pumice_admin::http::HistoryAsk;
use pumice_fixtures::{BuildPod as _, ToDelta as _, node, pod, queue};
use pumice_history::{BookNews, HistoryBook, JobDoing, JobSight, SummaryKey};

use pumice_model::Delta;

use super::page::{HistoryAnswer, HistoryQuestion, question};
use super::store::HistoryStore;
use super::*;

/// Bytes that are enough for all.
const ROOM: u64 = 1 << 30;
const DAY_S: i64 = 24 * 3600;

fn shelf(folder: &Path, size: u64, age_s: i64) -> HistoryShelf {
    HistoryShelf::new(HistoryStore::open(folder, size, age_s).expect("a store"))
}

fn look<'a>(uid: &'a str, namespace: &'a str, user: &'a str, gpus: u64) -> JobSight<'a> {
    JobSight {
        uid,
        namespace,
        name: uid,
        queue: "red",
        user,
        created_s: 0,
        doing: match gpus {
            0 => JobDoing::Waits {
                reason: "no-node",
                text: "no room",
            },
            _ => JobDoing::Runs,
        },
        needs: 1,
        pods: usize::from(gpus > 0),
        nodes: BTreeSet::from(["n1"]),
        held: vec![("nvidia.com/gpu", 1_000 * gpus)],
        arrivals: Vec::new(),
    }
}

/// Jobs that wait for 100 s and hold a GPU for 3,600 s, a minute apart, and end.
fn ended(jobs: &[(&str, &str, &str)]) -> BookNews {
    let mut book = HistoryBook::default();
    for (at, (uid, namespace, user)) in jobs.iter().enumerate() {
        let from_s = at as i64 * 60;
        for (at_s, gpus) in [(from_s, 0), (from_s + 100, 1)] {
            let look = JobSight {
                created_s: from_s,
                ..look(uid, namespace, user, gpus)
            };
            book.look(at, &look, at_s);
        }
        book.gone(at);
        book.end_pass(from_s + 3_700);
    }
    book.take()
}

fn open(uid: &str, at_s: i64) -> BookNews {
    let mut book = HistoryBook::default();
    book.look(0, &look(uid, "default", "", 1), at_s);
    book.end_pass(at_s);
    book.take()
}

fn asked(shelf: &HistoryShelf, now_s: i64, ask: HistoryAsk) -> HistoryAnswer {
    let question = question(&ask, now_s).expect("a question");
    shelf.answer(&question, now_s).expect("an answer")
}

/// Names and card seconds of all rows, page by page.
fn all(shelf: &HistoryShelf, now_s: i64) -> Vec<(String, i64)> {
    let mut told = Vec::new();
    let mut question = question(&HistoryAsk::default(), now_s).expect("a question");
    loop {
        let answer = shelf.answer(&question, now_s).expect("an answer");
        let rows = answer.rows.iter();
        told.extend(rows.map(|row| (row.name.clone(), (row.card_hours * 3600.0).round() as i64)));
        question.after = answer.next;
        if question.after.is_none() {
            return told;
        }
    }
}

/// Card seconds of all that is summed up.
fn sum(shelf: &HistoryShelf, now_s: i64, namespace: &str) -> i64 {
    let answer = asked(
        shelf,
        now_s,
        HistoryAsk {
            by: "queue".to_owned(),
            namespace: namespace.to_owned(),
            ..HistoryAsk::default()
        },
    );
    let hours: f64 = answer.sums.iter().map(|sum| sum.card_hours).sum();
    (hours * 3600.0).round() as i64
}

#[test]
fn what_is_kept_is_told_after_a_restart_and_what_goes_on_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = shelf(folder.path(), ROOM, DAY_S);
    let mut news = ended(&[("a", "one", "ada"), ("b", "two", "")]);
    news.open = open("c", 1_000).open;
    first.keep(news, 5_000).expect("it is kept");
    assert_eq!(
        all(&first, 5_000),
        [
            ("c".to_owned(), 4_000),
            ("a".to_owned(), 3_600),
            ("b".to_owned(), 3_600)
        ]
    );
    drop(first);
    let store = HistoryStore::open(folder.path(), ROOM, DAY_S).expect("a store");
    let before = store.resume().expect("what was before");
    assert_eq!((before.len(), before[0].as_of_s), (1, 5_000));
    let mut book = HistoryBook::default();
    book.resume(before);
    book.look(7, &look("c", "default", "", 0), 6_000);
    book.end_pass(6_000);
    let second = HistoryShelf::new(store);
    second.keep(book.take(), 6_000).expect("it is kept");
    assert_eq!(all(&second, 6_000)[0], ("c".to_owned(), 4_000));
    assert_eq!(sum(&second, 6_000, ""), 4_000 + 2 * 3_600);
    let one = asked(
        &second,
        6_000,
        HistoryAsk {
            namespace: "one".to_owned(),
            ..HistoryAsk::default()
        },
    );
    assert_eq!((one.rows.len(), one.rows[0].user.as_str()), (1, "ada"));
    assert_eq!(one.rows[0].waits[0].text, "no room");
}

/// Somebody makes jobs without end in a namespace: their oldest records go, nobody else's, and what they held stays in the
/// sums.
#[test]
fn who_makes_many_jobs_crowds_out_records_of_that_namespace_alone_and_no_sum() {
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = shelf(folder.path(), 100_000, 365 * DAY_S);
    shelf
        .keep(ended(&[("a", "one", ""), ("b", "one", "")]), 100)
        .expect("it is kept");
    let names: Vec<String> = (0..2_000).map(|at| format!("flood-{at:04}")).collect();
    let users: Vec<String> = (0..2_000).map(|at| format!("user-{at}")).collect();
    let jobs: Vec<(&str, &str, &str)> = names
        .iter()
        .zip(&users)
        .map(|(name, user)| (name.as_str(), "two", user.as_str()))
        .collect();
    for part in jobs.chunks(500) {
        shelf.keep(ended(part), 200).expect("it is kept");
    }
    let told = all(&shelf, 10 * DAY_S);
    let of_flood = told.iter().filter(|(name, _)| name.starts_with("flood"));
    let kept = of_flood.count();
    assert!((50..1_000).contains(&kept), "{kept}");
    assert_eq!(told.len(), kept + 2);
    assert_eq!(told.last(), Some(&("flood-1999".to_owned(), 3_600)));
    assert_eq!(sum(&shelf, 10 * DAY_S, "two"), 2_000 * 3_600);
    assert_eq!(sum(&shelf, 10 * DAY_S, "one"), 2 * 3_600);
    // Names that somebody thinks up make no sums without end.
    let by = HistoryQuestion {
        by: vec![SummaryKey::User],
        ..question(&HistoryAsk::default(), 10 * DAY_S).expect("a question")
    };
    let sums = shelf.answer(&by, 10 * DAY_S).expect("an answer").sums;
    assert!(
        sums.len() < kept + 200,
        "{} sums, {kept} records",
        sums.len()
    );
}

#[test]
fn what_is_too_old_goes_with_the_sums_of_its_days() {
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = shelf(folder.path(), 2_000, 3 * DAY_S);
    let names: Vec<String> = (0..50).map(|at| format!("j{at}")).collect();
    let jobs: Vec<(&str, &str, &str)> = names
        .iter()
        .map(|name| (name.as_str(), "one", ""))
        .collect();
    shelf.keep(ended(&jobs), 1_000).expect("it is kept");
    assert!(all(&shelf, 9_000).len() < 50);
    assert_eq!(sum(&shelf, 9_000, ""), 50 * 3_600);
    shelf
        .keep(BookNews::default(), 10 * DAY_S)
        .expect("it is kept");
    assert_eq!(all(&shelf, 10 * DAY_S), []);
    assert_eq!(sum(&shelf, 10 * DAY_S, ""), 0);
}

#[test]
fn many_rows_come_in_parts_each_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let shelf = shelf(folder.path(), ROOM, DAY_S);
    let names: Vec<String> = (0..1_700).map(|at| format!("j{at:04}")).collect();
    let namespaces = ["a", "b", "c"];
    let jobs = names.iter().enumerate();
    let jobs: Vec<(&str, &str, &str)> = jobs
        .map(|(at, name)| (name.as_str(), namespaces[at % 3], ""))
        .collect();
    shelf.keep(ended(&jobs), 1_000).expect("it is kept");
    let mut told: Vec<String> = all(&shelf, 2 * DAY_S)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    told.sort();
    assert!(told == names, "{} of {}", told.len(), names.len());
}

#[test]
fn a_store_that_cannot_be_used_is_told_and_nothing_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").expect("a file");
    let broken = folder.path().join("broken");
    std::fs::create_dir(&broken).expect("a folder");
    std::fs::write(broken.join("history.redb"), "no database").expect("a file");
    for (folder, says) in [
        (Some(file), "cannot be used"),
        (Some(broken), "cannot be used"),
        (None, "see --history-dir"),
    ] {
        let bounds = HistoryBounds {
            folder,
            size: ROOM,
            age: Duration::from_secs(3600),
        };
        let (_, shelf) = start(&bounds);
        let question = question(&HistoryAsk::default(), 0).expect("a question");
        let why = shelf.answer(&question, 0).expect_err("nothing is kept");
        assert!(why.contains(says), "{why}");
    }
}

#[test]
fn what_is_wrong_with_a_question_is_said() {
    for (ask, says) in [
        (
            HistoryAsk {
                by: "queue,colour".to_owned(),
                ..HistoryAsk::default()
            },
            "by=colour: write queue, user, namespace or day, with commas between",
        ),
        (
            HistoryAsk {
                shown: "lost".to_owned(),
                ..HistoryAsk::default()
            },
            "shown=lost: write all, waiting, running or ended",
        ),
        (
            HistoryAsk {
                after: "{".to_owned(),
                ..HistoryAsk::default()
            },
            "after: write what `next` of the answer before says",
        ),
    ] {
        assert_eq!(question(&ask, 0).expect_err("it is wrong"), says);
    }
}

/// From what an engine decides to what is told, by way of the thread that keeps it, and another process after it.
#[test]
fn what_an_engine_does_is_kept_by_another_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let bounds = HistoryBounds {
        folder: Some(folder.path().to_owned()),
        size: ROOM,
        age: Duration::from_secs(90 * 24 * 3600),
    };
    let config = pumice_conf::parse(pumice_conf::DEFAULT_CONF, &pumice_engine::REGISTRY);
    let config = config.config.expect("the built-in configuration is valid");
    let run = |cycles: &[i64], gone: bool| {
        let (mut feed, shelf) = start(&bounds);
        let mut engine = pumice_engine::Engine::new(&config, "default");
        feed.begin(&mut engine);
        feed.hand_over(&mut engine, Duration::from_secs(1), true);
        let deltas = [
            queue("default").delta(),
            node("n1", "4c 8Gi pods=9 nvidia.com/gpu=8").delta(),
            pod("p", "1c nvidia.com/gpu=2")
                .uid("u")
                .created_s(1_000)
                .delta(),
        ];
        deltas.into_iter().for_each(|delta| engine.apply(delta));
        if cycles[0] > 1_000 {
            let bound = pod("p", "1c nvidia.com/gpu=2").uid("u").created_s(1_000);
            engine.apply(bound.on("n1").scheduled_s(1_000).delta());
        }
        for now_s in cycles {
            engine.cycle(*now_s);
        }
        if gone {
            engine.apply(Delta::PodDelete("u".to_owned()));
            engine.cycle(5_000);
        }
        feed.hand_over(&mut engine, Duration::from_secs(5_000), true);
        drop(feed);
        let answer = asked(&shelf, 5_000, HistoryAsk::default());
        assert_eq!((answer.rows.len(), answer.lost), (1, 0), "{answer:?}");
        (
            answer.rows[0].card_hours * 3600.0,
            answer.rows[0].state.name(),
        )
    };
    assert_eq!(run(&[1_000, 2_000], false), (2.0 * 4_000.0, "running"));
    assert_eq!(run(&[4_000], true), (2.0 * 4_000.0, "deleted"));
}
