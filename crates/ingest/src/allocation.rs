//! The devices that a ResourceClaim has (spec/09).

use std::collections::BTreeMap;

use k8s_openapi::api::resource::v1::{AllocationResult, DeviceRequestAllocationResult};
use pumice_claims::{
    AllocatedConfig, AllocatedDevice, DeviceAllocation, DeviceConfigSource, DeviceKey, Quantity,
};
use pumice_model::object::ClaimAllocation;

use crate::affinity;
use crate::device_words::{opaque, read_quantity, tolerations};
use crate::problem::{ObjectProblems, Path};

/// More than any device has of anything.
const ALL: Quantity = Quantity::whole(1 << 62);

/// Reads what a claim has. What it takes of a device and cannot be read is all there is.
pub(crate) fn of_claim(wire: &AllocationResult, problems: &mut ObjectProblems) -> ClaimAllocation {
    let path = Path::root("status");
    let found = wire.devices.as_ref();
    let results = found.and_then(|found| found.results.as_ref());
    let mut devices = Vec::new();
    for result in results.into_iter().flatten() {
        devices.push(allocated(result, path.field("allocation"), problems));
    }
    let config = found.and_then(|found| found.config.as_ref());
    let config = config.into_iter().flatten().filter_map(|config| {
        Some(AllocatedConfig {
            source: match config.source.as_str() {
                "FromClass" => DeviceConfigSource::Class,
                _ => DeviceConfigSource::Claim,
            },
            requests: config.requests.clone().unwrap_or_default(),
            opaque: config.opaque.as_ref().map(opaque)?,
        })
    });
    let nodes = wire.node_selector.as_ref();
    ClaimAllocation {
        devices: DeviceAllocation {
            devices,
            config: config.collect(),
        },
        nodes: nodes.map(|selector| affinity::node_terms(&selector.node_selector_terms)),
    }
}

fn allocated(
    wire: &DeviceRequestAllocationResult,
    path: Path<'_>,
    problems: &mut ObjectProblems,
) -> AllocatedDevice {
    let mut consumed = BTreeMap::new();
    for (name, amount) in wire.consumed_capacity.iter().flatten() {
        let amount = read_quantity(amount, path.field(name), problems);
        consumed.insert(name.clone(), amount.unwrap_or(ALL));
    }
    AllocatedDevice {
        request: wire.request.clone(),
        key: DeviceKey {
            driver: wire.driver.clone(),
            pool: wire.pool.clone(),
            device: wire.device.clone(),
        },
        admin_access: wire.admin_access.unwrap_or_default(),
        tolerations: tolerations(wire.tolerations.as_ref()),
        share: wire.share_id.clone().map(|id| (id, consumed)),
    }
}
