//! Tasks that ask the same (spec/10 §1), and which of them count as one (§4).

use std::sync::Arc;

use pumice_model::object::{NodeObject, PodObject};

use crate::naive::devices::{self, CardFamily};
use crate::naive::filters;
use crate::naive::state::{Res, Status, Task, World, get};

/// Tasks that ask the same.
#[derive(Clone, Debug)]
pub struct AlikeTasks {
    pub family: CardFamily,
    pub amounts: Res,
    /// One of them, of no gang and without labels.
    pub task: Task,
}

impl AlikeTasks {
    /// The class of a task, if it asks devices of exactly one family.
    pub fn of(task: &Task) -> Option<Self> {
        let [family] = devices::families(task)[..] else {
            return None;
        };
        let pod = PodObject {
            namespace: task.pod.namespace.clone(),
            request: task.pod.request.clone(),
            node_selector: task.pod.node_selector.clone(),
            node_affinity: task.pod.node_affinity.clone(),
            tolerations: task.pod.tolerations.clone(),
            facts: task.pod.facts.clone(),
            ..PodObject::default()
        };
        Some(Self {
            family,
            amounts: task.request(),
            task: Task {
                pod: Arc::new(pod),
                job: None,
                status: Status::Pending,
                node: None,
                held: None,
                promise: None,
                ..task.clone()
            },
        })
    }

    /// They ask the same.
    pub fn is_like(&self, other: &Self) -> bool {
        let (one, two) = (&self.task.pod, &other.task.pod);
        self.family == other.family
            && self.amounts == other.amounts
            && one.node_selector == two.node_selector
            && one.node_affinity == two.node_affinity
            && one.tolerations == two.tolerations
            && one.facts == two.facts
    }

    /// Whether tasks of the class may be on the node.
    pub fn is_admitted(&self, node: &NodeObject) -> bool {
        let pod = &self.task.pod;
        filters::is_schedulable(pod, node)
            && filters::matches_required(pod, node)
            && filters::tolerates_filtering_taints(pod, node)
    }

    /// Some node has of everything that it asks.
    pub fn is_offered(&self, world: &World) -> bool {
        let names = self.amounts.iter().filter(|(_, amount)| **amount > 0);
        names.into_iter().all(|(name, _)| {
            let mut nodes = world.nodes.values();
            nodes.any(|node| get(&world.capacity(node), name) > 0)
        })
    }

    /// It may use other nodes, as it is written.
    fn is_on_other_nodes(&self, other: &Self) -> bool {
        let (one, two) = (&self.task.pod, &other.task.pod);
        one.node_selector != two.node_selector
            || one.node_affinity != two.node_affinity
            || one.tolerations != two.tolerations
    }

    /// It asks other things, or says something else of its cards.
    fn is_of_other_resources(&self, other: &Self) -> bool {
        let names = |all: Vec<(String, i64)>| -> Vec<String> {
            all.into_iter().map(|(name, _)| name).collect()
        };
        let (one, two) = (&self.task.pod, &other.task.pod);
        names(self.of_cards()) != names(other.of_cards())
            || names(self.of_all()) != names(other.of_all())
            || one.facts.annotations != two.facts.annotations
            || one.facts.labels != two.facts.labels
    }

    /// What containers ask of cards.
    fn of_cards(&self) -> Vec<(String, i64)> {
        let containers = self.task.pod.facts.containers.iter();
        containers.flat_map(|one| one.amounts.clone()).collect()
    }

    fn of_all(&self) -> Vec<(String, i64)> {
        let all = self.task.pod.request.iter();
        all.cloned().collect()
    }

    /// How unlike a class that was seen is to this one as it is written, in what lines have words for.
    fn distance_of_words(&self, seen: &Self) -> (bool, bool, i64, i64) {
        let (_, _, cards, all) = self.distance(seen);
        let names = |class: &Self| -> Vec<String> {
            class.of_cards().into_iter().map(|(name, _)| name).collect()
        };
        let (one, two) = (&self.task.pod, &seen.task.pod);
        let is_on_others = one.node_selector != two.node_selector && two.node_affinity.is_none();
        (is_on_others, names(self) != names(seen), cards, all)
    }

    /// How unlike two are: the first that differs counts.
    fn distance(&self, other: &Self) -> (bool, bool, i64, i64) {
        (
            self.is_on_other_nodes(other),
            self.is_of_other_resources(other),
            apart(&self.of_cards(), &other.of_cards()),
            apart(&self.of_all(), &other.of_all()),
        )
    }
}

/// Sixteenths of a doubling between amounts of the same names.
fn apart(one: &[(String, i64)], other: &[(String, i64)]) -> i64 {
    let distance = |(name, amount): &(String, i64)| {
        let (_, same) = other.iter().find(|(known, _)| known == name)?;
        Some((doublings(*amount) - doublings(*same)).abs())
    };
    one.iter().filter_map(distance).sum()
}

/// The logarithm of an amount to the base of 2 in sixteenths, on straight lines between whole ones, counted down.
fn doublings(amount: i64) -> i64 {
    let (amount, mut whole) = (i128::from(amount.max(1)), 0);
    while amount >= 2 << whole {
        whole += 1;
    }
    let rest = 16 * (amount - (1 << whole)) / (1 << whole);
    16 * whole + rest as i64
}

/// The heaviest first, of those as heavy the one that was seen first: those that are nearly like one before, and
/// all where so many are there, count as the one that is most like them.
pub fn merged(mut classes: Vec<(AlikeTasks, i128)>, most: usize) -> Vec<(AlikeTasks, i128)> {
    classes.sort_by_key(|(_, often)| -often);
    let mut kept: Vec<(AlikeTasks, i128)> = Vec::new();
    for (class, often) in classes {
        let is_full = kept.len() >= most;
        let nearest = kept
            .iter_mut()
            .min_by_key(|(known, _)| known.distance(&class));
        match nearest {
            Some((known, sum)) if is_full || is_near(known.distance(&class)) => *sum += often,
            _ => kept.push((class, often)),
        }
    }
    kept
}

fn is_near((on_others, of_others, cards, all): (bool, bool, i64, i64)) -> bool {
    !on_others && !of_others && cards < 2 && all <= 4
}

/// Whole tasks that were seen, and those among them that are more than was written (spec/10 §4).
pub fn surprises(written: &[(AlikeTasks, i128)], seen: &[(AlikeTasks, i128)]) -> (i128, i128) {
    let task = 1 << 20;
    let of_all =
        |classes: &[(AlikeTasks, i128)]| -> i128 { classes.iter().map(|(_, often)| often).sum() };
    let mut foretold = 0;
    for (at, (known, often)) in written.iter().enumerate() {
        let met = seen.iter().filter(|(class, _)| {
            let distances = written.iter().map(|(one, _)| one.distance_of_words(class));
            let nearest = distances.enumerate().min_by_key(|(_, distance)| *distance);
            let (_, _, cards, all) = known.distance_of_words(class);
            nearest.is_some_and(|(nearest, (on_others, of_others, ..))| {
                nearest == at && !on_others && !of_others && cards <= 4 && all <= 16
            })
        });
        let met: i128 = met.map(|(_, often)| often).sum();
        foretold += met.min(of_all(seen) * often / of_all(written).max(1));
    }
    (of_all(seen) / task, (of_all(seen) - foretold) / task)
}
