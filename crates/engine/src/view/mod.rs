//! What the engine knows, as data for people who ask: why a pod, a job or a queue waits, its place
//! in the queue, what would have to change; queues, nodes and cards at a glance.
//!
//! ```text
//!  Ask ──► find (or Absent, with near names) ──► View: strings and numbers, no index of ours
//!             place:  JobOrder among the waiting jobs of the queue
//!             remedy: notes of the last cycle, as what would have to change
//! ```
//!
//! A view is made when somebody asks, on the thread that decides, so each has a bound: a look at
//! every job and pod once, texts for at most the first [`MAX_ROWS`] of anything. What is left out is
//! counted.

mod advice;
mod asks;
mod card_sums;
mod cards;
mod estimates;
mod factors;
mod find;
mod held_cards;
mod job;
mod jobs;
mod leaves;
mod mix;
mod node_detail;
mod node_map;
mod numa;
mod pages;
mod past_use;
mod place;
mod planned;
mod pod;
mod queues;
mod reach;
mod remedies;
mod room;
mod shape;
mod timeline;
mod top;
mod topology;

use pumice_model::JobIx;
pub use pumice_model::network::CLUSTER;
use serde::{Deserialize, Serialize};

pub use card_sums::FamilySums;
pub use cards::{CardAmount, CardPod, CardView, CardsView, FreePart};
pub use estimates::run_time_estimate;
pub use factors::{FactorView, FactorsView, JobFactorsRow, JobFactorsView, in_hundredths};
pub use find::{Absent, short_group};
pub use held_cards::FreedCards;
pub use job::{JobView, SameReason};
pub use jobs::{JobsAsk, JobsShown, JobsView, ListedJob, MAX_JOBS};
pub use leaves::NodeLeaves;
pub use mix::{LeftOutView, MixClassView, MixView, NoRoom};
pub use node_detail::{NodeDetailView, NodePod};
pub use node_map::{MAX_CELLS, NodeCell, NodeMapView};
pub use numa::{NumaNodeView, NumaView};
pub(crate) use past_use::past_use_hours;
pub use past_use::{JobUseView, PastUseView, QueueUseView, UserUseView};
pub use place::{Place, WaitingJob, WaitingView};
pub use planned::{PlannedStart, planned_starts};
pub use pod::{JobOfPod, PodView};
pub use queues::{QueueView, QueuesView};
pub use shape::{Quantities, Time};
pub use timeline::StretchView;
pub(crate) use timeline::{note_stretch, told_of_waiting};
pub use top::{ClusterView, LastHour, NodeView, TopView, Usage};
pub use topology::{
    DomainRoom, DomainSource, DomainView, EnoughRoom, FreeAmount, MAX_DOMAINS, RoomFor, TierView,
    TopologyAsk, TopologyView,
};

pub use crate::follow_up::stretches::StretchKind;
use crate::knowledge::Knowledge;
pub use crate::waiting::WaitKind;
pub use crate::wasted::FreeCardsView;

/// Most rows of one kind in a view: more than anybody reads, few enough to be made at once.
pub const MAX_ROWS: usize = 500;

/// Waiting jobs told of one queue, and of the cluster.
pub const MAX_WAITING: usize = 20;

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// One pod.
    Pod {
        /// Namespace of the object that is asked about.
        namespace: String,
        /// Name of the object that is asked about.
        name: String,
    },
    /// One job: a PodGroup, or the workload it belongs to, or a pod without PodGroup.
    Job {
        /// Namespace of the object that is asked about.
        namespace: String,
        /// Name of the object that is asked about.
        name: String,
    },
    /// One queue and the first jobs that wait in it.
    Queue(String),
    /// All queues.
    Queues,
    /// Cards of all nodes, or of one.
    Cards(Option<String>),
    /// The cluster, its queues, nodes and the first waiting jobs.
    Top,
    /// What tasks ask of cards, and which free cards are of use to none.
    Mix,
    /// The first waiting jobs.
    Waiting,
    /// A list of jobs.
    Jobs(JobsAsk),
    /// All nodes, each in few words.
    Nodes,
    /// One node and the pods on it.
    Node(String),
    /// Domains of the network.
    Topology(TopologyAsk),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum View {
    /// To [`Ask::Pod`].
    Pod(Box<PodView>),
    /// To [`Ask::Job`].
    Job(Box<JobView>),
    /// To [`Ask::Queue`].
    Queue(Box<QueueView>),
    /// To [`Ask::Queues`].
    Queues(QueuesView),
    /// To [`Ask::Cards`].
    Cards(CardsView),
    /// To [`Ask::Top`].
    Top(Box<TopView>),
    /// To [`Ask::Mix`].
    Mix(MixView),
    /// To [`Ask::Waiting`].
    Waiting(WaitingView),
    /// To [`Ask::Jobs`].
    Jobs(JobsView),
    /// To [`Ask::Nodes`].
    Nodes(NodeMapView),
    /// To [`Ask::Node`].
    Node(Box<NodeDetailView>),
    /// To [`Ask::Topology`].
    Topology(TopologyView),
}

impl View {
    /// What a copy that has run a cycle of its own would tell of its past is not what happened.
    pub fn leave_out_past(&mut self) {
        match self {
            Self::Top(view) => view.cluster.last_hour = None,
            Self::Job(view) => {
                view.timeline.clear();
                view.stretches_dropped = 0;
            }
            _ => {}
        }
    }

    /// Where the cluster is told of at a glance: what is wrong with the newest configuration, which is not in
    /// use.
    pub fn set_configuration_problem(&mut self, problem: Option<String>) {
        match self {
            Self::Top(view) => view.configuration = problem,
            Self::Queues(view) => view.configuration = problem,
            _ => {}
        }
    }
}

impl Knowledge<'_> {
    /// The job that people mean by a name: a PodGroup, the PodGroup of a workload, or a pod without one.
    ///
    /// # Errors
    /// There is none; with near names.
    pub fn find_job(&self, namespace: &str, name: &str) -> Result<JobIx, Absent> {
        self.pages().find_job(namespace, name)
    }

    /// Answers as of the last cycle.
    ///
    /// # Errors
    /// What is asked for is not known here.
    pub fn view(&self, ask: &Ask) -> Result<View, Absent> {
        Ok(match ask {
            Ask::Pod { namespace, name } => {
                View::Pod(Box::new(self.pages().pod_view(namespace, name)?))
            }
            Ask::Job { namespace, name } => {
                View::Job(Box::new(self.pages().job_view(namespace, name)?))
            }
            Ask::Queue(name) => View::Queue(Box::new(self.pages().queue_view_of(name)?)),
            Ask::Queues => View::Queues(self.pages().queues_view()),
            Ask::Cards(node) => View::Cards(self.pages().cards_view(node.as_deref())?),
            Ask::Top => View::Top(Box::new(self.pages().top_view())),
            Ask::Mix => View::Mix(self.pages().mix_view()),
            Ask::Waiting => View::Waiting(self.pages().waiting_view()),
            Ask::Jobs(of) => View::Jobs(self.pages().jobs_view(of)),
            Ask::Nodes => View::Nodes(self.pages().node_map_view()),
            Ask::Node(name) => View::Node(Box::new(self.pages().node_detail_view(name)?)),
            Ask::Topology(of) => View::Topology(self.pages().domains().topology_view(of)?),
        })
    }
}
