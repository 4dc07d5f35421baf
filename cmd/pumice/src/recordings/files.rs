//! Recordings that are files: which there are, and in which order they are read.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pumice_record::{TapePiece, TapeReader};

use crate::bad_input::BadInput;

/// Largest file that is read, bytes: one is in memory at a time.
const MAX_BYTES: u64 = 8 << 30;

/// Bytes of a file in which its first header is.
const HEAD: u64 = 64 << 10;

/// One file, of which the begin is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingFile {
    /// Where it is.
    pub name: String,
    /// The process of its first segment; nothing where that cannot be read.
    pub process: String,
    /// When its first segment was begun.
    pub at: Duration,
    path: PathBuf,
    blocks: u64,
}

/// Files, and those of folders: process by process as they began, and of each in the order of its segments.
///
/// # Errors
/// One cannot be read, or there is none.
pub fn find(paths: &[PathBuf]) -> anyhow::Result<Vec<RecordingFile>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).map_err(|error| unreadable(path, &error))?;
            for entry in entries {
                let path = entry.map_err(|error| unreadable(path, &error))?.path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "pumice")
                {
                    files.push(RecordingFile::open(&path)?);
                }
            }
        } else {
            files.push(RecordingFile::open(path)?);
        }
    }
    if files.is_empty() {
        let text = "error: there is no recording in the directory\n  = help: files of --record-dir \
                    are called recording-TIME.pumice";
        return Err(BadInput(text.to_owned()).into());
    }
    sort(&mut files);
    Ok(files)
}

fn sort(files: &mut [RecordingFile]) {
    let mut begins: BTreeMap<String, Duration> = BTreeMap::new();
    for file in &*files {
        let begin = begins.entry(file.process.clone()).or_insert(file.at);
        *begin = file.at.min(*begin);
    }
    files.sort_by_cached_key(|file| {
        let begin = begins.get(&file.process).copied();
        (
            begin,
            file.process.clone(),
            file.blocks,
            file.at,
            file.name.clone(),
        )
    });
}

/// Processes with their files, in the order in which they began.
pub fn by_process(files: &[RecordingFile]) -> Vec<&[RecordingFile]> {
    let same = |a: &RecordingFile, b: &RecordingFile| a.process == b.process;
    files.chunk_by(same).collect()
}

impl RecordingFile {
    fn open(path: &Path) -> anyhow::Result<Self> {
        let mut head = Vec::new();
        let file = std::fs::File::open(path).map_err(|error| unreadable(path, &error))?;
        file.take(HEAD)
            .read_to_end(&mut head)
            .map_err(|error| unreadable(path, &error))?;
        let name = path.display().to_string();
        let path = path.to_owned();
        let header = match TapeReader::new(&head).next() {
            Some(TapePiece::Header(header)) => header,
            _ => {
                let (process, at, blocks) = (String::new(), Duration::ZERO, 0);
                return Ok(Self {
                    name,
                    process,
                    at,
                    path,
                    blocks,
                });
            }
        };
        Ok(Self {
            name,
            process: header.process,
            at: header.at,
            path,
            blocks: header.blocks,
        })
    }

    /// All of it.
    ///
    /// # Errors
    /// It cannot be read, or is too large.
    pub fn read(&self) -> anyhow::Result<Vec<u8>> {
        let path = &self.path;
        let wrong = |error: &std::io::Error| unreadable(path, error);
        let file = std::fs::File::open(path).map_err(|error| wrong(&error))?;
        let mut bytes = Vec::new();
        file.take(MAX_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| wrong(&error))?;
        if bytes.len() as u64 > MAX_BYTES {
            let text = format!("error: {}: larger than {MAX_BYTES} bytes", self.name);
            return Err(BadInput(text).into());
        }
        Ok(bytes)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let text = format!(
        "error: {}: {error}\n  = help: name a file of `pumice record export`, or a directory of \
         --record-dir",
        path.display()
    );
    BadInput(text).into()
}
