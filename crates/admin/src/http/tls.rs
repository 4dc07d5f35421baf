//! TLS of the ports: certificates from files, read again when these change, or a certificate of our
//! own (spec/01 §1.1, §1.6).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use tokio::sync::watch;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The files of the flags `--ca-cert-file`, `--tls-cert-file`, `--tls-private-key-file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Who signs client certificates; without it clients show none.
    pub ca: Option<PathBuf>,
    /// The server's certificate, with those in between.
    pub certificate: PathBuf,
    /// File with the private key of the server's certificate.
    pub key: PathBuf,
}

impl TlsFiles {
    /// The files of the health server, if all three flags are set; with fewer it has no TLS, as in
    /// Volcano.
    #[must_use]
    pub fn from_flags(ca: &str, certificate: &str, key: &str) -> Option<Self> {
        let pair = Self::from_pair(certificate, key).filter(|_| !ca.is_empty())?;
        Some(Self {
            ca: Some(ca.into()),
            ..pair
        })
    }

    /// The certificate of the secure server with its key, if both flags are set.
    #[must_use]
    pub fn from_pair(certificate: &str, key: &str) -> Option<Self> {
        let given = !certificate.is_empty() && !key.is_empty();
        given.then(|| Self {
            ca: None,
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

const CA_FLAG: &str = "--ca-cert-file";
const CERTIFICATE_FLAG: &str = "--tls-cert-file";
const KEY_FLAG: &str = "--tls-private-key-file";

/// One of the flags with its file and what was read from it.
#[derive(PartialEq, Eq)]
struct TlsFile {
    flag: &'static str,
    path: PathBuf,
    pem: Vec<u8>,
}

impl TlsFile {
    fn read(flag: &'static str, path: &Path) -> Result<Self, TlsError> {
        let help = "name a file this process can read, or leave the TLS flags out";
        let mut file = Self {
            flag,
            path: path.to_owned(),
            pem: Vec::new(),
        };
        file.pem = fs::read(path).map_err(|error| file.error(error, help))?;
        Ok(file)
    }

    fn error(&self, problem: impl ToString, help: &'static str) -> TlsError {
        TlsError {
            flag: self.flag,
            path: self.path.clone(),
            problem: problem.to_string(),
            help,
        }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let help = "the file must hold certificates in PEM form (`-----BEGIN CERTIFICATE-----`)";
        let list: Vec<_> = CertificateDer::pem_slice_iter(&self.pem)
            .collect::<Result<_, _>>()
            .map_err(|error| self.error(error, help))?;
        if list.is_empty() {
            return Err(self.error("no certificate in the file", help));
        }
        Ok(list)
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, TlsError> {
        let help = "the file must hold one private key in PEM form, not encrypted";
        PrivateKeyDer::from_pem_slice(&self.pem).map_err(|error| self.error(error, help))
    }
}

/// What the files hold.
#[derive(PartialEq, Eq)]
struct ReadFiles {
    ca: Option<TlsFile>,
    certificate: TlsFile,
    key: TlsFile,
}

impl ReadFiles {
    fn read(files: &TlsFiles) -> Result<Self, TlsError> {
        let ca = files.ca.as_deref();
        Ok(Self {
            ca: ca.map(|path| TlsFile::read(CA_FLAG, path)).transpose()?,
            certificate: TlsFile::read(CERTIFICATE_FLAG, &files.certificate)?,
            key: TlsFile::read(KEY_FLAG, &files.key)?,
        })
    }

    /// TLS 1.2 at least. Where there is an authority a client may show a certificate, and then it
    /// must be one of the authority's.
    fn config(&self) -> Result<Arc<ServerConfig>, TlsError> {
        let provider = Arc::new(default_provider());
        let clients = match &self.ca {
            None => Arc::new(NoClientAuth),
            Some(ca) => clients_of(ca, &provider)?,
        };
        let chain = self.certificate.certificates()?;
        let key = self.key.key()?;
        config(provider, clients, chain, key).map_err(|error| {
            let help = "certificate and private key must belong together";
            self.certificate.error(error, help)
        })
    }
}

fn clients_of(
    ca: &TlsFile,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ClientCertVerifier>, TlsError> {
    let help = "give the certificate of the client authority";
    let mut roots = RootCertStore::empty();
    for certificate in ca.certificates()? {
        let added = roots.add(certificate);
        added.map_err(|error| ca.error(error, help))?;
    }
    WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(provider))
        .allow_unauthenticated()
        .build()
        .map_err(|error| ca.error(error, help))
}

fn config(
    provider: Arc<CryptoProvider>,
    clients: Arc<dyn ClientCertVerifier>,
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The certificate that new connections get.
#[derive(Clone)]
pub(crate) struct CurrentTls(watch::Receiver<Arc<ServerConfig>>);

impl CurrentTls {
    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.borrow())
    }

    /// From files, which are looked at again and again from then on.
    ///
    /// Must be called within a Tokio runtime.
    pub(super) fn of_files(files: &TlsFiles) -> Result<Self, TlsError> {
        let (mut follower, current) = TlsFollower::start(files.clone())?;
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK_EVERY).await;
                let looked = tokio::task::spawn_blocking(move || {
                    let outcome = follower.look();
                    (follower, outcome)
                });
                let Ok((back, outcome)) = looked.await else {
                    return;
                };
                follower = back;
                match outcome {
                    Ok(None) => {}
                    Ok(Some(path)) => tracing::info!("new certificate of {}", path.display()),
                    Err(error) => tracing::warn!("the certificate in use stays: {error}"),
                }
                if follower.current.is_closed() {
                    return;
                }
            }
        });
        Ok(current)
    }

    /// A certificate signed by itself, made anew with each process. It keeps what is said from
    /// those who listen; who speaks is known by other ways.
    pub(super) fn own() -> Result<Self, OwnCertificateError> {
        let names = vec!["localhost".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| OwnCertificateError(error.to_string()))?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der())
            .map_err(|error| OwnCertificateError(error.to_owned()))?;
        let chain = vec![made.cert.der().clone()];
        let config = config(
            Arc::new(default_provider()),
            Arc::new(NoClientAuth),
            chain,
            key,
        )
        .map_err(|error| OwnCertificateError(error.to_string()))?;
        Ok(Self(watch::channel(config).1))
    }
}

/// No certificate of our own could be made.
#[derive(Debug, thiserror::Error)]
#[error(
    "no certificate can be made: {0}\n  = help: give one by --tls-cert-file and --tls-private-key-file"
)]
pub struct OwnCertificateError(String);

/// Keeps the certificate in step with its files.
struct TlsFollower {
    files: TlsFiles,
    /// What was read last, used or not.
    seen: ReadFiles,
    /// A problem that was told already.
    told: Option<String>,
    current: watch::Sender<Arc<ServerConfig>>,
}

impl TlsFollower {
    fn start(files: TlsFiles) -> Result<(Self, CurrentTls), TlsError> {
        let seen = ReadFiles::read(&files)?;
        let (current, receiver) = watch::channel(seen.config()?);
        let follower = Self {
            files,
            seen,
            told: None,
            current,
        };
        Ok((follower, CurrentTls(receiver)))
    }

    /// Takes what is new and valid: then where it is from. What is not valid changes nothing, and is
    /// an error once.
    fn look(&mut self) -> Result<Option<PathBuf>, TlsError> {
        match self.take_new() {
            Err(error) => {
                let text = error.to_string();
                let is_known = self.told.as_ref() == Some(&text);
                self.told = Some(text);
                if is_known { Ok(None) } else { Err(error) }
            }
            Ok(taken) => {
                if taken.is_some() {
                    self.told = None;
                }
                Ok(taken)
            }
        }
    }

    fn take_new(&mut self) -> Result<Option<PathBuf>, TlsError> {
        let read = ReadFiles::read(&self.files)?;
        if read == self.seen {
            return Ok(None);
        }
        self.seen = read;
        self.current.send_replace(self.seen.config()?);
        Ok(Some(self.files.certificate.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path) -> TlsFiles {
        let made = rcgen::generate_simple_self_signed(vec!["a".to_owned()]).expect("made");
        let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
        fs::write(&certificate, made.cert.pem()).expect("written");
        fs::write(&key, made.signing_key.serialize_pem()).expect("written");
        TlsFiles {
            ca: None,
            certificate,
            key,
        }
    }

    #[test]
    fn a_certificate_is_taken_when_its_files_have_changed_and_fit_and_not_before() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let files = write(folder.path());
        let (mut follower, current) = TlsFollower::start(files.clone()).expect("usable");
        let first = current.config();
        assert!(follower.look().expect("usable").is_none());
        assert!(Arc::ptr_eq(&first, &current.config()));

        // Half of a change: the new key with the old certificate.
        let old = fs::read(&files.certificate).expect("there");
        write(folder.path());
        let new = fs::read(&files.certificate).expect("there");
        fs::write(&files.certificate, old).expect("written");
        let error = follower.look().expect_err("they do not belong together");
        assert!(error.to_string().contains("belong together"), "{error}");
        assert!(follower.look().expect("told once").is_none());
        assert!(Arc::ptr_eq(&first, &current.config()));

        fs::remove_file(&files.certificate).expect("removed");
        assert!(follower.look().is_err(), "another problem is told");
        fs::write(&files.certificate, new).expect("written");
        assert_eq!(follower.look().expect("usable"), Some(files.certificate));
        assert!(!Arc::ptr_eq(&first, &current.config()));
    }

    #[test]
    fn a_certificate_of_our_own_is_another_one_each_time() {
        let [one, other] = [(), ()].map(|()| CurrentTls::own().expect("made"));
        assert!(!Arc::ptr_eq(&one.config(), &other.config()));
    }
}
