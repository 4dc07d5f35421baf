//! Recordings without names.

use std::path::PathBuf;

use pumice_record::{AnonymousCopy, AnonymousSums, NameCollection, TapePiece, TapeReader};

use super::files;
use crate::bad_input::BadInput;

/// A recording without names, in memory.
pub struct UnnamedRecording {
    /// All of it, as a file.
    pub bytes: Vec<u8>,
    /// How many names were replaced.
    pub names: usize,
    sums: AnonymousSums,
    /// Parts that could not be read.
    lost: usize,
}

/// What was fetched, without names.
///
/// # Errors
/// There is no step in it.
pub fn of_bytes(bytes: &[u8]) -> anyhow::Result<UnnamedRecording> {
    of(&mut |take| {
        TapeReader::new(bytes).for_each(take);
        Ok(())
    })
}

/// Files, without names: they are read one at a time, twice.
///
/// # Errors
/// One cannot be read, or there is no step in them.
pub fn of_files(paths: &[PathBuf]) -> anyhow::Result<UnnamedRecording> {
    let files = files::find(paths)?;
    of(&mut |take| {
        for file in &files {
            TapeReader::new(&file.read()?).for_each(&mut *take);
        }
        Ok(())
    })
}

/// Reads all pieces, as often as it is asked.
type PieceSource<'a> = &'a mut dyn FnMut(&mut dyn FnMut(TapePiece)) -> anyhow::Result<()>;

fn of(pieces: PieceSource<'_>) -> anyhow::Result<UnnamedRecording> {
    let mut names = NameCollection::default();
    let mut lost = 0;
    pieces(&mut |piece| match piece {
        TapePiece::Entry(entry) => names.take(&entry),
        TapePiece::Lost(_) | TapePiece::Unreadable(_) => lost += 1,
        TapePiece::Header(_) | TapePiece::Block(_) => {}
    })?;
    let pseudonyms = names.pseudonyms();
    let names = pseudonyms.len();
    let program = format!("pumice/{}, without names", env!("CARGO_PKG_VERSION"));
    let mut copy = AnonymousCopy::new(pseudonyms, &program);
    pieces(&mut |piece| copy.take(piece))?;
    let (bytes, sums) = copy.finish();
    if sums.steps == 0 {
        let text = "error: there is no step that can be read in the recording\n  = help: `pumice \
                    replay` says what is wrong with it";
        return Err(BadInput(text.to_owned()).into());
    }
    Ok(UnnamedRecording {
        bytes,
        names,
        sums,
        lost,
    })
}

impl UnnamedRecording {
    /// What it cannot keep, a line each.
    pub fn notes(&self) -> Vec<String> {
        let AnonymousSums {
            steps,
            differences,
            left_out,
        } = self.sums;
        let mut notes = vec![match differences {
            0 => format!("all {steps} steps decide the same under other names"),
            some => format!(
                "{some} of {steps} steps decide otherwise under other names: something in them goes \
                 by what a name says, or began at a copy"
            ),
        }];
        if left_out > 0 {
            notes.push(format!(
                "{left_out} inputs could not be read under other names and are left out"
            ));
        }
        if self.lost > 0 {
            notes.push(format!(
                "{} parts of the recording could not be read",
                self.lost
            ));
        }
        let kept = "kept are times, amounts, names of resources, known keys, and the words of \
                    configurations and device texts: look through the file before it is given away";
        notes.push(kept.to_owned());
        notes
    }
}
