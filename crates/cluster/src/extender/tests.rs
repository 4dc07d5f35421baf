//! Extenders as they are, and as they should not be, on loopback.

use std::sync::Arc;

use pumice_model::TaskStatus;
use pumice_model::extender::{
    ExtenderQuestion, ExtenderReply, QuestionAbout, QuestionSheet, ToldJob, ToldNode, ToldPod,
};
use pumice_model::object::{GroupPhase, NodeObject, QueueObject};
use pumice_scripted::{Answer, Door, Seen, Server};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::*;

mod fair;
mod told;

/// The settings of an extender behind a server.
fn settings(server: &Server) -> ExtenderSettings {
    let verbs = ExtenderVerb::ALL.map(|verb| (verb, format!("v/{}", verb.name())));
    ExtenderSettings {
        url_prefix: format!("{}/base", server.url()),
        timeout_ms: 300,
        verbs: verbs.into(),
        events: ExtenderEvent::ALL
            .map(|event| (event, format!("t/{}", event.name())))
            .into(),
        ignorable: false,
        managed_resources: None,
    }
}

fn client(server: &Server) -> ExtenderClient {
    ExtenderClient::new(&settings(server), "tests").expect("a client")
}

/// What a client that has asked nothing before is answered.
async fn ask(server: &Server, verb: ExtenderVerb) -> ExtenderAnswer {
    let nodes = NodeTexts::default().renewed(&[node("n1"), node("n2")]);
    client(server).ask(&asked(verb), &nodes).await
}

fn ok(answer: Value) -> Answer {
    Answer::Text(200, answer.to_string())
}

fn pod(name: &str) -> ToldPod {
    ToldPod {
        uid: name.to_owned(),
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        job: "ns/g".to_owned(),
        role: "worker".to_owned(),
        request: vec![
            ("cpu".to_owned(), 1500),
            ("memory".to_owned(), 1 << 30),
            ("pods".to_owned(), 1),
            ("x.com/gpu".to_owned(), 2000),
        ],
        node: None,
        status: TaskStatus::Pending,
        priority: 7,
        priority_class: "high".to_owned(),
        preemptable: true,
        best_effort: false,
        gated: false,
        labels: vec![("app".to_owned(), "a".to_owned())],
        annotations: vec![("k".to_owned(), "v".to_owned())],
        created_s: 1_000_000_000,
        node_selector: vec![("disk".to_owned(), "ssd".to_owned())],
    }
}

fn node(name: &str) -> Arc<ToldNode> {
    let cpu = |milli: i64| vec![("cpu".to_owned(), milli)];
    Arc::new(ToldNode {
        object: NodeObject {
            name: name.to_owned(),
            uid: format!("{name}-uid"),
            labels: vec![("zone".to_owned(), "z".to_owned())],
            allocatable: cpu(4000),
            ..NodeObject::default()
        },
        idle: cpu(1000),
        used: cpu(3000),
        releasing: cpu(500),
        total: cpu(4000),
        pods: vec![Arc::new(ToldPod {
            node: Some(name.to_owned()),
            status: TaskStatus::Running,
            ..pod("on-it")
        })],
    })
}

fn job() -> ToldJob {
    ToldJob {
        key: "ns/g".to_owned(),
        uid: "u".to_owned(),
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        queue: "q".to_owned(),
        priority: 3,
        min_available: 2,
        role_minima: vec![("worker".to_owned(), 2)],
        min_resources: Some(vec![("cpu".to_owned(), 2500)]),
        phase: GroupPhase::Inqueue,
        allocated: Vec::new(),
        total: vec![("cpu".to_owned(), 3000)],
        created_s: 1_000_000_000,
        pods: vec![Arc::new(pod("a"))],
    }
}

fn asked(verb: ExtenderVerb) -> StandingQuestion {
    let about = match verb {
        ExtenderVerb::QueueOverused => QuestionAbout::Queue(Box::new(QueueObject {
            name: "q".to_owned(),
            weight: 5,
            ..QueueObject::default()
        })),
        ExtenderVerb::JobEnqueueable | ExtenderVerb::JobReady => {
            QuestionAbout::Job(Arc::new(job()))
        }
        ExtenderVerb::Predicate | ExtenderVerb::Prioritize => {
            QuestionAbout::Pod(Arc::new(pod("a")))
        }
        ExtenderVerb::Preemptable | ExtenderVerb::Reclaimable => QuestionAbout::Victims {
            evictor: Arc::new(pod("a")),
            candidates: ["c", "b"].map(|name| Arc::new(pod(name))).to_vec(),
        },
    };
    StandingQuestion {
        question: ExtenderQuestion {
            verb,
            subject: "it".to_owned(),
            uid: String::new(),
        },
        about: Arc::new(about),
        is_answered: false,
    }
}

/// What was said of a node.
fn about<T>(name: &str, said: T) -> AboutNode<T> {
    AboutNode {
        node: name.to_owned(),
        uid: format!("{name}-uid"),
        said,
    }
}

/// What is behind a JSON pointer of a request.
fn at<'a>(heard: &'a Seen, pointer: &str) -> &'a Value {
    let found = heard.body.pointer(pointer);
    found.unwrap_or_else(|| panic!("no {pointer} in {:#}", heard.body))
}

#[tokio::test]
async fn a_pod_is_asked_about_node_by_node() {
    let server = Server::start(|heard| match at(heard, "/node/Name") == "n1" {
        true => ok(json!({"status": "", "code": 0})),
        false => ok(json!({"status": "too\n old", "code": 3})),
    })
    .await;
    let expected = ExtenderAnswer::Nodes(vec![
        about("n1", NodeWord::Fits),
        about("n2", NodeWord::Refused("too old".to_owned())),
    ]);
    assert_eq!(ask(&server, ExtenderVerb::Predicate).await, expected);
    let heard = server.log();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0].first_line(), "POST /base/v/predicate HTTP/1.1");
    assert_eq!(heard[0].media, "application/json");
}

#[tokio::test]
async fn messages_have_volcanos_shape() {
    let server = Server::start(|_| ok(json!({"nodeScore": {}}))).await;
    let _ = ask(&server, ExtenderVerb::Prioritize).await;
    let _ = ask(&server, ExtenderVerb::JobReady).await;
    let _ = ask(&server, ExtenderVerb::QueueOverused).await;
    let _ = ask(&server, ExtenderVerb::Preemptable).await;
    let heard = server.log();
    let [pod, job, queue, victims] = &heard[..] else {
        panic!("{heard:?}")
    };
    for (heard, pointer, expected) in [
        (pod, "/task/UID", json!("a")),
        (pod, "/task/Job", json!("ns/g")),
        (pod, "/task/TaskRole", json!("worker")),
        (pod, "/task/Status", json!(1)),
        (pod, "/task/Resreq/MilliCPU", json!(1500.0)),
        (pod, "/task/Resreq/MaxTaskNum", json!(1)),
        (
            pod,
            "/task/Resreq/ScalarResources",
            json!({"pods": 1.0, "x.com/gpu": 2000.0}),
        ),
        (pod, "/task/Pod/metadata/labels/app", json!("a")),
        (
            pod,
            "/task/Pod/metadata/creationTimestamp",
            json!("2001-09-09T01:46:40Z"),
        ),
        (pod, "/task/Pod/spec/nodeSelector/disk", json!("ssd")),
        (pod, "/nodes/1/Name", json!("n2")),
        (pod, "/nodes/1/Idle/MilliCPU", json!(1000.0)),
        (pod, "/nodes/1/Tasks/on-it/Status", json!(32)),
        (pod, "/nodes/1/Tasks/on-it/NodeName", json!("n2")),
        (pod, "/nodes/1/Node/status/allocatable/cpu", json!("4")),
        (job, "/job/UID", json!("ns/g")),
        (job, "/job/MinAvailable", json!(2)),
        (job, "/job/TaskStatusIndex/1/a/Name", json!("a")),
        (job, "/job/PodGroup/spec/minResources/cpu", json!("2500m")),
        (job, "/job/PodGroup/status/phase", json!("Inqueue")),
        (queue, "/queue/Weight", json!(5)),
        (queue, "/queue/Queue/metadata/name", json!("q")),
        (pod, "/nodes/0/Node/metadata/uid", json!("n1-uid")),
        (victims, "/evictor/UID", json!("a")),
        (victims, "/evictees/0/UID", json!("c")),
        (victims, "/evictees/1/Pod/metadata/name", json!("b")),
    ] {
        assert_eq!(*at(heard, pointer), expected, "{pointer}");
    }
}

#[tokio::test]
async fn answers_are_read_verb_by_verb() {
    let scores = |n1, n2| ExtenderAnswer::Scores(vec![about("n1", n1), about("n2", n2)]);
    let error = |text: &str| ExtenderAnswer::Error(text.to_owned());
    use ExtenderVerb::{JobEnqueueable, JobReady, Prioritize, QueueOverused};
    for (verb, answer, expected) in [
        (
            Prioritize,
            json!({"nodeScore": {"n2": -2, "n1": 1.5}}),
            scores(1.5, -2.0),
        ),
        (
            Prioritize,
            json!({"nodeScore": {"n2": 0, "n1": 1, "absent": 1e300}}),
            scores(1.0, 0.0),
        ),
        (
            Prioritize,
            json!({"nodeScore": null}),
            error("it gives no scores"),
        ),
        (
            Prioritize,
            json!({"nodeScore": {"n1": 1}, "errorMessage": "no"}),
            error("no"),
        ),
        (
            JobEnqueueable,
            json!({"status": 1}),
            ExtenderAnswer::Vote(1),
        ),
        (
            JobEnqueueable,
            json!({"status": -1}),
            ExtenderAnswer::Vote(-1),
        ),
        (JobEnqueueable, json!({}), ExtenderAnswer::Vote(0)),
        (
            JobReady,
            json!({"status": true}),
            ExtenderAnswer::Flag(true),
        ),
        (JobReady, json!({}), ExtenderAnswer::Flag(false)),
        (
            QueueOverused,
            json!({"overused": true}),
            ExtenderAnswer::Flag(true),
        ),
    ] {
        let text = answer.to_string();
        let server = Server::start(move |_| ok(answer.clone())).await;
        assert_eq!(ask(&server, verb).await, expected, "{text}");
    }
}

#[tokio::test]
async fn who_may_go_is_read_of_those_who_were_told() {
    use ExtenderVerb::{Preemptable, Reclaimable};
    let victims = |uids: &[&str]| {
        let uids = uids.iter().map(|uid| (*uid).to_owned());
        ExtenderAnswer::Victims(Some(uids.collect()))
    };
    for (verb, answer, expected) in [
        (
            Preemptable,
            json!({"status": 1, "victims": [{"UID": "c"}, {"UID": "b"}, {"UID": "other"}, {}]}),
            victims(&["b", "c"]),
        ),
        (
            Reclaimable,
            json!({"status": 1, "victims": null}),
            victims(&[]),
        ),
        (
            Reclaimable,
            json!({"status": -1, "victims": [{"UID": "c"}]}),
            victims(&[]),
        ),
        (
            Preemptable,
            json!({"victims": [{"UID": "c"}]}),
            ExtenderAnswer::Victims(None),
        ),
    ] {
        let text = answer.to_string();
        let server = Server::start(move |_| ok(answer.clone())).await;
        assert_eq!(ask(&server, verb).await, expected, "{text}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_a_failure_in_words() {
    use ExtenderVerb::{JobReady, Predicate, Prioritize};
    let text = |text: &str| Answer::Text(200, text.to_owned());
    for (verb, reply, says) in [
        (JobReady, Answer::Silence, "no answer within 300ms"),
        (
            JobReady,
            Answer::Endless,
            "its answer is longer than 10 MiB",
        ),
        (JobReady, Answer::Half, "its answer"),
        (
            JobReady,
            Answer::Text(500, "{}".to_owned()),
            "HTTP status 500",
        ),
        (
            JobReady,
            Answer::Text(204, String::new()),
            "HTTP status 204",
        ),
        (JobReady, text(""), "its answer cannot be read"),
        (JobReady, text("<html>"), "its answer cannot be read"),
        (JobReady, text("null"), "its answer cannot be read"),
        (
            JobReady,
            text("{\"status\": \"yes\"}"),
            "its answer cannot be read",
        ),
        (
            Prioritize,
            text("{\"nodeScore\": {\"n1\": 1e13}}"),
            "its score of node n1 is 1e13",
        ),
        (
            Prioritize,
            text("{\"nodeScore\": {\"n1\": 1e999}}"),
            "its answer cannot be read",
        ),
        (
            Prioritize,
            text("{\"nodeScore\": {\"n1\": \"NaN\"}}"),
            "its answer cannot be read",
        ),
        (Predicate, text("[]"), "its answer cannot be read"),
    ] {
        let server = Server::start(move |_| reply.clone()).await;
        let why = match ask(&server, verb).await {
            ExtenderAnswer::Failed(why) => why,
            ExtenderAnswer::Nodes(words) => match &words[0].said {
                NodeWord::Failed(why) => why.clone(),
                word => panic!("{word:?}"),
            },
            answer => panic!("{answer:?}"),
        };
        // A cut connection is told in the words of the client.
        assert!(why.contains(says) || says == "its answer", "{says}: {why}");
    }
}

#[tokio::test]
async fn an_extender_that_fails_again_and_again_is_left_alone() {
    let server = Server::start(|_| Answer::Text(500, String::new())).await;
    let client = client(&server);
    let nodes = NodeTexts::default();
    for _ in 0..20 {
        let answer = client.ask(&asked(ExtenderVerb::JobReady), &nodes).await;
        assert!(matches!(answer, ExtenderAnswer::Failed(_)), "{answer:?}");
    }
    assert!(client.is_down().is_some_and(|why| why.contains("500")));
    let heard = server.log().len();
    assert!(heard < 10, "it was asked {heard} times");
}

/// Rounds over some questions, in a period that is over at once.
struct Asking {
    sheets: watch::Sender<Arc<QuestionSheet>>,
    answers: mpsc::Receiver<ExtenderReply>,
}

impl Asking {
    fn start(server: &Server) -> Self {
        let (sheets, questions) = watch::channel(Arc::default());
        let (sender, answers) = mpsc::channel(1);
        let rounds = ExtenderRounds {
            client: Arc::new(client(server)),
            generation: 3,
            period: Duration::from_millis(1),
            answers: sender,
        };
        tokio::spawn(rounds.run(questions));
        Self { sheets, answers }
    }

    fn tell(&self, questions: Vec<StandingQuestion>) {
        self.sheets.send_replace(Arc::new(QuestionSheet {
            generation: 3,
            questions,
            ..QuestionSheet::default()
        }));
    }

    async fn next(&mut self) -> (ExtenderVerb, ExtenderAnswer) {
        let reply = self.answers.recv().await.expect("an answer");
        assert_eq!(reply.generation, 3);
        (reply.question.verb, reply.answer)
    }
}

#[tokio::test]
async fn questions_are_asked_again_and_only_news_is_told() {
    let turns = Arc::new(Mutex::new(0));
    let count = Arc::clone(&turns);
    let server = Server::start(move |_| {
        let mut turn = count.lock().unwrap();
        *turn += 1;
        ok(json!({"status": *turn > 3}))
    })
    .await;
    let mut asking = Asking::start(&server);
    asking.tell(vec![asked(ExtenderVerb::JobReady)]);
    let said = [asking.next().await, asking.next().await];
    let flags = [false, true].map(|flag| (ExtenderVerb::JobReady, ExtenderAnswer::Flag(flag)));
    assert_eq!(said, flags);
    assert!(*turns.lock().unwrap() >= 4);
}

#[tokio::test]
async fn a_question_that_takes_long_holds_up_no_other() {
    let server = Server::start(|heard| match heard.body.get("queue") {
        Some(_) => Answer::Silence,
        None => ok(json!({"status": true})),
    })
    .await;
    let mut asking = Asking::start(&server);
    asking.tell(vec![
        asked(ExtenderVerb::QueueOverused),
        asked(ExtenderVerb::JobReady),
    ]);
    let ready = (ExtenderVerb::JobReady, ExtenderAnswer::Flag(true));
    assert_eq!(asking.next().await, ready);
    let (verb, late) = asking.next().await;
    assert_eq!(verb, ExtenderVerb::QueueOverused);
    assert!(matches!(late, ExtenderAnswer::Failed(_)), "{late:?}");
}

#[tokio::test]
async fn a_question_that_stands_anew_is_answered_anew() {
    let server = Server::start(|_| ok(json!({"status": true}))).await;
    let mut asking = Asking::start(&server);
    let ready = (ExtenderVerb::JobReady, ExtenderAnswer::Flag(true));
    asking.tell(vec![asked(ExtenderVerb::JobReady)]);
    assert_eq!(asking.next().await, ready);
    // It was gone in between, which nobody has seen here.
    asking.tell(vec![asked(ExtenderVerb::JobReady)]);
    assert_eq!(asking.next().await, ready);
    asking.tell(vec![StandingQuestion {
        is_answered: true,
        ..asked(ExtenderVerb::JobReady)
    }]);
    asking.tell(Vec::new());
    asking.tell(vec![asked(ExtenderVerb::JobReady)]);
    assert_eq!(asking.next().await, ready);
}

#[test]
fn nodes_that_have_not_changed_are_not_encoded_again() {
    let (first, second) = (node("n1"), node("n2"));
    let texts = NodeTexts::default().renewed(&[Arc::clone(&first), second]);
    let again = texts.renewed(&[first, node("n2")]);
    let same = |((_, before), (_, after))| Arc::ptr_eq(before, after);
    let same: Vec<bool> = texts.all().zip(again.all()).map(same).collect();
    assert_eq!(same, [true, false]);
}

#[tokio::test]
async fn questions_for_another_extender_are_not_asked() {
    let server = Server::start(|_| ok(json!({"status": true}))).await;
    let mut asking = Asking::start(&server);
    asking.sheets.send_replace(Arc::new(QuestionSheet {
        generation: 4,
        questions: vec![asked(ExtenderVerb::QueueOverused)],
        ..QuestionSheet::default()
    }));
    asking.tell(vec![asked(ExtenderVerb::JobReady)]);
    assert_eq!(asking.next().await.0, ExtenderVerb::JobReady);
    let lines = server.all("queueOverused");
    assert!(lines.is_empty(), "{lines:?}");
}
