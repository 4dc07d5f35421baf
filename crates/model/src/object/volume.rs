//! The compact form of storage objects, and of what a pod says about its volumes.

use super::{NodeTerm, Pairs, Selector};

/// Access modes as bits.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct AccessModes(pub u8);

impl AccessModes {
    /// `ReadWriteOnce`.
    pub const READ_WRITE_ONCE: Self = Self(1);
    /// `ReadOnlyMany`.
    pub const READ_ONLY_MANY: Self = Self(2);
    /// `ReadWriteMany`.
    pub const READ_WRITE_MANY: Self = Self(4);
    /// `ReadWriteOncePod`.
    pub const READ_WRITE_ONCE_POD: Self = Self(8);

    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every mode of `other` is there.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The claim a PersistentVolume is reserved for or bound to (`spec.claimRef`).
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct ClaimRef {
    /// Namespace of the claim.
    pub namespace: String,
    /// Name of the claim.
    pub name: String,
    /// UID of the claim; empty when a user reserved the volume by name.
    pub uid: String,
}

/// One volume as a CSI driver knows it.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct VolumeSource {
    /// CSI driver.
    pub driver: String,
    /// Volume handle.
    pub handle: String,
    /// In-tree plugin whose volume this is (`kubernetes.io/aws-ebs`); empty for a CSI volume. It
    /// counts only on nodes whose CSINode says that the plugin is migrated.
    pub migrated_from: String,
}

/// A PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PvObject {
    /// Name, unique in the cluster.
    pub name: String,
    /// Labels of the PersistentVolume.
    pub labels: Pairs,
    /// Storage class, empty for none.
    pub class: String,
    /// `spec.capacity.storage` in bytes.
    pub capacity: i64,
    /// Access modes.
    pub modes: AccessModes,
    /// `spec.volumeMode: Block`.
    pub block: bool,
    /// `spec.volumeAttributesClassName`, empty for none.
    pub attributes_class: String,
    /// `spec.nodeAffinity.required`: any term must match; `None` when it can be used everywhere.
    pub node_affinity: Option<Vec<NodeTerm>>,
    /// `spec.claimRef`.
    pub claim: Option<ClaimRef>,
    /// `status.phase` is `Available`.
    pub available: bool,
    /// A deletion timestamp is set.
    pub deleting: bool,
    /// What a CSI driver calls it; `None` when no driver attaches it.
    pub source: Option<VolumeSource>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClaimObject {
    /// Namespace of the PersistentVolumeClaim.
    pub namespace: String,
    /// Name of the PersistentVolumeClaim.
    pub name: String,
    /// UID; `namespace/name` where absent.
    pub uid: String,
    /// Storage class; `None` when the claim does not say, which is not the same as naming none.
    pub class: Option<String>,
    /// `spec.resources.requests.storage` in bytes; 0 when absent.
    pub request: i64,
    /// Access modes.
    pub modes: AccessModes,
    /// `spec.volumeMode: Block`.
    pub block: bool,
    /// `spec.volumeAttributesClassName`, empty for none.
    pub attributes_class: String,
    /// `spec.selector`.
    pub selector: Option<Selector>,
    /// `spec.volumeName`, empty while unbound.
    pub volume: String,
    /// Annotation `pv.kubernetes.io/bind-completed` is there.
    pub bind_completed: bool,
    /// Annotation `volume.kubernetes.io/selected-node`.
    pub selected_node: Option<String>,
    /// `status.phase` is `Lost`.
    pub lost: bool,
    /// A deletion timestamp is set.
    pub deleting: bool,
    /// UID of the controlling owner, empty for none.
    pub owner_uid: String,
}

impl ClaimObject {
    /// Name of its storage class, empty for none.
    pub fn class_name(&self) -> &str {
        self.class.as_deref().unwrap_or_default()
    }

    /// Bound, and the PersistentVolume controller has finished with it.
    pub fn is_bound(&self) -> bool {
        !self.volume.is_empty() && self.bind_completed
    }
}

/// One term of `allowedTopologies`: every label key has one of its values.
pub type TopologyTerm = Vec<(String, Vec<String>)>;

/// A StorageClass.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StorageClassObject {
    /// Name of the StorageClass.
    pub name: String,
    /// Provisioner that makes volumes of the class.
    pub provisioner: String,
    /// Parameter `csi.storage.k8s.io/csi-driver-name`, else the provisioner: the driver whose
    /// limit new volumes count against.
    pub driver: String,
    /// In-tree plugin that is the provisioner, empty for none.
    pub migrated_from: String,
    /// `volumeBindingMode: WaitForFirstConsumer`.
    pub delayed: bool,
    /// `allowedTopologies`: any term; empty allows every node.
    pub topologies: Vec<TopologyTerm>,
    /// Annotation `storageclass.kubernetes.io/is-default-class`.
    pub is_default: bool,
}

/// A CSI driver on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CsiNodeDriver {
    /// Driver.
    pub name: String,
    /// `allocatable.count`: most volumes of this driver; `None` is unlimited.
    pub limit: Option<i64>,
    /// Node labels that describe where volumes of this driver can be used.
    pub topology_keys: Vec<String>,
}

/// A CSINode.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CsiNodeObject {
    /// Name of the node.
    pub name: String,
    /// Drivers registered there.
    pub drivers: Vec<CsiNodeDriver>,
    /// Annotation `storage.alpha.kubernetes.io/migrated-plugins`.
    pub migrated: Vec<String>,
}

/// A CSIDriver.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CsiDriverObject {
    /// Name of the CSIDriver.
    pub name: String,
    /// `spec.storageCapacity`: provisioning asks for a CSIStorageCapacity with room.
    pub storage_capacity: bool,
}

/// A CSIStorageCapacity.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CsiCapacityObject {
    /// Namespace of the CSIStorageCapacity.
    pub namespace: String,
    /// Name of the CSIStorageCapacity.
    pub name: String,
    /// Storage class.
    pub class: String,
    /// `nodeTopology`; `None` means no node has access.
    pub topology: Option<Selector>,
    /// `maximumVolumeSize`, else `capacity`, in bytes; `None` means no room.
    pub largest: Option<i64>,
}

/// A VolumeAttachment.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AttachmentObject {
    /// Name of the VolumeAttachment.
    pub name: String,
    /// Node that the volume is attached to.
    pub node: String,
    /// `spec.source.persistentVolumeName`.
    pub volume: String,
}

/// A claim a pod mounts.
#[derive(
    Clone,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    serde::Serialize,
    serde::Deserialize,
)]
pub struct PodClaim {
    /// Name of the claim in the pod's namespace.
    pub name: String,
    /// From a generic ephemeral volume: the claim must be the pod's own.
    pub ephemeral: bool,
}

/// An in-line disk that may exclude others on the same node (VolumeRestrictions).
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub enum Disk {
    /// `gcePersistentDisk`.
    GcePersistentDisk {
        /// `pdName`.
        name: String,
        /// `readOnly`.
        read_only: bool,
    },
    /// `awsElasticBlockStore`.
    AwsElasticBlockStore {
        /// `volumeID`.
        id: String,
    },
    /// `iscsi`.
    Iscsi {
        /// `iqn`.
        iqn: String,
        /// `readOnly`.
        read_only: bool,
    },
    /// `rbd`.
    Rbd {
        /// `monitors`.
        monitors: Vec<String>,
        /// `pool`.
        pool: String,
        /// `image`.
        image: String,
        /// `readOnly`.
        read_only: bool,
    },
}

impl Disk {
    /// Whether two pods with these disks cannot be on one node (spec/02 §6.8).
    pub fn conflicts(&self, other: &Self) -> bool {
        use Disk::{AwsElasticBlockStore, GcePersistentDisk, Iscsi, Rbd};
        match (self, other) {
            (
                GcePersistentDisk { name: l, read_only },
                GcePersistentDisk {
                    name: r,
                    read_only: too,
                },
            ) => l == r && !(*read_only && *too),
            (AwsElasticBlockStore { id: l }, AwsElasticBlockStore { id: r }) => l == r,
            (
                Iscsi { iqn: l, read_only },
                Iscsi {
                    iqn: r,
                    read_only: too,
                },
            ) => l == r && !(*read_only && *too),
            (
                Rbd {
                    monitors,
                    pool,
                    image,
                    read_only,
                },
                Rbd {
                    monitors: other_monitors,
                    pool: other_pool,
                    image: other_image,
                    read_only: too,
                },
            ) => {
                (pool, image) == (other_pool, other_image)
                    && monitors.iter().any(|m| other_monitors.contains(m))
                    && !(*read_only && *too)
            }
            _ => false,
        }
    }
}
