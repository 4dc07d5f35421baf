//! The cluster as dense tables.
//!
//! ```text
//!  Delta ──► State::apply ──► nodes (columns)  tasks  jobs  queues  shapes  who stands where
//!                               ▲
//!  a cycle's decisions ─────────┘ State::place, and back: exact inverses of each other
//! ```
//!
//! [`State`] is the only owner. It is updated in place; nothing ever copies the cluster. Every
//! amount is an exact integer in stored units (see [`resource`]). Identities are interned, and what
//! decides about a pod's placement is shared by all pods of one template (see [`shape`]).
//!
//! Invariant: this crate knows no Kubernetes wire type, no clock, no plugin.

pub mod claim;
pub mod delta;
pub mod device;
pub mod domains;
pub mod extender;
pub mod gang_tree;
pub mod group_name;
pub mod intern;
pub mod ix;
pub mod job;
mod job_unit;
mod kept;
pub mod lag;
mod named;
pub mod needs;
pub mod network;
pub mod node;
pub mod numa;
pub mod object;
pub mod queue;
pub mod resource;
pub mod run_time;
pub mod selector;
pub mod shape;
pub mod shard;
mod shared;
pub mod spare;
mod stale;
pub mod state;
pub mod task;
pub mod topology;
pub mod volume;
pub mod write;

pub use claim::{ClaimReturn, ClaimStep, ResourceClaims, ResourceNeed};
pub use delta::Delta;
pub use device::{DeviceNote, NoteAbout};
pub use intern::{Interner, Sym};
pub use ix::{
    AppearanceIx, CounterIx, DeviceRequestIx, DomainIx, JobId, JobIx, NeedIx, NodeIx, QueueIx,
    ResourceNeedIx, RulesIx, ShapeIx, TaskId, TaskIx,
};
pub use job::{Job, Origin, SubJob};
pub use job_unit::{JobUnit, UnitPart};
pub use kept::{KeptBefore, KeptTopic};
pub use network::{NetworkDomain, NetworkTree, TierProblem};
pub use node::{LoadMoment, Nodes};
pub use queue::Queue;
pub use resource::{MAX_AMOUNT, ResIx, ResVec, ResourceNames};
pub use shape::{Rules, Shape};
pub use spare::SparePods;
pub use state::{
    Applied, ChangeJournal, Ground, GroupChange, PartInPart, Placement, PodChange, Population,
    State, Supplies, SupplyPlan, TreeMember, note_placed_within, parts_bound_in_part, parts_within,
    settle_trees,
};
pub use task::{Task, TaskStatus};
pub use volume::{VolumeNeed, VolumeStep, Volumes};
