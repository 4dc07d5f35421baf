//! What is wrong with an object, and where in it.

use std::fmt;

/// One reason why an object cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectProblem {
    /// Field, for example `spec.containers[0].resources.requests.cpu`.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl fmt::Display for ObjectProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.path, self.message, self.help)
    }
}

/// An object that counts, and what of it cannot be read and counts as used. What is on a node, or has been given
/// to somebody, is never left out: others would be given it again.
#[derive(Clone, Debug, PartialEq)]
pub struct Readable<T> {
    /// What of the object counts.
    pub object: T,
    /// What of it cannot be read.
    pub doubts: Vec<ObjectProblem>,
}

impl<T> Readable<T> {
    /// The object, if nothing of it is in doubt.
    ///
    /// # Errors
    /// What is.
    pub fn certain(self) -> Result<T, Vec<ObjectProblem>> {
        match self.doubts.is_empty() {
            true => Ok(self.object),
            false => Err(self.doubts),
        }
    }
}

/// A field within an object. Borrowed from the caller's frame, so that nothing is built for the
/// objects without problems, which are nearly all.
#[derive(Clone, Copy)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    name: &'a str,
    index: Option<usize>,
}

impl<'a> Path<'a> {
    /// A field of the object itself.
    pub(crate) const fn root(name: &'a str) -> Self {
        Self {
            parent: None,
            name,
            index: None,
        }
    }

    /// A field, or a key of a map.
    pub(crate) const fn field(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            name,
            index: None,
        }
    }

    /// An item of a list field.
    pub(crate) const fn item(&'a self, name: &'a str, index: usize) -> Self {
        Self {
            parent: Some(self),
            name,
            index: Some(index),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parent {
            // Keys such as `nvidia.com/gpu` would otherwise read like several fields.
            Some(parent) if self.name.contains(['.', '/']) => write!(f, "{parent}[{}]", self.name)?,
            Some(parent) => write!(f, "{parent}.{}", self.name)?,
            None => f.write_str(self.name)?,
        }
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

/// Bytes of a message: values of fields stand in it, and whoever writes them must not fill logs.
const MAX_MESSAGE: usize = 400;

fn clipped(mut message: String) -> String {
    if message.len() > MAX_MESSAGE {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        message.push('…');
    }
    message
}

/// Collects the problems of one object.
#[derive(Default)]
pub(crate) struct ObjectProblems(Vec<ObjectProblem>);

impl ObjectProblems {
    pub(crate) fn add(&mut self, path: Path<'_>, message: impl Into<String>, help: &str) {
        let help = help.to_owned();
        self.0.push(ObjectProblem {
            path: path.to_string(),
            message: clipped(message.into()),
            help,
        });
    }

    /// The object whatever it has of problems, if it must count; else if it has none.
    pub(crate) fn unless<T>(
        self,
        must_count: bool,
        object: T,
    ) -> Result<Readable<T>, Vec<ObjectProblem>> {
        match must_count || self.0.is_empty() {
            true => Ok(Readable {
                object,
                doubts: self.0,
            }),
            false => Err(self.0),
        }
    }

    /// The object, if it has no problem.
    pub(crate) fn or<T>(self, object: T) -> Result<T, Vec<ObjectProblem>> {
        if self.0.is_empty() {
            Ok(object)
        } else {
            Err(self.0)
        }
    }
}
