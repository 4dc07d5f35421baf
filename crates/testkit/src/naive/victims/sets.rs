//! Whether a pod fits a node, and the cheapest set of victims after whose eviction it does (spec/07 §5).

use pumice_model::object::NodeObject;

use super::Purpose;
use super::answers::{evict, victims};
use super::candidates::{self, Price};
use crate::naive::cycle::Cycle;
use crate::naive::place::{Room, put};
use crate::naive::state::{Status, Task, World};
use crate::naive::{claims, newcomers, queue_share};

/// With more victims on a node not every set of them is weighed.
const ALL_SETS: usize = 10;

/// With more victims than that on a node, sets of up to this size are weighed.
const SMALL_SET: usize = 3;

/// The queue of the job may take the task (spec/01 §6.2.4).
pub fn queue_takes(cycle: &Cycle, task: &Task) -> bool {
    let Some(key) = &task.job else {
        return false;
    };
    queue_share::allocatable(cycle, &cycle.world.jobs[key].queue, task)
        && newcomers::are_left_room(cycle, key, task)
}

/// The limits of the queue hold with the task, which was placed.
pub fn within_limits(cycle: &Cycle, uid: &str) -> bool {
    let key = cycle.world.tasks[uid].job.as_ref();
    key.is_none_or(|key| queue_share::within_limits(cycle, &cycle.world.jobs[key].queue, uid))
}

/// Puts the waiting task on the node if it fits there, now or once everybody is gone who is being
/// deleted, and the limits of its queue hold then. Otherwise nothing changes.
pub fn fit(cycle: &mut Cycle, uid: &str, node: &NodeObject) -> bool {
    let Some(now) = fits_node(cycle, uid, node) else {
        return false;
    };
    let before = cycle.world.clone();
    put(cycle, uid, &node.name, now);
    let fits = within_limits(cycle, uid);
    if !fits {
        cycle.world = before;
    }
    fits
}

/// Whether the waiting task fits the node now; `None`: not even later.
pub fn fits_node(cycle: &Cycle, uid: &str, node: &NodeObject) -> Option<bool> {
    let later = cycle.world.later();
    let room = Room::new(cycle, &later, &cycle.world.tasks[uid]);
    room.later(node).then(|| room.now(node))
}

/// The waiting task would fit the node with these evicted.
fn fits_without(cycle: &Cycle, uid: &str, node: &NodeObject, set: &[&String]) -> bool {
    let mut world = cycle.world.clone();
    set.iter().for_each(|victim| evict(&mut world, victim));
    let mut without = cycle.with_world(world);
    queue_takes(&without, &cycle.world.tasks[uid]) && fit(&mut without, uid, node)
}

/// Cost of a set: number, then prices from the dearest down, then places in the order of candidates,
/// the last one first.
type Cost = (usize, Vec<Price>, Vec<usize>);

/// A set of victims on a node, with its cost.
pub struct Offer {
    pub node: String,
    pub set: Vec<String>,
    pub cost: (usize, Vec<Price>),
}

/// The cheapest set of victims on the node after whose eviction the task fits.
pub fn cheapest(cycle: &Cycle, purpose: Purpose, uid: &str, node: &NodeObject) -> Option<Offer> {
    let task = &cycle.world.tasks[uid];
    let candidates = candidates::on_node(cycle, purpose, task, &node.name);
    let victims = victims(cycle, purpose, &[task], &candidates);
    let fits = |set: &[usize]| {
        let set: Vec<&String> = set.iter().map(|at| &victims[*at]).collect();
        fits_without(cycle, uid, node, &set)
    };
    let all: Vec<usize> = (0..victims.len()).collect();
    if all.is_empty() || !fits(&all) {
        return None;
    }
    let job = task.job.as_deref().unwrap_or_default();
    let price = |at: &usize| candidates::price(cycle, job, &cycle.world.tasks[&victims[*at]]);
    let cost = |set: &[usize]| -> Cost {
        let mut prices: Vec<Price> = set.iter().map(price).collect();
        prices.sort_by(|l, r| r.cmp(l));
        let places = set.iter().rev().copied();
        (set.len(), prices, places.collect())
    };
    let most = if victims.len() <= ALL_SETS {
        victims.len()
    } else {
        SMALL_SET
    };
    let found = (1..=most).find_map(|size| {
        let mut sets = sets_of(victims.len(), size);
        sets.sort_by_key(|set| cost(set));
        sets.into_iter().find(|set| fits(set))
    });
    let set = found.unwrap_or_else(|| greedy(victims.len(), fits));
    let (number, prices, _) = cost(&set);
    Some(Offer {
        node: node.name.clone(),
        set: set.into_iter().map(|at| victims[at].clone()).collect(),
        cost: (number, prices),
    })
}

/// The cheapest are taken until it fits and given back, dearest first, as long as it still fits.
fn greedy(number: usize, fits: impl Fn(&[usize]) -> bool) -> Vec<usize> {
    let mut set: Vec<usize> = Vec::new();
    for at in 0..number {
        set.push(at);
        if fits(&set) {
            break;
        }
    }
    for at in (0..set.len()).rev() {
        let mut less = set.clone();
        less.remove(at);
        if fits(&less) {
            set = less;
        }
    }
    set
}

/// All sets of so many of the numbers below `number`, each in ascending order.
fn sets_of(number: usize, size: usize) -> Vec<Vec<usize>> {
    if size == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for last in (size - 1)..number {
        for mut set in sets_of(last, size - 1) {
            set.push(last);
            all.push(set);
        }
    }
    all
}

/// The world in which the placed tasks are placed anew where they are, one after the other. `None`: one does
/// not fit.
pub fn placed_anew(cycle: &Cycle, placed: &[String]) -> Option<World> {
    let mut world = cycle.world.clone();
    for uid in placed {
        world.set_node(uid, None);
        if let Some(task) = world.tasks.get_mut(uid) {
            task.status = Status::Pending;
            task.held = None;
        }
    }
    claims::take_back(&mut world);
    let mut anew = cycle.with_world(world);
    for uid in placed {
        let name = cycle.world.tasks[uid].node.as_ref()?;
        let node = cycle.world.nodes.get(name)?.clone();
        let task = anew.world.tasks[uid].clone();
        if !queue_takes(&anew, &task) || !fit(&mut anew, uid, &node) {
            return None;
        }
    }
    Some(anew.world)
}
