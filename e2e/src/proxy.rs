//! A proxy before the API server that does what networks and overloaded servers do.

use std::convert::Infallible;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use futures::{StreamExt, TryStreamExt};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyDataStream, BodyExt, Empty, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use kube::Client;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::Cluster;
use crate::cluster::{Identity, client_at};
use crate::wait::{run, runtime};

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answered with this status instead of being passed on; `Retry-After` in seconds if given.
    Answer(u16, Option<u32>),
    /// Passed on after a pause.
    Delay(Duration),
    /// Passed on; the connection is closed in place of an answer, so the client cannot know.
    SwallowAnswer,
    /// The connection is closed and the request is not passed on.
    Refuse,
}

/// Which requests a fault is for: by method and path with query.
pub type Matcher = Box<dyn Fn(&Method, &str) -> bool + Send>;

struct Rule {
    matches: Matcher,
    fault: Fault,
    /// Requests it still applies to.
    left: usize,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    /// Requests that met a rule.
    hits: usize,
    /// Requests so far.
    requests: usize,
}

/// Which open answers bring nothing more, though their connections stay open.
#[derive(Clone, Debug, Default)]
struct Freeze {
    /// Those whose path contains this; none where it is empty.
    path: String,
    /// Requests that came later are left alone, from this one on.
    before: usize,
}

/// The proxy: plain HTTP on loopback before the API server's HTTPS. Tokens are passed through.
pub struct FaultProxy {
    address: String,
    shared: Arc<Shared>,
    cut: watch::Sender<u64>,
    frozen: watch::Sender<Freeze>,
    task: JoinHandle<()>,
}

struct Shared {
    state: Mutex<State>,
    upstream: Client,
    cut: watch::Receiver<u64>,
    frozen: watch::Receiver<Freeze>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Answer = Response<UnsyncBoxBody<Bytes, io::Error>>;

impl FaultProxy {
    /// Starts a proxy before this cluster's API server, without faults.
    ///
    /// # Errors
    /// When no port can be opened.
    pub fn start(cluster: &Cluster) -> Result<Self> {
        let upstream = anonymous(cluster)?;
        let listener = run(TcpListener::bind("127.0.0.1:0"))?;
        let address = format!("http://{}", listener.local_addr()?);
        let (cut, receiver) = watch::channel(0);
        let (frozen, freezes) = watch::channel(Freeze::default());
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            upstream,
            cut: receiver,
            frozen: freezes,
        });
        let task = runtime().spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            address,
            shared,
            cut,
            frozen,
            task,
        })
    }

    /// Address at which the proxy listens, `http://127.0.0.1:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// From now on the first `count` requests that match meet this fault.
    pub fn inject(&self, count: usize, fault: Fault, matches: Matcher) {
        let rule = Rule {
            matches,
            fault,
            left: count,
        };
        self.shared.state().rules.push(rule);
    }

    /// From now on open answers whose path contains this bring nothing more, though their connections
    /// stay open: those to requests so far, or those to later ones too.
    pub fn freeze(&self, path: &str, later_too: bool) {
        let before = match later_too {
            true => usize::MAX,
            false => self.shared.state().requests,
        };
        let path = path.to_owned();
        self.frozen.send_replace(Freeze { path, before });
    }

    /// Ends all injected faults; what was frozen goes on.
    pub fn heal(&self) {
        self.shared.state().rules.clear();
        self.frozen.send_replace(Freeze::default());
    }

    /// How many requests have met a fault.
    pub fn hits(&self) -> usize {
        self.shared.state().hits
    }

    /// Breaks every answer that is under way, so all watches.
    pub fn cut_watches(&self) {
        self.cut.send_modify(|generation| *generation += 1);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
        self.cut_watches();
    }
}

/// A client that adds no credentials: those of the request are passed on.
fn anonymous(cluster: &Cluster) -> Result<Client> {
    let path: &Path = &cluster.kubeconfig(Identity::Admin);
    let text = std::fs::read_to_string(path)?;
    let mut config: serde_json::Value = serde_json::from_str(&text)?;
    config["users"][0]["user"] = serde_json::json!({});
    let stripped = cluster.folder().join("proxy.kubeconfig");
    std::fs::write(&stripped, config.to_string())?;
    client_at(&stripped)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let service = service_fn(move |request| handle(request, Arc::clone(&shared)));
    // An error is a broken connection, which is what this proxy is for.
    let _ = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

/// An error closes the connection without an answer.
async fn handle(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Answer, io::Error> {
    let fault = meet(&shared, &request);
    match fault {
        Some(Fault::Refuse) => return Err(io::ErrorKind::ConnectionReset.into()),
        Some(Fault::Answer(status, retry_after)) => return Ok(refusal(status, retry_after)),
        Some(Fault::Delay(pause)) => tokio::time::sleep(pause).await,
        Some(Fault::SwallowAnswer) | None => {}
    }
    let answer = forward(request, &shared).await?;
    if fault == Some(Fault::SwallowAnswer) {
        // The server has answered, so whatever the request does is done.
        return Err(io::ErrorKind::ConnectionReset.into());
    }
    Ok(answer)
}

fn meet(shared: &Shared, request: &Request<Incoming>) -> Option<Fault> {
    let path = request
        .uri()
        .path_and_query()
        .map_or("", |path| path.as_str());
    let mut state = shared.state();
    let met = |rule: &&mut Rule| rule.left > 0 && (rule.matches)(request.method(), path);
    let rule = state.rules.iter_mut().find(met)?;
    rule.left -= 1;
    let fault = rule.fault.clone();
    state.hits += 1;
    Some(fault)
}

fn refusal(status: u16, retry_after: Option<u32>) -> Answer {
    let body = Empty::new()
        .map_err(|never: Infallible| match never {})
        .boxed_unsync();
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    if let Some(seconds) = retry_after {
        answer
            .headers_mut()
            .insert(http::header::RETRY_AFTER, seconds.into());
    }
    answer
}

async fn forward(request: Request<Incoming>, shared: &Shared) -> Result<Answer, io::Error> {
    let number = {
        let mut state = shared.state();
        state.requests += 1;
        state.requests - 1
    };
    let path = request.uri().to_string();
    let frozen = shared.frozen.clone();
    let flows = move |freeze: &Freeze| {
        freeze.path.is_empty() || number >= freeze.before || !path.contains(&freeze.path)
    };
    let (mut head, body) = request.into_parts();
    head.headers.remove(http::header::HOST);
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let request = Request::from_parts(head, body.to_vec().into());
    let answer = shared.upstream.send(request).await;
    let (head, body) = answer.map_err(io::Error::other)?.into_parts();
    let mut cut = shared.cut.clone();
    cut.mark_unchanged();
    let data = Box::pin(BodyDataStream::new(body).map_err(io::Error::other));
    let until_cut = futures::stream::unfold((data, cut), move |(mut data, mut cut)| {
        let (mut frozen, flows) = (frozen.clone(), flows.clone());
        async move {
            let next = async {
                let next = data.next().await;
                // The proxy lives longer than its answers.
                let _ = frozen.wait_for(|freeze| flows(freeze)).await;
                next
            };
            let next = tokio::select! {
                _ = cut.changed() => Some(Err(io::ErrorKind::ConnectionReset.into())),
                next = next => next,
            };
            next.map(|next| (next, (data, cut)))
        }
    });
    let frames = StreamBody::new(until_cut.map_ok(Frame::data));
    Ok(Response::from_parts(head, frames.boxed_unsync()))
}
