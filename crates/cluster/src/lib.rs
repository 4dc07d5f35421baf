//! Everything that talks to the API server: watches, effects, the lease.

pub mod effects;
pub mod lease;
mod object_ref;
#[cfg(test)]
mod scripted;

pub use object_ref::ObjectRef;
