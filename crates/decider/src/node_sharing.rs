//! Nodes that are shared with other schedulers by NodeShard objects (spec/01 §1.9): which are this one's, and
//! what the own NodeShard is to say.

use std::collections::BTreeSet;

use pumice_model::Delta;
use pumice_model::object::{NodeObject, Shard};
use pumice_model::shard::{ShardStatus, ShardView};
use pumice_model::write::Write;

use crate::options::Sharding;

/// What is known of the own shard.
pub struct NodeSharing {
    mode: Sharding,
    /// Nodes of the own shard, once known.
    own: Option<BTreeSet<String>>,
    /// What the own NodeShard shall say, until it is written.
    status: Option<ShardStatus>,
    /// What the own NodeShard was last made to say, written or not.
    told: Option<ShardStatus>,
}

/// What is to be said of the own shard, as another one is told of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ShardMemory {
    /// What was last told of the own shard was not written.
    is_due: bool,
}

impl NodeSharing {
    /// As another one is told of it that was told of the same shard.
    pub fn keep(&self) -> ShardMemory {
        ShardMemory {
            is_due: self.status.is_some(),
        }
    }

    /// What another one told of.
    pub fn restore(&mut self, told: ShardMemory) {
        self.status = self.told.clone().filter(|_| told.is_due);
    }

    /// Nothing is known yet.
    pub fn new(mode: Sharding) -> Self {
        Self {
            mode,
            own: None,
            status: None,
            told: None,
        }
    }

    /// How a node is used.
    pub fn of(&self, node: &str) -> Shard {
        let own = self.own.as_ref().is_some_and(|own| own.contains(node));
        match self.mode {
            Sharding::Hard if !own => Shard::Never,
            Sharding::Soft if !own => Shard::Later,
            _ => Shard::Own,
        }
    }

    /// The nodes of the own shard changed: what follows for those that are used otherwise now.
    pub fn follow(&mut self, view: ShardView, nodes: Vec<&NodeObject>) -> Vec<Delta> {
        self.own = Some(view.in_use);
        // Another replica may have the lease: written once this one decides.
        self.told.clone_from(&view.status);
        self.status = view.status;
        let mut moved = Vec::new();
        for node in nodes {
            let shard = self.of(&node.name);
            if node.shard != shard {
                let node = NodeObject {
                    shard,
                    ..node.clone()
                };
                moved.push(Delta::NodeApply(Box::new(node)));
            }
        }
        moved
    }

    /// What was written before may have been overwritten since.
    pub fn tell_again(&mut self) {
        if self.status.is_none() {
            self.status.clone_from(&self.told);
        }
    }

    /// Says which nodes this scheduler uses, once.
    pub fn take_write(&mut self) -> Option<Write> {
        let status = self.status.take()?;
        Some(Write::ShardStatus {
            name: status.name,
            nodes_in_use: status.nodes_in_use,
            nodes_to_remove: status.to_remove,
            nodes_to_add: status.to_add,
        })
    }
}
