use jiff::Timestamp;

use super::*;
use crate::effects::coalesce::Finish;
use crate::effects::correlate::EventRecord;
use crate::effects::event;

fn scheduled(about: ObjectRef) -> Write {
    Write::Event {
        about,
        warning: false,
        reason: "Scheduled".to_owned(),
        message: "Successfully assigned ns/p to n1".to_owned(),
    }
}

#[tokio::test]
async fn an_event_has_the_fields_kubectl_shows() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench.written([scheduled(pod().object())]).await;
    assert_eq!(bench.server.lines(), ["POST /api/v1/namespaces/ns/events"]);
    let body = &bench.server.log()[0].body;
    let object = json!({
        "apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "p", "uid": "u1",
    });
    assert_eq!(body["involvedObject"], object);
    assert_eq!(body["type"], "Normal");
    assert_eq!(body["source"], json!({"component": "volcano"}));
    assert_eq!(body["count"], 1);
    assert_eq!(body["firstTimestamp"], body["lastTimestamp"]);
    let name = body["metadata"]["name"].as_str().expect("a name");
    let hex = name.strip_prefix("p.").expect("the object's name first");
    assert!(u64::from_str_radix(hex, 16).is_ok(), "{name}");
}

#[tokio::test]
async fn an_event_of_an_object_without_namespace_lives_in_default() {
    let bench = Bench::new(|_| Answer::ok()).await;
    let mut queue = group();
    queue.namespace.clear();
    bench.written([scheduled(queue)]).await;
    assert_eq!(
        bench.server.lines(),
        ["POST /api/v1/namespaces/default/events"]
    );
}

#[tokio::test]
async fn a_repeat_is_folded_into_the_first() {
    let bench = Bench::new(|_| Answer::ok()).await;
    bench
        .written([scheduled(group()), scheduled(group()), scheduled(group())])
        .await;
    assert_eq!(bench.server.log().len(), 1);
}

#[tokio::test]
async fn a_changed_message_is_written_in_the_end() {
    let bench = Bench::new(|_| Answer::ok()).await;
    let said = |message: &str| Write::Event {
        about: pod().object(),
        warning: true,
        reason: "FailedScheduling".to_owned(),
        message: message.to_owned(),
    };
    bench.written([said("no cpu")]).await;
    bench.written([said("no memory")]).await;
    bench.effects.submit(said("tainted"));
    // For a shutdown nothing waits any longer.
    bench.written([said("cordoned")]).await;
    assert_eq!(bench.server.all("POST").len(), 1);
    let changed = bench.server.all("PATCH");
    let words = |at: usize| (&changed[at].body["message"], &changed[at].body["count"]);
    assert_eq!(changed.len(), 2);
    assert_eq!(words(0), (&json!("no memory"), &json!(2)));
    assert_eq!(words(1), (&json!("cordoned"), &json!(4)));
}

#[tokio::test]
async fn events_that_are_off_are_not_written() {
    let mut options = options();
    options.events = false;
    let bench = Bench::with(|_| Answer::ok(), options, TermWatch::always()).await;
    bench.written([scheduled(group())]).await;
    assert!(bench.server.log().is_empty());
}

#[tokio::test]
async fn a_full_queue_drops_the_oldest_events() {
    let (_sender, term) = TermWatch::new(Duration::from_secs(10));
    let bench = Bench::with(|_| Answer::ok(), options(), term).await;
    // Nothing runs between these on one thread.
    for i in 0..10_100 {
        let mut about = group();
        about.uid = i.to_string();
        bench.effects.submit(scheduled(about));
    }
    assert_eq!(bench.effects.backlog(), 10_000);
}

fn repeated() -> EventRecord {
    EventRecord {
        name: "p.1".to_owned(),
        about: pod().object(),
        warning: true,
        reason: "FailedScheduling".to_owned(),
        message: "no room".to_owned(),
        count: 5,
        first: Timestamp::from_second(1).expect("in range"),
        last: Timestamp::from_second(9).expect("in range"),
        wait: Duration::ZERO,
    }
}

async fn write(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> (Finish, Server) {
    let server = Server::start(script).await;
    let shared = shared(&server);
    (event::write(shared, repeated(), 0).await, server)
}

#[tokio::test]
async fn a_later_occurrence_raises_the_count() {
    let (finish, server) = write(|_| Answer::ok()).await;
    assert_eq!(finish, Finish::Done);
    assert_eq!(server.lines(), ["PATCH /api/v1/namespaces/ns/events/p.1"]);
    let wanted = json!({
        "count": 5, "lastTimestamp": "1970-01-01T00:00:09Z", "message": "no room",
    });
    assert_eq!(server.log()[0].body, wanted);
}

#[tokio::test]
async fn an_event_that_has_expired_is_made_again() {
    let script = |seen: &Seen| match seen.method.as_str() {
        "PATCH" => Answer::refuse(404, "not found"),
        _ => Answer::ok(),
    };
    let (finish, server) = write(script).await;
    assert_eq!(finish, Finish::Done);
    let made = &server.all("POST")[0].body;
    assert_eq!(
        (&made["count"], &made["metadata"]["name"]),
        (&json!(5), &json!("p.1"))
    );
}

#[tokio::test]
async fn an_event_that_is_refused_is_dropped() {
    let (finish, server) = write(|_| Answer::refuse(403, "namespace is terminating")).await;
    assert_eq!((finish, server.log().len()), (Finish::Dropped, 1));
}

#[tokio::test]
async fn without_permission_events_wait_and_few_are_tried() {
    let bench = Bench::new(|seen: &Seen| rbac(&seen.method, "events")).await;
    for uid in ["1", "2", "3"] {
        let mut about = group();
        about.uid = uid.to_owned();
        bench.effects.submit(scheduled(about));
        bench.server.until("POST", 1).await;
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(bench.server.log().len(), 1);
    assert_eq!(bench.effects.backlog(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_that_is_proven_switches_events_off() {
    let server = Server::start(|_| Answer::ok()).await;
    let shared = shared(&server);
    prove(&shared, Target::Event, &[WriteVerb::Patch]).await;
    let finish = event::write(shared, repeated(), 0).await;
    assert_eq!((finish, server.log().len()), (Finish::Dropped, 0));
}
