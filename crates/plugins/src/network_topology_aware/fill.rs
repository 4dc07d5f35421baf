//! How full a domain would be.

use crate::resource_weights::WeightedResource;

/// Weighted mean of (used + asked) / total, given as part, used, total; 0 where something does not fit, and
/// of nothing.
pub fn fill(parts: impl Iterator<Item = (WeightedResource, i64, i64)>) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (part, used, total) in parts {
        let wanted = used.saturating_add(part.request);
        if wanted > total {
            return 0.0;
        }
        let weight = part.weight as f64;
        sum += weight * (wanted as f64 / total as f64);
        weights += weight;
    }
    match weights > 0.0 {
        true => sum / weights,
        false => 0.0,
    }
}
