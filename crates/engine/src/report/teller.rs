//! Who finds out what is news: reads what is known, and writes into the log of reports alone.

use std::ops::Deref;

use crate::knowledge::Knowledge;

/// What there is to tell on objects.
#[derive(Clone, Copy)]
pub(crate) struct Teller<'a>(Knowledge<'a>);

impl<'a> Deref for Teller<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, to be told on objects.
    pub(crate) fn teller(&self) -> Teller<'a> {
        Teller(*self)
    }
}
