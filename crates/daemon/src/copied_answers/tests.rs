use pumice_conf::{DEFAULT_CONF, parse};
use pumice_engine::Engine;
use pumice_fixtures::Cluster;
use pumice_plan::{PlanOutcome, PlanView, PlannedJob, WhatIf};

use super::*;
use crate::requests::Standby;

/// A deciding thread that has a cluster and answers as often as it is asked.
fn core(cluster: &'static str) -> mpsc::Sender<DecideRequest> {
    core_of(cluster, None)
}

/// The deciding thread of a replica that stands by, or leads where no leader is named.
fn core_of(cluster: &'static str, leader: Option<&'static str>) -> mpsc::Sender<DecideRequest> {
    let (sender, mut asked) = mpsc::channel(1);
    std::thread::spawn(move || {
        let config = parse(DEFAULT_CONF, &REGISTRY).config.expect("valid");
        let mut engine = Engine::new(&config, "default");
        let objects = Cluster::of(cluster).0.into_iter();
        objects.for_each(|delta| engine.apply(delta));
        if leader.is_none() {
            engine.cycle(0);
        }
        while let Some(DecideRequest::Fork(reply)) = asked.blocking_recv() {
            let (fork, config) = (engine.fork(), config.clone());
            let now_s = 1;
            let _ = reply.send(Ok(Box::new(CopiedGround {
                fork,
                config,
                now_s,
                standby: leader.map(|leader| Standby {
                    leader: Some(leader.to_owned()),
                }),
            })));
        }
    });
    sender
}

const FULL: &str = "
    node  n1 1c 8Gi pods=9
    group g
    pod   a 1c group:g on:n1
    group w
    pod   b 1c group:w
";

fn about(job: &str) -> PlanRequest {
    PlanRequest {
        about: vec![PlannedJob {
            namespace: "ns".to_owned(),
            name: job.to_owned(),
        }],
        ..PlanRequest::default()
    }
}

async fn ask(limit: Duration, request: &PlanRequest) -> Result<PlanView, String> {
    let asked = serde_json::to_vec(request).expect("JSON");
    let questions = Questions::new(limit);
    let answer = questions.plan(&core(FULL), &asked).await;
    let answer = answer.expect("an answer");
    answer.map(|plan| serde_json::from_value(plan).expect("a plan"))
}

#[tokio::test]
async fn a_question_is_answered_on_a_copy() {
    let long = Duration::from_secs(60);
    let plan = ask(long, &about("w")).await.expect("a plan");
    assert_eq!(plan.outcome, PlanOutcome::Waits);
    let more = PlanRequest {
        what_ifs: vec![WhatIf::AddNodes {
            count: 1,
            like: "n1".to_owned(),
        }],
        ..about("w")
    };
    let plan = ask(long, &more).await.expect("a plan");
    assert_eq!(plan.outcome, PlanOutcome::Runs);
    assert_eq!(plan.jobs[0].pods[0].node, "n1-more-1");
}

#[tokio::test]
async fn who_stands_by_tells_what_it_would_decide_and_who_leads() {
    let core = core_of(FULL, Some("first_1"));
    let questions = Questions::new(Duration::from_secs(60));
    let pod = |name: &str| Ask::Pod {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    };
    let refused = Some("line 3 is wrong".to_owned());
    let page = questions.page(&core, pod("b"), refused.clone()).await;
    let page = page.expect("an answer").expect("a page").json();
    let note = json!({"leader": "first_1", "asOf": "1970-01-01T00:00:01Z"});
    assert_eq!(page["standby"], note);
    let text = page.to_string();
    assert!(text.contains("the cluster is full: cpu"), "{text}");
    let top = questions.page(&core, Ask::Top, refused).await;
    let top = top.expect("an answer").expect("a page").json();
    assert_eq!(top["configuration"], "line 3 is wrong");
    let absent = questions.page(&core, pod("c"), None).await;
    let absent = absent.expect("an answer").err().expect("no such pod");
    assert!(absent.contains("ns/c"), "{absent}");
    // A plan too.
    let asked = serde_json::to_vec(&about("w")).expect("JSON");
    let plan = questions.plan(&core, &asked).await.expect("an answer");
    let plan = plan.expect("a plan");
    assert_eq!(
        (&plan["outcome"], &plan["standby"]),
        (&json!("waits"), &note)
    );
}

#[tokio::test]
async fn when_a_job_starts_is_asked_of_a_copy_too() {
    const ENDS: &str = "
        node  n1 1c 8Gi pods=9
        group g
        pod   a 1c group:g on:n1 since:1 runs:1h
        group w
        pod   b 1c group:w
    ";
    let questions = Questions::new(Duration::from_secs(60));
    let asked = br#"{"when": {"namespace": "ns", "name": "w"}}"#;
    let told = questions.plan(&core(ENDS), asked).await;
    let told = told.expect("an answer").expect("a start");
    let told = &told["jobs"][0];
    assert_eq!(told["expected"]["at"], "1970-01-01T01:00:01Z");
    assert_eq!(told["expected"]["after"][0]["job"], "ns/g");
    assert_eq!(told.get("latest"), None);
}

#[tokio::test]
async fn a_plan_ends_at_its_limit_and_says_so() {
    let plan = ask(Duration::ZERO, &about("w")).await.expect("a plan");
    assert!(plan.is_cut);
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_said() {
    let questions = Questions::new(Duration::from_secs(60));
    let core = core(FULL);
    for (asked, said) in [
        ("", "the question is not understood"),
        ("{\"abuot\": []}", "unknown field `abuot`"),
        (
            "{\"configuration\": \"actions: fly\"}",
            "the configuration is not valid",
        ),
        (
            "{\"about\": [{\"namespace\": \"ns\", \"name\": \"x\"}]}",
            "job ns/x is not known here",
        ),
        (
            "{\"when\": {\"namespace\": \"ns\", \"name\": \"x\"}}",
            "job ns/x is not known here",
        ),
        ("{\"when\": \"x\"}", "the question is not understood"),
        (
            "{\"when\": {\"queue\": \"q7\"}}",
            "queue q7 is not known here",
        ),
        (
            "{\"whatIfs\": [{\"drain\": \"n7\"}]}",
            "node n7 is not known here",
        ),
    ] {
        let answer = questions.plan(&core, asked.as_bytes()).await;
        let wrong = answer.expect("an answer").expect_err(asked);
        assert!(wrong.contains(said), "{asked}: {wrong}");
    }
    // The next one is answered all the same.
    let asked = serde_json::to_vec(&about("w")).expect("JSON");
    let plan = questions.plan(&core, &asked).await.expect("an answer");
    assert_eq!(plan.expect("a plan")["outcome"], json!(PlanOutcome::Waits));
}

#[tokio::test]
async fn a_scheduler_that_stops_has_no_answer() {
    let (core, asked) = mpsc::channel(1);
    drop(asked);
    let questions = Questions::new(Duration::from_secs(1));
    let asked = serde_json::to_vec(&about("w")).expect("JSON");
    let answer = questions.plan(&core, &asked).await;
    assert_eq!(
        answer,
        Err(Unanswered("the scheduler is stopping".to_owned()))
    );
}
