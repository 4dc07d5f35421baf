//! Who waits for whom.

use super::*;

/// A question about a job of a namespace.
fn of_job(namespace: &str, nth: usize) -> StandingQuestion {
    let told = ToldJob {
        namespace: namespace.to_owned(),
        key: format!("{namespace}/{nth}"),
        ..job()
    };
    StandingQuestion {
        about: Arc::new(QuestionAbout::Job(Arc::new(told))),
        ..asked(ExtenderVerb::JobReady)
    }
}

/// A question about a pod of a namespace and all nodes.
fn of_pod(namespace: &str, nth: usize) -> StandingQuestion {
    let told = ToldPod {
        namespace: namespace.to_owned(),
        ..pod(&format!("{namespace}/{nth}"))
    };
    StandingQuestion {
        about: Arc::new(QuestionAbout::Pod(Arc::new(told))),
        ..asked(ExtenderVerb::Predicate)
    }
}

/// Asks a thousand times for one namespace and then once for another, and returns how many requests of the first were heard
/// before the one of the other. An answer is given only when all questions wait.
async fn heard_before(question: fn(&str, usize) -> StandingQuestion, pointer: &str) -> usize {
    const MUCH: usize = 1000;
    let (opens, is_open) = watch::channel(false);
    let door = Door {
        opens: Some(is_open),
        ..Door::default()
    };
    let server = Server::behind(door, |heard| match heard.path.contains("predicate") {
        true => ok(json!({"status": ""})),
        false => ok(json!({"status": true})),
    });
    let server = server.await;
    let settings = ExtenderSettings {
        timeout_ms: 60_000,
        ..settings(&server)
    };
    let client = Arc::new(ExtenderClient::new(&settings, "tests").expect("a client"));
    let nodes = NodeTexts::default().renewed(&[node("n1"), node("n2")]);
    let nodes = Arc::new(nodes);
    let ask = |asked: StandingQuestion| {
        let (client, nodes) = (Arc::clone(&client), Arc::clone(&nodes));
        tokio::spawn(async move { client.ask(&asked, &nodes).await })
    };
    let much: Vec<_> = (0..MUCH).map(|nth| ask(question("much", nth))).collect();
    // On one thread, in the order in which they are spawned.
    tokio::task::yield_now().await;
    let little = ask(question("little", 0));
    tokio::task::yield_now().await;
    opens.send_replace(true);
    little.await.expect("it is answered");
    for answer in much {
        answer.await.expect("it is answered");
    }
    let heard = server.log();
    let mut whose = heard.iter().map(|heard| at(heard, pointer).as_str());
    let first = whose.position(|who| who.is_some_and(|who| who.starts_with("little")));
    first.expect("it was asked")
}

#[tokio::test]
async fn a_job_of_another_namespace_waits_for_none_of_the_thousands_of_one() {
    let before = heard_before(of_job, "/job/UID").await;
    // Those under way as it came, and one whose turn it was.
    assert!(before <= 2 * MAX_UNDER_WAY, "{before}");
}

#[tokio::test]
async fn a_pod_of_another_namespace_waits_for_none_of_the_thousands_of_one() {
    let before = heard_before(of_pod, "/task/UID").await;
    assert!(before <= 2 * MAX_UNDER_WAY, "{before}");
}
