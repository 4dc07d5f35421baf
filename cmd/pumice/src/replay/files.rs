//! Recordings that are files.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pumice_record::{TapePiece, TapeReader};

use crate::bad_input::BadInput;

/// Largest file that is read, bytes.
const MAX_BYTES: u64 = 8 << 30;

/// What is in one.
pub struct RecordingFile {
    /// Where it is.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
    /// When it was begun; the first of all where that cannot be read.
    at: Duration,
}

/// Reads files, and those of folders, in the order of their times.
///
/// # Errors
/// One cannot be read, or there is none.
pub fn read(paths: &[PathBuf]) -> anyhow::Result<Vec<RecordingFile>> {
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
                    files.push(read_one(&path)?);
                }
            }
        } else {
            files.push(read_one(path)?);
        }
    }
    if files.is_empty() {
        let text = "error: there is no recording in the directory\n  = help: files of --record-dir \
                    are called recording-TIME.pumice";
        return Err(BadInput(text.to_owned()).into());
    }
    files.sort_by(|a, b| (a.at, &a.name).cmp(&(b.at, &b.name)));
    Ok(files)
}

fn read_one(path: &Path) -> anyhow::Result<RecordingFile> {
    let length = std::fs::metadata(path)
        .map_err(|error| unreadable(path, &error))?
        .len();
    if length > MAX_BYTES {
        let text = format!("error: {}: larger than {MAX_BYTES} bytes", path.display());
        return Err(BadInput(text).into());
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let at = match TapeReader::new(&bytes).next() {
        Some(TapePiece::Header(header)) => header.at,
        _ => Duration::ZERO,
    };
    let name = path.display().to_string();
    Ok(RecordingFile { name, bytes, at })
}

fn unreadable(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let text = format!(
        "error: {}: {error}\n  = help: name a file of `pumice record export`, or a directory of \
         --record-dir",
        path.display()
    );
    BadInput(text).into()
}
