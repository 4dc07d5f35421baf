//! Dynamic resource allocation: which devices a pod's claims get on a node (spec/09).
//!
//! ```text
//!  ResourceSlices ─► Device ──► Selector (CEL), once per expression and device ─► Match
//!  ResourceClaims ─► ClaimSpec ─┐                                                   │
//!                               ▼                                                   ▼
//!                   allocate(claims, pools that a node reaches, what is taken) ─► devices, or why not
//! ```
//!
//! Pure: who has what is kept by those who ask, `pumice-model` in a cluster.

mod allocate;
mod allocation;
mod capacity;
mod constraint;
mod device;
mod request;
mod selector;

pub use allocate::{
    Books, ClaimWish, GivenDevice, MAX_DEVICES_A_CLAIM, MAX_STEPS, Misfit, PoolOffer, allocate,
};
pub use allocation::{AllocatedConfig, AllocatedDevice, DeviceAllocation, DeviceConfigSource};
pub use capacity::{CapacityLack, CounterLack, consumption, counter_lack, short_of};
pub use device::{
    Attribute, CapacityPolicy, CapacityRange, CounterSet, Counters, DeviceCapacity, DeviceKey,
    DeviceTaint, DeviceToleration, DraDevice, TaintOperator, UsedCounters,
};
pub use pumice_units::quantity::{Quantity, format_bytes};
pub use request::{
    AttributeRule, ClaimConstraint, ClaimRequest, ClaimSpec, DeviceCount, RequestConfig,
    RequestedDevices,
};
pub use selector::{DeviceSelector, Match, SelectorError, SelectorSteps};
