//! The classes of tasks the kernel has met, under dense numbers.
//!
//! What tells classes apart is looked up once a question ([`Classes::of`]); everything known about a
//! class then stands in its record.

use std::sync::Arc;

use pumice_framework::points::{ClassKey, Signature};
use pumice_framework::{Class, Plugins};
use pumice_model::AppearanceIx;
use pumice_model::{DeviceRequestIx, NeedIx, ResourceNeedIx, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use super::block_index::BlockIndex;
use super::index::ClassIndex;
use super::known::{SignatureIx, SuppliesEpoch};
use super::nearest::Nearest;

/// Bytes of class indexes kept. Classes for which there is no room get an index of blocks where that will
/// do; if it is too much all the same, those not asked for longest are dropped.
pub const INDEX_BUDGET_BYTES: usize = 512 << 20;

/// Classes beyond which those nobody has any more are looked for when a cycle begins.
const SPARE_CLASSES: usize = 256;

/// Classes without an index that are remembered within a cycle.
const MAX_WITHOUT_INDEX: usize = 1 << 16;

/// Signatures of plugins beyond which all that is known of classes is dropped, with them.
const MAX_SIGNATURES: usize = 1 << 14;

/// Number of a class. It holds until classes are dropped, so for one question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassIx(u32);

/// Identity of a class over time: indices are reused, serials are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ClassId {
    /// Serial of the shape.
    shape: u64,
    appearance: AppearanceIx,
    signature: SignatureIx,
    /// Serial of what it asks of volumes.
    volumes: u64,
    /// Serial of what it asks of its resource claims.
    claims: u64,
    /// Serial of what it asks of devices.
    devices: u64,
}

/// What the filters say of a class before they look at any node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prefiltered {
    /// They were not asked yet.
    Unknown,
    /// Nodes are to be looked at.
    Passes,
    /// A reason against every node.
    Rejected(String),
}

struct Record {
    id: ClassId,
    key: ClassKey,
    signature: Arc<Signature>,
    prefiltered: Prefiltered,
    /// The nearest miss, as of a cycle: whether the index is kept makes no difference to what is told.
    nearest: Option<(u64, Nearest)>,
    index: Option<KnownNodes>,
    /// Nodes that were looked at without it.
    looked_at: usize,
}

/// The epochs that matter to a class.
fn epoch(state: &State, key: &ClassKey) -> SuppliesEpoch {
    let supplies = state.supplies();
    (
        supplies.volumes().epoch(key.volumes),
        supplies.resource_claims().epoch(key.claims),
        supplies.devices().mix_epoch(),
    )
}

/// What is kept of a class about the nodes.
pub enum KnownNodes {
    /// Every node.
    All(Box<ClassIndex>),
    /// The best of each block.
    Blocks(Box<BlockIndex>),
}

impl KnownNodes {
    fn bytes(&self) -> usize {
        match self {
            Self::All(index) => index.bytes(),
            Self::Blocks(index) => index.bytes(),
        }
    }

    fn last_used(&self) -> u64 {
        match self {
            Self::All(index) => index.last_used,
            Self::Blocks(index) => index.last_used,
        }
    }

    fn supplies_epoch(&self) -> SuppliesEpoch {
        match self {
            Self::All(index) => index.supplies_epoch,
            Self::Blocks(index) => index.supplies_epoch,
        }
    }

    fn used(&mut self, queries: u64, epoch: SuppliesEpoch) {
        let (last_used, supplies_epoch) = match self {
            Self::All(index) => (&mut index.last_used, &mut index.supplies_epoch),
            Self::Blocks(index) => (&mut index.last_used, &mut index.supplies_epoch),
        };
        (*last_used, *supplies_epoch) = (queries, epoch);
    }
}

/// All classes that are known.
pub struct Classes {
    records: Vec<Record>,
    by_id: FxHashMap<ClassId, ClassIx>,
    /// The one asked for last: tasks of a class often follow each other.
    last: Option<ClassIx>,
    signatures: FxHashMap<Arc<Signature>, SignatureIx>,
    unsigned: Arc<Signature>,
    /// Number of classes at which the next look for useless ones is due.
    sweep_at: usize,
    /// Number of classes at which those without an index are dropped.
    full_at: usize,
    /// How often an index was asked for.
    queries: u64,
    /// Bytes of all indexes.
    bytes: usize,
    /// Bytes they may have.
    budget: usize,
    /// Questions when stale indexes were last looked for.
    cleared_at: u64,
}

impl Default for Classes {
    fn default() -> Self {
        Self {
            records: Vec::new(),
            by_id: FxHashMap::default(),
            last: None,
            signatures: FxHashMap::default(),
            unsigned: Arc::default(),
            sweep_at: SPARE_CLASSES,
            full_at: MAX_WITHOUT_INDEX,
            queries: 0,
            bytes: 0,
            budget: INDEX_BUDGET_BYTES,
            cleared_at: 0,
        }
    }
}

impl Classes {
    /// None, with so many bytes for what will be known of them.
    pub fn within(budget: usize) -> Self {
        Self {
            budget,
            ..Self::default()
        }
    }

    /// Bytes that indexes may have.
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// The class of a task.
    pub fn of(&mut self, state: &State, plugins: &Plugins, task: TaskIx) -> ClassIx {
        let key = ClassKey::of(state, task);
        let signature = plugins.signature(state, task);
        let (signature, number) = match signature.filter(|signature| !signature.is_empty()) {
            None => (None, 0),
            Some(signature) => self.intern(signature),
        };
        let id = ClassId {
            shape: state.ground().shapes().serial(key.shape),
            appearance: key.appearance,
            signature: number,
            volumes: state.supplies().volumes().needs().serial(key.volumes),
            claims: state
                .supplies()
                .resource_claims()
                .needs()
                .serial(key.claims),
            devices: state.supplies().devices().serial(key.devices),
        };
        if let Some(last) = self.last
            && self.records[last.at()].id == id
        {
            return last;
        }
        let known = self.by_id.get(&id).copied();
        let class = known.unwrap_or_else(|| self.add(id, key, signature));
        self.last = Some(class);
        class
    }

    fn add(&mut self, id: ClassId, key: ClassKey, signature: Option<Arc<Signature>>) -> ClassIx {
        if self.records.len() >= self.full_at {
            self.retain(|record| record.index.is_some());
            self.full_at = 2 * self.records.len() + MAX_WITHOUT_INDEX;
        }
        let class = ClassIx(self.records.len() as u32);
        self.records.push(Record {
            id,
            key,
            signature: signature.unwrap_or_else(|| self.unsigned.clone()),
            prefiltered: Prefiltered::Unknown,
            nearest: None,
            index: None,
            looked_at: 0,
        });
        self.by_id.insert(id, class);
        class
    }

    fn intern(&mut self, signature: Signature) -> (Option<Arc<Signature>>, SignatureIx) {
        if let Some((known, number)) = self.signatures.get_key_value(&signature) {
            return (Some(known.clone()), *number);
        }
        let (new, number) = (
            Arc::new(signature),
            self.signatures.len() as SignatureIx + 1,
        );
        self.signatures.insert(new.clone(), number);
        (Some(new), number)
    }

    /// So many signatures are known that all that is known should be dropped.
    pub fn has_too_many_signatures(&self) -> bool {
        self.signatures.len() >= MAX_SIGNATURES
    }

    /// Drops classes nobody has any more, once there are many.
    pub fn sweep(&mut self, state: &State) {
        if self.records.len() >= self.sweep_at {
            self.forget_unused(state);
        }
    }

    /// Drops classes nobody has any more.
    pub fn forget_unused(&mut self, state: &State) {
        let shapes: FxHashSet<u64> = state.ground().shapes().serials_in_use().collect();
        let needs: FxHashSet<u64> = state
            .supplies()
            .volumes()
            .needs()
            .serials_in_use()
            .collect();
        let claims: FxHashSet<u64> = state
            .supplies()
            .resource_claims()
            .needs()
            .serials_in_use()
            .collect();
        let demands: FxHashSet<u64> = state.supplies().devices().serials_in_use().collect();
        self.retain(|record| {
            let id = &record.id;
            shapes.contains(&id.shape)
                && needs.contains(&id.volumes)
                && claims.contains(&id.claims)
                && demands.contains(&id.devices)
        });
        self.sweep_at = 2 * self.records.len() + SPARE_CLASSES;
    }

    fn retain(&mut self, keeps: impl Fn(&Record) -> bool) {
        self.last = None;
        self.records.retain(keeps);
        self.records.shrink_to(2 * self.records.len());
        let numbered = self.records.iter().enumerate();
        self.by_id = numbered
            .map(|(at, record)| (record.id, ClassIx(at as u32)))
            .collect();
        let indexes = self
            .records
            .iter()
            .filter_map(|record| record.index.as_ref());
        self.bytes = indexes.map(|index| index.bytes()).sum();
    }

    /// The class, for plugins.
    pub fn make(&self, state: &State, class: ClassIx) -> Class {
        let record = &self.records[class.at()];
        Class::new(state, record.key, record.signature.clone())
    }

    /// Number of what plugins tell it apart by.
    pub fn signature(&self, class: ClassIx) -> SignatureIx {
        self.records[class.at()].id.signature
    }

    /// What the filters say of it before they look at any node.
    pub fn prefiltered(&mut self, class: ClassIx) -> &mut Prefiltered {
        &mut self.records[class.at()].prefiltered
    }

    /// The nearest miss that was found last, and in which cycle.
    pub fn nearest(&mut self, class: ClassIx) -> &mut Option<(u64, Nearest)> {
        &mut self.records[class.at()].nearest
    }

    /// What is known of it, out of the record: to be put back with [`Classes::put_index`]. None if that is
    /// nothing for the cluster's storage as it is.
    pub fn take_index(&mut self, state: &State, class: ClassIx) -> Option<KnownNodes> {
        let record = &mut self.records[class.at()];
        let index = record.index.take()?;
        self.bytes -= index.bytes();
        let epoch = epoch(state, &record.key);
        Some(index).filter(|index| index.supplies_epoch() == epoch)
    }

    /// Whether so many nodes of all that there are may be looked at without an index: there is none, and it
    /// would still cost more than all looks so far.
    pub fn may_look_at(&mut self, class: ClassIx, nodes: usize, all: usize) -> bool {
        let record = &mut self.records[class.at()];
        let looked_at = record.looked_at + nodes;
        if record.index.is_some() || looked_at > all / 4 {
            return false;
        }
        record.looked_at = looked_at;
        true
    }

    /// Keeps what is known of a class.
    pub fn put_index(&mut self, state: &State, class: ClassIx, mut index: KnownNodes) {
        let record = &mut self.records[class.at()];
        self.queries += 1;
        index.used(self.queries, epoch(state, &record.key));
        self.bytes += index.bytes();
        record.index = Some(index);
        if self.bytes > self.budget {
            self.drop_oldest_indexes();
        }
    }

    /// Whether there is room for an index of every node, now or once those are gone that nobody has asked
    /// since most others were asked. A part of the budget is left to indexes of blocks.
    pub fn has_room(&mut self, bytes: usize) -> bool {
        let budget = self.budget / 4 * 3;
        if self.bytes + bytes > budget {
            self.drop_stale_indexes();
        }
        self.bytes + bytes <= budget
    }

    /// If all classes take turns, none is stale.
    fn drop_stale_indexes(&mut self) {
        let round = 2 * self.records.len() as u64;
        if self.queries - self.cleared_at > round {
            self.cleared_at = self.queries;
            self.drop_indexes_before(self.queries.saturating_sub(round));
        }
    }

    fn drop_oldest_indexes(&mut self) {
        let known = self
            .records
            .iter()
            .filter_map(|record| record.index.as_ref());
        let mut ages: Vec<u64> = known.map(KnownNodes::last_used).collect();
        ages.sort_unstable();
        if let Some(middle) = ages.get(ages.len() / 2).copied() {
            self.drop_indexes_before(middle);
        }
    }

    fn drop_indexes_before(&mut self, query: u64) {
        for record in &mut self.records {
            let is_older = |index: &mut KnownNodes| index.last_used() < query;
            if let Some(index) = record.index.take_if(is_older) {
                self.bytes -= index.bytes();
            }
        }
    }

    /// Whether the class has one task, as far as can be told cheaply: an index pays only for classes
    /// of several tasks, and while it lives.
    pub fn is_alone(&self, state: &State, class: ClassIx) -> bool {
        let key = self.records[class.at()].key;
        state.ground().shapes().uses(key.shape) == 1
            || (key.devices != DeviceRequestIx::NONE
                && state.supplies().devices().uses(key.devices) == 1)
            || (key.volumes != NeedIx::NONE
                && (state.supplies().volumes().needs().uses(key.volumes) == 1
                    || state.supplies().volumes().is_volatile(key.volumes)))
            || (key.claims != ResourceNeedIx::NONE
                && state.supplies().resource_claims().needs().uses(key.claims) == 1)
    }
}

impl ClassIx {
    fn at(self) -> usize {
        self.0 as usize
    }
}
