//! The storage side of an API server: steps before a Binding are done at once.

use std::collections::BTreeMap;

use pumice_model::object::{ClaimObject, PvObject, StorageClassObject};
use pumice_model::{Delta, VolumeStep};
use pumice_testkit::naive::volumes::{bind, provisioned};

/// Volumes, claims and classes as they are now.
#[derive(Default)]
pub struct Storage {
    volumes: BTreeMap<String, PvObject>,
    claims: BTreeMap<(String, String), ClaimObject>,
    classes: BTreeMap<String, StorageClassObject>,
}

impl Storage {
    /// What there is.
    pub fn new(objects: &[Delta]) -> Self {
        let mut storage = Self::default();
        for object in objects {
            match object.clone() {
                Delta::PvApply(volume) => {
                    storage.volumes.insert(volume.name.clone(), *volume);
                }
                Delta::PvcApply(claim) => {
                    let key = (claim.namespace.clone(), claim.name.clone());
                    storage.claims.insert(key, *claim);
                }
                Delta::StorageClassApply(class) => {
                    storage.classes.insert(class.name.clone(), *class);
                }
                _ => {}
            }
        }
        storage
    }

    /// Does a step; what a watch tells of it. A step done before does nothing.
    pub fn take(&mut self, step: &VolumeStep) -> Vec<Delta> {
        let (namespace, name) = match step {
            VolumeStep::BindVolume {
                namespace, claim, ..
            }
            | VolumeStep::SelectNode {
                namespace, claim, ..
            } => (namespace, claim),
        };
        let key = (namespace.clone(), name.clone());
        let Some(claim) = self.claims.get_mut(&key).filter(|claim| !claim.is_bound()) else {
            return Vec::new();
        };
        let volume = match step {
            VolumeStep::BindVolume { volume, .. } => volume.clone(),
            VolumeStep::SelectNode { .. } => {
                let volume = provisioned(claim, &self.classes[claim.class_name()]);
                let name = volume.name.clone();
                self.volumes.insert(name.clone(), volume);
                name
            }
        };
        bind(claim, self.volumes.get_mut(&volume));
        let volume = Delta::PvApply(Box::new(self.volumes[&volume].clone()));
        vec![Delta::PvcApply(Box::new(claim.clone())), volume]
    }
}
