//! The ports of a process: each server on a thread of its own, away from those that decide and
//! write.
//!
//! ```text
//! thread "probes"   --healthz-address   what kubelets ask
//! thread "pages"    --listen-address    metrics
//!                   --secure-address    everything else ─► AccessReviews ─► API server
//! ```

use std::future::Future;
use std::sync::Arc;

use anyhow::Context;
use kube::Client;
use pumice_admin::http::{
    self, AccessVerdict, Endpoints, Gatekeeper, HttpServer, PendingVerdict, ServeError, TlsFiles,
};
use pumice_cluster::access::{AccessReviews, KnownAsker};
use tokio::sync::oneshot;

use crate::flags::ServingFlags;

/// The API server decides.
struct ApiGatekeeper(AccessReviews);

impl Gatekeeper for ApiGatekeeper {
    fn judge<'a>(&'a self, token: &'a str, verb: &'a str, path: &'a str) -> PendingVerdict<'a> {
        Box::pin(async move {
            Ok(match self.0.review(token, verb, path).await? {
                None => AccessVerdict::Unknown,
                Some(KnownAsker { user, may: true }) => AccessVerdict::Allowed { user },
                Some(KnownAsker { user, may: false }) => AccessVerdict::Denied { user },
            })
        })
    }
}

impl ServingFlags {
    /// Opens the ports. `api` asks the API server who may see what.
    ///
    /// # Errors
    /// An address cannot be listened on, or a file for TLS cannot be used.
    pub async fn open_ports(&self, endpoints: Endpoints, api: Client) -> anyhow::Result<()> {
        if self.debug_open {
            tracing::warn!(
                "--debug-open: whoever reaches {} reads the names of all namespaces",
                self.listen_address
            );
        }
        let answers = Arc::clone(&endpoints.answers);
        let (plain, secure) = (self.listen_address.clone(), self.secure_address.clone());
        let files = TlsFiles::from_pair(&self.tls_cert_file, &self.tls_private_key_file);
        let pages = async move {
            let mut servers = vec![http::serve(&plain, endpoints.clone()).await?];
            if !secure.is_empty() {
                let keeper = Arc::new(ApiGatekeeper(AccessReviews::new(api)));
                let server = http::serve_secure(&secure, files.as_ref(), endpoints, keeper);
                servers.push(server.await?);
            }
            Ok(servers)
        };
        on_own_thread("pages", pages).await?;
        if self.enable_healthz {
            let address = self.healthz_address.clone();
            let files = TlsFiles::from_flags(
                &self.ca_cert_file,
                &self.tls_cert_file,
                &self.tls_private_key_file,
            );
            let probes = async move {
                let server = http::serve_health(&address, files.as_ref(), answers).await?;
                Ok(vec![server])
            };
            on_own_thread("probes", probes).await?;
        }
        Ok(())
    }
}

/// Starts servers on a thread that does nothing else, for as long as the process lives.
async fn on_own_thread(
    name: &'static str,
    start: impl Future<Output = Result<Vec<HttpServer>, ServeError>> + Send + 'static,
) -> anyhow::Result<()> {
    let failed = || format!("the thread of the {name} cannot be started");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .with_context(failed)?;
    let (sender, started) = oneshot::channel();
    let run = async move {
        let servers = match start.await {
            Ok(servers) => servers,
            Err(error) => {
                let _ = sender.send(Err(error));
                return;
            }
        };
        let addresses: Vec<_> = servers.iter().map(HttpServer::address).collect();
        let _ = sender.send(Ok(addresses));
        for server in servers {
            server.ended().await;
        }
    };
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(move || runtime.block_on(run))
        .with_context(failed)?;
    for address in started.await.with_context(failed)?? {
        tracing::info!("listening on {address} ({name})");
    }
    Ok(())
}
