//! Devices as drivers publish them in ResourceSlices.

use std::collections::BTreeMap;

use pumice_units::quantity::Quantity;

/// Which device: names of its driver, its pool and itself.
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
pub struct DeviceKey {
    /// DRA driver.
    pub driver: String,
    /// Pool of the driver.
    pub pool: String,
    /// Device in the pool.
    pub device: String,
}

impl std::fmt::Display for DeviceKey {
    /// `driver/pool/device`, as Kubernetes writes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}/{}", self.driver, self.pool, self.device)
    }
}

/// Value of an attribute.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum Attribute {
    /// `bool`.
    Bool(bool),
    /// `int`.
    Int(i64),
    /// `string`.
    Text(String),
    /// `version`, by semantic versioning 2.0.0.
    Version(String),
}

impl std::fmt::Display for Attribute {
    /// The value alone.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(text) | Self::Version(text) => f.write_str(text),
        }
    }
}

/// How much of a capacity a request may have (`requestPolicy`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct CapacityPolicy {
    /// What a request gets that does not say.
    pub default: Option<Quantity>,
    /// Allowed amounts, ascending; empty where there is no such list.
    pub values: Vec<Quantity>,
    /// Allowed amounts as a range.
    pub range: Option<CapacityRange>,
}

/// `validRange` of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct CapacityRange {
    /// Least.
    pub min: Quantity,
    /// Most.
    pub max: Option<Quantity>,
    /// Distance between allowed amounts, counted from the least.
    pub step: Option<Quantity>,
}

/// One capacity of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct DeviceCapacity {
    /// How much there is.
    pub value: Quantity,
    /// How it is shared out; only of devices that several claims may have.
    pub policy: Option<CapacityPolicy>,
}

/// Amounts by name of the counter.
pub type Counters = BTreeMap<String, Quantity>;

/// Counters that the devices of a pool share.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CounterSet {
    /// Name within the pool.
    pub name: String,
    /// How much there is.
    pub counters: Counters,
}

/// What a device uses of a counter set while somebody has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct UsedCounters {
    /// Name of the set.
    pub set: String,
    /// How much.
    pub counters: Counters,
}

/// Taint of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct DeviceTaint {
    /// Key by which tolerations name the taint.
    pub key: String,
    /// Value, empty for none.
    pub value: String,
    /// `NoSchedule`, `NoExecute`; others have no effect here.
    pub effect: String,
}

impl DeviceTaint {
    /// It keeps claims away that do not tolerate it.
    pub fn repels(&self) -> bool {
        matches!(self.effect.as_str(), "NoSchedule" | "NoExecute")
    }
}

/// How a toleration compares.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
pub enum TaintOperator {
    /// Same value.
    #[default]
    Equal,
    /// Any value.
    Exists,
    /// An operator that is not known tolerates nothing.
    Unknown,
}

/// A toleration of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct DeviceToleration {
    /// Key; empty for every one.
    pub key: String,
    /// How the value is compared.
    pub operator: TaintOperator,
    /// Value that the taint must have, where the operator is `Equal`.
    pub value: String,
    /// Effect; empty for every one.
    pub effect: String,
    /// `tolerationSeconds`, handed on.
    pub seconds: Option<i64>,
}

impl DeviceToleration {
    /// Whether a taint is tolerated.
    pub fn tolerates(&self, taint: &DeviceTaint) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key.is_empty() || self.key == taint.key;
        let value = match self.operator {
            TaintOperator::Equal => self.value == taint.value,
            TaintOperator::Exists => true,
            TaintOperator::Unknown => false,
        };
        effect && key && value
    }
}

/// A device that a driver offers in a ResourceSlice.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DraDevice {
    /// Name within its pool.
    pub name: String,
    /// Attributes by qualified name: `domain/id`, or `id` where the domain is the driver's.
    pub attributes: BTreeMap<String, Attribute>,
    /// Capacities, named alike.
    pub capacity: BTreeMap<String, DeviceCapacity>,
    /// Taints that keep away claims which do not tolerate them.
    pub taints: Vec<DeviceTaint>,
    /// Counters it uses while somebody has it.
    pub uses: Vec<UsedCounters>,
    /// `allowMultipleAllocations`: several claims may have it, each a part of its capacity.
    pub shared: bool,
    /// It has `bindingConditions`, which somebody would have to wait for.
    pub has_binding_conditions: bool,
}

impl DraDevice {
    /// The attribute with a fully qualified name: as it is written, or without the domain where that is
    /// the driver's.
    pub fn attribute(&self, driver: &str, name: &str) -> Option<&Attribute> {
        if let Some(found) = self.attributes.get(name) {
            return Some(found);
        }
        let (domain, id) = name.split_once('/')?;
        let own = domain == driver;
        own.then(|| self.attributes.get(id)).flatten()
    }

    /// A taint against which none of the tolerations helps.
    pub fn repelled_by(&self, tolerations: &[DeviceToleration]) -> Option<&DeviceTaint> {
        let mut taints = self.taints.iter().filter(|taint| taint.repels());
        taints.find(|taint| !tolerations.iter().any(|t| t.tolerates(taint)))
    }
}
