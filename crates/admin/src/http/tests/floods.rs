//! Clients that open as many connections as they can, and whom they keep from an answer: nobody.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::super::{HttpServer, serve_health};
use super::{Daemon, ask, server};

/// More than any of the servers has places, and few enough for a process with 1,024 files.
const FLOOD: usize = 600;

const UNFINISHED: &[u8] = b"GET /livez HTTP/1.1\r\nHost: x\r\n";

async fn probe_server() -> HttpServer {
    let server = serve_health("127.0.0.1:0", None, Arc::new(Daemon::default())).await;
    server.expect("it listens")
}

/// A connection of another machine: one of the addresses of this one.
async fn connect_from(client: &str, address: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    let client = format!("{client}:0").parse().expect("an address");
    socket.bind(client).expect("an address of this machine");
    socket.connect(address).await.expect("connected")
}

/// Opens connections of one client, each with a head that is never finished.
async fn flood(client: &str, address: SocketAddr) -> Vec<TcpStream> {
    let mut held = Vec::new();
    for _ in 0..FLOOD {
        let mut stream = connect_from(client, address).await;
        // One that is closed already takes nothing, which is as well.
        let _ = stream.write_all(UNFINISHED).await;
        held.push(stream);
    }
    held
}

/// Whether the server has closed it, which it has or will not do.
async fn is_closed(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0; 1]).await, Ok(0) | Err(_))
}

/// Finishes the request of an open connection; whether it is answered.
async fn finishes(mut stream: TcpStream) -> bool {
    let sent = stream.write_all(b"Connection: close\r\n\r\n").await;
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer).await;
    sent.is_ok() && read.is_ok() && answer.starts_with(b"HTTP/1.1 200 OK")
}

#[tokio::test]
async fn a_flood_of_the_metrics_port_does_not_reach_the_probes() {
    let metrics = server(Daemon::default()).await;
    let probes = probe_server().await;
    let _held = flood("127.0.0.2", metrics.address()).await;
    for page in ["/healthz", "/livez", "/readyz"] {
        let reply = ask(probes.address(), &format!("GET {page}")).await;
        assert_eq!((reply.status, &*reply.body), (200, "ok"), "{page}");
    }
}

#[tokio::test]
async fn a_flood_of_the_probe_port_keeps_no_probe_from_its_answer() {
    let probes = probe_server().await;
    let _held = flood("127.0.0.2", probes.address()).await;
    for client in ["127.0.0.3", "127.0.0.2"] {
        let mut stream = connect_from(client, probes.address()).await;
        stream.write_all(UNFINISHED).await.expect("sent");
        assert!(finishes(stream).await, "{client}");
    }
}

#[tokio::test]
async fn a_client_loses_no_place_to_the_flood_of_another() {
    for server in [probe_server().await, server(Daemon::default()).await] {
        let mut early = connect_from("127.0.0.3", server.address()).await;
        early.write_all(UNFINISHED).await.expect("sent");
        let mut held = flood("127.0.0.2", server.address()).await;
        assert!(is_closed(&mut held[0]).await, "its own oldest goes");
        assert!(finishes(early).await);
        let newest = held.pop().expect("some");
        assert!(finishes(newest).await, "its newest has a place");
    }
}

#[tokio::test]
async fn scrapes_are_answered_during_a_flood_of_their_port() {
    let metrics = server(Daemon::default()).await;
    let _held = flood("127.0.0.2", metrics.address()).await;
    let reply = ask(metrics.address(), "GET /metrics").await;
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_connection_to_the_probe_port_brings_one_request() {
    let probes = probe_server().await;
    let mut stream = TcpStream::connect(probes.address())
        .await
        .expect("connected");
    let request = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    stream.write_all(request).await.expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("ended");
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
}
