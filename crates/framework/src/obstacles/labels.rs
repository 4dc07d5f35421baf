//! Labels that a pod asks for and no node has, and the nearest that some node has.

use std::collections::BTreeSet;
use std::fmt::Display;

use pumice_conf::nearest;
use pumice_model::Rules;
use pumice_model::object::{NodeObject, NodeOp, NodeRequirement, NodeTerm};
use pumice_model::selector::{node_term_holds, pair};

/// So many values of a label are named.
const MAX_VALUES: usize = 3;

/// So much of what a pod asks is looked into and named. A pod may ask for thousands of values, and each is
/// held against all that nodes have.
const MAX_ASKED: usize = 8;

/// What is asked of labels that no node meets.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LabelMiss {
    /// `label disk=ssd`, `label disk in (ssd, nvme)`, `name n7`.
    wanted: String,
    /// What of it is wrong, and the nearest that some node has: `disc` and `disk`.
    near: Option<(String, String)>,
    /// Values that the label has, where none is near.
    known: Vec<String>,
}

impl LabelMiss {
    /// The first that no node meets of what is asked of labels; where each is met by some node, all of it.
    pub fn find(rules: &Rules, nodes: &[&NodeObject]) -> Option<Self> {
        let selector = rules
            .node_selector
            .iter()
            .map(|(key, value)| NodeRequirement {
                key: key.clone(),
                op: NodeOp::In(vec![value.clone()]),
            });
        // Of several terms that each would do, the first stands for all.
        let term = rules.node_affinity.iter().flatten().next();
        let expressions = term.map_or(&[][..], |term| &term.expressions);
        let asked: Vec<NodeRequirement> = selector.chain(expressions.iter().cloned()).collect();
        let unmet = asked.iter().find(|one| !is_met(one, nodes));
        if let Some(unmet) = unmet {
            return Some(Self::of_requirement(unmet, nodes));
        }
        let fields = term.map_or(&[][..], |term| &term.fields);
        let absent = fields
            .iter()
            .find(|(within, name)| *within && nodes.iter().all(|node| node.name != *name));
        if let Some((_, name)) = absent {
            let names = nodes.iter().map(|node| node.name.as_str());
            return Some(Self {
                wanted: format!("name {name}"),
                near: nearest(name, names).map(|near| (name.clone(), near.to_owned())),
                known: Vec::new(),
            });
        }
        (asked.len() > 1).then(|| Self {
            wanted: named(asked.iter().map(text), " and "),
            near: None,
            known: Vec::new(),
        })
    }

    fn of_requirement(unmet: &NodeRequirement, nodes: &[&NodeObject]) -> Self {
        let key = unmet.key.as_str();
        let values: BTreeSet<&str> = nodes
            .iter()
            .filter_map(|node| pair(&node.labels, key))
            .collect();
        let wanted = text(unmet);
        if values.is_empty() {
            let keys = nodes.iter().flat_map(|node| &node.labels);
            let keys: BTreeSet<&str> = keys.map(|(key, _)| key.as_str()).collect();
            return Self {
                wanted,
                near: nearest(key, keys).map(|near| (key.to_owned(), near.to_owned())),
                known: Vec::new(),
            };
        }
        let of_value = |value: &String| {
            let near = nearest(value, values.iter().copied())?;
            Some((format!("{key}={value}"), format!("{key}={near}")))
        };
        let near = match &unmet.op {
            NodeOp::In(asked) => asked.iter().take(MAX_ASKED).find_map(of_value),
            _ => None,
        };
        let known = match near {
            Some(_) => Vec::new(),
            None => values
                .iter()
                .take(MAX_VALUES)
                .map(|value| format!("{key}={value}"))
                .collect(),
        };
        Self {
            wanted,
            near,
            known,
        }
    }

    /// What is missing.
    pub(super) fn told(&self) -> String {
        let wanted = &self.wanted;
        match (&self.near, self.known.as_slice()) {
            (Some((_, near)), _) => format!("no node has {wanted}, did you mean \"{near}\"?"),
            (None, []) => format!("no node has {wanted}"),
            (None, known) => format!("no node has {wanted} (there is {})", known.join(", ")),
        }
    }

    /// What would help.
    pub(super) fn remedy(&self) -> String {
        let wanted = &self.wanted;
        match &self.near {
            Some((asked, near)) => {
                format!(
                    "the pod has to ask for {near} instead of {asked}, or a node to get {wanted}"
                )
            }
            None => format!("a node has to get {wanted}, or the pod to ask for what some node has"),
        }
    }
}

/// Some node meets it.
fn is_met(one: &NodeRequirement, nodes: &[&NodeObject]) -> bool {
    let term = NodeTerm {
        expressions: vec![one.clone()],
        ..NodeTerm::default()
    };
    nodes.iter().any(|node| node_term_holds(&term, node))
}

/// The first of many, and how many more there are.
fn named<T: Display>(all: impl ExactSizeIterator<Item = T>, between: &str) -> String {
    let more = all.len().saturating_sub(MAX_ASKED);
    let first = all.take(MAX_ASKED).map(|one| one.to_string());
    let mut text = first.collect::<Vec<_>>().join(between);
    if more > 0 {
        text.push_str(&format!("{between}{more} more"));
    }
    text
}

fn text(one: &NodeRequirement) -> String {
    let key = &one.key;
    match &one.op {
        NodeOp::In(values) => match values.as_slice() {
            [only] => format!("label {key}={only}"),
            values => format!("label {key} in ({})", named(values.iter(), ", ")),
        },
        NodeOp::NotIn(values) => format!("label {key} not in ({})", named(values.iter(), ", ")),
        NodeOp::Exists => format!("label {key}"),
        NodeOp::DoesNotExist => format!("no label {key}"),
        NodeOp::Gt(bound) => format!("label {key} above {bound}"),
        NodeOp::Lt(bound) => format!("label {key} below {bound}"),
    }
}
