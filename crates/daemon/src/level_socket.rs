//! The socket by which the verbosity of the log is changed on the machine itself.

use std::path::PathBuf;

use pumice_admin::{level_socket, log};
use pumice_cluster::lease::TermWatch;

/// The socket for the log level, which only a leader has (spec/01 §9.2): replicas on one machine
/// would take it from each other. It goes with the term.
pub async fn serve(level: log::LevelHandle, mut term: TermWatch) {
    let folder = std::env::var_os("DEBUG_SOCKET_DIR");
    let folder = folder.map_or_else(
        || PathBuf::from(level_socket::DEFAULT_DIRECTORY),
        PathBuf::from,
    );
    loop {
        term.leading().await;
        let socket = level_socket::serve_level(&folder, level.clone());
        if let Err(error) = &socket {
            tracing::debug!("no log level socket: {error}");
        }
        term.this_one().lost().await;
    }
}
