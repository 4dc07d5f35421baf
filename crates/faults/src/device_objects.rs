//! Objects of resource.k8s.io on the virtual API server, and what becomes of them next.

use std::collections::BTreeMap;

use pumice_claims::{ClaimSpec, Counters, DeviceKey, DraDevice};
use pumice_model::Delta;
use pumice_model::object::{DeviceClassObject, ResourceClaimObject, SliceObject};

use super::rng::Rng;
use super::server_kind::ServerKind;

/// A claim with its resource version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionedClaim {
    /// The claim.
    pub object: ResourceClaimObject,
    /// Another one after every change, of all claims together.
    pub version: u64,
}

/// What the controller does next with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClaimDuty {
    /// It looks at it.
    Sync,
    /// It removes the finalizer, if nobody has changed the claim since that version.
    Release(u64),
}

/// A device that was published at some time, as it was last.
#[derive(Clone, Debug, Default)]
pub struct DeviceRecord {
    /// The device as it was published last.
    pub device: DraDevice,
    /// It is in the newest generation of its pool, since then.
    pub since_ms: Option<u64>,
    /// When it was published last, if it is not.
    pub last_ms: Option<u64>,
    /// When it was last without taints, if it has some.
    pub untainted_ms: Option<u64>,
}

/// All of them.
#[derive(Clone, Debug)]
pub struct DeviceObjects {
    /// Claims by `namespace/name`.
    pub claims: BTreeMap<String, VersionedClaim>,
    /// What claims of templates ask, by `namespace/name`.
    pub templates: BTreeMap<String, ClaimSpec>,
    /// DeviceClasses by name.
    pub classes: BTreeMap<String, DeviceClassObject>,
    /// ResourceSlices by name.
    pub slices: BTreeMap<String, SliceObject>,
    /// Every device that was ever published.
    pub catalog: BTreeMap<DeviceKey, DeviceRecord>,
    /// Counters by pool and name of their set; they never change.
    pub counters: BTreeMap<(String, String), Counters>,
    /// Writes of drivers to come: when, and a slice or the name of one that goes.
    pub publishing: Vec<(u64, Result<SliceObject, String>)>,
    pub(super) due_ms: BTreeMap<String, (u64, ClaimDuty)>,
    /// Pods whose claims are to be made, by UID.
    pub(super) pods_due_ms: BTreeMap<String, u64>,
    pub(super) writes: u64,
    pub(super) made: u64,
    pub(super) rng: Rng,
}

impl Default for DeviceObjects {
    fn default() -> Self {
        Self {
            claims: BTreeMap::new(),
            templates: BTreeMap::new(),
            classes: BTreeMap::new(),
            slices: BTreeMap::new(),
            catalog: BTreeMap::new(),
            counters: BTreeMap::new(),
            publishing: Vec::new(),
            due_ms: BTreeMap::new(),
            pods_due_ms: BTreeMap::new(),
            writes: 0,
            made: 0,
            rng: Rng::new(1),
        }
    }
}

impl DeviceObjects {
    /// Every object of a kind of them, as a list shows it.
    pub(super) fn list(&self, kind: ServerKind) -> BTreeMap<String, Delta> {
        let classes = self.classes.iter();
        let slices = self.slices.iter();
        let claims = self.claims.iter();
        match kind {
            ServerKind::DeviceClass => classes
                .map(|(k, o)| (k.clone(), Delta::DeviceClassApply(Box::new(o.clone()))))
                .collect(),
            ServerKind::Slice => slices
                .map(|(k, o)| (k.clone(), Delta::SliceApply(Box::new(o.clone()))))
                .collect(),
            ServerKind::ResourceClaim => claims
                .map(|(k, o)| {
                    let delta = Delta::ResourceClaimApply(Box::new(o.object.clone()));
                    (k.clone(), delta)
                })
                .collect(),
            _ => BTreeMap::new(),
        }
    }

    /// Takes down what a pool has now.
    pub(super) fn record(&mut self, pool: &str, now_ms: u64) {
        let slices = self.slices.values().filter(|slice| slice.pool == pool);
        let newest = slices.clone().map(|slice| slice.generation).max();
        let mut there: BTreeMap<DeviceKey, &DraDevice> = BTreeMap::new();
        for slice in slices.filter(|slice| Some(slice.generation) == newest) {
            for set in &slice.counters {
                let key = (pool.to_owned(), set.name.clone());
                self.counters.insert(key, set.counters.clone());
            }
            for published in &slice.devices {
                let key = DeviceKey {
                    driver: slice.driver.clone(),
                    pool: pool.to_owned(),
                    device: published.device.name.clone(),
                };
                there.insert(key, &published.device);
            }
        }
        for (key, record) in self.catalog.iter_mut().filter(|(key, _)| key.pool == pool) {
            if record.since_ms.is_some() && !there.contains_key(key) {
                (record.since_ms, record.last_ms) = (None, Some(now_ms));
                if record.device.taints.is_empty() {
                    record.untainted_ms = Some(now_ms);
                }
            }
        }
        for (key, device) in there {
            let record = self.catalog.entry(key).or_default();
            let was_clean = record.since_ms.is_some() && record.device.taints.is_empty();
            if was_clean && !device.taints.is_empty() {
                record.untainted_ms = Some(now_ms);
            }
            record.since_ms.get_or_insert(now_ms);
            record.device = device.clone();
        }
    }
}
