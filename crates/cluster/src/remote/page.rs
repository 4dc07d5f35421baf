//! One GET over a stream that is there already.

use http::{Request, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::client::describe;

/// Largest answer that is read, bytes.
const MAX_BYTES: usize = 64 << 20;

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

/// # Errors
/// What happened to the connection.
pub(super) async fn get(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    path: &str,
) -> Result<RemotePage, String> {
    let broken = |error: hyper::Error| describe(&error);
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(broken)?;
    let connection = tokio::spawn(connection);
    let request = Request::get(path)
        .header(header::HOST, "localhost")
        .header(header::CONNECTION, "close")
        .body(Empty::<Bytes>::new())
        .map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(broken)?;
    let (head, body) = response.into_parts();
    let server = head.headers.get(header::SERVER);
    let server = server.and_then(|name| name.to_str().ok());
    let body = Limited::new(body, MAX_BYTES).collect().await;
    let body = body.map_err(|error| error.to_string())?.to_bytes();
    connection.abort();
    Ok(RemotePage {
        status: head.status.as_u16(),
        body: String::from_utf8_lossy(&body).into_owned(),
        is_ours: server.is_some_and(|name| name.starts_with(PROGRAM)),
    })
}
