//! How much one object may ask to be looked at. What an API server accepts may hold tens of thousands of names or
//! terms, each of which costs others: they are compared with every node, or with every pod. The bounds are far above
//! what people write; a pod that waits and is above them is set aside and told, one on a node counts as it is.

use pumice_model::object::PodObject;

use crate::problem::{ObjectProblems, Path};

/// Names of resources of one object. A node with devices of every vendor offers about forty.
const MAX_NAMES: usize = 128;
/// Terms of pod affinity and anti-affinity, and spread constraints, of one pod: each is counted over all pods.
const MAX_POD_TERMS: usize = 128;
/// Tests of nodes by one pod: node selector, expressions and fields of node affinity, tolerations. Enough to name
/// every node of a large cluster in a term of its own.
const MAX_NODE_TESTS: usize = 10_000;
/// Resource claims of one pod. Kubernetes allows 32 requests in each.
const MAX_CLAIMS: usize = 128;

/// Bytes of those annotations of one pod that are read and kept: whose it is, what it asks of devices, what was given to
/// it. The longest, of ten containers with sixteen shared cards each, are less than half of this; Kubernetes allows 256 KiB.
const MAX_ANNOTATION_BYTES: usize = 32 * 1024;

/// Tells of what a pod has too much of.
pub(crate) fn of_pod(pod: &PodObject, problems: &mut ObjectProblems) {
    let path = Path::root("metadata");
    let path = path.field("annotations");
    let bytes = annotation_bytes(pod);
    at_most(
        MAX_ANNOTATION_BYTES,
        bytes,
        "bytes that are read",
        path,
        problems,
    );
    let spec = Path::root("spec");
    names(pod.request.len(), spec.field("containers"), problems);
    let terms = pod.affinity.len()
        + pod.anti_affinity.len()
        + pod.preferred_affinity.len()
        + pod.preferred_anti_affinity.len();
    let path = spec.field("affinity");
    at_most(MAX_POD_TERMS, terms, "terms about pods", path, problems);
    let path = spec.field("topologySpreadConstraints");
    at_most(
        MAX_POD_TERMS,
        pod.spread.len(),
        "constraints",
        path,
        problems,
    );
    let required = pod.node_affinity.iter().flatten();
    let preferred = pod.preferred_node_affinity.iter().map(|(_, term)| term);
    let of_terms = required.chain(preferred);
    let of_terms = of_terms.map(|term| 1 + term.expressions.len() + term.fields.len());
    let tests = pod.node_selector.len() + pod.tolerations.len() + of_terms.sum::<usize>();
    at_most(MAX_NODE_TESTS, tests, "tests of nodes", spec, problems);
    let path = spec.field("resourceClaims");
    at_most(
        MAX_CLAIMS,
        pod.resource_claims.len(),
        "claims",
        path,
        problems,
    );
}

fn annotation_bytes(pod: &PodObject) -> usize {
    let lists = [&pod.annotations, &pod.records, &pod.facts.annotations];
    let of_lists = lists.into_iter().flatten();
    let of_lists = of_lists.map(|(key, value)| key.len() + value.len());
    let names = [&pod.group, &pod.queue].into_iter().flatten();
    of_lists.sum::<usize>() + names.map(String::len).sum::<usize>() + pod.role.len()
}

/// Tells of too many names of resources.
pub(crate) fn names(count: usize, path: Path<'_>, problems: &mut ObjectProblems) {
    at_most(MAX_NAMES, count, "names of resources", path, problems);
}

fn at_most(most: usize, count: usize, what: &str, path: Path<'_>, problems: &mut ObjectProblems) {
    if count > most {
        let help = format!("leave some out: {most} is the most");
        problems.add(path, format!("{count} {what}"), &help);
    }
}
