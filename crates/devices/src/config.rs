//! The device configuration: `device-config.yaml` of a ConfigMap (spec/04 §4), a section per family.
//!
//! What the text leaves out keeps its built-in default, so that a missing ConfigMap, a missing
//! section and a section with one changed key all mean what their author sees in them.

mod reader;

use std::any::Any;
use std::sync::Arc;

use pumice_yaml::node::{Location, YamlNode};
use pumice_yaml::tree::{Budget, documents};
use rustc_hash::FxHashSet;

use reader::DOCUMENT;
pub use reader::{Reader, field};

/// The key of the ConfigMap under which the device configuration is stored.
pub const CONFIG_KEY: &str = "device-config.yaml";

/// What one section of the device configuration says, as its families use it.
pub trait Section: Any + Default + Send + Sync {
    /// Key of the section in the file.
    const KEY: &'static str;

    /// Reads it; what is wrong goes to `reader`.
    fn read(reader: &mut Reader, section: &YamlNode<'_>) -> Self;
}

/// A [`Section`], as a family names it in [`crate::FamilySpec::sections`].
#[derive(Clone, Copy)]
pub struct SectionSpec {
    key: &'static str,
    read: fn(&mut Reader, &YamlNode<'_>) -> Arc<dyn Any + Send + Sync>,
}

impl SectionSpec {
    /// The section that a type reads.
    pub const fn of<S: Section>() -> Self {
        Self {
            key: S::KEY,
            read: |reader, section| Arc::new(S::read(reader, section)),
        }
    }
}

/// The sections that a text has. Those it has not say what their `default` says.
#[derive(Clone, Debug, Default)]
pub struct DeviceConfig {
    sections: Vec<Arc<dyn Any + Send + Sync>>,
}

impl DeviceConfig {
    /// A configuration of one section.
    pub fn with<S: Section>(section: S) -> Self {
        Self {
            sections: vec![Arc::new(section)],
        }
    }

    /// What a section says.
    pub fn section<S: Section>(&self) -> Arc<S> {
        let mut sections = self.sections.iter();
        let found = sections.find_map(|section| Arc::clone(section).downcast().ok());
        found.unwrap_or_default()
    }

    /// Reads the text of `device-config.yaml`. Sections that are not in `specs` are others'.
    ///
    /// # Errors
    /// Every problem of the text, each with its place and what to do.
    pub fn parse(
        text: &str,
        specs: impl IntoIterator<Item = SectionSpec>,
    ) -> Result<Self, Vec<String>> {
        let mut config = Self::default();
        let document = match only_document(text) {
            Ok(Some(document)) => document,
            Ok(None) => return Ok(config),
            Err(problem) => return Err(vec![problem]),
        };
        let mut reader = Reader::default();
        let document = reader.map(&document, DOCUMENT);
        for spec in specs {
            let section = document.and_then(|document| field(document, spec.key));
            if let Some(section) = section {
                config.sections.push((spec.read)(&mut reader, section));
            }
        }
        // Families that share a section find the same in it.
        let mut known = FxHashSet::default();
        reader
            .problems
            .retain(|problem| known.insert(problem.clone()));
        match reader.problems.is_empty() {
            true => Ok(config),
            false => Err(reader.problems),
        }
    }
}

fn only_document(text: &str) -> Result<Option<YamlNode<'_>>, String> {
    let invalid = |location: Location, what: &str| {
        let Location { line, column, .. } = location;
        format!("line {line}, column {column}: no valid YAML: {what}; correct the text")
    };
    let mut documents = documents(text, Budget::CONF);
    let first = match documents.next().transpose() {
        Ok(first) => first,
        Err(error) => return Err(invalid(error.location, &error.kind.to_string())),
    };
    match documents.next() {
        None => Ok(first),
        Some(Ok(second)) => Err(invalid(second.location, "a second document")),
        Some(Err(error)) => Err(invalid(error.location, &error.kind.to_string())),
    }
}
