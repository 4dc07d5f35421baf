//! What every queue holds and has promised, with all queues below it.
//!
//! The state keeps the sums of single queues; here they are kept for the tree, so that a placement, an
//! eviction or an admission costs the path from its queue to the root. Steps of a cycle are added as they
//! are told; what happened outside is found when the next cycle opens, by the jobs that changed.

use pumice_model::resource::{ResVec, WideSum};
use pumice_model::{JobIx, QueueIx, ResIx, State};

use super::claims::CountedDevices;
use super::tree::QueueTree;

/// Sums by queue.
#[derive(Clone, Default)]
pub(super) struct TreeSums {
    claims: CountedDevices,
    nothing: HeldSums,
    own: Vec<HeldSums>,
    total: Vec<HeldSums>,
    /// Reserved by admissions of this cycle, queues below included.
    promised: Vec<ResVec>,
    /// Queues of which `promised` is not 0.
    has_promised: Vec<QueueIx>,
    /// The queue of each job, as it was counted.
    queue_of: Vec<Option<QueueIx>>,
}

/// Amounts of one queue.
#[derive(Clone, Default)]
struct HeldSums {
    held: ResVec,
    in_doubt: ResVec,
    reserved: WideSum,
    elastic: ResVec,
}

impl HeldSums {
    fn of(state: &State, ix: QueueIx, claims: CountedDevices) -> Self {
        let queue = state.queue(ix);
        let (held, in_doubt) = claims.held(state, queue);
        Self {
            held,
            in_doubt,
            reserved: queue.reserved.clone(),
            elastic: queue.elastic.clone(),
        }
    }

    fn add(&mut self, other: &Self) {
        self.held.add(&other.held);
        self.in_doubt.add(&other.in_doubt);
        self.reserved.shift_sum(&other.reserved, 1);
        self.elastic.add(&other.elastic);
    }

    fn sub(&mut self, other: &Self) {
        self.held.sub(&other.held);
        self.in_doubt.sub(&other.in_doubt);
        self.reserved.shift_sum(&other.reserved, -1);
        self.elastic.sub(&other.elastic);
    }
}

impl TreeSums {
    /// Everything from the state.
    pub fn new(state: &State, tree: &QueueTree, claims: CountedDevices) -> Self {
        let size = tree.size();
        let mut sums = Self {
            claims,
            own: vec![HeldSums::default(); size],
            total: vec![HeldSums::default(); size],
            promised: vec![ResVec::default(); size],
            ..Self::default()
        };
        for ix in tree.top_down().iter().rev() {
            let own = HeldSums::of(state, *ix, claims);
            let mut total = own.clone();
            for child in tree.children(*ix) {
                total.add(&sums.total[child.at()]);
            }
            (sums.own[ix.at()], sums.total[ix.at()]) = (own, total);
        }
        for (ix, job) in state.population().jobs() {
            sums.note(ix, job.queue);
        }
        sums
    }

    fn note(&mut self, job: JobIx, queue: Option<QueueIx>) -> Option<QueueIx> {
        if self.queue_of.len() <= job.at() {
            self.queue_of.resize(job.at() + 1, None);
        }
        std::mem::replace(&mut self.queue_of[job.at()], queue)
    }

    /// A cycle begins, in which the queues are the same: these jobs have changed. The queues whose sums
    /// changed, each once.
    pub fn follow(&mut self, state: &State, tree: &QueueTree, jobs: &[JobIx]) -> Vec<QueueIx> {
        for ix in std::mem::take(&mut self.has_promised) {
            self.promised[ix.at()] = ResVec::default();
        }
        let mut queues = Vec::new();
        for ix in jobs {
            let now = match state.population().has_job(*ix) {
                true => state.job(*ix).queue,
                false => None,
            };
            queues.extend(self.note(*ix, now));
            queues.extend(now);
        }
        queues.sort_unstable();
        queues.dedup();
        for ix in &queues {
            let now = HeldSums::of(state, *ix, self.claims);
            let before = std::mem::replace(&mut self.own[ix.at()], now.clone());
            for above in tree.path(*ix) {
                let total = &mut self.total[above.at()];
                total.sub(&before);
                total.add(&now);
            }
        }
        queues
    }

    /// There are sums of this queue.
    pub fn knows(&self, queue: QueueIx) -> bool {
        queue.at() < self.own.len()
    }

    /// A queue holds so much more.
    pub fn hold(&mut self, tree: &QueueTree, queue: QueueIx, amounts: &ResVec) {
        self.own[queue.at()].held.add(amounts);
        tree.path(queue)
            .for_each(|above| self.total[above.at()].held.add(amounts));
    }

    /// A queue holds so much less.
    pub fn release(&mut self, tree: &QueueTree, queue: QueueIx, amounts: &ResVec) {
        self.own[queue.at()].held.sub(amounts);
        tree.path(queue)
            .for_each(|above| self.total[above.at()].held.sub(amounts));
    }

    /// The eviction of a pod of a queue was decided, and may be refused.
    pub fn doubt(&mut self, tree: &QueueTree, queue: QueueIx, amounts: &ResVec) {
        self.own[queue.at()].in_doubt.add(amounts);
        tree.path(queue)
            .for_each(|above| self.total[above.at()].in_doubt.add(amounts));
    }

    /// The inverse of [`TreeSums::doubt`].
    pub fn settle_doubt(&mut self, tree: &QueueTree, queue: QueueIx, amounts: &ResVec) {
        self.own[queue.at()].in_doubt.sub(amounts);
        tree.path(queue)
            .for_each(|above| self.total[above.at()].in_doubt.sub(amounts));
    }

    /// A job of a queue was admitted, which reserves so much.
    pub fn promise(&mut self, tree: &QueueTree, queue: QueueIx, amounts: &ResVec) {
        for above in tree.path(queue) {
            self.promised[above.at()].add_saturating(amounts);
            self.has_promised.push(above);
        }
    }

    /// What a queue holds.
    pub fn held(&self, queue: QueueIx) -> &ResVec {
        &self.of(queue).held
    }

    /// What pods of a queue hold whose eviction may be refused.
    pub fn in_doubt(&self, queue: QueueIx) -> &ResVec {
        &self.of(queue).in_doubt
    }

    /// A queue that came since the cycle began holds nothing.
    fn of(&self, queue: QueueIx) -> &HeldSums {
        self.total.get(queue.at()).unwrap_or(&self.nothing)
    }

    /// What admitted jobs of a queue reserve.
    pub fn inqueue(&self, queue: QueueIx, ix: ResIx) -> i64 {
        let promised = self.promised.get(queue.at());
        let promised = promised.map_or(0, |promised| promised.get(ix));
        self.of(queue).reserved.get(ix).saturating_add(promised)
    }

    /// What a queue holds beyond `minResources` of its jobs, as of the beginning of the cycle.
    pub fn elastic(&self, queue: QueueIx, ix: ResIx) -> i64 {
        self.of(queue).elastic.get(ix)
    }

    /// Whether the sums are those of the state.
    pub fn are_of(&self, state: &State, tree: &QueueTree) -> bool {
        let fresh = Self::new(state, tree, self.claims);
        tree.top_down().iter().all(|ix| {
            let (mine, theirs) = (&self.total[ix.at()], &fresh.total[ix.at()]);
            mine.held == theirs.held
                && mine.in_doubt == theirs.in_doubt
                && mine.elastic == theirs.elastic
                && mine.reserved.clamped() == theirs.reserved.clamped()
        })
    }
}
