//! One class against a range of nodes: does the task fit, and how good is the node by itself?

use std::ops::Range;
use std::sync::Arc;

use pumice_devices::NearMiss;
use pumice_framework::points::{LedgerCheck, NodeFilter, NodeScore, ReasonDetail, StaticPart};
use pumice_framework::reason::Shortage;
use pumice_framework::{Class, Plugins, ReasonId, ReasonTable, SetId, Verdict};
use pumice_model::node::BLOCK;
use pumice_model::{LoadMoment, NodeIx, Nodes, ResIx, State};
use smallvec::SmallVec;

use super::ChosenNode;
use super::wide_max::{Keys, NOT_A_CANDIDATE, Ranked};

struct Need {
    resource: ResIx,
    amount: i64,
    reason: SetId,
}

/// The points of a class that depend on one node alone.
pub struct ClassEvaluator {
    needs: SmallVec<[Need; 4]>,
    before: Vec<Box<dyn NodeFilter>>,
    after: Vec<Box<dyn NodeFilter>>,
    scores: Vec<Box<dyn NodeScore>>,
    ledgers: Vec<Box<dyn LedgerCheck>>,
    /// The static part, shared by all classes with the same rules.
    pub static_part: Arc<StaticPart>,
    /// Some score has a fraction.
    has_fraction: bool,
}

/// Who can say how close a node came.
pub(super) enum Explainer<'a> {
    Ledger(&'a dyn LedgerCheck),
    Filter(&'a dyn NodeFilter),
}

impl Explainer<'_> {
    pub(super) fn explain(&self, nodes: &Nodes, node: NodeIx) -> Option<NearMiss> {
        match self {
            Self::Ledger(ledger) => ledger.explain(nodes, node),
            Self::Filter(filter) => filter.explain(nodes, node),
        }
    }
}

/// Results for a block of nodes.
pub struct Block {
    /// What the filters say of each node of the block.
    pub verdict: [Verdict; BLOCK],
    /// Integer scores, static ones included.
    pub int_score: [i64; BLOCK],
    /// Fractional scores.
    pub frac_score: [f64; BLOCK],
    rejected: [Option<ReasonId>; BLOCK],
}

impl Default for Block {
    fn default() -> Self {
        Self {
            verdict: [Verdict::UNKNOWN; BLOCK],
            int_score: [0; BLOCK],
            frac_score: [0.0; BLOCK],
            rejected: [None; BLOCK],
        }
    }
}

impl Block {
    /// Integer and fractional score of a node of the block.
    pub fn scores(&self, at: usize) -> (i64, f64) {
        (self.int_score[at], self.frac_score[at])
    }

    /// The first of the best among the first `count` nodes with this verdict, and its key.
    pub fn best_of(&self, count: usize, wanted: Verdict) -> (usize, f64) {
        let mut keys = [NOT_A_CANDIDATE; BLOCK];
        for (at, key) in keys[..count].iter_mut().enumerate() {
            let (whole, fraction) = self.scores(at);
            *key = match self.verdict[at] == wanted {
                true => whole as f64 + fraction,
                false => NOT_A_CANDIDATE,
            };
        }
        let best = Ranked(&keys).best_of(0, count);
        (best, keys[best])
    }
}

/// Whether there is any reason. Without a way out half-way it is a few vector instructions.
fn has_some(reasons: &[Option<ReasonId>]) -> bool {
    reasons
        .iter()
        .fold(false, |any, reason| any | reason.is_some())
}

impl ClassEvaluator {
    /// Collects the points of a class.
    pub fn new(
        state: &State,
        plugins: &Plugins,
        table: &mut ReasonTable,
        class: &Class,
        static_part: Arc<StaticPart>,
    ) -> Self {
        let filters = plugins.node_filters(state, class);
        let (before, after) = filters
            .into_iter()
            .partition(|filter| filter.before_static());
        let scores = plugins.node_scores(state, class);
        let request = &class.shape.request;
        let mut needs = SmallVec::new();
        for resource in state.resources().in_order() {
            let amount = request.get(*resource);
            if amount > 0 {
                let reason = table.insufficient(state.resources(), *resource);
                needs.push(Need {
                    resource: *resource,
                    amount,
                    reason: table.set(&[reason]),
                });
            }
        }
        let has_fraction = scores.iter().any(|score| score.has_fraction());
        Self {
            needs,
            before,
            after,
            scores,
            ledgers: plugins.ledger_checks(class, table),
            static_part,
            has_fraction,
        }
    }

    /// Evaluates at most [`BLOCK`] nodes into the first entries of `block`.
    pub fn evaluate(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        range: Range<usize>,
        block: &mut Block,
    ) {
        self.evaluate_as(state, table, range, block, ReasonDetail::Exact);
    }

    /// As [`ClassEvaluator::evaluate`], where nobody will read what is said against a node.
    pub fn evaluate_roughly(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        range: Range<usize>,
        block: &mut Block,
    ) {
        self.evaluate_as(state, table, range, block, ReasonDetail::Any);
    }

    fn evaluate_as(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        range: Range<usize>,
        block: &mut Block,
        reasons: ReasonDetail,
    ) {
        let count = range.len();
        self.fit(state.nodes(), range.clone(), &mut block.verdict[..count]);
        self.filter(state, table, range.clone(), block);
        let int_score = &mut block.int_score[..count];
        int_score.copy_from_slice(&self.static_part.score[range.clone()]);
        for score in &self.scores {
            score.add_whole(state, range.clone(), int_score);
        }
        for ledger in &self.ledgers {
            let verdicts = &mut block.verdict[..count];
            ledger.judge(state.nodes(), range.clone(), verdicts, int_score, reasons);
        }
        let fraction = &mut block.frac_score[..count];
        fraction.fill(0.0);
        if self.has_fraction {
            for score in &mut self.scores {
                score.add_fraction_when(state, range.clone(), &block.verdict[..count], fraction);
            }
        }
    }

    /// The best node of those that pass, in one go; `None` when none fits, or when scores depend on
    /// who the other candidates are.
    pub fn best(
        &mut self,
        state: &State,
        table: &mut ReasonTable,
        block: &mut Block,
        passes: impl Fn(usize) -> bool,
    ) -> Option<ChosenNode> {
        if !self.static_part.normalised.is_empty() {
            return None;
        }
        let mut best: [Option<(f64, usize)>; 2] = [None, None];
        for start in (0..state.nodes().len()).step_by(BLOCK) {
            let range = start..(start + BLOCK).min(state.nodes().len());
            let count = range.len();
            self.evaluate_as(state, table, range, block, ReasonDetail::Any);
            for (best, wanted) in best.iter_mut().zip([Verdict::IDLE, Verdict::FUTURE]) {
                if wanted == Verdict::FUTURE && state.nodes().in_transit == 0 {
                    continue;
                }
                let is_better = |key: f64, best: &Option<(f64, usize)>| match best {
                    Some((other, _)) => key > *other,
                    None => key != NOT_A_CANDIDATE,
                };
                let (at, key) = block.best_of(count, wanted);
                if !is_better(key, best) {
                    continue;
                }
                if passes(start + at) {
                    *best = Some((key, start + at));
                    continue;
                }
                for at in (0..count).filter(|at| block.verdict[*at] == wanted) {
                    let (whole, fraction) = block.scores(at);
                    let key = whole as f64 + fraction;
                    if is_better(key, best) && passes(start + at) {
                        *best = Some((key, start + at));
                    }
                }
            }
        }
        let [idle, future] = best;
        let found = |idle: bool| {
            move |(_, node): (f64, usize)| ChosenNode {
                node: NodeIx(node as u32),
                idle,
            }
        };
        idle.map(found(true)).or(future.map(found(false)))
    }

    fn fit(&self, nodes: &Nodes, range: Range<usize>, verdict: &mut [Verdict]) {
        verdict.fill(Verdict::IDLE);
        if nodes.in_transit == 0 {
            for need in &self.needs {
                let unfit = Verdict::unfit(need.reason);
                let Some(idle) = nodes.idle.column(need.resource) else {
                    verdict
                        .iter_mut()
                        .filter(|v| v.fits())
                        .for_each(|v| *v = unfit);
                    continue;
                };
                let idle = &idle[range.clone()];
                // Whoever has too little has a negative sign in one of both: a few vector instructions.
                let signs = |signs, idle: &i64| signs | idle | idle.wrapping_sub(need.amount);
                if idle.iter().fold(0, signs) >= 0 {
                    continue;
                }
                for (verdict, idle) in verdict.iter_mut().zip(idle) {
                    if need.amount > *idle && verdict.fits() {
                        *verdict = unfit;
                    }
                }
            }
            return;
        }
        for (verdict, node) in verdict.iter_mut().zip(range) {
            let node = NodeIx(node as u32);
            for need in &self.needs {
                if need.amount > nodes.future_idle(need.resource, node) {
                    *verdict = Verdict::unfit(need.reason);
                    break;
                }
                if need.amount > nodes.idle.get(need.resource, node) {
                    *verdict = Verdict::FUTURE;
                }
            }
        }
    }

    /// What the filters say against each node of a range, by position in it, in the order they are
    /// asked.
    fn rejections(
        &self,
        state: &State,
        range: Range<usize>,
        rejected: &mut [Option<ReasonId>],
    ) -> SmallVec<[(u8, ReasonId); 8]> {
        let mut found: SmallVec<[(u8, ReasonId); 8]> = SmallVec::new();
        let mut ask = |filters: &[Box<dyn NodeFilter>], found: &mut SmallVec<_>| {
            for filter in filters {
                filter.reject(state, range.clone(), LoadMoment::Released, rejected);
                if !has_some(rejected) {
                    continue;
                }
                for (at, reason) in rejected.iter_mut().enumerate() {
                    if let Some(reason) = reason.take() {
                        found.push((at as u8, reason));
                    }
                }
            }
        };
        ask(&self.before, &mut found);
        let fixed = &self.static_part.verdict[range.clone()];
        if has_some(fixed) {
            let reasons = fixed.iter().enumerate();
            found.extend(reasons.filter_map(|(at, reason)| Some((at as u8, (*reason)?))));
        }
        let mut later = SmallVec::new();
        ask(&self.after, &mut later);
        // A static reason ends the search on its node.
        found.extend(
            later
                .into_iter()
                .filter(|(at, _)| fixed[*at as usize].is_none()),
        );
        found.sort_by_key(|(at, _)| *at);
        found
    }

    fn filter(
        &self,
        state: &State,
        table: &mut ReasonTable,
        range: Range<usize>,
        block: &mut Block,
    ) {
        let rejected = &mut block.rejected[..range.len()];
        let found = self.rejections(state, range.clone(), rejected);
        for reasons in found.chunk_by(|l, r| l.0 == r.0) {
            let at = reasons[0].0 as usize;
            if block.verdict[at].fits() {
                let set: SmallVec<[ReasonId; 4]> = reasons.iter().map(|(_, r)| *r).collect();
                block.verdict[at] = Verdict::unfit(table.set(&set));
            }
        }
        if state.nodes().in_transit > 0 {
            self.wait(state, range, block);
        }
    }

    /// What fits only once something that is being released is gone.
    fn wait(&self, state: &State, range: Range<usize>, block: &mut Block) {
        let rejected = &mut block.rejected[..range.len()];
        let filters = self.before.iter().chain(&self.after);
        for filter in filters.filter(|filter| filter.counts_released()) {
            filter.reject(state, range.clone(), LoadMoment::Now, rejected);
            for (verdict, reason) in block.verdict.iter_mut().zip(&mut *rejected) {
                if reason.take().is_some() && *verdict == Verdict::IDLE {
                    *verdict = Verdict::FUTURE;
                }
            }
        }
    }

    /// What its filters and ledgers say of a node stays so while pods are placed there.
    pub fn is_lasting(&self) -> bool {
        let mut filters = self.before.iter().chain(&self.after);
        filters.all(|filter| filter.is_lasting())
            && self.ledgers.iter().all(|ledger| ledger.is_lasting())
    }

    /// Everything that stands against each of at most [`BLOCK`] nodes, other pods elsewhere aside:
    /// every resource of which there is too little even once what is being released is gone, what the
    /// filters say, and what the ledgers lack. [`ClassEvaluator::evaluate`] ends with the first kind
    /// of these.
    pub fn all_reasons(
        &self,
        state: &State,
        table: &mut ReasonTable,
        range: Range<usize>,
        block: &mut Block,
    ) -> Vec<SmallVec<[ReasonId; 4]>> {
        let (nodes, count) = (state.nodes(), range.len());
        let mut all: Vec<SmallVec<[ReasonId; 4]>> = vec![SmallVec::new(); count];
        for (reasons, node) in all.iter_mut().zip(range.clone()) {
            let node = NodeIx(node as u32);
            let short = |need: &&Need| need.amount > nodes.future_idle(need.resource, node);
            for need in self.needs.iter().filter(short) {
                reasons.extend_from_slice(table.members(need.reason));
            }
        }
        let rejected = &mut block.rejected[..count];
        for (at, reason) in self.rejections(state, range.clone(), rejected) {
            all[at as usize].push(reason);
        }
        for ledger in &self.ledgers {
            let (verdicts, scores) = (&mut block.verdict[..count], &mut block.int_score[..count]);
            verdicts.fill(Verdict::IDLE);
            ledger.judge(nodes, range.clone(), verdicts, scores, ReasonDetail::Exact);
            for (reasons, verdict) in all.iter_mut().zip(verdicts) {
                if let Some(set) = verdict.reasons() {
                    reasons.extend_from_slice(table.members(set));
                }
            }
        }
        all
    }

    /// The checks of ledgers, for classes that take something from them.
    pub fn ledgers(&self) -> &[Box<dyn LedgerCheck>] {
        &self.ledgers
    }

    /// Who can say how close a node came that has these reasons.
    pub(super) fn explainer(&self, set: SetId) -> Option<Explainer<'_>> {
        let mut ledgers = self.ledgers.iter();
        let ledger = ledgers.find(|ledger| ledger.is_failure(set));
        let mut filters = self.before.iter().chain(&self.after);
        let mut filter = || filters.find(|filter| filter.is_explained(set));
        ledger
            .map(|ledger| Explainer::Ledger(&**ledger))
            .or_else(|| filter().map(|filter| Explainer::Filter(&**filter)))
    }

    /// What of a node's resources is left for the class, those that suffice included; what is being
    /// released counts as free.
    pub fn shortages(&self, nodes: &Nodes, node: NodeIx) -> impl Iterator<Item = Shortage> {
        self.needs.iter().map(move |need| Shortage {
            resource: need.resource,
            asked: need.amount,
            short: need
                .amount
                .saturating_sub(nodes.future_idle(need.resource, node)),
            total: nodes.total.get(need.resource, node),
        })
    }
}
