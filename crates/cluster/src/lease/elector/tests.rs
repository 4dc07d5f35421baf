use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::*;
use pumice_model::lag::RELEASE_PAUSE;
use pumice_scripted::{Answer, Seen, Server};

/// A Lease as an API server keeps it, with optimistic concurrency; `None` when there is none.
#[derive(Clone, Default)]
struct Store(Arc<Mutex<(Option<Value>, u64)>>);

impl Store {
    fn answer(&self, seen: &Seen) -> Answer {
        let mut guard = self.0.lock().unwrap();
        let (lease, version) = &mut *guard;
        let wanted = seen.body["metadata"]["resourceVersion"].as_str();
        let current = lease
            .as_ref()
            .and_then(|l| l["metadata"]["resourceVersion"].as_str());
        match (seen.method.as_str(), &lease) {
            ("GET" | "PUT", None) => return Answer::Json(404, status(404)),
            ("GET", Some(lease)) => return Answer::Json(200, lease.clone()),
            ("POST", Some(_)) => return Answer::Json(409, status(409)),
            ("PUT", Some(_)) if wanted != current => return Answer::Json(409, status(409)),
            _ => {}
        }
        *version += 1;
        let mut new = seen.body.clone();
        new["metadata"]["resourceVersion"] = json!(version.to_string());
        *lease = Some(new.clone());
        Answer::Json(200, new)
    }

    fn spec(&self) -> Value {
        let guard = self.0.lock().unwrap();
        guard
            .0
            .as_ref()
            .map_or(Value::Null, |lease| lease["spec"].clone())
    }

    fn holder(&self) -> String {
        self.spec()["holderIdentity"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn delete(&self) {
        self.0.lock().unwrap().0 = None;
    }

    fn edit(&self, edit: impl Fn(&mut Value)) {
        let mut guard = self.0.lock().unwrap();
        let (lease, version) = &mut *guard;
        let lease = lease.as_mut().expect("a lease");
        edit(lease);
        *version += 1;
        lease["metadata"]["resourceVersion"] = json!(version.to_string());
    }

    async fn server(&self) -> Server {
        let this = self.clone();
        Server::start(move |seen: &Seen| this.answer(seen)).await
    }
}

fn status(code: u16) -> Value {
    json!({"kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": "r"})
}

fn settings(identity: &str) -> ElectionSettings {
    ElectionSettings {
        lease_duration: Duration::from_secs(2),
        renew_deadline: Duration::from_millis(1400),
        retry_period: Duration::from_millis(300),
        ..ElectionSettings::new(identity)
    }
}

struct Candidate {
    term: TermWatch,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// A process that stands for election before it lists anything.
async fn candidate(server: &Server, identity: &str) -> Candidate {
    let (mut elector, term) = Elector::new(server.client(), settings(identity)).expect("valid");
    elector.look_before_lists().await;
    let (stop, stopped) = oneshot::channel::<()>();
    let task = tokio::spawn(elector.run(async {
        let _ = stopped.await;
    }));
    Candidate { term, stop, task }
}

#[tokio::test]
async fn the_first_makes_the_lease_and_the_second_stands_by() {
    let store = Store::default();
    let server = store.server().await;
    let mut first = candidate(&server, "a").await;
    first.term.leading().await;
    let spec = store.spec();
    assert_eq!(spec["holderIdentity"], "a");
    assert_eq!(spec["leaseDurationSeconds"], 2);
    assert_eq!(spec["leaseTransitions"], 0);
    let second = candidate(&server, "b").await;
    let looks = server.all("GET").len();
    server.until("GET", looks + 3).await;
    assert!(!second.term.is_leader());
    assert_eq!(store.holder(), "a");
    assert_eq!(server.all("POST").len(), 1);
}

#[tokio::test]
async fn a_holder_that_stops_gives_the_lease_back_and_the_standby_takes_it() {
    let store = Store::default();
    let server = store.server().await;
    let mut first = candidate(&server, "a").await;
    first.term.leading().await;
    store.edit(|lease| lease["metadata"]["labels"] = json!({"keep": "me"}));
    first.stop.send(()).expect("it runs");
    first.task.await.expect("it ends well");
    assert!(!first.term.is_leader());
    let spec = store.spec();
    assert_eq!(
        (&spec["holderIdentity"], &spec["leaseDurationSeconds"]),
        (&json!(""), &json!(1))
    );
    let mut second = candidate(&server, "b").await;
    second.term.leading().await;
    assert_eq!(store.spec()["leaseTransitions"], 1);
    let labels = store
        .0
        .lock()
        .unwrap()
        .0
        .as_ref()
        .map(|l| l["metadata"]["labels"].clone());
    assert_eq!(
        labels,
        Some(json!({"keep": "me"})),
        "what we do not know stays"
    );
}

#[tokio::test]
async fn a_standby_takes_what_is_given_back_after_a_pause_and_a_process_that_starts_then_at_once() {
    let store = Store::default();
    let server = store.server().await;
    let mut first = candidate(&server, "a").await;
    first.term.leading().await;
    let mut second = candidate(&server, "b").await;
    first.stop.send(()).expect("it runs");
    first.task.await.expect("it ends well");
    second.term.leading().await;
    let by = |who: &str| {
        let puts = server.all("PUT").into_iter();
        let mut of_it = puts.filter(|put| put.body["spec"]["holderIdentity"] == who);
        of_it.next().map(|put| put.at)
    };
    let (released, taken) = (by("").expect("released"), by("b").expect("taken"));
    assert!(taken - released >= RELEASE_PAUSE, "{:?}", taken - released);
    second.stop.send(()).expect("it runs");
    second.task.await.expect("it ends well");
    let looks = server.all("GET").len();
    let mut third = candidate(&server, "c").await;
    third.term.leading().await;
    assert_eq!(server.all("GET").len(), looks + 1);
}

#[tokio::test(start_paused = true)]
async fn the_first_look_holds_up_nobody_for_long() {
    let server = Server::start(|_: &Seen| Answer::Silence).await;
    let settings = ElectionSettings::new("a");
    let limit = settings.renew_deadline / 2;
    let (mut elector, _term) = Elector::new(server.client(), settings).expect("valid");
    let before = Instant::now();
    elector.look_before_lists().await;
    assert!(before.elapsed() < limit, "{:?}", before.elapsed());
}

#[tokio::test]
async fn a_candidate_that_is_stopped_while_it_takes_the_lease_gives_it_back() {
    let store = Store::default();
    let (stop, stopped) = oneshot::channel::<()>();
    let stop = Mutex::new(Some(stop));
    let of_server = store.clone();
    let server = Server::start(move |seen: &Seen| {
        let answer = of_server.answer(seen);
        let stop = match seen.method.as_str() {
            "POST" => stop.lock().unwrap().take(),
            _ => None,
        };
        stop.into_iter()
            .for_each(|stop| stop.send(()).expect("it runs"));
        answer
    });
    let server = server.await;
    let (elector, _term) = Elector::new(server.client(), settings("a")).expect("valid");
    let stopped = async {
        let _ = stopped.await;
    };
    elector.run(stopped).await;
    assert_eq!(store.spec()["holderIdentity"], "");
}

#[tokio::test]
async fn a_standby_follows_a_holder_that_crashed_but_not_before_its_lease_is_over() {
    let store = Store::default();
    let server = store.server().await;
    let mut first = candidate(&server, "a").await;
    first.term.leading().await;
    let mut second = candidate(&server, "b").await;
    server.until("GET", 4).await;
    first.task.abort();
    second.term.leading().await;
    assert!(
        !first.term.is_leader(),
        "the old term has ended before the new one began"
    );
    let puts = server.all("PUT");
    let by = |who: &str| {
        let mut puts = puts
            .iter()
            .filter(|put| put.body["spec"]["holderIdentity"] == who);
        puts.next_back().map(|put| put.at)
    };
    let last = by("a").unwrap_or_else(|| server.all("POST")[0].at);
    let taken = by("b").expect("taken by update");
    assert!(taken - last >= Duration::from_secs(2), "{:?}", taken - last);
}

#[tokio::test]
async fn a_holder_whose_renewals_fail_stops_at_its_deadline_and_comes_back() {
    let store = Store::default();
    let server = store.server().await;
    let mut only = candidate(&server, "a").await;
    only.term.leading().await;
    server.change(|_: &Seen| Answer::Json(500, status(500)));
    only.term.lost().await;
    assert!(!only.term.is_leader());
    let back = store.clone();
    server.change(move |seen: &Seen| back.answer(seen));
    only.term.leading().await;
    assert_eq!(store.holder(), "a");
}

#[tokio::test]
async fn a_change_by_others_does_not_cost_the_lease_but_another_holder_does() {
    let store = Store::default();
    let server = store.server().await;
    let mut only = candidate(&server, "a").await;
    only.term.leading().await;
    store.edit(|lease| lease["metadata"]["labels"] = json!({"x": "y"}));
    let renewals = server.all("PUT").len();
    server.until("PUT", renewals + 3).await;
    assert!(only.term.is_leader());
    store.edit(|lease| lease["spec"]["holderIdentity"] = json!("thief"));
    only.term.lost().await;
    assert_eq!(store.holder(), "thief");
}

#[tokio::test]
async fn a_deleted_lease_ends_the_term_and_is_made_again() {
    let store = Store::default();
    let server = store.server().await;
    let mut only = candidate(&server, "a").await;
    only.term.leading().await;
    store.delete();
    server.until("POST", 2).await;
    only.term.leading().await;
    assert_eq!(store.holder(), "a");
}

#[tokio::test]
async fn an_update_that_always_conflicts_is_not_tried_without_pause() {
    let store = Store::default();
    let server = store.server().await;
    let first = candidate(&server, "a").await;
    server.until("POST", 1).await;
    first.task.abort();
    store.edit(|lease| lease["spec"]["holderIdentity"] = json!(""));
    let refusing = store.clone();
    server.change(move |seen: &Seen| match seen.method.as_str() {
        "PUT" => Answer::Json(409, status(409)),
        _ => refusing.answer(seen),
    });
    let start = Instant::now();
    let _second = candidate(&server, "b").await;
    server.until("PUT", 4).await;
    let pauses = settings("b").retry_period / LOOKS_PER_PERIOD * 2;
    assert!(start.elapsed() >= pauses, "{:?}", start.elapsed());
}

#[tokio::test]
async fn invalid_settings_are_refused_before_anything_is_sent() {
    let store = Store::default();
    let server = store.server().await;
    let mut bad = settings("a");
    bad.renew_deadline = bad.lease_duration;
    let error = Elector::new(server.client(), bad)
        .map(|_| ())
        .expect_err("refused");
    assert!(
        error.to_string().contains("--leader-elect-lease-duration"),
        "{error}"
    );
}

#[test]
fn a_stamp_differs_from_the_one_it_replaces() {
    let now = MicroTime(Timestamp::now());
    let same =
        (0..1000).find(|_| fresh_stamp(Some(&now)).0.as_microsecond() == now.0.as_microsecond());
    assert_eq!(same, None);
}
