//! Requests to the API server, and the lines of its answers.

use std::pin::Pin;

use futures::AsyncBufRead;
use futures::AsyncBufReadExt as _;
use http::Request;
use kube::Client;
use kube::api::{ListParams, WatchParams};

use super::failure::{STREAM, WatchFailure};
use super::kinds::WatchedKind;
use crate::client;

/// Longest line of a watch. An object has at most some 3 MiB (the limit of etcd and of requests).
const LINE_LIMIT_BYTES: usize = 64 << 20;

/// Seconds a look stays open.
const LOOK_S: u32 = 1;

/// The open answer to a watch.
pub(super) struct Lines {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    line: Vec<u8>,
    /// The line has been handed out.
    whole: bool,
}

/// Opens a watch from this version on.
pub(super) async fn watch(
    client: &Client,
    kind: &WatchedKind,
    version: &str,
    open_s: u32,
) -> Result<Lines, WatchFailure> {
    let params = WatchParams {
        timeout: Some(open_s),
        ..WatchParams::default()
    };
    lines(client, kind, &params, version, "watch").await
}

/// Opens a watch that begins with the list, at least as new as the moment of asking.
pub(super) async fn stream(
    client: &Client,
    kind: &WatchedKind,
    open_s: u32,
) -> Result<Lines, WatchFailure> {
    let params = WatchParams {
        timeout: Some(open_s),
        send_initial_events: true,
        ..WatchParams::default()
    };
    lines(client, kind, &params, "", STREAM).await
}

async fn lines(
    client: &Client,
    kind: &WatchedKind,
    params: &WatchParams,
    version: &str,
    verb: &str,
) -> Result<Lines, WatchFailure> {
    let request = kube::core::Request::new(kind.path()).watch(params, version);
    let request: Request<Vec<u8>> = request.map_err(|e| WatchFailure::broken(e.to_string()))?;
    let body = client.request_stream(request).await;
    let body = body.map_err(|error| WatchFailure::of(&error, kind, verb))?;
    Ok(Lines {
        body: Box::pin(body),
        line: Vec::new(),
        whole: false,
    })
}

/// Whether the API server has something newer of the kind than this version: the first line of a
/// watch of [`LOOK_S`], if any.
pub(super) async fn look(
    client: &Client,
    kind: &WatchedKind,
    version: &str,
) -> Result<Option<Vec<u8>>, WatchFailure> {
    let mut lines = watch(client, kind, version, LOOK_S).await?;
    let line = lines.next().await;
    let line = line.map_err(|error| WatchFailure::broken(client::describe(&error)))?;
    Ok(line.map(<[u8]>::to_vec))
}

/// Gets one page of a list.
pub(super) async fn page(
    client: &Client,
    kind: &WatchedKind,
    limit: Option<u32>,
    from: Option<String>,
) -> Result<String, WatchFailure> {
    let params = ListParams {
        limit,
        continue_token: from,
        ..ListParams::default()
    };
    let request = kube::core::Request::new(kind.path()).list(&params);
    let request: Request<Vec<u8>> = request.map_err(|e| WatchFailure::broken(e.to_string()))?;
    let text = client.request_text(request).await;
    text.map_err(|error| WatchFailure::of(&error, kind, "list"))
}

impl Lines {
    /// The next line; `None` where the answer ends in good order. Whoever stops waiting for it loses
    /// nothing.
    ///
    /// # Errors
    /// The connection broke, or the line is too long.
    pub(super) async fn next(&mut self) -> std::io::Result<Option<&[u8]>> {
        if std::mem::take(&mut self.whole) {
            self.line.clear();
        }
        loop {
            let bytes = self.body.fill_buf().await?;
            if bytes.is_empty() && self.line.is_empty() {
                return Ok(None);
            }
            if bytes.is_empty() {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            self.line.extend_from_slice(&bytes[..end.unwrap_or(taken)]);
            self.body.consume_unpin(taken);
            if end.is_some() {
                self.whole = true;
                return Ok(Some(&self.line));
            }
            if self.line.len() > LINE_LIMIT_BYTES {
                let text = format!("a line of more than {LINE_LIMIT_BYTES} bytes");
                return Err(std::io::Error::other(text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(text: &str, part: usize) -> (Vec<String>, bool) {
        let parts = text.as_bytes().chunks(part).map(|part| Ok(part.to_vec()));
        let parts: Vec<std::io::Result<Vec<u8>>> = parts.collect();
        let stream = futures::stream::iter(parts);
        let body = futures::TryStreamExt::into_async_read(stream);
        let mut lines = Lines {
            body: Box::pin(body),
            line: Vec::new(),
            whole: false,
        };
        let mut read = Vec::new();
        loop {
            match lines.next().await {
                Ok(Some(line)) => read.push(String::from_utf8_lossy(line).into_owned()),
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
                let (read, ended) = all(text, part).await;
                assert_eq!(read, expected, "{text:?} by {part}");
                assert_eq!(ended, in_good_order, "{text:?} by {part}");
            }
        }
    }
}
