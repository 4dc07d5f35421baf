//! Water filling: the cluster divided by weight, bounded by request, ceiling and guarantee
//! (spec/02 §7.2).

use super::is_pods;
use crate::deserving::EPSILON;

/// Rounds after which the division is taken as it is. A round settles a queue or shrinks what is
/// left geometrically, so a real cluster needs a few dozen at most.
const MAX_ROUNDS: usize = 10_000;

/// One queue; amounts by resource index, all of the same length as the cluster total.
#[derive(Clone, Debug, Default)]
pub(super) struct QueueClaim {
    /// Share of the cluster that the queue may claim, relative to the others.
    pub weight: f64,
    /// What it holds and wants.
    pub request: Vec<f64>,
    /// Least it gets.
    pub guarantee: Vec<f64>,
    /// Most it gets.
    pub ceiling: Vec<f64>,
    /// The result.
    pub deserved: Vec<f64>,
}

/// Divides `total` among `claims`. The order of the claims decides about float rounding only.
pub(super) fn fill(total: &[f64], claims: &mut [QueueClaim]) {
    for claim in claims.iter_mut() {
        claim.deserved = vec![0.0; total.len()];
    }
    let mut remaining = total.to_vec();
    let mut met = vec![false; claims.len()];
    for _ in 0..MAX_ROUNDS {
        let open = claims.iter().zip(&met).filter(|(_, met)| !**met);
        let weights: f64 = open.map(|(claim, _)| claim.weight).sum();
        if weights == 0.0 {
            return;
        }
        let before = remaining.clone();
        let mut moved = vec![(0.0, 0.0); total.len()];
        for (claim, met) in claims.iter_mut().zip(&mut met).filter(|(_, met)| !**met) {
            *met = raise(claim, claim.weight / weights, total, &before, &mut moved);
        }
        for (left, (added, taken)) in remaining.iter_mut().zip(&moved) {
            *left = (*left + taken - added).max(0.0);
        }
        let is_empty = remaining
            .iter()
            .enumerate()
            .all(|(at, left)| *left < EPSILON || is_pods(at));
        if is_empty || remaining == before {
            return;
        }
    }
}

/// One queue in one round; whether it is settled. `moved` collects what was added and taken back.
fn raise(
    claim: &mut QueueClaim,
    part: f64,
    total: &[f64],
    remaining: &[f64],
    moved: &mut [(f64, f64)],
) -> bool {
    let (mut is_met, mut is_unchanged) = (true, true);
    for at in 0..total.len() {
        let before = claim.deserved[at];
        let mut deserved = before + remaining[at] * part;
        deserved = deserved
            .min(claim.ceiling[at])
            .min(claim.request[at])
            .max(claim.guarantee[at]);
        if total[at] == 0.0 {
            deserved = 0.0;
        }
        claim.deserved[at] = deserved;
        moved[at].0 += (deserved - before).max(0.0);
        moved[at].1 += (before - deserved).max(0.0);
        is_met &= claim.request[at] - deserved < EPSILON;
        is_unchanged &= deserved == before;
    }
    is_met || is_unchanged
}
