//! Follows the kinds of the controllers: which they are, what is kept of their objects, and how the thread that works is
//! told.
//!
//! Invariants:
//! * One channel for this and for the ends of writes, so that the answer of a write and the beginning of a list keep
//!   their order: what a write made is never taken for gone because a list was older.
//! * Of an object only what `read_object` keeps outlives its event.

use std::collections::BTreeSet;
use std::sync::Arc;

use pumice_cluster::api::raw::{Meta, ObjectKey, meta_of};
use pumice_cluster::follow::board::{Board, KindReporter, KindStatus};
use pumice_cluster::follow::{
    FollowLimits, FollowedKind, Heard, KindFollower, KindListener, Ledger, LedgerNews, ReadWay,
    Reading, ReceiverGone, of_field,
};
use pumice_controllers::runtime::{
    FOLLOWED, ManagedKind, ManagedRef, ManagerInput, Observed, read_object,
};
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tracing::warn;

/// Kinds without which nothing is done: what is missing of them would be made again.
const REQUIRED: [ManagedKind; 5] = [
    ManagedKind::Pod,
    ManagedKind::Job,
    ManagedKind::PodGroup,
    ManagedKind::Queue,
    ManagedKind::Command,
];

/// Starts to follow every kind; must be called within a tokio runtime.
pub fn watch(
    way: &ReadWay,
    limits: &FollowLimits,
    inputs: &Sender<ManagerInput>,
) -> ControllerWatch {
    let rows = FOLLOWED.iter().map(|kind| row(*kind).slot());
    let board = Arc::new(Board::new(rows));
    let mut tasks = JoinSet::new();
    for (at, kind) in FOLLOWED.iter().copied().enumerate() {
        let inputs = inputs.clone();
        let listener = ManagerListener { kind, inputs };
        let place = KindReporter::new(Arc::clone(&board), at);
        let (way, limits) = (way.clone(), limits.clone());
        tasks.spawn(KindFollower::new(row(kind), listener, way, limits, place).run());
    }
    ControllerWatch {
        board,
        _tasks: tasks,
    }
}

/// A running watch; dropping it ends it.
#[derive(Debug)]
pub struct ControllerWatch {
    board: Arc<Board>,
    _tasks: JoinSet<()>,
}

impl ControllerWatch {
    /// Where every kind stands, in a fixed order.
    pub fn kinds(&self) -> Vec<KindStatus> {
        self.board.kinds()
    }
}

/// What the follower of a kind must know.
fn row(kind: ManagedKind) -> FollowedKind {
    let path = kind.path();
    let required = REQUIRED.contains(&kind);
    FollowedKind {
        required,
        // Pods every API server has, of every other kind an older one may not know the version.
        may_be_absent: kind != ManagedKind::Pod,
        protects: required,
        ..FollowedKind::new(kind.label(), path.group, path.plural, kind.api_versions())
    }
}

/// Tells the thread that works of one kind.
struct ManagerListener {
    kind: ManagedKind,
    inputs: Sender<ManagerInput>,
}

impl KindListener for ManagerListener {
    /// `None` of an object that is there and cannot be read: what was known of it stays.
    type Change = Option<Observed>;

    fn read_json(&self, object: &RawValue) -> (Meta, Reading<Option<Observed>>) {
        let reading = match read_object(self.kind, object.get().as_bytes()) {
            Ok(Some(object)) => Reading::Keep(Some(object)),
            Ok(None) => Reading::Skip,
            Err(problem) => Reading::Doubtful(None, vec![of_field(problem)]),
        };
        (meta_of(object), reading)
    }

    async fn tell(&mut self, news: Vec<LedgerNews<Option<Observed>>>) -> Heard {
        for news in news {
            match news {
                LedgerNews::Change(Some(object)) => self.send(ManagerInput::Seen(object)).await?,
                LedgerNews::Change(None) => {}
                LedgerNews::Gone(key) => {
                    let of = self.reference(&key);
                    self.send(ManagerInput::Gone { of, uid: key.uid }).await?;
                }
                LedgerNews::Problems { key, problems, .. } => {
                    let object = self.reference(&key);
                    for problem in problems {
                        warn!("{object} is set aside, what was known of it stays: {problem}");
                    }
                }
            }
        }
        Ok(())
    }

    async fn list_begins(&mut self) -> Heard {
        self.send(ManagerInput::ListBegins(self.kind)).await
    }

    /// Tells what there is: an object that only a write has made known may be gone as well.
    async fn listed(&mut self, known: &Ledger) -> Heard {
        let kind = self.kind;
        let names = known.names();
        let there: BTreeSet<ManagedRef> = names
            .map(|(namespace, name)| ManagedRef::new(kind, namespace, name))
            .collect();
        self.send(ManagerInput::Listed { kind, there }).await
    }

    async fn synced(&mut self) -> Heard {
        self.send(ManagerInput::Synced).await
    }

    fn denial(&self, kind: &FollowedKind, _: &str, message: &str) -> String {
        let group = match kind.group {
            "" => "the core group",
            group => group,
        };
        format!(
            "{message}; grant list and watch on {} of {group}",
            kind.plural
        )
    }
}

impl ManagerListener {
    async fn send(&self, input: ManagerInput) -> Heard {
        self.inputs.send(input).await.map_err(|_| ReceiverGone)
    }

    fn reference(&self, key: &ObjectKey) -> ManagedRef {
        ManagedRef::new(self.kind, &key.namespace, &key.name)
    }
}

#[cfg(test)]
mod tests;
