//! A page of the running scheduler, in a new file that nobody else can read.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use super::scheduler::{LeaderPlace, SavedPage};
use super::user::wrong;

/// Fetches a page into a file that must not exist yet, for a command by its words; what was written, as `7 bytes in FILE`.
///
/// # Errors
/// The file cannot be made, or the scheduler does not answer.
pub fn save(
    leader: &LeaderPlace,
    page: SavedPage,
    path: &Path,
    command: &str,
) -> anyhow::Result<String> {
    let said = |error: std::io::Error| {
        let name = path.display();
        wrong(format!(
            "{name}: {error}\n  = help: name another file: {command} FILE"
        ))
    };
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(said)?;
    let saved = leader.save(page, &mut file);
    if saved.is_err() {
        // Nothing, or half of it, is of no use.
        let _ = std::fs::remove_file(path);
    }
    saved?;
    let bytes = file.metadata().map_err(said)?.len();
    Ok(format!("{bytes} bytes in {}", path.display()))
}
