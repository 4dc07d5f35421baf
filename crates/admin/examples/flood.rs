//! How long probes wait for their answers while a port is flooded with connections.
//!
//! ```text
//! ulimit -n 20000
//! cargo run --release -p pumice-admin --example flood -- FLOODED PROBED [CONNECTIONS]
//! ```
//!
//! `FLOODED` is the address that gets the connections, 10,000 unless told otherwise, each with a head
//! that is never finished and opened again 50 ms after it was closed; `PROBED` is the one of
//! `--healthz-address`, which may be the same. A probe is a new connection with one `GET /livez`, as a
//! kubelet's.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

const UNFINISHED: &[u8] = b"GET /livez HTTP/1.1\r\nHost: x\r\n";
const PROBE: &[u8] = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const PROBES: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);

/// Opens one connection after the other.
async fn flood(address: SocketAddr) {
    loop {
        if let Ok(mut stream) = TcpStream::connect(address).await {
            let _ = stream.write_all(UNFINISHED).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
        }
        sleep(PAUSE).await;
    }
}

/// How long one took, and whether the answer was 200.
async fn probe(address: SocketAddr) -> (Duration, bool) {
    let begun = Instant::now();
    let answer = async {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(PROBE).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = answer.await.unwrap_or_default();
    (begun.elapsed(), answer.starts_with(b"HTTP/1.1 200"))
}

#[expect(clippy::print_stdout, reason = "its result")]
async fn measure(probed: SocketAddr, what: &str) {
    let mut all = Vec::new();
    for _ in 0..PROBES {
        all.push(probe(probed).await);
        sleep(PAUSE / 5).await;
    }
    let answered = all.iter().filter(|(_, is_good)| *is_good).count();
    let mut times: Vec<Duration> = all.into_iter().map(|(time, _)| time).collect();
    times.sort_unstable();
    let at = |percent: usize| times[(PROBES - 1) * percent / 100].as_secs_f64() * 1000.0;
    println!(
        "{what}: {answered} of {PROBES} probes answered 200; median {:.1} ms, 99 % {:.1} ms, longest \
         {:.1} ms",
        at(50),
        at(99),
        at(100)
    );
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "how to call it")]
async fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let addresses: Vec<SocketAddr> = words.iter().flat_map(|word| word.parse()).collect();
    let &[flooded, probed] = addresses.as_slice() else {
        eprintln!(
            "usage: flood FLOODED PROBED [CONNECTIONS], as in: 127.0.0.1:8080 127.0.0.1:11251"
        );
        std::process::exit(2);
    };
    let connections = words.get(2).and_then(|word| word.parse().ok());
    let connections: usize = connections.unwrap_or(10_000);
    measure(probed, "alone").await;
    for _ in 0..connections {
        tokio::spawn(flood(flooded));
    }
    measure(
        probed,
        &format!("beside {connections} connections to {flooded}"),
    )
    .await;
}
