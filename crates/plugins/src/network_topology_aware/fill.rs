//! How full a domain would be.

use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{ResIx, ResVec, State};
use smallvec::SmallVec;

/// Weights of resources.
pub struct FillWeights {
    pub cpu: i64,
    pub memory: i64,
    /// Further ones, by name.
    pub listed: Vec<(String, i64)>,
}

/// A resource that counts, and how much of it is asked.
#[derive(Clone, Copy, Debug)]
pub struct FillPart {
    pub resource: ResIx,
    pub asked: i64,
    pub weight: f64,
}

impl FillWeights {
    /// Resources that count for a request.
    pub fn parts(&self, state: &State, asked: &ResVec) -> SmallVec<[FillPart; 4]> {
        let listed = self.listed.iter();
        let listed =
            listed.filter_map(|(name, weight)| Some((state.resources().get(name)?, *weight)));
        let all = [(CPU, self.cpu), (MEMORY, self.memory)].into_iter();
        let parts = all.chain(listed).map(|(resource, weight)| FillPart {
            resource,
            asked: asked.get(resource),
            weight: weight as f64,
        });
        let parts = parts.filter(|part| part.asked > 0 && part.weight > 0.0);
        parts.collect()
    }
}

/// Weighted mean of (used + asked) / total, given as part, used, total; 0 where something does not fit, and
/// of nothing.
pub fn fill(parts: impl Iterator<Item = (FillPart, i64, i64)>) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for (part, used, total) in parts {
        let wanted = used.saturating_add(part.asked);
        if wanted > total {
            return 0.0;
        }
        sum += part.weight * (wanted as f64 / total as f64);
        weights += part.weight;
    }
    match weights > 0.0 {
        true => sum / weights,
        false => 0.0,
    }
}
