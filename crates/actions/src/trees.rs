//! Placing the pods of a tree of PodGroups (spec/03 §B11): part by part, each as a whole or not at all.
//!
//! A part that lacks groups gets as many as it needs, or what was placed in it is undone. One that has them gets one
//! more of its groups, or one more pod of a group, a turn.

use std::sync::Arc;

use pumice_framework::Session;
use pumice_model::object::GangTree;
use pumice_model::{JobIx, JobUnit, Task, TaskStatus, gang_tree};

use crate::attempt::{Attempt, allocate_tasks};
use crate::domains::{self, DomainFit};
use crate::kernel::Kernel;
use crate::sub_jobs::forget_failures;
use crate::worksheet::{TaskQueue, Worksheet};

/// So often in a turn the parts of a node are tried again, without the one that came first.
const MAX_RETRIES: usize = 8;

/// A part of a CompositePodGroup.
#[derive(Clone, Copy)]
enum TreePart {
    /// A PodGroup, by its sub-group policy.
    Group(u16),
    /// A CompositePodGroup within.
    Node(u16),
}

/// One turn of a job that stands for a tree.
struct TreeTurn<'a> {
    job: JobIx,
    worksheet: &'a mut Worksheet,
    tree: Arc<GangTree>,
    /// Sub-job of each PodGroup.
    subs: Vec<Option<u16>>,
    /// Gangs are told from other jobs; else every part has what it needs, and pods go one by one.
    has_gangs: bool,
    /// PodGroups that have the pods they need.
    holds: Vec<bool>,
    retries_left: usize,
}

/// The tree that a job stands for, if gangs are told from other jobs at all, or parts of it ask for a place.
pub(crate) fn of(session: &Session, attempt: &Attempt) -> Option<Arc<GangTree>> {
    let job = session.state.job(attempt.job);
    let tree = job.group()?.native.tree.as_ref()?;
    let asks = || tree.nodes.iter().any(|node| node.topology.is_some());
    (session.plugins.has_gangs() || asks()).then(|| tree.clone())
}

/// Places what a tree needs, or one thing more. True when the placements are to stand.
pub(crate) fn allocate(
    session: &mut Session,
    kernel: &mut Kernel,
    attempt: &Attempt,
    tree: Arc<GangTree>,
    worksheet: &mut Worksheet,
) -> bool {
    let job = attempt.job;
    let start = session.checkpoint();
    forget_failures(session, job, None);
    let mut turn = TreeTurn::new(session, job, tree, worksheet);
    turn.place(session, kernel, attempt, 0);
    let (state, plugins) = (&*session.state, &*session.plugins);
    let stands = !session.work.is_postponed(job)
        && session.steps_since(start) > 0
        && (plugins.job_ready(state, job) || plugins.job_pipelined(state, job));
    if !stands {
        session.undo_to(start);
    }
    stands
}

impl<'a> TreeTurn<'a> {
    fn new(
        session: &Session,
        job: JobIx,
        tree: Arc<GangTree>,
        worksheet: &'a mut Worksheet,
    ) -> Self {
        let (state, record) = (&*session.state, session.state.job(job));
        let counts =
            |task: &Task| gang_tree::is_there(task) || task.gang_status() == TaskStatus::Pipelined;
        let has_gangs = session.plugins.has_gangs();
        let mut holds = gang_tree::groups_that_hold(state, record, counts);
        holds.iter_mut().for_each(|holds| *holds |= !has_gangs);
        let mut subs = vec![None; holds.len()];
        for (at, sub) in record.sub_jobs.iter().enumerate() {
            if let Some(policy) = sub.policy {
                subs[policy as usize] = Some(at as u16);
            }
        }
        Self {
            job,
            worksheet,
            tree,
            subs,
            has_gangs,
            holds,
            retries_left: MAX_RETRIES,
        }
    }

    /// Places what a node needs, or one thing more where it has that, in one domain where it asks for that; whether
    /// anything.
    fn place(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        attempt: &Attempt,
        node: u16,
    ) -> bool {
        if self.tree.nodes[node as usize].topology.is_none() {
            return self.place_parts(session, kernel, attempt, node);
        }
        let unit = JobUnit::composite(self.job, node);
        let before = (self.holds.clone(), self.worksheet.tasks.clone());
        let found = domains::search(
            session,
            kernel,
            attempt,
            unit,
            |session, kernel, attempt| {
                (self.holds, self.worksheet.tasks) = before.clone();
                let stands = self.place_parts(session, kernel, attempt, node);
                let fit = DomainFit::of(stands, self.is_ready(session, node));
                (fit, (self.holds.clone(), self.worksheet.tasks.clone()))
            },
        );
        let is_placed = found.is_some();
        (self.holds, self.worksheet.tasks) = found.unwrap_or(before);
        if !is_placed {
            // What failed has no other turn in this cycle.
            let subs = self.tree.groups_below(node).into_iter();
            for sub in subs.filter_map(|group| self.subs[group as usize]) {
                self.worksheet.tasks[sub as usize] = TaskQueue::default();
            }
        }
        is_placed
    }

    /// Whether a node has what it needs without waiting for others to go.
    fn is_ready(&self, session: &Session, node: u16) -> bool {
        let (state, job) = (&*session.state, session.state.job(self.job));
        let groups = || gang_tree::groups_that_hold(state, job, gang_tree::is_there);
        !self.has_gangs || self.tree.nodes_that_hold(&groups())[node as usize]
    }

    /// Places what a node needs, or one thing more where it has that; whether anything.
    fn place_parts(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        attempt: &Attempt,
        node: u16,
    ) -> bool {
        let parts = self.in_order(session, node);
        match self.node_holds(node) {
            true => parts
                .into_iter()
                .any(|part| self.place_part(session, kernel, attempt, part)),
            false => {
                let holds = self.tree.nodes_that_hold(&self.holds);
                let lacks = |part: &TreePart| match *part {
                    TreePart::Group(at) => !self.holds[at as usize],
                    TreePart::Node(at) => !holds[at as usize],
                };
                let mut lacking: Vec<TreePart> = parts.into_iter().filter(lacks).collect();
                let known = &self.tree.nodes[node as usize];
                if known.groups.len() + known.nodes.len() <= known.needs {
                    // No part can be left out, so first goes what has least choice.
                    let asking = self.asking(session);
                    lacking.sort_by_key(|part| match *part {
                        TreePart::Group(at) => !asking.0[at as usize],
                        TreePart::Node(at) => !asking.1[at as usize],
                    });
                }
                self.place_needed(session, kernel, attempt, node, &lacking)
            }
        }
    }

    /// Places parts of a node until it has as many as it needs, or nothing. What came first may be what the others have
    /// no room beside: then they are tried without it.
    fn place_needed(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        attempt: &Attempt,
        node: u16,
        parts: &[TreePart],
    ) -> bool {
        let start = session.checkpoint();
        let mut from = 0;
        loop {
            let (holds, tasks) = (self.holds.clone(), self.worksheet.tasks.clone());
            let mut first = None;
            for (at, part) in parts.iter().enumerate().skip(from) {
                if self.place_part(session, kernel, attempt, *part) {
                    first.get_or_insert(at);
                }
                if session.work.is_postponed(self.job) {
                    return false;
                }
                if self.node_holds(node) {
                    return true;
                }
            }
            session.undo_to(start);
            self.holds = holds;
            match first {
                Some(first) if first + 1 < parts.len() && self.retries_left > 0 => {
                    self.retries_left -= 1;
                    self.worksheet.tasks = tasks;
                    from = first + 1;
                }
                _ => return false,
            }
        }
    }

    fn place_part(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        attempt: &Attempt,
        part: TreePart,
    ) -> bool {
        if session.work.is_postponed(self.job) {
            return false;
        }
        match part {
            TreePart::Group(group) => self.place_group(session, kernel, attempt, group),
            TreePart::Node(node) => self.place(session, kernel, attempt, node),
        }
    }

    /// PodGroups, and CompositePodGroups, that keep pods of theirs to a part of the network.
    fn asking(&self, session: &Session) -> (Vec<bool>, Vec<bool>) {
        let group = session.state.job(self.job).group();
        let policies = group.map_or(&[][..], |group| &group.sub_groups);
        let groups = policies.iter().map(|policy| policy.topology.is_some());
        let groups: Vec<bool> = groups.collect();
        let mut nodes = vec![false; self.tree.nodes.len()];
        for (at, node) in self.tree.nodes.iter().enumerate().rev() {
            nodes[at] = node.topology.is_some()
                || node.groups.iter().any(|at| groups[*at as usize])
                || node.nodes.iter().any(|at| nodes[*at as usize]);
        }
        (groups, nodes)
    }

    fn node_holds(&self, node: u16) -> bool {
        !self.has_gangs || self.tree.nodes_that_hold(&self.holds)[node as usize]
    }

    /// Parts of a node: first those that lack something, the one that lacks fewest pods first.
    fn in_order(&self, session: &Session, node: u16) -> Vec<TreePart> {
        let known = &self.tree.nodes[node as usize];
        let holds = self.tree.nodes_that_hold(&self.holds);
        let (state, plugins) = (&*session.state, &*session.plugins);
        let job = self.job;
        let lacking: Vec<i32> = (0..)
            .zip(&self.holds)
            .map(|(at, holds)| match holds {
                true => 0,
                false => self.lacks(session, at),
            })
            .collect();
        let by_node = self.tree.least_pods(&lacking);
        let mut groups = known.groups.clone();
        groups.sort_by(
            |l, r| match (self.subs[*l as usize], self.subs[*r as usize]) {
                (Some(left), Some(right)) => plugins.sub_job_order(state, job, left, right),
                (left, right) => left.cmp(&right),
            },
        );
        let groups = groups.into_iter();
        let groups = groups.map(|at| {
            (
                self.holds[at as usize],
                lacking[at as usize],
                TreePart::Group(at),
            )
        });
        let nodes = known.nodes.iter();
        let nodes = nodes.map(|at| {
            (
                holds[*at as usize],
                by_node[*at as usize],
                TreePart::Node(*at),
            )
        });
        let mut all: Vec<(bool, i32, TreePart)> = groups.chain(nodes).collect();
        all.sort_by_key(|(holds, lacks, _)| (*holds, *lacks));
        all.into_iter().map(|(_, _, part)| part).collect()
    }

    /// How many more of its pods a PodGroup needs on nodes; more than there can be, where it has not as many.
    fn lacks(&self, session: &Session, group: u16) -> i32 {
        let (state, job) = (&*session.state, self.job);
        let Some(sub) = self.subs[group as usize] else {
            return i32::MAX;
        };
        let lacks = session.plugins.sub_job_lacks(state, job, sub);
        let there = self.worksheet.tasks[sub as usize].len();
        let others = state.job(job).pending_best_effort as usize;
        match usize::try_from(lacks).is_ok_and(|lacks| lacks <= there + others) {
            true => i32::try_from(lacks).unwrap_or(i32::MAX),
            false => i32::MAX,
        }
    }

    /// Places what a PodGroup needs, or one more of its pods; whether any.
    fn place_group(
        &mut self,
        session: &mut Session,
        kernel: &mut Kernel,
        attempt: &Attempt,
        group: u16,
    ) -> bool {
        let job = self.job;
        let Some(sub) = self.subs[group as usize] else {
            return false;
        };
        let record = session.state.job(job);
        let holds = self.holds[group as usize];
        let has_others = !holds && record.pending_best_effort > 0;
        if self.worksheet.tasks[sub as usize].is_empty() && !has_others {
            return false;
        }
        let wants_topology = record.wants_topology();
        let before = session.checkpoint();
        forget_failures(session, job, Some(sub));
        let mut tasks = std::mem::take(&mut self.worksheet.tasks[sub as usize]);
        let placed = match wants_topology {
            true => domains::allocate_sub_job(session, kernel, attempt, sub, &mut tasks),
            false => allocate_tasks(session, kernel, attempt, sub, &mut tasks),
        };
        if !placed || session.steps_since(before) == 0 {
            // What failed has no other turn in this cycle.
            return false;
        }
        self.worksheet.tasks[sub as usize] = tasks;
        self.holds[group as usize] = true;
        true
    }
}
