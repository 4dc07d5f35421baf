//! Everything that talks to the API server; to who measures what nodes use; to extenders; and to a collector of traces.
//!
//! ```text
//!  follow ── the one follower of kinds ─┬─ watch: what the scheduler makes of them
//!                                       └─ config_map: texts of ConfigMaps
//!  effects ─ writes: lanes, gate, window, guards, events
//!  lease ─── terms
//!  api ───── one request, its answer, the pauses between tries; whoever is above asks by it
//!  client, contact ─ connections, and whether there is anybody at the other end
//! ```

pub mod access;
pub mod api;
pub mod client;
pub mod collector;
pub mod config_map;
pub mod contact;
pub mod effects;
pub mod extender;
pub mod follow;
pub mod hash_ring;
pub mod lease;
pub mod node_usage;
mod outside;
mod plugin_progress;
pub mod pods;
pub mod remote;
pub mod turns;
pub mod watch;

pub use plugin_progress::PluginProgress;
pub use pumice_model::write::ObjectRef;
