//! The cluster at a glance.

use pumice_model::object::TaintEffect;
use pumice_model::resource::display_amount;
use pumice_model::{NodeIx, TaskStatus};
use serde::{Deserialize, Serialize};

use super::card_sums::FamilySums;
use super::place::WaitingView;
use super::queues::QueuesView;
use super::shape::Time;
use crate::view::pages::Pages;

/// Nodes told of.
const MAX_NODES: usize = 50;

/// The cluster, its queues, nodes and the first waiting jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TopView {
    /// What is wrong with the newest configuration, while the one before it stays in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<String>,
    /// Sums.
    pub cluster: ClusterView,
    /// Queues, as the page of queues shows them.
    pub queues: QueuesView,
    /// The first nodes: those with shared cards, then those with other devices, then by name.
    pub nodes: Vec<NodeView>,
    /// Jobs that wait.
    pub waiting: WaitingView,
    /// The last cycle.
    pub cycle: u64,
}

/// Sums over the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterView {
    /// Number of nodes.
    pub nodes: usize,
    /// Nodes that take pods.
    pub schedulable: usize,
    /// Pods that hold resources.
    pub pods_on_nodes: usize,
    /// Pods of this scheduler that wait.
    pub pods_waiting: usize,
    /// Jobs that wait.
    pub jobs_waiting: usize,
    /// Resources, cpu and memory first.
    pub resources: Vec<Usage>,
    /// Shared cards, by kind of devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<FamilySums>,
    /// What was decided in the last hour; `None` of who has not decided, but only would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_hour: Option<LastHour>,
}

/// What was decided in the last hour, by this scheduler and since it decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastHour {
    /// Pods that were to be bound.
    pub binds: u64,
    /// Pods that were to be evicted.
    pub evictions: u64,
    /// When it began to decide; `None` before it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}

/// How much of a resource is in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Name of the resource.
    pub resource: String,
    /// In use, as a quantity.
    pub used: String,
    /// There is, as a quantity.
    pub allocatable: String,
    /// Used, in percent.
    pub percent: i64,
}

/// A node, and how full it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Name of the node.
    pub name: String,
    /// `Ready`, `Cordoned`, `NotReady` or `Tainted`.
    pub status: String,
    /// Pods that hold resources on it.
    pub pods: usize,
    /// Resources, cpu and memory first.
    pub resources: Vec<Usage>,
    /// Shared cards it has.
    pub cards: usize,
    /// Shared cards that somebody uses.
    pub cards_in_use: usize,
    /// Shared cards that may not be given out.
    pub cards_unhealthy: usize,
}

/// How many cards.
#[derive(Default)]
pub(super) struct CardCounts {
    pub all: usize,
    /// Those that somebody uses.
    pub in_use: usize,
    /// Those that may not be given out.
    pub unhealthy: usize,
}

impl Pages<'_> {
    pub(super) fn top_view(&self) -> TopView {
        let waiting = self.waiting_view();
        TopView {
            configuration: None,
            cluster: self.cluster_view(&waiting),
            queues: self.queues_view(),
            nodes: self.nodes_view(),
            waiting,
            cycle: self.cycle,
        }
    }

    fn cluster_view(&self, waiting: &WaitingView) -> ClusterView {
        let nodes = self.state.nodes();
        let takes = |node: &NodeIx| self.node_status(*node) == "Ready";
        let sum = |column: Option<&[i64]>| -> i64 {
            let cells = column.unwrap_or_default().iter();
            cells.fold(0, |sum: i64, cell| sum.saturating_add(*cell))
        };
        let resources = self.state.resources().in_order().iter();
        let resources = resources.filter_map(|ix| {
            let (used, all) = (nodes.used.column(*ix), nodes.allocatable.column(*ix));
            usage(self.state.resources().name(*ix), sum(used), sum(all))
        });
        ClusterView {
            nodes: nodes.len(),
            schedulable: nodes.indices().filter(takes).count(),
            pods_on_nodes: nodes.indices().map(|node| nodes.tasks(node).len()).sum(),
            pods_waiting: waiting.pods,
            jobs_waiting: waiting.total,
            resources: resources.collect(),
            cards: self.card_sums(),
            last_hour: Some(self.last_hour()),
        }
    }

    fn last_hour(&self) -> LastHour {
        let hour = &self.follow_up.past_hour;
        let decided = hour.sum(self.now_s);
        LastHour {
            binds: decided.binds,
            evictions: decided.evictions,
            since: hour.since_s().and_then(Time::of),
        }
    }

    fn nodes_view(&self) -> Vec<NodeView> {
        let nodes = self.state.nodes();
        let resources = self.state.resources();
        let has_devices = |node: NodeIx| {
            let extended = |ix: &&pumice_model::ResIx| resources.name(**ix).contains('/');
            let mut names = resources.in_order().iter().filter(extended);
            names.any(|ix| nodes.allocatable.get(*ix, node) > 0)
        };
        let mut all: Vec<(bool, bool, NodeIx)> = nodes
            .indices()
            .map(|node| {
                let mut families = nodes.devices[node.at()].families();
                let has_cards = families.any(|(_, cards)| !cards.cards.is_empty());
                (!has_cards, !has_devices(node), node)
            })
            .collect();
        all.sort_unstable();
        all.truncate(MAX_NODES);
        all.into_iter()
            .map(|(_, _, node)| self.node_view(node))
            .collect()
    }

    /// Shared cards of a node.
    pub(super) fn card_counts(&self, node: NodeIx) -> CardCounts {
        let mut counts = CardCounts::default();
        for (_, of) in self.state.nodes().devices[node.at()].families() {
            counts.all += of.cards.len();
            counts.in_use += (0..of.cards.len()).filter(|at| of.is_in_use(*at)).count();
            counts.unhealthy += of.cards.iter().filter(|card| !card.is_usable()).count();
        }
        counts
    }

    /// Pods that hold resources on a node.
    pub(super) fn pods_on(&self, node: NodeIx) -> usize {
        let holds =
            |task: &&pumice_model::TaskIx| self.state.task(**task).status != TaskStatus::Pipelined;
        self.state.nodes().tasks(node).iter().filter(holds).count()
    }

    pub(super) fn node_view(&self, node: NodeIx) -> NodeView {
        let nodes = self.state.nodes();
        let cards = self.card_counts(node);
        let resources = self.state.resources().in_order().iter().filter_map(|ix| {
            let (used, all) = (nodes.used.get(*ix, node), nodes.allocatable.get(*ix, node));
            usage(self.state.resources().name(*ix), used, all)
        });
        NodeView {
            name: nodes.object(node).name.clone(),
            status: self.node_status(node).to_owned(),
            pods: self.pods_on(node),
            resources: resources.collect(),
            cards: cards.all,
            cards_in_use: cards.in_use,
            cards_unhealthy: cards.unhealthy,
        }
    }

    pub(super) fn node_status(&self, node: NodeIx) -> &'static str {
        let object = self.state.nodes().object(node);
        let keeps_out = |effect| effect != TaintEffect::PreferNoSchedule;
        let mut taints = object.taints.iter().filter(|taint| keeps_out(taint.effect));
        let is_down = |key: &str| {
            let down = [
                "node.kubernetes.io/not-ready",
                "node.kubernetes.io/unreachable",
            ];
            down.contains(&key)
        };
        if taints.clone().any(|taint| is_down(&taint.key)) {
            "NotReady"
        } else if object.unschedulable {
            "Cordoned"
        } else if taints.next().is_some() {
            "Tainted"
        } else {
            "Ready"
        }
    }
}

/// A row, if there is any of the resource.
fn usage(name: &str, used: i64, allocatable: i64) -> Option<Usage> {
    let is_pods = name == "pods";
    (!is_pods && (used != 0 || allocatable != 0)).then(|| Usage {
        resource: name.to_owned(),
        used: display_amount(name, used),
        allocatable: display_amount(name, allocatable),
        percent: percent(used, allocatable),
    })
}

/// How much of all is used; 0 of nothing.
pub(super) fn percent(used: i64, all: i64) -> i64 {
    match all {
        0 => 0,
        all => (used as f64 * 100.0 / all as f64).round() as i64,
    }
}
