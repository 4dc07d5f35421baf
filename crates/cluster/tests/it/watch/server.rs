//! An API server on loopback that plays a script: for every path, one answer after another.
//!
//! A path without script is an empty list, and a watch on which nothing happens. Requests beyond a
//! script hang, as a slow server would.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::wire::{list, list_end};

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

/// How an open watch goes on after its lines.
#[derive(Clone, Debug)]
pub enum Then {
    /// Nothing more comes.
    Stay,
    /// The server ends it in good order.
    End,
    /// The connection breaks.
    Cut,
    /// These lines are held up on the way until told.
    Held(Arc<Notify>, Vec<Value>),
}

/// One answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// To a list.
    List(Value),
    /// To a watch.
    Watch(Vec<Value>, Then),
    /// To a watch that begins with the list.
    Stream(Vec<Value>, Then),
    /// A failure.
    Status(u16, &'static str),
}

/// An API server that answers lists and watches as a test tells it.
#[derive(Clone)]
pub struct Server {
    url: String,
    scripts: Arc<Mutex<BTreeMap<&'static str, VecDeque<Answer>>>>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts one with these scripts.
    pub async fn start(scripts: Vec<(&'static str, Vec<Answer>)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scripts = scripts
            .into_iter()
            .map(|(path, script)| (path, script.into()));
        let server = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            scripts: Arc::new(Mutex::new(scripts.collect())),
            requests: Arc::default(),
        };
        let own = server.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let own = own.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| own.clone().serve(request));
                    let http = hyper::server::conn::http1::Builder::new();
                    // Ends with an error where the script cuts the connection.
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        server
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Queries of the requests to a path so far.
    pub fn requests(&self, path: &str) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let of_path = requests
            .iter()
            .filter_map(|request| request.split_once('?'));
        of_path
            .filter(|(to, _)| *to == path)
            .map(|(_, query)| query.to_owned())
            .collect()
    }

    async fn serve(self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        let (path, query) = (
            request.uri().path().to_owned(),
            request.uri().query().unwrap_or(""),
        );
        let streams = query.contains("sendInitialEvents=true");
        let watches = query.contains("watch=true");
        self.requests
            .lock()
            .unwrap()
            .push(format!("{path}?{query}"));
        // As the watch looks at one that is silent.
        let looks = query.split('&').any(|part| part == "timeoutSeconds=1");
        let then = if looks { Then::End } else { Then::Stay };
        let answer = self.next(&path, streams, watches, then);
        Ok(match answer {
            Some(Answer::List(list)) => {
                assert!(!watches, "{path}?{query} is no list");
                full(200, list.to_string())
            }
            Some(Answer::Watch(lines, then)) => {
                assert!(watches && !streams, "{path}?{query} is no watch");
                open(lines, then)
            }
            Some(Answer::Stream(lines, then)) => {
                assert!(streams, "{path}?{query} is no streamed list");
                open(lines, then)
            }
            Some(Answer::Status(code, message)) => full(code, message.to_owned()),
            None => std::future::pending().await,
        })
    }

    fn next(&self, path: &str, streams: bool, watches: bool, then: Then) -> Option<Answer> {
        let mut scripts = self.scripts.lock().unwrap();
        let Some(script) = scripts.get_mut(path) else {
            return Some(match (streams, watches) {
                (true, _) => Answer::Stream(vec![list_end("1")], Then::Stay),
                (false, true) => Answer::Watch(Vec::new(), then),
                (false, false) => Answer::List(list("1", None, &[])),
            });
        };
        // A server that cannot stream says so once, unless the script is about it.
        match script.front() {
            Some(Answer::List(_) | Answer::Watch(..)) if streams => Some(Answer::Status(
                422,
                "sendInitialEvents is forbidden for watch",
            )),
            _ => script.pop_front(),
        }
    }
}

fn full(code: u16, text: String) -> Response<Body> {
    let text = match code {
        // The API server answers an unknown path with plain text.
        200 | 404 => text,
        code => json!({"kind": "Status", "code": code, "message": text}).to_string(),
    };
    let body = Full::new(Bytes::from(text)).map_err(|never| match never {});
    Response::builder()
        .status(code)
        .body(body.boxed_unsync())
        .unwrap()
}

fn open(lines: Vec<Value>, then: Then) -> Response<Body> {
    let frame = |line: Value| Ok(Frame::data(Bytes::from(format!("{line}\n"))));
    let frames = move |lines: Vec<Value>| futures::stream::iter(lines).map(frame);
    let rest = match then {
        Then::Stay => futures::stream::pending().boxed(),
        Then::End => futures::stream::empty().boxed(),
        Then::Cut => {
            // Later than the lines before it, which would be lost otherwise.
            let cut = async {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                Err(std::io::Error::other("cut"))
            };
            futures::stream::once(cut).boxed()
        }
        Then::Held(told, lines) => {
            let held = async move {
                told.notified().await;
                frames(lines)
            };
            let rest = futures::stream::pending();
            futures::stream::once(held).flatten().chain(rest).boxed()
        }
    };
    let body = StreamBody::new(frames(lines).chain(rest));
    Response::new(BodyExt::boxed_unsync(body))
}
