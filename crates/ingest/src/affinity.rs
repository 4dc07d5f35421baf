//! Node affinity and inter-pod affinity (spec/02 §6.8).

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, WeightedPodAffinityTerm,
};
use pumice_api::name::{is_label_value, is_qualified};
use pumice_model::object::{NodeOp, NodeRequirement, NodeTerm, Pairs, PodObject, PodTerm};

use crate::problem::{ObjectProblems, Path};
use crate::selector;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// Fills the affinity fields of a pod whose namespace and labels are known.
pub(crate) fn fill(pod: &mut PodObject, affinity: &Affinity, problems: &mut ObjectProblems) {
    let spec = Path::root("spec");
    let path = spec.field("affinity");
    node_affinity(pod, affinity, path, problems);
    let context = TermContext {
        namespace: &pod.namespace,
        labels: &pod.labels,
    };
    if let Some(affinity) = &affinity.pod_affinity {
        let path = path.field("podAffinity");
        let required = affinity
            .required_during_scheduling_ignored_during_execution
            .as_deref();
        let preferred = affinity
            .preferred_during_scheduling_ignored_during_execution
            .as_deref();
        pod.affinity = context.terms(required, path, problems);
        pod.preferred_affinity = context.weighted(preferred, path, problems);
    }
    if let Some(affinity) = &affinity.pod_anti_affinity {
        let path = path.field("podAntiAffinity");
        let required = affinity
            .required_during_scheduling_ignored_during_execution
            .as_deref();
        let preferred = affinity
            .preferred_during_scheduling_ignored_during_execution
            .as_deref();
        pod.anti_affinity = context.terms(required, path, problems);
        pod.preferred_anti_affinity = context.weighted(preferred, path, problems);
    }
}

fn node_affinity(
    pod: &mut PodObject,
    affinity: &Affinity,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) {
    let Some(affinity) = &affinity.node_affinity else {
        return;
    };
    let path = path.field("nodeAffinity");
    pod.node_affinity = affinity
        .required_during_scheduling_ignored_during_execution
        .as_ref()
        .map(|required| node_terms(&required.node_selector_terms));
    let preferred = affinity
        .preferred_during_scheduling_ignored_during_execution
        .iter();
    for (at, preferred) in preferred.flatten().enumerate() {
        check_weight(preferred.weight, path.item(PREFERRED, at), problems);
        let term = node_term(&preferred.preference);
        pod.preferred_node_affinity.push((preferred.weight, term));
    }
}

fn check_weight(weight: i32, path: Path<'_>, problems: &mut ObjectProblems) {
    // Kubernetes refuses 0 at creation and ignores it when scoring, so it is let through.
    if !(0..=100).contains(&weight) {
        let message = format!("the weight {weight} is out of range");
        problems.add(
            path.field("weight"),
            message,
            "write a weight from 1 to 100",
        );
    }
}

/// The terms of a node selector: any must match.
pub(crate) fn node_terms(terms: &[NodeSelectorTerm]) -> Vec<NodeTerm> {
    terms.iter().map(node_term).collect()
}

/// A term as the scheduler reads it. What does not parse makes the term match nothing; it is no
/// problem of the pod, because other terms may still match.
fn node_term(term: &NodeSelectorTerm) -> NodeTerm {
    let mut out = NodeTerm::default();
    for expression in term.match_expressions.iter().flatten() {
        match node_operator(expression) {
            Some(op) => {
                out.expressions.push(NodeRequirement {
                    key: expression.key.clone(),
                    op,
                });
            }
            None => out.broken = true,
        }
    }
    for field in term.match_fields.iter().flatten() {
        match node_field(field) {
            Some(field) => out.fields.push(field),
            None => out.broken = true,
        }
    }
    out
}

fn node_operator(expression: &NodeSelectorRequirement) -> Option<NodeOp> {
    let values = expression.values.as_deref().unwrap_or_default();
    if !is_qualified(&expression.key) || !values.iter().all(|value| is_label_value(value)) {
        return None;
    }
    let listed = || {
        let mut values = values.to_vec();
        values.sort_unstable();
        values.dedup();
        (!values.is_empty()).then_some(values)
    };
    let number = || match values {
        [value] => value.parse().ok(),
        _ => None,
    };
    match expression.operator.as_str() {
        "In" => listed().map(NodeOp::In),
        "NotIn" => listed().map(NodeOp::NotIn),
        "Exists" if values.is_empty() => Some(NodeOp::Exists),
        "DoesNotExist" if values.is_empty() => Some(NodeOp::DoesNotExist),
        "Gt" => number().map(NodeOp::Gt),
        "Lt" => number().map(NodeOp::Lt),
        _ => None,
    }
}

fn node_field(field: &NodeSelectorRequirement) -> Option<(bool, String)> {
    let within = match field.operator.as_str() {
        "In" => true,
        "NotIn" => false,
        _ => return None,
    };
    match field.values.as_deref() {
        Some([name]) if field.key == "metadata.name" => Some((within, name.clone())),
        _ => None,
    }
}

/// What a pod's terms refer to implicitly.
struct TermContext<'a> {
    namespace: &'a str,
    labels: &'a Pairs,
}

impl TermContext<'_> {
    fn terms(
        &self,
        terms: Option<&[PodAffinityTerm]>,
        path: Path<'_>,
        problems: &mut ObjectProblems,
    ) -> Vec<PodTerm> {
        let terms = terms.unwrap_or_default().iter().enumerate();
        terms
            .map(|(at, term)| self.term(term, path.item(REQUIRED, at), problems))
            .collect()
    }

    fn weighted(
        &self,
        terms: Option<&[WeightedPodAffinityTerm]>,
        path: Path<'_>,
        problems: &mut ObjectProblems,
    ) -> Vec<(i32, PodTerm)> {
        let mut out = Vec::new();
        for (at, weighted) in terms.unwrap_or_default().iter().enumerate() {
            let path = path.item(PREFERRED, at);
            check_weight(weighted.weight, path, problems);
            let term = self.term(
                &weighted.pod_affinity_term,
                path.field("podAffinityTerm"),
                problems,
            );
            out.push((weighted.weight, term));
        }
        out
    }

    fn term(
        &self,
        term: &PodAffinityTerm,
        path: Path<'_>,
        problems: &mut ObjectProblems,
    ) -> PodTerm {
        check_topology_key(&term.topology_key, path, problems);
        let label_path = path.field("labelSelector");
        let mut labels = selector::optional(term.label_selector.as_ref(), label_path, problems);
        selector::fold_keys(
            &mut labels,
            term.match_label_keys.as_ref(),
            self.labels,
            false,
        );
        selector::fold_keys(
            &mut labels,
            term.mismatch_label_keys.as_ref(),
            self.labels,
            true,
        );
        let namespace_path = path.field("namespaceSelector");
        let namespace_selector =
            selector::optional(term.namespace_selector.as_ref(), namespace_path, problems);
        let mut namespaces = term.namespaces.clone().unwrap_or_default();
        if namespaces.is_empty() && namespace_selector.is_none() {
            namespaces.push(self.namespace.to_owned());
        }
        namespaces.sort_unstable();
        namespaces.dedup();
        PodTerm {
            namespaces,
            namespace_selector,
            selector: labels,
            topology_key: term.topology_key.clone(),
        }
    }
}

/// Affinity and spreading are meaningless without a domain.
pub(crate) fn check_topology_key(key: &str, path: Path<'_>, problems: &mut ObjectProblems) {
    if key.is_empty() {
        let help = "name a node label, for example \"kubernetes.io/hostname\"";
        problems.add(path.field("topologyKey"), "the topology key is empty", help);
    }
}
