//! Matching of label selectors, node affinity terms and tolerations (spec/02 §6.8).

use crate::intern::{Interner, Sym};
use crate::object::{
    NodeObject, NodeOp, NodeRequirement, NodeTerm, Pairs, PodObject, PodTerm, Requirement,
    Selector, SelectorOp, Taint, TaintEffect, Toleration, TolerationOp,
};

/// Labels as interned pairs, sorted by key symbol.
pub type Labels = [(Sym, Sym)];

/// Interns pairs, sorted by key symbol.
pub fn intern_labels(names: &mut Interner, pairs: &Pairs) -> Box<Labels> {
    let mut labels: Vec<_> = pairs
        .iter()
        .map(|(key, value)| (names.intern(key), names.intern(value)))
        .collect();
    labels.sort_unstable_by_key(|(key, _)| *key);
    labels.into_boxed_slice()
}

/// Value of `key` in `labels`.
pub fn label(labels: &Labels, key: Sym) -> Option<Sym> {
    labels
        .binary_search_by_key(&key, |(key, _)| *key)
        .ok()
        .map(|at| labels[at].1)
}

/// Value of `key` among sorted pairs.
pub fn pair<'a>(pairs: &'a Pairs, key: &str) -> Option<&'a str> {
    let at = pairs
        .binary_search_by(|(name, _)| name.as_str().cmp(key))
        .ok()?;
    Some(&pairs[at].1)
}

fn requirement_holds(op: &SelectorOp, value: Option<&str>) -> bool {
    match op {
        SelectorOp::In(values) => value.is_some_and(|v| values.iter().any(|w| w == v)),
        SelectorOp::NotIn(values) => value.is_none_or(|v| values.iter().all(|w| w != v)),
        SelectorOp::Exists => value.is_some(),
        SelectorOp::DoesNotExist => value.is_none(),
    }
}

/// Whether a selector matches labels found through `value_of`.
fn holds<'a>(selector: &Selector, value_of: impl Fn(&Requirement) -> Option<&'a str>) -> bool {
    selector
        .requirements
        .iter()
        .all(|r| requirement_holds(&r.op, value_of(r)))
}

/// Whether a selector matches interned labels. An empty selector matches everything.
pub fn selects(names: &Interner, selector: &Selector, labels: &Labels) -> bool {
    holds(selector, |r| {
        names
            .get(&r.key)
            .and_then(|key| label(labels, key))
            .map(|value| names.text(value))
    })
}

/// Whether a selector matches sorted pairs.
pub fn selects_pairs(selector: &Selector, pairs: &Pairs) -> bool {
    holds(selector, |r| pair(pairs, &r.key))
}

/// Whether a pod of `namespace` with `labels` is meant by an affinity term. `namespace_labels` are
/// the labels of that namespace.
pub fn term_selects(
    names: &Interner,
    term: &PodTerm,
    namespace: &str,
    namespace_labels: &Pairs,
    labels: &Labels,
) -> bool {
    let in_namespace = term.namespaces.iter().any(|n| n == namespace)
        || term
            .namespace_selector
            .as_ref()
            .is_some_and(|s| selects_pairs(s, namespace_labels));
    in_namespace
        && term
            .selector
            .as_ref()
            .is_some_and(|s| selects(names, s, labels))
}

fn node_requirement_holds(requirement: &NodeRequirement, labels: &Pairs) -> bool {
    let value = pair(labels, &requirement.key);
    let number = || value.and_then(|v| v.parse::<i64>().ok());
    match &requirement.op {
        NodeOp::In(values) => value.is_some_and(|v| values.iter().any(|w| w == v)),
        NodeOp::NotIn(values) => value.is_none_or(|v| values.iter().all(|w| w != v)),
        NodeOp::Exists => value.is_some(),
        NodeOp::DoesNotExist => value.is_none(),
        NodeOp::Gt(bound) => number().is_some_and(|v| v > *bound),
        NodeOp::Lt(bound) => number().is_some_and(|v| v < *bound),
    }
}

/// Whether one node affinity term matches a node.
pub fn node_term_holds(term: &NodeTerm, node: &NodeObject) -> bool {
    !term.broken
        && (!term.expressions.is_empty() || !term.fields.is_empty())
        && term
            .expressions
            .iter()
            .all(|r| node_requirement_holds(r, &node.labels))
        && term
            .fields
            .iter()
            .all(|(within, name)| (*name == node.name) == *within)
}

/// Whether a node satisfies a node selector and required node affinity.
pub fn node_affinity_holds(
    node_selector: &Pairs,
    required: Option<&[NodeTerm]>,
    node: &NodeObject,
) -> bool {
    node_selector
        .iter()
        .all(|(key, value)| pair(&node.labels, key) == Some(value))
        && required.is_none_or(|terms| terms.iter().any(|term| node_term_holds(term, node)))
}

/// The PreFilter verdict of node affinity: every term names nodes, and no node is named by any
/// (`pod affinity terms conflict`).
pub fn node_affinity_conflicts(required: Option<&[NodeTerm]>) -> bool {
    let Some(terms) = required else { return false };
    if terms.is_empty() {
        return false;
    }
    terms.iter().all(|term| {
        let mut wanted = term
            .fields
            .iter()
            .filter(|(within, _)| *within)
            .map(|(_, name)| name);
        match wanted.next() {
            Some(first) => wanted.any(|name| name != first),
            None => false,
        }
    })
}

/// Whether one toleration covers a taint.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    toleration
        .effect
        .is_none_or(|effect| effect == taint.effect)
        && (toleration.key.is_empty() || toleration.key == taint.key)
        && match toleration.operator {
            TolerationOp::Equal => toleration.value == taint.value,
            TolerationOp::Exists => true,
            TolerationOp::Never => false,
        }
}

/// Whether every `NoSchedule` and `NoExecute` taint is tolerated.
pub fn tolerates_filtering(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    taints
        .iter()
        .filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        .all(|taint| tolerations.iter().any(|t| tolerates(t, taint)))
}

/// Number of `PreferNoSchedule` taints that no toleration of empty or that effect covers.
pub fn untolerated_preferences(tolerations: &[Toleration], taints: &[Taint]) -> i64 {
    let relevant = |t: &&Toleration| t.effect.is_none_or(|e| e == TaintEffect::PreferNoSchedule);
    let untolerated = taints
        .iter()
        .filter(|taint| taint.effect == TaintEffect::PreferNoSchedule)
        .filter(|taint| {
            !tolerations
                .iter()
                .filter(relevant)
                .any(|t| tolerates(t, taint))
        });
    untolerated.count() as i64
}

/// Key of the taint Kubernetes puts on a cordoned node.
pub const CORDON: &str = "node.kubernetes.io/unschedulable";

/// Whether a cordoned node accepts the pod all the same.
pub fn tolerates_cordon(tolerations: &[Toleration]) -> bool {
    let taint = Taint {
        key: CORDON.to_owned(),
        value: String::new(),
        effect: TaintEffect::NoSchedule,
    };
    tolerations.iter().any(|t| tolerates(t, &taint))
}

/// Every label key a pod's own affinity terms and spread constraints look at.
pub fn keys_read(pod: &PodObject) -> impl Iterator<Item = &str> {
    let terms = pod
        .affinity
        .iter()
        .chain(&pod.anti_affinity)
        .chain(pod.preferred_affinity.iter().map(|(_, term)| term))
        .chain(pod.preferred_anti_affinity.iter().map(|(_, term)| term));
    terms
        .filter_map(|term| term.selector.as_ref())
        .chain(pod.spread.iter().filter_map(|c| c.selector.as_ref()))
        .flat_map(|selector| &selector.requirements)
        .map(|r| r.key.as_str())
}
