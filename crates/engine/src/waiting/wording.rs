//! What is told of why something waits, in words.

use std::ops::Deref;

use crate::knowledge::Knowledge;

/// Texts about what waits. Each of its rooms words one kind of reason; a text about a gang quotes those of its
/// pods, and the other way round.
#[derive(Clone, Copy)]
pub(crate) struct Wording<'a>(Knowledge<'a>);

impl<'a> Deref for Wording<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, to be told in words.
    pub(crate) fn wording(&self) -> Wording<'a> {
        Wording(*self)
    }
}
