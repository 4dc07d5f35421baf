//! What a pod takes from its node (spec/01 §3.2, decided in spec/00: the Kubernetes rule).
//!
//! ```text
//!  per resource:  max( Σ containers + Σ sidecars ,
//!                      peak over init containers in order, each with the sidecars before it )
//!                 → replaced by the pod-level request for cpu, memory, hugepages
//!                 → + overhead;   pods = 1
//! ```
//!
//! Sums are exact; rounding to stored units happens once, at the end.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use pumice_api::request::{Exact, Needs, add, is_pod_level, max_with};
use pumice_model::object::Amounts;
use pumice_model::resource::MAX_AMOUNT;
use pumice_units::quantity::{self, Quantity};

use crate::amount::{exact, stored};
use crate::problem::{ObjectProblems, Path};

/// What a container without cpu request counts in scores: 100 milli-cores (spec/02 §8.1).
const DEFAULT_CPU: Quantity = Quantity::milli(100);
/// What a container without memory request counts in scores: 200 MiB (spec/02 §8.1).
const DEFAULT_MEMORY: Quantity = Quantity::whole(200 << 20);

/// Request of a pod in stored units.
pub(crate) struct PodRequest {
    /// What must fit, without zero amounts.
    pub(crate) amounts: Amounts,
    /// cpu with the default of every container without a cpu request.
    pub(crate) nonzero_cpu_milli: i64,
    /// Memory with the default of every container without a memory request.
    pub(crate) nonzero_memory_bytes: i64,
}

/// Computes the request of a pod.
pub(crate) fn request<'a>(
    pod: &'a Pod,
    spec: &'a PodSpec,
    problems: &mut ObjectProblems,
) -> PodRequest {
    let needs = read_needs(spec, pod.status.as_ref(), problems);
    let path = Path::root("spec");
    let containers = needs.total(&Exact::new());
    let level = PodLevel::read(spec.resources.as_ref(), &containers, problems);
    let overhead = exact(spec.overhead.as_ref(), path.field("overhead"), problems);
    let finish = |mut total: Exact<'a>| {
        total.extend(level.amounts.iter().map(|(name, amount)| (*name, *amount)));
        add(&mut total, &overhead);
        total
    };
    let nonzero = finish(needs.total(&level.defaults(&containers)));
    let nonzero = |name| nonzero.get(name).copied().unwrap_or_default();
    let mut total = finish(containers);
    total.retain(|_, amount| !amount.is_zero());
    total.insert("pods", Quantity::whole(1));
    PodRequest {
        amounts: stored(&total, path.field("containers"), problems),
        nonzero_cpu_milli: nonzero("cpu").milli_ceil().min(MAX_AMOUNT),
        nonzero_memory_bytes: nonzero("memory").whole_ceil().min(MAX_AMOUNT),
    }
}

/// By how much limits of containers and sidecars are above what they ask for. What cannot be read counts as
/// nothing here: reading the request tells of it.
pub(crate) fn burst(spec: &PodSpec, name: &str, stored: impl Fn(Quantity) -> i64) -> i64 {
    let init = spec.init_containers.iter().flatten();
    let sidecars = init.filter(|container| container.restart_policy.as_deref() == Some("Always"));
    let all = spec.containers.iter().chain(sidecars);
    let amount = |amounts: Option<&BTreeMap<String, WireQuantity>>| {
        let text = &amounts?.get(name)?.0;
        Some(stored(quantity::parse(text).ok()?))
    };
    let above = all.filter_map(|container| {
        let resources = container.resources.as_ref()?;
        let limit = amount(resources.limits.as_ref())?;
        // The API server sets a missing request to the limit.
        let request = amount(resources.requests.as_ref()).unwrap_or(limit);
        Some(limit.saturating_sub(request).max(0))
    });
    above.fold(0, i64::saturating_add).min(MAX_AMOUNT)
}

fn read_needs<'a>(
    spec: &'a PodSpec,
    status: Option<&'a PodStatus>,
    problems: &mut ObjectProblems,
) -> Needs<'a> {
    let resize = Resize::of(status);
    let path = Path::root("spec");
    let mut needs = Needs::default();
    for (at, container) in spec.init_containers.iter().flatten().enumerate() {
        let sidecar = container.restart_policy.as_deref() == Some("Always");
        // An ordinary init container cannot be resized.
        let held = sidecar.then_some((resize.init, "initContainerStatuses"));
        let amounts = resize.need(container, path.item("initContainers", at), held, problems);
        needs.init.push((sidecar, amounts));
    }
    for (at, container) in spec.containers.iter().enumerate() {
        let held = Some((resize.regular, "containerStatuses"));
        let amounts = resize.need(container, path.item("containers", at), held, problems);
        needs.regular.push(amounts);
    }
    needs
}

/// Requests with what the API server sets from limits.
fn with_limits<'a>(
    resources: Option<&'a ResourceRequirements>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Exact<'a> {
    let Some(resources) = resources else {
        return Exact::new();
    };
    let mut amounts = exact(resources.limits.as_ref(), path.field("limits"), problems);
    amounts.extend(exact(
        resources.requests.as_ref(),
        path.field("requests"),
        problems,
    ));
    amounts
}

/// In-place resize: what containers hold according to their status.
struct Resize<'a> {
    infeasible: bool,
    init: &'a [ContainerStatus],
    regular: &'a [ContainerStatus],
}

impl<'a> Resize<'a> {
    fn of(status: Option<&'a PodStatus>) -> Self {
        let Some(status) = status else {
            return Self {
                infeasible: false,
                init: &[],
                regular: &[],
            };
        };
        let infeasible = status.conditions.iter().flatten().any(|condition| {
            condition.type_ == "PodResizePending"
                && condition.reason.as_deref() == Some("Infeasible")
        });
        Self {
            infeasible,
            init: status
                .init_container_statuses
                .as_deref()
                .unwrap_or_default(),
            regular: status.container_statuses.as_deref().unwrap_or_default(),
        }
    }

    /// Request of one container, merged with what the list of statuses says it holds.
    fn need(
        &self,
        container: &'a Container,
        path: Path<'_>,
        held: Option<(&'a [ContainerStatus], &str)>,
        problems: &mut ObjectProblems,
    ) -> Exact<'a> {
        let resources = container.resources.as_ref();
        let mut amounts = with_limits(resources, path.field("resources"), problems);
        if let Some(statuses) = held {
            self.merge(&mut amounts, &container.name, statuses, problems);
        }
        amounts
    }

    fn merge(
        &self,
        amounts: &mut Exact<'a>,
        name: &str,
        (statuses, list): (&'a [ContainerStatus], &str),
        problems: &mut ObjectProblems,
    ) {
        let named = |(_, status): &(usize, &ContainerStatus)| status.name == name;
        let Some((at, status)) = statuses.iter().enumerate().find(named) else {
            return;
        };
        let Some(resources) = &status.resources else {
            return;
        };
        let root = Path::root("status");
        let path = root.item(list, at);
        let held = path.field("resources");
        if self.infeasible {
            amounts.clear();
        }
        max_with(
            amounts,
            &exact(
                resources.requests.as_ref(),
                held.field("requests"),
                problems,
            ),
        );
        let allocated = status.allocated_resources.as_ref();
        max_with(
            amounts,
            &exact(allocated, path.field("allocatedResources"), problems),
        );
    }
}

/// `spec.resources`: requests of the pod as a whole.
struct PodLevel<'a> {
    set: bool,
    amounts: Exact<'a>,
}

impl<'a> PodLevel<'a> {
    /// A pod-level limit becomes the request where neither the pod nor a container has one, as the
    /// API server sets it.
    fn read(
        resources: Option<&'a ResourceRequirements>,
        containers: &Exact<'_>,
        problems: &mut ObjectProblems,
    ) -> Self {
        let root = Path::root("spec");
        let path = root.field("resources");
        let Some(resources) = resources else {
            return Self {
                set: false,
                amounts: Exact::new(),
            };
        };
        let mut limits = exact(resources.limits.as_ref(), path.field("limits"), problems);
        let mut amounts = exact(
            resources.requests.as_ref(),
            path.field("requests"),
            problems,
        );
        limits.retain(|name, _| is_pod_level(name));
        amounts.retain(|name, _| is_pod_level(name));
        let set = !limits.is_empty() || !amounts.is_empty();
        for (name, limit) in limits {
            if !containers.contains_key(name) {
                amounts.entry(name).or_insert(limit);
            }
        }
        Self { set, amounts }
    }

    /// What containers without request count in scores. Under a pod-level budget they count
    /// nothing extra for a resource somebody asks for.
    fn defaults(&self, containers: &Exact<'_>) -> Exact<'a> {
        let mut defaults = Exact::from([("cpu", DEFAULT_CPU), ("memory", DEFAULT_MEMORY)]);
        if self.set {
            let named =
                |name: &str| self.amounts.contains_key(name) || containers.contains_key(name);
            defaults.retain(|name, _| !named(name));
        }
        defaults
    }
}
