//! The secure server: who gets which page.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::{
    AccessVerdict, Gatekeeper, HttpServer, OwnPages, PendingVerdict, serve, serve_secure,
};
use super::{Daemon, Reply, ask, endpoints, exchange};

/// Knows `reader`, who may get what is not a dump, and `root`, who may do everything.
struct Doorman;

impl Gatekeeper for Doorman {
    fn judge<'a>(&'a self, token: &'a str, verb: &'a str, path: &'a str) -> PendingVerdict<'a> {
        let user = token.to_owned();
        let may =
            token == "root" || verb == "get" && !matches!(path, "/debug/dump" | "/debug/record");
        Box::pin(async move {
            match token {
                "reader" | "root" if may => Ok(AccessVerdict::Allowed { user }),
                "reader" => Ok(AccessVerdict::Denied { user }),
                "outage" => Err("no API server".to_owned()),
                _ => Ok(AccessVerdict::Unknown),
            }
        })
    }
}

/// Takes any certificate.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let provider = rustls::crypto::ring::default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

async fn secure_server() -> (HttpServer, crate::log::LevelHandle) {
    let endpoints = endpoints(Daemon::default());
    let level = endpoints.level.clone();
    let server = serve_secure("127.0.0.1:0", None, endpoints, Arc::new(Doorman)).await;
    (server.expect("it listens"), level)
}

async fn connect(server: &HttpServer) -> TlsStream<TcpStream> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone))
        .with_no_client_auth();
    let stream = TcpStream::connect(server.address())
        .await
        .expect("connected");
    let name = ServerName::try_from("localhost").expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.expect("TLS")
}

/// One request; with a body where there is one.
async fn send(server: &HttpServer, token: Option<&str>, request: &str, body: &str) -> Reply {
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    let text = format!(
        "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{}Content-Length: {}\r\n\r\n{body}",
        token.unwrap_or_default(),
        body.len()
    );
    exchange(connect(server).await, &text).await
}

#[tokio::test]
async fn own_pages_are_answered_to_the_same_people_and_on_this_port_alone() {
    let pages = axum::Router::new()
        .route("/", axum::routing::get("overview"))
        .route("/jobs/{*job}", axum::routing::get("a job"))
        .fallback(|| async { (axum::http::StatusCode::NOT_FOUND, "nothing of ours") });
    let mut endpoints = endpoints(Daemon::default());
    endpoints.own = Some(OwnPages { path: "/ui", pages });
    endpoints.debug_open = true;
    let open = serve("127.0.0.1:0", endpoints.clone()).await;
    let open = open.expect("it listens");
    let server = serve_secure("127.0.0.1:0", None, endpoints, Arc::new(Doorman)).await;
    let server = server.expect("it listens");
    for (page, there) in [
        ("/ui", "overview"),
        ("/ui/", "overview"),
        ("/ui/jobs/a/b", "a job"),
        ("/ui/nothing", "nothing of ours"),
    ] {
        let get = format!("GET {page}");
        let reply = send(&server, Some("reader"), &get, "").await;
        assert_eq!(reply.body, there, "{page}");
        for (token, status) in [(None, 401), (Some("stranger"), 401)] {
            let reply = send(&server, token, &get, "").await;
            assert_eq!(reply.status, status, "{page}");
        }
        let reply = send(&server, Some("reader"), &format!("POST {page}"), "").await;
        assert_eq!(reply.status, 403, "{page}");
        assert_eq!(ask(open.address(), &get).await.status, 404, "{page}");
    }
    assert_eq!(
        send(&server, Some("reader"), "GET /uix", "").await.status,
        404
    );
}

#[tokio::test]
async fn only_whom_the_gatekeeper_knows_and_lets_gets_a_page() {
    let (server, _) = secure_server().await;
    for page in [
        "/configz",
        "/metrics",
        "/debug",
        "/debug/top",
        "/debug/explain/a/web-0",
        "/debug/decisions",
        "/debug/loglevel",
        "/debug/dump",
        "/debug/record",
        "/debug/nothing",
        "/nothing",
    ] {
        let status = async |token| {
            let reply = send(&server, token, &format!("GET {page}"), "").await;
            reply.status
        };
        let there = match page.contains("nothing") {
            true => 404,
            false => 200,
        };
        let of_reader = match page {
            "/debug/dump" | "/debug/record" => 403,
            _ => there,
        };
        assert_eq!(status(None).await, 401, "{page}");
        assert_eq!(status(Some("stranger")).await, 401, "{page}");
        assert_eq!(status(Some("reader")).await, of_reader, "{page}");
        assert_eq!(status(Some("root")).await, there, "{page}");
    }
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    let (server, _) = secure_server().await;
    for (token, status, said) in [
        (None, 401, "send `Authorization: Bearer TOKEN`"),
        (Some("stranger"), 401, "does not know this token"),
        (
            Some("reader"),
            403,
            "reader may not put /debug/loglevel: bind a ClusterRole with `nonResourceURLs: \
             [/debug/loglevel]` and `verbs: [put]`",
        ),
        (Some("outage"), 500, "no API server"),
    ] {
        let reply = send(&server, token, "PUT /debug/loglevel?v=5", "").await;
        assert_eq!(reply.status, status, "{token:?}");
        assert!(reply.body.contains(said), "{}", reply.body);
    }
}

#[tokio::test]
async fn debug_lists_its_pages_and_each_of_them_answers() {
    let (server, _) = secure_server().await;
    for path in ["/debug", "/debug/"] {
        let reply = send(&server, Some("root"), &format!("GET {path}"), "").await;
        let index: serde_json::Value = serde_json::from_str(&reply.body).expect("JSON");
        assert_eq!(index["program"], "pumice-scheduler");
        for page in index["pages"].as_array().expect("a list") {
            let path = page["path"].as_str().expect("a path");
            let path = path.replace("{pod}", "web-0").replace(['{', '}'], "");
            let (verb, question) = match path == "/debug/plan" {
                true => ("POST", "?"),
                false => ("GET", ""),
            };
            let asked = format!("{verb} {path}");
            let reply = send(&server, Some("root"), &asked, question).await;
            assert_eq!(reply.status, 200, "{path}");
            assert!(!reply.body.is_empty(), "{path}");
        }
    }
}

#[tokio::test]
async fn history_is_asked_by_query_and_what_is_wrong_with_it_is_said() {
    let (server, _) = secure_server().await;
    for (query, status, said) in [
        (
            "?from=5&by=queue,day",
            200,
            "\"by\":\"queue,day\",\"from\":5,\"until\":null",
        ),
        ("?until=9", 200, "\"from\":0,\"until\":9"),
        ("?by=colour", 400, "by=colour:"),
        ("?from=soon", 400, "from"),
    ] {
        let asked = format!("GET /debug/history{query}");
        let reply = send(&server, Some("root"), &asked, "").await;
        assert_eq!(reply.status, status, "{query}: {}", reply.body);
        let body = reply.body.replace(char::is_whitespace, "");
        assert!(body.contains(said), "{query}: {}", reply.body);
    }
}

#[tokio::test]
async fn the_log_level_changes_by_query_or_body_for_whom_may_put_it() {
    let (server, level) = secure_server().await;
    let put = "PUT /debug/loglevel";
    let reply = send(&server, Some("reader"), &format!("{put}?v=9"), "").await;
    assert_eq!((reply.status, level.get()), (403, 3));
    let reply = send(&server, Some("root"), &format!("{put}?v=5"), "").await;
    assert_eq!((reply.status, &*reply.body, level.get()), (200, "5\n", 5));
    let long = "1".repeat(2_000);
    for (body, status, expected) in [
        ("4\n", 200, 4),
        ("-1", 400, 4),
        ("", 400, 4),
        (&long, 413, 4),
    ] {
        let reply = send(&server, Some("root"), put, body).await;
        assert_eq!((reply.status, level.get()), (status, expected), "{body:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_question_is_told_to_whom_may_post_it() {
    let (server, _) = secure_server().await;
    let asked = "POST /debug/plan";
    let reply = send(&server, Some("root"), asked, "what").await;
    assert_eq!(
        (reply.status, &*reply.body),
        (400, "the question is not understood\n")
    );
    let reply = send(&server, Some("reader"), asked, "?").await;
    assert_eq!(reply.status, 403);
}
