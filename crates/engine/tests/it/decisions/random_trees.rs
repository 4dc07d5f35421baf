//! Small random trees of PodGroups against their rule, written down plainly: whoever is bound is part of a gang that is
//! there as a whole on every level, and a gang for whose cheapest choice of groups there is room is bound.

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::Delta;
use pumice_model::object::{COMPOSITE_GROUP, CompositePolicy, GroupObject, NATIVE_GROUP};

use super::cluster::*;
use super::group_trees::{composite, cores_node, racked as in_one_rack, within};

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound.max(1)
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// What there is, as its owner sees it.
#[derive(Default)]
struct Owned {
    /// CompositePodGroups and PodGroups by the names they have among all PodGroups.
    groups: BTreeMap<String, GroupObject>,
    /// Pods by name: their PodGroup, and whether they are bound.
    pods: BTreeMap<String, (String, bool)>,
    /// Racks of the pods that were bound.
    racks: BTreeMap<String, usize>,
    cores: usize,
}

/// So many racks there are, in turn.
const RACKS: usize = 2;

/// The rack of a node.
fn rack_of(node: &str) -> usize {
    node.trim_start_matches('n')
        .parse::<usize>()
        .expect("a number")
        % RACKS
}

impl Owned {
    fn parent(&self, name: &str) -> Option<String> {
        let parent = &self.groups[name].native.parent;
        (!parent.is_empty()).then(|| format!("{COMPOSITE_GROUP}{parent}"))
    }

    /// Parents of a group, nearest first; nothing where one is missing, they are a circle or too many.
    fn above(&self, name: &str) -> Option<Vec<String>> {
        let mut all = Vec::new();
        let mut at = name.to_owned();
        self.groups.get(name)?;
        while let Some(parent) = self.parent(&at) {
            if all.len() == 3 || !self.groups.contains_key(&parent) {
                return None;
            }
            all.push(parent.clone());
            at = parent;
        }
        Some(all)
    }

    fn is_gang(&self, name: &str) -> bool {
        let policy = self.groups[name].native.composite;
        matches!(policy, Some(CompositePolicy::Gang(_)))
    }

    /// The gangs a PodGroup is part of, itself first; nothing where it waits.
    fn gangs_of(&self, name: &str) -> Option<Vec<String>> {
        let above = self.above(name)?;
        let topmost = above.iter().rposition(|name| self.is_gang(name));
        let inner = above.into_iter().take(topmost.map_or(0, |at| at + 1));
        Some(std::iter::once(name.to_owned()).chain(inner).collect())
    }

    /// Whether a group has all that it needs, with so many pods in each PodGroup.
    fn holds(&self, name: &str, pods: &BTreeMap<String, usize>) -> bool {
        let group = &self.groups[name];
        let needs = match group.native.composite {
            None => {
                let there = pods.get(name).copied().unwrap_or(0);
                return there >= group.min_member as usize;
            }
            Some(CompositePolicy::Gang(needs)) => needs as usize,
            Some(CompositePolicy::Basic) => 1,
        };
        let names = self.groups.keys();
        let within = names.filter(|one| self.parent(one).as_deref() == Some(name));
        let hold = within.filter(|one| self.above(one).is_some() && self.holds(one, pods));
        hold.count() >= needs
    }

    fn count(&self, counts: impl Fn(bool) -> bool) -> BTreeMap<String, usize> {
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for (group, bound) in self.pods.values() {
            *all.entry(group.clone()).or_default() += usize::from(counts(*bound));
        }
        all
    }

    /// Racks of the pods that are bound below a gang.
    fn racks_of(&self, gang: &str) -> BTreeSet<usize> {
        let bound = self.pods.iter().filter(|(_, (_, bound))| *bound);
        let below = bound.filter(|(_, (group, _))| {
            let gangs = self.gangs_of(group).unwrap_or_default();
            gangs.iter().any(|one| one == gang)
        });
        below.map(|(name, _)| self.racks[name]).collect()
    }

    /// Cores that nobody has, by rack.
    fn free(&self) -> [usize; RACKS] {
        let mut free = [0; RACKS];
        (1..=self.cores).for_each(|at| free[at % RACKS] += 1);
        let bound = self.pods.iter().filter(|(_, (_, bound))| *bound);
        bound.for_each(|(name, _)| free[self.racks[name]] -= 1);
        free
    }

    /// Whether there is room for so many pods of a gang, whatever its parts ask; None where that is not known so easily.
    fn has_room(&self, root: &str, cost: usize, racked: bool) -> Option<bool> {
        let free = self.free();
        match (racked, self.groups[root].topology.is_some()) {
            (false, _) => Some(cost <= free.iter().sum()),
            // All of it is in one rack, so its parts are.
            (true, true) => {
                let racks = self.racks_of(root);
                racks
                    .is_empty()
                    .then(|| free.iter().any(|free| cost <= *free))
            }
            (true, false) => None,
        }
    }

    /// Fewest pods with which this root would hold, by trying all choices of its PodGroups.
    fn cheapest(&self, root: &str) -> Option<usize> {
        let (bound, there) = (self.count(|bound| bound), self.count(|_| true));
        let of_root = |name: &&String| {
            let is_leaf = self.groups[*name].native.composite.is_none();
            let gangs = self.gangs_of(name).filter(|_| is_leaf);
            gangs.is_some_and(|gangs| gangs.iter().any(|gang| gang == root))
        };
        let leaves: Vec<&String> = self.groups.keys().filter(of_root).collect();
        let choices = 0..1_usize << leaves.len();
        let costs = choices.filter_map(|choice| {
            let (mut pods, mut cost) = (bound.clone(), 0);
            for (at, name) in leaves.iter().enumerate() {
                let has = bound.get(*name).copied().unwrap_or(0);
                let needs = self.groups[*name].min_member as usize;
                if choice & (1 << at) != 0 && has < needs {
                    cost += needs - has;
                    (there.get(*name).copied().unwrap_or(0) >= needs).then_some(())?;
                    pods.insert((*name).clone(), needs);
                }
            }
            self.holds(root, &pods).then_some(cost)
        });
        costs.min()
    }
}

/// A tree of gangs and basic groups, some of which ask for more groups than they have.
fn forest(numbers: &mut Numbers, racked: bool) -> Vec<GroupObject> {
    let needs = |numbers: &mut Numbers| numbers.below(4) as i32;
    let mut all = vec![composite("c0", needs(numbers), "")];
    let mut inner = vec!["c0".to_owned()];
    for at in 1..1 + numbers.below(4) {
        let name = format!("c{at}");
        let parent = inner[numbers.below(inner.len())].clone();
        all.push(composite(&name, needs(numbers) % 3, &parent));
        inner.push(name);
    }
    for at in 0..1 + numbers.below(6) {
        let parent = inner[numbers.below(inner.len())].clone();
        all.push(within(
            &format!("g{at}"),
            1 + numbers.below(3) as i32,
            &parent,
        ));
    }
    for group in &mut all {
        // What is around no gang and asks lets those below wait.
        let is_basic = group.native.composite == Some(CompositePolicy::Basic);
        if racked && !is_basic && numbers.one_in(3) {
            *group = in_one_rack(group.clone());
        }
    }
    all
}

/// One thing happens to the cluster.
fn happen(numbers: &mut Numbers, all: &[GroupObject], owned: &mut Owned, cluster: &mut Cluster) {
    let group = all[numbers.below(all.len())].clone();
    let is_leaf = group.native.composite.is_none();
    match numbers.below(8) {
        0 => {
            owned.cores += 1;
            let node = cores_node(&format!("n{}", owned.cores), 1);
            let rack = (owned.cores % RACKS).to_string();
            cluster.apply(node.labels(pairs(&[("rack", &rack)])));
        }
        1 if numbers.one_in(3) => {
            owned.groups.remove(&group.name);
            cluster.apply(Delta::GroupDelete("ns".to_owned(), group.name));
        }
        2 => {
            let names: Vec<&String> = owned.pods.keys().collect();
            if !names.is_empty() {
                let name = names[numbers.below(names.len())].clone();
                owned.pods.remove(&name);
                owned.racks.remove(&name);
                cluster.apply(Delta::PodDelete(name));
            }
        }
        3..=5 if is_leaf => {
            let name = format!(
                "{}-{}",
                group.name.replace(NATIVE_GROUP, ""),
                numbers.below(4)
            );
            let is_new = !owned.pods.contains_key(&name);
            if is_new {
                let of_group = pod(&name, "1c").group(&group.name);
                cluster.apply(of_group);
            }
            owned.pods.entry(name).or_insert((group.name, false));
        }
        _ => {
            owned.groups.insert(group.name.clone(), group.clone());
            cluster.apply(group);
        }
    }
}

fn check(
    seed: u64,
    racked: bool,
    owned: &mut Owned,
    bound: &[(String, usize)],
    met: &mut [usize; 3],
) {
    let gangs = owned.gangs_of_all();
    let waiting: Vec<(String, Option<bool>)> = gangs
        .into_iter()
        .filter(|root| !owned.holds(root, &owned.count(|bound| bound)))
        .map(|root| {
            let cost = owned.cheapest(&root);
            let has_room = cost.and_then(|cost| owned.has_room(&root, cost, racked));
            (root, has_room)
        })
        .collect();
    for (name, rack) in bound {
        owned.pods.get_mut(name).expect("a pod").1 = true;
        owned.racks.insert(name.clone(), *rack);
    }
    let counts = owned.count(|bound| bound);
    for (name, _) in bound {
        let group = owned.pods[name].0.clone();
        let gangs = owned.gangs_of(&group);
        assert!(gangs.is_some(), "{seed}: {name} had to wait");
        let gangs = gangs.unwrap_or_default();
        for gang in &gangs {
            assert!(owned.holds(gang, &counts), "{seed}: {name} of {gang}");
            let racks = owned.racks_of(gang);
            let asks = owned.groups[gang].topology.is_some();
            assert!(!asks || racks.len() == 1, "{seed}: {gang} in {racks:?}");
        }
        met[gangs.len().min(2)] += 1;
    }
    for (root, has_room) in waiting {
        assert!(
            !bound.is_empty() || has_room != Some(true),
            "{seed}: {root} had room"
        );
        met[0] += usize::from(bound.is_empty());
    }
}

impl Owned {
    /// The topmost gangs of all PodGroups that are part of some.
    fn gangs_of_all(&self) -> Vec<String> {
        let names = self.groups.keys();
        let leaves = names.filter(|name| self.groups[*name].native.composite.is_none());
        let roots = leaves.filter_map(|name| {
            let gangs = self.gangs_of(name)?;
            gangs.last().cloned().filter(|_| gangs.len() > 1)
        });
        let mut roots: Vec<String> = roots.collect();
        roots.sort();
        roots.dedup();
        roots
    }
}

/// Lets so many random trees live for a while: waits of gangs, pods bound by themselves, pods bound in trees.
fn live(seeds: std::ops::Range<u64>, racked: bool) -> [usize; 3] {
    let mut met = [0; 3];
    for seed in seeds {
        let mut numbers = Numbers(seed);
        numbers.below(2);
        let all = forest(&mut numbers, racked);
        let (mut owned, mut cluster) = (Owned::default(), Cluster::new());
        for _ in 0..60 {
            happen(&mut numbers, &all, &mut owned, &mut cluster);
            if numbers.one_in(3) {
                let lines = cluster.cycle();
                let bound = lines.iter().map(|line| {
                    let mut words = line.split(' ');
                    let name = words.next().expect("a pod").to_owned();
                    (name, rack_of(words.next().expect("a node")))
                });
                let bound: Vec<(String, usize)> = bound.collect();
                check(seed, racked, &mut owned, &bound, &mut met);
            }
        }
    }
    met
}

#[test]
fn random_trees_are_bound_as_a_whole_on_every_level_and_whenever_there_is_room() {
    let met = live(0..400, false);
    assert!(met.iter().all(|times| *times > 100), "{met:?}");
}

#[test]
fn random_trees_keep_to_racks_on_every_level_that_asks_for_it() {
    let met = live(1000..1300, true);
    assert!(met.iter().all(|times| *times > 50), "{met:?}");
}
