//! What would have to change for what waits.

use std::ops::Deref;

use crate::knowledge::Knowledge;

/// Changes that would help a pod or a job.
#[derive(Clone, Copy)]
pub(crate) struct Remedies<'a>(Knowledge<'a>);

impl<'a> Deref for Remedies<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, to find what would help.
    pub(crate) fn remedies(&self) -> Remedies<'a> {
        Remedies(*self)
    }
}
