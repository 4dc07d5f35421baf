//! What is done with a request.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::Response;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::{Value, json};
use tokio::sync::Notify;

/// How long a connection stays after what was written last, which would be lost with it otherwise.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// What to do with a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Answer with an object.
    Json(u16, Value),
    /// Answer with a text.
    Text(u16, String),
    /// Answer with events of a watch.
    Watch(Vec<Value>, Then),
    /// Answer with `Retry-After` in seconds.
    RetryAfter(u16, u64),
    /// Close the connection without an answer.
    Cut,
    /// Close the connection in the middle of the answer.
    Half,
    /// Answer with spaces, for as long as somebody reads.
    Endless,
    /// Never answer.
    Silence,
}

/// How an open watch goes on after its events.
#[derive(Clone, Debug)]
pub enum Then {
    /// Nothing more comes.
    Stay,
    /// The server ends it in good order.
    End,
    /// The connection breaks.
    Cut,
    /// These events are held up on the way until told.
    Held(Arc<Notify>, Vec<Value>),
}

pub(crate) type Body = UnsyncBoxBody<Bytes, std::io::Error>;

type Frames = BoxStream<'static, Result<Frame<Bytes>, std::io::Error>>;

impl Answer {
    /// What is asked for is done.
    #[must_use]
    pub fn ok() -> Self {
        Self::Json(200, json!({"kind": "Status", "status": "Success"}))
    }

    /// A refusal, as API servers word it.
    #[must_use]
    pub fn refuse(code: u16, message: &str) -> Self {
        let status =
            json!({"kind": "Status", "status": "Failure", "message": message, "code": code});
        Self::Json(code, status)
    }

    /// A watch that ends after these events.
    #[must_use]
    pub fn events(events: Vec<Value>) -> Self {
        Self::Watch(events, Then::End)
    }

    /// The answer on the wire.
    pub(crate) async fn response(self) -> Result<Response<Body>, std::io::Error> {
        let (code, retry, body) = match self {
            Self::Json(code, body) => (code, None, full(body.to_string())),
            Self::Text(code, text) => return Ok(plain(code, full(text))),
            Self::Watch(events, then) => (200, None, streamed(lines(events).chain(rest(then)))),
            Self::RetryAfter(code, seconds) => {
                let body = json!({"message": "slow down"}).to_string();
                (code, Some(seconds), full(body))
            }
            Self::Cut => return Err(cut()),
            Self::Half => {
                let mut response = plain(200, streamed(text("{").chain(broken())));
                let headers = response.headers_mut();
                headers.insert("content-length", 99.into());
                return Ok(response);
            }
            Self::Endless => {
                let spaces = || Ok(Frame::data(Bytes::from_static(&[b' '; 1 << 16])));
                (200, None, streamed(stream::repeat_with(spaces)))
            }
            Self::Silence => std::future::pending().await,
        };
        let mut response = plain(code, body);
        let headers = response.headers_mut();
        headers.insert(
            "content-type",
            http::HeaderValue::from_static("application/json"),
        );
        if let Some(seconds) = retry {
            headers.insert("retry-after", seconds.into());
        }
        Ok(response)
    }
}

fn plain(code: u16, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a status");
    response
}

fn full(text: String) -> Body {
    let body = Full::from(text).map_err(|never| match never {});
    body.boxed_unsync()
}

fn streamed<S>(frames: S) -> Body
where
    S: stream::Stream<Item = Result<Frame<Bytes>, std::io::Error>> + Send + 'static,
{
    StreamBody::new(frames).boxed_unsync()
}

fn cut() -> std::io::Error {
    std::io::Error::other("cut")
}

fn text(text: &'static str) -> Frames {
    stream::once(async move { Ok(Frame::data(Bytes::from(text))) }).boxed()
}

fn lines(events: Vec<Value>) -> Frames {
    let frame = |event: Value| Ok(Frame::data(Bytes::from(format!("{event}\n"))));
    stream::iter(events).map(frame).boxed()
}

/// The connection breaks.
fn broken() -> Frames {
    let broken = async {
        tokio::time::sleep(LAST_WORDS).await;
        Err(cut())
    };
    stream::once(broken).boxed()
}

fn rest(then: Then) -> Frames {
    match then {
        Then::Stay => stream::pending().boxed(),
        Then::End => stream::empty().boxed(),
        Then::Cut => broken(),
        Then::Held(told, events) => {
            let held = async move {
                told.notified().await;
                lines(events)
            };
            let held = stream::once(held).flatten();
            held.chain(stream::pending()).boxed()
        }
    }
}
