//! Which groups are one job.

use std::collections::BTreeMap;

use pumice_model::object::{
    COMPOSITE_GROUP, CompositePolicy, GroupObject, NATIVE_GROUP, SubGroupPolicy,
};

use super::{Content, Part};
use crate::naive::state::SubJob;

/// CompositePodGroups above a PodGroup at most: a tree has four levels, that of the PodGroups among them.
const MAX_ABOVE: usize = 3;

/// What is scheduled as one: a PodGroup, or a tree of them.
pub struct Unit {
    /// The PodGroup, or the root of the tree with a policy for each PodGroup.
    pub group: GroupObject,
    /// What of its PodGroups has to be placed at once, if it is a tree of them.
    pub tree: Option<Part>,
    /// It waits, whatever the nodes are like: something above it is wrong.
    pub waits: bool,
}

/// The PodGroup of a pod is part of a tree: key of the job, and the sub-job.
pub type Member = (String, SubJob);

/// All groups of the cluster.
struct Groups<'a> {
    all: &'a [GroupObject],
}

/// What the groups of the cluster are scheduled as, and which PodGroups, by `namespace/name`, are part of which job.
pub fn units(all: &[GroupObject]) -> (Vec<Unit>, BTreeMap<String, Member>) {
    let groups = Groups { all };
    let mut members = BTreeMap::new();
    let mut units = Vec::new();
    for group in all {
        let unit = match group.native.composite {
            Some(_) => groups.tree(group, &mut members),
            None => groups.alone(group),
        };
        units.extend(unit);
    }
    (units, members)
}

fn key(group: &GroupObject) -> String {
    format!("{}/{}", group.namespace, group.name)
}

/// The name of a group as the API server has it.
fn own_name(group: &GroupObject) -> &str {
    let name = &group.name;
    let composite = name.strip_prefix(COMPOSITE_GROUP);
    composite.unwrap_or_else(|| name.strip_prefix(NATIVE_GROUP).unwrap_or(name))
}

fn is_gang(group: &GroupObject) -> bool {
    matches!(group.native.composite, Some(CompositePolicy::Gang(_)))
}

/// The sub-job that stands for a PodGroup of a tree.
pub fn sub_job(job: &str, policy: usize, name: &str) -> SubJob {
    SubJob {
        policy: Some(policy),
        match_index: 0,
        id: format!("{job}/{name}"),
    }
}

impl<'a> Groups<'a> {
    /// What is above a group, the nearest first; none where something is not there, part of itself, or too high.
    fn above(&self, group: &GroupObject) -> Option<Vec<&'a GroupObject>> {
        let mut above: Vec<&'a GroupObject> = Vec::new();
        let mut parent = &group.native.parent;
        while !parent.is_empty() {
            let mut composites = self.all.iter().filter(|one| one.native.composite.is_some());
            let known = composites
                .find(|one| one.namespace == group.namespace && own_name(one) == parent)?;
            above.push(known);
            if above.len() > MAX_ABOVE {
                return None;
            }
            parent = &known.native.parent;
        }
        Some(above)
    }

    /// A PodGroup that is part of no gang above it.
    fn alone(&self, group: &GroupObject) -> Option<Unit> {
        let mut unit = Unit {
            group: group.clone(),
            tree: None,
            waits: false,
        };
        let Some(above) = self.above(group) else {
            unit.waits = true;
            return Some(unit);
        };
        if above.iter().any(|one| is_gang(one)) {
            return None;
        }
        unit.waits = above.iter().any(|one| one.topology.is_some());
        self.inherit_queue(&mut unit.group, &above);
        Some(unit)
    }

    fn inherit_queue(&self, group: &mut GroupObject, above: &[&GroupObject]) {
        let mut queues = above.iter().map(|one| &one.queue);
        if group.queue.is_empty() {
            let named = queues.find(|queue| !queue.is_empty());
            group.queue = named.cloned().unwrap_or_default();
        }
    }

    /// The tree below a CompositePodGroup that is the topmost gang.
    fn tree(&self, root: &GroupObject, members: &mut BTreeMap<String, Member>) -> Option<Unit> {
        let above = self.above(root)?;
        if !is_gang(root) || above.iter().any(|one| is_gang(one)) {
            return None;
        }
        let mut group = root.clone();
        let tree = self.part(root, &mut group.sub_groups);
        if group.sub_groups.is_empty() {
            return None;
        }
        let least = tree.least_pods();
        let least = least.unwrap_or_else(|| tree.least_pods_with_more_parts());
        group.min_member = i32::try_from(least).unwrap_or(i32::MAX);
        for part in tree.all() {
            if let Content::Pods(policy) = part.content {
                let name = &group.sub_groups[policy].name;
                let sub_job = sub_job(&key(root), policy, name);
                members.insert(format!("{}/{name}", root.namespace), (key(root), sub_job));
            }
        }
        Some(Unit {
            group,
            tree: Some(tree),
            waits: above.iter().any(|one| one.topology.is_some()),
        })
    }

    /// A group with all that names it, which is not too deep.
    fn part(&self, group: &GroupObject, policies: &mut Vec<SubGroupPolicy>) -> Part {
        let name = own_name(group).to_owned();
        let topology = group.topology.clone();
        let Some(policy) = group.native.composite else {
            policies.push(SubGroupPolicy {
                name: group.name.clone(),
                size: group.min_member,
                topology: topology.clone(),
                ..SubGroupPolicy::default()
            });
            return Part {
                name,
                needs: usize::try_from(group.min_member).unwrap_or(0),
                topology,
                content: Content::Pods(policies.len() - 1),
            };
        };
        let below = self.all.iter().filter(|one| {
            let is_below = one.namespace == group.namespace && one.native.parent == name;
            let above = self.above(one);
            let most = MAX_ABOVE - usize::from(one.native.composite.is_some());
            is_below && above.is_some_and(|above| above.len() <= most)
        });
        let below: Vec<&GroupObject> = below.collect();
        let parts = below.into_iter().map(|one| self.part(one, policies));
        let parts: Vec<Part> = parts.collect();
        Part {
            name,
            needs: match policy {
                CompositePolicy::Basic => 1,
                CompositePolicy::Gang(number) => usize::try_from(number).unwrap_or(0),
            },
            topology,
            content: Content::Parts(parts),
        }
    }
}
