use std::sync::RwLock;

use pumice_conf::{DEFAULT_CONF, parse};
use pumice_engine::{Engine, REGISTRY, ViewSnapshot};
use pumice_fixtures::Cluster;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::*;
use crate::admin_api::KeptPast;
use crate::clock::DeciderClock;
use crate::copied_answers::Questions;
use crate::history::HistoryShelf;
use crate::journal::{Journal, JournalEviction};
use crate::recording::MemoryRing;
use crate::requests::{CopiedGround, DecideRequest, NoView, Standby};
use crate::shared_copy::{SharedCopy, TakenSnapshot};

/// What a deciding thread does with questions.
#[derive(Clone, Copy, PartialEq)]
enum Thread {
    Answers,
    StandsBy,
    Starts,
    IsBusy,
}

fn core(thread: Thread) -> mpsc::Sender<DecideRequest> {
    let (sender, mut asked) = mpsc::channel(8);
    std::thread::spawn(move || {
        let config = parse(DEFAULT_CONF, &REGISTRY).config.expect("valid");
        let mut engine = Engine::new(&config, "default");
        let objects = Cluster::of("node n1 1c 8Gi pods=9\ngroup w\npod b 1c group:w").0;
        objects.into_iter().for_each(|delta| engine.apply(delta));
        engine.cycle(0);
        let mut held = Vec::new();
        while let Some(request) = asked.blocking_recv() {
            match (thread, request) {
                (Thread::IsBusy, request) => held.push(request),
                (Thread::Starts, DecideRequest::Snapshot(reply)) => {
                    drop(reply.send(Err(NoView::NotNow("the lists".to_owned()))));
                }
                (Thread::StandsBy, DecideRequest::Snapshot(reply)) => {
                    drop(reply.send(Err(NoView::StandsBy)));
                }
                (_, DecideRequest::Snapshot(reply)) => {
                    let snapshot = ViewSnapshot::of(&mut engine);
                    let took = Duration::ZERO;
                    drop(reply.send(Ok(Box::new(TakenSnapshot { snapshot, took }))));
                }
                (_, DecideRequest::Fork(reply)) => {
                    let leader = Some("other_1".to_owned());
                    drop(reply.send(Ok(Box::new(CopiedGround {
                        fork: engine.fork(),
                        config: config.clone(),
                        now_s: 1,
                        standby: Some(Standby { leader }),
                    }))));
                }
                _ => {}
            }
        }
    });
    sender
}

fn source(runtime: &Runtime, thread: Thread) -> OwnSource {
    let api = AdminApi {
        status: Arc::default(),
        in_use: Arc::new(RwLock::new(None)),
        journal: Arc::new(Journal::default()),
        beside: None,
        core: core(thread),
        dumping: Default::default(),
        shared_copy: SharedCopy::default(),
        questions: Questions::new(Duration::from_secs(1)),
        kept: KeptPast {
            recording: Arc::new(MemoryRing::new(0)),
            history: Arc::new(HistoryShelf::closed(String::new())),
        },
        asking_history: Default::default(),
        clock: DeciderClock::start(),
    };
    OwnSource {
        api: Arc::new(api),
        runtime: runtime.handle().clone(),
        of: "scheduler-0".to_owned(),
        standby: None,
        unanswered: false,
    }
}

fn runtime(is_paused: bool) -> Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let builder = builder.enable_all().start_paused(is_paused);
    builder.build().expect("a runtime")
}

#[test]
fn it_tells_what_the_deciding_thread_sees_and_what_is_not_there() {
    let runtime = runtime(false);
    let mut source = source(&runtime, Thread::Answers);
    let View::Nodes(nodes) = source.ask(&Ask::Nodes).expect("a view") else {
        panic!("another view");
    };
    assert_eq!(nodes.total, 1);
    let absent = source.ask(&Ask::Node("n9".to_owned()));
    assert!(absent.expect_err("no such node").contains("n9"));
    let standing = source.standing();
    assert_eq!(
        (standing.of.as_str(), standing.note.as_str()),
        ("scheduler-0", "")
    );
    assert!(!standing.unanswered && standing.is_live);
    assert_eq!(standing.plans, PlansAsked::ByCommand);
}

#[test]
fn who_stands_by_says_so_and_shows_what_it_would_decide() {
    let runtime = runtime(false);
    let mut source = source(&runtime, Thread::StandsBy);
    let View::Nodes(nodes) = source.ask(&Ask::Nodes).expect("a view") else {
        panic!("another view");
    };
    assert_eq!(nodes.total, 1);
    let standing = source.standing();
    assert!(standing.note.contains("stands by") && standing.note.contains("other_1 leads"));
    assert!(standing.as_of.is_some() && !standing.unanswered);
}

#[test]
fn who_stands_by_tells_of_no_past_since_it_has_decided_nothing() {
    let runtime = runtime(false);
    let ask_of = |thread: Thread, ask: Ask| source(&runtime, thread).ask(&ask).expect("a view");
    let job = Ask::Job {
        namespace: "ns".to_owned(),
        name: "w".to_owned(),
    };
    for (thread, tells) in [(Thread::Answers, true), (Thread::StandsBy, false)] {
        let View::Top(top) = ask_of(thread, Ask::Top) else {
            panic!("another view");
        };
        assert_eq!(top.cluster.last_hour.is_some(), tells);
        let View::Job(job) = ask_of(thread, job.clone()) else {
            panic!("another view");
        };
        assert_eq!(!job.timeline.is_empty(), tells);
    }
}

#[test]
fn where_nothing_is_known_yet_that_is_told_and_nothing_is_called_absent() {
    let runtime = runtime(false);
    let mut source = source(&runtime, Thread::Starts);
    assert_eq!(source.ask(&Ask::Top).err().as_deref(), Some("the lists"));
    assert!(source.standing().unanswered);
}

#[test]
fn who_looks_while_the_deciding_thread_is_busy_waits_a_few_seconds_at_most() {
    let runtime = runtime(true);
    let mut source = source(&runtime, Thread::IsBusy);
    let asks = std::thread::spawn(move || (source.ask(&Ask::Top).err(), source));
    runtime.block_on(async {
        while !asks.is_finished() {
            tokio::time::sleep(LIMIT).await;
        }
    });
    let (why, mut source) = asks.join().expect("no panic");
    let why = why.expect("no answer");
    assert!(why.contains("has not answered within 5s"), "{why}");
    assert!(source.standing().unanswered);
}

#[test]
fn decisions_are_told_newest_first() {
    let runtime = runtime(false);
    let mut source = source(&runtime, Thread::Answers);
    let entry = |pod: &str, eviction| JournalEntry {
        time: "2026-01-31T12:00:00Z".to_owned(),
        cycle: 7,
        pod: pod.to_owned(),
        uid: "u".to_owned(),
        node: "n1".to_owned(),
        group: String::new(),
        eviction,
    };
    source.api.journal.add(entry("ns/a", None));
    let eviction = JournalEviction {
        action: "reclaim",
        evicted_for: Some("ns/c".to_owned()),
        cards: Vec::new(),
    };
    source.api.journal.add(entry("ns/b", Some(eviction)));
    let told = source.decisions().expect("decisions");
    let told: Vec<_> = told
        .iter()
        .map(|one| {
            (
                one.pod.as_str(),
                one.action.as_str(),
                one.evicted_for.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [("ns/b", "reclaim", Some("ns/c")), ("ns/a", "", None)]
    );
}
