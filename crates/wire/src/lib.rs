//! Kubernetes objects to their types: the one place where a wire type is deserialised.
//!
//! ```text
//!  a line of a watch ─┐
//!  an item of a page ─┤                      ┌─► the typed object
//!  an answer ─────────┼─► WireObject::read ──┤
//!  a manifest ────────┘                      └─► WireProblem: path of the field, what is wrong
//! ```
//!
//! Code that deserialises a type is made anew in every crate that asks for it, and for every kind of
//! input that it asks with. For types as large as a Pod this was a third of the programs and most of
//! their build time. So every reader hands the text of one object to [`WireObject::read`], whose
//! code is made here, once a kind.
//!
//! Pods and nodes, of which there are many, are also read from [`protobuf`].
//!
//! What no API server has accepted yet is held against the rules of one ([`rules`]).
//!
//! Invariant: this crate decides nothing and gives no field a meaning; that is `pumice-ingest`'s.

mod bound;
pub mod fields;
mod kinds;
mod object;
mod place;
mod problem;
pub mod protobuf;
pub mod rules;
mod workload_ref;

pub use object::WireObject;
pub use problem::WireProblem;
