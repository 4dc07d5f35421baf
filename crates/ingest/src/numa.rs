//! `nodeinfo.volcano.sh/v1alpha1/Numatopology`, and what pods ask of CPUs (spec/02 §22.1).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::{Numatopology, keys};
use pumice_model::object::{
    AskedPolicy, AssignedPod, CpuPlace, CpuRequest, InitCpus, MAX_CPU, MAX_NUMA_NODES,
    NumatopologyObject, TopologyPolicy,
};
use pumice_units::quantity::{self, Quantity};

use crate::meta;
use crate::problem::{ObjectProblem, ObjectProblems, Path};

const CPU: &str = "cpu";

/// Reads a Numatopology.
///
/// # Errors
/// Every problem: no name, a set of CPUs or a number of a CPU that cannot be read, a place below 0, an amount
/// that is no quantity, more NUMA nodes than are counted.
pub fn numatopology(object: &Numatopology) -> Result<NumatopologyObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let path = Path::root("spec");
    let spec = &object.spec;
    let policy = |key| spec.policies.get(key).map_or("", String::as_str);
    let cpus = places(object, path, &mut problems);
    let free = spec.numares.get(CPU).map(|cpu| cpu.allocatable.as_str());
    let at = path.field("numares");
    let at = at.field(CPU);
    let at = at.field("allocatable");
    let mut free = set(free.unwrap_or_default(), at, &mut problems);
    let pods = spec.pod_allocations.iter().enumerate();
    let assigned = pods.map(|(at, pod)| {
        let path = path.item("podAllocations", at);
        let containers = pod.container_allocations.iter().enumerate();
        for (at, container) in containers {
            let path = path.item("containerAllocations", at);
            let path = path.field("allocations");
            let held = container.allocations.get(CPU).map_or("", String::as_str);
            let held = set(held, path.field(CPU), &mut problems);
            free.retain(|cpu| held.binary_search(cpu).is_err());
        }
        AssignedPod {
            uid: pod.uid.clone(),
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
        }
    });
    let assigned = assigned.collect();
    let reserved = reserved(object, path, &mut problems);
    let node = meta::name(&object.metadata, &mut problems);
    problems.or(NumatopologyObject {
        node,
        gives_cpus: policy("CPUManagerPolicy") == "static",
        policy: TopologyPolicy::by_name(policy("TopologyManagerPolicy")).unwrap_or_default(),
        cpus,
        free,
        reserved,
        assigned,
        written_s: written_s(&object.metadata),
    })
}

/// When anything of an object was last written, as the API server notes it.
fn written_s(meta: &ObjectMeta) -> Option<i64> {
    let written = meta.managed_fields.iter().flatten();
    let times = written.filter_map(|entry| entry.time.as_ref());
    times.map(|time| meta::seconds(Some(time))).max()
}

/// What a Numatopology that was read says of CPUs that are not there: nobody gets those.
pub fn numatopology_doubt(object: &NumatopologyObject) -> Option<ObjectProblem> {
    let is_there = |cpu: &u32| {
        let place = object.cpus.binary_search_by_key(cpu, |place| place.cpu);
        place.is_ok()
    };
    let mut missing = object.free.iter().filter(|cpu| !is_there(cpu));
    let (first, others) = (missing.next()?, missing.count());
    let which = match others {
        0 => format!("CPU {first} is"),
        more => format!("CPU {first} and {more} more are"),
    };
    Some(ObjectProblem {
        path: "spec.numares.cpu.allocatable".to_owned(),
        message: format!("{which} not in spec.cpuDetail, and given to nobody"),
        help: "tell in spec.cpuDetail where each CPU is; the exporter on the node writes both"
            .to_owned(),
    })
}

fn reserved(object: &Numatopology, path: Path<'_>, problems: &mut ObjectProblems) -> u32 {
    let Some(text) = object.spec.res_reserved.get(CPU) else {
        return 0;
    };
    let path = path.field("resReserved");
    let path = path.field(CPU);
    match quantity::parse(text) {
        Ok(amount) if amount.is_negative() => {
            problems.add(path, format!("{text:?} is negative"), "write 0 or more");
            0
        }
        Ok(amount) => u32::try_from(amount.whole_ceil()).unwrap_or(u32::MAX),
        Err(error) => {
            problems.add(path, error.what(), error.help());
            0
        }
    }
}

/// Where the CPUs are, by number.
fn places(object: &Numatopology, path: Path<'_>, problems: &mut ObjectProblems) -> Vec<CpuPlace> {
    let path = path.field("cpuDetail");
    let mut places = BTreeMap::new();
    for (key, detail) in &object.spec.cpu_detail {
        let path = path.field(key);
        let Some(cpu) = number(key) else {
            let message = format!("{key:?} is no number of a CPU");
            problems.add(path, message, "write a number from 0 to 4095");
            continue;
        };
        let mut part = |name, value: i64| {
            u32::try_from(value).unwrap_or_else(|_| {
                let message = format!("{value} is out of range");
                problems.add(path.field(name), message, "write 0 or more");
                0
            })
        };
        let place = CpuPlace {
            cpu,
            numa: part("numa", detail.numa),
            socket: part("socket", detail.socket),
            core: part("core", detail.core),
        };
        places.insert(cpu, place);
    }
    let places: Vec<CpuPlace> = places.into_values().collect();
    let mut numas: Vec<u32> = places.iter().map(|place| place.numa).collect();
    numas.sort_unstable();
    numas.dedup();
    if numas.len() > MAX_NUMA_NODES {
        let message = format!("there are {} NUMA nodes", numas.len());
        problems.add(path, message, "name at most 64 of them");
    }
    places
}

fn number(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|cpu| *cpu < MAX_CPU)
}

/// CPUs of a set in the kernel's notation, for example `0-3,8`: sorted, each once.
fn set(text: &str, path: Path<'_>, problems: &mut ObjectProblems) -> Vec<u32> {
    let mut cpus = Vec::new();
    let parts = text.split(',').filter(|_| !text.trim().is_empty());
    for part in parts {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (number(first), number(last)) {
            (Some(first), Some(last)) if first <= last => cpus.extend(first..=last),
            _ => {
                let message = format!("{part:?} is no range of CPUs");
                let help = "write numbers from 0 to 4095 and ranges of them, for example \"0-3,8\"";
                problems.add(path, message, help);
            }
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// What a pod asks of CPUs; none where it is not Guaranteed, or asks for nothing that matters. What cannot be
/// read counts as nothing: reading the request tells of it.
pub(crate) fn cpu_request(pod: &Pod, spec: &PodSpec) -> Option<CpuRequest> {
    if !is_guaranteed(pod, spec) {
        return None;
    }
    let request = CpuRequest {
        policy: match meta::annotation(&pod.metadata, keys::NUMA_TOPOLOGY_POLICY) {
            None | Some("" | "none") => AskedPolicy::Any,
            Some(name) => match TopologyPolicy::by_name(name) {
                Some(policy) => AskedPolicy::Only(policy),
                None => AskedPolicy::Unknown(name.to_owned()),
            },
        },
        init: spec
            .init_containers
            .iter()
            .flatten()
            .map(init_cpus)
            .collect(),
        containers: spec.containers.iter().map(own_cpus).collect(),
    };
    let asks = request.policy != AskedPolicy::Any || request.takes_cpus();
    asks.then_some(request)
}

/// How many CPUs a container of a Guaranteed pod has for itself.
fn own_cpus(container: &Container) -> u32 {
    let milli = limit(container, CPU).map_or(0, |amount| amount.milli_ceil());
    match milli % 1000 {
        0 => u32::try_from(milli / 1000).unwrap_or(u32::MAX),
        _ => 0,
    }
}

fn init_cpus(container: &Container) -> InitCpus {
    InitCpus {
        cpus: own_cpus(container),
        stays: container.restart_policy.as_deref() == Some("Always"),
    }
}

/// The class of service Kubernetes gives the pod: as told, or as its containers ask.
fn is_guaranteed(pod: &Pod, spec: &PodSpec) -> bool {
    let told = pod.status.as_ref().and_then(|s| s.qos_class.as_deref());
    if let Some(told) = told.filter(|told| !told.is_empty()) {
        return told == "Guaranteed";
    }
    let init = spec.init_containers.iter().flatten();
    let mut all = init.chain(&spec.containers);
    let is_equal = |container: &Container, name: &str| {
        let limit = limit(container, name).filter(|limit| !limit.is_zero());
        let resources = container.resources.as_ref();
        let requests = resources.and_then(|resources| resources.requests.as_ref());
        match requests.and_then(|requests| requests.get(name)) {
            // The API server sets a missing request to the limit.
            None => limit.is_some(),
            Some(asked) => limit.is_some() && read(asked) == limit,
        }
    };
    all.all(|container| is_equal(container, CPU) && is_equal(container, "memory"))
}

fn limit(container: &Container, name: &str) -> Option<Quantity> {
    let resources = container.resources.as_ref()?;
    read(resources.limits.as_ref()?.get(name)?)
}

fn read(text: &WireQuantity) -> Option<Quantity> {
    quantity::parse(&text.0).ok()
}
