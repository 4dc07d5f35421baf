//! What a node really costs: plugins are asked, and sets of victims tried in the transaction.

use pumice_framework::{Choice, Session, may_take, stays_within};
use pumice_model::{JobIx, NodeIx, Placement, QueueIx, ResIx, TaskIx};

use super::candidates::{self, RankedVictim};
use crate::kernel::Kernel;

/// Up to so many victims on a node every set is weighed.
const FEW: usize = 10;
/// With more, sets of up to so many are.
const SMALL: usize = 3;

/// For whom others are evicted.
#[derive(Clone, Copy)]
pub struct Beneficiary {
    /// Job that gets the room.
    pub job: JobIx,
    /// Queue of the job for which others are evicted.
    pub queue: QueueIx,
    /// What victims are told.
    pub reason: &'static str,
}

impl Beneficiary {
    /// One of its tasks.
    pub fn preemptor(self, task: TaskIx) -> Preemptor {
        let Self { job, queue, reason } = self;
        Preemptor {
            task,
            job,
            queue,
            reason,
        }
    }
}

/// A preemptor in search of a place.
#[derive(Clone, Copy)]
pub struct Preemptor {
    /// Pod that looks for a place.
    pub task: TaskIx,
    /// Job of the task that looks for a place.
    pub job: JobIx,
    /// Queue of the job that looks for a place.
    pub queue: QueueIx,
    /// What victims are told.
    pub reason: &'static str,
}

/// The cheapest set of `victims`, given cheapest first, after whose eviction the preemptor fits the
/// node, as positions in ascending order.
pub fn cheapest(
    session: &mut Session,
    kernel: &mut Kernel,
    preemptor: &Preemptor,
    node: NodeIx,
    victims: &[RankedVictim],
) -> Option<Vec<usize>> {
    let count = victims.len();
    let mut trial = Trial {
        session,
        kernel,
        preemptor,
        node,
        victims,
        lacks: Vec::new(),
    };
    trial.lacks = trial.lacking();
    let all: Vec<usize> = (0..count).collect();
    if count == 0 || !trial.fits_without(&all) {
        return None;
    }
    let most = if count <= FEW { count } else { SMALL };
    for size in trial.fewest()..=most {
        if let Some(set) = trial.cheapest_of(size) {
            return Some(set);
        }
    }
    trial.cheapest_first()
}

struct Trial<'a, 'b> {
    session: &'a mut Session<'b>,
    kernel: &'a mut Kernel,
    preemptor: &'a Preemptor,
    node: NodeIx,
    victims: &'a [RankedVictim],
    /// Resources of which too little is left, even once all is released, and how much is missing.
    lacks: Vec<(ResIx, i64)>,
}

impl Trial<'_, '_> {
    fn lacking(&self) -> Vec<(ResIx, i64)> {
        let nodes = self.session.state.nodes();
        let request = &self.session.state.shape(self.preemptor.task).request;
        let missing = request.iter().map(|(resource, amount)| {
            let left = nodes.future_idle(resource, self.node);
            (resource, amount.saturating_sub(left))
        });
        let asked = |(resource, missing): &(ResIx, i64)| request.get(*resource) > 0 && *missing > 0;
        missing.filter(asked).collect()
    }

    fn amount(&self, victim: usize, resource: ResIx) -> i64 {
        let shape = self.session.state.shape(self.victims[victim].task);
        shape.request.get(resource)
    }

    /// Fewer victims than that release too little.
    fn fewest(&self) -> usize {
        let state = &*self.session.state;
        let of_resource = |(resource, missing): &(ResIx, i64)| {
            let enough = candidates::fewest_for(state, self.victims, *resource, *missing);
            enough.unwrap_or(usize::MAX)
        };
        let fewest = self.lacks.iter().map(of_resource).max();
        fewest.unwrap_or(1).max(1)
    }

    fn releases_enough(&self, set: &[usize]) -> bool {
        self.lacks.iter().all(|(resource, missing)| {
            let amounts = set.iter().map(|victim| self.amount(*victim, *resource));
            amounts.fold(0i64, i64::saturating_add) >= *missing
        })
    }

    /// Whether the preemptor fits with some victims gone; nothing stays changed.
    fn fits_without(&mut self, set: &[usize]) -> bool {
        if !self.releases_enough(set) {
            return false;
        }
        let gone: Vec<TaskIx> = set.iter().map(|at| self.victims[*at].task).collect();
        let start = self.session.checkpoint();
        let gains = self.session.gains();
        for victim in &gone {
            self.session
                .evict(*victim, self.preemptor.reason, self.preemptor.job);
        }
        let fits = place_for(self.session, self.kernel, self.preemptor, self.node).is_some();
        self.session.undo_tries_to(start);
        self.session.forget_gains_since(gains);
        fits
    }

    /// The cheapest set of a size: sets in the order of their cost, the dearest member first, and those
    /// of one cost by their positions.
    fn cheapest_of(&mut self, size: usize) -> Option<Vec<usize>> {
        if size > self.victims.len() {
            return None;
        }
        let ranks = Ranks::of(self.victims.iter().map(|victim| victim.rank));
        let mut set: Vec<usize> = (0..size).collect();
        loop {
            if self.fits_without(&set) {
                return Some(set);
            }
            if !ranks.advance(&mut set) {
                return None;
            }
        }
    }

    /// The cheapest ones until it fits, and of these only those that are needed.
    fn cheapest_first(&mut self) -> Option<Vec<usize>> {
        let count = self.victims.len();
        let mut set: Vec<usize> = Vec::new();
        for victim in 0..count {
            set.push(victim);
            if self.fits_without(&set) {
                break;
            }
        }
        for at in (0..set.len()).rev() {
            let mut without = set.clone();
            without.remove(at);
            if self.fits_without(&without) {
                set = without;
            }
        }
        self.fits_without(&set).then_some(set)
    }
}

/// The place for a preemptor on a node as things stand, if its queue may take it.
pub fn place_for(
    session: &mut Session,
    kernel: &mut Kernel,
    preemptor: &Preemptor,
    node: NodeIx,
) -> Option<Choice> {
    let (queue, task) = (preemptor.queue, preemptor.task);
    let allowed = may_take(session.plugins, session.state, queue, task);
    allowed.ok()?;
    let choice = kernel.fits(session.state, session.plugins, task, node);
    let choice = choice.ok()?;
    if choice.takes == Placement::default() {
        return Some(choice);
    }
    // Only with what was chosen it is known how much its queue would have.
    let before = session.checkpoint();
    session.place(task, choice.clone());
    let within = stays_within(session.plugins, session.state, queue, task);
    session.undo_tries_to(before);
    within.ok().map(|()| choice)
}

/// Positions of victims that cost the same: from the first up to that behind the last.
struct Ranks {
    of_position: Vec<(usize, usize)>,
}

impl Ranks {
    /// Positions that cost the same of victims with these ranks, the cheapest first.
    fn of<R: PartialEq>(ranks: impl Iterator<Item = R>) -> Self {
        let ranks: Vec<R> = ranks.collect();
        let mut of_position = Vec::with_capacity(ranks.len());
        for equal in ranks.chunk_by(|one, next| one == next) {
            let first = of_position.len();
            of_position.resize(first + equal.len(), (first, first + equal.len()));
        }
        Self { of_position }
    }

    /// The next set of the same size: of the same cost, if there is one, or else of the next.
    fn advance(&self, set: &mut [usize]) -> bool {
        let mut from = 0;
        while from < set.len() {
            let (first, end) = self.of_position[set[from]];
            let equal = set[from..].iter().take_while(|at| **at < end).count();
            if advance(&mut set[from..from + equal], first, end) {
                self.begin_again(&mut set[..from], 0);
                return true;
            }
            from += equal;
        }
        for at in 0..set.len() {
            let mut next = self.of_position[set[at]].1;
            while let Some(&(first, end)) = self.of_position.get(next) {
                let above = &set[at + 1..];
                if above.first().is_some_and(|above| *above < first) {
                    break;
                }
                let as_dear = above.iter().take_while(|above| **above < end).count();
                // The cheapest ones go below it.
                let position = first.max(at);
                if position + 1 + as_dear <= end {
                    (0..at).for_each(|low| set[low] = low);
                    set[at] = position;
                    self.begin_again(set, at + 1);
                    return true;
                }
                next = end;
            }
        }
        false
    }

    /// Takes the first positions of the same ranks from a place in the set on.
    fn begin_again(&self, set: &mut [usize], from: usize) {
        for at in from..set.len() {
            let (first, _) = self.of_position[set[at]];
            let behind = at.checked_sub(1).map_or(0, |before| set[before] + 1);
            set[at] = first.max(behind);
        }
    }
}

/// The next set of the same size from `first` up to `end`, in ascending order of the largest position, then the
/// next one.
fn advance(set: &mut [usize], first: usize, end: usize) -> bool {
    for at in 0..set.len() {
        let limit = set.get(at + 1).copied().unwrap_or(end);
        if set[at] + 1 < limit {
            set[at] += 1;
            for (low, position) in set[..at].iter_mut().enumerate() {
                *position = first + low;
            }
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::Ranks;

    /// All sets of a size in the order in which they are tried, victims being of these ranks.
    fn in_turn(ranks: &[u32], size: usize) -> Vec<Vec<usize>> {
        let order = Ranks::of(ranks.iter());
        let mut sets = vec![(0..size).collect::<Vec<_>>()];
        let mut set = sets[0].clone();
        while order.advance(&mut set) {
            sets.push(set.clone());
        }
        sets
    }

    #[test]
    fn sets_come_in_the_order_of_their_dearest_members_and_equal_ones_by_position() {
        for count in 1..8usize {
            // Each bit says whether a victim is dearer than the one before it.
            for steps in 0u32..1 << (count - 1) {
                let rank = |at: usize| (steps & ((1 << at) - 1)).count_ones();
                let ranks: Vec<u32> = (0..count).map(rank).collect();
                for size in 1..=count {
                    let mut all: Vec<Vec<usize>> = (0u32..1 << count)
                        .filter(|bits| bits.count_ones() as usize == size)
                        .map(|bits| (0..count).filter(|at| bits & (1 << at) != 0).collect())
                        .collect();
                    all.sort_by_key(|set| {
                        let cost: Vec<u32> = set.iter().rev().map(|at| ranks[*at]).collect();
                        let positions: Vec<usize> = set.iter().rev().copied().collect();
                        (cost, positions)
                    });
                    assert_eq!(in_turn(&ranks, size), all, "{ranks:?}");
                }
            }
        }
    }
}
