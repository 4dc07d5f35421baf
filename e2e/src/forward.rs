//! The part of a kubelet that forwards ports: what `pumice explain` comes in by.
//!
//! ```text
//!  pumice ─► kube-apiserver ─ TLS, WebSocket v4.channel.k8s.io, /portForward/<ns>/<pod> ─► here ─► 127.0.0.1:<port>
//! ```
//!
//! Channel 0 carries the data and channel 1 errors; the first message of each names the port.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use futures::{SinkExt, StreamExt};
use http::HeaderValue;
use http::header::SEC_WEBSOCKET_PROTOCOL;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_tungstenite::accept_hdr_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

use crate::wait::{run, runtime};
use crate::{Cluster, NodeShape};

/// The protocol kubelets speak.
const PROTOCOL: HeaderValue = HeaderValue::from_static("v4.channel.k8s.io");

/// Bytes forwarded in one message.
const CHUNK: usize = 16 * 1024;

/// A kubelet that forwards ports of its pods, which all listen on loopback. Ends when dropped.
pub struct PortForwarder {
    port: u16,
    forwarded: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl PortForwarder {
    /// Starts it with the certificate of the API server, which does not check it.
    ///
    /// # Errors
    /// Without a port or the certificate.
    pub fn start(cluster: &Cluster) -> Result<Self> {
        let acceptor = acceptor(cluster.folder())?;
        let listener = run(async { TcpListener::bind("127.0.0.1:0").await })?;
        let port = listener.local_addr()?.port();
        let forwarded = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&forwarded);
        let task = runtime().spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, count) = (acceptor.clone(), Arc::clone(&count));
                tokio::spawn(async move { serve(acceptor, stream, &count).await });
            }
        });
        Ok(Self {
            port,
            forwarded,
            task,
        })
    }

    /// A cordoned node whose kubelet this is.
    pub fn node(&self, name: &str) -> Value {
        let mut node = NodeShape::default().object(name);
        node["spec"] = json!({"unschedulable": true});
        node["status"]["addresses"] = json!([{"type": "InternalIP", "address": "127.0.0.1"}]);
        node["status"]["daemonEndpoints"] = json!({"kubeletEndpoint": {"Port": self.port}});
        node
    }

    /// Connections forwarded so far.
    pub fn forwarded(&self) -> usize {
        self.forwarded.load(Ordering::Relaxed)
    }
}

impl Drop for PortForwarder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn acceptor(folder: &Path) -> Result<TlsAcceptor> {
    let (certificate, key) = (folder.join("apiserver.crt"), folder.join("apiserver.key"));
    let chain = CertificateDer::pem_file_iter(certificate)?.collect::<Result<Vec<_>, _>>()?;
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, PrivateKeyDer::from_pem_file(key)?)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(acceptor: TlsAcceptor, stream: TcpStream, count: &AtomicUsize) -> Result<()> {
    let stream = acceptor.accept(stream).await?;
    let mut port = None;
    #[allow(clippy::result_large_err)] // The type is the library's.
    let accept = |request: &Request, mut response: Response| -> Result<Response, ErrorResponse> {
        port = asked_port(request.uri());
        let headers = response.headers_mut();
        headers.insert(SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
        Ok(response)
    };
    let mut socket = accept_hdr_async(stream, accept).await?;
    let port = port.context("the request names a port")?;
    let [low, high] = port.to_le_bytes();
    for channel in [0, 1] {
        let first = Message::binary(vec![channel, low, high]);
        socket.send(first).await?;
    }
    let mut pod = match TcpStream::connect(("127.0.0.1", port)).await {
        Ok(pod) => pod,
        Err(error) => {
            let text = [&[1][..], error.to_string().as_bytes()].concat();
            return Ok(socket.send(Message::binary(text)).await?);
        }
    };
    count.fetch_add(1, Ordering::Relaxed);
    let mut buffer = vec![0; CHUNK];
    loop {
        tokio::select! {
            read = pod.read(&mut buffer) => match read? {
                0 => return Ok(socket.close(None).await?),
                read => {
                    let data = [&[0][..], &buffer[..read]].concat();
                    socket.send(Message::binary(data)).await?;
                }
            },
            message = socket.next() => match message {
                Some(Ok(Message::Binary(data))) if data.first() == Some(&0) => {
                    pod.write_all(&data[1..]).await?;
                }
                Some(Ok(_)) => {}
                _ => return Ok(()),
            },
        }
    }
}

/// `/portForward/<namespace>/<pod>?port=8080`.
fn asked_port(uri: &http::Uri) -> Option<u16> {
    let mut pairs = uri
        .query()?
        .split('&')
        .filter_map(|pair| pair.split_once('='));
    let (_, port) = pairs.find(|(key, _)| matches!(*key, "port" | "ports"))?;
    port.parse().ok()
}
