//! A ConfigMap that the scheduler's configuration names: followed where it says it is, as long as it says so.

use std::time::Duration;

use pumice_cluster::config_map::{ConfigMapError, ConfigMapText};
use tokio::sync::{mpsc, watch as cell};
use tokio::time::{Instant, timeout_at};

/// How long a refusal may last before the ConfigMap counts as one that may not be read.
const PATIENCE: Duration = Duration::from_secs(5);

/// Namespace and name, if it is named.
pub type NamedMap = Option<(String, String)>;

/// Lets each place be told of until another one is named. Ends when nobody tells places any more, or hears what is told.
pub async fn follow<T: Future<Output = ()>>(
    mut places: cell::Receiver<NamedMap>,
    tell: impl Fn((String, String)) -> T,
) {
    loop {
        let place = places.borrow_and_update().clone();
        let told = async {
            match place {
                Some(place) => tell(place).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = told => return,
            changed = places.changed() => if changed.is_err() {
                return;
            }
        }
    }
}

/// The next word on the ConfigMap. A refusal may be that of an API server that is just starting: it
/// counts when nothing better comes for a while.
pub async fn next(texts: &mut mpsc::Receiver<ConfigMapText>) -> Option<ConfigMapText> {
    let refused = |told: &ConfigMapText| matches!(told.text, Err(ConfigMapError::Refused(..)));
    let mut told = texts.recv().await?;
    let end = Instant::now() + PATIENCE;
    while refused(&told) {
        match timeout_at(end, texts.recv()).await {
            Ok(better) => told = better?,
            Err(_) => break,
        }
    }
    Some(told)
}
