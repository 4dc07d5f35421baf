//! Everything that talks to the API server: watches, effects, the lease.

pub mod effects;
pub mod lease;
mod object_ref;

pub use object_ref::ObjectRef;
