//! Image locality: prefers nodes that have large images of the pod, the more so the more nodes have
//! them (spec/02 §8.7).
//!
//! How many nodes have an image is counted now, so equal nodes have equal scores (Volcano freezes
//! the number when it last saw the node).

use pumice_model::{Rules, State};
use rustc_hash::FxHashMap;

const MIB: i64 = 1 << 20;
/// Below this an image is not worth looking at.
const MIN_BYTES: i64 = 23 * MIB;
/// Per container, above this it does not matter how large an image is.
const MAX_BYTES_PER_CONTAINER: i64 = 1000 * MIB;

/// Adds the score of every node.
pub(super) fn add(state: &State, rules: &Rules, weight: i64, score: &mut [i64]) {
    // How often the pod uses the image, and how many nodes have it.
    let mut images: FxHashMap<&str, (i64, i64)> = FxHashMap::default();
    for image in &rules.images {
        images.entry(image).or_default().0 += 1;
    }
    if images.is_empty() {
        return;
    }
    for node in state.nodes().objects() {
        for (name, _) in &node.images {
            if let Some((_, nodes)) = images.get_mut(name.as_str()) {
                *nodes += 1;
            }
        }
    }
    let all_nodes = state.nodes().len() as f64;
    let max = MAX_BYTES_PER_CONTAINER * i64::from(rules.container_count.max(1));
    for (node, score) in state.nodes().objects().zip(score) {
        let mut bytes = 0i64;
        for (name, size) in &node.images {
            if let Some((uses, nodes)) = images.get(name.as_str()) {
                let spread = *nodes as f64 / all_nodes;
                let scaled = (*size as f64 * spread) as i64;
                bytes = bytes.saturating_add(scaled.saturating_mul(*uses));
            }
        }
        *score += weight * (100 * (bytes.clamp(MIN_BYTES, max) - MIN_BYTES) / (max - MIN_BYTES));
    }
}
