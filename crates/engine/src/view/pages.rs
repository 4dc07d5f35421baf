//! What people ask, page by page.

use std::ops::Deref;

use crate::knowledge::Knowledge;

/// Pages, each made when somebody asks for it.
#[derive(Clone, Copy)]
pub(crate) struct Pages<'a>(Knowledge<'a>);

impl<'a> Deref for Pages<'a> {
    type Target = Knowledge<'a>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> Knowledge<'a> {
    /// What is known, page by page.
    pub(crate) fn pages(&self) -> Pages<'a> {
        Pages(*self)
    }
}
