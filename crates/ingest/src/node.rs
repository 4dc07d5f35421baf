//! `v1/Node` (spec/01 §3.6).

use k8s_openapi::api::core::v1::{Node, NodeStatus, Taint as WireTaint};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::keys;
use pumice_model::object::{Amounts, NodeObject, Pairs, Shard, Taint};
use pumice_model::resource::MAX_AMOUNT;

use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{amount, device, image, meta, pod};

/// Reads a node.
///
/// # Errors
/// Every problem of the node: no name, a quantity that is negative, too large or unreadable, an
/// unknown taint effect.
pub fn node(node: &Node) -> Result<NodeObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let spec = node.spec.as_ref();
    let nothing = NodeStatus::default();
    let status = node.status.as_ref().unwrap_or(&nothing);
    let taints = spec
        .and_then(|spec| spec.taints.as_deref())
        .unwrap_or_default();
    let mut out = NodeObject {
        name: meta::name(&node.metadata, &mut problems),
        uid: node.metadata.uid.clone().unwrap_or_default(),
        labels: meta::pairs(node.metadata.labels.as_ref()),
        taints: read_taints(taints, &mut problems),
        unschedulable: spec.and_then(|spec| spec.unschedulable) == Some(true),
        allocatable: allocatable(status, &mut problems),
        oversubscription: oversubscription(&node.metadata),
        images: images(status, &mut problems),
        shard: Shard::Own,
        device_annotations: Pairs::new(),
        device_capacity: Amounts::new(),
    };
    device::fill_node(&mut out, &node.metadata, status, &mut problems);
    problems.or(out)
}

fn read_taints(wire: &[WireTaint], problems: &mut ObjectProblems) -> Vec<Taint> {
    let mut taints = Vec::with_capacity(wire.len());
    for (at, taint) in wire.iter().enumerate() {
        let (key, value) = (taint.key.clone(), taint.value.clone().unwrap_or_default());
        if let Some(effect) = pod::effect(&taint.effect) {
            taints.push(Taint { key, value, effect });
        } else {
            let spec = Path::root("spec");
            let path = spec.item("taints", at);
            let message = format!("{:?} is not an effect", taint.effect);
            let help = "write NoSchedule, PreferNoSchedule or NoExecute";
            problems.add(path.field("effect"), message, help);
        }
    }
    taints
}

/// The API server takes an absent allocatable from the capacity.
fn allocatable(status: &NodeStatus, problems: &mut ObjectProblems) -> Amounts {
    let path = Path::root("status");
    match &status.allocatable {
        Some(list) => amount::amounts(Some(list), path.field("allocatable"), problems),
        None => amount::amounts(status.capacity.as_ref(), path.field("capacity"), problems),
    }
}

/// Oversold milli-cores and bytes; an unreadable or negative number counts as absent, because the
/// node stays usable without it.
fn oversubscription(wire: &ObjectMeta) -> Amounts {
    let keys = [
        ("cpu", keys::OVERSUBSCRIPTION_CPU),
        ("memory", keys::OVERSUBSCRIPTION_MEMORY),
    ];
    let mut amounts = Amounts::new();
    for (name, key) in keys {
        let text = meta::annotation(wire, key).unwrap_or_default();
        let number = text.parse::<f64>().ok().filter(|number| *number >= 1.0);
        if let Some(number) = number {
            amounts.push((name.to_owned(), (number as i64).min(MAX_AMOUNT)));
        }
    }
    amounts
}

/// Every name of every image, once, sorted by name.
fn images(status: &NodeStatus, problems: &mut ObjectProblems) -> Vec<(String, i64)> {
    let mut images = Vec::new();
    for (at, wire) in status.images.iter().flatten().enumerate() {
        let size = wire.size_bytes.unwrap_or(0);
        if !(0..=MAX_AMOUNT).contains(&size) {
            let root = Path::root("status");
            let path = root.item("images", at);
            let message = format!("the size {size} is out of range");
            problems.add(
                path.field("sizeBytes"),
                message,
                "write a number of bytes, 0 or more",
            );
        }
        let names = wire.names.iter().flatten().filter(|name| !name.is_empty());
        images.extend(names.map(|name| (image::normalised(name), size)));
    }
    images.sort_by(|one, other| one.0.cmp(&other.0));
    images.dedup_by(|later, first| later.0 == first.0);
    images
}
