//! One request over a stream that is there already.

use std::io::Write;
use std::time::Duration;

use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

use super::LIMIT;
use crate::client::describe;

/// Largest answer that is read, bytes: no cluster has so much in a dump.
const MAX_BYTES: usize = 4 << 30;

/// Largest answer that is not what was asked for, bytes.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// How the scheduler names itself in the header `server`.
const PROGRAM: &str = "pumice-scheduler";

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemotePage {
    /// HTTP status.
    pub status: u16,
    /// Text.
    pub body: String,
    /// It is Pumice that has answered.
    pub(super) is_ours: bool,
}

/// What is asked of a scheduler.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<'a> {
    /// The page: path and query.
    pub path: &'a str,
    /// A question in JSON, which is posted; without one the page is read.
    pub question: Option<&'a str>,
    /// Longest time for each step until the answer begins.
    pub patience: Duration,
}

impl<'a> PageRequest<'a> {
    /// Reads a page.
    pub fn read(path: &'a str) -> Self {
        Self {
            path,
            question: None,
            patience: LIMIT,
        }
    }

    /// Posts a question.
    pub fn post(path: &'a str, question: &'a str) -> Self {
        Self {
            question: Some(question),
            ..Self::read(path)
        }
    }

    /// Waits so long at most.
    #[must_use]
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }
}

/// Writes the body of an answer with status 200 to `out`; another one is in the page.
///
/// # Errors
/// What happened to the connection.
pub(super) async fn ask(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    asked: PageRequest<'_>,
    token: Option<&str>,
    out: &mut (dyn Write + Send),
) -> Result<RemotePage, String> {
    let broken = |error: hyper::Error| describe(&error);
    let patience = asked.patience;
    let silent = |_| format!("no answer within {patience:?}");
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(broken)?;
    let connection = tokio::spawn(connection);
    let method = match asked.question {
        None => Method::GET,
        Some(_) => Method::POST,
    };
    let mut request = Request::builder()
        .method(method)
        .uri(asked.path)
        .header(header::HOST, "localhost")
        .header(header::CONNECTION, "close");
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let question = asked.question.unwrap_or_default().to_owned();
    let request = request.body(Full::new(Bytes::from(question)));
    let request = request.map_err(|error| error.to_string())?;
    let response = timeout(patience, sender.send_request(request)).await;
    let (head, body) = response.map_err(silent)?.map_err(broken)?.into_parts();
    let server = head.headers.get(header::SERVER);
    let server = server.and_then(|name| name.to_str().ok());
    let status = head.status.as_u16();
    let mut refusal = Vec::new();
    match status {
        200 => copy(body, out, MAX_BYTES).await?,
        _ => copy(body, &mut refusal, MAX_REFUSAL_BYTES).await?,
    }
    connection.abort();
    Ok(RemotePage {
        status,
        body: String::from_utf8_lossy(&refusal).into_owned(),
        is_ours: server.is_some_and(|name| name.starts_with(PROGRAM)),
    })
}

async fn copy(
    mut body: Incoming,
    out: &mut (dyn Write + Send),
    most_bytes: usize,
) -> Result<(), String> {
    let mut bytes = 0;
    loop {
        let frame = timeout(LIMIT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| format!("nothing more within {LIMIT:?}"))? else {
            return Ok(());
        };
        let frame = frame.map_err(|error| describe(&error))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        bytes += data.len();
        if bytes > most_bytes {
            return Err(format!("the answer has more than {most_bytes} bytes"));
        }
        let written = out.write_all(&data);
        written.map_err(|error| format!("the answer cannot be written: {error}"))?;
    }
}
