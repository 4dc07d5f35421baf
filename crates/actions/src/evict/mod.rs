//! Eviction: whom to evict so that a pod fits (spec/07).
//!
//! ```text
//!  preempt, reclaim ─ job in turn ─► turn: pods in order ─┬ fits without evictions   placed
//!                                                         └ VictimSearch::cheapest ─► node, victims ─► evicted, placed
//!                                      ready or pipelined? ─► prune ─► one plan;  otherwise everything is undone
//!
//!  VictimSearch:  Scope     candidates by node, cheapest first, for preemptors of a queue and priority
//!           NodeTable a class of preemptors: a lower bound of the cost of each node, in a heap
//!           sets      what a node really costs: plugins asked, sets tried in the transaction
//! ```
//!
//! The cheapest node is exact: a node is weighed only when its bound is the lowest, and weighed again when
//! something was evicted since.

mod admission;
mod candidates;
mod contested_cards;
mod cost;
mod foreign_pods;
mod gang;
mod node_table;
mod over;
mod prune;
mod search;
mod seniority;
mod turn;
mod victim_sets;

pub(crate) use admission::Displaceable;
pub use candidates::CheapestByQueue;
pub(crate) use candidates::running as running_candidates;
pub(crate) use gang::gang_turns;
pub(crate) use search::VictimSearch;
pub(crate) use turn::{EvictionKind, StarvingJobs, place_within_job, queue_turn};
