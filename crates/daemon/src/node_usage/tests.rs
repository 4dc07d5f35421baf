use pumice_model::object::NodeUsage;
use pumice_scripted::{Answer, Seen, Server};

use super::*;

/// A server that answers every request with the text.
async fn telling(text: &str) -> Server {
    Server::start(says(text)).await
}

fn says(text: &str) -> impl FnMut(&Seen) -> Answer + Send + use<> {
    let answer = Answer::Text(200, text.to_owned());
    move |_| answer.clone()
}

fn source(server: &Server) -> UsageSource {
    let pairs = [
        ("type", "prometheus".to_owned()),
        ("address", server.url()),
        ("interval", "1s".to_owned()),
    ];
    let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
    pumice_conf::usage_source(&pairs.into()).expect("a source")
}

/// Half of `n1`, at a time when these tests were not written.
const HALF: &str = r#"{"data":{"resultType":"vector","result":[
    {"metric":{"instance":"n1"},"value":[NOW,"50"]}]}}"#;

/// The text as of now.
fn half() -> String {
    let now_s = DeciderClock::start().unix_s() as i64;
    HALF.replace("NOW", &now_s.to_string())
}

struct Follower {
    source: cell::Sender<Option<UsageSource>>,
    commands: mpsc::Receiver<DecideCommand>,
    notices: mpsc::Receiver<Notice>,
    metrics: Arc<Metrics>,
}

impl Follower {
    fn start(source: UsageSource) -> Self {
        let (source, sources) = cell::channel(Some(source));
        let (core, commands) = mpsc::channel(16);
        let (sender, notices) = mpsc::channel(16);
        let metrics = Arc::new(Metrics::new().expect("metrics"));
        let follower = UsageFollower {
            api: pumice_scripted::client(pumice_scripted::nobody()),
            user_agent: "tests".to_owned(),
            source: sources,
            core,
            metrics: Arc::clone(&metrics),
            notices: sender,
            clock: DeciderClock::start(),
        };
        tokio::spawn(follower.run());
        Self {
            source,
            commands,
            notices,
            metrics,
        }
    }

    async fn measured(&mut self) -> Vec<(String, NodeUsage)> {
        match self.commands.recv().await {
            Some(DecideCommand::NodeUsage(measured)) => measured,
            _ => panic!("no usage"),
        }
    }

    /// The next notice that stands, or that it is over.
    async fn notice(&mut self) -> Option<String> {
        self.notices.recv().await.expect("a notice").message
    }

    fn metric(&self, name: &str) -> String {
        let text = self.metrics.text().expect("metrics");
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a metric").trim().to_owned()
    }
}

#[tokio::test]
async fn a_source_that_tells_nothing_is_told_of_once_until_it_answers_again() {
    let server = telling(&half()).await;
    let mut follower = Follower::start(source(&server));
    assert_eq!(follower.notice().await, None);
    let measured = follower.measured().await;
    assert_eq!(measured.len(), 1);
    let (name, usage) = &measured[0];
    assert_eq!((&**name, usage.cpu, usage.memory), ("n1", 50_000, 50_000));
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "1");
    assert_eq!(follower.metric("pumice_node_usage_nodes"), "1");
    server.change(says("<html>"));
    let told = follower.notice().await.expect("it stands");
    assert!(
        told.contains("tells nothing: what is not such an answer"),
        "{told}"
    );
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "0");
    // Readings that were under way may still arrive.
    while follower.commands.try_recv().is_ok() {}
    server.change(says(&half()));
    // The next word is that it is over: nothing was told twice.
    assert_eq!(follower.notice().await, None);
    follower.measured().await;
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "1");
}

#[tokio::test]
async fn another_source_is_asked_at_once_and_none_is_no_failure() {
    let (first, second) = (telling("{}").await, telling(&half()).await);
    let mut follower = Follower::start(source(&first));
    assert!(follower.notice().await.is_none());
    assert!(follower.notice().await.is_some(), "the first tells nothing");
    follower.source.send_replace(Some(source(&second)));
    assert!(
        follower.notice().await.is_none(),
        "what was told of the first is over"
    );
    assert_eq!(follower.measured().await.len(), 1);
    follower.source.send_replace(None);
    while follower.notice().await.is_some() {}
    assert_eq!(follower.metric("pumice_node_usage_nodes"), "0");
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "1");
}
