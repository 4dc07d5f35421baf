//! What a node really costs: plugins are asked, and sets of victims tried in the transaction.

use pumice_framework::{Choice, Session};
use pumice_model::{JobIx, NodeIx, QueueIx, ResIx, TaskIx};

use super::candidates::{self, RankedVictim};
use crate::kernel::Kernel;

/// Up to so many victims on a node every set is weighed.
const FEW: usize = 10;
/// With more, sets of up to so many are.
const SMALL: usize = 3;

/// For whom others are evicted.
#[derive(Clone, Copy)]
pub struct Beneficiary {
    /// The job.
    pub job: JobIx,
    /// Its queue.
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
    /// The task.
    pub task: TaskIx,
    /// Its job.
    pub job: JobIx,
    /// Its queue.
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

    /// The cheapest set of a size: sets in the order of their cost, which is that of their positions,
    /// the dearest first.
    fn cheapest_of(&mut self, size: usize) -> Option<Vec<usize>> {
        let count = self.victims.len();
        if size > count {
            return None;
        }
        let mut set: Vec<usize> = (0..size).collect();
        loop {
            if self.fits_without(&set) {
                return Some(set);
            }
            if !advance(&mut set, count) {
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
    let allowed = session.plugins.allocatable(session.state, queue, task);
    allowed.ok()?;
    let choice = kernel.fits(session.state, session.plugins, task, node);
    choice.ok()
}

/// The next set of the same size among `count`, in ascending order of the largest position, then the
/// next one.
fn advance(set: &mut [usize], count: usize) -> bool {
    for at in 0..set.len() {
        let limit = set.get(at + 1).copied().unwrap_or(count);
        if set[at] + 1 < limit {
            set[at] += 1;
            for (low, position) in set[..at].iter_mut().enumerate() {
                *position = low;
            }
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::advance;

    #[test]
    fn sets_come_in_the_order_of_their_dearest_members() {
        for count in 1..7usize {
            for size in 1..=count {
                let mut sets = vec![(0..size).collect::<Vec<_>>()];
                let mut set = sets[0].clone();
                while advance(&mut set, count) {
                    sets.push(set.clone());
                }
                let mut all: Vec<Vec<usize>> = (0u32..1 << count)
                    .filter(|bits| bits.count_ones() as usize == size)
                    .map(|bits| (0..count).filter(|at| bits & (1 << at) != 0).collect())
                    .collect();
                all.sort_by(|l, r| l.iter().rev().cmp(r.iter().rev()));
                assert_eq!(sets, all);
            }
        }
    }
}
