//! `v1/Pod` (spec/01 §3.2, §3.3; spec/02 §6.8, §8.7).

use k8s_openapi::api::core::v1::{
    Container, Pod, PodCondition, PodSpec, Toleration as WireToleration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::keys;
use pumice_model::object::{
    Gates, HostPort, PodObject, PodPhase, TaintEffect, Toleration, TolerationOp,
};

use crate::native_group::{names_another, native_group};
use crate::options::Options;
use crate::problem::{ObjectProblem, ObjectProblems, Path, Readable};
use crate::{
    affinity, bounds, device, device_claim, image, meta, numa, request, run_time, spread, volume,
};

/// Scheduler of a pod that names none, as the API server sets it.
const KUBERNETES_SCHEDULER: &str = "default-scheduler";

/// The `preemptionPolicy` of pods and PriorityClasses for which nobody is evicted.
pub(crate) const NEVER: &str = "Never";

/// Reads a pod. One that has a node counts whatever it says: an amount that cannot be read is more than the node
/// has.
///
/// # Errors
/// Every problem of a pod without node: no name, a quantity that is negative, too large or unreadable, a
/// selector, spread constraint, weight or port out of its rules.
pub fn pod(pod: &Pod, options: &Options) -> Result<Readable<PodObject>, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let nothing = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&nothing);
    let mut out = identity(&pod.metadata, &mut problems);
    let scheduler = spec
        .scheduler_name
        .as_deref()
        .filter(|name| !name.is_empty());
    let scheduler = scheduler.unwrap_or(KUBERNETES_SCHEDULER);
    // Whoever makes PodGroups for pods that name none may have named one of its own too.
    out.names_another_group = names_another(spec, out.group.as_deref());
    out.group = native_group(spec).or(out.group);
    out.ours = options.scheduler_names.iter().any(|name| name == scheduler);
    out.node = spec.node_name.clone().filter(|name| !name.is_empty());
    out.phase = phase(
        pod.status
            .as_ref()
            .and_then(|status| status.phase.as_deref()),
    );
    out.priority = priority(&pod.metadata, spec);
    out.priority_class = spec.priority_class_name.clone().unwrap_or_default();
    out.preempts = preempts(spec);
    let status = pod.status.as_ref();
    let nominated = status.and_then(|status| status.nominated_node_name.clone());
    out.nominated_node = nominated.filter(|name| !name.is_empty());
    out.node_selector = meta::pairs(spec.node_selector.as_ref());
    out.tolerations = spec.tolerations.iter().flatten().map(toleration).collect();
    out.gates = gates(spec);
    out.told = told(pod);
    out.scheduled_s = scheduled_s(pod);
    if matches!(out.phase, PodPhase::Succeeded | PodPhase::Failed) {
        out.ends_by_s = ended_s(pod).or(out.ends_by_s);
    }
    let deadline_s = spec.active_deadline_seconds;
    out.annotations = run_time::annotations(&pod.metadata, options, deadline_s);
    out.cpus = numa::cpu_request(pod, spec).map(Box::new);
    containers(&mut out, spec, &mut problems);
    device::fill_pod(&mut out, &pod.metadata, spec);
    volume::mounts(&mut out, spec);
    out.resource_claims = device_claim::of_pod(pod);
    if let Some(wire) = &spec.affinity {
        affinity::fill(&mut out, wire, &mut problems);
    }
    let constraints = spec
        .topology_spread_constraints
        .as_deref()
        .unwrap_or_default();
    out.spread = spread::constraints(constraints, &out.labels, &mut problems);
    let request = request::request(pod, spec, &mut problems);
    out.request = request.amounts;
    out.nonzero_cpu_milli = request.nonzero_cpu_milli;
    out.nonzero_memory_bytes = request.nonzero_memory_bytes;
    out.burst_cpu_milli = request::burst(spec, "cpu", |amount| amount.milli_ceil());
    out.burst_memory_bytes = request::burst(spec, "memory", |amount| amount.whole_ceil());
    bounds::of_pod(&out, &mut problems);
    problems.unless(out.node.is_some(), out)
}

/// What metadata says.
fn identity(wire: &ObjectMeta, problems: &mut ObjectProblems) -> PodObject {
    let name = meta::name(wire, problems);
    let namespace = meta::namespace(wire);
    let annotation = |key| meta::annotation(wire, key);
    let role = annotation(keys::TASK_SPEC).or_else(|| meta::label(wire, keys::TASK_SPEC));
    PodObject {
        uid: meta::uid(wire, &namespace, &name),
        created_s: meta::created_s(wire),
        labels: meta::pairs(wire.labels.as_ref()),
        deleting: wire.deletion_timestamp.is_some(),
        ends_by_s: ends_by_s(wire),
        group: annotation(keys::GROUP_NAME).map(str::to_owned),
        queue: annotation(keys::QUEUE_NAME).map(str::to_owned),
        role: role.unwrap_or_default().to_owned(),
        preemptable: meta::preemptable(wire),
        owners: owners(wire),
        controlled: has_controller(wire),
        namespace,
        name,
        ..PodObject::default()
    }
}

/// Most seconds that a pod has for its end, as far as others wait for it. Whoever makes it names the time, which may be a year.
const MAX_GRACE_S: i64 = 3600;

/// When a pod that is being deleted is to be gone: the API server sets the deletion timestamp to when its grace is over.
fn ends_by_s(wire: &ObjectMeta) -> Option<i64> {
    let over_s = wire.deletion_timestamp.as_ref()?.0.as_second();
    let grace_s = wire.deletion_grace_period_seconds.unwrap_or(0);
    Some(over_s.saturating_sub(grace_s.saturating_sub(MAX_GRACE_S).max(0)))
}

/// `spec.preemptionPolicy`; a word that is none of Kubernetes' says nothing.
fn preempts(spec: &PodSpec) -> Option<bool> {
    match spec.preemption_policy.as_deref() {
        Some(NEVER) => Some(false),
        Some("PreemptLowerPriority") => Some(true),
        _ => None,
    }
}

fn owners(wire: &ObjectMeta) -> Vec<(String, String)> {
    let mut owners: Vec<_> = wire.owner_references.iter().flatten().collect();
    owners.sort_by_key(|owner| owner.controller != Some(true));
    owners
        .into_iter()
        .map(|owner| (owner.kind.clone(), owner.name.clone()))
        .collect()
}

fn has_controller(wire: &ObjectMeta) -> bool {
    let mut owners = wire.owner_references.iter().flatten();
    owners.any(|owner| owner.controller == Some(true))
}

fn phase(text: Option<&str>) -> PodPhase {
    match text {
        None | Some("" | "Pending") => PodPhase::Pending,
        Some("Running") => PodPhase::Running,
        Some("Succeeded") => PodPhase::Succeeded,
        Some("Failed") => PodPhase::Failed,
        Some(_) => PodPhase::Unknown,
    }
}

/// An unreadable annotation is ignored (spec/02 §1).
fn priority(wire: &ObjectMeta, spec: &PodSpec) -> i32 {
    let annotated = meta::annotation(wire, keys::TASK_PRIORITY).and_then(|text| text.parse().ok());
    annotated.or(spec.priority).unwrap_or(1)
}

fn gates(spec: &PodSpec) -> Gates {
    let gates = spec.scheduling_gates.as_deref().unwrap_or_default();
    match gates
        .iter()
        .any(|gate| gate.name != keys::QUEUE_ALLOCATION_GATE)
    {
        true => Gates::Foreign,
        false if gates.is_empty() => Gates::None,
        false => Gates::QueueAdmission,
    }
}

/// The condition `PodScheduled`, if it has this status.
fn scheduled<'a>(pod: &'a Pod, status: &str) -> Option<&'a PodCondition> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    conditions.find(|c| c.type_ == "PodScheduled" && c.status == status)
}

/// When it got its node.
fn scheduled_s(pod: &Pod) -> Option<i64> {
    let since = scheduled(pod, "True")?.last_transition_time.as_ref();
    since.map(|since| meta::seconds(Some(since)))
}

/// When the last of its containers ended.
fn ended_s(pod: &Pod) -> Option<i64> {
    let containers = pod.status.as_ref()?.container_statuses.iter().flatten();
    let ends = containers.filter_map(|container| {
        let ended = container.state.as_ref()?.terminated.as_ref()?;
        let at = ended.finished_at.as_ref()?;
        Some(meta::seconds(Some(at)))
    });
    ends.max()
}

/// Reason and message of the condition by which a scheduler says that the pod waits.
fn told(pod: &Pod) -> Option<Box<(String, String)>> {
    let waits = scheduled(pod, "False")?;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Some(Box::new((text(&waits.reason), text(&waits.message))))
}

/// Effect by name; `None` for one that does not exist.
pub(crate) fn effect(text: &str) -> Option<TaintEffect> {
    match text {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

fn toleration(wire: &WireToleration) -> Toleration {
    let effect_text = wire.effect.as_deref().unwrap_or_default();
    let effect = effect(effect_text);
    let operator = match wire.operator.as_deref() {
        // No taint has an effect that does not exist.
        _ if effect.is_none() && !effect_text.is_empty() => TolerationOp::Never,
        None | Some("" | "Equal") => TolerationOp::Equal,
        Some("Exists") => TolerationOp::Exists,
        Some(_) => TolerationOp::Never,
    };
    Toleration {
        key: wire.key.clone().unwrap_or_default(),
        operator,
        value: wire.value.clone().unwrap_or_default(),
        effect,
    }
}

/// Images, ports and number of containers.
fn containers(out: &mut PodObject, spec: &PodSpec, problems: &mut ObjectProblems) {
    let init = spec.init_containers.as_deref().unwrap_or_default();
    let all = init.iter().chain(&spec.containers);
    let volumes = spec.volumes.iter().flatten();
    let mounted = volumes.filter_map(|volume| volume.image.as_ref()?.reference.as_deref());
    let names = all
        .filter_map(|container| container.image.as_deref())
        .chain(mounted);
    out.images = names
        .filter(|name| !name.is_empty())
        .map(image::normalised)
        .collect();
    let count = init.len() + spec.containers.len();
    out.container_count = u32::try_from(count).unwrap_or(u32::MAX);
    let on_host = spec.host_network == Some(true);
    let path = Path::root("spec");
    for (at, container) in init.iter().enumerate() {
        if container.restart_policy.as_deref() == Some("Always") {
            let path = path.item("initContainers", at);
            ports(&mut out.host_ports, container, on_host, path, problems);
        }
    }
    for (at, container) in spec.containers.iter().enumerate() {
        let path = path.item("containers", at);
        ports(&mut out.host_ports, container, on_host, path, problems);
    }
}

/// Host ports of a container. On the host network the container port is one, as the API server
/// sets it.
fn ports(
    out: &mut Vec<HostPort>,
    container: &Container,
    on_host: bool,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) {
    for (at, wire) in container.ports.iter().flatten().enumerate() {
        let port = match wire.host_port.unwrap_or(0) {
            0 if on_host => wire.container_port,
            port => port,
        };
        let Ok(port) = u16::try_from(port) else {
            let path = path.item("ports", at);
            let message = format!("the port {port} is out of range");
            problems.add(
                path.field("hostPort"),
                message,
                "write a port from 1 to 65535",
            );
            continue;
        };
        let or = |text: &Option<String>, default: &str| match text.as_deref() {
            None | Some("") => default.to_owned(),
            Some(text) => text.to_owned(),
        };
        let port = HostPort {
            ip: or(&wire.host_ip, "0.0.0.0"),
            protocol: or(&wire.protocol, "TCP"),
            port,
        };
        if port.port > 0 && !out.contains(&port) {
            out.push(port);
        }
    }
}
