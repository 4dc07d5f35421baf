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
    use pumice_scripted::{Answer, Server, nobody};

    use super::*;

    /// A server that answers every question with this status.
    async fn server(status: u16) -> Server {
        Server::start(move |_| Answer::Text(status, String::new())).await
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
        let server = server(302).await;
        let question = question(Some(("x-own", "yes")));
        let outcome = ask(&probe(server.address().port(), question)).await;
        assert_eq!(outcome, ProbeOutcome::Holds);
        let asked = &server.log()[0];
        assert_eq!(asked.first_line(), "GET /ready?x=1 HTTP/1.1");
        assert_eq!(asked.header("x-own"), "yes");
        assert!(asked.header("host").starts_with("127.0.0.1:"), "{asked:?}");
    }

    #[tokio::test]
    async fn another_status_no_port_and_what_is_no_question_fail_with_the_reason() {
        let port = server(503).await.address().port();
        let fails = async |probe: PodProbe, said: &str| match ask(&probe).await {
            ProbeOutcome::Fails(why) => assert!(why.contains(said), "{why}"),
            ProbeOutcome::Holds => panic!("{probe:?} holds"),
        };
        fails(probe(port, question(None)), "status 503").await;
        let port = nobody().port();
        fails(probe(port, None), "no connection").await;
        let mut named = probe(port, None);
        named.address = "web-0".to_owned();
        fails(named, "no IP address").await;
    }

    #[tokio::test]
    async fn an_open_port_holds_and_one_that_never_answers_a_question_does_not() {
        let port = Server::start(|_| Answer::Silence).await.address().port();
        assert_eq!(ask(&probe(port, None)).await, ProbeOutcome::Holds);
        let silent = ask(&probe(port, question(None))).await;
        assert!(matches!(silent, ProbeOutcome::Fails(why) if why.contains("within")));
    }
}
