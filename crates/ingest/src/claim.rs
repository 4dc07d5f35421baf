//! PersistentVolumeClaims, StorageClasses and what CSI drivers say of nodes (spec/02 §6.8).

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, TopologySelectorTerm,
};
use k8s_openapi::api::storage::v1::{
    CSIDriver, CSINode, CSIStorageCapacity, StorageClass, VolumeAttachment,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use pumice_model::object::{
    AttachmentObject, ClaimObject, CsiCapacityObject, CsiDriverObject, CsiNodeDriver,
    CsiNodeObject, StorageClassObject, TopologyTerm,
};

use crate::problem::{ObjectProblem, ObjectProblems, Path, Readable};
use crate::{meta, selector, volume};

const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const MIGRATED_PLUGINS: &str = "storage.alpha.kubernetes.io/migrated-plugins";
const DRIVER_PARAMETER: &str = "csi.storage.k8s.io/csi-driver-name";

/// Reads a PersistentVolumeClaim. One that has a volume counts whatever else it says.
///
/// # Errors
/// Every problem of a claim without volume: no name, an unreadable or negative request, a broken selector.
pub fn persistent_volume_claim(
    wire: &PersistentVolumeClaim,
) -> Result<Readable<ClaimObject>, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let nothing = PersistentVolumeClaimSpec::default();
    let spec = wire.spec.as_ref().unwrap_or(&nothing);
    let path = Path::root("spec");
    let resources = path.field("resources");
    let requests = spec.resources.as_ref().and_then(|r| r.requests.as_ref());
    let meta = &wire.metadata;
    let name = meta::name(meta, &mut problems);
    let namespace = meta::namespace(meta);
    let annotations = meta.annotations.as_ref();
    let phase = wire.status.as_ref().and_then(|s| s.phase.as_deref());
    let owner = meta.owner_references.iter().flatten();
    let owner = owner.filter(|owner| owner.controller == Some(true));
    let out = ClaimObject {
        uid: meta::uid(meta, &namespace, &name),
        class: volume::class(meta, spec.storage_class_name.as_ref()),
        request: volume::storage(requests, resources.field("requests"), &mut problems),
        modes: volume::access_modes(spec.access_modes.as_deref()),
        block: spec.volume_mode.as_deref() == Some("Block"),
        attributes_class: spec
            .volume_attributes_class_name
            .clone()
            .unwrap_or_default(),
        selector: selector::optional(
            spec.selector.as_ref(),
            path.field("selector"),
            &mut problems,
        ),
        volume: spec.volume_name.clone().unwrap_or_default(),
        // The annotation counts by being there, whatever its value.
        bind_completed: annotations.is_some_and(|all| all.contains_key(BIND_COMPLETED)),
        selected_node: meta::annotation(meta, SELECTED_NODE).map(str::to_owned),
        lost: phase == Some("Lost"),
        deleting: meta.deletion_timestamp.is_some(),
        owner_uid: owner
            .map(|owner| owner.uid.clone())
            .next()
            .unwrap_or_default(),
        name,
        namespace,
    };
    problems.unless(!out.volume.is_empty(), out)
}

/// The claims the ephemeral volume controller makes for a pod: one per generic ephemeral volume,
/// owned by the pod.
///
/// # Errors
/// Every problem of a template.
pub fn ephemeral_claims(pod: &Pod) -> Result<Vec<ClaimObject>, Vec<ObjectProblem>> {
    let name = pod.metadata.name.clone().unwrap_or_default();
    let namespace = meta::namespace(&pod.metadata);
    let owner = OwnerReference {
        controller: Some(true),
        kind: "Pod".to_owned(),
        uid: meta::uid(&pod.metadata, &namespace, &name),
        name: name.clone(),
        ..OwnerReference::default()
    };
    let volumes = pod
        .spec
        .iter()
        .flat_map(|spec| spec.volumes.iter().flatten());
    let mut claims = Vec::new();
    for (at, wire) in volumes.enumerate() {
        let Some(template) = wire
            .ephemeral
            .as_ref()
            .and_then(|source| source.volume_claim_template.as_ref())
        else {
            continue;
        };
        let mut claim = PersistentVolumeClaim {
            metadata: template.metadata.clone().unwrap_or_default(),
            spec: Some(template.spec.clone()),
            status: None,
        };
        claim.metadata.name = Some(volume::ephemeral_name(&name, &wire.name));
        claim.metadata.namespace = Some(namespace.clone());
        claim.metadata.owner_references = Some(vec![owner.clone()]);
        let within = |problem: ObjectProblem| ObjectProblem {
            path: format!(
                "spec.volumes[{at}].ephemeral.volumeClaimTemplate.{}",
                problem.path
            ),
            ..problem
        };
        let claim = persistent_volume_claim(&claim)
            .and_then(Readable::certain)
            .map_err(|found| found.into_iter().map(within).collect::<Vec<_>>())?;
        claims.push(claim);
    }
    Ok(claims)
}

/// Reads a StorageClass.
///
/// # Errors
/// Every problem of the class: no name, an unknown binding mode.
pub fn storage_class(wire: &StorageClass) -> Result<StorageClassObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let delayed = match wire.volume_binding_mode.as_deref() {
        None | Some("" | "Immediate") => false,
        Some("WaitForFirstConsumer") => true,
        Some(other) => {
            let message = format!("{other:?} is not a binding mode");
            let help = "write Immediate or WaitForFirstConsumer";
            problems.add(Path::root("volumeBindingMode"), message, help);
            false
        }
    };
    let (driver, migrated_from) = volume::driver_of(&wire.provisioner);
    let parameters = wire.parameters.as_ref();
    let named = parameters.and_then(|all| all.get(DRIVER_PARAMETER));
    let topologies = wire.allowed_topologies.iter().flatten();
    let default = meta::annotation(&wire.metadata, DEFAULT_CLASS);
    let out = StorageClassObject {
        name: meta::name(&wire.metadata, &mut problems),
        provisioner: wire.provisioner.clone(),
        driver: named.map_or(driver, String::as_str).to_owned(),
        migrated_from: migrated_from.to_owned(),
        delayed,
        topologies: topologies.map(topology).collect(),
        is_default: default == Some("true"),
    };
    problems.or(out)
}

fn topology(term: &TopologySelectorTerm) -> TopologyTerm {
    let expressions = term.match_label_expressions.iter().flatten();
    expressions
        .map(|expression| (expression.key.clone(), expression.values.clone()))
        .collect()
}

/// Reads a CSINode.
///
/// # Errors
/// No name.
pub fn csi_node(wire: &CSINode) -> Result<CsiNodeObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let drivers = wire.spec.drivers.iter().map(|driver| CsiNodeDriver {
        name: driver.name.clone(),
        limit: driver
            .allocatable
            .as_ref()
            .and_then(|a| a.count)
            .map(i64::from),
        topology_keys: driver.topology_keys.clone().unwrap_or_default(),
    });
    let migrated = meta::annotation(&wire.metadata, MIGRATED_PLUGINS).unwrap_or_default();
    let migrated = migrated.split(',').map(str::trim);
    let out = CsiNodeObject {
        name: meta::name(&wire.metadata, &mut problems),
        drivers: drivers.collect(),
        migrated: migrated
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    problems.or(out)
}

/// Reads a CSIDriver.
///
/// # Errors
/// No name.
pub fn csi_driver(wire: &CSIDriver) -> Result<CsiDriverObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let out = CsiDriverObject {
        name: meta::name(&wire.metadata, &mut problems),
        storage_capacity: wire.spec.storage_capacity == Some(true),
    };
    problems.or(out)
}

/// Reads a CSIStorageCapacity.
///
/// # Errors
/// Every problem of the object: no name, an unreadable or negative amount, a broken selector.
pub fn csi_storage_capacity(
    wire: &CSIStorageCapacity,
) -> Result<CsiCapacityObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let maximum = Path::root("maximumVolumeSize");
    let maximum = volume::bytes(wire.maximum_volume_size.as_ref(), maximum, &mut problems);
    let capacity = Path::root("capacity");
    let capacity = volume::bytes(wire.capacity.as_ref(), capacity, &mut problems);
    let topology = Path::root("nodeTopology");
    let out = CsiCapacityObject {
        namespace: meta::namespace(&wire.metadata),
        name: meta::name(&wire.metadata, &mut problems),
        class: wire.storage_class_name.clone(),
        topology: selector::optional(wire.node_topology.as_ref(), topology, &mut problems),
        largest: maximum.or(capacity),
    };
    problems.or(out)
}

/// Reads a VolumeAttachment.
///
/// # Errors
/// No name.
pub fn volume_attachment(wire: &VolumeAttachment) -> Result<AttachmentObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let source = &wire.spec.source;
    let out = AttachmentObject {
        name: meta::name(&wire.metadata, &mut problems),
        node: wire.spec.node_name.clone(),
        volume: source.persistent_volume_name.clone().unwrap_or_default(),
    };
    problems.or(out)
}
