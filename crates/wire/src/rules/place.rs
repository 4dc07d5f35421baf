//! Where in an object.

use std::fmt;

/// A field within an object. Borrowed from the caller's frame, so that nothing is built for objects
/// that break no rule, which are nearly all.
#[derive(Clone, Copy)]
pub(super) struct FieldPlace<'a> {
    parent: Option<&'a FieldPlace<'a>>,
    step: PlaceStep<'a>,
}

#[derive(Clone, Copy)]
enum PlaceStep<'a> {
    /// The object itself.
    Top,
    Field(&'a str),
    Item(usize),
}

impl<'a> FieldPlace<'a> {
    /// The object itself.
    pub const TOP: FieldPlace<'static> = FieldPlace {
        parent: None,
        step: PlaceStep::Top,
    };

    /// A field, or a key of a map.
    pub const fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: PlaceStep::Field(name),
        }
    }

    /// An item of a list.
    pub const fn item(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: PlaceStep::Item(index),
        }
    }
}

impl fmt::Display for FieldPlace<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else {
            return Ok(());
        };
        parent.fmt(f)?;
        match self.step {
            PlaceStep::Top => Ok(()),
            PlaceStep::Item(index) => write!(f, "[{index}]"),
            // Keys such as `nvidia.com/gpu` would otherwise read like several fields.
            PlaceStep::Field(name) if name.contains(['.', '/']) => write!(f, "[{name}]"),
            PlaceStep::Field(name) if parent.parent.is_none() => f.write_str(name),
            PlaceStep::Field(name) => write!(f, ".{name}"),
        }
    }
}
