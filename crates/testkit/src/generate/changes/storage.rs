//! What happens to storage.

use pumice_model::delta::Delta;
use pumice_model::object::AccessModes;

use super::{Changing, Kind};

impl Changing {
    /// A volume, a claim or a class becomes another or goes.
    pub(super) fn change_storage(&mut self) -> Vec<Delta> {
        let kind = self.rng.pick(&[
            Kind::Claim,
            Kind::Claim,
            Kind::Volume,
            Kind::StorageClass,
            Kind::CsiNode,
            Kind::CsiDriver,
            Kind::Capacity,
            Kind::Attachment,
        ]);
        let Some(name) = self.any(kind) else {
            return Vec::new();
        };
        let removes = self.rng.one_in(3);
        match self.objects.get(&(kind, name.clone())).cloned() {
            Some(Delta::PvcApply(mut claim)) if !removes => {
                match self.rng.below(4) {
                    0 => claim.deleting = !claim.deleting,
                    1 => claim.selected_node = Some(self.rng.pick(&["n0", "n1"]).to_owned()),
                    2 => claim.selected_node = None,
                    _ => claim.modes = AccessModes::READ_WRITE_ONCE_POD,
                }
                vec![self.put(Delta::PvcApply(claim))]
            }
            Some(Delta::PvApply(mut volume)) if !removes => {
                match self.rng.below(3) {
                    0 => volume.available = volume.claim.is_none(),
                    1 => volume.capacity = 4 << 30,
                    _ => volume.node_affinity = None,
                }
                vec![self.put(Delta::PvApply(volume))]
            }
            Some(Delta::CsiNodeApply(mut node)) if !removes => {
                let limit = self.rng.pick(&[None, Some(1), Some(3)]);
                node.drivers
                    .iter_mut()
                    .for_each(|driver| driver.limit = limit);
                vec![self.put(Delta::CsiNodeApply(node))]
            }
            _ => self.remove(kind, &name),
        }
    }
}
