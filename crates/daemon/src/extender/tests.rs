use pumice_model::extender::{
    ExtenderAnswer, ExtenderQuestion, ExtenderVerb, QuestionAbout, StandingQuestion,
};
use pumice_model::object::QueueObject;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// An HTTP server that answers every request with this status; its address.
async fn server(status: cell::Receiver<u16>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = vec![0; 1 << 16];
            // The request is small: one reading has it all, or the next request does.
            let _ = stream.read(&mut request).await;
            let text = "{\"overused\": false}";
            let (status, length) = (*status.borrow(), text.len());
            let answer = format!(
                "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"
            );
            // Who has gone away reads nothing.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

fn settings(url_prefix: String) -> ExtenderSettings {
    let verb = (ExtenderVerb::QueueOverused, "overused".to_owned());
    ExtenderSettings {
        url_prefix,
        timeout_ms: 5000,
        verbs: [verb].into(),
        ignorable: false,
        managed_resources: None,
    }
}

fn sheet() -> Arc<QuestionSheet> {
    let queue = QueueObject::default();
    Arc::new(QuestionSheet {
        questions: vec![StandingQuestion {
            question: ExtenderQuestion {
                verb: ExtenderVerb::QueueOverused,
                subject: "default".to_owned(),
            },
            about: Arc::new(QuestionAbout::Queue(Box::new(queue))),
            is_answered: false,
        }],
        nodes: Vec::new(),
    })
}

struct Follower {
    settings: cell::Sender<Option<ExtenderSettings>>,
    /// Kept: nobody tells questions any more once it is gone.
    _questions: cell::Sender<Arc<QuestionSheet>>,
    commands: mpsc::Receiver<DecideCommand>,
    notices: mpsc::Receiver<Notice>,
    metrics: Arc<Metrics>,
}

impl Follower {
    fn start(settings: Option<ExtenderSettings>) -> Self {
        let (settings, followed) = cell::channel(settings);
        let (questions, told) = cell::channel(sheet());
        let (core, commands) = mpsc::channel(16);
        let (sender, notices) = mpsc::channel(16);
        let metrics = Arc::new(Metrics::new().expect("metrics"));
        let follower = ExtenderFollower {
            user_agent: "tests".to_owned(),
            settings: followed,
            questions: told,
            period: Duration::from_millis(1),
            core,
            metrics: Arc::clone(&metrics),
            notices: sender,
        };
        tokio::spawn(follower.run());
        Self {
            settings,
            _questions: questions,
            commands,
            notices,
            metrics,
        }
    }

    async fn answer(&mut self) -> ExtenderAnswer {
        match self.commands.recv().await {
            Some(DecideCommand::ExtenderAnswer(delta)) => match *delta {
                Delta::ExtenderAnswer { answer, .. } => *answer,
                delta => panic!("{delta:?}"),
            },
            _ => panic!("no answer"),
        }
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
    follower.settings.send_replace(Some(settings(second)));
    assert_eq!(follower.answer().await, ExtenderAnswer::Flag(false));
}
