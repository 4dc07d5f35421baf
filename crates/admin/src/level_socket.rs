//! The log-level socket of Volcano (spec/01 §9.2): HTTP on a Unix socket only the user can open.
//!
//! ```text
//! curl --unix-socket /tmp/klog-socks/klog-klog.sock 'http://localhost/getlevel'
//! curl --unix-socket /tmp/klog-socks/klog-klog.sock \
//!     'http://localhost/setlevel?level=5&duration=10m'
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::any;
use pumice_units::duration::parse_go_duration;
use tokio::net::UnixListener;
use tokio::sync::watch;

use crate::http::{ConnectionRules, PlaceLimits, attend};
use crate::log::LevelHandle;

/// The directory when `DEBUG_SOCKET_DIR` is not set.
pub const DEFAULT_DIRECTORY: &str = "/tmp/klog-socks";

/// The file name of the socket.
pub const SOCKET_NAME: &str = "klog-klog.sock";

/// Connections at a time.
const PLACES: PlaceLimits = PlaceLimits {
    all: 16,
    of_client: 16,
};

const USAGE: &str = "the level was not changed: level and duration must be given and be above 0\n\
    example: curl --unix-socket /tmp/klog-socks/klog-klog.sock \
    \"http://localhost/setlevel?level=5&duration=10m\"\n\
    level=5 is what -v=5 means at the start, duration=10m lets it return after ten minutes \
    (60s, 10m, 2h)\n";

/// The socket could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// An operation on the file system failed.
    #[error("the log-level socket {path} cannot be {what}: {error}")]
    Io {
        /// The socket or its directory.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// Why not.
        error: io::Error,
    },
    /// Something else stands in its place.
    #[error("the log-level socket {0} cannot be made: a file that is no socket has its name")]
    Occupied(PathBuf),
}

/// The running socket; dropping it ends the server and removes the file.
pub struct LevelSocket {
    path: PathBuf,
    stop: watch::Sender<bool>,
}

impl LevelSocket {
    /// Where the socket is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LevelSocket {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        // When it is gone already there is nothing to do, and nobody to tell.
        let _ = fs::remove_file(&self.path);
    }
}

/// Serves the level on `<directory>/klog-klog.sock`. A socket that is left over is replaced.
///
/// Must be called within a Tokio runtime.
///
/// # Errors
/// The directory or the socket cannot be made.
pub fn serve_level(directory: &Path, level: LevelHandle) -> Result<LevelSocket, SocketError> {
    let path = directory.join(SOCKET_NAME);
    let listener = listen(directory, &path)?;
    let listener =
        UnixListener::from_std(listener).map_err(|error| failed(&path, "read", error))?;
    let router = Router::new()
        .route("/getlevel", any(get))
        .route("/setlevel", any(set))
        .with_state(level);
    let rules = ConnectionRules {
        places: PLACES,
        keep_alive: true,
        tls: None,
    };
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(attend(listener, router, rules, stopped));
    Ok(LevelSocket { path, stop })
}

fn failed(path: &Path, what: &'static str, error: io::Error) -> SocketError {
    SocketError::Io {
        path: path.to_owned(),
        what,
        error,
    }
}

fn listen(directory: &Path, path: &Path) -> Result<std::os::unix::net::UnixListener, SocketError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o750)
        .create(directory)
        .map_err(|error| failed(directory, "made in a new directory", error))?;
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.file_type().is_socket() => {
            fs::remove_file(path).map_err(|error| failed(path, "replaced", error))?;
        }
        Ok(_) => return Err(SocketError::Occupied(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(path, "looked up", error)),
    }
    let listener = std::os::unix::net::UnixListener::bind(path)
        .map_err(|error| failed(path, "made", error))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
        .map_err(|error| failed(path, "closed to others", error))?;
    listener
        .set_nonblocking(true)
        .map_err(|error| failed(path, "read", error))?;
    Ok(listener)
}

async fn get(State(level): State<LevelHandle>) -> String {
    format!("Current klog log level: {}\n", level.get())
}

async fn set(
    State(level): State<LevelHandle>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> (StatusCode, String) {
    let pairs = query.map(|Query(pairs)| pairs).unwrap_or_default();
    let value = |name: &str| {
        let pair = pairs.iter().find(|(key, _)| key == name);
        pair.map(|(_, value)| value.as_str()).unwrap_or_default()
    };
    let verbosity: u32 = value("level").parse().unwrap_or(0);
    let duration = parse_go_duration(value("duration")).unwrap_or_default();
    let duration = u64::try_from(duration / 1_000_000).unwrap_or(0);
    if verbosity == 0 || duration == 0 {
        return (StatusCode::BAD_REQUEST, USAGE.to_owned());
    }
    let duration = std::time::Duration::from_millis(duration);
    match level.set_for(verbosity, duration) {
        Ok(()) => (
            StatusCode::OK,
            format!("the klog log level is {verbosity} for {duration:?}\n"),
        ),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}
