//! Domains of label keys.

use std::sync::Arc;

use pumice_model::State;
use pumice_model::domains::Domains;
use rustc_hash::{FxHashMap, FxHashSet};

/// Topology keys beyond which those no class uses are dropped.
const MAX_KEYS: usize = 256;

/// Domains of label keys: they depend on node labels alone, so all classes share them.
#[derive(Default)]
pub struct TopologyKeys {
    /// Label keys of all nodes, and the domains of any other key: none.
    on_nodes: Option<(FxHashSet<String>, Arc<Domains>)>,
    domains: FxHashMap<String, Arc<Domains>>,
}

impl TopologyKeys {
    /// Domains of a key.
    pub fn domains(&mut self, state: &State, key: &str) -> Arc<Domains> {
        if let Some(domains) = self.domains.get(key) {
            return domains.clone();
        }
        let (on_nodes, none) = self.on_nodes.get_or_insert_with(|| label_keys(state));
        if !on_nodes.contains(key) {
            return none.clone();
        }
        if self.domains.len() >= MAX_KEYS {
            self.domains.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let domains = Arc::new(Domains::of(state.nodes(), key));
        self.domains.insert(key.to_owned(), domains.clone());
        domains
    }
}

/// The label keys of all nodes, and the domains of a key that is not among them.
fn label_keys(state: &State) -> (FxHashSet<String>, Arc<Domains>) {
    let mut keys: FxHashSet<String> = FxHashSet::default();
    for node in state.nodes().indices() {
        for (key, _) in &state.nodes().object(node).labels {
            if !keys.contains(key) {
                keys.insert(key.clone());
            }
        }
    }
    (keys, Arc::new(Domains::none(state.nodes().len())))
}
