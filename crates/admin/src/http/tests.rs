mod encrypted;
mod floods;
mod pages;
mod secure;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{
    Answers, DebugPage, DiagAsk, Endpoints, HistoryAsk, HttpServer, PendingAnswer, RenderedMetrics,
    Unanswered, serve,
};
use crate::log::LevelHandle;
use crate::metrics::Metrics;

/// A daemon of which the test chooses the state.
#[derive(Default)]
struct Daemon {
    not_ready: Vec<String>,
    stuck: Option<String>,
    /// The engine never answers.
    silent: bool,
    /// The engine has no answer yet.
    starting: bool,
}

impl Answers for Daemon {
    fn ready(&self) -> Result<(), Vec<String>> {
        if self.not_ready.is_empty() {
            Ok(())
        } else {
            Err(self.not_ready.clone())
        }
    }

    fn live(&self) -> Result<(), String> {
        self.stuck.clone().map_or(Ok(()), Err)
    }

    fn config(&self) -> Value {
        json!({"hash": "00ff"})
    }

    fn page(&self, page: DebugPage) -> PendingAnswer<'_, Result<Value, String>> {
        Box::pin(async move {
            if self.silent {
                std::future::pending::<()>().await;
            }
            if self.starting {
                return Err(Unanswered(String::from("the lists are not complete")));
            }
            let unknown = matches!(&page, DebugPage::Pod { name, .. } if name != "web-0");
            Ok(match unknown {
                true => Err("pod team-a/web-1 is not known here".to_owned()),
                false => Ok(json!({"page": format!("{page:?}")})),
            })
        })
    }

    fn dump(&self) -> PendingAnswer<'_, Vec<u8>> {
        Box::pin(async { Ok(b"{}".to_vec()) })
    }

    fn record(&self) -> PendingAnswer<'_, Vec<u8>> {
        Box::pin(async { Ok(b"PuBB".to_vec()) })
    }

    fn diag(&self, ask: DiagAsk) -> PendingAnswer<'_, Value> {
        Box::pin(async move {
            Ok(match ask {
                DiagAsk::Text => Value::String("THREAD\n".to_owned()),
                DiagAsk::Read => json!({"seconds": 5}),
                DiagAsk::Reset => json!({"seconds": 7}),
            })
        })
    }

    fn plan(&self, question: Vec<u8>) -> PendingAnswer<'_, Result<Value, String>> {
        let question = String::from_utf8_lossy(&question).into_owned();
        Box::pin(async move {
            Ok(match question.as_str() {
                "?" => Ok(json!({"outcome": "runs"})),
                _ => Err("the question is not understood".to_owned()),
            })
        })
    }

    fn history(&self, asked: HistoryAsk) -> PendingAnswer<'_, Result<Value, String>> {
        Box::pin(async move {
            Ok(match asked.by.as_str() {
                "colour" => Err("by=colour: there is no such key".to_owned()),
                _ => Ok(json!({"from": asked.from, "until": asked.until, "by": asked.by})),
            })
        })
    }

    fn decisions(&self) -> PendingAnswer<'_, Value> {
        Box::pin(async { Ok(json!([{"pod": "a/b", "node": "n1"}])) })
    }
}

fn endpoints(daemon: Daemon) -> Endpoints {
    Endpoints {
        program: "pumice-scheduler/0",
        metrics: Some(RenderedMetrics::new(Arc::new(
            Metrics::new().expect("registered"),
        ))),
        answers: Arc::new(daemon),
        level: LevelHandle::new(3, |_| Ok(())),
        debug_open: false,
        own: None,
    }
}

async fn server(daemon: Daemon) -> HttpServer {
    let server = serve("127.0.0.1:0", endpoints(daemon)).await;
    server.expect("it listens")
}

/// One whose pages below `/debug` everybody may read.
async fn open_server(daemon: Daemon) -> HttpServer {
    let mut endpoints = endpoints(daemon);
    endpoints.debug_open = true;
    let server = serve("127.0.0.1:0", endpoints).await;
    server.expect("it listens")
}

/// An answer as a client sees it.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

/// Sends the bytes and reads until the server ends the connection.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Reply {
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("head and body");
    Reply {
        status: head[9..12].parse().expect("a status"),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// One request on a connection of its own, without a body.
async fn ask(address: SocketAddr, request: &str) -> Reply {
    let stream = TcpStream::connect(address).await.expect("connected");
    let text = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    exchange(stream, &text).await
}

#[tokio::test]
async fn port_0_reports_the_port_it_got() {
    for address in [":0", "127.0.0.1:0", "localhost:0"] {
        let server = serve(address, endpoints(Daemon::default())).await;
        let server = server.expect("it listens");
        assert_ne!(server.address().port(), 0);
        let local = SocketAddr::from(([127, 0, 0, 1], server.address().port()));
        let local = if address == "localhost:0" {
            server.address()
        } else {
            local
        };
        assert_eq!(ask(local, "GET /healthz").await.status, 200, "{address}");
    }
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_said_with_its_flag() {
    let first = server(Daemon::default()).await;
    let taken = first.address().to_string();
    for (address, expected, help) in [
        (
            "8080",
            "--listen-address=8080: the port is missing",
            "write",
        ),
        (&taken, "cannot listen: ", "end the other process"),
        ("192.0.2.1:0", "cannot listen: ", "of this machine"),
    ] {
        let error = serve(address, endpoints(Daemon::default())).await;
        let error = error.err().expect("refused").to_string();
        assert!(error.contains(expected) && error.contains(help), "{error}");
        assert!(error.starts_with(&format!("--listen-address={address}: ")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_finish_its_request_is_cut() {
    let server = server(Daemon::default()).await;
    let body = "PUT /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n12";
    for begun in ["", "GET /hea", "GET /healthz HTTP/1.1\r\nHost: x\r\n", body] {
        let mut stream = TcpStream::connect(server.address())
            .await
            .expect("connected");
        stream.write_all(begun.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.expect("ended");
        assert!(!answer.starts_with(b"HTTP/1.1 200"), "{begun:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends_after_its_time() {
    let server = open_server(Daemon {
        silent: true,
        ..Daemon::default()
    })
    .await;
    let reply = ask(server.address(), "GET /debug/explain/a/web-0").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.body, "no answer within 30 seconds\n");
}

#[tokio::test]
async fn a_stopped_server_takes_no_more_connections() {
    let server = server(Daemon::default()).await;
    let address = server.address();
    let idle = TcpStream::connect(address).await.expect("connected");
    assert_eq!(ask(address, "GET /healthz").await.status, 200);
    server.stop(Duration::from_millis(100)).await;
    assert!(TcpStream::connect(address).await.is_err());
    drop(idle);
}
