//! The comparison by which `overcommit`, `proportion` and `capacity` admit further jobs (spec/02 §4, §7, §10).

use pumice_framework::{Overrun, Overruns};
use pumice_model::resource::PODS;
use pumice_model::{ResIx, ResVec, State};

/// Whether `demand` stays within `limit` in every dimension of `request` except `pods`.
pub(crate) fn is_within(
    request: &ResVec,
    demand: impl Fn(ResIx) -> i64,
    limit: impl Fn(ResIx) -> f64,
) -> bool {
    request.iter().all(|(ix, amount)| {
        let counts = amount > 0 && ix != PODS;
        !counts || demand(ix) as f64 <= limit(ix)
    })
}

/// The resources in which `demand` is above `limit`, each as `overrun` tells it.
pub(crate) fn overruns(
    state: &State,
    request: &ResVec,
    demand: impl Fn(ResIx) -> i64,
    limit: impl Fn(ResIx) -> f64,
    overrun: impl Fn(ResIx) -> Overrun,
) -> Overruns {
    let asked = state.resources().in_order().iter();
    asked
        .filter(|ix| **ix != PODS && request.get(**ix) > 0)
        .filter(|ix| demand(**ix) as f64 > limit(**ix))
        .map(|ix| overrun(*ix))
        .collect()
}

/// What a queue would have taken with a job that wants so much, beside what it holds, less what it holds
/// beyond the minima of its jobs, and what its admitted jobs still reserve.
pub(crate) fn demand(wanted: i64, held: i64, inqueue: i64, elastic: i64) -> i64 {
    let taken = held.saturating_add(inqueue);
    wanted.saturating_add(taken).saturating_sub(elastic)
}

/// Value of one dimension; 0 beyond the end.
pub(crate) fn amount(amounts: &[f64], ix: ResIx) -> f64 {
    amounts.get(ix.0 as usize).copied().unwrap_or(0.0)
}
