//! What a ResourceClaim asks for.

use std::collections::BTreeMap;

use pumice_units::quantity::Quantity;

use crate::device::DeviceToleration;

/// How many devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum DeviceCount {
    /// So many.
    Exactly(u64),
    /// All that match, at least one.
    All,
}

/// Devices of one kind: a request with `exactly`, or one alternative of `firstAvailable`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RequestedDevices {
    /// Name of the alternative; empty where there is only one.
    pub name: String,
    /// DeviceClass.
    pub class: String,
    /// Further CEL expressions; all must hold.
    pub selectors: Vec<String>,
    /// How many.
    pub count: DeviceCount,
    /// `adminAccess`: devices that others have may be given as well.
    pub admin_access: bool,
    /// Taints that do not matter.
    pub tolerations: Vec<DeviceToleration>,
    /// How much of capacities, by name.
    pub capacity: BTreeMap<String, Quantity>,
}

/// One request of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ClaimRequest {
    /// Name of the request.
    pub name: String,
    /// What would do, best first; one unless it has `firstAvailable`, none if neither is known.
    pub choices: Vec<RequestedDevices>,
}

impl ClaimRequest {
    /// Name of a choice in results: `request`, `request/alternative`.
    pub fn name_of(&self, choice: usize) -> String {
        match self.choices[choice].name.as_str() {
            "" => self.name.clone(),
            alternative => format!("{}/{alternative}", self.name),
        }
    }
}

/// What a constraint says of an attribute.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum AttributeRule {
    /// `matchAttribute`: all devices have the same value.
    Same(String),
    /// `distinctAttribute`: each device has a value of its own.
    Distinct(String),
    /// A rule that is not known.
    Unknown,
}

/// A constraint over the devices of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ClaimConstraint {
    /// Requests (`request`, `request/alternative`) it is about; empty for all.
    pub requests: Vec<String>,
    /// What it says.
    pub rule: AttributeRule,
}

impl ClaimConstraint {
    /// Whether it is about an alternative of a request.
    pub fn is_about(&self, request: &ClaimRequest, choice: usize) -> bool {
        self.requests.is_empty()
            || self.requests.contains(&request.name)
            || self.requests.contains(&request.name_of(choice))
    }
}

/// Configuration for a driver, handed on with the allocation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct RequestConfig {
    /// Requests it is about; empty for all.
    pub requests: Vec<String>,
    /// `opaque`, as JSON.
    pub opaque: String,
}

/// `spec.devices` of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ClaimSpec {
    /// Requests for devices, in the order in which they are given devices.
    pub requests: Vec<ClaimRequest>,
    /// Constraints that devices of several requests must keep together.
    pub constraints: Vec<ClaimConstraint>,
    /// Configuration.
    pub config: Vec<RequestConfig>,
}

impl ClaimSpec {
    /// Bytes of all selectors of all requests and their alternatives.
    pub fn selector_bytes(&self) -> usize {
        let choices = self.requests.iter().flat_map(|request| &request.choices);
        let selectors = choices.flat_map(|choice| &choice.selectors);
        selectors.map(String::len).sum()
    }
}
