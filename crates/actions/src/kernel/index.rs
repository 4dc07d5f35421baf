//! The ordered node index of one class.

mod record;

use std::sync::Arc;

use pumice_framework::points::{CandidateScore, CountedCluster};
use pumice_framework::{FitError, Obstacles, ReasonId, ReasonTable, SetId, Verdict};
use pumice_model::node::BLOCK;
use pumice_model::{LoadMoment, NodeIx, State};
use smallvec::SmallVec;

use super::ChosenNode;
use super::block_index::BlockIndex;
use super::cells::CellFilters;
use super::evaluate::{Block, ClassEvaluator};
use super::known::SuppliesEpoch;
use super::nearest::{Nearest, nearest, serves_when_idle};
use super::ranking::Ranking;

/// From this many touches per block of nodes on, whole blocks are evaluated.
const MANY: usize = 2;
/// From this many touches per block of nodes on, whole blocks are evaluated where ledgers are asked,
/// which look at every card.
const MANY_WITH_LEDGER: usize = 16;

/// Everything known about one class on all nodes, as of a position in the touch log.
pub struct ClassIndex {
    evaluator: ClassEvaluator,
    cells: Option<CellFilters>,
    candidates: Vec<Box<dyn CandidateScore>>,
    verdict: Vec<Verdict>,
    counts: Vec<u32>,
    idle: Ranking,
    future: Option<Ranking>,
    parts: Option<Parts>,
    cursor: u64,
    /// When it was last asked, in questions.
    pub last_used: u64,
    /// Units of work since they were last taken.
    pub effort: u64,
    /// State of the cluster's storage and claims it was made for.
    pub supplies_epoch: SuppliesEpoch,
}

/// Scores by node, kept when the final score depends on all candidates.
struct Parts {
    int_score: Vec<i64>,
    frac_score: Vec<f64>,
}

impl ClassIndex {
    /// An index that knows nothing yet.
    pub fn new(
        state: &State,
        evaluator: ClassEvaluator,
        cells: Option<CellFilters>,
        candidates: Vec<Box<dyn CandidateScore>>,
    ) -> Self {
        let nodes = state.nodes().len();
        let normalised = evaluator.static_part.normalised.len();
        // What other pods say decides who the candidates are, and so what normalised scores are.
        let whole_picture = !candidates.is_empty() || (cells.is_some() && normalised > 0);
        let parts = whole_picture.then(|| Parts {
            int_score: vec![0; nodes],
            frac_score: vec![0.0; nodes],
        });
        let mut index = Self {
            idle: Ranking::new(
                nodes,
                cells.as_ref().map(|cells| cells.layout.as_ref()),
                normalised,
            ),
            future: None,
            evaluator,
            cells,
            candidates,
            verdict: vec![Verdict::UNKNOWN; nodes],
            counts: Vec::new(),
            parts,
            cursor: 0,
            last_used: 0,
            effort: 0,
            supplies_epoch: SuppliesEpoch::default(),
        };
        index.settle_cells();
        index
    }

    /// An index of all nodes of a class of which less was known; it knows nothing yet.
    pub fn of_blocks(state: &State, blocks: BlockIndex) -> Box<Self> {
        let evaluator = blocks.into_evaluator();
        Box::new(Self::new(state, evaluator, None, Vec::new()))
    }

    /// What is kept of it where there is no room for more; only of one that is plain.
    pub fn into_blocks(self) -> BlockIndex {
        let future = self.future.as_ref().map(Ranking::keys);
        BlockIndex::of_keys(self.evaluator, self.cursor, self.idle.keys(), future)
    }

    /// Bytes that an index of so many nodes holds at least.
    pub fn least_bytes(nodes: usize) -> usize {
        nodes * (size_of::<Verdict>() + Ranking::BYTES_A_NODE)
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        let rankings = self.idle.bytes() + self.future.as_ref().map_or(0, Ranking::bytes);
        let parts = self
            .parts
            .as_ref()
            .map_or(0, |parts| parts.int_score.len() * 16);
        self.verdict.len() * 2 + rankings + parts
    }

    fn settle_cells(&mut self) {
        let Some(filter) = &self.cells else {
            return;
        };
        for cell in 0..filter.layout.cells() {
            set_passing(&mut self.idle, self.future.as_mut(), filter, cell);
        }
    }

    /// Looks again at everything that was touched since it was last asked.
    pub fn catch_up(
        &mut self,
        now: CountedCluster<'_>,
        table: &mut ReasonTable,
        scratch: &mut Block,
    ) {
        let state = now.state;
        if state.nodes().in_transit > 0 && self.future.is_none() {
            self.future = Some(match &self.cells {
                // Where only other pods keep it off it waits on nodes that are idle.
                Some(_) => self.idle.clone(),
                None => {
                    let normalised = self.evaluator.static_part.normalised.len();
                    Ranking::new(self.verdict.len(), None, normalised)
                }
            });
            self.settle_cells();
        }
        let cursor = self.cursor.checked_sub(1);
        self.cursor = state.nodes().touch_cursor() + 1;
        self.catch_up_pods(now, cursor);
        match cursor {
            Some(cursor) => self.evaluate_touched(state, table, scratch, cursor),
            None => self.evaluate_range(state, table, scratch, 0, self.verdict.len()),
        }
        self.follow_normalisers(state, table, scratch);
    }

    /// Sums up anew what other pods say on nodes touched since the cursor, if it matters.
    fn catch_up_pods(&mut self, now: CountedCluster<'_>, cursor: Option<u64>) {
        // What has never been asked was just summed up.
        let Some(cursor) = cursor else {
            return;
        };
        if self.cells.is_none() && self.candidates.is_empty() {
            return;
        }
        let nodes = now.state.nodes();
        let touched: SmallVec<[NodeIx; 16]> = match nodes.touched_since(cursor) {
            Some(touched) => touched.collect(),
            None => nodes.indices().collect(),
        };
        if touched.is_empty() {
            return;
        }
        let sums = self.candidate_sums() + self.cells.as_ref().map_or(0, CellFilters::sums);
        self.effort += (touched.len() * sums) as u64;
        for score in &mut self.candidates {
            score.catch_up(now, &touched);
        }
        let Some(filter) = &mut self.cells else {
            return;
        };
        let (idle, future) = (&mut self.idle, &mut self.future);
        filter.catch_up(now, &touched, |filter, cell| {
            set_passing(idle, future.as_mut(), filter, cell);
        });
    }

    pub(super) fn candidate_sums(&self) -> usize {
        self.candidates.iter().map(|score| score.sums()).sum()
    }

    /// Evaluates nodes touched since the cursor: one by one, or when they are many whole blocks.
    fn evaluate_touched(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        scratch: &mut Block,
        cursor: u64,
    ) {
        let (nodes, count) = (state.nodes(), self.verdict.len());
        let Some(touches) = nodes.touches_since(cursor) else {
            self.evaluate_range(state, table, scratch, 0, count);
            return;
        };
        let many = match self.evaluator.ledgers() {
            [] => MANY,
            _ => MANY_WITH_LEDGER,
        };
        if touches.len() < many * count.div_ceil(BLOCK) {
            for node in nodes.touched_since(cursor).into_iter().flatten() {
                self.evaluate_range(state, table, scratch, node.at(), node.at() + 1);
            }
            return;
        }
        for block in nodes.blocks_touched_since(cursor) {
            let from = block * BLOCK;
            self.evaluate_range(state, table, scratch, from, (from + BLOCK).min(count));
        }
    }

    fn evaluate_range(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        scratch: &mut Block,
        from: usize,
        to: usize,
    ) {
        self.effort += (to - from) as u64;
        for start in (from..to).step_by(BLOCK) {
            let range = start..(start + BLOCK).min(to);
            self.evaluator
                .evaluate(state, table, range.clone(), scratch);
            self.record(range, scratch);
        }
    }

    /// When the largest raw value among the candidates has moved, every key is made anew.
    fn follow_normalisers(&mut self, state: &State, table: &mut ReasonTable, scratch: &mut Block) {
        if self.evaluator.static_part.normalised.is_empty() || self.parts.is_some() {
            return;
        }
        let mut moved = false;
        for ranking in std::iter::once(&mut self.idle).chain(self.future.as_mut()) {
            for (max, counts) in ranking.raw_max.iter_mut().zip(&ranking.raw_counts) {
                let now = counts.last_key_value().map_or(0, |(raw, _)| *raw);
                moved |= std::mem::replace(max, now) != now;
            }
        }
        if moved {
            self.evaluate_range(state, table, scratch, 0, self.verdict.len());
        }
    }

    /// The best node. [`ClassIndex::catch_up`] must have been called.
    pub fn best(&mut self, now: CountedCluster<'_>) -> Option<ChosenNode> {
        if self.parts.is_some() {
            return self.best_of_whole_picture(now);
        }
        let layout = self.cells.as_ref().map(|cells| cells.layout.as_ref());
        if let Some((node, _)) = self.idle.best(layout) {
            return Some(ChosenNode {
                node: NodeIx(node),
                idle: true,
            });
        }
        let (node, _) = self.future.as_mut()?.best(layout)?;
        Some(ChosenNode {
            node: NodeIx(node),
            idle: false,
        })
    }

    fn best_of_whole_picture(&mut self, now: CountedCluster<'_>) -> Option<ChosenNode> {
        let sums = self.candidate_sums();
        self.effort += (self.verdict.len() * (1 + sums)) as u64;
        for wanted in [Verdict::IDLE, Verdict::FUTURE] {
            let all = 0..self.verdict.len() as u32;
            let candidates: Vec<u32> = all.filter(|node| self.is(*node, wanted)).collect();
            let parts = self.parts.as_ref()?;
            let scores = candidates.iter().map(|node| {
                let node = *node as usize;
                (parts.int_score[node], parts.frac_score[node])
            });
            let keys = self.keys_among(now, &candidates, scores.collect());
            if let Some(node) = first_best(&candidates, &keys) {
                return Some(ChosenNode {
                    node: NodeIx(node),
                    idle: wanted == Verdict::IDLE,
                });
            }
        }
        None
    }

    /// Whether the verdict on a node, other pods elsewhere included, is one of those that fit.
    pub(super) fn is(&self, node: u32, wanted: Verdict) -> bool {
        self.verdict[node as usize].fits() && self.verdict(node as usize) == wanted
    }

    /// Number of nodes.
    pub(super) fn nodes(&self) -> usize {
        self.verdict.len()
    }

    /// What a node is to the class: with other pods elsewhere, if it fits by itself.
    pub(super) fn verdict(&self, node: usize) -> Verdict {
        let alone = self.verdict[node];
        let Some(cells) = self.cells.as_ref().filter(|_| alone.fits()) else {
            return alone;
        };
        match cells.passes(cells.layout.cell[node] as usize) {
            Some(LoadMoment::Now) => alone,
            Some(LoadMoment::Released) => Verdict::FUTURE,
            None => Verdict::UNKNOWN,
        }
    }

    /// The points of the class that depend on one node alone.
    pub(super) fn evaluator(&self) -> &ClassEvaluator {
        &self.evaluator
    }

    /// [`ClassIndex::evaluator`], to look at nodes with it.
    pub(super) fn evaluator_mut(&mut self) -> &mut ClassEvaluator {
        &mut self.evaluator
    }

    /// What the filters by topology domain say against a node.
    pub(super) fn domain_reasons(
        &self,
        table: &ReasonTable,
        node: usize,
    ) -> SmallVec<[ReasonId; 2]> {
        match &self.cells {
            Some(filter) => filter.reasons(table, filter.layout.cell[node] as usize),
            None => SmallVec::new(),
        }
    }

    /// Final scores of candidates with these scores of their own, each compared with the others.
    pub(super) fn keys_among(
        &mut self,
        now: CountedCluster<'_>,
        candidates: &[u32],
        scores: Vec<(i64, f64)>,
    ) -> Vec<f64> {
        let (mut whole, fraction): (Vec<i64>, Vec<f64>) = scores.into_iter().unzip();
        for normalised in &self.evaluator.static_part.normalised {
            let raw = |node: &u32| normalised.raw[*node as usize];
            let max = candidates.iter().map(raw).max().unwrap_or(0);
            for (score, node) in whole.iter_mut().zip(candidates) {
                *score += normalised.score(raw(node), max);
            }
        }
        for score in &mut self.candidates {
            score.add(now, candidates, &mut whole);
        }
        let sums = whole.iter().zip(&fraction);
        sums.map(|(whole, fraction)| *whole as f64 + fraction)
            .collect()
    }

    /// What nodes say of the class stays so while pods are placed; filters over several nodes aside.
    pub fn is_lasting(&self) -> bool {
        self.evaluator.is_lasting()
    }

    /// Filters of the class over several nodes, if what they say stays so while pods are placed.
    pub fn lasting_cells(&self) -> Option<&CellFilters> {
        self.cells.as_ref().filter(|cells| cells.is_lasting())
    }

    /// Whether some filter looks at several nodes.
    pub fn spans_nodes(&self) -> bool {
        self.cells.is_some()
    }

    /// Number of nodes that fit, filters over several nodes aside.
    pub fn fitting(&self) -> usize {
        let unfit: u32 = self.counts.iter().sum();
        self.verdict.len().saturating_sub(unfit as usize)
    }

    /// Whether a node fits, as far as what is said of it lasts.
    pub fn fits(&self, node: NodeIx) -> bool {
        let cell = |cells: &CellFilters| cells.layout.cell[node.at()] as usize;
        let passes = |cells: &CellFilters| cells.passes(cell(cells)).is_some();
        self.verdict[node.at()].fits() && self.lasting_cells().is_none_or(passes)
    }

    /// Whether the object of a node allows the class.
    pub fn is_allowed(&self, node: NodeIx) -> bool {
        self.evaluator.static_part.verdict[node.at()].is_none()
    }

    /// Why no node fits. The nearest miss is looked for once a cycle: what is `known` of it, and since which.
    pub fn explain(
        &self,
        state: &State,
        table: &mut ReasonTable,
        known: &mut Option<(u64, Nearest)>,
        cycle: u64,
        obstacles: impl FnOnce(&dyn Fn(NodeIx) -> bool) -> Obstacles,
    ) -> FitError {
        let counts = match &self.cells {
            None => self
                .counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(set, count)| (SetId(set as u16), *count))
                .collect(),
            Some(_) => self.count_with_pods(table),
        };
        let nearest = match known {
            Some((at, nearest)) if *at == cycle => nearest.clone(),
            _ => {
                let before = known.take().and_then(|(_, nearest)| nearest.obstacles);
                let mut nearest = nearest(&self.evaluator, &self.verdict, state.nodes());
                if nearest.miss.is_none() && !nearest.never {
                    let epoch = state.nodes().static_epoch();
                    let serves = |node| serves_when_idle(&self.evaluator, state.nodes(), node);
                    let before = before.filter(|(at, _)| *at == epoch);
                    let found = before.map(|(_, found)| found);
                    let found = found.unwrap_or_else(|| Arc::new(obstacles(&serves)));
                    nearest.obstacles = Some((epoch, found));
                }
                *known = Some((cycle, nearest.clone()));
                nearest
            }
        };
        FitError {
            nodes: self.verdict.len() as u32,
            counts,
            everywhere: None,
            nearest: nearest.miss,
            never: nearest.never,
            claims: None,
            obstacles: nearest
                .obstacles
                .map(|(_, found)| found)
                .filter(|found| !found.is_empty()),
        }
    }

    fn count_with_pods(&self, table: &mut ReasonTable) -> Vec<(SetId, u32)> {
        let all = 0..self.verdict.len() as u32;
        self.count_reasons(table, all)
    }

    pub(super) fn count_reasons(
        &self,
        table: &mut ReasonTable,
        nodes: impl Iterator<Item = u32>,
    ) -> Vec<(SetId, u32)> {
        let mut counts: SmallVec<[(SetId, u32); 8]> = SmallVec::new();
        for node in nodes {
            let Some(set) = self.reasons(table, node) else {
                continue;
            };
            match counts.iter_mut().find(|(known, _)| *known == set) {
                Some((_, count)) => *count += 1,
                None => counts.push((set, 1)),
            }
        }
        counts.into_vec()
    }

    /// The reasons against a node as they are told, those of filters by topology domain included.
    fn reasons(&self, table: &mut ReasonTable, node: u32) -> Option<SetId> {
        let own = self.verdict[node as usize].reasons();
        if self.cells.is_none() {
            return own;
        }
        if let Some(set) = own
            && (table.is_unresolvable(set) || table.is_shortage(set))
        {
            return Some(set);
        }
        let mut reasons: SmallVec<[_; 4]> =
            own.map_or(SmallVec::new(), |set| table.members(set).into());
        reasons.extend(self.domain_reasons(table, node as usize));
        (!reasons.is_empty()).then(|| table.set(&reasons))
    }
}

/// Lets a cell take part, in who is idle and in who waits.
fn set_passing(
    idle: &mut Ranking,
    future: Option<&mut Ranking>,
    filter: &CellFilters,
    cell: usize,
) {
    let passes = filter.passes(cell);
    idle.set_passing(cell, passes == Some(LoadMoment::Now));
    if let Some(future) = future {
        future.set_passing(cell, passes.is_some());
    }
}

/// The first of the candidates with the largest key.
pub(super) fn first_best(candidates: &[u32], keys: &[f64]) -> Option<u32> {
    let mut best: Option<(f64, u32)> = None;
    for (key, node) in keys.iter().zip(candidates) {
        if best.is_none_or(|(other, _)| *key > other) {
            best = Some((*key, *node));
        }
    }
    best.map(|(_, node)| node)
}
