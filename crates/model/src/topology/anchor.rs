//! Which selectors may select a pod, and which pods a selector may select, without trying each
//! with each.
//!
//! A selector is kept under its *anchors*: the labels of which a pod must have one to be selected,
//! where it names some; else the namespaces it looks at. A pod is found under everything it shows.
//! Both are hashes of texts: what is found may be selected and is then looked at in full.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::Appearance;
use crate::intern::Interner;
use crate::object::{PodTerm, Selector, SelectorOp};

/// What a selector cannot do without, or a pod shows.
#[derive(Hash)]
enum Feature<'a> {
    Any,
    Namespace(&'a str),
    Key(&'a str),
    Label(&'a str, &'a str),
}

impl Feature<'_> {
    fn anchor(&self) -> u64 {
        let mut hasher = FxHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// Anchors of one selector, each once.
pub type Anchors = SmallVec<[u64; 1]>;

/// Anchors of a term; none when it selects nothing.
pub fn of_term(term: &PodTerm) -> Anchors {
    let Some(selector) = &term.selector else {
        return Anchors::new();
    };
    let anywhere = term.namespace_selector.is_some();
    of_selector(selector).unwrap_or_else(|| match anywhere {
        true => Anchors::from_slice(&[Feature::Any.anchor()]),
        false => each(term.namespaces.iter().map(|n| Feature::Namespace(n))),
    })
}

/// Anchors of selectors of which all must select a pod of a namespace.
pub fn of_selectors(namespace: &str, selectors: &[Selector]) -> Anchors {
    let found = selectors.iter().find_map(of_selector);
    found.unwrap_or_else(|| each(std::iter::once(Feature::Namespace(namespace))))
}

/// The labels of which a pod must have one: those of the requirement with fewest values.
fn of_selector(selector: &Selector) -> Option<Anchors> {
    let narrow = |op: &SelectorOp| match op {
        SelectorOp::In(values) => Some(values.len()),
        SelectorOp::Exists => Some(usize::MAX),
        SelectorOp::NotIn(_) | SelectorOp::DoesNotExist => None,
    };
    let required = selector.requirements.iter();
    let required = required.filter_map(|r| Some((narrow(&r.op)?, r)));
    let (_, narrowest) = required.min_by_key(|(values, _)| *values)?;
    Some(match &narrowest.op {
        SelectorOp::In(values) => {
            let labels = values.iter();
            each(labels.map(|value| Feature::Label(&narrowest.key, value)))
        }
        _ => each(std::iter::once(Feature::Key(&narrowest.key))),
    })
}

fn each<'a>(features: impl Iterator<Item = Feature<'a>>) -> Anchors {
    let mut anchors: Anchors = features.map(|feature| feature.anchor()).collect();
    anchors.sort_unstable();
    anchors.dedup();
    anchors
}

/// Everything a pod shows.
pub fn shown(names: &Interner, look: &Appearance) -> Vec<u64> {
    let namespace = Feature::Namespace(names.text(look.namespace));
    let labels = look.labels.iter().flat_map(|(key, value)| {
        let (key, value) = (names.text(*key), names.text(*value));
        [Feature::Key(key), Feature::Label(key, value)]
    });
    let all = [Feature::Any, namespace].into_iter().chain(labels);
    all.map(|feature| feature.anchor()).collect()
}

/// Entries by anchor.
#[derive(Clone, Default)]
pub struct Anchored(FxHashMap<u64, SmallVec<[u32; 2]>>);

impl Anchored {
    /// Keeps an entry under some anchors.
    pub fn add(&mut self, anchors: &[u64], entry: u32) {
        for anchor in anchors {
            self.0.entry(*anchor).or_default().push(entry);
        }
    }

    /// Entries under any of these anchors, in order, each once.
    pub fn under(&self, anchors: &[u64]) -> Vec<u32> {
        let found = anchors.iter().filter_map(|anchor| self.0.get(anchor));
        let mut found: Vec<u32> = found.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0 = FxHashMap::default();
    }
}
