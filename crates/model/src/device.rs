//! The books of shared devices: what pods ask (pooled, compiled once), and what they hold.
//!
//! The cards themselves are a column of [`crate::Nodes`]; this module keeps what is not tied to one
//! node. What a request means, which card is taken and what annotations say is decided by
//! `pumice-devices`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pumice_devices::config::DeviceConfig;
use pumice_devices::{
    Allocations, ContainerKind, DeviceRequest, Devices, NodeDevices, PodFacts, Settings, Tags,
};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::ix::{DeviceRequestIx, TaskIx};
use crate::object::{NodeObject, Pairs};
use crate::resource::{MAX_AMOUNT, ResIx, ResourceNames};
use crate::shape::Pool;

mod card_looks;
mod groups;
mod looks;
mod mix;

use groups::GroupHoldings;
pub use looks::KnownLook;
use mix::KnownMix;
pub use mix::{CountedTasks, MixAmounts, amounts_of, asks_one_card, free_on};

/// Notes kept until somebody asks for them.
const MAX_NOTES: usize = 10_000;

/// What holds while the text of a ConfigMap cannot be read.
const UNTIL_THEN: &str =
    "until then what was read before stays in force, at first the built-in defaults";

/// Amounts that count for queues instead of those of the request.
pub type QueueCharge = SmallVec<[(ResIx, i64); 2]>;

/// Devices that were chosen for a task on a node.
#[derive(Clone, Debug, PartialEq)]
pub struct ChosenDevices {
    /// Cards by family.
    pub parts: SmallVec<[(u8, Allocations); 1]>,
    /// What else decides who shares cards with it.
    pub tags: Tags,
}

/// Devices a task holds on its node.
#[derive(Clone, Debug, PartialEq)]
pub struct Holding {
    /// Cards by family.
    pub parts: SmallVec<[(u8, Allocations); 1]>,
    /// What else decides who shares cards with it.
    pub tags: Tags,
    /// Amounts that count for its queue instead of those of its request.
    pub charge: QueueCharge,
    /// Since they were chosen the pod has come to ask something else.
    pub is_outdated: bool,
}

impl Holding {
    /// What it has is known; of cards that the node does not tell any more, that is all.
    pub fn is_certain(&self) -> bool {
        let mut allocations = self.parts.iter().flat_map(|(_, allocations)| allocations);
        allocations.all(|allocation| allocation.certain || allocation.suspect)
    }

    /// Nothing is held.
    pub fn is_empty(&self) -> bool {
        self.parts
            .iter()
            .all(|(_, allocations)| allocations.is_empty())
    }
}

/// What a note is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoteAbout {
    /// A node, by name.
    Node(String),
    /// A pod, by namespace, name and UID.
    Pod {
        /// Namespace of the pod.
        namespace: String,
        /// Name of the pod.
        name: String,
        /// UID of the pod.
        uid: String,
    },
    /// A ConfigMap: namespace and name.
    ConfigMap(String, String),
}

/// Something about devices its owner should know: it was left out, or counts as used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceNote {
    /// What it is about.
    pub about: NoteAbout,
    /// What is wrong, where, and what to do.
    pub text: String,
}

/// What decides about a demand: what is asked, and by whom where that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct AskedDevices {
    facts: PodFacts,
    tags: Tags,
}

#[derive(Clone)]
struct Compiled {
    demand: Arc<DeviceRequest>,
    charge: QueueCharge,
    /// What the pod would ask if it were of no group, where it matters of which it is. It is used as often.
    of_no_group: Option<DeviceRequestIx>,
}

/// What all pods ask, the families, and the configuration they come from.
#[derive(Clone)]
pub struct DeviceTable {
    devices: Arc<Devices>,
    families_epoch: u64,
    maps: FxHashMap<(String, String), Option<String>>,
    /// What ConfigMaps tell of nodes, known or not: topic and text, by name of the node.
    pub(crate) reports: BTreeMap<String, Pairs>,
    asked: Pool<AskedDevices>,
    compiled: Vec<Compiled>,
    groups: GroupHoldings,
    mix: KnownMix,
    pub(crate) notes: VecDeque<DeviceNote>,
    pub(crate) pod_problems: FxHashMap<TaskIx, Vec<String>>,
}

impl Default for DeviceTable {
    fn default() -> Self {
        let mut books = Self {
            devices: Arc::default(),
            families_epoch: 0,
            maps: FxHashMap::default(),
            reports: BTreeMap::new(),
            asked: Pool::default(),
            compiled: Vec::new(),
            groups: GroupHoldings::default(),
            mix: KnownMix::default(),
            notes: VecDeque::new(),
            pod_problems: FxHashMap::default(),
        };
        // Index 0 is nothing, and stays.
        books.asked.acquire(AskedDevices::default());
        books.compiled.push(Compiled {
            demand: Arc::default(),
            charge: QueueCharge::new(),
            of_no_group: None,
        });
        books
    }
}

impl DeviceTable {
    /// What others than its object tell of a node, by topic.
    pub fn reports_of(&self, node: &str) -> &[(String, String)] {
        self.reports.get(node).map_or(&[], Vec::as_slice)
    }

    /// Families of devices that the configuration has switched on.
    pub fn families(&self) -> &Devices {
        &self.devices
    }

    /// Changes whenever the families do.
    pub fn families_epoch(&self) -> u64 {
        self.families_epoch
    }

    /// What a pod asks.
    pub fn demand(&self, ix: DeviceRequestIx) -> &Arc<DeviceRequest> {
        &self.compiled[ix.0 as usize].demand
    }

    /// Amounts that count for queues as long as the pod has no cards.
    pub(crate) fn charge(&self, ix: DeviceRequestIx) -> &QueueCharge {
        &self.compiled[ix.0 as usize].charge
    }

    /// Number of tasks that ask it.
    pub fn uses(&self, ix: DeviceRequestIx) -> u32 {
        self.asked.uses(ix.0)
    }

    /// A number no other demand has or had.
    pub fn serial(&self, ix: DeviceRequestIx) -> u64 {
        self.asked.serial(ix.0)
    }

    /// Serials of the demands in use.
    pub fn serials_in_use(&self) -> impl Iterator<Item = u64> {
        self.asked.serials_in_use()
    }

    /// Amounts of extended resources that regular containers and sidecars ask, in thousandths, as written:
    /// those too that no node tells of.
    pub fn written_amounts(&self, ix: DeviceRequestIx) -> impl Iterator<Item = (&str, i64)> {
        let containers = self.facts(ix).containers.iter();
        let lasting = containers.filter(|container| container.kind != ContainerKind::Init);
        let amounts = lasting.flat_map(|container| &container.amounts);
        amounts.map(|(name, amount)| (name.as_str(), *amount))
    }

    /// What a pod asks, as written.
    pub fn facts(&self, ix: DeviceRequestIx) -> &PodFacts {
        &self.asked.get(ix.0).facts
    }

    /// Interns what a pod asks, and counts one use of it.
    pub(crate) fn acquire(
        &mut self,
        facts: &PodFacts,
        tags: Tags,
        resources: &mut ResourceNames,
    ) -> DeviceRequestIx {
        if facts.containers.is_empty() {
            return DeviceRequestIx::NONE;
        }
        let group = tags.group.filter(|_| self.devices.depends_on_group(facts));
        let mut acquire = |group, of_no_group| {
            let asked = AskedDevices {
                facts: facts.clone(),
                tags: Tags { group, ..tags },
            };
            let (at, is_new) = self.asked.acquire(asked);
            if is_new {
                let compiled = self.compile(at, of_no_group, resources);
                match self.compiled.get_mut(at as usize) {
                    Some(entry) => *entry = compiled,
                    None => self.compiled.push(compiled),
                }
            }
            DeviceRequestIx(at)
        };
        let of_no_group = acquire(None, None);
        match group {
            None => of_no_group,
            Some(_) => acquire(group, Some(of_no_group)),
        }
    }

    fn compile(
        &self,
        at: u32,
        of_no_group: Option<DeviceRequestIx>,
        resources: &mut ResourceNames,
    ) -> Compiled {
        let asked = self.asked.get(at);
        let demand = Arc::new(self.devices.demand(&asked.facts, asked.tags));
        let charge = charge_of(&demand, None, resources);
        Compiled {
            demand,
            charge,
            of_no_group,
        }
    }

    /// Gives one use back.
    pub(crate) fn release(&mut self, ix: DeviceRequestIx) {
        if ix == DeviceRequestIx::NONE {
            return;
        }
        self.asked.release(ix.0);
        if let Some(of_no_group) = self.compiled[ix.0 as usize].of_no_group {
            self.asked.release(of_no_group.0);
        }
    }

    /// Among pods that are judged alike on every node, as things stand: this, or what a pod of no group
    /// would ask, as long as nothing its group holds makes a difference.
    pub fn judged_as(&self, ix: DeviceRequestIx) -> DeviceRequestIx {
        let compiled = &self.compiled[ix.0 as usize];
        let Some(of_no_group) = compiled.of_no_group else {
            return ix;
        };
        let group = self.asked.get(ix.0).tags.group;
        let held = self.groups.held_by(group);
        match compiled.demand.heeds_group(held) {
            true => ix,
            false => of_no_group,
        }
    }

    /// What pods of groups hold; to be kept in step with the ledgers of the nodes.
    pub(crate) fn groups_mut(&mut self) -> &mut GroupHoldings {
        &mut self.groups
    }

    /// Keeps notes until they are asked for; the oldest go when nobody does.
    pub(crate) fn note(&mut self, notes: impl IntoIterator<Item = DeviceNote>) {
        self.notes.extend(notes);
        let excess = self.notes.len().saturating_sub(MAX_NOTES);
        self.notes.drain(..excess);
    }

    /// Takes the text of a ConfigMap, or that there is none; true if the families depend on it.
    pub(crate) fn set_map(&mut self, namespace: &str, name: &str, text: Option<String>) -> bool {
        let key = (namespace.to_owned(), name.to_owned());
        let used = self.devices.settings().config_map == key;
        let old = self.maps.insert(key, text.clone());
        used && old != Some(text)
    }

    /// Takes what is told of a node, or that nothing is; true if that is new.
    pub(crate) fn set_report(&mut self, node: &str, topic: String, text: Option<String>) -> bool {
        let mut reports = self.reports.remove(node).unwrap_or_default();
        let known = reports.iter().position(|(told, _)| *told == topic);
        let old = known.map(|at| reports.remove(at).1);
        let is_new = old != text;
        reports.extend(text.map(|text| (topic, text)));
        reports.sort();
        if !reports.is_empty() {
            self.reports.insert(node.to_owned(), reports);
        }
        is_new
    }

    /// Known ConfigMaps by namespace and name.
    pub(crate) fn maps(&self) -> Vec<(&(String, String), &Option<String>)> {
        let mut maps: Vec<_> = self.maps.iter().collect();
        maps.sort();
        maps
    }

    /// The families that `settings` and the ConfigMap they name make. A text that cannot be read
    /// leaves the last good configuration, and a note.
    pub(crate) fn rebuild(&mut self, settings: Settings) {
        let same_map = settings.config_map == self.devices.settings().config_map;
        let config = match self.maps.get(&settings.config_map) {
            Some(Some(text)) => match pumice_devices::families::read_config(text) {
                Ok(config) => config,
                Err(problems) => {
                    let (namespace, name) = settings.config_map.clone();
                    let notes = problems.into_iter().map(|problem| DeviceNote {
                        about: NoteAbout::ConfigMap(namespace.clone(), name.clone()),
                        text: format!("device-config.yaml: {problem}; {UNTIL_THEN}"),
                    });
                    self.note(notes.collect::<Vec<_>>());
                    match same_map {
                        true => self.devices.config().clone(),
                        false => DeviceConfig::default(),
                    }
                }
            },
            _ => DeviceConfig::default(),
        };
        self.devices = Arc::new(Devices::new(settings, config));
        self.families_epoch += 1;
    }

    /// Compiles all demands anew, for other families.
    pub(crate) fn recompile(&mut self, resources: &mut ResourceNames) {
        for at in 1..self.compiled.len() as u32 {
            if self.asked.uses(at) > 0 {
                let of_no_group = self.compiled[at as usize].of_no_group;
                self.compiled[at as usize] = self.compile(at, of_no_group, resources);
            }
        }
    }

    /// The cards of a node, idle.
    pub(crate) fn cards(&self, node: &NodeObject) -> NodeDevices {
        self.devices.cards(&pumice_devices::NodeFacts {
            name: &node.name,
            labels: &node.labels,
            annotations: &node.device_annotations,
            allocatable: &node.allocatable,
            capacity: &node.device_capacity,
            reports: self.reports_of(&node.name),
        })
    }

    /// What annotations say a pod holds on a node, and what could not be read.
    pub(crate) fn read(
        &self,
        records: &Pairs,
        demand: DeviceRequestIx,
        node: &NodeDevices,
    ) -> (SmallVec<[(u8, Allocations); 1]>, Vec<String>) {
        let mut parts = SmallVec::new();
        let mut problems = Vec::new();
        for (family, cards) in node.families() {
            let held = self
                .devices
                .decode(family, records, self.facts(demand), cards);
            problems.extend(held.problems);
            if !held.allocations.is_empty() {
                parts.push((family, held.allocations));
            }
        }
        (parts, problems)
    }
}

/// Amounts that count for queues, with the cards a pod has, if it has some.
pub(crate) fn charge_of(
    demand: &DeviceRequest,
    parts: Option<&[(u8, Allocations)]>,
    resources: &mut ResourceNames,
) -> QueueCharge {
    let mut charge = QueueCharge::new();
    for (family, request) in &demand.parts {
        let allocations = parts.and_then(|parts| parts.iter().find(|(known, _)| known == family));
        for (name, amount) in request.charge(allocations.map(|(_, allocations)| allocations)) {
            // As requests are bounded where they enter.
            charge.push((resources.intern(name), amount.min(MAX_AMOUNT)));
        }
    }
    charge
}
