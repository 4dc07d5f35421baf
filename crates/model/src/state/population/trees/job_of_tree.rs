//! The PodGroup by which a job stands for a whole tree: its root, with a sub-group policy for each PodGroup within.

use std::sync::Arc;

use super::{MAX_LEVELS, TreeSpace, plain, some_of};
use crate::object::{CompositePolicy, GangNode, GangTree, GroupObject, SubGroupPolicy};

/// PodGroups that a tree may have, and CompositePodGroups.
const MAX_GROUPS: usize = 4096;

/// A tree as it is job from its root down.
struct TreeJob<'a> {
    space: &'a TreeSpace,
    whole: GroupObject,
    tree: GangTree,
    unserved: Vec<String>,
    /// PodGroups beyond as many as there may be.
    beyond: usize,
    /// CompositePodGroups beyond as many as there may be.
    nodes_beyond: usize,
}

impl TreeSpace {
    /// The PodGroup of the job that stands for all PodGroups below a root.
    pub(super) fn job_of(&self, root: &str) -> Option<GroupObject> {
        let mut job = TreeJob {
            space: self,
            whole: self.members.get(root)?.clone(),
            tree: GangTree::default(),
            unserved: Vec::new(),
            beyond: 0,
            nodes_beyond: 0,
        };
        job.unserved.extend(self.unserved_above(root));
        let level = self.above(root).map_or(MAX_LEVELS, |above| above.len() + 1);
        job.add_node(root, level);
        Some(job.finish())
    }
}

impl TreeJob<'_> {
    /// Adds a CompositePodGroup on a level and what is within; its index.
    fn add_node(&mut self, name: &str, level: usize) -> u16 {
        let at = self.tree.nodes.len();
        let member = self.space.members.get(name);
        let needs = match member.and_then(|one| one.native.composite) {
            Some(CompositePolicy::Gang(needs)) => usize::try_from(needs).unwrap_or(1).max(1),
            Some(CompositePolicy::Basic) | None => 1,
        };
        self.tree.nodes.push(GangNode {
            name: plain(name).to_owned(),
            needs,
            ..GangNode::default()
        });
        if let Some(member) = member {
            self.whole.native.goes_whole |= member.native.goes_whole;
            if at > 0 {
                self.tree.nodes[at].topology.clone_from(&member.topology);
            }
        }
        let space = self.space;
        for within in space.within.get(name).into_iter().flatten() {
            let Some(member) = space.members.get(within) else {
                continue;
            };
            if member.native.composite.is_none() {
                let group = self.add_group(member);
                self.tree.nodes[at].groups.extend(group);
            } else if self.tree.nodes.len() >= MAX_GROUPS {
                self.nodes_beyond += 1;
            } else if level + 2 <= MAX_LEVELS {
                // What is further below waits by itself.
                let node = self.add_node(within, level + 1);
                self.tree.nodes[at].nodes.push(node);
            }
        }
        at as u16
    }

    fn add_group(&mut self, member: &GroupObject) -> Option<u16> {
        let at = self.whole.sub_groups.len();
        if at >= MAX_GROUPS {
            self.beyond += 1;
            return None;
        }
        self.whole.native.goes_whole |= member.native.goes_whole;
        if member.preemptable.protects() && !self.whole.preemptable.protects() {
            self.whole.preemptable = member.preemptable;
        }
        if !member.native.unserved.is_empty() {
            let why = &member.native.unserved;
            self.unserved
                .push(format!("PodGroup {}: {why}", plain(&member.name)));
        }
        self.whole.sub_groups.push(SubGroupPolicy {
            name: member.name.clone(),
            size: member.min_member.max(1),
            topology: member.topology.clone(),
            ..SubGroupPolicy::default()
        });
        u16::try_from(at).ok()
    }

    fn finish(mut self) -> GroupObject {
        let counted = [
            ("PodGroups", self.beyond),
            ("CompositePodGroups", self.nodes_beyond),
        ];
        for (what, beyond) in counted.into_iter().filter(|(_, beyond)| *beyond > 0) {
            let text = format!(
                "CompositePodGroup {} has {} {what}, and a tree may have {MAX_GROUPS}: divide it",
                plain(&self.whole.name),
                MAX_GROUPS + beyond
            );
            self.unserved.insert(0, text);
        }
        let sizes = self.whole.sub_groups.iter().map(|policy| policy.size);
        let sizes: Vec<i32> = sizes.collect();
        let least = self.tree.least_pods(&sizes);
        self.whole.min_member = least.first().map_or(1, |least| (*least).max(1));
        self.whole.native.unserved = some_of(&self.unserved, "; ");
        self.whole.native.tree = Some(Arc::new(self.tree));
        self.whole
    }
}
