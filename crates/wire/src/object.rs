//! An object as it is read: the contract of every wire type.

use crate::problem::WireProblem;

/// An object as the API server and manifests write it.
pub trait WireObject: Sized {
    /// Reads the JSON text of one object.
    ///
    /// # Errors
    /// The first field that does not have its type.
    fn read(json: &[u8]) -> Result<Self, WireProblem>;

    /// Reads an object that must count without the fields that do not have their type, and tells these; nothing of
    /// one that need not.
    fn read_in_part(_json: &[u8]) -> Option<(Self, Vec<WireProblem>)> {
        None
    }
}
