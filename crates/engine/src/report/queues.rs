//! What queues have allocated, with what their descendants have (spec/01 §4.5).
//!
//! A queue whose parent is missing, or that is its own ancestor, counts for itself only.

use pumice_model::object::Amounts;
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{QueueIx, ResIx, ResVec, State};
use rustc_hash::{FxHashMap, FxHashSet};

/// Seconds between two reports on one queue.
const QUEUE_REPORT_EVERY_S: i64 = 1;

/// Sums by queue, and what was told of them.
#[derive(Default)]
pub struct QueueTotals {
    tree: Option<u64>,
    parent: FxHashMap<QueueIx, QueueIx>,
    /// What each queue itself had allocated when it was last added to the totals.
    own: FxHashMap<QueueIx, ResVec>,
    total: FxHashMap<QueueIx, ResVec>,
    pending: FxHashSet<QueueIx>,
    told: FxHashMap<QueueIx, ToldAmounts>,
}

struct ToldAmounts {
    amounts: Amounts,
    /// What the object carried then.
    carried: Amounts,
    at_s: i64,
}

/// What every queue has allocated, with what its descendants have.
pub fn totals(state: &State) -> FxHashMap<QueueIx, ResVec> {
    let mut totals = QueueTotals::default();
    totals.rebuild(state);
    totals.total
}

impl QueueTotals {
    /// Queues whose amounts are to be written, by index; `changed`: those that have changed since the last call.
    pub fn report(
        &mut self,
        state: &State,
        changed: Vec<QueueIx>,
        now_s: i64,
    ) -> Vec<(QueueIx, Amounts)> {
        if self.tree != Some(state.journal().queue_tree_epoch()) {
            self.rebuild(state);
        } else {
            changed.into_iter().for_each(|ix| self.follow(state, ix));
        }
        let mut pending: Vec<QueueIx> = self.pending.iter().copied().collect();
        pending.sort_unstable();
        let mut reports = Vec::new();
        for ix in pending {
            if self.next_s(ix).is_some_and(|next_s| next_s > now_s) {
                continue;
            }
            self.pending.remove(&ix);
            reports.extend(self.news(state, ix, now_s).map(|amounts| (ix, amounts)));
        }
        reports
    }

    /// When a queue is due whose last report is too young for another one.
    pub fn due_s(&self) -> Option<i64> {
        let due = self.pending.iter().filter_map(|ix| self.next_s(*ix));
        due.min()
    }

    /// What was told of a queue did not arrive.
    pub fn forget(&mut self, ix: QueueIx) {
        self.told.remove(&ix);
        self.pending.insert(ix);
    }

    fn next_s(&self, ix: QueueIx) -> Option<i64> {
        let told = self.told.get(&ix)?;
        Some(told.at_s.saturating_add(QUEUE_REPORT_EVERY_S))
    }

    /// Amounts of a queue if they differ from what its object carries or is about to.
    fn news(&mut self, state: &State, ix: QueueIx, now_s: i64) -> Option<Amounts> {
        let amounts = named(state, self.total.get(&ix)?);
        let carried = &state.queue(ix).object.allocated;
        // As long as the object carries what it did, the last report is still on its way.
        let expected = match self.told.get_mut(&ix) {
            Some(told) => {
                if told.carried != *carried {
                    told.carried.clone_from(carried);
                    told.amounts.clone_from(carried);
                }
                &told.amounts
            }
            None => carried,
        };
        if nonzero(expected).eq(nonzero(&amounts)) {
            return None;
        }
        let told = ToldAmounts {
            amounts: amounts.clone(),
            carried: carried.clone(),
            at_s: now_s,
        };
        self.told.insert(ix, told);
        Some(amounts)
    }

    /// Adds what a queue has more than last time to it and its ancestors.
    fn follow(&mut self, state: &State, ix: QueueIx) {
        let now = &state.queue(ix).allocated_with_devices();
        let before = self.own.entry(ix).or_default();
        let (gone, come) = (std::mem::replace(before, now.clone()), now);
        let mut at = Some(ix);
        while let Some(queue) = at {
            let total = self.total.entry(queue).or_default();
            total.sub(&gone);
            total.add(come);
            self.pending.insert(queue);
            at = self.parent.get(&queue).copied();
        }
    }

    fn rebuild(&mut self, state: &State) {
        self.tree = Some(state.journal().queue_tree_epoch());
        self.parent = parents(state);
        self.own.clear();
        self.total.clear();
        self.pending.clear();
        let all: Vec<QueueIx> = state
            .population()
            .queues()
            .iter()
            .map(|(ix, _)| ix)
            .collect();
        // Indices may mean other queues now; what their objects carry is known.
        self.told.clear();
        all.into_iter().for_each(|ix| self.follow(state, ix));
    }
}

/// Parents of all queues that have one: `spec.parent`, or `root` where it is empty.
fn parents(state: &State) -> FxHashMap<QueueIx, QueueIx> {
    let root = state.population().queue_by_name("root");
    let mut parent: FxHashMap<QueueIx, QueueIx> = FxHashMap::default();
    for (ix, queue) in state.population().queues().iter() {
        let above = match queue.object.parent.as_str() {
            "" => root.filter(|root| *root != ix),
            name => state.population().queue_by_name(name),
        };
        parent.extend(above.map(|above| (ix, above)));
    }
    let endless: Vec<QueueIx> = parent
        .keys()
        .copied()
        .filter(|ix| loops(&parent, *ix))
        .collect();
    endless.iter().for_each(|ix| {
        parent.remove(ix);
    });
    parent
}

/// Whether a queue is its own ancestor.
fn loops(parent: &FxHashMap<QueueIx, QueueIx>, ix: QueueIx) -> bool {
    let mut seen = FxHashSet::default();
    let mut at = ix;
    while let Some(above) = parent.get(&at) {
        if *above == ix {
            return true;
        }
        if !seen.insert(*above) {
            return false;
        }
        at = *above;
    }
    false
}

fn nonzero(amounts: &Amounts) -> impl Iterator<Item = &(String, i64)> {
    amounts.iter().filter(|(_, amount)| *amount != 0)
}

fn named(state: &State, amounts: &ResVec) -> Amounts {
    let always = [CPU, MEMORY];
    let mut named: Amounts = state
        .resources()
        .in_order()
        .iter()
        .filter(|ix: &&ResIx| always.contains(ix) || amounts.get(**ix) != 0)
        .map(|ix| (state.resources().name(*ix).to_owned(), amounts.get(*ix)))
        .collect();
    named.sort();
    named
}
