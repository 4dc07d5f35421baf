//! What the encoding of pods costs the API server: JSON or protobuf, in watches, Bindings and lists.
//!
//! ```text
//!  round: for each way ─► pods ─► a watch whose bytes nobody reads ─► bare Bindings ─► its processor time
//!         for each encoding ─► the streamed list of all pods ─► its processor time
//! ```
//!
//! What is compared is the processor time of kube-apiserver alone, so that what a client makes of the
//! bytes plays no part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use futures::io::AsyncReadExt as _;
use futures::{AsyncBufRead, StreamExt};
use http::Request;
use kube::Client;
use pumice_e2e::{Cluster, Identity, run};
use serde_json::json;

use crate::load::{self, PODS};
use crate::{Arguments, cpu};

/// Bindings in flight.
const AT_ONCE: usize = 16;

/// A watch without bytes for so long has told everything.
const QUIET: Duration = Duration::from_millis(500);

/// The annotation on the bookmark that ends a streamed list.
const LIST_ENDS: &[u8] = b"k8s.io/initial-events-end";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Json,
    Protobuf,
}

impl Encoding {
    fn of_objects(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    fn of_watches(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// How pods are bound and watched.
struct Way {
    name: &'static str,
    watch: Option<Encoding>,
    binding: Encoding,
    /// Milliseconds of kube-apiserver's processor time for a pod, one a round.
    per_pod_ms: Vec<f64>,
}

impl Way {
    fn new(name: &'static str, watch: Option<Encoding>, binding: Encoding) -> Self {
        Self {
            name,
            watch,
            binding,
            per_pod_ms: Vec::new(),
        }
    }
}

/// What a list took.
struct Listed {
    wall_s: f64,
    server_s: f64,
    bytes: u64,
}

/// Measures, and says it in a table.
///
/// # Errors
/// The control plane does not start, or a request is refused.
#[allow(clippy::cast_precision_loss, reason = "some thousands")]
pub fn table(cluster: &Cluster, arguments: &Arguments) -> Result<String> {
    let client = cluster.client(Identity::Scheduler)?;
    let mut ways = [
        Way::new("no watch, Bindings in JSON", None, Encoding::Json),
        Way::new("no watch, Bindings in protobuf", None, Encoding::Protobuf),
        Way::new(
            "watch and Bindings in JSON",
            Some(Encoding::Json),
            Encoding::Json,
        ),
        Way::new(
            "watch in protobuf, Bindings in JSON",
            Some(Encoding::Protobuf),
            Encoding::Json,
        ),
        Way::new(
            "watch and Bindings in protobuf",
            Some(Encoding::Protobuf),
            Encoding::Protobuf,
        ),
    ];
    let mut lists = String::new();
    for round in 0..=arguments.rounds {
        eprintln!("round {round} of {}", arguments.rounds);
        for way in &mut ways {
            let used = bound(cluster, &client, arguments, way)?;
            // The first requests of a process are slower than all others.
            if round > 0 {
                way.per_pod_ms.push(1000.0 * used / arguments.pods as f64);
            }
        }
        for encoding in [Encoding::Json, Encoding::Protobuf] {
            let listed = run(list(cluster, &client, encoding))?;
            if round > 0 {
                lists += &format!(
                    "list in {encoding:?}: {:.2} s, {:.2} s of kube-apiserver, {:.1} MB\n",
                    listed.wall_s,
                    listed.server_s,
                    listed.bytes as f64 / 1e6
                );
            }
        }
    }
    let mut text = "kube-apiserver's processor ms for a bound pod\n".to_owned();
    for way in &mut ways {
        let mean = way.per_pod_ms.iter().sum::<f64>() / way.per_pod_ms.len().max(1) as f64;
        let each: Vec<String> = way.per_pod_ms.iter().map(|ms| format!("{ms:.3}")).collect();
        text += &format!("{:40} {mean:.3}  ({})\n", way.name, each.join(" "));
    }
    Ok(text + &lists)
}

/// Binds pods one way; seconds of processor time that kube-apiserver used.
fn bound(cluster: &Cluster, client: &Client, arguments: &Arguments, way: &Way) -> Result<f64> {
    load::bare_pods(cluster.rest(), "raw", arguments.pods)?;
    let list = cluster.rest().get(&format!("{PODS}?limit=1"))?;
    let version = list["metadata"]["resourceVersion"].as_str();
    let version = version.context("a list has a version")?.to_owned();
    let server = cluster.apiserver_id().context("it runs")?;
    let bytes = Arc::new(AtomicU64::new(0));
    let used = run(async {
        let watching = match way.watch {
            Some(encoding) => {
                let path =
                    format!("/api/v1/pods?watch=1&resourceVersion={version}&timeoutSeconds=600");
                let body = open(client, &path, encoding).await?;
                let bytes = Arc::clone(&bytes);
                Some(tokio::spawn(async move { discard(body, &bytes).await }))
            }
            None => None,
        };
        let before = cpu::of(server)?;
        let bind = |n: usize| bind(client, n, arguments.nodes, way.binding);
        let mut done =
            futures::stream::iter((0..arguments.pods).map(bind)).buffer_unordered(AT_ONCE);
        while let Some(result) = done.next().await {
            result?;
        }
        let mut seen = bytes.load(Ordering::Relaxed);
        loop {
            tokio::time::sleep(QUIET).await;
            let now = bytes.load(Ordering::Relaxed);
            if now == seen {
                break;
            }
            seen = now;
        }
        let used = cpu::of(server)? - before;
        if let Some(watching) = watching {
            ensure!(seen > 0, "the watch brought nothing");
            watching.abort();
        }
        Ok(used)
    })?;
    load::clear(cluster.rest())?;
    Ok(used)
}

async fn open(
    client: &Client,
    path: &str,
    encoding: Encoding,
) -> Result<impl AsyncBufRead + Send + Unpin + use<>> {
    let request = Request::get(path).header("accept", encoding.of_watches());
    let body = client.request_stream(request.body(Vec::new())?).await?;
    Ok(Box::pin(body))
}

async fn discard(mut body: impl AsyncBufRead + Unpin, bytes: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = body.read(&mut buffer).await {
        bytes.fetch_add(read as u64, Ordering::Relaxed);
    }
}

/// Streams the list of all pods up to its end.
async fn list(cluster: &Cluster, client: &Client, encoding: Encoding) -> Result<Listed> {
    let server = cluster.apiserver_id().context("it runs")?;
    let path = "/api/v1/pods?watch=1&sendInitialEvents=true&allowWatchBookmarks=true\
                &resourceVersionMatch=NotOlderThan&timeoutSeconds=600";
    let (before, began) = (cpu::of(server)?, Instant::now());
    let mut body = open(client, path, encoding).await?;
    let (mut bytes, mut end) = (0, Vec::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = body.read(&mut buffer).await?;
        ensure!(read > 0, "the list ended early");
        bytes += read as u64;
        end.extend_from_slice(&buffer[..read]);
        let from = end.len().saturating_sub(2_000);
        end.drain(..from);
        if end.windows(LIST_ENDS.len()).any(|part| part == LIST_ENDS) {
            let wall_s = began.elapsed().as_secs_f64();
            let server_s = cpu::of(server)? - before;
            return Ok(Listed {
                wall_s,
                server_s,
                bytes,
            });
        }
    }
}

async fn bind(client: &Client, n: usize, nodes: usize, encoding: Encoding) -> Result<()> {
    let (name, node) = (format!("raw-{n}"), format!("n-{}", n % nodes));
    let body = match encoding {
        Encoding::Json => serde_json::to_vec(&json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }))?,
        Encoding::Protobuf => {
            let meta = field(1, name.as_bytes());
            let target = [
                field(1, b"Node"),
                field(3, node.as_bytes()),
                field(5, b"v1"),
            ]
            .concat();
            let binding = [field(1, &meta), field(2, &target)].concat();
            let kind = [field(1, b"v1"), field(2, b"Binding")].concat();
            [b"k8s\0".to_vec(), field(1, &kind), field(2, &binding)].concat()
        }
    };
    let request = Request::post(format!("{PODS}/{name}/binding"))
        .header("content-type", encoding.of_objects())
        .header("accept", encoding.of_objects())
        .body(body)?;
    let body = client.request_stream(request).await?;
    let mut answer = Vec::new();
    Box::pin(body).read_to_end(&mut answer).await?;
    Ok(())
}

/// A field of bytes of a protobuf message.
fn field(tag: u8, bytes: &[u8]) -> Vec<u8> {
    let mut field = vec![tag << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        field.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.extend_from_slice(bytes);
    field
}
