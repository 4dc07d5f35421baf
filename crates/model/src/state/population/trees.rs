//! CompositePodGroups and the PodGroups within, as their objects say (spec/03 §B11).
//!
//! A tree is one gang, so one job stands for it: that of the topmost CompositePodGroup with policy gang. What has none
//! such around is a job of its own. Which is so is found out anew for all that hangs together with what changed, once
//! for many changes ([`GroupTrees::take_changes`]); [`crate::settle_trees`] makes jobs so.

mod job_of_tree;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::object::{COMPOSITE_GROUP, CompositePolicy, GroupObject, NATIVE_GROUP};

/// Levels that a tree may have, that of the PodGroups among them.
const MAX_LEVELS: usize = 4;
/// A chain of parents is followed so far to tell a circle from one that is too long.
const FURTHEST: usize = 64;
/// So many are named in one message.
const MAX_NAMED: usize = 5;

/// Objects that are, or name, CompositePodGroups.
#[derive(Clone, Default)]
pub(in crate::state) struct GroupTrees {
    spaces: BTreeMap<String, Arc<TreeSpace>>,
    /// Namespace and name of what has changed, or names what has.
    stale: BTreeSet<(String, String)>,
    /// Objects that were read since jobs were brought in step, by namespace and name.
    fresh: BTreeSet<(String, String)>,
    /// Jobs of which pods may be elsewhere now, by namespace and name.
    left: BTreeSet<(String, String)>,
}

/// Those of one namespace, by the names that they have among all PodGroups.
#[derive(Clone, Default)]
struct TreeSpace {
    members: BTreeMap<String, GroupObject>,
    /// By CompositePodGroup, whether that is there or not: what names it as its parent.
    within: BTreeMap<String, BTreeSet<String>>,
    /// By PodGroup that is part of a gang of gangs: the CompositePodGroup whose job its pods are of.
    homes: BTreeMap<String, String>,
    /// CompositePodGroups that have such a job.
    roots: BTreeSet<String>,
    /// PodGroups that have had their minimum on nodes, or said so once, which they do for ever.
    placed: BTreeSet<String>,
}

/// Whose job the pods of a PodGroup are of.
enum GroupHome {
    /// The job of the PodGroup itself.
    Alone,
    /// The job of the topmost gang around the PodGroup, by name.
    Within(String),
    /// The job of the PodGroup itself, and its pods wait: why, for people.
    Stuck(String),
}

/// What is to become of jobs in a namespace.
#[derive(Default)]
pub(in crate::state) struct TreeChanges {
    /// PodGroups as they count for their jobs; whether the object of each was read just now.
    pub set: Vec<(GroupObject, bool)>,
    /// Jobs whose pods may be of others, by namespace and name.
    pub left: BTreeSet<(String, String)>,
    /// PodGroups that have no job of their own any more, by namespace and name.
    pub gone: Vec<(String, String)>,
}

fn composite_name(parent: &str) -> String {
    format!("{COMPOSITE_GROUP}{parent}")
}

/// As its object has it.
fn plain(name: &str) -> &str {
    let composite = name.strip_prefix(COMPOSITE_GROUP);
    composite.unwrap_or_else(|| name.strip_prefix(NATIVE_GROUP).unwrap_or(name))
}

impl GroupTrees {
    /// Whether there are none, and no change is left to be followed.
    #[inline]
    pub fn are_none(&self) -> bool {
        self.spaces.is_empty() && self.stale.is_empty() && self.left.is_empty()
    }

    /// Whether a PodGroup is one of these.
    pub fn concern(group: &GroupObject) -> bool {
        group.native.composite.is_some() || !group.native.parent.is_empty()
    }

    /// The CompositePodGroup whose job the pods of a PodGroup are of.
    pub fn home(&self, namespace: &str, name: &str) -> Option<&str> {
        let space = self.spaces.get(namespace)?;
        space.homes.get(name).map(String::as_str)
    }

    /// The name of the job that the pods of a PodGroup are of.
    pub fn job_name<'a>(&'a self, namespace: &str, name: &'a str) -> &'a str {
        self.home(namespace, name).unwrap_or(name)
    }

    /// One of these objects.
    pub fn object(&self, namespace: &str, name: &str) -> Option<&GroupObject> {
        self.spaces.get(namespace)?.members.get(name)
    }

    /// Whether an object is one of these.
    pub fn knows(&self, namespace: &str, name: &str) -> bool {
        self.object(namespace, name).is_some()
    }

    /// All objects; those that were placed say so, although what they were told was not read yet.
    pub fn known_objects(&self) -> impl Iterator<Item = GroupObject> {
        let spaces = self.spaces.values();
        spaces.flat_map(|space| space.members.values().map(|group| space.as_known(group)))
    }

    /// Whether a PodGroup was placed once.
    pub fn was_placed(&self, namespace: &str, name: &str) -> bool {
        let space = self.spaces.get(namespace);
        space.is_some_and(|space| space.placed.contains(name))
    }

    /// A PodGroup that is known is placed.
    pub fn note_placed(&mut self, namespace: &str, name: &str) {
        if let Some(space) = self.spaces.get_mut(namespace)
            && space.members.contains_key(name)
        {
            Arc::make_mut(space).placed.insert(name.to_owned());
        }
    }

    /// Takes in an object; whether it says something new.
    pub fn insert(&mut self, group: GroupObject) -> bool {
        let key = (group.namespace.clone(), group.name.clone());
        let space = self.spaces.entry(key.0.clone()).or_default();
        let known = space.members.get(&key.1);
        if known == Some(&group) {
            return false;
        }
        if known.is_some_and(|known| known.native.parent != group.native.parent) {
            self.remove(&key.0, &key.1);
        }
        let space = Arc::make_mut(self.spaces.entry(key.0.clone()).or_default());
        if space
            .members
            .get(&key.1)
            .is_some_and(|known| known.uid != group.uid)
        {
            space.placed.remove(&key.1);
        }
        if group.status.says_placed() {
            space.placed.insert(key.1.clone());
        }
        if !group.native.parent.is_empty() {
            let parent = composite_name(&group.native.parent);
            space
                .within
                .entry(parent)
                .or_default()
                .insert(key.1.clone());
        }
        let says_other_status = space.differs_in_status(&group);
        space.members.insert(key.1.clone(), group);
        if says_other_status {
            return false;
        }
        self.fresh.insert(key.clone());
        self.stale.insert(key);
        true
    }

    /// Forgets an object; whether it was known.
    pub fn remove(&mut self, namespace: &str, name: &str) -> bool {
        let Some(space) = self.spaces.get_mut(namespace).map(Arc::make_mut) else {
            return false;
        };
        let Some(group) = space.members.remove(name) else {
            return false;
        };
        space.placed.remove(name);
        let mut stale = |name: &str| self.stale.insert((namespace.to_owned(), name.to_owned()));
        if !group.native.parent.is_empty() {
            let parent = composite_name(&group.native.parent);
            if let Some(all) = space.within.get_mut(&parent) {
                all.remove(name);
                if all.is_empty() {
                    space.within.remove(&parent);
                }
            }
            stale(&parent);
        }
        if group.native.composite.is_some() {
            stale(name);
        }
        if let Some(home) = space.homes.remove(name) {
            self.left.insert((namespace.to_owned(), home));
        }
        self.fresh.remove(&(namespace.to_owned(), name.to_owned()));
        true
    }

    /// What is to become of jobs after what has changed, each told once.
    pub fn take_changes(&mut self) -> TreeChanges {
        let mut changes = TreeChanges {
            left: std::mem::take(&mut self.left),
            ..TreeChanges::default()
        };
        let fresh = std::mem::take(&mut self.fresh);
        let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
        for key in std::mem::take(&mut self.stale) {
            if seen.contains(&key) {
                continue;
            }
            let (namespace, name) = key;
            let Some(space) = self.spaces.get_mut(&namespace).map(Arc::make_mut) else {
                continue;
            };
            let together = space.hang_together(&name);
            space.change(&namespace, &together, &fresh, &mut changes);
            let together = together.into_iter();
            seen.extend(together.map(|name| (namespace.clone(), name)));
        }
        self.spaces
            .retain(|_, space| !space.members.is_empty() || !space.roots.is_empty());
        changes
    }
}

impl TreeSpace {
    fn parent(&self, name: &str) -> Option<String> {
        let parent = &self.members.get(name)?.native.parent;
        (!parent.is_empty()).then(|| composite_name(parent))
    }

    /// Whether a PodGroup whose pods are of the job of a tree differs from what is known of it in its status alone. That
    /// concerns nobody else, and a tree is not looked through for it, unless it takes back that the PodGroup was placed.
    fn differs_in_status(&self, group: &GroupObject) -> bool {
        let takes_back = self.placed.contains(&group.name) && !group.status.says_placed();
        if takes_back || !self.homes.contains_key(&group.name) {
            return false;
        }
        let known = self.members.get(&group.name);
        known.is_some_and(|known| {
            let known = GroupObject {
                status: group.status.clone(),
                ..known.clone()
            };
            known == *group
        })
    }

    /// All that is above and below of a name, itself among them.
    fn hang_together(&self, name: &str) -> BTreeSet<String> {
        let mut passed = BTreeSet::new();
        let mut top = name.to_owned();
        while passed.insert(top.clone())
            && let Some(parent) = self.parent(&top)
        {
            top = parent;
        }
        let mut all = BTreeSet::new();
        let mut next = vec![top];
        while let Some(name) = next.pop() {
            next.extend(self.within.get(&name).into_iter().flatten().cloned());
            if !all.insert(name) {
                // A circle, or what was seen from elsewhere.
                next.retain(|name| !all.contains(name));
            }
        }
        all
    }

    /// CompositePodGroups above a name, the nearest first.
    ///
    /// # Errors
    /// For people: one of them is missing, they are a circle, or there are too many.
    fn above(&self, name: &str) -> Result<Vec<String>, String> {
        let mut path: Vec<String> = Vec::new();
        let mut at = name.to_owned();
        while let Some(parent) = self.parent(&at) {
            let told = plain(&parent);
            if path.contains(&parent) {
                return Err(format!(
                    "CompositePodGroup {told} is part of itself: leave parentCompositePodGroupName out in one of {}",
                    named(&path)
                ));
            }
            if !self.members.contains_key(&parent) {
                return Err(format!(
                    "{} names CompositePodGroup {told} as its parent, which is not there: create it; if it is there, \
                     the API server serves no CompositePodGroups of scheduling.k8s.io/v1alpha3 (feature gate \
                     CompositePodGroup), or the scheduler may not list them, and its log says so",
                    told_name(&at)
                ));
            }
            path.push(parent.clone());
            at = parent;
            if path.len() > FURTHEST {
                break;
            }
        }
        if path.len() >= MAX_LEVELS {
            return Err(format!(
                "PodGroup {} is below {} CompositePodGroups ({}), and trees have {MAX_LEVELS} levels at most, that \
                 of the PodGroups among them: take some of them out",
                plain(name),
                path.len(),
                named(&path)
            ));
        }
        Ok(path)
    }

    fn home_of(&self, name: &str) -> GroupHome {
        let above = match self.above(name) {
            Ok(above) => above,
            Err(why) => return GroupHome::Stuck(why),
        };
        let is_gang = |name: &&String| {
            let policy = self.members.get(*name).and_then(|one| one.native.composite);
            matches!(policy, Some(CompositePolicy::Gang(_)))
        };
        match above.iter().rev().find(is_gang) {
            Some(root) => GroupHome::Within(root.clone()),
            None => GroupHome::Alone,
        }
    }

    /// A PodGroup as its object has it; that it was placed it says although what it was told was not read yet.
    fn as_known(&self, group: &GroupObject) -> GroupObject {
        let mut group = group.clone();
        if self.placed.contains(&group.name) {
            group.status.say_placed();
        }
        group
    }

    /// A PodGroup that no gang is around, as it counts for its job.
    fn alone(&self, group: &GroupObject, why: Option<String>) -> GroupObject {
        let mut group = self.as_known(group);
        if group.queue.is_empty() {
            let above = self.above(&group.name).unwrap_or_default();
            let mut queues = above.iter().filter_map(|name| self.members.get(name));
            let named = queues.find(|one| !one.queue.is_empty());
            group.queue = named.map_or_else(String::new, |one| one.queue.clone());
        }
        let told = why.or_else(|| self.unserved_above(&group.name));
        if let Some(why) = told {
            let told = [why, std::mem::take(&mut group.native.unserved)];
            let told: Vec<String> = told.into_iter().filter(|one| !one.is_empty()).collect();
            group.native.unserved = told.join("; ");
        }
        group
    }

    /// What CompositePodGroups that are around no gang ask of the groups below them, for people.
    fn unserved_above(&self, name: &str) -> Option<String> {
        let above = self.above(name).unwrap_or_default();
        let asks = |name: &&String| {
            let member = self.members.get(*name);
            member.is_some_and(|member| member.topology.is_some())
        };
        let asking = above.iter().find(asks)?;
        Some(format!(
            "{} asks for nodes with one value of a label, which is served for a gang and what is within: give it \
             policy gang, or ask for it in the groups below",
            told_name(asking)
        ))
    }

    /// Finds out what is to become of all that hangs together.
    fn change(
        &mut self,
        namespace: &str,
        together: &BTreeSet<String>,
        fresh: &BTreeSet<(String, String)>,
        changes: &mut TreeChanges,
    ) {
        let key = |name: &str| (namespace.to_owned(), name.to_owned());
        let is_fresh = |name: &str| fresh.contains(&key(name));
        let mut roots = BTreeSet::new();
        for name in together {
            let Some(group) = self.members.get(name) else {
                continue;
            };
            if group.native.composite.is_some() {
                continue;
            }
            let (home, own) = match self.home_of(name) {
                GroupHome::Within(root) => (Some(root), None),
                GroupHome::Alone => (None, Some(self.alone(group, None))),
                GroupHome::Stuck(why) => (None, Some(self.alone(group, Some(why)))),
            };
            let before = self.homes.get(name).cloned();
            if before != home {
                let old = before.as_deref().unwrap_or(name);
                changes.left.insert(key(old));
            }
            match home {
                Some(root) => {
                    if before.is_none() {
                        changes.gone.push(key(name));
                    }
                    self.homes.insert(name.clone(), root.clone());
                    roots.insert(root);
                }
                None => {
                    self.homes.remove(name);
                }
            }
            changes.set.extend(own.map(|own| (own, is_fresh(name))));
        }
        for root in together.iter().filter(|name| self.roots.contains(*name)) {
            if !roots.contains(root) {
                changes.gone.push(key(root));
            }
        }
        self.roots.retain(|root| !together.contains(root));
        for root in roots {
            let whole = self.job_of(&root);
            let of_tree = whole.map(|whole| (whole, is_fresh(&root)));
            changes.set.extend(of_tree);
            self.roots.insert(root);
        }
    }
}

fn named(path: &[String]) -> String {
    let names: Vec<&str> = path.iter().map(|name| plain(name)).collect();
    some_of(&names, ", ")
}

/// The first few of many, and how many more there are.
fn some_of<T: AsRef<str>>(all: &[T], between: &str) -> String {
    let first = all.iter().take(MAX_NAMED).map(AsRef::as_ref);
    let mut text = first.collect::<Vec<&str>>().join(between);
    if all.len() > MAX_NAMED {
        text.push_str(&format!("{between}and {} more", all.len() - MAX_NAMED));
    }
    text
}

/// Kind and name of a PodGroup or CompositePodGroup, for people.
pub(in crate::state) fn told_name(name: &str) -> String {
    match name.starts_with(COMPOSITE_GROUP) {
        true => format!("CompositePodGroup {}", plain(name)),
        false => format!("PodGroup {}", plain(name)),
    }
}
