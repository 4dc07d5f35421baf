//! One node: how full it is, its cards, and the pods on it.

use pumice_model::TaskIx;
use pumice_model::resource::PODS;
use serde::{Deserialize, Serialize};

use super::MAX_ROWS;
use super::cards::CardsView;
use super::find::Absent;
use super::numa::NumaView;
use super::shape::Quantities;
use super::top::NodeView;
use crate::view::pages::Pages;

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeDetailView {
    /// How full it is.
    pub node: NodeView,
    /// Shared cards of the node.
    pub cards: CardsView,
    /// NUMA nodes of it; `None` where nobody tells of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa: Option<NumaView>,
    /// The first pods that hold resources on it, by name.
    pub pods: Vec<NodePod>,
    /// The last cycle.
    pub cycle: u64,
}

/// A pod on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodePod {
    /// `namespace/name`.
    pub pod: String,
    /// `namespace/name` of its PodGroup; `None` of a pod without one, or that is not ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Status, in the scheduler's words.
    pub status: String,
    /// What it holds.
    pub holds: Quantities,
}

impl Pages<'_> {
    pub(super) fn node_detail_view(&self, name: &str) -> Result<NodeDetailView, Absent> {
        let cards = self.cards_view(Some(name))?;
        let node = self.find_node(name)?;
        let population = self.state.population();
        let tasks = self.state.nodes().tasks(node).iter().copied();
        let mut pods: Vec<(String, TaskIx)> = tasks
            .map(|task| (population.task_key(task), task))
            .collect();
        pods.sort_unstable();
        pods.truncate(MAX_ROWS);
        let pods = pods.into_iter().map(|(pod, ix)| {
            let task = self.state.task(ix);
            let job = task
                .job
                .filter(|job| self.state.job(*job).group().is_some());
            let mut holds = self.state.charges().charged(ix).into_owned();
            holds.set(PODS, 0);
            NodePod {
                pod,
                job: job.map(|job| population.job_key(job)),
                status: task.status.name().to_owned(),
                holds: self.asks(&holds, std::iter::once(ix)),
            }
        });
        Ok(NodeDetailView {
            node: self.node_view(node),
            cards,
            numa: self.numa_view(node),
            pods: pods.collect(),
            cycle: self.cycle,
        })
    }
}
