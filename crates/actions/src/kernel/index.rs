//! The ordered node index of one class.

use pumice_framework::points::CandidateScore;
use pumice_framework::{FitError, ReasonTable, SetId, Verdict};
use pumice_model::{NodeIx, State};
use smallvec::SmallVec;

use super::Found;
use super::cells::CellFilters;
use super::evaluate::{BLOCK, Block, ClassEvaluator};
use super::nearest::{Nearest, nearest};
use super::ranking::Ranking;
use super::wide_max::NOT_A_CANDIDATE;

/// From this many touched nodes of a block on, the whole block is evaluated.
const FULL_BLOCK: u8 = 6;

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
    in_block: Vec<u8>,
    nearest: Option<(u64, Nearest)>,
    /// When it was last asked, in questions.
    pub last_used: u64,
    /// Units of work since they were last taken.
    pub effort: u64,
    /// State of the cluster's storage it was made for.
    pub volumes_epoch: u64,
}

/// Scores by node, kept when the final score depends on all candidates.
struct Parts {
    whole: Vec<i64>,
    fraction: Vec<f64>,
}

impl ClassIndex {
    /// An index that knows nothing yet.
    pub fn new(
        state: &State,
        evaluator: ClassEvaluator,
        cells: Option<CellFilters>,
        candidates: Vec<Box<dyn CandidateScore>>,
    ) -> Self {
        let nodes = state.nodes.len();
        let normalised = evaluator.static_part.normalised.len();
        // What other pods say decides who the candidates are, and so what normalised scores are.
        let whole_picture = !candidates.is_empty() || (cells.is_some() && normalised > 0);
        let parts = whole_picture.then(|| Parts {
            whole: vec![0; nodes],
            fraction: vec![0.0; nodes],
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
            in_block: Vec::new(),
            nearest: None,
            last_used: 0,
            effort: 0,
            volumes_epoch: 0,
        };
        index.settle_cells();
        index
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        let rankings = self.idle.bytes() + self.future.as_ref().map_or(0, Ranking::bytes);
        let parts = self
            .parts
            .as_ref()
            .map_or(0, |parts| parts.whole.len() * 16);
        self.verdict.len() * 2 + self.in_block.len() + rankings + parts
    }

    fn settle_cells(&mut self) {
        let Some(filter) = &self.cells else {
            return;
        };
        for cell in 0..filter.layout.cells() {
            let passes = filter.passes(cell);
            self.idle.set_passing(cell, passes);
            if let Some(future) = &mut self.future {
                future.set_passing(cell, passes);
            }
        }
    }

    /// Looks again at everything that was touched since it was last asked.
    pub fn catch_up(&mut self, state: &State, table: &mut ReasonTable, scratch: &mut Block) {
        if state.nodes.in_transit > 0 && self.future.is_none() {
            let layout = self.cells.as_ref().map(|cells| cells.layout.as_ref());
            let normalised = self.evaluator.static_part.normalised.len();
            self.future = Some(Ranking::new(self.verdict.len(), layout, normalised));
            self.settle_cells();
        }
        let is_new = self.cursor == 0;
        let now = state.nodes.touch_cursor();
        let touched: Option<Vec<NodeIx>> = (self.cursor > 0)
            .then(|| {
                state
                    .nodes
                    .touched_since(self.cursor - 1)
                    .map(Iterator::collect)
            })
            .flatten();
        self.cursor = now + 1;
        match touched {
            Some(touched) if touched.len() * 4 < self.verdict.len() => {
                self.catch_up_pods(state, &touched);
                self.evaluate_touched(state, table, scratch, &touched);
            }
            _ => {
                // What other pods say was just summed up when it has never been asked.
                let all: Vec<NodeIx> = match &self.cells {
                    _ if is_new => Vec::new(),
                    None if self.candidates.is_empty() => Vec::new(),
                    _ => state.nodes.indices().collect(),
                };
                self.catch_up_pods(state, &all);
                self.evaluate_range(state, table, scratch, 0, self.verdict.len());
            }
        }
        self.follow_normalisers(state, table, scratch);
    }

    fn catch_up_pods(&mut self, state: &State, touched: &[NodeIx]) {
        if touched.is_empty() {
            return;
        }
        let sums = self.candidate_sums() + self.cells.as_ref().map_or(0, CellFilters::sums);
        self.effort += (touched.len() * sums) as u64;
        for score in &mut self.candidates {
            score.catch_up(state, touched);
        }
        let Some(filter) = &mut self.cells else {
            return;
        };
        let (idle, future) = (&mut self.idle, &mut self.future);
        filter.catch_up(state, touched, |filter, cell| {
            let passes = filter.passes(cell);
            idle.set_passing(cell, passes);
            if let Some(future) = future {
                future.set_passing(cell, passes);
            }
        });
    }

    fn candidate_sums(&self) -> usize {
        self.candidates.iter().map(|score| score.sums()).sum()
    }

    /// Evaluates touched nodes; where many of a block were touched, the whole block at once.
    fn evaluate_touched(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        scratch: &mut Block,
        touched: &[NodeIx],
    ) {
        let mut in_block = std::mem::take(&mut self.in_block);
        in_block.resize(self.verdict.len().div_ceil(BLOCK), 0);
        for node in touched {
            let count = &mut in_block[node.at() / BLOCK];
            *count = count.saturating_add(1);
        }
        for node in touched {
            let block = node.at() / BLOCK;
            match std::mem::take(&mut in_block[block]) {
                // The block was looked at when its first node came up.
                0 => {}
                few @ 1..FULL_BLOCK => {
                    in_block[block] = few;
                    self.evaluate_range(state, table, scratch, node.at(), node.at() + 1);
                }
                _ => {
                    let from = block * BLOCK;
                    let to = (from + BLOCK).min(self.verdict.len());
                    self.evaluate_range(state, table, scratch, from, to);
                }
            }
        }
        touched
            .iter()
            .for_each(|node| in_block[node.at() / BLOCK] = 0);
        self.in_block = in_block;
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
            for (at, node) in range.enumerate() {
                let fraction = if self.evaluator.has_fraction {
                    scratch.frac_score[at]
                } else {
                    0.0
                };
                self.record(node, scratch.verdict[at], scratch.int_score[at], fraction);
            }
        }
    }

    fn record(&mut self, node: usize, verdict: Verdict, whole: i64, fraction: f64) {
        let old = self.verdict[node];
        if old != verdict {
            self.verdict[node] = verdict;
            self.count(old, -1);
            self.count(verdict, 1);
            if !self.evaluator.static_part.normalised.is_empty() {
                self.count_raw(node, old, verdict);
            }
        }
        if let Some(parts) = &mut self.parts {
            parts.whole[node] = whole;
            parts.fraction[node] = fraction;
        }
        let layout = self.cells.as_ref().map(|cells| cells.layout.as_ref());
        let put = |ranking: &mut Ranking, member: bool| {
            let key = if member {
                let normalised = &self.evaluator.static_part.normalised;
                let extra: i64 = normalised
                    .iter()
                    .zip(&ranking.raw_max)
                    .map(|(n, max)| n.score(n.raw[node].min(*max), *max))
                    .sum();
                (whole + extra) as f64 + fraction
            } else {
                NOT_A_CANDIDATE
            };
            ranking.set(node, key, layout);
        };
        put(&mut self.idle, verdict == Verdict::IDLE);
        if let Some(future) = &mut self.future {
            put(future, verdict == Verdict::FUTURE);
        }
    }

    fn count(&mut self, verdict: Verdict, by: i32) {
        if let Some(set) = verdict.reasons() {
            let at = set.0 as usize;
            if self.counts.len() <= at {
                self.counts.resize(at + 1, 0);
            }
            self.counts[at] = self.counts[at].wrapping_add_signed(by);
        }
    }

    fn count_raw(&mut self, node: usize, old: Verdict, new: Verdict) {
        let mut shift = |verdict: Verdict, by: i32| {
            let ranking = match verdict {
                Verdict::IDLE => &mut self.idle,
                Verdict::FUTURE => match &mut self.future {
                    Some(future) => future,
                    None => return,
                },
                _ => return,
            };
            for (counts, normalised) in ranking
                .raw_counts
                .iter_mut()
                .zip(&self.evaluator.static_part.normalised)
            {
                let count = counts.entry(normalised.raw[node]).or_insert(0);
                *count = count.wrapping_add_signed(by);
                if *count == 0 {
                    counts.remove(&normalised.raw[node]);
                }
            }
        };
        shift(old, -1);
        shift(new, 1);
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
    pub fn best(&mut self, state: &State) -> Option<Found> {
        if self.parts.is_some() {
            return self.best_of_whole_picture(state);
        }
        let layout = self.cells.as_ref().map(|cells| cells.layout.as_ref());
        if let Some((node, _)) = self.idle.best(layout) {
            return Some(Found {
                node: NodeIx(node),
                idle: true,
            });
        }
        let (node, _) = self.future.as_mut()?.best(layout)?;
        Some(Found {
            node: NodeIx(node),
            idle: false,
        })
    }

    fn best_of_whole_picture(&mut self, state: &State) -> Option<Found> {
        let sums = self.candidate_sums();
        self.effort += (self.verdict.len() * (1 + sums)) as u64;
        for wanted in [Verdict::IDLE, Verdict::FUTURE] {
            let passes = |node: usize| match &self.cells {
                Some(filter) => filter.passes(filter.layout.cell[node] as usize),
                None => true,
            };
            let candidates: Vec<u32> = (0..self.verdict.len())
                .filter(|node| self.verdict[*node] == wanted && passes(*node))
                .map(|node| node as u32)
                .collect();
            if let Some(node) = self.best_among(state, &candidates) {
                return Some(Found {
                    node: NodeIx(node),
                    idle: wanted == Verdict::IDLE,
                });
            }
        }
        None
    }

    fn best_among(&mut self, state: &State, candidates: &[u32]) -> Option<u32> {
        let parts = self.parts.as_ref()?;
        let mut whole: Vec<i64> = candidates
            .iter()
            .map(|node| parts.whole[*node as usize])
            .collect();
        for normalised in &self.evaluator.static_part.normalised {
            let raw = |node: &u32| normalised.raw[*node as usize];
            let max = candidates.iter().map(raw).max().unwrap_or(0);
            for (score, node) in whole.iter_mut().zip(candidates) {
                *score += normalised.score(raw(node), max);
            }
        }
        for score in &mut self.candidates {
            score.add(state, candidates, &mut whole);
        }
        let mut best: Option<(f64, u32)> = None;
        for (whole, node) in whole.iter().zip(candidates) {
            let key = *whole as f64 + parts.fraction[*node as usize];
            if best.is_none_or(|(other, _)| key > other) {
                best = Some((key, *node));
            }
        }
        best.map(|(_, node)| node)
    }

    /// Why no node fits. `cycle` limits how often the nearest miss is looked for.
    pub fn explain(&mut self, state: &State, table: &mut ReasonTable, cycle: u64) -> FitError {
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
        let nearest = match &self.nearest {
            Some((at, nearest)) if *at == cycle => nearest.clone(),
            _ => {
                let nearest = nearest(&self.evaluator, &self.verdict, &state.nodes);
                self.nearest = Some((cycle, nearest.clone()));
                nearest
            }
        };
        FitError {
            nodes: self.verdict.len() as u32,
            counts,
            everywhere: None,
            nearest: nearest.miss,
            never: nearest.never,
        }
    }

    fn count_with_pods(&self, table: &mut ReasonTable) -> Vec<(SetId, u32)> {
        let Some(filter) = &self.cells else {
            return Vec::new();
        };
        let mut counts: SmallVec<[(SetId, u32); 8]> = SmallVec::new();
        for (node, verdict) in self.verdict.iter().enumerate() {
            let set = match verdict.reasons() {
                Some(set) if table.is_unresolvable(set) || table.is_shortage(set) => set,
                other => {
                    let mut reasons: SmallVec<[_; 4]> =
                        other.map_or(SmallVec::new(), |set| table.members(set).into());
                    reasons.extend(filter.reasons(table, filter.layout.cell[node] as usize));
                    if reasons.is_empty() {
                        continue;
                    }
                    table.set(&reasons)
                }
            };
            match counts.iter_mut().find(|(known, _)| *known == set) {
                Some((_, count)) => *count += 1,
                None => counts.push((set, 1)),
            }
        }
        counts.into_vec()
    }
}
