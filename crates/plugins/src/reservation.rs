//! The comparison by which `overcommit` and `proportion` admit further jobs (spec/02 §4, §7).

use pumice_framework::Refusal;
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

/// A refusal that names the resources in which `demand` is above `limit`: `<headline>: <word> cpu,
/// <word> memory`.
pub(crate) fn refusal(
    state: &State,
    (headline, word): (&str, &str),
    request: &ResVec,
    demand: impl Fn(ResIx) -> i64,
    limit: impl Fn(ResIx) -> f64,
) -> Refusal {
    let names: Vec<String> = state
        .resources
        .in_order()
        .iter()
        .filter(|ix| **ix != PODS && request.get(**ix) > 0)
        .filter(|ix| demand(**ix) as f64 > limit(**ix))
        .map(|ix| format!("{word} {}", state.resources.name(*ix)))
        .collect();
    Refusal {
        message: format!("{headline}: {}", names.join(", ")),
    }
}

/// Value of one dimension; 0 beyond the end.
pub(crate) fn amount(amounts: &[f64], ix: ResIx) -> f64 {
    amounts.get(ix.0 as usize).copied().unwrap_or(0.0)
}
