//! The state as a document that `pumice simulate` reads, and the files it is written to.
//!
//! ```text
//! deciding thread ─► DumpDocument ─► text, made elsewhere ─► /debug/dump
//!                                                        └─► a file of --cache-dump-dir (signals)
//! ```

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tokio::sync::{mpsc, oneshot};

use crate::requests::DecideRequest;
use crate::timed_files::TimedFiles;

/// Files that are kept, the newest of them. A large cluster has 100 MB in each.
const MAX_FILES: usize = 3;

/// How the files are called.
const DUMPS: TimedFiles = TimedFiles {
    prefix: "snapshot",
    suffix: "json",
    most_names: 10,
};

/// The text of a new dump. The thread that decides only copies: another one writes.
///
/// # Errors
/// The scheduler is stopping.
pub async fn text(core: &mpsc::Sender<DecideRequest>) -> anyhow::Result<Vec<u8>> {
    let stopping = "the scheduler is stopping";
    let (reply, answer) = oneshot::channel();
    let sent = core.send(DecideRequest::Dump(reply)).await;
    sent.ok().context(stopping)?;
    let document = answer.await.context(stopping)?;
    let written = tokio::task::spawn_blocking(move || serde_json::to_vec(&document)).await?;
    Ok(written?)
}

/// Writes a dump to a new file that nobody else can read, and removes the oldest ones. Whatever has
/// the name already, a link included, is left alone.
///
/// # Errors
/// The folder takes no file.
pub fn write(folder: &Path, unix_s: u64, text: &[u8]) -> anyhow::Result<PathBuf> {
    // Before: the folder may have no room for one more.
    remove_oldest(folder, MAX_FILES - 1);
    let (path, mut file) = DUMPS
        .create(folder, unix_s)
        .with_context(|| format!("{}/snapshot-{unix_s}.json", folder.display()))?;
    let written = file.write_all(text);
    if written.is_err() {
        // Half of a dump is of no use.
        let _ = fs::remove_file(&path);
    }
    written.with_context(|| path.display().to_string())?;
    Ok(path)
}

/// Leaves as many files as said. What cannot be removed stays: the new dump is worth more.
fn remove_oldest(folder: &Path, leave: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let aged =
        files.filter_map(|entry| Some((DUMPS.age(entry.file_name().to_str()?)?, entry.path())));
    let mut dumps: Vec<_> = aged.collect();
    dumps.sort_unstable();
    let surplus = dumps.len().saturating_sub(leave);
    for (_, path) in &dumps[..surplus] {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use tempfile::TempDir;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_dump_is_a_new_file_that_only_its_owner_reads() {
        let folder = TempDir::new().expect("a folder");
        let path = write(folder.path(), 7, b"text").expect("written");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read(&path).expect("readable"), b"text");
        let second = write(folder.path(), 7, b"more").expect("written");
        assert_ne!(path, second);
        assert_eq!(fs::read(&path).expect("readable"), b"text");
    }

    #[test]
    fn links_and_files_that_others_have_made_are_left_alone() {
        let folder = TempDir::new().expect("a folder");
        let victim = folder.path().join("victim");
        fs::write(&victim, "kept").expect("written");
        let nowhere = folder.path().join("nowhere");
        symlink(&victim, folder.path().join(DUMPS.name(7, 0))).expect("linked");
        symlink(&nowhere, folder.path().join(DUMPS.name(7, 1))).expect("linked");
        let path = write(folder.path(), 7, b"text").expect("written");
        assert_eq!(path, folder.path().join(DUMPS.name(7, 2)));
        assert_eq!(fs::read(&victim).expect("readable"), b"kept");
        assert!(!nowhere.exists());
        for nth in 3..DUMPS.most_names {
            symlink(&victim, folder.path().join(DUMPS.name(7, nth))).expect("linked");
        }
        let error = write(folder.path(), 7, b"text").expect_err("all names are taken");
        assert!(
            format!("{error:#}").contains("snapshot-7.json"),
            "{error:#}"
        );
        assert_eq!(fs::read(&victim).expect("readable"), b"kept");
    }

    #[test]
    fn the_newest_are_kept_and_other_files_are_not_touched() {
        let folder = TempDir::new().expect("a folder");
        let others = ["snapshot-.json", "snapshot-07.json", "snapshot-1.json.gz"];
        for other in others {
            fs::write(folder.path().join(other), "").expect("written");
        }
        for unix_s in [8, 9, 10, 10, 100] {
            write(folder.path(), unix_s, b"text").expect("written");
        }
        let mut expected = [
            "snapshot-10-1.json",
            "snapshot-10.json",
            "snapshot-100.json",
        ]
        .to_vec();
        expected.extend(others);
        expected.sort_unstable();
        assert_eq!(names(folder.path()), expected);
    }
}
