//! Contracts between the engine, the actions and the plugins.
//!
//! ```text
//!   actions ──ask──► PluginChain ──tier rules──► Plugin, Plugin, …      (search methods: &self)
//!      │                                            │ describe a class of tasks once:
//!      │                                            ▼ static part · node-local points · pod points
//!      └──place──► Session ──Txn ops──► State       (undo = the inverse ops, newest first)
//! ```
//!
//! * [`plugin`]: the one trait plugins implement, and which points they have.
//! * [`chain`]: the configured plugins in tiers, asked by the rules of [`tiers`].
//! * [`node_points`]: how plugins speak about nodes: for a whole class of tasks at a time.
//! * [`session`]: one cycle's transaction and its notes on every job.
//! * [`observer`]: who measures how long the parts of a cycle take.
//! * [`reason`]: why something does not fit, as data; text is made at the edge.
//! * [`refusal`]: why a queue or the cluster says no, likewise.
//! * [`work`]: how much of a cycle one job may take.

pub mod chain;
pub mod node_points;
pub mod observer;
pub mod plugin;
pub mod reason;
pub mod refusal;
pub mod session;
pub mod tiers;
pub mod work;

pub use chain::PluginChain;
pub use node_points::{Class, NodeFilter, NodeScore, PodPoints, StaticPart};
pub use observer::{Observer, Stage, Unobserved};
pub use plugin::{CycleInfo, Invalid, Plugin, Points};
pub use reason::{FitError, Reason, ReasonId, ReasonKind, ReasonTable, SetId};
pub use refusal::{Bound, Overrun, Overruns, Refusal};
pub use session::{JobNote, Session, Skip};
pub use tiers::Vote;
pub use work::Work;
