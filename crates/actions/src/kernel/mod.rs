//! The placement kernel: the best node for a task, exactly, at index speed.
//!
//! ```text
//!   task ──► class ──► ClassIndex ── catch up with the touch log ──► best node
//!                        ▲
//!   ClassEvaluator (node) │ CellFilters (domain) │ CandidateScore (candidates) │ StaticPart (static)
//! ```
//!
//! Every ready node is a candidate for every task; nothing is sampled. Tasks of one class share an
//! ordered index over the nodes. A placement touches one node, and each class looks at touched nodes
//! again when it is next asked. The answer is the one a plain loop over all nodes would give: the
//! test kit's naive scheduler holds the kernel to that.

mod block_index;
mod cells;
mod classes;
mod evaluate;
mod index;
mod known;
mod layout;
mod look;
mod nearest;
mod places;
mod questions;
mod ranking;
mod shard;
mod static_parts;
mod wide_max;

use std::sync::Arc;

use pumice_framework::points::{CandidateScore, CountedCluster, Counting, StaticPart};
use pumice_framework::{
    Choice, Class, FitError, Obstacles, Plugins, ReasonId, ReasonTable, TopologyKeys,
};
use pumice_model::topology::PodCounters;
use pumice_model::{NodeIx, State, TaskIx};

use block_index::BlockIndex;
use cells::{CellFilters, Layouts};
pub use classes::INDEX_BUDGET_BYTES;
use classes::{ClassIx, Classes, KnownNodes, Prefiltered};
use evaluate::{Block, ClassEvaluator};
use index::ClassIndex;
pub use look::nodes_with_room;
pub use places::PlaceCount;
pub(crate) use places::room_among;
pub use questions::{CanHelp, Candidate};
use static_parts::StaticParts;

/// Units of work of one look at what a selector may select, or at a count.
const UNITS_PER_MATCH: u64 = 8;

/// A node for a task, before it is decided what the task takes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChosenNode {
    /// Node on which the task is to be placed.
    pub node: NodeIx,
    /// It has room now; otherwise once resources are released.
    pub idle: bool,
}

/// All that is known of classes of tasks on the nodes.
pub struct Kernel {
    /// Reasons of the configuration.
    pub reasons: ReasonTable,
    other_shard: ReasonId,
    classes: Classes,
    static_parts: StaticParts,
    /// Who stands where, as far as some class asked.
    counters: PodCounters,
    keys: TopologyKeys,
    layouts: Layouts,
    scratch: Box<Block>,
    epoch: ((u64, u64, u64), u64),
    cycle: u64,
    /// Units of work since they were last taken.
    effort: u64,
}

impl Kernel {
    /// A kernel for plugins that interned their reasons in `reasons`.
    pub fn new(mut reasons: ReasonTable) -> Self {
        let other_shard = shard::reason(&mut reasons);
        Self {
            reasons,
            other_shard,
            classes: Classes::default(),
            static_parts: StaticParts::default(),
            counters: PodCounters::default(),
            keys: TopologyKeys::default(),
            layouts: Layouts::default(),
            scratch: Box::default(),
            epoch: ((0, 0, 0), 0),
            cycle: 0,
            effort: 0,
        }
    }

    /// As [`Kernel::new`], set up as this one is.
    pub fn for_reasons(&self, reasons: ReasonTable) -> Self {
        let mut kernel = Self::new(reasons);
        kernel.set_index_budget_bytes(self.classes.budget());
        kernel
    }

    /// How much memory indexes of classes may have; [`INDEX_BUDGET_BYTES`] unless set.
    pub fn set_index_budget_bytes(&mut self, bytes: usize) {
        self.classes = Classes::within(bytes);
    }

    /// Units of work done since this was last asked: about one look at one node each.
    pub fn take_effort(&mut self) -> u64 {
        std::mem::take(&mut self.effort)
    }

    /// A new cycle begins.
    pub fn begin_cycle(&mut self, state: &State) {
        self.cycle += 1;
        self.classes.sweep(state);
        if self.counters.is_full() {
            self.counters.forget();
        }
    }

    /// Forgets at once the classes that nobody has any more. Cycles do it once there are many.
    pub fn forget_unused(&mut self, state: &State) {
        self.follow_pods(state);
        self.classes.forget_unused(state);
        self.static_parts.forget_unused();
    }

    /// The best place for a pending task.
    ///
    /// # Errors
    /// Why no node fits.
    pub fn best(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
    ) -> Result<Choice, FitError> {
        let found = self.best_node(state, plugins, task)?;
        Ok(choice(state, task, found))
    }

    /// The best place for a pending task on one of some nodes, as if there were no others.
    ///
    /// # Errors
    /// Why none of them fits.
    pub fn best_among(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
        nodes: &[NodeIx],
    ) -> Result<Choice, FitError> {
        let found = self.with_index(state, plugins, task, |index, now, table, scratch| {
            index.best_among(now, table, scratch, nodes)
        })??;
        Ok(choice(state, task, found))
    }

    /// The place for a pending task on a node, if it fits there now or once resources are released.
    ///
    /// # Errors
    /// Why it does not fit.
    pub fn fits(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
        node: NodeIx,
    ) -> Result<Choice, FitError> {
        self.best_among(state, plugins, task, &[node])
    }

    /// The nodes on which a pending task could run, perhaps after evictions, best first: those it fits,
    /// and those against which there are only reasons for which `can_help` holds, which is given
    /// everything that stands against a node. What evictions can help at all is in the kind of a reason
    /// (`ReasonTable::evictions_can_help`).
    ///
    /// # Errors
    /// A reason against every node.
    pub fn candidates(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
        can_help: CanHelp<'_>,
    ) -> Result<Vec<Candidate>, FitError> {
        self.with_index(state, plugins, task, |index, now, table, scratch| {
            index.candidates(now, table, scratch, can_help)
        })
    }

    /// What the objects of nodes say of the class of a task, whatever is on them.
    pub(crate) fn static_part_of(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
    ) -> Arc<StaticPart> {
        let class = self.class_of(state, plugins, task);
        let signature = self.classes.signature(class);
        let class = self.classes.make(state, class);
        self.static_part(state, plugins, &class, signature)
    }

    /// Whether what is placed on one node may matter to the task on another.
    pub(crate) fn spans_nodes(&mut self, state: &State, plugins: &Plugins, task: TaskIx) -> bool {
        if state
            .supplies()
            .resource_claims()
            .spans_nodes(state.task(task).resource_claims)
        {
            return true;
        }
        let spans = self.with_index(state, plugins, task, |index, _, _, _| index.spans_nodes());
        spans.unwrap_or(false)
    }

    /// Asks the index of a task's class, once it has caught up.
    fn with_index<A>(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
        ask: impl FnOnce(&mut ClassIndex, CountedCluster<'_>, &mut ReasonTable, &mut Block) -> A,
    ) -> Result<A, FitError> {
        state.renew_looks(task);
        let class = self.class_of(state, plugins, task);
        self.prefilter(state, plugins, class)?;
        let mut index = self.index_of_all_nodes(state, plugins, class);
        let counters = &self.counters;
        let now = CountedCluster { state, counters };
        index.catch_up(now, &mut self.reasons, &mut self.scratch);
        let answer = ask(&mut index, now, &mut self.reasons, &mut self.scratch);
        self.keep(state, class, index);
        Ok(answer)
    }

    /// The index of all nodes of a class, out of its record: to be put back with [`Kernel::keep`].
    fn index_of_all_nodes(
        &mut self,
        state: &State,
        plugins: &Plugins,
        class: ClassIx,
    ) -> Box<ClassIndex> {
        match self.classes.take_index(state, class) {
            Some(KnownNodes::All(index)) => index,
            Some(KnownNodes::Blocks(blocks)) => ClassIndex::of_blocks(state, *blocks),
            None => self.describe(state, plugins, class).index(state),
        }
    }

    /// Keeps the index of a class, or as much of it as there is room for.
    fn keep(&mut self, state: &State, class: ClassIx, mut index: Box<ClassIndex>) {
        self.effort += std::mem::take(&mut index.effort);
        let shrinks = index.is_plain() && !self.classes.has_room(index.bytes());
        let known = match shrinks {
            true => KnownNodes::Blocks(Box::new(index.into_blocks())),
            false => KnownNodes::All(index),
        };
        self.classes.put_index(state, class, known);
    }

    fn best_node(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
    ) -> Result<ChosenNode, FitError> {
        state.renew_looks(task);
        let class = self.class_of(state, plugins, task);
        self.prefilter(state, plugins, class)?;
        let mut only_once = false;
        let known = match self.classes.take_index(state, class) {
            Some(known) => known,
            None => {
                only_once = self.classes.is_alone(state, class);
                let mut description = self.describe(state, plugins, class);
                if only_once && let Some(found) = self.scan(state, &mut description) {
                    return Ok(found);
                }
                self.begin_index(state, description)
            }
        };
        let mut index = match known {
            KnownNodes::All(index) => index,
            KnownNodes::Blocks(blocks) => match self.best_of_blocks(state, class, blocks) {
                Ok(found) => return Ok(found),
                Err(index) => index,
            },
        };
        let counters = &self.counters;
        let now = CountedCluster { state, counters };
        index.catch_up(now, &mut self.reasons, &mut self.scratch);
        let answer = match index.best(now) {
            Some(choice) => Ok(choice),
            None => {
                let known = self.classes.nearest(class);
                let (reasons, cycle) = (&mut self.reasons, self.cycle);
                Err(index.explain(state, reasons, known, cycle, |serves| {
                    let rules = state.ground().shapes().rules(state.shape(task).rules);
                    Obstacles::find(state, rules, |node| plugins.barriers(rules, node), serves)
                }))
            }
        };
        if !only_once || answer.is_err() {
            self.keep(state, class, index);
        } else {
            self.effort += index.effort;
        }
        answer
    }

    /// An index for a class that has none, of all nodes if there is room.
    fn begin_index(&mut self, state: &State, description: Description) -> KnownNodes {
        let bytes = ClassIndex::least_bytes(state.nodes().len());
        if description.is_plain() && !self.classes.has_room(bytes) {
            let blocks = BlockIndex::new(state, description.evaluator);
            return KnownNodes::Blocks(Box::new(blocks));
        }
        KnownNodes::All(description.index(state))
    }

    /// The best node by what is known of blocks.
    ///
    /// # Errors
    /// An index of all nodes that knows nothing yet, if it has to tell why there is none, or is worth its
    /// room.
    fn best_of_blocks(
        &mut self,
        state: &State,
        class: ClassIx,
        mut blocks: Box<BlockIndex>,
    ) -> Result<ChosenNode, Box<ClassIndex>> {
        let bytes = ClassIndex::least_bytes(state.nodes().len());
        if blocks.is_dear() && self.classes.has_room(bytes) {
            return Err(ClassIndex::of_blocks(state, *blocks));
        }
        blocks.catch_up(state, &mut self.reasons, &mut self.scratch);
        self.effort += std::mem::take(&mut blocks.effort);
        let Some(found) = blocks.best() else {
            return Err(ClassIndex::of_blocks(state, *blocks));
        };
        self.classes
            .put_index(state, class, KnownNodes::Blocks(blocks));
        Ok(found)
    }

    /// What plugins say of a class that has no index.
    fn describe(&mut self, state: &State, plugins: &Plugins, class: ClassIx) -> Description {
        let signature = self.classes.signature(class);
        let class = self.classes.make(state, class);
        let static_part = self.static_part(state, plugins, &class, signature);
        let evaluator = ClassEvaluator::new(state, plugins, &mut self.reasons, &class, static_part);
        let matched = self.counters.effort();
        let with = &mut Counting::new(state, &mut self.counters, &mut self.keys);
        let filters = plugins.domain_filters(with, &class);
        let candidates = plugins.candidate_scores(with, &class);
        let cells = CellFilters::new(state, filters, &mut self.keys, &mut self.layouts);
        self.effort += UNITS_PER_MATCH * (self.counters.effort() - matched);
        Description {
            evaluator,
            cells,
            candidates,
        }
    }

    /// Counters catch up with the pods that were put on nodes, or taken off them.
    fn follow_pods(&mut self, state: &State) {
        let topology = state.ground().topology();
        self.counters.follow(topology, state.names());
    }

    /// The class of a task, once counters have caught up and everything outdated is forgotten.
    fn class_of(&mut self, state: &State, plugins: &Plugins, task: TaskIx) -> ClassIx {
        self.follow_pods(state);
        let epoch = (state.ground().class_epoch(), self.counters.epoch());
        if self.epoch != epoch || self.classes.has_too_many_signatures() {
            self.forget();
            self.epoch = epoch;
        }
        self.classes.of(state, plugins, task)
    }

    fn forget(&mut self) {
        self.classes = Classes::within(self.classes.budget());
        self.static_parts = StaticParts::default();
        self.keys = TopologyKeys::default();
        self.layouts = Layouts::default();
    }

    /// Asks the filters about the class alone.
    ///
    /// # Errors
    /// A reason against every node.
    fn prefilter(
        &mut self,
        state: &State,
        plugins: &Plugins,
        class: ClassIx,
    ) -> Result<(), FitError> {
        if *self.classes.prefiltered(class) == Prefiltered::Unknown {
            let made = self.classes.make(state, class);
            let refusal = plugins.prefilter(state, &made);
            *self.classes.prefiltered(class) = match refusal {
                None => Prefiltered::Passes,
                Some(reason) => Prefiltered::Rejected(reason),
            };
        }
        match self.classes.prefiltered(class) {
            Prefiltered::Rejected(reason) => Err(FitError {
                nodes: state.nodes().len() as u32,
                everywhere: Some(reason.as_str().into()),
                ..FitError::default()
            }),
            Prefiltered::Passes | Prefiltered::Unknown => Ok(()),
        }
    }

    fn static_part(
        &mut self,
        state: &State,
        plugins: &Plugins,
        class: &Class,
        signature: known::SignatureIx,
    ) -> Arc<StaticPart> {
        let reasons = (&mut self.reasons, self.other_shard);
        let (parts, effort) = (&mut self.static_parts, &mut self.effort);
        parts.of(state, plugins, class, signature, reasons, effort)
    }

    /// Why a task may not be on a node, for what the node's object says, whatever is on it.
    pub fn rejects(
        &mut self,
        state: &State,
        plugins: &Plugins,
        task: TaskIx,
        node: NodeIx,
    ) -> Option<ReasonId> {
        self.static_part_of(state, plugins, task).verdict[node.at()]
    }

    /// The best node for a class of one task, by one pass over the nodes;
    /// `None` when nothing fits or only an index can tell.
    fn scan(&mut self, state: &State, description: &mut Description) -> Option<ChosenNode> {
        if !description.candidates.is_empty() {
            return None;
        }
        let cells = description.cells.as_ref();
        if cells.is_some_and(CellFilters::counts_released) {
            return None;
        }
        self.effort += state.nodes().len() as u64;
        let (table, block) = (&mut self.reasons, &mut *self.scratch);
        let evaluator = &mut description.evaluator;
        match &description.cells {
            None => evaluator.best(state, table, block, |_| true),
            Some(cells) => evaluator.best(state, table, block, |node| {
                cells.passes(cells.layout.cell[node] as usize).is_some()
            }),
        }
    }
}

/// A node with what the task takes there.
fn choice(state: &State, task: TaskIx, found: ChosenNode) -> Choice {
    Choice {
        node: found.node,
        idle: found.idle,
        takes: state.choose_placement(task, found.node, !found.idle),
    }
}

/// What plugins say of a class.
struct Description {
    evaluator: ClassEvaluator,
    cells: Option<CellFilters>,
    candidates: Vec<Box<dyn CandidateScore>>,
}

impl Description {
    /// Each node tells by itself how good it is.
    fn is_plain(&self) -> bool {
        let normalised = &self.evaluator.static_part.normalised;
        self.cells.is_none() && self.candidates.is_empty() && normalised.is_empty()
    }

    /// An index of all nodes that knows nothing of them yet.
    fn index(self, state: &State) -> Box<ClassIndex> {
        let index = ClassIndex::new(state, self.evaluator, self.cells, self.candidates);
        Box::new(index)
    }
}
