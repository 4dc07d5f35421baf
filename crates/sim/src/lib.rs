//! Manifests in, a simulated cluster, a report out: the same engine as in production, with a
//! virtual API server and kubelet around it.
//!
//! ```text
//!  YAML, JSON ─► reader ─► World (virtual API server) ─► Delta ─► Engine ─► Decisions
//!                            ▲                                                  │
//!                            └── controllers, kubelet ◄── binds, statuses ──────┘
//! ```
//!
//! * [`reader`]: any mix of manifests to typed objects; broken ones are set aside with their place.
//! * [`world`]: the objects as an API server would hold them.
//! * [`run`]: cycles until nothing changes, or a fixed number of them.
//! * [`device_plugin`]: the plugins that hand out devices, as their own code behaves.
//! * [`trace_run`]: the jobs of a trace as they come and go, in virtual time.
//! * [`report`]: what came of it, in the form the user tool prints.

pub mod decode;
pub mod device_plugin;
mod extender;
pub mod manifest;
pub mod problem;
pub mod reader;
pub mod report;
pub mod run;
pub mod settings;
mod task_mix;
pub mod trace_run;
mod wanted;
pub mod world;

pub use problem::InputProblem;
pub use report::Report;
pub use run::{Simulated, simulate, simulated};
pub use settings::{Mode, OwnShard, SimulationSettings};
pub use wanted::wanted;
