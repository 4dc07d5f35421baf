//! Watches the configuration file and hands over its bytes whenever they change.
//!
//! ```text
//! inotify on the folder ──┐
//!                         ├─► wait until quiet ─► read ─► differs from before? ─► channel
//! every few seconds ──────┘
//! ```
//!
//! The folder is watched, not the file, because the mount of a ConfigMap changes by renaming the
//! link `..data` to another folder, and editors replace a file by renaming. Network file systems
//! tell of no change, and the number of watches on a machine is limited; so the file is also read
//! every few seconds, and what counts is only whether its bytes differ. A file mounted with
//! `subPath` never changes in a running container: Kubernetes does not update it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use pumice_conf::MAX_BYTES;
use sha2::{Digest, Sha256};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// Digits of a hash, of the 64 that SHA-256 has.
const HASH_DIGITS: usize = 16;

/// The first 16 hexadecimal digits of the SHA-256 of a configuration's text: what
/// `sha256sum volcano-scheduler.conf | cut -c1-16` prints.
#[must_use]
pub fn text_hash(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let mut text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(HASH_DIGITS);
    text
}

/// Why the file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such folder.
    #[error(
        "{0}: the folder {1} does not exist\n  = help: mount the ConfigMap there, or correct \
         --scheduler-conf"
    )]
    NoFolder(PathBuf, PathBuf),
    /// There is no such file in the folder.
    #[error(
        "{0}: the file does not exist\n  = help: the ConfigMap must have a key of this name, or \
         correct --scheduler-conf"
    )]
    NoFile(PathBuf),
    /// It is a folder, a device or a pipe.
    #[error("{0}: not a file\n  = help: --scheduler-conf must name a file")]
    NotAFile(PathBuf),
    /// It is larger than a configuration can be.
    #[error("{0}: larger than {MAX_BYTES} bytes\n  = help: is it the configuration?")]
    TooLarge(PathBuf),
    /// The system does not let us read it.
    #[error("{0}: cannot be read: {1}\n  = help: the user of this process must be able to read it")]
    Io(PathBuf, String),
}

/// What the file held, or why it cannot be read.
pub type Contents = Result<Arc<[u8]>, ReadError>;

/// How patient the watch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReloadTimes {
    /// How long nothing must change before the file is read.
    pub quiet: Duration,
    /// The file is read after this time even when no change was told.
    pub poll: Duration,
}

impl Default for ReloadTimes {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            poll: Duration::from_secs(5),
        }
    }
}

/// Reads the file, with a bound.
///
/// # Errors
/// See [`ReadError`].
pub fn read(path: &Path) -> Contents {
    match read_file(path) {
        Ok(contents) => contents,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let folder = folder(path);
            Err(if folder.is_dir() {
                ReadError::NoFile(path.to_owned())
            } else {
                ReadError::NoFolder(path.to_owned(), folder)
            })
        }
        Err(error) => Err(ReadError::Io(path.to_owned(), error.to_string())),
    }
}

fn read_file(path: &Path) -> io::Result<Contents> {
    // Before it is opened: opening a pipe waits for its other end.
    if !fs::metadata(path)?.is_file() {
        return Ok(Err(ReadError::NotAFile(path.to_owned())));
    }
    let mut bytes = Vec::new();
    let limit = MAX_BYTES as u64 + 1;
    fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_BYTES {
        return Ok(Err(ReadError::TooLarge(path.to_owned())));
    }
    Ok(Ok(bytes.into()))
}

/// The folder of a file; the current one for a bare name.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Starts to watch a file. What it holds now comes first, then each state that differs from the
/// one before, errors too; states that last shorter than the pace may be left out. The watch ends
/// when the receiver is dropped.
///
/// Must be called within a Tokio runtime.
#[must_use]
pub fn start(path: &Path, pace: ReloadTimes) -> mpsc::Receiver<Contents> {
    let (to, receiver) = mpsc::channel(1);
    let watch = ConfWatch {
        path: path.to_owned(),
        pace,
        watcher: None,
    };
    tokio::spawn(watch.run(to));
    receiver
}

struct ConfWatch {
    path: PathBuf,
    pace: ReloadTimes,
    /// The running watch on the folder, if the system gives one, and the folder's identity.
    watcher: Option<(RecommendedWatcher, FolderId)>,
}

/// Device and inode: a folder that was removed and made again is another one.
type FolderId = (u64, u64);

fn folder_id(folder: &Path) -> Option<FolderId> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(folder).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

impl ConfWatch {
    async fn run(mut self, to: mpsc::Sender<Contents>) {
        let (changed, mut changes) = mpsc::channel(1);
        let mut before = None;
        loop {
            self.watch_folder(&changed);
            let Some(now) = self.read_settled().await else {
                return;
            };
            if before.as_ref() != Some(&now) {
                before = Some(now.clone());
                if to.send(now).await.is_err() {
                    return;
                }
            }
            tokio::select! {
                () = to.closed() => return,
                () = quiet_after_change(&mut changes, self.pace) => {}
            }
        }
    }

    /// The contents; an error only when it stays one, since a file being replaced may be missing
    /// for a moment. `None` when the runtime ends.
    async fn read_settled(&self) -> Option<Contents> {
        let contents = self.read_aside().await?;
        if contents.is_ok() {
            return Some(contents);
        }
        sleep(self.pace.quiet).await;
        self.read_aside().await
    }

    /// Reads in a thread that may wait for a slow disk.
    async fn read_aside(&self) -> Option<Contents> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || read(&path)).await.ok()
    }

    /// Watches the folder unless it is watched already. Without success the reading every few
    /// seconds remains, and the next one tries again.
    fn watch_folder(&mut self, changed: &mpsc::Sender<()>) {
        let folder = folder(&self.path);
        let id = folder_id(&folder);
        if self.watcher.as_ref().map(|(_, watched)| *watched) == id {
            return;
        }
        self.watcher = None;
        let Some(id) = id else {
            return;
        };
        let changed = changed.clone();
        let tell = move |event: notify::Result<notify::Event>| {
            // Reading is no change; our own reads would otherwise follow themselves for ever.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                // When one change is told and not yet looked at, another adds nothing.
                let _ = changed.try_send(());
            }
        };
        let watcher = notify::recommended_watcher(tell).and_then(|mut watcher| {
            watcher.watch(&folder, RecursiveMode::NonRecursive)?;
            Ok(watcher)
        });
        match watcher {
            Ok(watcher) => self.watcher = Some((watcher, id)),
            Err(error) => tracing::debug!(
                folder = %folder.display(), %error,
                "the folder of the configuration cannot be watched, it is read again and again"
            ),
        }
    }
}

/// Returns some time after a change, when no other follows for a while, or when it is time to read
/// anyway.
async fn quiet_after_change(changes: &mut mpsc::Receiver<()>, pace: ReloadTimes) {
    if timeout(pace.poll, changes.recv()).await.is_err() {
        return;
    }
    // A folder in which something changes all the time is no reason never to read.
    let end = Instant::now() + pace.poll;
    while Instant::now() < end && timeout(pace.quiet, changes.recv()).await.is_ok() {}
}

#[cfg(test)]
mod tests;
