//! Keys given twice in one map: the API server refuses such objects, and most often a line `---`
//! between two objects was forgotten.

use pumice_yaml::node::{Data, Location, MapEntry, YamlNode};

/// A key that is given twice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repeated {
    /// Path of the key.
    pub path: String,
    /// Where it stands first.
    pub first: Location,
    /// Where it stands again.
    pub again: Location,
}

impl Repeated {
    /// Whether the key is one of the object itself.
    pub fn is_top(&self) -> bool {
        !self.path.contains(['.', '['])
    }
}

/// The first key that is given twice in a map itself.
pub(super) fn in_map(node: &YamlNode) -> Option<Repeated> {
    let mut entries: Vec<&MapEntry> = node.entries()?.iter().filter(|e| !e.merged).collect();
    // Stable: those with equal text stay in the order of the file.
    entries.sort_by_key(|entry| entry.key.text());
    let twice = entries.windows(2).filter_map(|pair| match pair {
        [first, again] if first.key.text().is_some() && first.key.text() == again.key.text() => {
            Some(Repeated {
                path: first.key.text().unwrap_or_default().to_owned(),
                first: first.key.location,
                again: again.key.location,
            })
        }
        _ => None,
    });
    twice.min_by_key(|found| found.again)
}

/// The first key that is given twice in a map or anything inside it.
pub(super) fn anywhere(node: &YamlNode) -> Option<Repeated> {
    if let Some(found) = in_map(node) {
        return Some(found);
    }
    match &node.data {
        Data::Scalar { .. } => None,
        Data::List(items) => items.iter().enumerate().find_map(|(at, item)| {
            let found = anywhere(item)?;
            Some(below(&format!("[{at}]"), found))
        }),
        Data::Map(entries) => entries.iter().find_map(|entry| {
            let found = anywhere(&entry.value)?;
            Some(below(entry.key.text().unwrap_or_default(), found))
        }),
    }
}

fn below(step: &str, found: Repeated) -> Repeated {
    let dot = if found.path.starts_with('[') { "" } else { "." };
    Repeated {
        path: format!("{step}{dot}{}", found.path),
        ..found
    }
}
