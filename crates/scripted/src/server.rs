//! The server, and the requests that came in.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use crate::answer::{Answer, Body};

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Seen {
    /// As `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// As `HTTP/1.1`.
    pub version: String,
    /// Header `Content-Type`.
    pub media: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body; `null` where it is no JSON.
    pub body: Value,
    /// When it was read.
    pub at: Instant,
}

impl Seen {
    /// `GET /api/v1/… HTTP/1.1`
    #[must_use]
    pub fn first_line(&self) -> String {
        format!("{} {}", self.line(), self.version)
    }

    /// `GET /api/v1/…`
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }

    /// Path and query apart.
    #[must_use]
    pub fn split(&self) -> (&str, &str) {
        self.path.split_once('?').unwrap_or((&self.path, ""))
    }

    /// A header; empty if there is none.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        of(&self.headers, name)
    }
}

fn of<'h>(headers: &'h HeaderMap, name: &str) -> &'h str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

type Script = Box<dyn FnMut(&Seen) -> Answer + Send>;

/// How a server is entered.
#[derive(Clone, Default)]
pub struct Door {
    /// With TLS, and this certificate.
    pub tls: Option<TlsAcceptor>,
    /// No request is read before this is `true`, or nobody holds it any more.
    pub opens: Option<watch::Receiver<bool>>,
}

/// An HTTP server. Runs until its runtime ends.
#[derive(Clone)]
pub struct Server {
    address: SocketAddr,
    script: Arc<Mutex<Script>>,
    log: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Starts one on the runtime of the caller.
    pub async fn start(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Self {
        Self::behind(Door::default(), script).await
    }

    /// Starts one that is entered like that.
    #[expect(clippy::unused_async, reason = "nobody calls it outside of a runtime")]
    pub async fn behind(door: Door, script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Self {
        let (server, listener) = Self::new(script);
        tokio::spawn(server.clone().listen(listener, door));
        server
    }

    /// Starts one on a thread of its own.
    pub fn apart(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> Self {
        let (server, listener) = Self::new(script);
        let listens = server.clone().listen(listener, Door::default());
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.expect("a runtime").block_on(listens);
        });
        server
    }

    fn new(script: impl FnMut(&Seen) -> Answer + Send + 'static) -> (Self, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let server = Self {
            address: listener.local_addr().expect("bound"),
            script: Arc::new(Mutex::new(Box::new(script))),
            log: Arc::default(),
        };
        (server, listener)
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// As `http://127.0.0.1:1234`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client without retries of its own.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        client(self.address)
    }

    /// Answers otherwise from now on.
    pub fn change(&self, script: impl FnMut(&Seen) -> Answer + Send + 'static) {
        *locked(&self.script) = Box::new(script);
    }

    /// All requests so far.
    #[must_use]
    pub fn log(&self) -> Vec<Seen> {
        locked(&self.log).clone()
    }

    /// Methods and paths of all requests.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.log().iter().map(Seen::line).collect()
    }

    /// Requests whose line contains the text.
    #[must_use]
    pub fn all(&self, text: &str) -> Vec<Seen> {
        let mut log = self.log();
        log.retain(|seen| seen.line().contains(text));
        log
    }

    /// Bodies of all requests to a path, in order.
    #[must_use]
    pub fn sent(&self, path: &str) -> Vec<Value> {
        let log = self.log().into_iter();
        let to_path = log.filter(|seen| seen.split().0 == path);
        to_path.map(|seen| seen.body).collect()
    }

    /// Waits until so many requests contain the text.
    pub async fn until(&self, text: &str, count: usize) {
        while self.all(text).len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn listen(self, listener: TcpListener, door: Door) {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a socket");
        while let Ok((stream, _)) = listener.accept().await {
            let (this, mut door) = (self.clone(), door.clone());
            tokio::spawn(async move {
                if let Some(opens) = &mut door.opens {
                    // A door that nobody holds any more is open.
                    let _ = opens.wait_for(|is_open| *is_open).await;
                }
                match door.tls {
                    None => this.converse(stream).await,
                    // A client that does not believe the certificate ends the handshake.
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            this.converse(stream).await;
                        }
                    }
                }
            });
        }
    }

    async fn converse(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = service_fn(move |request| self.clone().answer(request));
        let connection = hyper::server::conn::http1::Builder::new();
        // Ends with an error where the script cuts it, or the client has waited long enough.
        let _ = connection
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn answer(self, request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map(|body| body.to_bytes());
        let seen = Seen {
            method: head.method.to_string(),
            path: head.uri.to_string(),
            version: format!("{:?}", head.version),
            media: of(&head.headers, "content-type").to_owned(),
            headers: head.headers,
            body: serde_json::from_slice(&body.unwrap_or_default()).unwrap_or(Value::Null),
            at: Instant::now(),
        };
        locked(&self.log).push(seen.clone());
        let answer = (locked(&self.script))(&seen);
        answer.response().await
    }
}

/// What is locked, also after a script has failed an assertion.
fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A client without retries of its own.
///
/// # Panics
/// If there is no such client.
#[must_use]
pub fn client(address: SocketAddr) -> kube::Client {
    kube::Client::try_from(config(address)).expect("a client")
}

/// What a client of an API server at that address is made of.
///
/// # Panics
/// If an address makes no URI.
#[must_use]
pub fn config(address: SocketAddr) -> kube::Config {
    let uri = format!("http://{address}").parse().expect("a URI");
    let mut config = kube::Config::new(uri);
    config.default_retry = false;
    // Not the system's, which may have none.
    config.root_cert = Some(Vec::new());
    config
}

/// An address at which nobody listens: the port was just given back.
///
/// # Panics
/// If there is no free port.
#[must_use]
pub fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound")
}
