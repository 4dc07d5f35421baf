//! From classes of tasks to the mix: what each can use of this cluster, and how much it counts.

use pumice_devices::mix::{MixNeeds, WEIGHTS};
use pumice_devices::{DeviceMix, LedgerTime, MixClass, NodeRoom, NodeSet, Tags};
use pumice_model::device::free_on;
use pumice_model::selector::{node_affinity_holds, tolerates_cordon, tolerates_filtering};
use pumice_model::{ResIx, State};

use super::asked_class::{AskedClass, CountedClass};
use super::written;

/// Part of all cards that may be placed before classes are weighed again.
const MOVED_PART: usize = 16;
/// Tasks that may always be placed before classes are weighed again.
const LEAST_MOVES: u64 = 16;
/// Part of what is free that a class counts as able to use at least, so that none counts without end.
const LEAST_USABLE: i64 = 50;

/// Tasks with cards that may be placed before classes are weighed again.
pub(super) fn moves_until_due(state: &State) -> u64 {
    let nodes = state.nodes();
    let cards = nodes.indices().map(|node| {
        let families = nodes.devices[node.at()].families();
        families.map(|(_, cards)| cards.cards.len()).sum::<usize>()
    });
    LEAST_MOVES.max((cards.sum::<usize>() / MOVED_PART) as u64)
}

/// Whether tasks of a class are in the mix: what they ask of devices can be, and is of one family. Others must
/// not take the place of those that are.
pub(super) fn counts(state: &State, asked: &AskedClass) -> bool {
    let families = state.supplies().devices().families();
    let demand = families.demand(&asked.facts, Tags::default());
    demand.refusal.is_none() && demand.parts.len() == 1
}

/// A resource, if some node has any of it: what queues or other pods name is not there for that.
pub(super) fn offered(state: &State, name: &str) -> Option<ResIx> {
    let known = state.resources().get(name);
    known.filter(|ix| state.nodes().cluster_total.get(*ix) > 0)
}

/// The mix of some classes, and of each whether it is in it. Classes that ask cards of no family, or of several, and
/// those that no node admits are left out.
pub(super) fn weigh(
    state: &State,
    classes: &[CountedClass],
    (chooses_cards, scarcity): (bool, bool),
) -> (DeviceMix, Vec<bool>) {
    let mut found = FoundClasses::default();
    let mut taken = Vec::with_capacity(classes.len());
    for class in classes {
        let before = found.classes.len();
        found.add(state, class);
        taken.push(found.classes.len() > before);
    }
    let mix = |weights: Vec<i64>| {
        let classes = found.classes.iter().cloned().zip(weights);
        let classes = classes
            .map(|(class, weight)| class.weighing(weight))
            .collect();
        let resources = found.resources.clone();
        DeviceMix::new(resources, classes, found.admitting.clone(), chooses_cards)
    };
    let even = mix(of_all(&found.masses));
    if !scarcity {
        return (even, taken);
    }
    let (usable, free) = usable(state, &even);
    let scarce = |(at, mass): (usize, &i128)| {
        let (usable, free) = (i128::from(usable[at]), i128::from(free[at]));
        let least = i128::from(LEAST_USABLE);
        mass * (least * (free + 1)) / (least * usable + free + least)
    };
    let masses: Vec<i128> = found.masses.iter().enumerate().map(scarce).collect();
    (mix(of_all(&masses)), taken)
}

/// Weights in proportion to masses.
fn of_all(masses: &[i128]) -> Vec<i64> {
    let sum: i128 = masses.iter().sum::<i128>().max(1);
    let weight = |mass: &i128| (mass * i128::from(WEIGHTS) / sum) as i64;
    masses.iter().map(weight).collect()
}

/// By class, thousandths of free cards that one more of its tasks could use, and those that are free of its
/// family.
fn usable(state: &State, mix: &DeviceMix) -> (Vec<i64>, Vec<i64>) {
    let nodes = state.nodes();
    let mut sums = (vec![0; mix.classes().len()], vec![0; mix.classes().len()]);
    for node in nodes.indices() {
        let room = NodeRoom {
            node: node.at(),
            devices: &nodes.devices[node.at()],
            free: &free_on(mix, nodes, node, LedgerTime::Now),
            view: LedgerTime::Now,
        };
        mix.add_usable(&room, &mut sums.0, &mut sums.1);
    }
    sums
}

/// Classes of a mix while they are found.
#[derive(Default)]
struct FoundClasses<'a> {
    resources: Vec<u32>,
    classes: Vec<MixClass>,
    masses: Vec<i128>,
    rules: Vec<&'a AskedClass>,
    admitting: Vec<NodeSet>,
}

impl<'a> FoundClasses<'a> {
    fn add(&mut self, state: &State, class: &'a CountedClass) {
        let asked = &*class.asked;
        let families = state.supplies().devices().families();
        let demand = families.demand(&asked.facts, Tags::default());
        let [(family, request)] = demand.parts.as_slice() else {
            return;
        };
        let known = self
            .rules
            .iter()
            .position(|known| known.has_rules_of(asked));
        let rules = known.unwrap_or_else(|| {
            self.rules.push(asked);
            self.admitting.push(admitting(state, asked));
            self.rules.len() - 1
        });
        if self.admitting[rules].is_empty() {
            return;
        }
        let mut needs = MixNeeds::new();
        // What stands in a ledger alone is counted there.
        let ignored = families.ignored_resources();
        let counts = |(name, amount): &&(String, i64)| *amount > 0 && !ignored.contains(name);
        for (name, amount) in asked.amounts.iter().filter(counts) {
            let Some(resource) = offered(state, name) else {
                return;
            };
            let resource = u32::from(resource.0);
            let known = self.resources.iter().position(|known| *known == resource);
            let at = known.unwrap_or_else(|| {
                self.resources.push(resource);
                self.resources.len() - 1
            });
            needs.push((at as u16, *amount));
        }
        self.masses.push(class.mass.into());
        let class = MixClass::new(
            needs,
            (*family, request.clone()),
            rules,
            &written::text(asked),
        );
        self.classes.push(class);
    }
}

impl AskedClass {
    fn has_rules_of(&self, other: &Self) -> bool {
        self.node_selector == other.node_selector
            && self.node_affinity == other.node_affinity
            && self.tolerations == other.tolerations
    }
}

/// The nodes whose labels and taints allow tasks of a class.
fn admitting(state: &State, asked: &AskedClass) -> NodeSet {
    let nodes = state.nodes();
    let tolerates_cordon = tolerates_cordon(&asked.tolerations);
    NodeSet::of(nodes.len(), |at| {
        let node = nodes.object(pumice_model::NodeIx(at as u32));
        let required = asked.node_affinity.as_deref();
        (!node.unschedulable || tolerates_cordon)
            && node_affinity_holds(&asked.node_selector, required, node)
            && tolerates_filtering(&asked.tolerations, &node.taints)
    })
}
