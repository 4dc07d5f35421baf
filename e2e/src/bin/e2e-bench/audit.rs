//! Reading the API server's audit log while it grows.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use pumice_e2e::{Cluster, Identity};
use serde_json::Value;

/// Pause between two looks at the log.
const PAUSE: Duration = Duration::from_millis(20);

/// One finished write of the scheduler's identity, or of the controllers'.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Verb and resource, such as `create pods/binding`.
    pub what: String,
    /// Name of the object.
    pub name: String,
    /// HTTP status of the answer.
    pub code: u64,
    /// When the answer was complete.
    pub at: Timestamp,
    /// The controllers' write, not the scheduler's.
    pub is_of_controllers: bool,
}

impl Entry {
    /// Whether it bound a pod.
    pub fn is_bind(&self) -> bool {
        self.what == "create pods/binding" && self.code == 201
    }

    /// Whether it made a pod.
    pub fn is_pod(&self) -> bool {
        self.what == "create pods" && self.code == 201
    }

    /// Whether it is the lease's renewal.
    pub fn is_lease(&self) -> bool {
        self.what.ends_with(" leases")
    }
}

/// A position in the log: what is before it has been read.
pub struct Audit {
    path: PathBuf,
    offset: u64,
}

impl Audit {
    /// Begins at the current end of the cluster's log.
    pub fn follow(cluster: &Cluster) -> Self {
        let path = cluster.folder().join("audit.log");
        let offset = std::fs::metadata(&path).map_or(0, |found| found.len());
        Self { path, offset }
    }

    /// The complete lines since the last call.
    pub fn read(&mut self) -> Result<Vec<Entry>> {
        let Ok(mut file) = File::open(&self.path) else {
            return Ok(Vec::new());
        };
        file.seek(SeekFrom::Start(self.offset))?;
        let mut text = String::new();
        file.read_to_string(&mut text)
            .context("read the audit log")?;
        let complete = text.rfind('\n').map_or(0, |at| at + 1);
        self.offset += u64::try_from(complete)?;
        text[..complete].lines().map(entry).collect()
    }

    /// Reads until so many binds were seen, and gives everything read.
    ///
    /// # Errors
    /// When the log brings nothing for `patience`.
    pub fn until_bound(&mut self, count: usize, patience: Duration) -> Result<Vec<Entry>> {
        self.until(count, patience, Entry::is_bind)
    }

    /// Reads until so many entries were as wanted, and gives everything read.
    ///
    /// # Errors
    /// As [`Self::until_bound`].
    pub fn until(
        &mut self,
        count: usize,
        patience: Duration,
        is_wanted: impl Fn(&Entry) -> bool,
    ) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let mut last = Instant::now();
        let mut done = 0;
        while done < count {
            let fresh = self.read()?;
            if !fresh.is_empty() {
                last = Instant::now();
            }
            done += fresh.iter().filter(|entry| is_wanted(entry)).count();
            entries.extend(fresh);
            let is_stuck = last.elapsed() > patience;
            ensure!(
                !is_stuck,
                "{done} of {count} pods, then nothing for {patience:?}"
            );
            std::thread::sleep(PAUSE);
        }
        Ok(entries)
    }

    /// Reads until nothing but leases was written for `pause`.
    pub fn until_quiet(&mut self, pause: Duration, limit: Duration) -> Result<Vec<Entry>> {
        let mut entries = Vec::new();
        let start = Instant::now();
        let mut last = start;
        while last.elapsed() < pause && start.elapsed() < limit {
            let fresh = self.read()?;
            if fresh.iter().any(|entry| !entry.is_lease()) {
                last = Instant::now();
            }
            entries.extend(fresh);
            std::thread::sleep(PAUSE);
        }
        Ok(entries)
    }
}

fn entry(line: &str) -> Result<Entry> {
    let value: Value = serde_json::from_str(line).context("a line of the audit log")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let about = &value["objectRef"];
    let verb = text(&value["verb"]);
    let what = match about["subresource"].as_str() {
        Some(part) => format!("{verb} {}/{part}", text(&about["resource"])),
        None => format!("{verb} {}", text(&about["resource"])),
    };
    Ok(Entry {
        what,
        name: text(&about["name"]),
        code: value["responseStatus"]["code"].as_u64().unwrap_or_default(),
        at: text(&value["stageTimestamp"]).parse()?,
        is_of_controllers: value["user"]["username"] == Identity::Controllers.user(),
    })
}

/// Binds per second from the first to the last, `None` for fewer than two.
pub fn rate(entries: &[Entry]) -> Option<f64> {
    rate_of(entries, Entry::is_bind)
}

/// Entries that are as wanted per second from the first to the last, `None` for fewer than two.
pub fn rate_of(entries: &[Entry], is_wanted: impl Fn(&Entry) -> bool) -> Option<f64> {
    let wanted = || entries.iter().filter(|entry| is_wanted(entry));
    let first = wanted().map(|entry| entry.at).min()?;
    let last = wanted().map(|entry| entry.at).max()?;
    let seconds = last.duration_since(first).as_secs_f64();
    let count = u32::try_from(wanted().count()).ok()?.checked_sub(1)?;
    (seconds > 0.0).then(|| f64::from(count) / seconds)
}
