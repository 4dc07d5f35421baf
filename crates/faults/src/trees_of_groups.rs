//! Trees of PodGroups of Kubernetes itself (spec/03 §B11): CompositePodGroups around some of the gangs, which come late,
//! change and go; and what of such a tree must not stay bound in part, written down from the rules alone.

use std::collections::{BTreeMap, BTreeSet};

use pumice_model::object::{
    COMPOSITE_GROUP, CompositePolicy, GangNode, GangTree, GroupObject, GroupStatus, NativeTraits,
    PodObject,
};
use pumice_model::{Job, TaskIx};

use super::Simulation;
use super::invariant::{Broken, Invariant};
use super::natives::NativeGroups;
use super::objects::group;
use super::oracle::{is_bound, may_have_been_whole};
use super::rng::Rng;
use super::server::{VirtualServer, holds, key};

/// Most steps for which a CompositePodGroup comes later than the first of its groups.
const MAX_LATE: u64 = 25;

/// A CompositePodGroup or a PodGroup of a tree, as far as invariants are about its past.
#[derive(Clone, Copy, Debug, Default)]
struct PartRecord {
    /// It had what it needs since nothing of it was bound the last time, or nobody could know that it had not.
    was_complete: bool,
    /// Something of it is bound and nothing on its way, and it is not there as a whole and was not before.
    is_in_part: bool,
    /// It was on the server when that was looked at last.
    is_served: bool,
    /// The least it ever needed.
    least: i32,
    /// It had what it needs at some time, with all pods that were ever bound.
    was_ever_whole: bool,
    /// The pods of the part were of another job once, or of none while its API was not served.
    was_elsewhere: bool,
}

/// What becomes of them in a simulation.
#[derive(Clone, Debug)]
pub(super) struct TreesOfGroups {
    rng: Rng,
    made: u64,
    /// Queue and PriorityClass of the tree that is made, and the parents of the PodGroups that it still gets.
    open: (String, String, Vec<String>),
    /// CompositePodGroups that come in so many steps.
    late: Vec<(u64, GroupObject)>,
    records: BTreeMap<String, PartRecord>,
    /// All that there ever were, as they were last: a process may hear late that one has gone.
    ever: BTreeMap<String, GroupObject>,
    /// By PodGroup the job that its pods are of.
    homes: BTreeMap<String, String>,
    /// UIDs of the pods that were ever bound.
    bound: BTreeSet<String>,
    /// How many of those each PodGroup has had.
    bound_of: BTreeMap<String, usize>,
    /// Bindings of pods in trees.
    pub(super) binds: u32,
    /// How often a tree, or a part of one, was bound in part.
    pub(super) in_part: u32,
}

fn composite(name: &str, needs: u64, parent: &str) -> GroupObject {
    let name = format!("{COMPOSITE_GROUP}{name}");
    let policy = match needs {
        0 => CompositePolicy::Basic,
        needs => CompositePolicy::Gang(needs as i32),
    };
    GroupObject {
        is_native: true,
        status: GroupStatus::of_native(Vec::new()),
        native: NativeTraits {
            parent: parent.to_owned(),
            composite: Some(policy),
            ..NativeTraits::default()
        },
        ..group(&name, 1, "")
    }
}

impl TreesOfGroups {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            made: 0,
            open: Default::default(),
            late: Vec::new(),
            records: BTreeMap::new(),
            ever: BTreeMap::new(),
            homes: BTreeMap::new(),
            bound: BTreeSet::new(),
            bound_of: BTreeMap::new(),
            binds: 0,
            in_part: 0,
        }
    }

    /// Makes a PodGroup part of a tree, or leaves it as it is.
    pub(super) fn join(&mut self, group: &mut GroupObject) {
        if self.rng.percent(20) {
            return;
        }
        if self.open.2.is_empty() {
            self.plant(group);
        }
        let (queue, class, parents) = &mut self.open;
        group.queue.clone_from(queue);
        group.priority_class.clone_from(class);
        group.native.parent = parents.pop().unwrap_or_default();
    }

    /// Plans a tree of two or three PodGroups.
    fn plant(&mut self, first: &GroupObject) {
        self.made += 1;
        let rng = &mut self.rng;
        let (root, inner) = (format!("t{}", self.made), format!("t{}-inner", self.made));
        let size = rng.between(2, 3);
        let needs = if rng.percent(70) {
            size
        } else {
            rng.between(1, size)
        };
        let at_root = vec![root.clone(); size as usize];
        let (composites, parents) = match rng.below(10) {
            0..5 => (vec![composite(&root, needs, "")], at_root),
            5..8 => {
                let within = rng.below(3);
                let all = vec![composite(&root, 2, ""), composite(&inner, within, &root)];
                (all, vec![inner.clone(), inner, root])
            }
            8 => {
                let all = vec![
                    composite(&root, 0, ""),
                    composite(&inner, needs.min(2), &root),
                ];
                (all, vec![inner.clone(), inner, root])
            }
            _ => (vec![composite(&root, 0, "")], at_root),
        };
        self.open = (first.queue.clone(), first.priority_class.clone(), parents);
        for mut one in composites {
            one.queue.clone_from(&first.queue);
            one.priority_class.clone_from(&first.priority_class);
            one.native.goes_whole = self.rng.percent(15);
            let wait = match self.rng.percent(30) {
                true => self.rng.between(1, MAX_LATE),
                false => 0,
            };
            self.late.push((wait, one));
        }
    }

    /// CompositePodGroups whose time has come.
    fn due(&mut self) -> Vec<GroupObject> {
        self.late
            .iter_mut()
            .for_each(|(wait, _)| *wait = wait.saturating_sub(1));
        let (due, late) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(wait, _)| *wait == 0);
        self.late = late;
        let due: Vec<(u64, GroupObject)> = due;
        due.into_iter().map(|(_, one)| one).collect()
    }

    /// One that is there needs another number of groups, or goes, mostly to come back.
    fn change(&mut self, server: &mut VirtualServer, history: &mut Vec<String>) {
        let all = server.groups.values();
        let all = all.filter(|group| group.native.composite.is_some());
        let all: Vec<GroupObject> = all.cloned().collect();
        let what = self.rng.below(100);
        let Some(mut one) = self.rng.pick(&all).cloned() else {
            return;
        };
        match (what, one.native.composite) {
            (0..3, Some(CompositePolicy::Gang(_))) => {
                let needs = self.rng.between(1, 3) as i32;
                one.native.composite = Some(CompositePolicy::Gang(needs));
                history.push(format!("{} needs {needs} groups", one.name));
                server.put_group(one);
            }
            (3, _) => {
                history.push(format!("{} is deleted", one.name));
                server.remove_group(&key(&one.namespace, &one.name));
                if self.rng.percent(70) {
                    let wait = self.rng.between(1, MAX_LATE);
                    one.status = GroupStatus::of_native(Vec::new());
                    one.uid.push('+');
                    // When it was made is told then.
                    one.created_s = 1;
                    self.late.push((wait, one));
                }
            }
            _ => {}
        }
    }

    /// Remembers what there is, and the least that each group ever needed.
    fn note_needs(&mut self, forest: &GroupForest<'_>) {
        for (key, group) in &forest.groups {
            self.note_need(key, group);
            self.ever.insert((*key).to_owned(), (*group).clone());
        }
    }

    fn note_need(&mut self, key: &str, group: &GroupObject) {
        let record = self.records.entry(key.to_owned()).or_default();
        let now = needs(group);
        record.least = match record.least {
            0 => now,
            least => least.min(now),
        };
    }

    /// Remembers which pods were ever bound.
    fn note_bound(&mut self, server: &VirtualServer) {
        for pod in server.pods.values().filter(|pod| is_bound(pod)) {
            if let Some(group) = &pod.group
                && self.bound.insert(pod.uid.clone())
            {
                let group = key(&pod.namespace, group);
                *self.bound_of.entry(group).or_default() += 1;
            }
        }
    }

    /// A pod was bound.
    pub(super) fn note_bind(&mut self, server: &VirtualServer, pod: &PodObject) {
        let group = pod.group.as_ref().map(|group| key(&pod.namespace, group));
        let group = group.and_then(|key| server.groups.get(&key));
        let is_within = group.is_some_and(|group| !group.native.parent.is_empty());
        self.binds += u32::from(is_within);
    }
}

/// CompositePodGroups come, change and go.
pub(super) fn change_trees(simulation: &mut Simulation) {
    let natives = simulation.natives.as_mut();
    let natives = natives.filter(|natives| natives.hidden().next().is_none());
    let Some(trees) = natives.and_then(|natives| natives.trees.as_mut()) else {
        return;
    };
    for mut one in trees.due() {
        if one.created_s > 0 {
            one.created_s = (simulation.server.now_ms() / 1000) as i64;
        }
        // It may need something else before the step is over.
        trees.note_need(&key(&one.namespace, &one.name), &one);
        let (name, parent) = (&one.name, &one.native.parent);
        let policy = one.native.composite;
        simulation
            .history
            .push(format!("{name} within `{parent}`: {policy:?}"));
        simulation.server.put_group(one);
    }
    trees.change(&mut simulation.server, &mut simulation.history);
}

/// All PodGroups and CompositePodGroups that there are, by `namespace/name`, and pods.
struct GroupForest<'a> {
    groups: BTreeMap<&'a str, &'a GroupObject>,
    pods: Vec<&'a PodObject>,
}

impl<'a> GroupForest<'a> {
    fn of(
        server: &'a VirtualServer,
        hidden: impl Iterator<Item = (&'a String, &'a GroupObject)>,
    ) -> Self {
        let all = server.groups.iter().chain(hidden);
        Self {
            groups: all.map(|(key, group)| (key.as_str(), group)).collect(),
            pods: server.pods.values().collect(),
        }
    }

    /// Groups without pods.
    fn of_all(groups: &'a BTreeMap<String, GroupObject>) -> Self {
        Self {
            groups: groups
                .iter()
                .map(|(key, group)| (key.as_str(), group))
                .collect(),
            pods: Vec::new(),
        }
    }

    fn parent(&self, group: &GroupObject) -> Option<(String, Option<&'a GroupObject>)> {
        let parent = &group.native.parent;
        let name = format!("{COMPOSITE_GROUP}{parent}");
        let key = key(&group.namespace, &name);
        let found = self.groups.get(key.as_str()).copied();
        (!parent.is_empty()).then_some((key, found))
    }

    /// The topmost gang around a group, itself included; none where a parent is missing.
    fn root(&self, group: &'a GroupObject) -> Option<&'a GroupObject> {
        let mut root = None;
        let mut at = group;
        loop {
            if matches!(at.native.composite, Some(CompositePolicy::Gang(_))) {
                root = Some(at);
            }
            match self.parent(at) {
                None => return root,
                Some((_, parent)) => at = parent?,
            }
        }
    }

    fn parts(&self, of: &GroupObject) -> impl Iterator<Item = &'a GroupObject> {
        let key = key(&of.namespace, &of.name);
        let is_part = move |group: &&&GroupObject| {
            self.parent(group).is_some_and(|(parent, _)| parent == key)
        };
        self.groups.values().filter(is_part).copied()
    }

    fn pods_of(&self, group: &GroupObject) -> Vec<&'a PodObject> {
        if group.native.composite.is_some() {
            return self
                .parts(group)
                .flat_map(|part| self.pods_of(part))
                .collect();
        }
        let is_member = |pod: &&&PodObject| {
            pod.namespace == group.namespace && pod.group.as_ref() == Some(&group.name)
        };
        self.pods.iter().filter(is_member).copied().collect()
    }

    /// Whether a group has as much bound as it needs.
    fn is_whole(&self, group: &GroupObject, needs: &dyn Fn(&GroupObject) -> i32) -> bool {
        let bound = |group: &GroupObject| {
            let pods = self.pods_of(group).into_iter();
            pods.filter(|pod| is_bound(pod)).count()
        };
        self.holds(group, needs, &bound)
    }

    /// Whether a group has as much as it needs, with so many pods in each PodGroup.
    fn holds(
        &self,
        group: &GroupObject,
        needs: &dyn Fn(&GroupObject) -> i32,
        pods: &dyn Fn(&GroupObject) -> usize,
    ) -> bool {
        let there = match group.native.composite {
            None => pods(group),
            Some(_) => {
                let parts = self.parts(group);
                parts.filter(|part| self.holds(part, needs, pods)).count()
            }
        };
        there >= usize::try_from(needs(group)).unwrap_or(0)
    }
}

fn needs(group: &GroupObject) -> i32 {
    match group.native.composite {
        None => group.min_member,
        Some(CompositePolicy::Gang(needs)) => needs,
        Some(CompositePolicy::Basic) => 1,
    }
}

/// Whether the root of a tree has the groups that it needs, of which these pods are.
pub(super) fn has_root(job: &Job, tree: &GangTree, has: impl Fn(TaskIx) -> bool) -> bool {
    fn holds(tree: &GangTree, node: &GangNode, groups: &[u16]) -> bool {
        let of_groups = node.groups.iter().filter(|at| groups.contains(at));
        let nodes = node.nodes.iter().map(|at| &tree.nodes[*at as usize]);
        let of_nodes = nodes.filter(|node| holds(tree, node, groups));
        of_groups.count() + of_nodes.count() >= node.needs
    }
    let subs = job.sub_jobs.iter().filter(|sub| {
        let there = sub.tasks.iter().filter(|ix| has(**ix));
        there.count() >= usize::try_from(sub.min_available).unwrap_or(0)
    });
    let groups: Vec<u16> = subs.filter_map(|sub| sub.policy).collect();
    holds(tree, &tree.nodes[0], &groups)
}

/// Remembers what was there as a whole. Returns the PodGroups whose pods are of another job since the last time: what
/// is known of gangs is known of jobs.
///
/// # Errors
/// A tree that says that it was placed, and never was.
pub(super) fn follow(
    natives: &mut Option<NativeGroups>,
    server: &VirtualServer,
    under_way: &[(String, String)],
    is_new: bool,
) -> Result<BTreeSet<String>, Broken> {
    let Some(natives) = natives else {
        return Ok(BTreeSet::new());
    };
    let Some(mut trees) = natives.trees.take() else {
        return Ok(BTreeSet::new());
    };
    trees.note_bound(server);
    let forest = GroupForest::of(server, natives.hidden());
    trees.note_needs(&forest);
    let ever_there = GroupForest::of_all(&trees.ever);
    let known = trees.records.clone();
    let least = |group: &GroupObject| {
        let record = known.get(&key(&group.namespace, &group.name));
        record.map_or(1, |record| record.least)
    };
    let mut moved = BTreeSet::new();
    for (name, group) in &forest.groups {
        let is_served = server.groups.contains_key(*name);
        let Some(record) = trees.records.get_mut(*name) else {
            continue;
        };
        let came = is_served && !std::mem::replace(&mut record.is_served, is_served);
        let root = forest.root(group);
        let job = root.unwrap_or(group);
        let ever = |group: &GroupObject| {
            let known = trees.bound_of.get(&key(&group.namespace, &group.name));
            known.copied().unwrap_or(0)
        };
        record.was_ever_whole |= ever_there.holds(group, &least, &ever);
        if group.native.composite.is_none() && is_served {
            let home = key(&job.namespace, &job.name);
            let before = trees.homes.insert((*name).to_owned(), home.clone());
            record.was_elsewhere |= before
                .as_ref()
                .is_some_and(|before| *before != home || came);
            if before != Some(home) || came {
                moved.insert((*name).to_owned());
            }
            continue;
        }
        let Some(root) = root else { continue };
        if group.status.says_placed() && !record.was_ever_whole {
            let text = format!("{name} says that it was placed, and never was");
            return Err(Invariant::Placed.broken(text));
        }
        let pods = forest.pods_of(group);
        let on_nodes = pods.iter().filter(|pod| is_bound(pod));
        let on_nodes: Vec<&&PodObject> = on_nodes.collect();
        let comes = under_way
            .iter()
            .any(|(uid, _)| pods.iter().any(|pod| pod.uid == *uid));
        let is_older = || on_nodes.iter().any(|pod| pod.created_s < root.created_s);
        let unknown = (is_new || came) && (may_have_been_whole(root) || is_older());
        let complete = forest.is_whole(group, &least) || unknown;
        let stays = !on_nodes.is_empty() || comes;
        record.was_complete = stays && (record.was_complete || complete);
        let is_in_part = !on_nodes.is_empty() && !comes && !record.was_complete;
        let begins = is_in_part && !std::mem::replace(&mut record.is_in_part, is_in_part);
        record.is_in_part = is_in_part;
        trees.in_part += u32::from(begins);
    }
    natives.trees = Some(trees);
    Ok(moved)
}

/// PodGroups of which the job is that of a tree, by `namespace/name`: what of them may stay bound says the tree.
pub(super) fn in_trees(natives: Option<&NativeGroups>, server: &VirtualServer) -> BTreeSet<String> {
    if natives.and_then(|natives| natives.trees.as_ref()).is_none() {
        return BTreeSet::new();
    }
    let forest = GroupForest::of(server, std::iter::empty());
    let groups = forest.groups.iter();
    let within = groups.filter(|(_, group)| forest.root(group).is_some());
    within.map(|(key, _)| (*key).to_owned()).collect()
}

/// Nothing stays bound of a tree without its root, nor of a PodGroup within that never had what it needs.
///
/// # Errors
/// A tree or a PodGroup of which something does.
pub(super) fn check_settled(
    natives: Option<&NativeGroups>,
    server: &VirtualServer,
) -> Result<(), Broken> {
    let Some(trees) = natives.and_then(|natives| natives.trees.as_ref()) else {
        return Ok(());
    };
    let forest = GroupForest::of(server, std::iter::empty());
    for (key, group) in &forest.groups {
        let Some(root) = forest.root(group) else {
            continue;
        };
        let pods = forest.pods_of(group);
        let stays = pods.iter().filter(|pod| holds(pod)).count();
        let record = trees.records.get(*key).copied().unwrap_or_default();
        let is_older = || pods.iter().any(|pod| pod.created_s < group.created_s);
        let may_stay = match (root == *group, group.native.composite) {
            (true, _) => record.was_complete,
            (false, None) => record.was_ever_whole || record.was_elsewhere || is_older(),
            // What of its groups may stay say those.
            (false, Some(_)) => true,
        };
        if stays > 0 && !may_stay && !forest.is_whole(group, &needs) {
            let text = format!("{stays} pods of {key}, which is not whole, stay bound");
            return Err(Invariant::Gang.broken(text));
        }
    }
    Ok(())
}
