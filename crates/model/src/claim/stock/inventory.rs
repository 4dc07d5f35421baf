//! Devices that drivers publish: slices gathered to pools, pools by the nodes that reach them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pumice_claims::{CounterSet, DeviceKey, DraDevice, PoolOffer};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ix::NodeIx;
use crate::node::Nodes;
use crate::object::{NodeAccess, NodeTerm, SliceObject, TaintRuleObject};
use crate::volume::{ReachIx, ReachLimits, Reaches};

use super::taint_rules::TaintRules;

type PoolKey = (String, String);

/// From where some devices of a pool are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PartReach {
    Node(String),
    Everywhere,
    Selected(ReachIx, Vec<NodeTerm>),
}

/// Devices of a pool with the same reach.
#[derive(Clone)]
struct PoolPart {
    reach: PartReach,
    devices: Vec<u32>,
}

/// A pool in its newest generation.
#[derive(Clone)]
struct DevicePool {
    is_complete: bool,
    is_valid: bool,
    counters: Vec<CounterSet>,
    parts: Vec<PoolPart>,
}

#[derive(Clone)]
struct KnownDevice {
    key: DeviceKey,
    /// As it is published now.
    device: Option<Arc<DraDevice>>,
    /// The node that alone reaches it, if it is so.
    local_to: Option<String>,
}

/// All devices.
#[derive(Clone, Default)]
pub struct Inventory {
    slices: BTreeMap<String, SliceObject>,
    /// Names of slices by pool.
    of_pool: BTreeMap<PoolKey, BTreeSet<String>>,
    pools: BTreeMap<PoolKey, DevicePool>,
    /// Pools with devices of one node.
    by_node: FxHashMap<String, BTreeSet<PoolKey>>,
    /// Pools with devices that several nodes reach.
    wide: BTreeSet<PoolKey>,
    devices: Vec<KnownDevice>,
    numbers: FxHashMap<DeviceKey, u32>,
    stale: BTreeSet<PoolKey>,
    /// Taints besides those in slices.
    pub taint_rules: TaintRules,
    /// Names of capacities, each with the number of devices in slices that have it.
    capacities: BTreeMap<String, u32>,
}

fn pool_of(slice: &SliceObject) -> PoolKey {
    (slice.driver.clone(), slice.pool.clone())
}

/// Names of the capacities that each device of a slice has.
fn capacities_of(slice: &SliceObject) -> impl Iterator<Item = &String> {
    let devices = slice.devices.iter();
    devices.flat_map(|published| published.device.capacity.keys())
}

impl Inventory {
    /// Some device in a slice has a capacity with this name.
    pub fn has_capacity(&self, name: &str) -> bool {
        self.capacities.contains_key(name)
    }

    /// Names of capacities of which some device has each.
    pub fn capacity_names(&self) -> Vec<String> {
        self.capacities.keys().cloned().collect()
    }

    /// Number of a device, which it keeps for ever.
    pub fn number(&mut self, key: &DeviceKey) -> u32 {
        if let Some(&number) = self.numbers.get(key) {
            return number;
        }
        let number = self.devices.len() as u32;
        self.devices.push(KnownDevice {
            key: key.clone(),
            device: None,
            local_to: None,
        });
        self.numbers.insert(key.clone(), number);
        number
    }

    /// How many numbers there are.
    pub fn device_count(&self) -> usize {
        self.devices.len()
    }

    /// Which device it is.
    pub fn key(&self, device: u32) -> &DeviceKey {
        &self.devices[device as usize].key
    }

    /// The node that alone reaches it; `None` if several do.
    pub fn local_to(&self, device: u32) -> Option<&str> {
        self.devices[device as usize].local_to.as_deref()
    }

    /// Some devices are reached by several nodes.
    pub fn has_wide(&self) -> bool {
        !self.wide.is_empty()
    }

    /// A device that is published.
    pub fn published(&self, device: u32) -> Option<(&DeviceKey, &DraDevice)> {
        let known = &self.devices[device as usize];
        Some((&known.key, known.device.as_deref()?))
    }

    /// A slice was added or changed; whether that says anything new.
    pub fn apply(&mut self, slice: SliceObject) -> bool {
        if self.slices.get(&slice.name) == Some(&slice) {
            return false;
        }
        self.remove(&slice.name.clone());
        for name in capacities_of(&slice) {
            *self.capacities.entry(name.clone()).or_default() += 1;
        }
        let pool = pool_of(&slice);
        let names = self.of_pool.entry(pool.clone()).or_default();
        names.insert(slice.name.clone());
        self.stale.insert(pool);
        self.slices.insert(slice.name.clone(), slice);
        true
    }

    /// A slice is gone; whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        let Some(slice) = self.slices.remove(name) else {
            return false;
        };
        for name in capacities_of(&slice) {
            if let Some(devices) = self.capacities.get_mut(name) {
                *devices -= 1;
                if *devices == 0 {
                    self.capacities.remove(name);
                }
            }
        }
        let pool = pool_of(&slice);
        if let Some(names) = self.of_pool.get_mut(&pool) {
            names.remove(name);
            if names.is_empty() {
                self.of_pool.remove(&pool);
            }
        }
        self.stale.insert(pool);
        true
    }

    /// A DeviceTaintRule was added or changed; whether that says anything new.
    pub fn apply_taint_rule(&mut self, rule: TaintRuleObject) -> bool {
        let changed = self.taint_rules.apply(rule);
        changed.iter().for_each(|rule| self.taint_anew(rule));
        !changed.is_empty()
    }

    /// A DeviceTaintRule is gone; whether it was there.
    pub fn remove_taint_rule(&mut self, name: &str) -> bool {
        let gone = self.taint_rules.remove(name);
        gone.iter().for_each(|rule| self.taint_anew(rule));
        gone.is_some()
    }

    /// Devices that a rule selects are others now.
    fn taint_anew(&mut self, rule: &TaintRuleObject) {
        let pools = self.of_pool.keys();
        let selected = pools.filter(|(driver, pool)| rule.selects_of(driver, pool));
        self.stale.extend(selected.cloned());
    }

    /// Slices, by name.
    pub fn slices(&self) -> impl Iterator<Item = &SliceObject> {
        self.slices.values()
    }

    /// Whether [`Inventory::refresh`] has anything to do.
    pub fn is_stale(&self) -> bool {
        !self.stale.is_empty()
    }

    /// Makes pools anew of which slices have changed; the devices that are others now.
    pub fn refresh(&mut self, reaches: &mut Reaches) -> Vec<u32> {
        let mut changed = Vec::new();
        for key in std::mem::take(&mut self.stale) {
            self.unlist(&key);
            let gone = self.pools.remove(&key).map(|pool| pool.parts);
            let old = gone.into_iter().flatten().flat_map(|part| part.devices);
            let mut old: FxHashSet<u32> = old.collect();
            if let Some(pool) = self.gather(&key, reaches, &mut changed) {
                let now = pool.parts.iter().flat_map(|part| &part.devices);
                now.for_each(|device| {
                    old.remove(device);
                });
                self.list(&key, &pool);
                self.pools.insert(key, pool);
            }
            let mut old: Vec<u32> = old.into_iter().collect();
            old.sort_unstable();
            for device in old {
                self.devices[device as usize].device = None;
                changed.push(device);
            }
        }
        changed
    }

    fn list(&mut self, key: &PoolKey, pool: &DevicePool) {
        for part in &pool.parts {
            match &part.reach {
                PartReach::Node(node) => {
                    let pools = self.by_node.entry(node.clone()).or_default();
                    pools.insert(key.clone());
                }
                PartReach::Everywhere | PartReach::Selected(..) => {
                    self.wide.insert(key.clone());
                }
            }
        }
    }

    fn unlist(&mut self, key: &PoolKey) {
        self.wide.remove(key);
        let Some(pool) = self.pools.get(key) else {
            return;
        };
        for part in &pool.parts {
            if let PartReach::Node(node) = &part.reach
                && let Some(pools) = self.by_node.get_mut(node)
            {
                pools.remove(key);
                if pools.is_empty() {
                    self.by_node.remove(node);
                }
            }
        }
    }

    /// The newest generation of a pool; `None` if it has no slice.
    fn gather(
        &mut self,
        key: &PoolKey,
        reaches: &mut Reaches,
        changed: &mut Vec<u32>,
    ) -> Option<DevicePool> {
        let names = self.of_pool.get(key)?.clone();
        let all: Vec<SliceObject> = names.iter().map(|name| self.slices[name].clone()).collect();
        let newest = all.iter().map(|slice| slice.generation).max()?;
        let slices: Vec<SliceObject> = all
            .into_iter()
            .filter(|slice| slice.generation == newest)
            .collect();
        let count = slices.len() as i64;
        let mut pool = DevicePool {
            is_complete: slices.iter().all(|slice| slice.slice_count == count),
            is_valid: true,
            counters: Vec::new(),
            parts: Vec::new(),
        };
        let mut seen = FxHashSet::default();
        for slice in slices {
            pool.counters.extend(slice.counters);
            for mut published in slice.devices {
                let access = match &slice.access {
                    NodeAccess::PerDevice => &published.access,
                    access => access,
                };
                let reach = match access {
                    NodeAccess::Node(node) => PartReach::Node(node.clone()),
                    NodeAccess::Everywhere => PartReach::Everywhere,
                    NodeAccess::Selected(terms) => {
                        let limits = ReachLimits::Terms(Some(terms.clone()));
                        PartReach::Selected(reaches.intern(limits), terms.clone())
                    }
                    NodeAccess::Nowhere | NodeAccess::PerDevice => continue,
                };
                let device = DeviceKey {
                    driver: key.0.clone(),
                    pool: key.1.clone(),
                    device: published.device.name.clone(),
                };
                let taints = self.taint_rules.taints(&device).cloned();
                published.device.taints.extend(taints);
                let number = self.number(&device);
                pool.is_valid &= seen.insert(number);
                let known = &mut self.devices[number as usize];
                known.local_to = match &reach {
                    PartReach::Node(node) => Some(node.clone()),
                    PartReach::Everywhere | PartReach::Selected(..) => None,
                };
                if known.device.as_deref() != Some(&published.device) {
                    known.device = Some(Arc::new(published.device));
                    changed.push(number);
                }
                match pool.parts.last_mut() {
                    Some(part) if part.reach == reach => part.devices.push(number),
                    _ => pool.parts.push(PoolPart {
                        reach,
                        devices: vec![number],
                    }),
                }
            }
        }
        Some(pool)
    }

    /// What a node reaches, in the order of drivers and pools.
    pub fn offers<'a>(
        &'a self,
        nodes: &Nodes,
        node: NodeIx,
        reaches: &Reaches,
    ) -> Vec<(&'a PoolKey, PoolOffer<'a>)> {
        let name = &nodes.object(node).name;
        let own = self.by_node.get(name).into_iter().flatten();
        let keys: BTreeSet<&PoolKey> = own.chain(&self.wide).collect();
        let mut offers = Vec::new();
        for key in keys {
            let Some((key, pool)) = self.pools.get_key_value(key) else {
                continue;
            };
            let is_reached = |part: &&PoolPart| match &part.reach {
                PartReach::Node(local) => local == name,
                PartReach::Everywhere => true,
                PartReach::Selected(reach, _) => reaches.get(*reach).contains(node),
            };
            let parts = pool.parts.iter().filter(is_reached);
            let devices = parts.flat_map(|part| &part.devices);
            let devices: Vec<(u32, &DraDevice)> = devices
                .filter_map(|number| Some((*number, self.published(*number)?.1)))
                .collect();
            if devices.is_empty() {
                continue;
            }
            let offer = PoolOffer {
                pool: offers.len() as u32,
                driver: &key.0,
                is_complete: pool.is_complete,
                is_valid: pool.is_valid,
                counters: &pool.counters,
                devices,
            };
            offers.push((key, offer));
        }
        offers
    }

    /// All devices of a pool.
    pub fn devices_of(&self, key: &PoolKey) -> impl Iterator<Item = u32> {
        let pool = self.pools.get(key);
        let parts = pool.into_iter().flat_map(|pool| &pool.parts);
        parts.flat_map(|part| part.devices.iter().copied())
    }

    /// Every published device in the order of drivers and pools, with what is wrong with its pool.
    pub fn all(&self) -> impl Iterator<Item = (u32, Option<&'static str>)> {
        self.pools.values().flat_map(|pool| {
            let flaw = match (pool.is_complete, pool.is_valid) {
                (true, true) => None,
                (false, _) => Some("in a pool that is being updated"),
                (true, false) => Some("in a pool with two devices of one name"),
            };
            let devices = pool.parts.iter().flat_map(|part| &part.devices);
            devices.map(move |device| (*device, flaw))
        })
    }

    /// The pool of a device, and the counters its devices share.
    pub fn pool_of(&self, device: &DeviceKey) -> Option<(&PoolKey, &[CounterSet])> {
        let key = (device.driver.clone(), device.pool.clone());
        let (key, pool) = self.pools.get_key_value(&key)?;
        Some((key, &pool.counters))
    }

    /// From where a device is reached, as a node selector; `None` for everywhere.
    pub fn terms(&self, device: u32) -> Option<DeviceTerms<'_>> {
        let key = &self.devices[device as usize].key;
        let pool = self.pools.get(&(key.driver.clone(), key.pool.clone()))?;
        let mut parts = pool.parts.iter();
        let part = parts.find(|part| part.devices.contains(&device))?;
        match &part.reach {
            PartReach::Node(_) => Some(DeviceTerms::Node),
            PartReach::Everywhere => None,
            PartReach::Selected(_, terms) => Some(DeviceTerms::Selected(terms)),
        }
    }
}

/// What limits the nodes of a device.
pub enum DeviceTerms<'a> {
    /// The node it is on.
    Node,
    /// A selector.
    Selected(&'a [NodeTerm]),
}
