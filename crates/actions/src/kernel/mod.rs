//! The placement kernel: the best node for a task, exactly, at index speed.
//!
//! ```text
//!   task ──► class ──► ClassIndex ── catch up with the touch log ──► best node
//!                        ▲
//!   Program (node) │ CellFilters (domain) │ CandidateScore (candidates) │ StaticPart (static)
//! ```
//!
//! Every ready node is a candidate for every task; nothing is sampled. Tasks of one class share an
//! ordered index over the nodes. A placement touches one node, and each class looks at touched nodes
//! again when it is next asked. The answer is the one a plain loop over all nodes would give: the
//! test kit's naive scheduler holds the kernel to that.

mod cells;
mod devices;
mod evaluate;
mod group;
mod index;
mod layout;
mod nearest;
mod shard;
mod wide_max;

use std::rc::Rc;

use pumice_framework::points::{ClassKey, Counting, Signature, StaticPart};
use pumice_framework::{Choice, Class, FitError, PluginChain, ReasonId, ReasonTable, TopologyKeys};
use pumice_model::topology::AppearanceIx;
use pumice_model::{DeviceRequestIx, NeedIx, NodeIx, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use cells::{CellFilters, Layouts};
use evaluate::{Block, Program};
use index::ClassIndex;

/// Bytes of class indexes kept; beyond it those not asked for longest are dropped.
pub const INDEX_BUDGET_BYTES: usize = 512 << 20;

/// Bytes of static parts kept, about; beyond it those no class index uses are dropped.
const STATIC_BUDGET_BYTES: usize = 64 << 20;

/// Most verdicts remembered on whether a class is refused everywhere.
const MAX_REFUSED: usize = 1 << 16;

/// Class indexes beyond which those of shapes nobody has any more are looked for.
const SPARE_INDEXES: usize = 256;

/// Units of work of one look at what a selector may select, or at a count.
const UNITS_PER_MATCH: u64 = 8;

/// Units of work of one test of a node by the rules of a class.
const UNITS_PER_RULE: u64 = 4;

/// A node for a task, before it is decided what the task takes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The node.
    pub node: NodeIx,
    /// It has room now; otherwise once resources are released.
    pub idle: bool,
}

/// Signatures of plugins beyond which all that is known of classes is dropped, with them.
const MAX_SIGNATURES: usize = 1 << 14;

/// Identity of a class over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct ClassId {
    /// Serial of the shape.
    shape: u64,
    appearance: AppearanceIx,
    /// Serial of what it asks of volumes.
    volumes: u64,
    /// Serial of what it asks of devices.
    devices: u64,
    signature: SignatureIx,
}

/// Number of what plugins tell a class apart by; 0 for nothing.
type SignatureIx = u32;

/// All class indexes.
pub struct Kernel {
    /// Reasons of the configuration.
    pub reasons: ReasonTable,
    shard_reason: ReasonId,
    indexes: FxHashMap<ClassId, Box<ClassIndex>>,
    /// By serial of the rules and signature.
    fixed: FxHashMap<(u64, SignatureIx), Rc<StaticPart>>,
    signatures: FxHashMap<Rc<Signature>, SignatureIx>,
    unsigned: Rc<Signature>,
    refused: FxHashMap<ClassId, Option<String>>,
    keys: TopologyKeys,
    layouts: Layouts,
    scratch: Box<Block>,
    epoch: (u64, u64),
    cycle: u64,
    /// Number of indexes at which the next look for useless ones is due.
    sweep_at: usize,
    /// Static parts that class indexes used when the others were dropped last.
    fixed_in_use: usize,
    questions: u64,
    bytes: usize,
    /// Units of work since they were last taken.
    effort: u64,
}

impl Kernel {
    /// A kernel for plugins that interned their reasons in `reasons`.
    pub fn new(mut reasons: ReasonTable) -> Self {
        let shard_reason = shard::reason(&mut reasons);
        Self {
            reasons,
            shard_reason,
            indexes: FxHashMap::default(),
            fixed: FxHashMap::default(),
            signatures: FxHashMap::default(),
            unsigned: Rc::default(),
            refused: FxHashMap::default(),
            keys: TopologyKeys::default(),
            layouts: Layouts::default(),
            scratch: Box::default(),
            epoch: (0, 0),
            cycle: 0,
            sweep_at: SPARE_INDEXES,
            fixed_in_use: 0,
            questions: 0,
            bytes: 0,
            effort: 0,
        }
    }

    /// Units of work done since this was last asked: about one look at one node each.
    pub fn take_effort(&mut self) -> u64 {
        std::mem::take(&mut self.effort)
    }

    /// A new cycle begins.
    pub fn begin_cycle(&mut self, state: &State) {
        self.cycle += 1;
        if self.indexes.len() >= self.sweep_at {
            let shapes: FxHashSet<u64> = state.shapes.serials_in_use().collect();
            let needs: FxHashSet<u64> = state.volumes.serials_in_use().collect();
            let demands: FxHashSet<u64> = state.devices.serials_in_use().collect();
            self.indexes.retain(|id, _| {
                shapes.contains(&id.shape)
                    && needs.contains(&id.volumes)
                    && demands.contains(&id.devices)
            });
            self.bytes = self.indexes.values().map(|index| index.bytes()).sum();
            self.sweep_at = 2 * self.indexes.len() + SPARE_INDEXES;
        }
    }

    /// The best place for a pending task.
    ///
    /// # Errors
    /// Why no node fits.
    pub fn best(
        &mut self,
        state: &mut State,
        chain: &PluginChain,
        task: TaskIx,
    ) -> Result<Choice, FitError> {
        let found = self.best_node(state, chain, task)?;
        Ok(Choice {
            node: found.node,
            idle: found.idle,
            takes: state.choose_placement(task, found.node, !found.idle),
        })
    }

    fn best_node(
        &mut self,
        state: &mut State,
        chain: &PluginChain,
        task: TaskIx,
    ) -> Result<Found, FitError> {
        self.forget_if_stale(state);
        let (id, class) = self.class_of(state, chain, task);
        if let Some(everywhere) = self.refusal(state, chain, id, &class) {
            let nodes = state.nodes.len() as u32;
            return Err(FitError {
                nodes,
                everywhere: Some(everywhere),
                ..FitError::default()
            });
        }
        let volumes_epoch = state.volumes.epoch(class.key.volumes);
        let known = self.indexes.remove(&id);
        self.bytes -= known.as_ref().map_or(0, |index| index.bytes());
        let known = known.filter(|index| index.volumes_epoch == volumes_epoch);
        let mut only_once = false;
        let mut index = match known {
            Some(index) => index,
            None => {
                only_once = is_alone(state, &class);
                let class = class.make(state);
                match self.meet(state, chain, class, only_once) {
                    Met::Found(found) => return Ok(found),
                    Met::Index(index) => index,
                }
            }
        };
        index.volumes_epoch = volumes_epoch;
        self.questions += 1;
        index.last_used = self.questions;
        index.catch_up(state, &mut self.reasons, &mut self.scratch);
        let answer = match index.best(state) {
            Some(choice) => Ok(choice),
            None => Err(index.explain(state, &mut self.reasons, self.cycle)),
        };
        self.effort += std::mem::take(&mut index.effort);
        if only_once && answer.is_ok() {
            return answer;
        }
        self.bytes += index.bytes();
        self.indexes.insert(id, index);
        self.stay_within_budget();
        answer
    }

    /// Meets a class for the first time: an index of all nodes, or at once the best node for a class
    /// of one task.
    fn meet(
        &mut self,
        state: &mut State,
        chain: &PluginChain,
        class: Class,
        only_once: bool,
    ) -> Met {
        let program = self.program(state, chain, &class);
        let matched = state.topology.effort();
        let with = &mut Counting::new(state, &mut self.keys);
        let filters = chain.domain_filters(with, &class);
        let candidates = chain.candidate_scores(with, &class);
        let cells = CellFilters::new(state, filters, &mut self.keys, &mut self.layouts);
        self.effort += UNITS_PER_MATCH * (state.topology.effort() - matched);
        let scan = only_once && candidates.is_empty();
        let scan = scan.then(|| self.scan(state, &program, cells.as_ref()));
        if let Some(found) = scan.flatten() {
            return Met::Found(found);
        }
        let index = ClassIndex::new(state, program, cells, candidates);
        Met::Index(Box::new(index))
    }

    /// The class of a task, and what tells it apart.
    fn class_of(
        &mut self,
        state: &State,
        chain: &PluginChain,
        task: TaskIx,
    ) -> (ClassId, ClassRef) {
        let key = ClassKey::of(state.task(task));
        let signature = chain.signature(state, task).filter(|text| !text.is_empty());
        let signature = match signature {
            None => (self.unsigned.clone(), 0),
            Some(text) => self.intern(text),
        };
        let id = ClassId {
            shape: state.shapes.serial(key.shape),
            appearance: key.appearance,
            volumes: state.volumes.serial(key.volumes),
            devices: state.devices.serial(key.devices),
            signature: signature.1,
        };
        let signature = signature.0;
        (id, ClassRef { key, signature })
    }

    fn intern(&mut self, signature: Signature) -> (Rc<Signature>, SignatureIx) {
        if let Some((known, ix)) = self.signatures.get_key_value(&signature) {
            return (known.clone(), *ix);
        }
        if self.signatures.len() >= MAX_SIGNATURES {
            self.forget();
        }
        let (new, ix) = (Rc::new(signature), self.signatures.len() as SignatureIx + 1);
        self.signatures.insert(new.clone(), ix);
        (new, ix)
    }

    fn forget_if_stale(&mut self, state: &State) {
        let epoch = state.class_epoch();
        if self.epoch != epoch {
            self.forget();
            self.epoch = epoch;
        }
    }

    fn forget(&mut self) {
        self.indexes.clear();
        self.fixed.clear();
        self.fixed_in_use = 0;
        self.signatures.clear();
        self.refused.clear();
        self.keys = TopologyKeys::default();
        self.layouts = Layouts::default();
        self.bytes = 0;
    }

    fn refusal(
        &mut self,
        state: &State,
        chain: &PluginChain,
        id: ClassId,
        class: &ClassRef,
    ) -> Option<String> {
        let known = self.refused.entry(id).or_insert_with(|| {
            let class = class.clone().make(state);
            let refusal = class.devices.refusal.clone();
            refusal.or_else(|| chain.prefilter(state, &class))
        });
        known.clone()
    }

    fn program(&mut self, state: &State, chain: &PluginChain, class: &Class) -> Program {
        // A verdict, a score and perhaps a raw value per node.
        let part_bytes = 24 * state.nodes.len().max(1);
        if self.fixed.len() > self.fixed_in_use + STATIC_BUDGET_BYTES / part_bytes {
            self.fixed.retain(|_, part| Rc::strong_count(part) > 1);
            self.fixed_in_use = self.fixed.len();
        }
        let fixed = self.fixed_part(state, chain, class);
        Program::new(state, chain, &mut self.reasons, class, fixed)
    }

    fn fixed_part(&mut self, state: &State, chain: &PluginChain, class: &Class) -> Rc<StaticPart> {
        let signature = self.signatures.get(&class.signature).copied();
        let rules = state.shapes.rules_serial(class.shape.rules);
        let part = self
            .fixed
            .entry((rules, signature.unwrap_or(0)))
            .or_insert_with(|| {
                let tests = UNITS_PER_RULE * (1 + class.rules.size() as u64);
                self.effort += tests * state.nodes.len() as u64;
                let mut part = chain.static_part(state, class.fixed());
                shard::overlay(state, self.shard_reason, &mut part);
                Rc::new(part)
            });
        Rc::clone(part)
    }

    /// Why a task may not be on a node, for what the node's object says, whatever is on it.
    pub fn rejects(
        &mut self,
        state: &State,
        chain: &PluginChain,
        task: TaskIx,
        node: NodeIx,
    ) -> Option<ReasonId> {
        self.forget_if_stale(state);
        let (_, class) = self.class_of(state, chain, task);
        let class = class.make(state);
        self.fixed_part(state, chain, &class).verdict[node.at()]
    }

    /// The best node for a class of one task, by one pass over the nodes;
    /// `None` when nothing fits or only an index can tell.
    fn scan(
        &mut self,
        state: &State,
        program: &Program,
        cells: Option<&CellFilters>,
    ) -> Option<Found> {
        self.effort += state.nodes.len() as u64;
        let (table, block) = (&mut self.reasons, &mut *self.scratch);
        match cells {
            None => program.best(state, table, block, |_| true),
            Some(cells) => program.best(state, table, block, |node| {
                cells.passes(cells.layout.cell[node] as usize)
            }),
        }
    }

    fn stay_within_budget(&mut self) {
        if self.refused.len() > MAX_REFUSED {
            self.refused.clear();
        }
        if self.bytes <= INDEX_BUDGET_BYTES {
            return;
        }
        let mut by_age: Vec<(u64, ClassId)> = self
            .indexes
            .iter()
            .map(|(id, index)| (index.last_used, *id))
            .collect();
        by_age.sort_unstable();
        for (_, id) in &by_age[..by_age.len() / 2] {
            if let Some(index) = self.indexes.remove(id) {
                self.bytes -= index.bytes();
            }
        }
    }
}

/// What a class is made from.
#[derive(Clone)]
struct ClassRef {
    key: ClassKey,
    signature: Rc<Signature>,
}

impl ClassRef {
    fn make(self, state: &State) -> Class {
        Class::new(state, self.key, self.signature)
    }
}

/// What the first question about a class brings.
enum Met {
    Found(Found),
    Index(Box<ClassIndex>),
}

/// Whether a class has one task, as far as can be told cheaply: an index pays only for classes of
/// several tasks, and while it lives.
fn is_alone(state: &State, class: &ClassRef) -> bool {
    let key = class.key;
    state.shapes.uses(key.shape) == 1
        || (key.devices != DeviceRequestIx::NONE && state.devices.uses(key.devices) == 1)
        || (key.volumes != NeedIx::NONE
            && (state.volumes.uses(key.volumes) == 1 || state.volumes.is_volatile(key.volumes)))
}
