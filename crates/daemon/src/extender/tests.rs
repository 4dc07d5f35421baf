use pumice_model::extender::{
    ExtenderAnswer, ExtenderEvent, ExtenderQuestion, ExtenderVerb, QuestionAbout, StandingQuestion,
};
use pumice_model::object::QueueObject;
use pumice_scripted::{Answer, Server};

use super::*;

/// An extender that answers every request with this status; its address.
async fn server(status: cell::Receiver<u16>) -> String {
    let text = "{\"overused\": false}";
    let server = Server::start(move |_| Answer::Text(*status.borrow(), text.to_owned()));
    server.await.url()
}

fn settings(url_prefix: String) -> ExtenderSettings {
    let verb = (ExtenderVerb::QueueOverused, "overused".to_owned());
    ExtenderSettings {
        url_prefix,
        timeout_ms: 5000,
        verbs: [verb].into(),
        events: [(ExtenderEvent::SessionOpen, "open".to_owned())].into(),
        ignorable: false,
        managed_resources: None,
    }
}

/// What the extender of a number is asked.
fn sheet(generation: u64, extender: Option<ExtenderSettings>) -> Arc<QuestionSheet> {
    let queue = QueueObject::default();
    Arc::new(QuestionSheet {
        extender: extender.map(Arc::new),
        generation,
        questions: vec![StandingQuestion {
            question: ExtenderQuestion {
                verb: ExtenderVerb::QueueOverused,
                subject: "default".to_owned(),
                uid: String::new(),
            },
            about: Arc::new(QuestionAbout::Queue(Box::new(queue))),
            is_answered: false,
        }],
        ..QuestionSheet::default()
    })
}

struct Follower {
    questions: cell::Sender<Arc<QuestionSheet>>,
    decided: mpsc::Sender<ExtenderNotice>,
    commands: mpsc::Receiver<DecideCommand>,
    notices: mpsc::Receiver<Notice>,
    metrics: Arc<Metrics>,
}

impl Follower {
    fn start(settings: Option<ExtenderSettings>) -> Self {
        let (questions, told) = cell::channel(sheet(1, settings));
        let (decided, to_tell) = mpsc::channel(16);
        let (core, commands) = mpsc::channel(16);
        let (sender, notices) = mpsc::channel(16);
        let metrics = Arc::new(Metrics::new().expect("metrics"));
        let follower = ExtenderFollower {
            user_agent: "tests".to_owned(),
            period: Duration::from_millis(1),
            core,
            metrics: Arc::clone(&metrics),
            notices: sender,
        };
        let feed = ExtenderFeed {
            questions: told,
            notices: to_tell,
        };
        tokio::spawn(follower.run(feed));
        Self {
            questions,
            decided,
            commands,
            notices,
            metrics,
        }
    }

    async fn answer(&mut self) -> ExtenderAnswer {
        self.reply().await.1
    }

    /// Whose answer it is, and the answer.
    async fn reply(&mut self) -> (u64, ExtenderAnswer) {
        match self.commands.recv().await {
            Some(DecideCommand::ExtenderReply(reply)) => (reply.generation, reply.answer),
            _ => panic!("no answer"),
        }
    }

    /// How many notices came to this.
    fn notices(&self, result: &str) -> usize {
        let text = self.metrics.text().expect("metrics");
        let name = format!("pumice_extender_notices_total{{result=\"{result}\"}} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&*name));
        line.map_or(0, |count| count.parse().expect("a number"))
    }

    /// The next notice that stands, or that it is over.
    async fn notice(&mut self) -> Option<String> {
        self.notices.recv().await.expect("a notice").message
    }

    fn is_up(&self) -> bool {
        let text = self.metrics.text().expect("metrics");
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("pumice_extender_up "));
        line.expect("a metric") == "1"
    }
}

#[tokio::test]
async fn an_extender_that_fails_again_and_again_is_told_of_once_until_it_answers() {
    let (status, statuses) = cell::channel(200);
    let url = server(statuses).await;
    let mut follower = Follower::start(Some(settings(url)));
    assert_eq!(follower.notice().await, None);
    assert_eq!(follower.answer().await, ExtenderAnswer::Flag(false));
    status.send_replace(503);
    let failed = follower.answer().await;
    assert!(matches!(failed, ExtenderAnswer::Failed(_)), "{failed:?}");
    let told = follower.notice().await.expect("it stands");
    assert!(told.contains("fails again and again"), "{told}");
    assert!(told.contains("503"), "{told}");
    assert!(!follower.is_up());
    status.send_replace(200);
    assert_eq!(follower.answer().await, ExtenderAnswer::Flag(false));
    assert_eq!(follower.notice().await, None, "it is told once");
    assert!(follower.is_up());
}

#[tokio::test]
async fn another_extender_is_asked_at_once() {
    let (_first, statuses) = cell::channel(503);
    let first = server(statuses).await;
    let (_second, statuses) = cell::channel(200);
    let second = server(statuses).await;
    let mut follower = Follower::start(Some(settings(first)));
    let failed = follower.answer().await;
    assert!(matches!(failed, ExtenderAnswer::Failed(_)), "{failed:?}");
    let other = sheet(2, Some(settings(second)));
    follower.questions.send_replace(other);
    let (generation, answer) = follower.reply().await;
    assert_eq!((generation, answer), (2, ExtenderAnswer::Flag(false)));
}

#[tokio::test]
async fn what_another_extender_was_to_be_told_is_told_to_nobody() {
    let (_status, statuses) = cell::channel(200);
    let url = server(statuses).await;
    let mut told = settings(url);
    told.events = [(ExtenderEvent::JobEnqueued, "enqueued".to_owned())].into();
    let follower = Follower::start(Some(told));
    for generation in [0, 1, 2, 1] {
        let notice = ExtenderNotice {
            generation,
            event: ExtenderEvent::JobEnqueued,
            about: QuestionAbout::Gone,
        };
        follower.decided.send(notice).await.expect("somebody tells");
    }
    while follower.notices("told") < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(follower.notices("told"), 2);
    assert_eq!(follower.notices("failed"), 0);
}
