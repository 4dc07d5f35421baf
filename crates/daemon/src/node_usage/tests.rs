use std::net::SocketAddr;
use std::sync::Mutex;

use pumice_model::object::NodeUsage;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// An HTTP server that answers every request with the text that stands there at the time.
struct StandIn {
    address: SocketAddr,
    text: Arc<Mutex<&'static str>>,
}

impl StandIn {
    async fn start(text: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let text = Arc::new(Mutex::new(text));
        let said = Arc::clone(&text);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => request.push(byte),
                        Err(_) => break,
                    }
                }
                let text = *said.lock().unwrap();
                let length = text.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{text}"
                );
                // Who has gone away reads nothing.
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { address, text }
    }

    fn say(&self, text: &'static str) {
        *self.text.lock().unwrap() = text;
    }

    fn source(&self) -> UsageSource {
        let pairs = [
            ("type", "prometheus".to_owned()),
            ("address", format!("http://{}", self.address)),
            ("interval", "1s".to_owned()),
        ];
        let pairs = pairs.map(|(key, value)| (key.to_owned(), value));
        pumice_conf::usage_source(&pairs.into()).expect("a source")
    }
}

/// Half of `n1`, at a time when these tests were not written.
const HALF: &str = r#"{"data":{"resultType":"vector","result":[
    {"metric":{"instance":"n1"},"value":[NOW,"50"]}]}}"#;

/// The text as of now.
fn half() -> &'static str {
    let now_s = DeciderClock::start().unix_s() as i64;
    Box::leak(HALF.replace("NOW", &now_s.to_string()).into_boxed_str())
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
        let config = kube::Config::new("http://127.0.0.1:9".parse().expect("a URL"));
        let follower = UsageFollower {
            api: Client::try_from(config).expect("a client"),
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
    let server = StandIn::start(half()).await;
    let mut follower = Follower::start(server.source());
    assert_eq!(follower.notice().await, None);
    let measured = follower.measured().await;
    assert_eq!(measured.len(), 1);
    let (name, usage) = &measured[0];
    assert_eq!((&**name, usage.cpu, usage.memory), ("n1", 50_000, 50_000));
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "1");
    assert_eq!(follower.metric("pumice_node_usage_nodes"), "1");
    server.say("<html>");
    let told = follower.notice().await.expect("it stands");
    assert!(
        told.contains("tells nothing: what is not such an answer"),
        "{told}"
    );
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "0");
    // Readings that were under way may still arrive.
    while follower.commands.try_recv().is_ok() {}
    server.say(half());
    // The next word is that it is over: nothing was told twice.
    assert_eq!(follower.notice().await, None);
    follower.measured().await;
    assert_eq!(follower.metric("pumice_node_usage_source_up"), "1");
}

#[tokio::test]
async fn another_source_is_asked_at_once_and_none_is_no_failure() {
    let (first, second) = (StandIn::start("{}").await, StandIn::start(half()).await);
    let mut follower = Follower::start(first.source());
    assert!(follower.notice().await.is_none());
    assert!(follower.notice().await.is_some(), "the first tells nothing");
    follower.source.send_replace(Some(second.source()));
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
