//! Several schedulers share one cluster by NodeShard objects (spec/01 §1.9).
//!
//! A scheduler uses the nodes its own shard desires, without those another shard still has in use.
//! What it uses it tells the others in the status of its shard.
//!
//! The watch tells what the shards are, the effects write the status.

use std::collections::{BTreeMap, BTreeSet};

/// What a NodeShard says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeShardView {
    /// Name of the NodeShard.
    pub name: String,
    /// `spec.nodesDesired`.
    pub desired: BTreeSet<String>,
    /// `status.nodesInUse`.
    pub in_use: BTreeSet<String>,
    /// `status.nodesToRemove`.
    pub to_remove: BTreeSet<String>,
    /// `status.nodesToAdd`.
    pub to_add: BTreeSet<String>,
}

/// Status the own NodeShard shall have.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShardStatus {
    /// Name of the NodeShard.
    pub name: String,
    /// `status.nodesInUse`, sorted.
    pub nodes_in_use: Vec<String>,
    /// `status.nodesToRemove`: in use, not desired, sorted.
    pub to_remove: Vec<String>,
    /// `status.nodesToAdd`: desired, not in use, sorted.
    pub to_add: Vec<String>,
}

/// What the own scheduler may use, and what it has to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShardView {
    /// Nodes in use by this scheduler.
    pub in_use: BTreeSet<String>,
    /// The status to write; `None` where the object already says so, or is missing.
    pub status: Option<ShardStatus>,
    /// There is no NodeShard with the own name: the last nodes are kept, at first none.
    pub missing: bool,
}

/// Nodes a scheduler uses: those it desires, without those any other shard has in use.
pub fn in_use<'a>(
    own: &NodeShardView,
    others: impl Iterator<Item = &'a NodeShardView>,
) -> BTreeSet<String> {
    let mut nodes = own.desired.clone();
    for node in others.flat_map(|other| &other.in_use) {
        nodes.remove(node);
    }
    nodes
}

/// The status that `own` shall have when these nodes are in use; `None` when it has it already.
pub fn status(own: &NodeShardView, in_use: &BTreeSet<String>) -> Option<ShardStatus> {
    let to_remove: BTreeSet<String> = in_use.difference(&own.desired).cloned().collect();
    let to_add: BTreeSet<String> = own.desired.difference(in_use).cloned().collect();
    let unchanged = (&own.in_use, &own.to_remove, &own.to_add) == (in_use, &to_remove, &to_add);
    (!unchanged).then(|| ShardStatus {
        name: own.name.clone(),
        nodes_in_use: in_use.iter().cloned().collect(),
        to_remove: to_remove.into_iter().collect(),
        to_add: to_add.into_iter().collect(),
    })
}

/// All shards, as last seen.
#[derive(Clone, Debug)]
pub struct Shards {
    own: String,
    known: BTreeMap<String, NodeShardView>,
    view: ShardView,
}

impl Shards {
    /// No shard known yet; `own` is the name of the own one (`--scheduler-sharding-name`).
    pub fn new(own: &str) -> Self {
        Self {
            own: own.to_owned(),
            known: BTreeMap::new(),
            view: ShardView::default(),
        }
    }

    /// A shard was added or changed.
    pub fn apply(&mut self, shard: NodeShardView) {
        self.known.insert(shard.name.clone(), shard);
    }

    /// A shard is gone.
    pub fn remove(&mut self, name: &str) {
        self.known.remove(name);
    }

    /// What follows from all shards, if it is new since the last call.
    pub fn changed(&mut self) -> Option<ShardView> {
        let view = match self.known.get(&self.own) {
            Some(own) => {
                let others = self.known.values().filter(|shard| shard.name != self.own);
                let in_use = in_use(own, others);
                let status = status(own, &in_use);
                ShardView {
                    in_use,
                    status,
                    missing: false,
                }
            }
            None => ShardView {
                in_use: self.view.in_use.clone(),
                status: None,
                missing: true,
            },
        };
        if view == self.view {
            return None;
        }
        self.view = view.clone();
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(nodes: &str) -> BTreeSet<String> {
        nodes.split_whitespace().map(str::to_owned).collect()
    }

    fn shard(name: &str, desired: &str, in_use: &str) -> NodeShardView {
        NodeShardView {
            name: name.to_owned(),
            desired: set(desired),
            in_use: set(in_use),
            ..NodeShardView::default()
        }
    }

    #[test]
    fn desired_nodes_are_used_unless_another_shard_still_uses_them() {
        let cases = [
            ("", "", "", ""),
            ("a b", "", "", "a b"),
            ("a b c", "b", "", "a c"),
            ("a b c", "b", "c d", "a"),
            ("a", "a", "a", ""),
        ];
        for (desired, first, second, expected) in cases {
            let own = shard("own", desired, "");
            let others = [shard("x", "a b c", first), shard("y", "", second)];
            assert_eq!(in_use(&own, others.iter()), set(expected), "{desired}");
        }
    }

    #[test]
    fn the_status_is_written_only_when_a_set_differs() {
        let own = shard("own", "a b", "a");
        let wanted = status(&own, &set("a")).unwrap();
        assert_eq!(wanted.to_add, ["b"]);
        assert!(wanted.to_remove.is_empty());
        let written = NodeShardView {
            to_add: set("b"),
            ..own
        };
        assert_eq!(status(&written, &set("a")), None);
    }

    #[test]
    fn a_node_used_but_no_longer_desired_is_to_remove() {
        let wanted = status(&shard("own", "a", "a b"), &set("a b")).unwrap();
        assert_eq!(wanted.to_remove, ["b"]);
        assert!(wanted.to_add.is_empty());
    }

    #[test]
    fn a_node_is_taken_over_once_the_other_scheduler_lets_go() {
        let mut shards = Shards::new("own");
        shards.apply(shard("own", "a b", ""));
        shards.apply(shard("other", "", "b"));
        let view = shards.changed().unwrap();
        assert_eq!((view.in_use, view.missing), (set("a"), false));
        shards.apply(shard("other", "", ""));
        let view = shards.changed().unwrap();
        assert_eq!(view.in_use, set("a b"));
        assert_eq!(view.status.unwrap().nodes_in_use, ["a", "b"]);
        shards.apply(shard("own", "a b", "a b"));
        let view = shards.changed().unwrap();
        assert_eq!((view.in_use, view.status), (set("a b"), None));
        assert_eq!(shards.changed(), None);
    }

    #[test]
    fn without_the_own_shard_the_last_nodes_are_kept() {
        let mut shards = Shards::new("own");
        shards.apply(shard("other", "a", "a"));
        let view = shards.changed().unwrap();
        assert_eq!((view.in_use, view.missing), (set(""), true));
        shards.apply(shard("own", "b", "b"));
        assert_eq!(shards.changed().unwrap().in_use, set("b"));
        shards.remove("own");
        let view = shards.changed().unwrap();
        assert_eq!((view.in_use, view.missing), (set("b"), true));
        assert_eq!(view.status, None);
    }
}
