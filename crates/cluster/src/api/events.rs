//! Requests for objects of a kind, and the events of the API server's answers.
//!
//! ```text
//!  JSON       {"type": …}\n   {"type": …}\n          a line each
//!  protobuf   <4 bytes: length> <frame>  …          a frame each, for kinds that ask for it
//! ```
//!
//! Which of the two an answer is its content type says: what does not know protobuf answers in JSON.

use std::pin::Pin;

use futures::AsyncBufRead;
use futures::AsyncBufReadExt as _;
use futures::TryStreamExt as _;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::Status;
use kube::core::response::StatusDetails;
use kube::{Client, Error};
use pumice_wire::protobuf::{self, FailureStatus};

/// Longest event of a watch. An object has at most some 3 MiB (the limit of etcd and of requests).
const EVENT_LIMIT_BYTES: usize = 64 << 20;

/// Asks for protobuf, and for JSON of who does not know it.
const PROTOBUF_FIRST: HeaderValue =
    HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch, application/json");

/// Bytes before a frame, which say how long it is.
const LENGTH_BYTES: usize = 4;

/// Seconds a look stays open.
const LOOK_S: u32 = 1;

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As text.
    Json,
    /// As Kubernetes' own components exchange them.
    Protobuf,
}

/// Objects of a kind that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    /// They are below this path.
    pub(crate) path: String,
    /// They have these fields, as `metadata.name=a`.
    pub(crate) fields: Option<String>,
    /// They have these labels, as `key=value`.
    pub(crate) labels: Option<String>,
}

/// The open answer to a watch.
pub(crate) struct EventStream {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    encoding: Encoding,
    event: Vec<u8>,
    /// The event has been handed out.
    whole: bool,
}

/// Opens a watch from this version on, asking for this encoding where the API server knows it.
///
/// # Errors
/// There was no answer, or a refusal.
pub(crate) async fn watch(
    client: &Client,
    which: &Collection,
    version: &str,
    open_s: u32,
    wanted: Encoding,
) -> Result<EventStream, Error> {
    let params = which.watched(open_s);
    events(client, &which.path, &params, version, wanted).await
}

/// Opens a watch that begins with the list, at least as new as the moment of asking.
///
/// # Errors
/// As [`watch`].
pub(crate) async fn stream(
    client: &Client,
    which: &Collection,
    open_s: u32,
    wanted: Encoding,
) -> Result<EventStream, Error> {
    let params = WatchParams {
        send_initial_events: true,
        ..which.watched(open_s)
    };
    events(client, &which.path, &params, "", wanted).await
}

impl Collection {
    fn watched(&self, open_s: u32) -> WatchParams {
        WatchParams {
            timeout: Some(open_s),
            field_selector: self.fields.clone(),
            label_selector: self.labels.clone(),
            ..WatchParams::default()
        }
    }
}

async fn events(
    client: &Client,
    path: &str,
    params: &WatchParams,
    version: &str,
    wanted: Encoding,
) -> Result<EventStream, Error> {
    let request = kube::core::Request::new(path).watch(params, version);
    let mut request: Request<Vec<u8>> = request.map_err(Error::BuildRequest)?;
    if wanted == Encoding::Protobuf {
        request.headers_mut().insert(ACCEPT, PROTOBUF_FIRST);
    }
    let answer = client.send(request.map(Body::from)).await?;
    let encoding = encoding(&answer);
    if !answer.status().is_success() {
        return Err(refused(answer, encoding).await?);
    }
    let body = answer.into_body().into_data_stream();
    Ok(EventStream {
        body: Box::pin(body.map_err(std::io::Error::other).into_async_read()),
        encoding,
        event: Vec::new(),
        whole: false,
    })
}

fn encoding(answer: &Response<Body>) -> Encoding {
    let media = answer.headers().get(CONTENT_TYPE);
    let media = media.and_then(|media| media.to_str().ok());
    match media.is_some_and(|media| media.starts_with(protobuf::MEDIA_TYPE)) {
        true => Encoding::Protobuf,
        false => Encoding::Json,
    }
}

/// What an answer that is none of events says.
async fn refused(answer: Response<Body>, encoding: Encoding) -> Result<Error, Error> {
    let code = answer.status().as_u16();
    let text = answer.into_body().collect_bytes().await?;
    let status: Option<Box<Status>> = match encoding {
        Encoding::Json => serde_json::from_slice(&text).ok(),
        Encoding::Protobuf => protobuf::status(&text).ok().map(status),
    };
    let unknown = || {
        let text = String::from_utf8_lossy(&text);
        let status = Status::failure(&text, "Unknown").with_code(code);
        Box::new(status)
    };
    Ok(Error::Api(status.unwrap_or_else(unknown)))
}

/// Whether the API server has something newer of the kind than this version: the first line of a
/// watch of [`LOOK_S`], if any.
pub(crate) async fn look(
    client: &Client,
    which: &Collection,
    version: &str,
) -> Result<Option<Vec<u8>>, Error> {
    let mut lines = watch(client, which, version, LOOK_S, Encoding::Json).await?;
    let line = lines.next().await.map_err(Error::ReadEvents)?;
    Ok(line.map(<[u8]>::to_vec))
}

/// Gets one page of a list.
///
/// # Errors
/// As [`watch`].
pub(crate) async fn page(
    client: &Client,
    which: &Collection,
    limit: Option<u32>,
    from: Option<String>,
) -> Result<String, Error> {
    let params = ListParams {
        limit,
        continue_token: from,
        field_selector: which.fields.clone(),
        label_selector: which.labels.clone(),
        ..ListParams::default()
    };
    let request = kube::core::Request::new(&which.path).list(&params);
    let request: Request<Vec<u8>> = request.map_err(Error::BuildRequest)?;
    client.request_text(request).await
}

impl EventStream {
    /// How its events are written.
    pub(crate) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The next event; `None` where the answer ends in good order. Whoever stops waiting for it loses
    /// nothing.
    ///
    /// # Errors
    /// The connection broke, or the event is too long.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<&[u8]>> {
        if std::mem::take(&mut self.whole) {
            self.event.clear();
        }
        loop {
            let bytes = self.body.fill_buf().await?;
            if bytes.is_empty() && self.event.is_empty() {
                return Ok(None);
            }
            if bytes.is_empty() {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let (taken, is_whole) = match self.encoding {
                Encoding::Json => take_line(&mut self.event, bytes),
                Encoding::Protobuf => take_frame(&mut self.event, bytes)?,
            };
            self.body.consume_unpin(taken);
            if is_whole {
                self.whole = true;
                let begin = match self.encoding {
                    Encoding::Json => 0,
                    Encoding::Protobuf => LENGTH_BYTES,
                };
                return Ok(Some(&self.event[begin..]));
            }
            if self.event.len() > EVENT_LIMIT_BYTES {
                return Err(too_long());
            }
        }
    }
}

fn too_long() -> std::io::Error {
    std::io::Error::other(format!("an event of more than {EVENT_LIMIT_BYTES} bytes"))
}

/// Takes bytes up to the end of the line. How many, and whether it has ended.
fn take_line(line: &mut Vec<u8>, bytes: &[u8]) -> (usize, bool) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
    (end.map_or(bytes.len(), |end| end + 1), end.is_some())
}

/// Takes bytes up to the end of the length, or of the frame once that is known. How many, and whether the
/// frame has ended.
fn take_frame(frame: &mut Vec<u8>, bytes: &[u8]) -> std::io::Result<(usize, bool)> {
    let length = frame.first_chunk::<LENGTH_BYTES>();
    let length = length.map(|length| u32::from_be_bytes(*length) as usize);
    if length.is_some_and(|length| length > EVENT_LIMIT_BYTES) {
        return Err(too_long());
    }
    let whole = LENGTH_BYTES + length.unwrap_or(0);
    let taken = bytes.len().min(whole - frame.len());
    frame.extend_from_slice(&bytes[..taken]);
    let is_empty = length.is_none() && *frame == [0; LENGTH_BYTES];
    let is_whole = length.is_some() && frame.len() == whole || is_empty;
    Ok((taken, is_whole))
}

/// A status as it is read from JSON.
pub(crate) fn status(failure: FailureStatus) -> Box<Status> {
    let mut status = Status::failure(&failure.message, &failure.reason);
    status.code = u16::try_from(failure.code).unwrap_or_default();
    status.details = Some(StatusDetails {
        retry_after_seconds: u32::try_from(failure.details.retry_after_s).unwrap_or_default(),
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
    });
    Box::new(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], part: usize, encoding: Encoding) -> (Vec<String>, bool) {
        let parts = bytes.chunks(part).map(|part| Ok(part.to_vec()));
        let parts: Vec<std::io::Result<Vec<u8>>> = parts.collect();
        let mut events = EventStream {
            body: Box::pin(futures::stream::iter(parts).into_async_read()),
            encoding,
            event: Vec::new(),
            whole: false,
        };
        let mut read = Vec::new();
        loop {
            match events.next().await {
                Ok(Some(event)) => read.push(String::from_utf8_lossy(event).into_owned()),
                Ok(None) => return (read, true),
                Err(_) => return (read, false),
            }
        }
    }

    #[tokio::test]
    async fn lines_are_whole_however_they_arrive() {
        let cases: [(&str, &[&str], bool); 4] = [
            ("", &[], true),
            ("ab\ncd\n", &["ab", "cd"], true),
            ("ab\n\nc\n", &["ab", "", "c"], true),
            ("ab\ncut", &["ab"], false),
        ];
        for (text, expected, in_good_order) in cases {
            for part in [1, 2, 3, 100] {
                let (read, ended) = all(text.as_bytes(), part, Encoding::Json).await;
                assert_eq!(read, expected, "{text:?} by {part}");
                assert_eq!(ended, in_good_order, "{text:?} by {part}");
            }
        }
    }

    #[tokio::test]
    async fn frames_are_whole_however_they_arrive() {
        let cases: [(&[u8], &[&str], bool); 7] = [
            (b"", &[], true),
            (b"\0\0\0\x02ab\0\0\0\x01c", &["ab", "c"], true),
            (b"\0\0\0\0\0\0\0\x01\n", &["", "\n"], true),
            (b"\0\0\0\x01a\0\0", &["a"], false),
            (b"\0\0\0\x02a", &[], false),
            (b"\0\0\0\x01a\0\0\0\x01", &["a"], false),
            // Longer than any event.
            (b"\x7f\0\0\0a", &[], false),
        ];
        for (bytes, expected, in_good_order) in cases {
            for part in [1, 2, 3, 5, 100] {
                let (read, ended) = all(bytes, part, Encoding::Protobuf).await;
                assert_eq!(read, expected, "{bytes:?} by {part}");
                assert_eq!(ended, in_good_order, "{bytes:?} by {part}");
            }
        }
    }
}
