//! TLS of the health server (spec/01 §1.1, §1.6).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

/// The three files of the flags `--ca-cert-file`, `--tls-cert-file`, `--tls-private-key-file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Who signs client certificates.
    pub ca: PathBuf,
    /// The server's certificate, with those in between.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// The files, if all three flags are set; with fewer there is no TLS, as in Volcano.
    #[must_use]
    pub fn from_flags(ca: &str, certificate: &str, key: &str) -> Option<Self> {
        let given = [ca, certificate, key].iter().all(|flag| !flag.is_empty());
        given.then(|| Self {
            ca: ca.into(),
            certificate: certificate.into(),
            key: key.into(),
        })
    }
}

/// A file for TLS cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{flag}={path}: {problem}\n  = help: {help}")]
pub struct TlsError {
    flag: &'static str,
    path: PathBuf,
    problem: String,
    help: &'static str,
}

/// One of the flags with its file.
struct TlsFile<'a> {
    flag: &'static str,
    path: &'a Path,
}

impl TlsFile<'_> {
    fn error(&self, problem: impl ToString, help: &'static str) -> TlsError {
        TlsError {
            flag: self.flag,
            path: self.path.to_owned(),
            problem: problem.to_string(),
            help,
        }
    }

    fn read(&self) -> Result<Vec<u8>, TlsError> {
        let help = "name a file this process can read, or leave all three TLS flags out";
        fs::read(self.path).map_err(|error| self.error(error, help))
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let help = "the file must hold certificates in PEM form (`-----BEGIN CERTIFICATE-----`)";
        let pem = self.read()?;
        let list: Vec<_> = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<_, _>>()
            .map_err(|error| self.error(error, help))?;
        if list.is_empty() {
            return Err(self.error("no certificate in the file", help));
        }
        Ok(list)
    }
}

/// Reads the files: TLS 1.2 at least; a client may show a certificate, and then it must be one of
/// the authority's.
pub(super) fn load(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let source = |flag, path| TlsFile { flag, path };
    let ca = source("--ca-cert-file", &*files.ca);
    let own = source("--tls-cert-file", &*files.certificate);
    let key = source("--tls-private-key-file", &*files.key);

    let mut roots = RootCertStore::empty();
    for certificate in ca.certificates()? {
        let added = roots.add(certificate);
        added.map_err(|error| ca.error(error, "give the certificate of the client authority"))?;
    }
    let provider = Arc::new(default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| ca.error(error, "give the certificate of the client authority"))?;
    let chain = own.certificates()?;
    let secret = PrivateKeyDer::from_pem_slice(&key.read()?).map_err(|error| {
        key.error(
            error,
            "the file must hold one private key in PEM form, not encrypted",
        )
    })?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|error| own.error(error, "report this: the program lacks TLS 1.2 and 1.3"))?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, secret)
        .map_err(|error| own.error(error, "certificate and private key must belong together"))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
