//! ResourceClaims, their templates, DeviceClasses and ResourceSlices (spec/09).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, Pod, PodResourceClaim as WirePodClaim};
use k8s_openapi::api::resource::v1::{
    CapacityRequestPolicy, CapacityRequirements, Counter, Device as WireDevice, DeviceAttribute,
    DeviceCapacity as WireCapacity, DeviceClaim, DeviceClass, DeviceConstraint,
    DeviceRequest as WireRequest, DeviceSelector, ResourceClaim, ResourceClaimTemplate,
    ResourceSlice,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use pumice_claims::{
    Attribute, AttributeRule, CapacityPolicy, CapacityRange, ClaimConstraint, ClaimRequest,
    ClaimSpec, CounterSet, Counters, DeviceCapacity, DeviceCount, DeviceTaint, DraDevice, Quantity,
    RequestConfig, RequestedDevices, UsedCounters,
};
use pumice_model::object::{
    DeviceClassObject, NodeAccess, PodResourceClaim, PublishedDevice, ResourceClaimObject,
    SliceObject,
};

use crate::device_words::{opaque, read_quantity, tolerations};
use crate::problem::{ObjectProblem, ObjectProblems, Path, Readable};
use crate::{affinity, allocation, meta};

/// The finalizer of claims that have devices.
const PROTECTION: &str = "resource.kubernetes.io/delete-protection";

/// Reads a ResourceClaim. One that has devices counts whatever else it says, and what it takes of a device that
/// cannot be read is all there is.
///
/// # Errors
/// Every problem of a claim without devices: no name, an unreadable quantity.
pub fn resource_claim(
    wire: &ResourceClaim,
) -> Result<Readable<ResourceClaimObject>, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let metadata = &wire.metadata;
    let name = meta::name(metadata, &mut problems);
    let namespace = meta::namespace(metadata);
    let owner = metadata.owner_references.iter().flatten();
    let mut owner = owner.filter(|owner| owner.controller == Some(true));
    let path = Path::root("spec");
    let spec = wire.spec.as_ref();
    let spec = spec.and_then(|spec| spec.devices.as_ref());
    let status = wire.status.as_ref();
    let allocation = status.and_then(|status| status.allocation.as_ref());
    let reserved = status.and_then(|status| status.reserved_for.as_ref());
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    let version = metadata.resource_version.as_deref();
    let out = ResourceClaimObject {
        uid: meta::uid(metadata, &namespace, &name),
        owner_uid: owner
            .next()
            .map(|owner| owner.uid.clone())
            .unwrap_or_default(),
        spec: claim_spec(spec, path.field("devices"), &mut problems),
        allocation: allocation.map(|found| allocation::of_claim(found, &mut problems)),
        reserved_for: reserved
            .into_iter()
            .flatten()
            .map(|user| user.uid.clone())
            .collect(),
        is_protected: finalizers.iter().any(|finalizer| finalizer == PROTECTION),
        deleting: metadata.deletion_timestamp.is_some(),
        version: version.and_then(|text| text.parse().ok()).unwrap_or(0),
        namespace,
        name,
    };
    problems.unless(out.allocation.is_some(), out)
}

/// Reads what claims made from a template ask for, with the namespace and name of the template.
///
/// # Errors
/// Every problem of the template: no name, an unreadable quantity.
pub fn resource_claim_template(
    wire: &ResourceClaimTemplate,
) -> Result<(String, String, ClaimSpec), Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let name = meta::name(&wire.metadata, &mut problems);
    let namespace = meta::namespace(&wire.metadata);
    let path = Path::root("spec");
    let spec = wire.spec.as_ref();
    let spec = spec.and_then(|spec| spec.spec.as_ref()?.devices.as_ref());
    let spec = claim_spec(spec, path.field("spec"), &mut problems);
    problems.or((namespace, name, spec))
}

/// Reads a DeviceClass.
///
/// # Errors
/// It has no name.
pub fn device_class(wire: &DeviceClass) -> Result<DeviceClassObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let spec = wire.spec.clone().unwrap_or_default();
    let config = spec.config.iter().flatten();
    let out = DeviceClassObject {
        name: meta::name(&wire.metadata, &mut problems),
        selectors: expressions(spec.selectors.as_ref()),
        config: config
            .filter_map(|config| config.opaque.as_ref())
            .map(opaque)
            .collect(),
        extended_resource: spec.extended_resource_name.clone(),
    };
    problems.or(out)
}

/// Reads a ResourceSlice.
///
/// # Errors
/// Every problem of the slice: no name, an unreadable quantity.
pub fn resource_slice(wire: &ResourceSlice) -> Result<SliceObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let spec = &wire.spec;
    let path = Path::root("spec");
    let access = match spec.per_device_node_selection {
        Some(true) => NodeAccess::PerDevice,
        _ => access(
            spec.node_name.as_deref(),
            spec.all_nodes,
            spec.node_selector.as_ref(),
        ),
    };
    let mut devices = Vec::new();
    for (at, device) in spec.devices.iter().flatten().enumerate() {
        let place = path.item("devices", at);
        devices.push(published(device, place, &mut problems));
    }
    let mut counters = Vec::new();
    for (at, set) in spec.shared_counters.iter().flatten().enumerate() {
        let place = path.item("sharedCounters", at);
        counters.push(CounterSet {
            name: set.name.clone(),
            counters: amounts(&set.counters, place, &mut problems),
        });
    }
    let out = SliceObject {
        name: meta::name(&wire.metadata, &mut problems),
        driver: spec.driver.clone(),
        pool: spec.pool.name.clone(),
        generation: spec.pool.generation,
        slice_count: spec.pool.resource_slice_count,
        access,
        devices,
        counters,
    };
    problems.or(out)
}

/// The resource claims of a pod. An entry for which no claim is needed counts for nothing.
pub(crate) fn of_pod(pod: &Pod) -> Vec<PodResourceClaim> {
    let entries = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.resource_claims.as_ref());
    let status = pod.status.as_ref();
    let made = status.and_then(|status| status.resource_claim_statuses.as_ref());
    let claim = |entry: &WirePodClaim| {
        let found = made
            .into_iter()
            .flatten()
            .find(|made| made.name == entry.name);
        let claim = match (&entry.resource_claim_name, found) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(made)) => Some(made.resource_claim_name.clone()?),
            (None, None) => None,
        };
        Some(PodResourceClaim {
            entry: entry.name.clone(),
            claim,
            template: match entry.resource_claim_name {
                Some(_) => None,
                None => Some(
                    entry
                        .resource_claim_template_name
                        .clone()
                        .unwrap_or_default(),
                ),
            },
        })
    };
    entries.into_iter().flatten().filter_map(claim).collect()
}

fn expressions(wire: Option<&Vec<DeviceSelector>>) -> Vec<String> {
    let all = wire.into_iter().flatten();
    // A selector of a kind that is not known selects nothing: it is no expression.
    let text = |selector: &DeviceSelector| {
        let cel = selector.cel.as_ref();
        cel.map(|cel| cel.expression.clone()).unwrap_or_default()
    };
    all.map(text).collect()
}

fn access(
    node: Option<&str>,
    everywhere: Option<bool>,
    selector: Option<&NodeSelector>,
) -> NodeAccess {
    match (node.unwrap_or_default(), everywhere, selector) {
        ("", Some(true), _) => NodeAccess::Everywhere,
        ("", _, Some(selector)) => {
            NodeAccess::Selected(affinity::node_terms(&selector.node_selector_terms))
        }
        ("", _, None) => NodeAccess::Nowhere,
        (node, _, _) => NodeAccess::Node(node.to_owned()),
    }
}

fn quantity(wire: &WireQuantity, path: Path<'_>, problems: &mut ObjectProblems) -> Quantity {
    read_quantity(wire, path, problems).unwrap_or_default()
}

fn amounts(
    wire: &BTreeMap<String, Counter>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Counters {
    let mut all = Counters::new();
    for (name, counter) in wire {
        let amount = quantity(&counter.value, path.field(name), problems);
        all.insert(name.clone(), amount);
    }
    all
}

fn published(wire: &WireDevice, path: Path<'_>, problems: &mut ObjectProblems) -> PublishedDevice {
    let attributes = wire.attributes.iter().flatten();
    let attributes = attributes.filter_map(|(name, value)| Some((name.clone(), attribute(value)?)));
    let mut capacity = BTreeMap::new();
    for (name, found) in wire.capacity.iter().flatten() {
        let place = path.field("capacity");
        capacity.insert(
            name.clone(),
            self::capacity(found, place.field(name), problems),
        );
    }
    let taints = wire.taints.iter().flatten().map(|taint| DeviceTaint {
        key: taint.key.clone(),
        value: taint.value.clone().unwrap_or_default(),
        effect: taint.effect.clone(),
    });
    let mut uses = Vec::new();
    for (at, used) in wire.consumes_counters.iter().flatten().enumerate() {
        let place = path.item("consumesCounters", at);
        uses.push(UsedCounters {
            set: used.counter_set.clone(),
            counters: amounts(&used.counters, place, problems),
        });
    }
    let conditions = wire.binding_conditions.as_ref();
    PublishedDevice {
        access: access(
            wire.node_name.as_deref(),
            wire.all_nodes,
            wire.node_selector.as_ref(),
        ),
        device: DraDevice {
            name: wire.name.clone(),
            attributes: attributes.collect(),
            capacity,
            taints: taints.collect(),
            uses,
            shared: wire.allow_multiple_allocations.unwrap_or_default(),
            has_binding_conditions: conditions.is_some_and(|all| !all.is_empty()),
        },
    }
}

/// Lists are an alpha feature of Kubernetes 1.36, off by default: the attribute is not there.
fn attribute(wire: &DeviceAttribute) -> Option<Attribute> {
    let text = wire.string.clone().map(Attribute::Text);
    text.or_else(|| wire.int.map(Attribute::Int))
        .or_else(|| wire.bool.map(Attribute::Bool))
        .or_else(|| wire.version.clone().map(Attribute::Version))
}

fn capacity(wire: &WireCapacity, path: Path<'_>, problems: &mut ObjectProblems) -> DeviceCapacity {
    DeviceCapacity {
        value: quantity(&wire.value, path.field("value"), problems),
        policy: wire
            .request_policy
            .as_ref()
            .map(|policy| self::policy(policy, path.field("requestPolicy"), problems)),
    }
}

fn policy(
    wire: &CapacityRequestPolicy,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> CapacityPolicy {
    let mut read = |wire: &WireQuantity, name: &str| quantity(wire, path.field(name), problems);
    let values = wire.valid_values.iter().flatten();
    let mut values: Vec<Quantity> = values.map(|value| read(value, "validValues")).collect();
    values.sort_unstable();
    CapacityPolicy {
        default: wire.default.as_ref().map(|value| read(value, "default")),
        values,
        range: wire.valid_range.as_ref().map(|range| CapacityRange {
            min: read(&range.min, "validRange.min"),
            max: range
                .max
                .as_ref()
                .map(|value| read(value, "validRange.max")),
            step: range
                .step
                .as_ref()
                .map(|value| read(value, "validRange.step")),
        }),
    }
}

fn claim_spec(
    wire: Option<&DeviceClaim>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> ClaimSpec {
    let Some(wire) = wire else {
        return ClaimSpec::default();
    };
    let mut requests = Vec::new();
    for (at, found) in wire.requests.iter().flatten().enumerate() {
        requests.push(request(found, path.item("requests", at), problems));
    }
    let config = wire.config.iter().flatten().filter_map(|config| {
        Some(RequestConfig {
            requests: config.requests.clone().unwrap_or_default(),
            opaque: config.opaque.as_ref().map(opaque)?,
        })
    });
    ClaimSpec {
        requests,
        constraints: wire.constraints.iter().flatten().map(constraint).collect(),
        config: config.collect(),
    }
}

fn constraint(wire: &DeviceConstraint) -> ClaimConstraint {
    let same = wire.match_attribute.clone().map(AttributeRule::Same);
    let distinct = wire.distinct_attribute.clone().map(AttributeRule::Distinct);
    ClaimConstraint {
        requests: wire.requests.clone().unwrap_or_default(),
        rule: same.or(distinct).unwrap_or(AttributeRule::Unknown),
    }
}

fn request(wire: &WireRequest, path: Path<'_>, problems: &mut ObjectProblems) -> ClaimRequest {
    let mut choices = Vec::new();
    if let Some(only) = &wire.exactly {
        let place = path.field("exactly");
        let mode = (only.allocation_mode.as_deref(), only.count);
        if let Some(count) = count(mode, place, problems) {
            choices.push(RequestedDevices {
                name: String::new(),
                class: only.device_class_name.clone(),
                selectors: expressions(only.selectors.as_ref()),
                count,
                admin_access: only.admin_access.unwrap_or_default(),
                tolerations: tolerations(only.tolerations.as_ref()),
                capacity: wanted(only.capacity.as_ref(), place, problems),
            });
        }
    }
    for (at, one) in wire.first_available.iter().flatten().enumerate() {
        let place = path.item("firstAvailable", at);
        let mode = (one.allocation_mode.as_deref(), one.count);
        if let Some(count) = count(mode, place, problems) {
            choices.push(RequestedDevices {
                name: one.name.clone(),
                class: one.device_class_name.clone(),
                selectors: expressions(one.selectors.as_ref()),
                count,
                admin_access: false,
                tolerations: tolerations(one.tolerations.as_ref()),
                capacity: wanted(one.capacity.as_ref(), place, problems),
            });
        }
    }
    ClaimRequest {
        name: wire.name.clone(),
        choices,
    }
}

fn count(
    (mode, count): (Option<&str>, Option<i64>),
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<DeviceCount> {
    match mode.unwrap_or_default() {
        // A count that is not there, or 0, is 1: so the API server fills it in.
        "" | "ExactCount" => {
            let count = count.filter(|count| *count != 0).unwrap_or(1);
            match u64::try_from(count) {
                Ok(count) => Some(DeviceCount::Exactly(count)),
                Err(_) => {
                    let what = format!("{count} is less than 0");
                    problems.add(
                        path.field("count"),
                        what,
                        "write how many devices, from 1 on",
                    );
                    None
                }
            }
        }
        "All" => Some(DeviceCount::All),
        other => {
            let what = format!("{other:?} is no mode that is known");
            let help = "write ExactCount or All";
            problems.add(path.field("allocationMode"), what, help);
            None
        }
    }
}

fn wanted(
    wire: Option<&CapacityRequirements>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> BTreeMap<String, Quantity> {
    let mut all = BTreeMap::new();
    let requests = wire.and_then(|wire| wire.requests.as_ref());
    for (name, amount) in requests.into_iter().flatten() {
        let place = path.field("capacity");
        all.insert(name.clone(), quantity(amount, place.field(name), problems));
    }
    all
}
