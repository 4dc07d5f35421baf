//! Who gives devices to the claims of a cluster, each once.

use std::collections::BTreeSet;

use pumice_claims::{
    AllocatedDevice, ClaimSpec, DeviceAllocation, DeviceCapacity, DeviceKey, DraDevice, Quantity,
};
use pumice_model::Delta;
use pumice_model::object::{ClaimAllocation, NodeAccess, NodeTerm};

use super::rng::Rng;

/// Devices that others have given out.
#[derive(Default)]
pub(super) struct Giver {
    /// Devices with how they are reached, by name.
    devices: Vec<(DeviceKey, NodeAccess, DraDevice)>,
    taken: BTreeSet<DeviceKey>,
}

impl Giver {
    /// Devices of the slices that were told, without what the claims among them have.
    pub(super) fn new(told: &[Delta]) -> Self {
        let mut giver = Self::default();
        for object in told {
            if let Delta::ResourceClaimApply(claim) = object {
                let has = claim.allocation.iter().flat_map(|has| &has.devices.devices);
                giver.taken.extend(has.map(|device| device.key.clone()));
            }
            let Delta::SliceApply(slice) = object else {
                continue;
            };
            for published in &slice.devices {
                let key = DeviceKey {
                    driver: slice.driver.clone(),
                    pool: slice.pool.clone(),
                    device: published.device.name.clone(),
                };
                let access = match &slice.access {
                    NodeAccess::PerDevice => published.access.clone(),
                    access => access.clone(),
                };
                giver.devices.push((key, access, published.device.clone()));
            }
        }
        giver
    }

    /// One device, perhaps of this node, for the first request.
    pub(super) fn give(
        &mut self,
        rng: &mut Rng,
        spec: &ClaimSpec,
        node: Option<&str>,
    ) -> Option<ClaimAllocation> {
        let near = |access: &NodeAccess| match access {
            NodeAccess::Node(name) => node.is_none_or(|node| node == name),
            _ => true,
        };
        let free = self.devices.iter().filter(|(key, access, device)| {
            near(access) && (device.shared || !self.taken.contains(key))
        });
        let free: Vec<_> = free.cloned().collect();
        if free.is_empty() || rng.one_in(8) {
            return None;
        }
        let (key, access, device) = rng.pick(&free);
        self.taken.insert(key.clone());
        let request = &spec.requests[0];
        let choice = &request.choices[0];
        let share = device.shared.then(|| {
            let part = |(name, all): (&String, &DeviceCapacity)| {
                let part = all.value.as_whole().unwrap_or(0).min(rng.pick(&[1, 2, 4]));
                (name.clone(), Quantity::whole(part))
            };
            let parts = device.capacity.iter().map(part).collect();
            ("share".to_owned(), parts)
        });
        let nodes = match access {
            NodeAccess::Node(name) => Some(vec![NodeTerm {
                fields: vec![(true, name)],
                ..NodeTerm::default()
            }]),
            NodeAccess::Selected(terms) => Some(terms),
            _ => None,
        };
        Some(ClaimAllocation {
            devices: DeviceAllocation {
                devices: vec![AllocatedDevice {
                    request: request.name_of(0),
                    key,
                    admin_access: choice.admin_access,
                    tolerations: choice.tolerations.clone(),
                    share,
                }],
                config: Vec::new(),
            },
            nodes,
        })
    }
}
