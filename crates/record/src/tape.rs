//! Entries on their way to bytes.

use pumice_model::Delta;
use serde::{Serialize, Serializer};

use crate::entry::TapeEntry;

/// Deltas of which one entry is made at most.
const MAX_DELTAS: usize = 1000;

/// [`TapeEntry::Deltas`] without owning them: its place among the entries, and its name.
struct DeltasEntry<'a>(&'a [Delta]);

/// Place of [`TapeEntry::Deltas`] in the enum.
const DELTAS_VARIANT: u32 = 2;

impl Serialize for DeltasEntry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_variant("TapeEntry", DELTAS_VARIANT, "Deltas", self.0)
    }
}

/// Entries as bytes, until they are taken.
#[derive(Default)]
pub struct Tape(Vec<u8>);

impl Tape {
    /// Appends an entry.
    pub fn push(&mut self, entry: &TapeEntry) {
        self.append(entry);
    }

    /// Appends changes. Being told of none is an input, too: a decider looks at what there is then.
    pub fn push_deltas(&mut self, deltas: &[Delta]) {
        if deltas.is_empty() {
            self.append(&DeltasEntry(deltas));
        }
        for some in deltas.chunks(MAX_DELTAS) {
            self.append(&DeltasEntry(some));
        }
    }

    fn append(&mut self, entry: &impl Serialize) {
        let before = self.0.len();
        let bytes = std::mem::take(&mut self.0);
        // Fails only for what has no length, which nothing of a recording is.
        match postcard::to_extend(entry, bytes) {
            Ok(bytes) => self.0 = bytes,
            Err(error) => debug_assert!(false, "{error} after {before} bytes"),
        }
    }

    /// All since the last time, and leaves nothing.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
