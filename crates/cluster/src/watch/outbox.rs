//! From what the ledger tells to what the receiver gets, in order.

use pumice_model::Delta;
use tokio::sync::mpsc::Sender;

use super::WatchInput;
use super::kinds::{Change, WatchedKind};
use super::ledger::LedgerNews;
use crate::api::raw::ObjectKey;
use crate::{ObjectRef, PluginProgress};
use pumice_model::shard::Shards;

/// The receiver is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiverGone;

/// What is still to be sent of one kind.
pub(super) struct Outbox {
    kind: WatchedKind,
    inputs: Sender<WatchInput>,
    pub(super) waiting: Vec<LedgerNews>,
    shards: Option<Shards>,
    progress: Option<PluginProgress>,
}

impl Outbox {
    /// Changes go to `inputs`; what they say about device plugins is noted in `progress` before.
    pub(super) fn new(
        kind: WatchedKind,
        (inputs, progress): (Sender<WatchInput>, Option<PluginProgress>),
        own_shard: Option<&str>,
    ) -> Self {
        Self {
            kind,
            inputs,
            waiting: Vec::new(),
            shards: own_shard.map(Shards::new),
            progress,
        }
    }

    /// Sends all that waits: the changes together, then the problems.
    ///
    /// # Errors
    /// The receiver is gone.
    pub(super) async fn flush(&mut self) -> Result<(), ReceiverGone> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut deltas: Vec<Delta> = Vec::with_capacity(waiting.len());
        let mut problems = Vec::new();
        let mut shards_moved = false;
        for told in waiting {
            match (told, &mut self.shards) {
                (LedgerNews::Change(Change::Engine(delta)), _) => deltas.push(delta),
                (LedgerNews::Change(Change::Shard(shard)), Some(shards)) => {
                    shards.apply(shard);
                    shards_moved = true;
                }
                (LedgerNews::Change(Change::ShardGone(name)), Some(shards)) => {
                    shards.remove(&name);
                    shards_moved = true;
                }
                (LedgerNews::Change(_), None) => {}
                (
                    LedgerNews::Problems {
                        key,
                        problems: list,
                        counts,
                    },
                    _,
                ) => {
                    problems.push(WatchInput::Problems {
                        about: self.about(key),
                        problems: list,
                        counts,
                    });
                }
            }
        }
        if let Some(progress) = &self.progress {
            deltas.iter().for_each(|delta| progress.note(delta));
        }
        if !deltas.is_empty() {
            self.send(WatchInput::Deltas(deltas)).await?;
        }
        for input in problems {
            self.send(input).await?;
        }
        if shards_moved {
            self.tell_shards().await?;
        }
        Ok(())
    }

    /// Tells which nodes are ours, if it is new; nothing for other kinds.
    ///
    /// # Errors
    /// The receiver is gone.
    pub(super) async fn tell_shards(&mut self) -> Result<(), ReceiverGone> {
        match self.shards.as_mut().and_then(Shards::changed) {
            Some(view) => self.send(WatchInput::Shard(view)).await,
            None => Ok(()),
        }
    }

    /// Sends one input, waiting for room.
    ///
    /// # Errors
    /// The receiver is gone.
    pub(super) async fn send(&self, input: WatchInput) -> Result<(), ReceiverGone> {
        self.inputs.send(input).await.map_err(|_| ReceiverGone)
    }

    fn about(&self, key: ObjectKey) -> ObjectRef {
        ObjectRef {
            api_version: self.kind.api_version.to_owned(),
            kind: self.kind.kind.to_owned(),
            namespace: key.namespace,
            name: key.name,
            uid: key.uid,
        }
    }
}
