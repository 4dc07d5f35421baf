//! Label selectors (spec/02 §6.8).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use pumice_model::object::{Pairs, Requirement, Selector, SelectorOp};
use pumice_model::selector::pair;

use crate::problem::{ObjectProblems, Path};

/// `None` stays `None` (matches nothing); an empty selector matches everything.
pub(crate) fn optional(
    selector: Option<&LabelSelector>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<Selector> {
    selector.map(|selector| label_selector(selector, path, problems))
}

/// Requirements: `matchLabels` by key, then `matchExpressions` as written.
pub(crate) fn label_selector(
    selector: &LabelSelector,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Selector {
    let mut out = equal(selector.match_labels.iter().flatten());
    for (at, expression) in selector.match_expressions.iter().flatten().enumerate() {
        let path = path.item("matchExpressions", at);
        if let Some(op) = operator(expression, path, problems) {
            out.requirements.push(Requirement {
                key: expression.key.clone(),
                op,
            });
        }
    }
    out
}

/// A selector of equalities, as Services and ReplicationControllers have.
pub(crate) fn equal<'a>(labels: impl Iterator<Item = (&'a String, &'a String)>) -> Selector {
    let requirement = |(key, value): (&String, &String)| Requirement {
        key: key.clone(),
        op: SelectorOp::In(vec![value.clone()]),
    };
    Selector {
        requirements: labels.map(requirement).collect(),
    }
}

fn operator(
    expression: &LabelSelectorRequirement,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<SelectorOp> {
    if expression.key.is_empty() {
        let help = "name a label, for example \"app\"";
        problems.add(path.field("key"), "the key is empty", help);
    }
    let mut values = expression.values.clone().unwrap_or_default();
    values.sort_unstable();
    values.dedup();
    let listed = match expression.operator.as_str() {
        "In" | "NotIn" => true,
        "Exists" | "DoesNotExist" => false,
        other => {
            let message = format!("{other:?} is not an operator");
            let help = "use In, NotIn, Exists or DoesNotExist";
            problems.add(path.field("operator"), message, help);
            return None;
        }
    };
    if listed == values.is_empty() {
        let (message, help) = match listed {
            true => (
                "the list of values is empty",
                "list a value, for example [\"web\"]",
            ),
            false => (
                "this operator takes no values",
                "leave values out, or use In or NotIn",
            ),
        };
        problems.add(path.field("values"), message, help);
        return None;
    }
    Some(match expression.operator.as_str() {
        "In" => SelectorOp::In(values),
        "NotIn" => SelectorOp::NotIn(values),
        "Exists" => SelectorOp::Exists,
        _ => SelectorOp::DoesNotExist,
    })
}

/// Adds a requirement for each of `keys` the pod has: its own value only, or with `differ` any
/// other. Nothing is added to an absent selector, which matches nothing anyway. An API server may
/// have folded the keys in already: what is there is not repeated.
pub(crate) fn fold_keys(
    selector: &mut Option<Selector>,
    keys: Option<&Vec<String>>,
    labels: &Pairs,
    differ: bool,
) {
    let Some(selector) = selector else { return };
    for key in keys.into_iter().flatten() {
        let Some(value) = pair(labels, key) else {
            continue;
        };
        let values = vec![value.to_owned()];
        let op = if differ {
            SelectorOp::NotIn(values)
        } else {
            SelectorOp::In(values)
        };
        let requirement = Requirement {
            key: key.clone(),
            op,
        };
        if !selector.requirements.contains(&requirement) {
            selector.requirements.push(requirement);
        }
    }
}
