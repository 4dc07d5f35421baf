//! The connections of a server: who gets a place, and how much time each step has.
//!
//! ```text
//! accept ─► a place ─► TLS, within 5 s ─► head, within 5 s ─► body and answer, within 30 s ─► next
//!             │                                                └ a client that takes nothing: 60 s
//!             └ lost to a newer connection: ended at once
//! ```

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::places::{ClientKey, ConnectionPlace, ConnectionPlaces, PlaceBooking, PlaceLimits};
use super::tls::CurrentTls;

/// Time for a request's head, and between requests (spec/01 §1.6); for TLS as well.
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);

/// Time in which a client has to take some of its answer (spec/01 §1.6).
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Largest head of a request in bytes.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Pause after the system has refused a connection, for example since too many files are open.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// Where connections come from.
pub(crate) trait Listener: Send + 'static {
    /// A connection.
    type Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next one, and whose it is.
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, ClientKey)>> + Send;
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, ClientKey)> {
        let (stream, address) = self.accept().await?;
        // A small answer need not wait for more; without it everything works too.
        let _ = stream.set_nodelay(true);
        Ok((stream, ClientKey::of(address.ip())))
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, ClientKey)> {
        let (stream, _) = self.accept().await?;
        Ok((stream, ClientKey::OF_FILE))
    }
}

/// What a server does with connections.
#[derive(Clone)]
pub(crate) struct ConnectionRules {
    /// How many there may be.
    pub places: PlaceLimits,
    /// Whether a connection may bring several requests.
    pub keep_alive: bool,
    /// TLS, and the certificate of the moment.
    pub tls: Option<CurrentTls>,
}

/// Serves until `stop` says true; then ends when the requests under way are answered.
pub(crate) async fn attend(
    listener: impl Listener,
    router: Router,
    rules: ConnectionRules,
    mut stop: watch::Receiver<bool>,
) {
    let places = ConnectionPlaces::new(rules.places);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .keep_alive(rules.keep_alive);
    let conversation = Arc::new(Conversation {
        http,
        router,
        tls: rules.tls,
        stop: stop.clone(),
    });
    let mut running = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.next() => accepted,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, client)) => {
                let place = places.take(client);
                let conversation = Arc::clone(&conversation);
                running.spawn(conversation.with(stream, place));
            }
            Err(error) if is_of_the_client(&error) => {}
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
        while running.try_join_next().is_some() {}
        // Those that are here come before those that wait to come in.
        yield_now().await;
    }
    drop(listener);
    while running.join_next().await.is_some() {}
}

/// The connection was broken before it was accepted.
fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// What all connections of a server have in common.
struct Conversation {
    http: http1::Builder,
    router: Router,
    tls: Option<CurrentTls>,
    stop: watch::Receiver<bool>,
}

impl Conversation {
    async fn with<S>(self: Arc<Self>, stream: S, mut place: ConnectionPlace)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let booking = place.booking();
        tokio::select! {
            biased;
            () = place.displaced() => {}
            () = self.encrypted(stream, booking) => {}
        }
    }

    async fn encrypted<S>(&self, stream: S, booking: PlaceBooking)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Some(tls) = &self.tls else {
            return self.answer(stream, booking).await;
        };
        let accepted = TlsAcceptor::from(tls.config()).accept(stream);
        // A client that does not speak TLS, or is not one of the authority's, is let go.
        if let Ok(Ok(stream)) = timeout(HEADER_TIMEOUT, accepted).await {
            self.answer(stream, booking).await;
        }
    }

    async fn answer<S>(&self, stream: S, booking: PlaceBooking)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stream = TokioIo::new(Guarded::new(stream, WRITE_TIMEOUT));
        let routes = TowerToHyperService::new(self.router.clone());
        // Whoever finds out who asks books the place anew.
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(booking.clone());
            routes.call(request)
        });
        let mut connection = pin!(self.http.serve_connection(stream, service));
        let mut stop = self.stop.clone();
        tokio::select! {
            // A client that breaks off is nobody's fault here.
            _ = connection.as_mut() => return,
            _ = stop.wait_for(|stop| *stop) => connection.as_mut().graceful_shutdown(),
        }
        let _ = connection.await;
    }
}

/// A connection that fails when its peer takes nothing for too long.
struct Guarded<I> {
    stream: I,
    write_timeout: Duration,
    /// Runs while a write waits for the peer.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<I> Guarded<I> {
    fn new(stream: I, write_timeout: Duration) -> Self {
        Self {
            stream,
            write_timeout,
            stalled: None,
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

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::Guarded;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_cut() {
        let (near, far) = duplex(8);
        let mut guarded = Guarded::new(near, Duration::from_secs(60));
        let error = guarded.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        drop(far);
    }

    #[tokio::test]
    async fn a_peer_that_reads_gets_everything() {
        let (near, mut far) = duplex(8);
        let mut guarded = Guarded::new(near, Duration::from_secs(60));
        let sent = tokio::spawn(async move { guarded.write_all(&[7; 64]).await });
        let mut received = Vec::new();
        far.read_to_end(&mut received).await.expect("readable");
        assert_eq!(received, [7; 64]);
        assert!(sent.await.expect("no panic").is_ok());
    }
}
