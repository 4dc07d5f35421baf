//! The placement kernel: the best node for a task, exactly, at index speed.
//!
//! ```text
//!   task ──► class ──► ClassIndex ── catch up with the touch log ──► best node
//!                        ▲
//!   Program (node-local) │ PodFilter, PodScore (other pods) │ StaticPart (node objects)
//! ```
//!
//! Every ready node is a candidate for every task; nothing is sampled. Tasks of one class share an
//! ordered index over the nodes. A placement touches one node, and each class looks at touched nodes
//! again when it is next asked. The answer is the one a plain loop over all nodes would give: the
//! test kit's naive scheduler holds the kernel to that.

mod devices;
mod domain_sum;
mod evaluate;
mod group;
mod index;
mod layout;
mod nearest;
mod pod_filter;
mod pod_score;
mod shard;
mod wide_max;

use std::rc::Rc;

use pumice_framework::node_points::ClassKey;
use pumice_framework::{Class, FitError, PluginChain, ReasonId, ReasonTable, StaticPart};
use pumice_model::topology::AppearanceIx;
use pumice_model::{DemandIx, NeedIx, NodeIx, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};

use evaluate::{Block, Program};
use index::ClassIndex;
use pod_filter::{PodFilter, PodReasons, TopologyKeys};
use pod_score::PodScore;

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

/// A node for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The node.
    pub node: NodeIx,
    /// It has room now; otherwise once resources are released.
    pub idle: bool,
}

/// Identity of a class over time: shape serial, appearance, serials of what it asks of volumes and
/// devices.
type ClassId = (u64, AppearanceIx, u64, u64);

/// All class indexes.
pub struct Kernel {
    /// Reasons of the configuration.
    pub reasons: ReasonTable,
    pod_reasons: PodReasons,
    shard_reason: ReasonId,
    indexes: FxHashMap<ClassId, Box<ClassIndex>>,
    fixed: FxHashMap<u64, Rc<StaticPart>>,
    refused: FxHashMap<ClassId, Option<String>>,
    keys: TopologyKeys,
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
        let pod_reasons = PodReasons::new(&mut reasons);
        let shard_reason = shard::reason(&mut reasons);
        Self {
            reasons,
            pod_reasons,
            shard_reason,
            indexes: FxHashMap::default(),
            fixed: FxHashMap::default(),
            refused: FxHashMap::default(),
            keys: TopologyKeys::default(),
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
            self.indexes.retain(|(shape, _, need, demand), _| {
                shapes.contains(shape) && needs.contains(need) && demands.contains(demand)
            });
            self.bytes = self.indexes.values().map(|index| index.bytes()).sum();
            self.sweep_at = 2 * self.indexes.len() + SPARE_INDEXES;
        }
    }

    /// The best node for a pending task.
    ///
    /// # Errors
    /// Why no node fits.
    pub fn choose(
        &mut self,
        state: &mut State,
        chain: &PluginChain,
        task: TaskIx,
    ) -> Result<Choice, FitError> {
        self.forget_if_stale(state);
        let key = ClassKey::of(state.task(task));
        let id = (
            state.shapes.serial(key.shape),
            key.appearance,
            state.volumes.serial(key.volumes),
            state.devices.serial(key.devices),
        );
        let volumes_epoch = state.volumes.epoch(key.volumes);
        if let Some(everywhere) = self.refusal(state, chain, id, key) {
            let nodes = state.nodes.len() as u32;
            return Err(FitError {
                nodes,
                everywhere: Some(everywhere),
                ..FitError::default()
            });
        }
        let known = self.indexes.remove(&id);
        self.bytes -= known.as_ref().map_or(0, |index| index.bytes());
        let mut only_once = false;
        let mut index = match known.filter(|index| index.volumes_epoch == volumes_epoch) {
            Some(index) => index,
            None => {
                let class = Class::with_key(state, key);
                let program = self.program(state, chain, &class);
                let points = chain.pod_points();
                let (reasons, keys) = (self.pod_reasons, &mut self.keys);
                let matched = state.topology.effort();
                let filter = PodFilter::new(state, &class, &points, reasons, keys);
                let score = PodScore::new(state, &class, &points, keys);
                self.effort += UNITS_PER_MATCH * (state.topology.effort() - matched);
                // An index pays only for classes of several tasks, and while it lives.
                let alone = state.shapes.uses(key.shape) == 1
                    || (key.devices != DemandIx::NONE && state.devices.uses(key.devices) == 1)
                    || (key.volumes != NeedIx::NONE
                        && (state.volumes.uses(key.volumes) == 1
                            || state.volumes.is_volatile(key.volumes)));
                only_once = alone;
                let scan = alone && score.is_none();
                let scan = scan.then(|| self.scan(state, &program, filter.as_ref()));
                if let Some(found) = scan.flatten() {
                    return Ok(found);
                }
                let mut index = ClassIndex::new(state, program, filter, score);
                index.volumes_epoch = volumes_epoch;
                Box::new(index)
            }
        };
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

    fn forget_if_stale(&mut self, state: &State) {
        let epoch = state.class_epoch();
        if self.epoch != epoch {
            self.indexes.clear();
            self.fixed.clear();
            self.fixed_in_use = 0;
            self.refused.clear();
            self.keys = TopologyKeys::default();
            self.bytes = 0;
            self.epoch = epoch;
        }
    }

    fn refusal(
        &mut self,
        state: &State,
        chain: &PluginChain,
        id: ClassId,
        key: ClassKey,
    ) -> Option<String> {
        let known = self.refused.entry(id).or_insert_with(|| {
            let class = Class::with_key(state, key);
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
        let part = self
            .fixed
            .entry(state.shapes.rules_serial(class.shape.rules))
            .or_insert_with(|| {
                let tests = UNITS_PER_RULE * (1 + class.rules.size() as u64);
                self.effort += tests * state.nodes.len() as u64;
                let mut part = chain.static_part(state, &class.rules);
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
        let class = Class::of(state, task);
        self.fixed_part(state, chain, &class).verdict[node.at()]
    }

    /// The best node for a class of one task, by one pass over the nodes;
    /// `None` when nothing fits or only an index can tell.
    fn scan(
        &mut self,
        state: &State,
        program: &Program,
        filter: Option<&PodFilter>,
    ) -> Option<Choice> {
        self.effort += state.nodes.len() as u64;
        let (table, block) = (&mut self.reasons, &mut *self.scratch);
        match filter {
            None => program.best(&state.nodes, table, block, |_| true),
            Some(filter) => program.best(&state.nodes, table, block, |node| {
                filter.passes(filter.layout.cell[node] as usize)
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
