//! Plugin `nodegroup`: ties queues to groups of nodes, by label `volcano.sh/nodegroup-name`
//! (spec/02 §15).
//!
//! | part | reach |
//! |---|---|
//! | may the queue use the group at all | static: node label and the queue's lists |
//! | how much the queue likes the group | static, fractional |
//! | what the queue may have in the group at most | domain: of the label |
//!
//! All of it depends on the queue of a pod, which the class signature tells: the queue's name, its
//! lists and limits as they are, and a number that moves when pods on nodes change their queue.

mod limits;

use std::ops::Range;

use pumice_conf::{Arg, PluginConf, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::{
    ClassSignature, Counting, DomainFilter, DomainFilters, NodeFilters, NodeScore, NodeScores,
    StaticClass, StaticPart,
};
use pumice_framework::{
    ChangedQueues, Class, CycleInfo, Plugin, ReasonId, ReasonKind, ReasonTable,
};
use pumice_model::object::{GroupLimits, NodeGroups, QueueObject};
use pumice_model::selector::pair;
use pumice_model::{JobIx, NodeIx, Queue, QueueIx, State, TaskIx};

use crate::entry::PluginEntry;

/// Label that names the group of a node.
const LABEL: &str = "volcano.sh/nodegroup-name";

const STRICT: Arg<bool> = Arg::switch(
    "strict",
    true,
    "Whether queues without affinity may not use nodes without a group either.",
);
const ORDERED: Arg<bool> = Arg::switch(
    "enablePreferredOrder",
    false,
    "Whether the order of preferred groups counts.",
);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "nodegroup",
    summary: "Ties queues to groups of nodes.",
    args: &[STRICT.spec(), ORDERED.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |conf, reasons| {
    Box::new(NodeGroup::new(conf, reasons))
});

/// The plugin.
#[derive(Clone)]
pub struct NodeGroup {
    strict: bool,
    ordered: bool,
    hierarchy: bool,
    reasons: NodeGroupReasons,
    /// Queue of every job with pods on nodes, by job index.
    queue_of: Vec<Option<QueueIx>>,
    /// Moves when such a job changes its queue.
    revision: u64,
    /// What the signature says of a queue, by queue index.
    signed: Vec<String>,
}

#[derive(Clone, Copy)]
struct NodeGroupReasons {
    no_label: ReasonId,
    no_affinity: ReasonId,
    affinity: ReasonId,
    unreadable: ReasonId,
    limit: ReasonId,
}

impl NodeGroupReasons {
    fn new(table: &mut ReasonTable) -> Self {
        let mut hard = |text| table.intern(text, ReasonKind::Unresolvable);
        Self {
            no_label: hard("node group label not found"),
            no_affinity: hard("node group affinity not specified"),
            affinity: hard("node does not satisfy the node group affinity"),
            unreadable: hard("node group resource limit annotation invalid"),
            limit: hard("node group resource limit exceeded"),
        }
    }
}

impl NodeGroup {
    fn new(conf: &PluginConf, reasons: &mut ReasonTable) -> Self {
        Self {
            strict: STRICT.read(&conf.arguments),
            ordered: ORDERED.read(&conf.arguments),
            hierarchy: conf.enabled.hierarchy,
            reasons: NodeGroupReasons::new(reasons),
            queue_of: Vec::new(),
            revision: 0,
            signed: Vec::new(),
        }
    }

    /// The lists of a queue; with the hierarchy, of its nearest ancestor that has some.
    fn groups<'a>(&self, state: &'a State, queue: &'a Queue) -> NodeGroups {
        let mut object = &queue.object;
        // Parents may form a circle: no chain is longer than there are queues.
        for _ in 0..=state.population().queues().iter().count() {
            if let Some(groups) = &object.affinity {
                return groups.clone();
            }
            let parent = match object.parent.as_str() {
                "" => "root",
                parent => parent,
            };
            let is_root = object.name == "root";
            match state.population().queue_by_name(parent) {
                Some(ix) if self.hierarchy && !is_root => object = &state.queue(ix).object,
                _ => break,
            }
        }
        NodeGroups::default()
    }

    fn sign(&self, state: &State, queue: &Queue) -> String {
        let (name, groups) = (&queue.object.name, self.groups(state, queue));
        match &queue.object.group_limits {
            GroupLimits::None => format!("{name}\n{groups:?}"),
            limits => format!("{name}\n{groups:?}\n{limits:?}\n{}", self.revision),
        }
    }

    /// Which jobs with pods on nodes belong to which queue: whether that is otherwise than before.
    fn follow(&mut self, state: &State, jobs: impl Iterator<Item = JobIx>) -> bool {
        let mut moved = false;
        for ix in jobs {
            let job = state.population().has_job(ix).then(|| state.job(ix));
            let placed = job.filter(|job| job.allocated_count() + job.waiting() > 0);
            let queue = placed.and_then(|job| job.queue);
            if self.queue_of.len() <= ix.at() {
                self.queue_of.resize(ix.at() + 1, None);
            }
            let before = std::mem::replace(&mut self.queue_of[ix.at()], queue);
            moved |= before != queue;
        }
        moved
    }
}

/// The queue a class is of.
fn queue_of<'a>(state: &'a State, class: StaticClass<'_>) -> Option<&'a Queue> {
    let (name, _) = class.signature.of(SPEC.name).split_once('\n')?;
    Some(state.queue(state.population().queue_by_name(name)?))
}

fn group_of(state: &State, node: NodeIx) -> Option<&str> {
    pair(&state.nodes().object(node).labels, LABEL)
}

/// Whether a queue has any entries.
fn says_something(groups: &NodeGroups) -> bool {
    let lists = [
        &groups.required,
        &groups.preferred,
        &groups.excluded,
        &groups.avoided,
    ];
    lists.iter().any(|list| !list.is_empty())
}

/// Whether a queue may use a group. One that only excludes some may use all others.
fn may_use(groups: &NodeGroups, group: &str) -> bool {
    let has = |list: &[String]| list.iter().any(|name| name == group);
    let open = groups.required.is_empty() && groups.preferred.is_empty();
    let named = has(&groups.required) || has(&groups.preferred) || has(&groups.avoided);
    (open || named) && !has(&groups.excluded)
}

/// How much a queue likes a group.
fn liking(groups: &NodeGroups, ordered: bool, group: &str) -> f64 {
    let has = |list: &[String]| list.iter().any(|name| name == group);
    if has(&groups.avoided) {
        return -1.0;
    }
    let required = if has(&groups.required) { 100.0 } else { 0.0 };
    let last = groups.preferred.iter().rposition(|name| name == group);
    let preferred = match last {
        Some(at) if ordered => {
            let distinct: std::collections::BTreeSet<&String> = groups.preferred.iter().collect();
            let count = distinct.len();
            50.0 * (count as f64 - at as f64) / count as f64
        }
        Some(_) => 50.0,
        None => 0.0,
    };
    required + preferred
}

impl Plugin for NodeGroup {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(
        self;
        as_class_signature: ClassSignature,
        as_node_filters: NodeFilters,
        as_node_scores: NodeScores,
        as_domain_filters: DomainFilters,
    );

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        let moved = match &cycle.changed.jobs {
            Some(jobs) => self.follow(state, jobs.iter().copied()),
            None => self.follow(state, state.population().jobs().map(|(ix, _)| ix)),
        };
        self.revision += u64::from(moved);
        match &cycle.changed.queues {
            // What is written on a queue counts for those below it.
            ChangedQueues::Rewritten(queues)
                if !moved && (!self.hierarchy || queues.is_empty()) =>
            {
                for ix in queues {
                    self.signed[ix.at()] = self.sign(state, state.queue(*ix));
                }
            }
            _ => {
                let mut signed = Vec::new();
                for (ix, queue) in state.population().queues().iter() {
                    signed.resize(signed.len().max(ix.at() + 1), String::new());
                    signed[ix.at()] = self.sign(state, queue);
                }
                self.signed = signed;
            }
        }
    }
}

impl ClassSignature for NodeGroup {
    fn signature(&self, state: &State, task: TaskIx) -> String {
        let queue = state.task(task).job.and_then(|job| state.job(job).queue);
        let signed = queue.and_then(|queue| self.signed.get(queue.at()));
        signed.cloned().unwrap_or_default()
    }
}

impl NodeFilters for NodeGroup {
    fn static_filter(
        &self,
        state: &State,
        class: StaticClass<'_>,
        _: &mut ReasonTable,
        part: &mut StaticPart,
    ) {
        let Some(queue) = queue_of(state, class) else {
            return;
        };
        let groups = self.groups(state, queue);
        let named = says_something(&groups);
        let unreadable = queue.object.group_limits == GroupLimits::Unreadable;
        for (node, verdict) in state.nodes().indices().zip(&mut part.verdict) {
            let found = match group_of(state, node) {
                _ if unreadable => self.reasons.unreadable,
                None if self.strict || named => self.reasons.no_label,
                None => continue,
                Some(_) if !named => self.reasons.no_affinity,
                Some(group) if may_use(&groups, group) => continue,
                Some(_) => self.reasons.affinity,
            };
            verdict.get_or_insert(found);
        }
    }
}

impl NodeScores for NodeGroup {
    fn node_scores(&self, state: &State, class: &Class) -> Vec<Box<dyn NodeScore>> {
        let Some(queue) = queue_of(state, class.fixed()) else {
            return Vec::new();
        };
        let groups = self.groups(state, queue);
        let of_node =
            |node| group_of(state, node).map_or(0.0, |group| liking(&groups, self.ordered, group));
        let scores: Vec<f64> = state.nodes().indices().map(of_node).collect();
        match scores.iter().all(|score| *score == 0.0) {
            true => Vec::new(),
            false => vec![Box::new(Liking(scores))],
        }
    }
}

/// The scores, by node.
struct Liking(Vec<f64>);

impl NodeScore for Liking {
    fn add_fraction(&mut self, _state: &State, range: Range<usize>, out: &mut [f64]) {
        for (score, out) in self.0[range].iter().zip(out) {
            *out += score;
        }
    }

    fn has_fraction(&self) -> bool {
        true
    }
}

impl DomainFilters for NodeGroup {
    fn domain_filters(
        &self,
        with: &mut Counting<'_>,
        class: &Class,
        filters: &mut Vec<Box<dyn DomainFilter>>,
    ) {
        let Some(queue) = queue_of(with.state(), class.fixed()) else {
            return;
        };
        let QueueObject {
            name, group_limits, ..
        } = queue.object.clone();
        if let GroupLimits::Of(by_group) = group_limits {
            let reason = self.reasons.limit;
            filters.extend(limits::filter(with, class, &name, &by_group, reason));
        }
    }
}

#[cfg(test)]
mod tests;
