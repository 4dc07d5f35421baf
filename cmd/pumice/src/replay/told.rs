//! What the scheduler knew at a time.

use std::io::Write as _;
use std::path::Path;

use pumice_record::Replay;

use crate::recordings::{new_file, rfc3339, state_document};

/// Writes it as the document that `pumice simulate` reads.
pub fn state_at(replay: &Replay, configuration: Option<&str>, path: &Path) -> anyhow::Result<()> {
    let document = state_document(replay, configuration)?;
    new_file(path)?.write_all(&document)?;
    let (name, at) = (path.display(), rfc3339(replay.now()));
    anstream::eprintln!("as of {at} in {name}; `pumice simulate {name}` shows it");
    Ok(())
}
