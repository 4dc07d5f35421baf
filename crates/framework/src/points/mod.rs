//! The extension points: one small trait each, in a file that says who calls it, when, and how long
//! the answer is kept.
//!
//! | file | points | how far an answer reaches | kept |
//! |---|---|---|---|
//! | [`order`] | job, queue, task and sub-job order | – | not at all |
//! | [`vote`] | ready, pipelined, valid, starving | – | not at all |
//! | [`queue`] | admission, overused, allocatable | – | not at all |
//! | [`consent`] | whether a job may have turns, what an extender is to be asked | – | not at all |
//! | [`class`] | what classes of tasks are told apart by | the task | until the next task is asked for |
//! | [`filter`], [`score`] | *static*: the node object alone | a node | until nodes change, for all tasks with the same rules and signature |
//! | | *node*: the node's load | a node | until the node is touched |
//! | [`domain`] | filters by topology domain | a domain of label keys | until a node of the domain is touched |
//! | [`candidates`] | scores that compare candidates | all of them | not at all |
//! | [`ledger`] | what nodes have in ledgers of their own: cards | a node | until the node is touched |
//! | [`mod@mix`] | what tasks ask of cards | the cluster | until another answer is given |
//! | [`past_use`] | who used how much lately | – | not at all |
//! | [`user_room`] | whether users of a queue may have more | – | not at all |
//! | [`factors`] | what the place of a job is made of | – | not at all |
//! | [`network`] | scores of domains of the network | – | not at all |
//! | [`reserve`] | places that are kept for jobs that wait | – | for the cycle |
//! | [`victims`] | who may be evicted for whom, which queue may reclaim, from whom first, who goes for nobody | – | not at all |
//! | [`ends`] | whose time is over | – | not at all |
//! | [`estimates`] | how long pods may run of which nobody says it | – | not at all |
//! | [`report`] | numbers for reports | – | not at all |
//! | [`bind`] | what a Binding waits for | – | not at all |
//!
//! The placement kernel alone decides from the trait of an answer what it keeps and for how long: a
//! plugin never says so.
//!
//! # Who waits is not always asked again
//!
//! A job that got nothing sleeps until another try may bring something ([`crate::sleep`]). That it would
//! not is concluded from refusals that *last*: within a cycle, nothing that is placed or admitted turns
//! such a no into a yes. Traits that can refuse have a method `is_lasting`, which says no by default: then
//! whoever is refused is tried in every cycle. From one cycle to the next nothing is promised; the
//! question is put again before a job sleeps on. What changes with time is for [`crate::Plugin::wake_at_s`].
//!
//! To add a point: its trait here, its method in [`crate::Plugin`], and in [`crate::plugins`] its switch
//! and the method that asks it.

pub mod bind;
pub mod candidates;
pub mod class;
pub mod consent;
pub mod domain;
pub mod ends;
pub mod estimates;
pub mod factors;
pub mod filter;
pub mod ledger;
pub mod mix;
pub mod network;
pub mod order;
pub mod past_use;
pub mod queue;
pub mod report;
pub mod reserve;
pub mod score;
pub mod user_room;
pub mod victims;
pub mod vote;

pub use bind::BindSteps;
pub use candidates::{CandidateScore, CandidateScores};
pub use class::{Class, ClassKey, ClassSignature, Signature, StaticClass};
pub use consent::{ExtenderQuestions, JobConsent, NeededAnswer};
pub use domain::{
    Cell, ChangedDomains, CountedCluster, Counting, DomainFilter, DomainFilters, KeySet,
};
pub use ends::TimeLimits;
pub use estimates::{EstimatesRunTimes, RunTimeEstimate};
pub use factors::{FACTOR_PARTS, JobFactor, WeighsJobs};
pub use filter::{NodeFilter, NodeFilters};
pub use ledger::{LedgerCheck, Ledgers, ReasonDetail};
pub use mix::{KeepsMix, LeftOutTasks};
pub use network::{DomainScore, NetworkSettings, NodesRest, POINT};
pub use order::{JobOrder, MovedQueues, QueueBranches, QueueOrder, SubJobOrder, TaskOrder};
pub use past_use::{KeepsUse, PastUse, UserUse};
pub use queue::{Admission, Allocatable, Overused};
pub use report::{JobShares, QueueShare, QueueViews};
pub use reserve::KeepsPlaces;
pub use score::{NodeScore, NodeScores, Normalised, StaticPart};
pub use user_room::UserRoom;
pub use victims::{Purpose, QueueDistance, Reclaimer, VictimTasks, Victims, WhyKept};
pub use vote::{Invalid, JobPipelined, JobReady, JobStarving, JobValid};
