//! Requests for the objects below a path of the API server, and the lines of its answers.

use std::pin::Pin;

use futures::AsyncBufRead;
use futures::AsyncBufReadExt as _;
use http::Request;
use kube::api::{ListParams, WatchParams};
use kube::{Client, Error};

/// Longest line of a watch. An object has at most some 3 MiB (the limit of etcd and of requests).
const LINE_LIMIT_BYTES: usize = 64 << 20;

/// Seconds a look stays open.
const LOOK_S: u32 = 1;

/// The open answer to a watch.
pub(crate) struct Lines {
    body: Pin<Box<dyn AsyncBufRead + Send>>,
    line: Vec<u8>,
    /// The line has been handed out.
    whole: bool,
}

/// Opens a watch from this version on.
pub(crate) async fn watch(
    client: &Client,
    path: &str,
    version: &str,
    open_s: u32,
) -> Result<Lines, Error> {
    let params = WatchParams {
        timeout: Some(open_s),
        ..WatchParams::default()
    };
    lines(client, path, &params, version).await
}

/// Opens a watch that begins with the list, at least as new as the moment of asking.
pub(crate) async fn stream(client: &Client, path: &str, open_s: u32) -> Result<Lines, Error> {
    let params = WatchParams {
        timeout: Some(open_s),
        send_initial_events: true,
        ..WatchParams::default()
    };
    lines(client, path, &params, "").await
}

async fn lines(
    client: &Client,
    path: &str,
    params: &WatchParams,
    version: &str,
) -> Result<Lines, Error> {
    let request = kube::core::Request::new(path).watch(params, version);
    let request: Request<Vec<u8>> = request.map_err(Error::BuildRequest)?;
    let body = client.request_stream(request).await?;
    Ok(Lines {
        body: Box::pin(body),
        line: Vec::new(),
        whole: false,
    })
}

/// Whether the API server has something newer of the kind than this version: the first line of a
/// watch of [`LOOK_S`], if any.
pub(crate) async fn look(
    client: &Client,
    path: &str,
    version: &str,
) -> Result<Option<Vec<u8>>, Error> {
    let mut lines = watch(client, path, version, LOOK_S).await?;
    let line = lines.next().await.map_err(Error::ReadEvents)?;
    Ok(line.map(<[u8]>::to_vec))
}

/// Gets one page of a list.
pub(crate) async fn page(
    client: &Client,
    path: &str,
    limit: Option<u32>,
    from: Option<String>,
) -> Result<String, Error> {
    let params = ListParams {
        limit,
        continue_token: from,
        ..ListParams::default()
    };
    let request = kube::core::Request::new(path).list(&params);
    let request: Request<Vec<u8>> = request.map_err(Error::BuildRequest)?;
    client.request_text(request).await
}

impl Lines {
    /// The next line; `None` where the answer ends in good order. Whoever stops waiting for it loses
    /// nothing.
    ///
    /// # Errors
    /// The connection broke, or the line is too long.
    pub(crate) async fn next(&mut self) -> std::io::Result<Option<&[u8]>> {
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
