//! The compact form of what resource.k8s.io tells: claims of devices, classes and slices.

use pumice_claims::{ClaimSpec, CounterSet, DeviceAllocation, DeviceKey, DeviceTaint, DraDevice};

use super::NodeTerm;

/// From which nodes devices can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum NodeAccess {
    /// None that is known: nothing the API has today was set.
    #[default]
    Nowhere,
    /// `nodeName`.
    Node(String),
    /// `allNodes`.
    Everywhere,
    /// `nodeSelector`: any term must match.
    Selected(Vec<NodeTerm>),
    /// `perDeviceNodeSelection`: each device says.
    PerDevice,
}

/// A device in a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct PublishedDevice {
    /// What the driver tells of the device.
    pub device: DraDevice,
    /// Where it can be reached, if the slice leaves that to its devices.
    pub access: NodeAccess,
}

/// A ResourceSlice.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SliceObject {
    /// Name of the ResourceSlice.
    pub name: String,
    /// DRA driver.
    pub driver: String,
    /// Name of the pool.
    pub pool: String,
    /// Generation of the pool that the slice belongs to.
    pub generation: i64,
    /// Slices the pool has in that generation.
    pub slice_count: i64,
    /// Where its devices can be reached.
    pub access: NodeAccess,
    /// Devices that the slice tells of.
    pub devices: Vec<PublishedDevice>,
    /// `sharedCounters`.
    pub counters: Vec<CounterSet>,
}

/// A DeviceClass.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DeviceClassObject {
    /// Name of the DeviceClass.
    pub name: String,
    /// CEL expressions; all must hold.
    pub selectors: Vec<String>,
    /// Configuration for drivers: `opaque` of each, as JSON.
    pub config: Vec<String>,
    /// `extendedResourceName`: requests of this resource may be served by devices of the class.
    #[serde(default)]
    pub extended_resource: Option<String>,
}

/// Devices that a DeviceTaintRule selects: of all names that are there.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TaintedDevices {
    /// DRA driver.
    pub driver: Option<String>,
    /// Name of the pool.
    pub pool: Option<String>,
    /// Name of the device within its pool.
    pub device: Option<String>,
}

/// A DeviceTaintRule.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TaintRuleObject {
    /// Name of the DeviceTaintRule.
    pub name: String,
    /// Which devices it is about; `None` for none.
    pub devices: Option<TaintedDevices>,
    /// What they get.
    pub taint: DeviceTaint,
}

impl TaintRuleObject {
    /// Some devices of a pool may be selected.
    pub fn selects_of(&self, driver: &str, pool: &str) -> bool {
        self.devices.as_ref().is_some_and(|devices| {
            let is = |wanted: &Option<String>, name: &str| {
                wanted.as_deref().is_none_or(|wanted| wanted == name)
            };
            is(&devices.driver, driver) && is(&devices.pool, pool)
        })
    }

    /// A device is selected.
    pub fn selects(&self, device: &DeviceKey) -> bool {
        let DeviceKey {
            driver,
            pool,
            device,
        } = device;
        let wanted = self.devices.as_ref().and_then(|all| all.device.as_ref());
        self.selects_of(driver, pool) && wanted.is_none_or(|wanted| wanted == device)
    }
}

/// `status.allocation` of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ClaimAllocation {
    /// Devices and their configuration.
    pub devices: DeviceAllocation,
    /// `nodeSelector`: any term must match; `None` for every node.
    pub nodes: Option<Vec<NodeTerm>>,
}

/// A ResourceClaim.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ResourceClaimObject {
    /// Namespace of the ResourceClaim.
    pub namespace: String,
    /// Name of the ResourceClaim.
    pub name: String,
    /// UID; `namespace/name` where absent.
    pub uid: String,
    /// UID of the controlling owner, empty for none.
    pub owner_uid: String,
    /// What it asks for.
    pub spec: ClaimSpec,
    /// What it has got.
    pub allocation: Option<ClaimAllocation>,
    /// UIDs of `status.reservedFor`: pods and groups that may use it.
    pub reserved_for: Vec<String>,
    /// The finalizer `resource.kubernetes.io/delete-protection` is there.
    pub is_protected: bool,
    /// A deletion timestamp is set.
    pub deleting: bool,
    /// Resource version, which grows with every write on the API server; 0 if it is not known.
    #[serde(default)]
    pub version: u64,
}

impl ResourceClaimObject {
    /// Whether another version of the claim is the same in all that counts.
    pub fn says_what(&self, other: &Self) -> bool {
        let told = |claim: &Self| (claim.is_protected, claim.deleting);
        self.uid == other.uid
            && self.owner_uid == other.owner_uid
            && told(self) == told(other)
            && self.reserved_for == other.reserved_for
            && self.allocation == other.allocation
            && self.spec == other.spec
    }
}

/// A claim with devices that a pod was let in, on the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct WrittenClaim {
    /// Namespace of the claim.
    pub namespace: String,
    /// Name.
    pub claim: String,
    /// Resource version of the claim once the pod was let in.
    pub version: u64,
}

/// One entry of `spec.resourceClaims` of a pod, or of a PodGroup of Kubernetes itself.
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
pub struct PodResourceClaim {
    /// Name of the claim within the pod or group.
    pub entry: String,
    /// Name of the ResourceClaim in the pod's namespace; `None` while none was made from the template, and always in an entry
    /// of a group with a template: each pod is told the name itself.
    pub claim: Option<String>,
    /// The ResourceClaimTemplate it is made from, if it is: it must be the pod's own then, or that of its group.
    pub template: Option<String>,
}
