//! Everything that talks to the API server: watches, effects, the lease.

mod object_ref;
pub mod ring;
pub mod shard;

pub use object_ref::ObjectRef;
