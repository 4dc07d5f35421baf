//! The table of rules: text to what [`super::look`] interprets.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::format::NameFormat;

const TABLE: &str = include_str!("rules.txt");

static RULES: LazyLock<RuleTable> = LazyLock::new(|| RuleTable::read(TABLE));

/// The lines of each type.
#[derive(Default)]
struct RuleTable {
    types: BTreeMap<&'static str, Vec<RuleLine>>,
    /// Lines that say nothing; a test finds that there is none.
    unread: Vec<&'static str>,
}

/// A line about a type.
#[derive(Debug)]
pub(super) enum RuleLine {
    /// Rules of one field, perhaps of a field further down.
    Field {
        when: Option<RuleCondition>,
        path: Vec<&'static str>,
        rules: Vec<FieldDemand>,
    },
    /// No two values are the same.
    Unique(Vec<FieldSelector>),
    /// Every value of the first is one of the second.
    Within(FieldSelector, FieldSelector),
    /// One of these fields, or none where `may_lack`.
    OneOf {
        fields: Vec<&'static str>,
        may_lack: bool,
    },
}

/// Where a line holds.
#[derive(Debug)]
pub(super) struct RuleCondition {
    /// The field that decides.
    pub path: Vec<&'static str>,
    /// Words that the field may have there; none: whichever.
    pub words: Vec<&'static str>,
    /// It holds where the field is so, not where it is not.
    pub is_so: bool,
}

/// What is asked of a field.
#[derive(Debug)]
pub(super) enum FieldDemand {
    Required,
    ToRun,
    Words(Vec<&'static str>),
    Written(NameFormat),
    Keys(NameFormat),
    Values(NameFormat),
    Each(NameFormat),
    EachWord(Vec<&'static str>),
    Min(i64),
    Max(i64),
    MaxLength(usize),
    Count(usize),
    Absent,
    Amounts,
    NodeAmounts,
    QuotaAmounts,
    Requests,
    PodRequests,
    Opaque,
}

/// A way to values below an object, such as `containers[].ports[].name`.
#[derive(Debug)]
pub(super) struct FieldSelector {
    /// Fields, and whether each is a list whose items are meant.
    pub steps: Vec<(&'static str, bool)>,
    /// What of the object there makes the value, with what stands for the absent.
    pub parts: Vec<(&'static str, &'static str)>,
}

/// The rules of a type.
pub(super) fn of_type(name: &str) -> &'static [RuleLine] {
    RULES.types.get(name).map_or(&[], Vec::as_slice)
}

impl RuleTable {
    fn read(text: &'static str) -> Self {
        let mut table = Self::default();
        let mut of = "";
        for line in text.lines() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let Some(rule) = line.strip_prefix("  ") else {
                of = line;
                continue;
            };
            match line_of(rule) {
                Some(line) => table.types.entry(of).or_default().push(line),
                None => table.unread.push(line),
            }
        }
        table
    }
}

fn line_of(text: &'static str) -> Option<RuleLine> {
    let words = |text: &'static str| text.split_ascii_whitespace().collect::<Vec<_>>();
    if let Some(paths) = text.strip_prefix("unique ") {
        return Some(RuleLine::Unique(
            words(paths).into_iter().map(selector).collect(),
        ));
    }
    if let Some((of, within)) = text
        .strip_prefix("each ")
        .and_then(|t| t.split_once(" in "))
    {
        return Some(RuleLine::Within(selector(of), selector(within)));
    }
    let most = text.strip_prefix("at most one of ");
    if let Some(fields) = most.or_else(|| text.strip_prefix("exactly one of ")) {
        return Some(RuleLine::OneOf {
            fields: words(fields),
            may_lack: most.is_some(),
        });
    }
    let condition = |is_so: bool, text: &'static str| {
        let (condition, rest) = text.split_once(": ")?;
        let (path, one_of) = condition.split_once('=').unwrap_or((condition, ""));
        let words = one_of.split('|').filter(|word| !word.is_empty());
        let (path, words) = (path.split('.').collect(), words.collect());
        Some((Some(RuleCondition { path, words, is_so }), rest))
    };
    let (when, rest) = match (text.strip_prefix("if "), text.strip_prefix("unless ")) {
        (Some(text), _) => condition(true, text)?,
        (_, Some(text)) => condition(false, text)?,
        _ => (None, text),
    };
    let (field, rules) = rest.split_once(": ")?;
    let rules: Option<Vec<FieldDemand>> = rules.split(", ").map(rule_of).collect();
    Some(RuleLine::Field {
        when,
        path: field.split('.').collect(),
        rules: rules?,
    })
}

fn rule_of(text: &'static str) -> Option<FieldDemand> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let words = |text: &'static str| text.split_ascii_whitespace().collect::<Vec<_>>();
    Some(match word {
        "required" => FieldDemand::Required,
        "to-run" => FieldDemand::ToRun,
        "words" => FieldDemand::Words(words(rest)),
        "keys" => FieldDemand::Keys(NameFormat::read(rest)?),
        "values" => FieldDemand::Values(NameFormat::read(rest)?),
        "each" => match rest.strip_prefix("words ") {
            Some(rest) => FieldDemand::EachWord(words(rest)),
            None => FieldDemand::Each(NameFormat::read(rest)?),
        },
        "min" => FieldDemand::Min(rest.parse().ok()?),
        "max" => FieldDemand::Max(rest.parse().ok()?),
        "max-length" => FieldDemand::MaxLength(rest.parse().ok()?),
        "count" => FieldDemand::Count(rest.parse().ok()?),
        "absent" => FieldDemand::Absent,
        "amounts" => FieldDemand::Amounts,
        "node-amounts" => FieldDemand::NodeAmounts,
        "quota-amounts" => FieldDemand::QuotaAmounts,
        "requests" => FieldDemand::Requests,
        "pod-requests" => FieldDemand::PodRequests,
        "opaque" => FieldDemand::Opaque,
        word => FieldDemand::Written(NameFormat::read(word)?),
    })
}

fn selector(text: &'static str) -> FieldSelector {
    let (way, last) = text.rsplit_once('.').unwrap_or(("", text));
    let step = |name: &'static str| match name.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (name, false),
    };
    let part = |part: &'static str| part.split_once('=').unwrap_or((part, ""));
    FieldSelector {
        steps: way
            .split('.')
            .filter(|name| !name.is_empty())
            .map(step)
            .collect(),
        parts: last.split('+').map(part).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::{self, FieldShape, TypeFields};

    #[test]
    fn every_line_is_read() {
        assert_eq!(RULES.unread, Vec::<&str>::new());
    }

    /// The type a field leads to.
    fn next(of: &TypeFields, field: &str) -> Option<&'static TypeFields> {
        match of.field(field)? {
            FieldShape::Fields(name) => fields::of_type(name),
            FieldShape::List(inner) => match &**inner {
                FieldShape::Fields(name) => fields::of_type(name),
                _ => None,
            },
            _ => None,
        }
    }

    fn assert_way<'n>(
        of: &'static TypeFields,
        way: impl Iterator<Item = &'n str>,
        line: &RuleLine,
    ) {
        let mut at = Some(of);
        for field in way {
            let here = at.unwrap_or_else(|| panic!("{}: {line:?}", of.name()));
            assert!(
                here.field(field).is_some(),
                "{}: {field}: {line:?}",
                here.name()
            );
            // The keys of a map are free.
            if here.field(field) == Some(&FieldShape::Any) {
                return;
            }
            at = next(here, field);
        }
    }

    #[test]
    fn every_rule_is_about_a_field_that_there_is() {
        assert!(RULES.types.len() > 60, "{} types", RULES.types.len());
        for (name, lines) in &RULES.types {
            let of = fields::of_type(name).unwrap_or_else(|| panic!("no type {name}"));
            for line in lines {
                match line {
                    RuleLine::Field { when, path, .. } => {
                        assert_way(of, path.iter().copied(), line);
                        let when = when.iter().flat_map(|when| &when.path);
                        assert_way(of, when.copied(), line);
                    }
                    RuleLine::Unique(selectors) => {
                        for selector in selectors {
                            assert_selector(of, selector, line);
                        }
                    }
                    RuleLine::Within(one, other) => {
                        assert_selector(of, one, line);
                        assert_selector(of, other, line);
                    }
                    RuleLine::OneOf { fields, .. } => {
                        for field in fields {
                            assert_way(of, std::iter::once(*field), line);
                        }
                    }
                }
            }
        }
    }

    fn assert_selector(of: &'static TypeFields, selector: &FieldSelector, line: &RuleLine) {
        for (part, _) in &selector.parts {
            let steps = selector.steps.iter().map(|(name, _)| *name);
            assert_way(of, steps.chain(std::iter::once(*part)), line);
        }
    }
}
