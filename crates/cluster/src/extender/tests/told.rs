//! What an extender is told, without being asked anything.

use super::*;

fn notice(event: ExtenderEvent) -> ExtenderNotice {
    let about = match event {
        ExtenderEvent::JobEnqueued => QuestionAbout::Job(Arc::new(job())),
        _ => QuestionAbout::Pod(Arc::new(pod("a"))),
    };
    ExtenderNotice {
        generation: 3,
        event,
        about,
    }
}

#[tokio::test]
async fn what_was_decided_is_told_and_what_it_has_against_it_is_no_failure() {
    let server = Server::start(|heard| match heard.path.contains("deallocate") {
        true => ok(json!({"errorMessage": "never\nheard of it"})),
        false => ok(json!({})),
    })
    .await;
    let client = client(&server);
    let tell = async |event| client.tell(&notice(event)).await;
    assert_eq!(tell(ExtenderEvent::JobEnqueued).await, Ok(None));
    assert_eq!(tell(ExtenderEvent::Allocate).await, Ok(None));
    let complaint = "it says never heard of it".to_owned();
    assert_eq!(tell(ExtenderEvent::Deallocate).await, Ok(Some(complaint)));
    assert_eq!(client.is_down(), None);
    let heard = server.log();
    let line = |event: &str| format!("POST /base/t/{event} HTTP/1.1");
    let lines: Vec<String> = heard.iter().map(Seen::first_line).collect();
    assert_eq!(
        lines,
        ["jobEnqueued", "allocateFunc", "deallocateFunc"].map(line)
    );
    assert_eq!(*at(&heard[0], "/job/UID"), json!("ns/g"));
    assert_eq!(*at(&heard[1], "/task/UID"), json!("a"));
}

#[tokio::test]
async fn what_cannot_be_told_is_an_error_in_words() {
    let server = Server::start(|_| Answer::Text(500, String::new())).await;
    let client = client(&server);
    for _ in 0..20 {
        let told = client.tell(&notice(ExtenderEvent::Allocate)).await;
        assert!(told.is_err_and(|why| why.contains("500")));
    }
    assert!(server.log().len() < 10, "it is left alone after some");
    assert_eq!(client.is_down(), None, "it can be asked all the same");
}

#[tokio::test]
async fn it_was_told_whatever_it_answers() {
    for body in ["", "  \n", "yes", "[]"] {
        let text = body.to_owned();
        let server = Server::start(move |_| Answer::Text(200, text.clone())).await;
        let client = client(&server);
        for _ in 0..6 {
            let told = client.tell(&notice(ExtenderEvent::Allocate)).await;
            let complains = told.expect("it is told").is_some();
            assert_eq!(complains, !body.trim().is_empty(), "{body:?}");
        }
        assert_eq!(server.log().len(), 6, "{body:?}");
    }
}

#[tokio::test]
async fn of_cycles_only_the_newest_one_is_told_with_what_there_is() {
    let server = Server::start(|heard| match heard.path.contains("queueOverused") {
        true => ok(json!({"overused": false})),
        // Nobody reads it.
        false => Answer::Text(200, "yes".to_owned()),
    })
    .await;
    let mut asking = Asking::start(&server);
    let session = |cycle| ToldSession {
        cycle,
        jobs: vec![Arc::new(job())],
        queues: vec![QueueObject {
            name: "q".to_owned(),
            ..QueueObject::default()
        }],
    };
    for cycle in [7, 8] {
        // Nothing runs in between.
        asking.sheets.send_replace(Arc::new(QuestionSheet {
            generation: 3,
            questions: vec![asked(ExtenderVerb::QueueOverused)],
            nodes: vec![node("n1")],
            session: Some(Arc::new(session(cycle))),
            ..QuestionSheet::default()
        }));
    }
    // Cycles are told by themselves, questions are answered meanwhile.
    while server.all("onSessionClose").is_empty() {
        asking.sheets.send_modify(|sheet| {
            let questions = match sheet.questions.len() {
                0 => vec![asked(ExtenderVerb::QueueOverused)],
                _ => Vec::new(),
            };
            *sheet = Arc::new(QuestionSheet {
                questions,
                ..QuestionSheet::clone(sheet)
            });
        });
        asking.answers.try_recv().ok();
        tokio::task::yield_now().await;
    }
    let heard = server.log();
    let of = |event: &str| {
        let line = format!("POST /base/t/{event} HTTP/1.1");
        let found: Vec<&Seen> = heard
            .iter()
            .filter(|heard| heard.first_line() == line)
            .collect();
        assert_eq!(found.len(), 1, "{event}");
        found[0]
    };
    assert_eq!(of("onSessionClose").body, json!({}));
    let open = of("onSessionOpen");
    for (pointer, expected) in [
        ("/Jobs/ns~1g/MinAvailable", json!(2)),
        ("/Nodes/n1/Idle/MilliCPU", json!(1000.0)),
        ("/Queues/q/Name", json!("q")),
        ("/NodeList", Value::Null),
        ("/NamespaceInfo", json!({})),
    ] {
        assert_eq!(*at(open, pointer), expected, "{pointer}");
    }
}
