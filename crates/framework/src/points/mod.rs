//! The extension points: one small trait each, in a file that says who calls it, when, and how long
//! the answer is kept.
//!
//! | file | points | how far an answer reaches | kept |
//! |---|---|---|---|
//! | [`order`] | job, queue, task and sub-job order | – | not at all |
//! | [`vote`] | ready, pipelined, valid, starving | – | not at all |
//! | [`queue`] | admission, overused, allocatable | – | not at all |
//! | [`class`] | what classes of tasks are told apart by | the task | until the next task is asked for |
//! | [`filter`], [`score`] | *static*: the node object alone | a node | until nodes change, for all tasks with the same rules and signature |
//! | | *node*: the node's load | a node | until the node is touched |
//! | [`domain`] | filters by topology domain | a domain of label keys | until a node of the domain is touched |
//! | [`candidates`] | scores that compare candidates | all of them | not at all |
//! | [`ledger`] | what nodes have in ledgers of their own: cards | a node | until the node is touched |
//! | [`victims`] | who may be evicted for whom | – | not at all |
//! | [`report`] | numbers for reports | – | not at all |
//! | [`bind`] | what a Binding waits for | – | not at all |
//!
//! The placement kernel alone decides from the trait of an answer what it keeps and for how long: a
//! plugin never says so. To add a point: its trait here, its field in [`Extensions`], and in
//! [`crate::plugins`] its switch and the method that asks it.

pub mod bind;
pub mod candidates;
pub mod class;
pub mod domain;
pub mod filter;
pub mod ledger;
pub mod order;
pub mod queue;
pub mod report;
pub mod score;
pub mod victims;
pub mod vote;

pub use bind::BindSteps;
pub use candidates::{CandidateScore, CandidateScores};
pub use class::{Class, ClassKey, ClassSignature, Signature, StaticClass};
pub use domain::{Cell, ChangedDomains, Counting, DomainFilter, DomainFilters, KeySet};
pub use filter::{NodeFilter, NodeFilters};
pub use ledger::{LedgerCheck, Ledgers, ReasonDetail};
pub use order::{JobOrder, QueueOrder, SubJobOrder, TaskOrder};
pub use queue::{Admission, Allocatable, Overused};
pub use report::{JobShares, QueueShare, QueueViews};
pub use score::{NodeScore, NodeScores, Normalised, StaticPart};
pub use victims::Victims;
pub use vote::{Invalid, JobPipelined, JobReady, JobStarving, JobValid};

/// The points a plugin has. A point it does not have is not asked, which matters for votes and for
/// points whose default depends on whether anybody answers.
#[derive(Clone, Copy, Default)]
pub struct Extensions<'a> {
    /// Order of jobs within a queue.
    pub job_order: Option<&'a dyn JobOrder>,
    /// Order of queues.
    pub queue_order: Option<&'a dyn QueueOrder>,
    /// Order of the tasks of a job.
    pub task_order: Option<&'a dyn TaskOrder>,
    /// Order of the sub-jobs of a job.
    pub sub_job_order: Option<&'a dyn SubJobOrder>,
    /// When a job may be committed.
    pub job_ready: Option<&'a dyn JobReady>,
    /// When placements of a job that is not ready may stand.
    pub job_pipelined: Option<&'a dyn JobPipelined>,
    /// Whether a job can be scheduled at all.
    pub job_valid: Option<&'a dyn JobValid>,
    /// Whether a job is entitled to more.
    pub job_starving: Option<&'a dyn JobStarving>,
    /// Whether a job may be admitted.
    pub admission: Option<&'a dyn Admission>,
    /// Whether a queue has all it deserves.
    pub overused: Option<&'a dyn Overused>,
    /// Whether a queue may take a task.
    pub allocatable: Option<&'a dyn Allocatable>,
    /// What classes are told apart by, besides what the model knows.
    pub class_signature: Option<&'a dyn ClassSignature>,
    /// Filters on one node.
    pub node_filters: Option<&'a dyn NodeFilters>,
    /// Scores of one node.
    pub node_scores: Option<&'a dyn NodeScores>,
    /// Filters by topology domain.
    pub domain_filters: Option<&'a dyn DomainFilters>,
    /// Scores that compare candidates.
    pub candidate_scores: Option<&'a dyn CandidateScores>,
    /// What nodes have in ledgers.
    pub ledgers: Option<&'a dyn Ledgers>,
    /// Who may be evicted.
    pub victims: Option<&'a dyn Victims>,
    /// What a Binding waits for.
    pub bind_steps: Option<&'a dyn BindSteps>,
    /// What a queue deserves, for reports.
    pub queue_views: Option<&'a dyn QueueViews>,
    /// Shares of jobs, for reports.
    pub job_shares: Option<&'a dyn JobShares>,
}
