//! (tests) An API server on loopback that answers as it is told.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::contact::Contact;

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) media: String,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl Seen {
    /// `GET /api/v1/…`
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// What to do with a request.
pub(crate) enum Answer {
    /// Answer.
    Json(u16, Value),
    /// Answer with events of a watch, and end it.
    Events(Vec<Value>),
    /// Answer with `Retry-After` in seconds.
    RetryAfter(u16, u64),
    /// Close the connection without an answer.
    Cut,
    /// Never answer.
    Silence,
}

impl Answer {
    pub(crate) fn ok() -> Self {
        Self::Json(200, json!({"kind": "Status", "status": "Success"}))
    }

    pub(crate) fn refuse(code: u16, message: &str) -> Self {
        Self::Json(
            code,
            json!({"kind": "Status", "status": "Failure", "message": message, "code": code}),
        )
    }
}

type Script = Box<dyn FnMut(&Seen) -> Answer + Send>;

/// The server. Runs until the runtime ends.
#[derive(Clone)]
pub(crate) struct Server {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) async fn start(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let server = Self {
            address: listener.local_addr().expect("bound"),
            script: Arc::new(Mutex::new(Box::new(script))),
            log: Arc::default(),
        };
        let this = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let this = this.clone();
                let service = service_fn(move |request| this.clone().serve(request));
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        server
    }

    pub(crate) fn client(&self) -> kube::Client {
        client(self.address)
    }

    /// A client that tells how its requests fare.
    pub(crate) fn observed(&self, contact: &Contact) -> kube::Client {
        contact.client(config(self.address)).expect("a client")
    }

    /// Answers otherwise from now on.
    pub(crate) fn change(&self, script: impl FnMut(&Seen) -> Answer + Send + 'static) {
        *self.script.lock().unwrap() = Box::new(script);
    }

    pub(crate) fn log(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }

    /// Methods and paths of all requests.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.log().iter().map(Seen::line).collect()
    }

    /// Requests whose line contains the text.
    pub(crate) fn all(&self, text: &str) -> Vec<Seen> {
        let mut log = self.log();
        log.retain(|seen| seen.line().contains(text));
        log
    }

    /// Waits until so many requests contain the text.
    pub(crate) async fn until(&self, text: &str, count: usize) {
        while self.all(text).len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn serve(
        self,
        request: hyper::Request<Incoming>,
    ) -> Result<hyper::Response<Full<Bytes>>, std::io::Error> {
        let (head, body) = request.into_parts();
        let body = body
            .collect()
            .await
            .map(|body| body.to_bytes())
            .unwrap_or_default();
        let media = head.headers.get("content-type");
        let seen = Seen {
            method: head.method.to_string(),
            path: head.uri.to_string(),
            media: media
                .and_then(|media| media.to_str().ok())
                .unwrap_or("")
                .to_owned(),
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            at: Instant::now(),
        };
        self.log.lock().unwrap().push(seen.clone());
        let answer = (self.script.lock().unwrap())(&seen);
        let (code, retry, body) = match answer {
            Answer::Json(code, body) => (code, None, body.to_string()),
            Answer::Events(events) => {
                let lines = events.iter().map(|event| format!("{event}\n"));
                (200, None, lines.collect())
            }
            Answer::RetryAfter(code, seconds) => {
                let body = json!({"message": "slow down"}).to_string();
                (code, Some(seconds), body)
            }
            Answer::Cut => return Err(std::io::Error::other("cut")),
            Answer::Silence => {
                let never: Result<_, Infallible> = std::future::pending().await;
                return Ok(never.unwrap());
            }
        };
        let mut response = hyper::Response::builder()
            .status(code)
            .header("content-type", "application/json");
        if let Some(seconds) = retry {
            response = response.header("retry-after", seconds);
        }
        Ok(response.body(Full::from(body)).expect("a response"))
    }
}

/// A client without retries of its own.
pub(crate) fn client(address: SocketAddr) -> kube::Client {
    kube::Client::try_from(config(address)).expect("a client")
}

fn config(address: SocketAddr) -> kube::Config {
    let uri = format!("http://{address}").parse().expect("a URI");
    let mut config = kube::Config::new(uri);
    config.default_retry = false;
    config
}
