//! Asks pods whether a port answers, for the probes of JobFlows.

use std::net::IpAddr;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Request, header};
use http_body_util::Empty;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use pumice_controllers::runtime::{HttpQuestion, PodProbe, ProbeOutcome};
use tokio::net::TcpStream;

/// Carries a probe out.
pub async fn ask(probe: &PodProbe) -> ProbeOutcome {
    let limit = Duration::from_millis(PodProbe::TIMEOUT_MILLISECONDS);
    match tokio::time::timeout(limit, try_to(probe)).await {
        Ok(Ok(())) => ProbeOutcome::Holds,
        Ok(Err(why)) => ProbeOutcome::Fails(why),
        Err(_) => ProbeOutcome::Fails(format!("no answer within {limit:?}")),
    }
}

async fn try_to(probe: &PodProbe) -> Result<(), String> {
    let address: IpAddr = probe
        .address
        .parse()
        .map_err(|_| format!("{:?} is no IP address", probe.address))?;
    let stream = TcpStream::connect((address, probe.port)).await;
    let stream = stream.map_err(|error| format!("no connection: {error}"))?;
    match &probe.http {
        None => Ok(()),
        Some(question) => get(stream, address, probe.port, question).await,
    }
}

async fn get(
    stream: TcpStream,
    address: IpAddr,
    port: u16,
    question: &HttpQuestion,
) -> Result<(), String> {
    let request = request(address, port, question)?;
    let broken = |error: hyper::Error| format!("no answer: {error}");
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let connection = tokio::spawn(connection);
    let answer = sender.send_request(request).await;
    // The body is of no interest.
    connection.abort();
    let status = answer.map_err(broken)?.status().as_u16();
    match status {
        200..400 => Ok(()),
        _ => Err(format!("status {status}")),
    }
}

fn request(
    address: IpAddr,
    port: u16,
    question: &HttpQuestion,
) -> Result<Request<Empty<Bytes>>, String> {
    let host = std::net::SocketAddr::new(address, port).to_string();
    let mut request = Request::get(question.path.as_str())
        .header(header::HOST, host)
        .body(Empty::new())
        .map_err(|error| format!("{:?} is no path: {error}", question.path))?;
    if let Some((name, value)) = &question.header {
        let wrong = || format!("{name}: {value} is no header");
        let name: HeaderName = name.parse().map_err(|_| wrong())?;
        let value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        request.headers_mut().insert(name, value);
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that answers every request so, and its port; what it was asked comes back.
    async fn server(answer: &'static str) -> (u16, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let asked = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let mut head = vec![0; 4096];
            let read = stream.read(&mut head).await.expect("a request");
            stream.write_all(answer.as_bytes()).await.expect("sent");
            String::from_utf8_lossy(&head[..read]).into_owned()
        });
        (port, asked)
    }

    fn probe(port: u16, http: Option<HttpQuestion>) -> PodProbe {
        PodProbe {
            address: "127.0.0.1".to_owned(),
            port,
            http,
        }
    }

    fn question(header: Option<(&str, &str)>) -> Option<HttpQuestion> {
        Some(HttpQuestion {
            path: "/ready?x=1".to_owned(),
            header: header.map(|(name, value)| (name.to_owned(), value.to_owned())),
        })
    }

    #[tokio::test]
    async fn a_status_below_400_holds_and_the_question_is_as_written() {
        let (port, asked) = server("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n").await;
        let outcome = ask(&probe(port, question(Some(("x-own", "yes"))))).await;
        assert_eq!(outcome, ProbeOutcome::Holds);
        let asked = asked.await.expect("asked").to_lowercase();
        assert!(asked.starts_with("get /ready?x=1 http/1.1\r\n"), "{asked}");
        assert!(
            asked.contains("x-own: yes") && asked.contains("host: 127.0.0.1:"),
            "{asked}"
        );
    }

    #[tokio::test]
    async fn another_status_no_port_and_what_is_no_question_fail_with_the_reason() {
        let (port, _) = server("HTTP/1.1 503 Starting\r\ncontent-length: 0\r\n\r\n").await;
        let fails = async |probe: PodProbe, said: &str| match ask(&probe).await {
            ProbeOutcome::Fails(why) => assert!(why.contains(said), "{why}"),
            ProbeOutcome::Holds => panic!("{probe:?} holds"),
        };
        fails(probe(port, question(None)), "status 503").await;
        let free = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        fails(probe(port, None), "no connection").await;
        let mut named = probe(port, None);
        named.address = "web-0".to_owned();
        fails(named, "no IP address").await;
    }

    #[tokio::test]
    async fn an_open_port_holds_and_one_that_never_answers_a_question_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        assert_eq!(ask(&probe(port, None)).await, ProbeOutcome::Holds);
        let silent = ask(&probe(port, question(None))).await;
        assert!(matches!(silent, ProbeOutcome::Fails(why) if why.contains("within")));
    }
}
