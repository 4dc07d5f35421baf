//! What is kept of a class when there is no room for an index of its nodes: the best of each block of
//! nodes, a fortieth of the memory. A node that was touched costs a look at its whole block.

use std::sync::Arc;

use pumice_framework::{ReasonTable, Verdict};
use pumice_model::node::BLOCK;
use pumice_model::{NodeIx, State};

use super::ChosenNode;
use super::evaluate::{Block, ClassEvaluator};
use super::known::SuppliesEpoch;
use super::static_parts::StaticParts;
use super::wide_max::{Keys, NOT_A_CANDIDATE, Ranked, WideMax};

/// Times all its nodes have to be looked at before it would have paid to keep what they say.
const DEAR: u64 = 4;

/// Who has the static part of a class: the table of them, and the class.
const OWNERS: usize = 2;

/// The best nodes of one class block by block, as of a position in the touch log. Only for classes of
/// which each node tells by itself how good it is.
pub struct BlockIndex {
    evaluator: ClassEvaluator,
    nodes: usize,
    /// Bytes of the static part of the class, if no other has it.
    static_bytes: usize,
    idle: BestOfBlocks,
    future: Option<BestOfBlocks>,
    cursor: u64,
    /// When it was last asked, in questions.
    pub last_used: u64,
    /// Units of work since they were last taken.
    pub effort: u64,
    /// Units of work of catching up.
    spent: u64,
    /// State of the cluster's storage and claims it was made for.
    pub supplies_epoch: SuppliesEpoch,
}

/// Candidates with room of one kind.
struct BestOfBlocks {
    node: Vec<u32>,
    key: Vec<f64>,
    tree: WideMax,
}

impl BestOfBlocks {
    fn new(blocks: usize) -> Self {
        Self {
            node: vec![0; blocks],
            key: vec![NOT_A_CANDIDATE; blocks],
            tree: WideMax::new(blocks),
        }
    }

    fn of_keys(keys: &[f64]) -> Self {
        let mut all = Self::new(keys.len().div_ceil(BLOCK));
        for (block, keys) in keys.chunks(BLOCK).enumerate() {
            let best = Ranked(keys).best_of(0, keys.len());
            all.set(block, (block * BLOCK + best) as u32, keys[best]);
        }
        all
    }

    fn set(&mut self, block: usize, node: u32, key: f64) {
        self.node[block] = node;
        if self.key[block] != key {
            self.key[block] = key;
            self.tree.mark(block);
        }
    }

    /// The best of all. The first block of several with the same key has the first node.
    fn best(&mut self) -> Option<NodeIx> {
        let block = self.tree.best(&Ranked(&self.key))?;
        (self.key[block] != NOT_A_CANDIDATE).then(|| NodeIx(self.node[block]))
    }

    fn bytes(&self) -> usize {
        self.key.len() * 13
    }
}

impl BlockIndex {
    /// An index that knows nothing yet.
    pub fn new(state: &State, evaluator: ClassEvaluator) -> Self {
        let nodes = state.nodes().len();
        let idle = BestOfBlocks::new(nodes.div_ceil(BLOCK));
        Self::with(evaluator, nodes, 0, idle, None)
    }

    /// An index that knows all there is up to a cursor: the keys of nodes with room of either kind.
    pub fn of_keys(
        evaluator: ClassEvaluator,
        cursor: u64,
        idle: &[f64],
        future: Option<&[f64]>,
    ) -> Self {
        let future = future.map(BestOfBlocks::of_keys);
        let nodes = idle.len();
        Self::with(
            evaluator,
            nodes,
            cursor,
            BestOfBlocks::of_keys(idle),
            future,
        )
    }

    fn with(
        evaluator: ClassEvaluator,
        nodes: usize,
        cursor: u64,
        idle: BestOfBlocks,
        future: Option<BestOfBlocks>,
    ) -> Self {
        let has_it_alone = Arc::strong_count(&evaluator.static_part) <= OWNERS;
        Self {
            evaluator,
            nodes,
            static_bytes: usize::from(has_it_alone) * StaticParts::bytes(nodes),
            idle,
            future,
            cursor,
            last_used: 0,
            effort: 0,
            spent: 0,
            supplies_epoch: SuppliesEpoch::default(),
        }
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        let blocks = self.idle.bytes() + self.future.as_ref().map_or(0, BestOfBlocks::bytes);
        blocks + self.static_bytes
    }

    /// It has cost so much that an index of its nodes would be cheaper.
    pub fn is_dear(&self) -> bool {
        self.spent > DEAR * self.nodes as u64
    }

    /// What plugins say of the class, for an index of another kind.
    pub fn into_evaluator(self) -> ClassEvaluator {
        self.evaluator
    }

    /// Looks again at every block that was touched since it was last asked.
    pub fn catch_up(&mut self, state: &State, table: &mut ReasonTable, scratch: &mut Block) {
        let nodes = state.nodes();
        if nodes.in_transit > 0 && self.future.is_none() {
            self.future = Some(BestOfBlocks::new(self.idle.key.len()));
        }
        let cursor = self.cursor.checked_sub(1);
        self.cursor = nodes.touch_cursor() + 1;
        let known = cursor.filter(|cursor| nodes.touches_since(*cursor).is_some());
        match known {
            Some(cursor) if cursor == nodes.touch_cursor() => {}
            Some(cursor) => {
                let before = self.effort;
                for block in nodes.blocks_touched_since(cursor) {
                    self.look_at(state, table, scratch, block);
                }
                self.spent += self.effort - before;
            }
            None => {
                for block in 0..self.idle.key.len() {
                    self.look_at(state, table, scratch, block);
                }
            }
        }
    }

    fn look_at(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        scratch: &mut Block,
        block: usize,
    ) {
        let range = block * BLOCK..((block + 1) * BLOCK).min(self.nodes);
        self.effort += range.len() as u64;
        let (from, count) = (range.start, range.len());
        self.evaluator
            .evaluate_roughly(state, table, range, scratch);
        let put = |all: &mut BestOfBlocks, wanted: Verdict| {
            let (at, key) = scratch.best_of(count, wanted);
            all.set(block, (from + at) as u32, key);
        };
        put(&mut self.idle, Verdict::IDLE);
        if let Some(future) = &mut self.future {
            put(future, Verdict::FUTURE);
        }
    }

    /// The best node. [`BlockIndex::catch_up`] must have been called.
    pub fn best(&mut self) -> Option<ChosenNode> {
        if let Some(node) = self.idle.best() {
            return Some(ChosenNode { node, idle: true });
        }
        let node = self.future.as_mut()?.best()?;
        Some(ChosenNode { node, idle: false })
    }
}
