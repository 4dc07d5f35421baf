//! Everything that talks to the API server: watches, effects, the lease.

pub mod client;
pub mod config_map;
pub mod contact;
pub mod effects;
pub mod lease;
mod object_ref;
pub mod remote;
pub mod ring;
#[cfg(test)]
mod scripted;
pub mod watch;

pub use object_ref::ObjectRef;
pub use pumice_controllers::shard;
