//! PodGroups and CompositePodGroups below the root of a tree: what each has, and once had, of what it needs (spec/03 §B11).

use std::collections::BTreeMap;

use super::population::{JobBooks, told_name};
use super::{Population, State};
use crate::gang_tree::{self, groups_that_hold};
use crate::ix::{JobIx, TaskIx};
use crate::object::{COMPOSITE_GROUP, GroupObject};
use crate::task::TaskStatus;

/// A PodGroup, or a CompositePodGroup, below the root of a tree.
#[derive(Clone, Copy, Debug)]
pub struct TreeMember<'a> {
    /// The part as its object says it.
    pub object: &'a GroupObject,
    /// The part has had all that it needs on nodes, once at least.
    pub was_placed: bool,
}

/// A part of a tree of which some pods are on nodes and others have no place, though the tree as a whole has what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartInPart {
    /// Kind and name, for people.
    pub name: String,
    /// Pods of the part that are on nodes, by name.
    pub pods: Vec<TaskIx>,
}

/// Parts in the order in which the job that stands for the tree has them: PodGroups, then CompositePodGroups, the root
/// among them. None stands for an object that has gone meanwhile.
fn parts(population: &Population, job: JobIx) -> Vec<Option<TreeMember<'_>>> {
    let group = population.job(job).group();
    let Some((group, tree)) = group.and_then(|group| Some((group, group.native.tree.as_ref()?)))
    else {
        return Vec::new();
    };
    let (namespace, trees) = (&group.namespace, population.trees());
    let part = |name: &str| {
        Some(TreeMember {
            object: trees.object(namespace, name)?,
            was_placed: trees.was_placed(namespace, name),
        })
    };
    let groups = group.sub_groups.iter().map(|policy| part(&policy.name));
    let nodes = tree.nodes.iter();
    let nodes = nodes.map(|node| part(&format!("{COMPOSITE_GROUP}{}", node.name)));
    groups.chain(nodes).collect()
}

/// PodGroups and CompositePodGroups below the root of the tree that a job stands for, PodGroups first.
pub fn parts_within(state: &State, job: JobIx) -> Vec<TreeMember<'_>> {
    let mut all = parts(&state.population, job);
    let root = state.job(job).group();
    if let Some(at) = root
        .map(|group| group.sub_groups.len())
        .filter(|at| *at < all.len())
    {
        all.remove(at);
    }
    all.into_iter().flatten().collect()
}

/// Remembers which parts of the tree that a job stands for have all that they need on nodes: they say so for ever.
pub fn note_placed_within(state: &mut State, ix: JobIx) {
    let job = state.job(ix);
    let Some(tree) = gang_tree::of(job) else {
        return;
    };
    let groups = groups_that_hold(state, job, gang_tree::is_on_node);
    let nodes = tree.nodes_that_hold(&groups);
    let holds = groups.into_iter().chain(nodes);
    let parts = parts(&state.population, ix).into_iter().zip(holds);
    let placed = parts.filter_map(|(part, holds)| part.filter(|part| holds && !part.was_placed));
    let name = |part: TreeMember<'_>| (part.object.namespace.clone(), part.object.name.clone());
    let placed: Vec<_> = placed.map(name).collect();
    for (namespace, name) in placed {
        JobBooks::of(state).trees().note_placed(&namespace, &name);
    }
}

/// The topmost parts of a tree that were bound in part and never had what they need, where the tree itself has it.
///
/// Not so of parts with pods that were there before their object, came as they were from another gang, or were bound by
/// another scheduler.
pub fn parts_bound_in_part(state: &State, ix: JobIx) -> Vec<PartInPart> {
    let job = state.job(ix);
    let Some(tree) = gang_tree::of(job) else {
        return Vec::new();
    };
    let groups = groups_that_hold(state, job, gang_tree::is_told);
    let nodes = tree.nodes_that_hold(&groups);
    if nodes.first() != Some(&true) || groups.iter().chain(&nodes).all(|holds| *holds) {
        return Vec::new();
    }
    let parts = parts(&state.population, ix);
    let first_node = groups.len();
    let holds: Vec<bool> = groups.into_iter().chain(nodes).collect();
    let never_held = |at: usize| !holds[at] && parts[at].is_some_and(|part| !part.was_placed);
    // By part, the topmost one around that was bound in part, if any was.
    let mut around: Vec<Option<usize>> = vec![None; parts.len()];
    for (at, node) in tree.nodes.iter().enumerate() {
        let above = around[first_node + at];
        let groups = node.groups.iter().map(|at| usize::from(*at));
        let nodes = node.nodes.iter().map(|at| first_node + usize::from(*at));
        for part in groups.chain(nodes) {
            around[part] = above.or_else(|| never_held(part).then_some(part));
        }
    }
    let mut found: BTreeMap<usize, Option<Vec<TaskIx>>> = BTreeMap::new();
    for sub in &job.sub_jobs {
        let Some(at) = sub.policy.and_then(|policy| around[usize::from(policy)]) else {
            continue;
        };
        let since_s = parts[at].map_or(0, |part| part.object.created_s);
        for task in &sub.tasks {
            let known = state.task(*task);
            let pods = found.entry(at).or_insert_with(|| Some(Vec::new()));
            if !known.ours || known.joined_bound || known.created_s < since_s {
                *pods = None;
            } else if let Some(pods) = pods
                && matches!(known.gang_status(), TaskStatus::Bound | TaskStatus::Running)
            {
                pods.push(*task);
            }
        }
    }
    let found = found.into_iter().filter_map(|(at, pods)| {
        let mut pods = pods.filter(|pods| !pods.is_empty())?;
        pods.sort_by_key(|ix| &state.task(*ix).name);
        let name = told_name(&parts[at]?.object.name);
        Some(PartInPart { name, pods })
    });
    found.collect()
}
