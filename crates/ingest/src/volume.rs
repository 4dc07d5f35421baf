//! PersistentVolumes and what pods mount (spec/02 §6.8).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeSpec, PodSpec, Volume};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as WireQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_model::object::{
    AccessModes, ClaimRef, Disk, PodClaim, PodObject, PvObject, VolumeSource,
};
use pumice_units::quantity;

use crate::problem::{ObjectProblem, ObjectProblems, Path};
use crate::{affinity, meta};

/// Pool of an RBD volume that names none.
const RBD_POOL: &str = "rbd";

/// In-tree plugins whose volumes CSI drivers have taken over: plugin and driver.
const MIGRATED: [(&str, &str); 5] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// The CSI driver of a provisioner, and the in-tree plugin that it is, or nothing.
pub(crate) fn driver_of(provisioner: &str) -> (&str, &str) {
    let migrated = MIGRATED.iter().find(|(plugin, _)| *plugin == provisioner);
    migrated.map_or((provisioner, ""), |(plugin, driver)| (driver, plugin))
}

/// A volume of the in-tree plugin at this place of [`MIGRATED`].
fn migrated(at: usize, handle: &str) -> VolumeSource {
    let (plugin, driver) = MIGRATED[at];
    VolumeSource {
        driver: driver.to_owned(),
        handle: handle.to_owned(),
        migrated_from: plugin.to_owned(),
    }
}

/// Reads a PersistentVolume.
///
/// # Errors
/// Every problem of the volume: no name, an unreadable or negative capacity.
pub fn persistent_volume(wire: &PersistentVolume) -> Result<PvObject, Vec<ObjectProblem>> {
    let mut problems = ObjectProblems::default();
    let nothing = PersistentVolumeSpec::default();
    let spec = wire.spec.as_ref().unwrap_or(&nothing);
    let path = Path::root("spec");
    let required = spec
        .node_affinity
        .as_ref()
        .and_then(|a| a.required.as_ref());
    let phase = wire.status.as_ref().and_then(|s| s.phase.as_deref());
    let claim = spec.claim_ref.as_ref().map(|claim| ClaimRef {
        namespace: claim.namespace.clone().unwrap_or_default(),
        name: claim.name.clone().unwrap_or_default(),
        uid: claim.uid.clone().unwrap_or_default(),
    });
    let out = PvObject {
        name: meta::name(&wire.metadata, &mut problems),
        labels: meta::pairs(wire.metadata.labels.as_ref()),
        class: class(&wire.metadata, spec.storage_class_name.as_ref()).unwrap_or_default(),
        capacity: storage(
            spec.capacity.as_ref(),
            path.field("capacity"),
            &mut problems,
        ),
        modes: access_modes(spec.access_modes.as_deref()),
        block: spec.volume_mode.as_deref() == Some("Block"),
        attributes_class: spec
            .volume_attributes_class_name
            .clone()
            .unwrap_or_default(),
        node_affinity: required.map(|required| affinity::node_terms(&required.node_selector_terms)),
        // A volume written by hand has no phase until the controller has seen it.
        available: matches!(phase, Some("Available")) || (phase.is_none() && claim.is_none()),
        claim,
        deleting: wire.metadata.deletion_timestamp.is_some(),
        source: source(spec),
    };
    problems.or(out)
}

fn source(spec: &PersistentVolumeSpec) -> Option<VolumeSource> {
    if let Some(csi) = &spec.csi {
        return Some(VolumeSource {
            driver: csi.driver.clone(),
            handle: csi.volume_handle.clone(),
            migrated_from: String::new(),
        });
    }
    let ebs = spec.aws_elastic_block_store.as_ref();
    let gce = spec.gce_persistent_disk.as_ref();
    let azure = spec.azure_disk.as_ref();
    let cinder = spec.cinder.as_ref();
    let portworx = spec.portworx_volume.as_ref();
    ebs.map(|v| migrated(0, &v.volume_id))
        .or_else(|| gce.map(|v| migrated(1, &v.pd_name)))
        .or_else(|| azure.map(|v| migrated(2, &v.disk_uri)))
        .or_else(|| cinder.map(|v| migrated(3, &v.volume_id)))
        .or_else(|| portworx.map(|v| migrated(4, &v.volume_id)))
}

/// Storage class by its old annotation, else its field.
pub(crate) fn class(wire: &ObjectMeta, field: Option<&String>) -> Option<String> {
    let annotated = meta::annotation(wire, "volume.beta.kubernetes.io/storage-class");
    annotated.map(str::to_owned).or_else(|| field.cloned())
}

/// Modes by name; one that does not exist is none.
pub(crate) fn access_modes(wire: Option<&[String]>) -> AccessModes {
    let mode = |name: &String| match name.as_str() {
        "ReadWriteOnce" => AccessModes::READ_WRITE_ONCE,
        "ReadOnlyMany" => AccessModes::READ_ONLY_MANY,
        "ReadWriteMany" => AccessModes::READ_WRITE_MANY,
        "ReadWriteOncePod" => AccessModes::READ_WRITE_ONCE_POD,
        _ => AccessModes::default(),
    };
    let modes = wire.unwrap_or_default().iter().map(mode);
    modes.fold(AccessModes::default(), AccessModes::and)
}

/// Amount of `storage` in bytes, 0 when absent.
pub(crate) fn storage(
    list: Option<&BTreeMap<String, WireQuantity>>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> i64 {
    let amount = list.and_then(|list| list.get("storage"));
    bytes(amount, path.field("storage"), problems).unwrap_or(0)
}

/// A quantity of bytes.
pub(crate) fn bytes(
    wire: Option<&WireQuantity>,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> Option<i64> {
    match quantity::parse(&wire?.0) {
        Ok(amount) if amount.is_negative() => {
            let message = format!("{:?} is negative", wire?.0);
            problems.add(path, message, "write 0 or more, for example \"10Gi\"");
            None
        }
        Ok(amount) => Some(amount.whole_ceil()),
        Err(error) => {
            problems.add(path, error.what(), error.help());
            None
        }
    }
}

/// Name of the claim behind a generic ephemeral volume.
pub(crate) fn ephemeral_name(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

/// What a pod mounts: claims, disks, and volumes that count against limits.
pub(crate) fn mounts(out: &mut PodObject, spec: &PodSpec) {
    for volume in spec.volumes.iter().flatten() {
        let claim = if let Some(claim) = &volume.persistent_volume_claim {
            PodClaim {
                name: claim.claim_name.clone(),
                ephemeral: false,
            }
        } else if volume.ephemeral.is_some() {
            PodClaim {
                name: ephemeral_name(&out.name, &volume.name),
                ephemeral: true,
            }
        } else {
            out.disks.extend(disk(volume));
            out.inline_volumes.extend(inline(volume));
            continue;
        };
        if !out.claims.contains(&claim) {
            out.claims.push(claim);
        }
    }
}

fn disk(volume: &Volume) -> Option<Disk> {
    if let Some(disk) = &volume.gce_persistent_disk {
        return Some(Disk::GcePersistentDisk {
            name: disk.pd_name.clone(),
            read_only: disk.read_only == Some(true),
        });
    }
    if let Some(disk) = &volume.aws_elastic_block_store {
        let id = disk.volume_id.clone();
        return Some(Disk::AwsElasticBlockStore { id });
    }
    if let Some(disk) = &volume.iscsi {
        return Some(Disk::Iscsi {
            iqn: disk.iqn.clone(),
            read_only: disk.read_only == Some(true),
        });
    }
    let disk = volume.rbd.as_ref()?;
    Some(Disk::Rbd {
        monitors: disk.monitors.clone(),
        pool: disk.pool.clone().unwrap_or_else(|| RBD_POOL.to_owned()),
        image: disk.image.clone(),
        read_only: disk.read_only == Some(true),
    })
}

fn inline(volume: &Volume) -> Option<VolumeSource> {
    let ebs = volume.aws_elastic_block_store.as_ref();
    let gce = volume.gce_persistent_disk.as_ref();
    let azure = volume.azure_disk.as_ref();
    let cinder = volume.cinder.as_ref();
    let portworx = volume.portworx_volume.as_ref();
    ebs.map(|v| migrated(0, &v.volume_id))
        .or_else(|| gce.map(|v| migrated(1, &v.pd_name)))
        .or_else(|| azure.map(|v| migrated(2, &v.disk_uri)))
        .or_else(|| cinder.map(|v| migrated(3, &v.volume_id)))
        .or_else(|| portworx.map(|v| migrated(4, &v.volume_id)))
}
