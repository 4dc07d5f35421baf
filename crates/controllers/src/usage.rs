//! What one pod counts against quotas: the vector `minResources` is made of (spec/03 C1, C3.1).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use pumice_api::ResourceList;
use pumice_api::request::{Exact, Needs, add, is_pod_level};
use pumice_units::quantity::{self, Quantity};

/// Amounts by quota name.
pub(crate) type QuotaUsage = BTreeMap<String, Quantity>;

/// Adds `count` times `one` to `sum`.
pub(super) fn add_times(sum: &mut QuotaUsage, one: &QuotaUsage, count: i64) {
    for (name, amount) in one {
        let entry = sum.entry(name.clone()).or_default();
        *entry = entry.plus(amount.times(count));
    }
}

/// Usage as quantities: bytes in binary units, the rest plain.
pub(crate) fn resource_list(usage: &QuotaUsage) -> ResourceList {
    let text = |(name, amount): (&String, &Quantity)| {
        let bare = name
            .trim_start_matches("requests.")
            .trim_start_matches("limits.");
        let bytes = matches!(bare, "memory" | "ephemeral-storage") || is_huge(bare);
        let text = match bytes {
            true => quantity::format_bytes(amount.whole_ceil()),
            false => amount.to_string(),
        };
        (name.clone(), WireQuantity(text))
    };
    usage.iter().map(text).collect()
}

/// Usage of one pod.
pub(crate) fn of(pod: &PodSpec) -> QuotaUsage {
    let requests = total(pod, requests_of);
    let mut limits = total(pod, limits_of);
    for (name, amount) in list(pod.overhead.as_ref()) {
        // An absent limit is no limit; overhead does not make it one.
        if let Some(limit) = limits.get_mut(name) {
            *limit = limit.plus(amount);
        }
    }
    let mut usage = QuotaUsage::new();
    for name in ["pods", "count/pods"] {
        usage.insert(name.to_owned(), Quantity::whole(1));
    }
    for (name, amount) in with_overhead(pod, requests) {
        let basic = matches!(name, "cpu" | "memory" | "ephemeral-storage");
        if basic || is_huge(name) || is_extended(name) {
            usage.insert(name.to_owned(), amount);
            usage.insert(format!("requests.{name}"), amount);
        }
    }
    for name in ["cpu", "memory", "ephemeral-storage"] {
        if let Some(amount) = limits.get(name) {
            usage.insert(format!("limits.{name}"), *amount);
        }
    }
    usage
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

/// Unreadable and negative quantities are for validation to report; here they count nothing.
fn list(list: Option<&ResourceList>) -> Exact<'_> {
    let read = |text: &WireQuantity| {
        quantity::parse(&text.0)
            .ok()
            .filter(|amount| !amount.is_negative())
    };
    let entries = list.into_iter().flatten();
    entries
        .filter_map(|(name, text)| Some((name.as_str(), read(text)?)))
        .collect()
}

/// Requests, or limits where a request is absent, as the API server will set them in the pods.
fn requests_of(resources: Option<&ResourceRequirements>) -> Exact<'_> {
    let Some(resources) = resources else {
        return Exact::new();
    };
    let mut amounts = list(resources.limits.as_ref());
    amounts.extend(list(resources.requests.as_ref()));
    amounts
}

fn limits_of(resources: Option<&ResourceRequirements>) -> Exact<'_> {
    list(resources.and_then(|resources| resources.limits.as_ref()))
}

fn with_overhead<'a>(pod: &'a PodSpec, mut requests: Exact<'a>) -> Exact<'a> {
    add(&mut requests, &list(pod.overhead.as_ref()));
    requests
}

/// The Kubernetes rule over what `of` reads from each container, then the pod-level amounts. A
/// pod-level limit that stands in for a request yields to what containers ask for.
fn total(pod: &PodSpec, of: fn(Option<&ResourceRequirements>) -> Exact<'_>) -> Exact<'_> {
    let init = pod.init_containers.iter().flatten();
    let sidecar = |container: &Container| container.restart_policy.as_deref() == Some("Always");
    let needs = Needs {
        init: init
            .map(|c| (sidecar(c), of(c.resources.as_ref())))
            .collect(),
        regular: pod
            .containers
            .iter()
            .map(|c| of(c.resources.as_ref()))
            .collect(),
    };
    let mut total = needs.total(&Exact::new());
    let requested = |name: &str| {
        let requests = pod
            .resources
            .as_ref()
            .and_then(|level| level.requests.as_ref());
        requests.is_some_and(|requests| requests.contains_key(name))
    };
    for (name, amount) in of(pod.resources.as_ref()) {
        if is_pod_level(name) && (requested(name) || !total.contains_key(name)) {
            total.insert(name, amount);
        }
    }
    total
}
