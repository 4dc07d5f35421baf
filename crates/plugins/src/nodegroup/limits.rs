//! What a queue may have in a group of nodes at most.

use std::sync::Arc;

use pumice_framework::points::{
    Cell, ChangedDomains, CountedCluster, Counting, DomainFilter, KeySet,
};
use pumice_framework::{Class, ReasonId};
use pumice_model::domains::Domains;
use pumice_model::object::Amounts;
use pumice_model::{LoadMoment, NodeIx, QueueIx, ResIx, ResVec, State, TaskStatus};

use super::{LABEL, group_of};

/// A resource of which a group may give the queue only so much.
struct Limit {
    resource: ResIx,
    most: i64,
}

/// The filter of one class. What the queue has is summed up by group.
struct NodeGroupLimits {
    keys: KeySet,
    domains: Arc<Domains>,
    queue: String,
    request: ResVec,
    /// By domain of the label, which is a group.
    limits: Vec<Vec<Limit>>,
    held: Vec<ResVec>,
    by_node: Vec<ResVec>,
    reason: ReasonId,
}

/// The filter of a class; `None` when no group with nodes has a limit the class could exceed.
pub fn filter(
    with: &mut Counting<'_>,
    class: &Class,
    queue: &str,
    by_group: &[(String, Amounts)],
    reason: ReasonId,
) -> Option<Box<dyn DomainFilter>> {
    let mut keys = KeySet::default();
    let (_, domains) = keys.add(with, LABEL);
    let state = with.state();
    let mut limits: Vec<Vec<Limit>> = Vec::new();
    limits.resize_with(domains.count, Vec::new);
    for node in state.nodes().indices() {
        let domain = domains.of_node[node.at()];
        let Some(group) = group_of(state, node) else {
            continue;
        };
        if domain != Domains::NONE && limits[domain as usize].is_empty() {
            limits[domain as usize] = limits_of(state, by_group, group);
        }
    }
    if limits.iter().all(Vec::is_empty) {
        return None;
    }
    let mut filter = NodeGroupLimits {
        keys,
        queue: queue.to_owned(),
        request: class.shape.request.clone(),
        held: vec![ResVec::default(); domains.count],
        by_node: vec![ResVec::default(); state.nodes().len()],
        domains,
        limits,
        reason,
    };
    let all: Vec<NodeIx> = state.nodes().indices().collect();
    filter.catch_up(with.now(), &all, &mut ChangedDomains::default());
    Some(Box::new(filter))
}

fn limits_of(state: &State, by_group: &[(String, Amounts)], group: &str) -> Vec<Limit> {
    let found = by_group.iter().find(|(name, _)| name == group);
    let amounts = found.map_or(&[][..], |(_, amounts)| amounts.as_slice());
    let limit = |(name, most): &(String, i64)| {
        let resource = state.resources().get(name)?;
        Some(Limit {
            resource,
            most: *most,
        })
    };
    amounts.iter().filter_map(limit).collect()
}

impl NodeGroupLimits {
    /// What pods of the queue take on a node, those that wait there included.
    fn on_node(&self, state: &State, queue: Option<QueueIx>, node: NodeIx) -> ResVec {
        let mut held = ResVec::default();
        for ix in state.nodes().tasks(node) {
            let task = state.task(*ix);
            let counts = task.status.is_allocated() || task.status == TaskStatus::Pipelined;
            let of_queue = task.job.and_then(|job| state.job(job).queue) == queue;
            if counts && of_queue {
                held.add(&state.ground().shapes().get(task.shape).request);
            }
        }
        held
    }
}

impl DomainFilter for NodeGroupLimits {
    fn keys(&self) -> &[String] {
        self.keys.names()
    }

    fn catch_up(
        &mut self,
        CountedCluster { state, .. }: CountedCluster<'_>,
        touched: &[NodeIx],
        changed: &mut ChangedDomains,
    ) {
        let Some(queue) = state.population().queue_by_name(&self.queue) else {
            return;
        };
        for node in touched {
            let domain = self.domains.of_node[node.at()];
            if domain == Domains::NONE || self.limits[domain as usize].is_empty() {
                continue;
            }
            let now = self.on_node(state, Some(queue), *node);
            let held = &mut self.held[domain as usize];
            held.add(&now);
            held.sub(&self.by_node[node.at()]);
            self.by_node[node.at()] = now;
            changed.some.push((0, domain));
        }
    }

    fn reject(&self, cell: Cell<'_>, _moment: LoadMoment) -> Option<ReasonId> {
        let domain = cell.domain(0);
        if domain == Domains::NONE {
            return None;
        }
        let held = &self.held[domain as usize];
        let exceeds = |limit: &Limit| {
            let asked = self.request.get(limit.resource);
            held.get(limit.resource).saturating_add(asked) > limit.most
        };
        let mut limits = self.limits[domain as usize].iter();
        limits.any(exceeds).then_some(self.reason)
    }

    fn sums(&self) -> usize {
        1
    }

    fn is_lasting(&self) -> bool {
        true
    }
}
