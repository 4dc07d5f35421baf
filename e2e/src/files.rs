//! Folders of a run, and a configuration folder that behaves like a ConfigMap mount.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

use crate::programs;

/// Folder of runs below `target/e2e`.
const RUNS: &str = "runs";

/// A new folder for this run, below `target/e2e/runs`. Folders of processes that are gone are
/// removed, so that logs stay until the next run and no longer.
///
/// # Errors
/// When the folder cannot be made.
pub fn scratch(name: &str) -> Result<PathBuf> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let runs = programs::store()?.join(RUNS);
    remove_abandoned(&runs);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = runs.join(format!("{}-{number}-{name}", std::process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("make the folder {}", folder.display()))?;
    Ok(folder)
}

fn remove_abandoned(runs: &Path) {
    for entry in fs::read_dir(runs).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_string_lossy();
        let owner = owner.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(owner).exists() {
            // Another process may be removing it as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A folder with one configuration file, changed the way the kubelet changes a mounted ConfigMap:
/// a new folder with the data, then `..data` is moved to point to it.
pub struct ConfigMount {
    folder: PathBuf,
    version: u32,
}

impl ConfigMount {
    /// Name of the configuration file.
    pub const FILE: &'static str = "volcano-scheduler.conf";

    /// A mount below `parent` with this text.
    ///
    /// # Errors
    /// When files cannot be written.
    pub fn new(parent: &Path, text: &str) -> Result<Self> {
        let folder = parent.join("config");
        fs::create_dir_all(&folder)?;
        let mut mount = Self { folder, version: 0 };
        mount.replace(text)?;
        std::os::unix::fs::symlink(format!("..data/{}", Self::FILE), mount.file())?;
        Ok(mount)
    }

    /// Path of the configuration file.
    pub fn file(&self) -> PathBuf {
        self.folder.join(Self::FILE)
    }

    /// Swaps in another text in one step.
    ///
    /// # Errors
    /// When files cannot be written.
    pub fn replace(&mut self, text: &str) -> Result<()> {
        self.version += 1;
        let data = format!("..version_{}", self.version);
        fs::create_dir_all(self.folder.join(&data))?;
        fs::write(self.folder.join(&data).join(Self::FILE), text)?;
        let fresh = self.folder.join("..data_tmp");
        std::os::unix::fs::symlink(&data, &fresh)?;
        fs::rename(&fresh, self.folder.join("..data"))?;
        Ok(())
    }
}
