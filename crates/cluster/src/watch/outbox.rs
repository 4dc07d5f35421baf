//! What the scheduler makes of the objects of a kind, and how its receiver is told, in order.

use pumice_model::Delta;
use pumice_model::shard::Shards;
use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;
use tracing::{error, info};

use super::decode::ReadObject;
use super::kinds::WatchedKind;
use super::rules::WatchRules;
use super::wire::Change;
use super::{INSTALL_DEFINITIONS, NEEDED_DEFINITIONS, WatchInput};
use crate::ObjectRef;
use crate::api::raw::ObjectKey;
use crate::follow::{FollowedKind, Heard, KindListener, LedgerNews, ReceiverGone, Unreadable};
use crate::plugin_progress::PluginProgress;

/// The way of one kind to the receiver.
pub(super) struct Outbox {
    kind: WatchedKind,
    rules: WatchRules,
    inputs: Sender<WatchInput>,
    shards: Option<Shards>,
    progress: Option<PluginProgress>,
}

impl KindListener for Outbox {
    type Change = Change;

    fn read_json(&self, object: &RawValue) -> ReadObject {
        (self.kind.json)(object, &self.rules)
    }

    fn read_protobuf(&self, object: &[u8]) -> Result<ReadObject, Unreadable> {
        match self.kind.protobuf {
            Some(read) => read(object, &self.rules),
            None => Err("it came in protobuf, unasked".to_owned()),
        }
    }

    /// Sends all: the changes together, then the problems.
    async fn tell(&mut self, news: Vec<LedgerNews<Change>>) -> Heard {
        let mut deltas: Vec<Delta> = Vec::with_capacity(news.len());
        let mut problems = Vec::new();
        let mut shards_moved = false;
        for told in news {
            let change = match told {
                LedgerNews::Change(change) => change,
                LedgerNews::Gone(key) => (self.kind.gone)(key),
                LedgerNews::Problems {
                    key,
                    problems: list,
                    counts,
                } => {
                    problems.push(WatchInput::Problems {
                        about: self.about(key),
                        problems: list,
                        counts,
                    });
                    continue;
                }
            };
            match (change, &mut self.shards) {
                (Change::Engine(delta), _) => deltas.push(delta),
                (Change::Shard(shard), Some(shards)) => {
                    shards.apply(shard);
                    shards_moved = true;
                }
                (Change::ShardGone(name), Some(shards)) => {
                    shards.remove(&name);
                    shards_moved = true;
                }
                (Change::Shard(_) | Change::ShardGone(_), None) => {}
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

    async fn settles(&mut self) -> Heard {
        self.tell_shards().await
    }

    async fn synced(&mut self) -> Heard {
        self.send(WatchInput::Synced).await
    }

    fn denial(&self, kind: &FollowedKind, verb: &str, message: &str) -> String {
        let (group, plural) = (kind.group, kind.plural);
        let meanwhile = without(kind.name);
        format!(
            "no permission to {verb} {plural}{meanwhile}; add to the ClusterRole of the scheduler: \
             {{apiGroups: [{group:?}], resources: [{plural:?}], verbs: [\"list\", \"watch\"]}} \
             (the API server says: {message})"
        )
    }

    fn log_absence(&self, kind: &FollowedKind) {
        let (kind, api_version) = (kind.name, kind.api_version());
        match NEEDED_DEFINITIONS.contains(&kind) {
            true => error!(
                kind,
                api_version,
                "not installed, nothing in queues or groups is scheduled: {INSTALL_DEFINITIONS}"
            ),
            false => info!(
                kind,
                api_version, "not installed in this version; the feature is off until it is"
            ),
        }
    }
}

impl Outbox {
    /// Changes go to `inputs`; what they say about device plugins is noted in `progress` before.
    pub(super) fn new(
        kind: WatchedKind,
        rules: WatchRules,
        (inputs, progress): (Sender<WatchInput>, Option<PluginProgress>),
        own_shard: Option<&str>,
    ) -> Self {
        Self {
            kind,
            rules,
            inputs,
            shards: own_shard.map(Shards::new),
            progress,
        }
    }

    /// Tells which nodes are ours, if it is new; nothing for other kinds.
    async fn tell_shards(&mut self) -> Heard {
        match self.shards.as_mut().and_then(Shards::changed) {
            Some(view) => self.send(WatchInput::Shard(view)).await,
            None => Ok(()),
        }
    }

    /// Sends one input, waiting for room.
    async fn send(&self, input: WatchInput) -> Heard {
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

/// What those who rely on objects of a kind do not have while it is denied, where nothing else says so.
fn without(kind: &str) -> &'static str {
    match kind {
        "PodDisruptionBudget" => {
            ", so no budget is known: plugin pdb protects nobody, and with --eviction-method=auto pods are \
             deleted without asking budgets (eviction-api asks them)"
        }
        "PriorityClass" => ", so all PodGroups count as priority 0",
        "ResourceQuota" => ", so plugin resourcequota holds nobody back",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::super::{WatchOptions, kinds};
    use super::*;

    /// What is said when nobody may list, or watch, objects of a kind.
    fn denied(kind: &str, verb: &str) -> String {
        let options = WatchOptions::default();
        let kind = kinds::table(&options).find(|row| row.name == kind);
        let kind = kind.expect("a kind");
        let (inputs, _) = tokio::sync::mpsc::channel(1);
        let rules = WatchRules::new(&options);
        let outbox = Outbox::new(kind, rules, (inputs, None), None);
        outbox.denial(&kind.row(), verb, "no")
    }

    #[test]
    fn a_denial_names_the_rule_to_add() {
        for verb in ["list", "watch"] {
            let text = denied("ReplicaSet", verb);
            let rule =
                r#"{apiGroups: ["apps"], resources: ["replicasets"], verbs: ["list", "watch"]}"#;
            assert!(text.contains(rule), "{text}");
            assert!(
                text.starts_with(&format!("no permission to {verb} replicasets")),
                "{text}"
            );
        }
    }

    #[test]
    fn a_denial_of_budgets_says_that_nobody_is_protected() {
        let text = denied("PodDisruptionBudget", "list");
        for part in [
            "no permission to list poddisruptionbudgets, so no budget is known",
            "plugin pdb protects nobody",
            r#"{apiGroups: ["policy"], resources: ["poddisruptionbudgets"], verbs: ["list", "watch"]}"#,
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
