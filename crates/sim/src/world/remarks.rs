//! What is found about the objects that are read: which are set aside, what is odd about others, and where each stands.

use std::collections::BTreeMap;

use pumice_ingest::{ObjectProblem, Readable};

use crate::problem::{InputPlace, InputProblem};
use crate::reader::{InputSource, locate_fields};

/// Kind and key of an object, and what is odd about it.
pub(super) type Oddity = (&'static str, String, ObjectProblem);

/// Problems, and the places they are told at.
#[derive(Default)]
pub(super) struct Remarks {
    /// Where each object was read, by kind and key.
    pub(super) places: BTreeMap<(&'static str, String), InputPlace>,
    pub(super) problems: Vec<InputProblem>,
    /// What is odd about objects that take part.
    pub(super) doubts: Vec<Oddity>,
    /// Problems, by index, whose place is still that of the object, and the field they are about.
    in_fields: Vec<(usize, String)>,
}

impl Remarks {
    /// Where an object was read.
    pub(super) fn place(&self, kind: &'static str, key: &str) -> Option<InputPlace> {
        self.places.get(&(kind, key.to_owned())).cloned()
    }

    /// Whether an object is not taken in.
    pub(super) fn is_set_aside(&self, kind: &str, key: &str) -> bool {
        let object = format!("{kind} {key}");
        self.objects_set_aside().any(|aside| aside == object)
    }

    /// Kinds and keys of the objects that are not taken in.
    pub(super) fn objects_set_aside(&self) -> impl Iterator<Item = &str> {
        self.problems
            .iter()
            .filter(|problem| !problem.kept)
            .map(|problem| problem.object.as_str())
    }

    /// Notes what is odd about an object.
    pub(super) fn doubt(
        &mut self,
        kind: &'static str,
        key: &str,
        found: impl IntoIterator<Item = ObjectProblem>,
    ) {
        let found = found.into_iter();
        self.doubts
            .extend(found.map(|doubt| (kind, key.to_owned(), doubt)));
    }

    /// An object that counts; what of it does not is told.
    pub(super) fn in_use<T>(&mut self, kind: &'static str, key: &str, read: Readable<T>) -> T {
        self.doubt(kind, key, read.doubts);
        read.object
    }

    /// Adds a warning of a field: its place is looked up when all are known.
    pub(super) fn warn(&mut self, problem: InputProblem, path: String) {
        self.problems.push(problem);
        self.in_fields.push((self.problems.len() - 1, path));
    }

    /// Sets an object aside for what is wrong with its fields.
    pub(super) fn refuse(
        &mut self,
        place: &InputPlace,
        name: &str,
        found: impl Iterator<Item = ObjectProblem>,
    ) {
        for problem in found {
            let message = format!("{}: {}", problem.path, problem.message);
            self.set_aside(place.clone(), name.to_owned(), message, &problem.help);
            self.in_fields.push((self.problems.len() - 1, problem.path));
        }
    }

    /// Sets an object aside as a whole.
    pub(super) fn set_aside(
        &mut self,
        place: InputPlace,
        object: String,
        message: String,
        help: &str,
    ) {
        let help = help.to_owned();
        self.problems.push(InputProblem {
            place,
            object,
            message,
            help,
            kept: false,
        });
    }

    /// Puts the places of fields in, with one look at each source.
    pub(super) fn locate(&mut self, sources: &[InputSource]) {
        let mut paths: BTreeMap<usize, String> =
            std::mem::take(&mut self.in_fields).into_iter().collect();
        let mut wanted: BTreeMap<String, Vec<(&mut InputPlace, String)>> = BTreeMap::new();
        for (at, problem) in self.problems.iter_mut().enumerate() {
            if let Some(path) = paths.remove(&at) {
                let file = problem.place.file.clone();
                wanted
                    .entry(file)
                    .or_default()
                    .push((&mut problem.place, path));
            }
        }
        for source in sources {
            let Some(mut places) = wanted.remove(&source.name) else {
                continue;
            };
            let mut places: Vec<(&mut InputPlace, &str)> = places
                .iter_mut()
                .map(|(place, path)| (&mut **place, path.as_str()))
                .collect();
            locate_fields(source, &mut places);
        }
    }
}
