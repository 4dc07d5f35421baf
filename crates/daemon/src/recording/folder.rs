//! Segments in files: each a new one that nobody else can read, the newest of them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use crate::timed_files::TimedFiles;

/// How the files are called.
const SEGMENTS: TimedFiles = TimedFiles {
    prefix: "recording",
    suffix: "pumice",
    most_names: 100,
};

/// How files are called by which it is tried whether one can be written.
const PROBES: TimedFiles = TimedFiles {
    prefix: "recording-probe",
    suffix: "tmp",
    most_names: 100,
};

/// Bytes for which there has to be room.
const PROBE_BYTES: usize = 1 << 20;

/// See the module.
pub(super) struct RecordingFolder {
    path: PathBuf,
    size: u64,
    age: Duration,
    newest: Option<(PathBuf, File)>,
}

/// A segment that is there.
struct SegmentFile {
    age: (u64, u32),
    path: PathBuf,
    bytes: u64,
}

impl RecordingFolder {
    /// A folder that exists.
    pub(super) fn open(path: &Path, size: u64, age: Duration) -> anyhow::Result<Self> {
        let folder = fs::metadata(path);
        let folder =
            folder.with_context(|| format!("--record-dir={}: make it first", path.display()))?;
        anyhow::ensure!(
            folder.is_dir(),
            "--record-dir={}: it is no directory",
            path.display()
        );
        Ok(Self {
            path: path.to_owned(),
            size,
            age,
            newest: None,
        })
    }

    /// Bytes of all segments that may be kept.
    pub(super) fn limit(&self) -> u64 {
        self.size
    }

    /// Begins a segment.
    pub(super) fn begin(&mut self, at: Duration) -> io::Result<()> {
        self.newest = None;
        self.remove_old(at)?;
        self.newest = Some(SEGMENTS.create(&self.path, at.as_secs())?);
        Ok(())
    }

    /// Appends a block to the newest segment. One that cannot be written goes on in the next segment.
    pub(super) fn append(&mut self, block: &[u8], now: Duration) -> io::Result<()> {
        let Some((_, file)) = &mut self.newest else {
            return Ok(());
        };
        if let Err(error) = file.write_all(block) {
            self.newest = None;
            return Err(error);
        }
        self.remove_old(now)
    }

    /// No segment is written at this moment.
    pub(super) fn is_stuck(&self) -> bool {
        self.newest.is_none()
    }

    /// Whether a file can be written, by writing one, which is removed again.
    pub(super) fn takes_files(&self, now: Duration) -> io::Result<()> {
        let (path, mut file) = PROBES.create(&self.path, now.as_secs())?;
        let written = file.write_all(&vec![0; PROBE_BYTES]);
        fs::remove_file(path)?;
        written
    }

    /// Segments that are there, the oldest first.
    fn segments(&self) -> io::Result<Vec<SegmentFile>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            let Some(age) = entry
                .file_name()
                .to_str()
                .and_then(|name| SEGMENTS.age(name))
            else {
                continue;
            };
            // Of a link these are of the link.
            let metadata = entry.metadata()?;
            if metadata.is_file() {
                let (path, bytes) = (entry.path(), metadata.len());
                found.push(SegmentFile { age, path, bytes });
            }
        }
        found.sort_unstable_by_key(|segment| segment.age);
        Ok(found)
    }

    /// Removes those that are too old, or for which there is no room; never the one that is written.
    fn remove_old(&self, now: Duration) -> io::Result<()> {
        let segments = self.segments()?;
        let mut all: u64 = segments.iter().map(|segment| segment.bytes).sum();
        let next = segments.iter().skip(1).map(|next| Some(next.age.0));
        let ends = next.chain([None]);
        for (segment, ended) in segments.iter().zip(ends) {
            let is_newest = self
                .newest
                .as_ref()
                .is_some_and(|(path, _)| *path == segment.path);
            // It ended when the next one began.
            let is_old = ended
                .is_some_and(|ended| now.saturating_sub(Duration::from_secs(ended)) > self.age);
            if is_newest || !is_old && all <= self.size {
                break;
            }
            fs::remove_file(&segment.path)?;
            all -= segment.bytes;
        }
        Ok(())
    }
}
