//! The health server, plain and with TLS.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::super::{HttpServer, ServeError, TlsFiles, serve_health};
use super::{Daemon, ask, exchange};

/// An authority, and what it signed, as PEM.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate with its key.
struct Identity {
    certificate: String,
    key: String,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let issuer = CertifiedIssuer::self_signed(params, key).expect("signed");
        Self { issuer }
    }

    fn sign(&self, name: &str) -> Identity {
        let params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
        let key = KeyPair::generate().expect("a key");
        let signed = params.signed_by(&key, &self.issuer).expect("signed");
        Identity {
            certificate: signed.pem(),
            key: key.serialize_pem(),
        }
    }

    fn pem(&self) -> String {
        self.issuer.pem()
    }
}

fn write_files(folder: &Path, authority: &Authority) -> TlsFiles {
    let server = authority.sign("localhost");
    let at = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("UTF-8").to_owned()
    };
    TlsFiles::from_flags(
        &at("ca.pem", &authority.pem()),
        &at("tls.pem", &server.certificate),
        &at("key.pem", &server.key),
    )
    .expect("all three")
}

/// What a client connects with.
struct Client<'a> {
    authority: &'a Authority,
    shows: Option<Identity>,
    version: &'static SupportedProtocolVersion,
}

impl Client<'_> {
    async fn connect(&self, port: u16) -> std::io::Result<TlsStream<TcpStream>> {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(self.authority.pem().as_bytes());
        roots.add(root.expect("a certificate")).expect("a root");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[self.version])
            .expect("versions")
            .with_root_certificates(roots);
        let config = match &self.shows {
            None => config.with_no_client_auth(),
            Some(identity) => {
                let chain = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
                let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes());
                let chain = vec![chain.expect("a certificate")];
                let config = config.with_client_auth_cert(chain, key.expect("a key"));
                config.expect("an identity")
            }
        };
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        let name = ServerName::try_from("localhost").expect("a name");
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await
    }
}

async fn health_server(files: Option<&TlsFiles>) -> Result<HttpServer, ServeError> {
    serve_health("127.0.0.1:0", files, Arc::new(Daemon::default())).await
}

const REQUEST: &str = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn the_plain_health_server_answers_probes_and_nothing_else() {
    let server = health_server(None).await.expect("it listens");
    for (page, status, body) in [
        ("/healthz", 200, "ok"),
        ("/healthz/ping", 200, "ok"),
        ("/livez", 200, "ok"),
        ("/readyz", 200, "ok"),
        ("/metrics", 404, ""),
        ("/debug/decisions", 404, ""),
    ] {
        let reply = ask(server.address(), &format!("GET {page}")).await;
        assert_eq!((reply.status, &*reply.body), (status, body), "{page}");
    }
}

#[tokio::test]
async fn with_all_three_files_it_speaks_tls_and_checks_a_certificate_when_shown() {
    let folder = TempDir::new().expect("a folder");
    let authority = Authority::new();
    let stranger = Authority::new();
    let files = write_files(folder.path(), &authority);
    let server = health_server(Some(&files)).await;
    let server = server.expect("it listens");
    let port = server.address().port();
    let shown = [None, Some(authority.sign("client"))];
    for (shows, version) in shown.into_iter().zip([&TLS12, &TLS13]) {
        let client = Client {
            authority: &authority,
            shows,
            version,
        };
        let stream = client.connect(port).await.expect("trusted");
        let reply = exchange(stream, REQUEST).await;
        assert_eq!((reply.status, &*reply.body), (200, "ok"));
    }
    let client = Client {
        authority: &authority,
        shows: Some(stranger.sign("client")),
        version: &TLS12,
    };
    assert!(client.connect(port).await.is_err(), "signed by a stranger");
}

#[test]
fn fewer_than_three_flags_mean_no_tls() {
    for (ca, certificate, key) in [("", "", ""), ("a", "b", ""), ("", "b", "c"), ("a", "", "c")] {
        assert_eq!(TlsFiles::from_flags(ca, certificate, key), None);
    }
    for (certificate, key) in [("", ""), ("b", ""), ("", "c")] {
        assert_eq!(TlsFiles::from_pair(certificate, key), None);
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_with_its_flag() {
    let folder = TempDir::new().expect("a folder");
    let good = write_files(folder.path(), &Authority::new());
    let other = folder.path().join("other.pem");
    fs::write(&other, Authority::new().sign("x").key).expect("written");
    let none = folder.path().join("none.pem");
    let changed = |change: &dyn Fn(&mut TlsFiles)| {
        let mut files = good.clone();
        change(&mut files);
        files
    };
    for (files, flag, problem) in [
        (
            changed(&|f| f.ca = Some(none.clone())),
            "--ca-cert-file=",
            "No such file",
        ),
        (
            changed(&|f| f.ca = Some(f.key.clone())),
            "--ca-cert-file=",
            "no certificate",
        ),
        (
            changed(&|f| f.certificate = none.clone()),
            "--tls-cert-file=",
            "No such file",
        ),
        (
            changed(&|f| f.key = none.clone()),
            "--tls-private-key-file=",
            "No such file",
        ),
        (
            changed(&|f| f.key = f.ca.clone().expect("given")),
            "--tls-private-key-file=",
            "private key",
        ),
        (
            changed(&|f| f.key = other.clone()),
            "--tls-cert-file=",
            "belong together",
        ),
    ] {
        let error = health_server(Some(&files)).await;
        let error = error.err().expect("refused");
        assert!(matches!(error, ServeError::Tls(_)));
        let text = error.to_string();
        assert!(text.starts_with(flag) && text.contains(problem), "{text}");
        assert!(text.contains("\n  = help: "), "{text}");
    }
}
