//! Labels of nodes in the place of HyperNodes (spec/08 §2.3).

use std::collections::BTreeMap;

use crate::node::Nodes;
use crate::object::{HyperNodeMembers, HyperNodeObject};
use crate::selector::pair;

/// The HyperNodes that labels with these keys stand for, lowest tier first: one for each value of a key, apart for
/// different values of the keys after it.
pub(super) fn hyper_nodes(keys: &[String], nodes: &Nodes) -> BTreeMap<String, HyperNodeObject> {
    let mut found: BTreeMap<String, HyperNodeObject> = BTreeMap::new();
    for node in nodes.indices() {
        let node = nodes.object(node);
        let values = keys.iter().map(|key| pair(&node.labels, key));
        let values: Vec<Option<&str>> = values.collect();
        for (at, key) in keys.iter().enumerate() {
            if values[at].is_none() {
                continue;
            }
            let path = values[at..].iter().rev().map(|value| value.unwrap_or(""));
            let name = format!("{key}={}", path.collect::<Vec<_>>().join("/"));
            let domain = found
                .entry(name)
                .or_insert_with_key(|name| HyperNodeObject {
                    name: name.clone(),
                    tier: at as i64 + 1,
                    tier_name: key.clone(),
                    ..HyperNodeObject::default()
                });
            domain
                .members
                .push(HyperNodeMembers::Node(node.name.clone()));
        }
    }
    found
}
