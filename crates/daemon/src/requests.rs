//! What others ask the deciding thread, and what it answers.

use pumice_conf::Config;
use pumice_engine::{Engine, Fork};
use pumice_model::Delta;
use serde::Serialize;
use tokio::sync::oneshot;

use crate::diag::DiagView;
use crate::shared_copy::TakenSnapshot;

/// What others ask the thread. Nothing that is decided changes by it.
pub enum DecideRequest {
    /// A copy of what people may ask.
    Snapshot(oneshot::Sender<Result<Box<TakenSnapshot>, NoView>>),
    /// A copy for plans.
    Fork(oneshot::Sender<Result<Box<CopiedGround>, NoView>>),
    /// The state.
    Dump(oneshot::Sender<DumpDocument>),
    /// Where the thread's time went; after that it is counted anew, if `reset`.
    Diag {
        /// Whether counting begins again.
        reset: bool,
        /// For the answer.
        reply: oneshot::Sender<DiagView>,
    },
}

/// There is nothing to show.
pub enum NoView {
    /// What was asked for does not exist: why.
    Absent(String),
    /// This replica does not know at the moment: why.
    NotNow(String),
    /// This replica stands by, so that it has decided nothing: a copy can tell what it would.
    StandsBy,
}

/// What an answer on a copy is made of.
pub struct CopiedGround {
    /// The cluster.
    pub fork: Fork,
    /// The configuration in use.
    pub config: Config,
    /// When it was copied, seconds since the epoch.
    pub now_s: i64,
    /// Set where the copy is not of a replica that decides.
    pub standby: Option<Standby>,
}

/// A replica that stands by.
pub struct Standby {
    /// Identity of the leader, if there is one.
    pub leader: Option<String>,
}

/// Every object as the engine knows it, what it has decided, and the text of the configuration in use
/// without its secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DumpDocument {
    api_version: &'static str,
    kind: &'static str,
    configuration: Option<String>,
    deltas: Vec<Delta>,
}

impl DumpDocument {
    /// What this engine has.
    pub fn of(engine: &Engine, configuration: Option<String>) -> Self {
        Self {
            api_version: "pumice.sh/v1",
            kind: "PumiceState",
            configuration,
            deltas: engine.state().dump(),
        }
    }
}
