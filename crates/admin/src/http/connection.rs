//! What one connection may take: a place among a bounded number, and time.
//!
//! A client that sends its request slowly is cut by the header timeout, one that does not read its
//! answer by the write timeout here.

use std::future::{Future as _, Ready, ready};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum_server::accept::Accept;
use axum_server::{Address, Server};
use hyper_util::rt::TokioTimer;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Time for a request's head, and between requests (spec/01 §1.6).
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// Time in which a client has to take some of its answer (spec/01 §1.6).
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Connections of one server at a time; more are closed at once.
const MAX_CONNECTIONS: usize = 128;

/// Largest head of a request in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// The server with the bounds every server has.
pub(crate) fn limited<A: Address>(mut server: Server<A>) -> Server<A, BoundedListener> {
    server
        .http_builder()
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES);
    server
        .http1_only()
        .acceptor(BoundedListener::new(MAX_CONNECTIONS, WRITE_TIMEOUT))
}

/// Admits a bounded number of connections and watches over their writes.
#[derive(Clone)]
pub(crate) struct BoundedListener {
    places: Arc<Semaphore>,
    write_timeout: Duration,
}

impl BoundedListener {
    pub(super) fn new(connections: usize, write_timeout: Duration) -> Self {
        Self {
            places: Arc::new(Semaphore::new(connections)),
            write_timeout,
        }
    }
}

impl<I, S> Accept<I, S> for BoundedListener {
    type Stream = Guarded<I>;
    type Service = S;
    type Future = Ready<io::Result<(Self::Stream, S)>>;

    fn accept(&self, stream: I, service: S) -> Self::Future {
        let place = Arc::clone(&self.places).try_acquire_owned();
        ready(match place {
            Ok(place) => Ok((Guarded::new(stream, self.write_timeout, place), service)),
            Err(_) => Err(io::Error::other("too many connections")),
        })
    }
}

/// A connection that fails when its peer takes nothing for too long.
pub(crate) struct Guarded<I> {
    stream: I,
    write_timeout: Duration,
    /// Runs while a write waits for the peer.
    stalled: Option<Pin<Box<Sleep>>>,
    _place: OwnedSemaphorePermit,
}

impl<I> Guarded<I> {
    fn new(stream: I, write_timeout: Duration, place: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            write_timeout,
            stalled: None,
            _place: place,
        }
    }

    /// The outcome of a write, or the timeout if it keeps waiting.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let timeout = self.write_timeout;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(timeout)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Guarded<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Guarded<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, buffers);
        self.watch(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum_server::accept::Accept as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::BoundedListener;

    #[tokio::test]
    async fn a_peer_that_takes_nothing_is_cut() {
        let (near, far) = duplex(8);
        let accepted = BoundedListener::new(1, Duration::from_millis(20)).accept(near, ());
        let (mut guarded, ()) = accepted.await.expect("a place");
        let error = guarded.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        drop(far);
    }

    #[tokio::test]
    async fn a_peer_that_reads_gets_everything() {
        let (near, mut far) = duplex(8);
        let accepted = BoundedListener::new(1, Duration::from_secs(60)).accept(near, ());
        let (mut guarded, ()) = accepted.await.expect("a place");
        let sent = tokio::spawn(async move { guarded.write_all(&[7; 64]).await });
        let mut received = Vec::new();
        far.read_to_end(&mut received).await.expect("readable");
        assert_eq!(received, [7; 64]);
        assert!(sent.await.expect("no panic").is_ok());
    }

    #[tokio::test]
    async fn a_place_is_free_again_after_its_connection_ended() {
        let bounded = BoundedListener::new(1, Duration::from_secs(60));
        let first = bounded.accept((), ()).await.expect("a place");
        assert!(bounded.accept((), ()).await.is_err());
        drop(first);
        assert!(bounded.accept((), ()).await.is_ok());
    }
}
