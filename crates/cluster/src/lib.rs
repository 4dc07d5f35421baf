//! Everything that talks to the API server: watches, effects, the lease; to who measures what nodes use; to
//! extenders; and to a collector of traces.

pub mod access;
pub mod api;
pub mod client;
pub mod collector;
pub mod config_map;
pub mod contact;
pub mod effects;
pub mod extender;
pub mod lease;
pub mod node_usage;
mod outside;
mod plugin_progress;
pub mod pods;
pub mod remote;
pub mod ring;
#[cfg(test)]
mod scripted;
pub mod turns;
pub mod watch;

pub use plugin_progress::PluginProgress;
pub use pumice_model::write::ObjectRef;
