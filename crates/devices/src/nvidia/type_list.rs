//! Lists of card types a pod takes or refuses (spec/04 R16).

use crate::facts::PodFacts;

/// Pod annotation: parts of names of types, of which a card must have one.
pub const USE_TYPES: &str = "nvidia.com/use-gputype";
/// Pod annotation: parts of names of types, of which a card may have none.
pub const REFUSE_TYPES: &str = "nvidia.com/nouse-gputype";

/// What a pod says of the types of its cards.
///
/// Both lists apply. A pattern is a part of the name of a type, without regard to case; blanks
/// around it do not count, and a list without patterns says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeLists {
    allowed: Vec<String>,
    denied: Vec<String>,
}

impl TypeLists {
    /// The lists in the annotations of a pod.
    pub fn of(pod: &PodFacts) -> Self {
        Self::at(pod, USE_TYPES, REFUSE_TYPES)
    }

    /// The lists in two annotations of a pod: types that may do, and that may not.
    pub fn at(pod: &PodFacts, allowed: &str, denied: &str) -> Self {
        let list = |key| patterns(pod.annotation(key).unwrap_or_default());
        Self {
            allowed: list(allowed),
            denied: list(denied),
        }
    }

    /// The pod takes any card.
    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.denied.is_empty()
    }

    /// Only cards whose type is known can do.
    pub fn needs_type(&self) -> bool {
        !self.allowed.is_empty()
    }

    /// Whether a card of this type will do.
    pub fn admits(&self, kind: &str) -> bool {
        self.denied_by(kind).is_none() && self.is_allowed(kind)
    }

    /// Whether a card of this type will do.
    ///
    /// # Errors
    /// Why not.
    pub fn allows(&self, kind: &str) -> Result<(), String> {
        if let Some(pattern) = self.denied_by(kind) {
            return Err(format!("type {kind} denied by {REFUSE_TYPES} {pattern}"));
        }
        if !self.is_allowed(kind) {
            let wanted = self.allowed.join(",");
            return Err(format!("type {kind} is not in {USE_TYPES} {wanted}"));
        }
        Ok(())
    }

    /// The lists for names of types that are written with another character instead of blanks.
    pub(crate) fn with_blanks_as(mut self, character: &str) -> Self {
        for pattern in self.allowed.iter_mut().chain(&mut self.denied) {
            *pattern = pattern.replace(' ', character);
        }
        self
    }

    /// The pattern that denies a type.
    pub fn denied_by(&self, kind: &str) -> Option<&String> {
        self.denied.iter().find(|pattern| is_part(pattern, kind))
    }

    fn is_allowed(&self, kind: &str) -> bool {
        let mut patterns = self.allowed.iter();
        self.allowed.is_empty() || patterns.any(|pattern| is_part(pattern, kind))
    }
}

fn patterns(list: &str) -> Vec<String> {
    let patterns = list.split(',').map(str::trim);
    let filled = patterns.filter(|pattern| !pattern.is_empty());
    filled.map(str::to_owned).collect()
}

/// Whether `kind` contains `pattern` but for the case of ASCII letters; `pattern` is not empty.
pub(crate) fn is_part(pattern: &str, kind: &str) -> bool {
    let mut parts = kind.as_bytes().windows(pattern.len());
    parts.any(|part| part.eq_ignore_ascii_case(pattern.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(allowed: Option<&str>, denied: Option<&str>) -> TypeLists {
        let pair = |key: &str, value: Option<&str>| Some((key.to_owned(), value?.to_owned()));
        let pairs = [pair(REFUSE_TYPES, denied), pair(USE_TYPES, allowed)];
        TypeLists::of(&PodFacts {
            annotations: pairs.into_iter().flatten().collect(),
            ..PodFacts::default()
        })
    }

    #[test]
    fn both_lists_apply_trimmed_and_in_any_case() {
        let (v100, t4) = ("NVIDIA-Tesla V100-PCIE-32GB", "NVIDIA-Tesla T4");
        for (allowed, denied, kind, fits) in [
            (None, None, t4, true),
            (Some(""), Some(""), t4, true),
            (Some(" , "), Some(","), t4, true),
            (Some("A100, v100"), None, v100, true),
            (Some("A100, v100"), None, t4, false),
            (Some("A100,V100,"), None, t4, false),
            (None, Some("T4,"), t4, false),
            (None, Some("T4,"), v100, true),
            (Some("nvidia"), Some("t4"), t4, false),
            (Some("nvidia"), Some("t4"), v100, true),
            (Some("A100"), None, "", false),
            (None, Some("A100"), "", true),
        ] {
            let lists = lists(allowed, denied);
            assert_eq!(lists.admits(kind), fits, "{allowed:?} {denied:?} {kind}");
            assert_eq!(lists.allows(kind).is_ok(), fits);
        }
        assert!(lists(Some(" , "), None).is_empty());
        assert!(!lists(None, Some("T4")).is_empty());
    }

    #[test]
    fn a_refusal_names_the_annotation_that_refuses() {
        let lists = lists(Some("A100,V100"), Some("T4"));
        for (kind, why) in [
            (
                "Tesla T4",
                "type Tesla T4 denied by nvidia.com/nouse-gputype T4",
            ),
            ("P40", "type P40 is not in nvidia.com/use-gputype A100,V100"),
        ] {
            assert_eq!(lists.allows(kind), Err(why.to_owned()));
        }
    }
}
