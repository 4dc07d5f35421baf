//! What follows in reclaim from what a queue deserves (spec/07 §4), for the plugins that say so.
//!
//! Amounts that others hold beyond what they deserve shrink with every reclaim, since who takes ends
//! within what it deserves; so reclaiming ends.

use pumice_framework::{Bound, Overrun, Overruns, Refusal};
use pumice_model::resource::PODS;
use pumice_model::{ResIx, ResVec, State};

use crate::capability::cluster_total;
use crate::proportion::EPSILON;

/// Whether a queue that holds so much would hold no more than it deserves with a request as well, of each
/// resource that is asked and that the deserved amounts name: `None` for others.
///
/// # Errors
/// What it does not deserve; everything that is asked if nothing of it is named.
pub(crate) fn deserves(
    state: &State,
    request: &ResVec,
    held: impl Fn(ResIx) -> i64,
    deserved: impl Fn(ResIx) -> Option<f64>,
) -> Result<(), Refusal> {
    let overrun = |resource: ResIx, limit: f64| Overrun {
        resource,
        above: None,
        bound: Bound::Deserved,
        limit: limit as i64,
        total: cluster_total(state, resource),
        used: held(resource),
        reserved: 0,
        asked: request.get(resource),
    };
    let resources = state.resources().in_order().iter().copied();
    let asked = resources.filter(|ix| *ix != PODS && request.get(*ix) > 0);
    let named = asked.clone().filter_map(|ix| Some((ix, deserved(ix)?)));
    let mut is_named = false;
    let mut overruns = Overruns::new();
    for (ix, limit) in named {
        is_named = true;
        if held(ix).saturating_add(request.get(ix)) as f64 - limit >= EPSILON {
            overruns.push(overrun(ix, limit));
        }
    }
    if is_named && overruns.is_empty() {
        return Ok(());
    }
    if !is_named {
        overruns = asked.map(|ix| overrun(ix, 0.0)).collect();
    }
    Err(Refusal::Quota(overruns))
}

/// The resources for which a pod could go: both ask them, and they are not `pods`.
pub(crate) fn common<'a>(
    request: &'a ResVec,
    preemptor: &'a ResVec,
) -> impl Iterator<Item = ResIx> + Clone + 'a {
    let asked = (0..request.as_slice().len()).map(|at| ResIx(at as u16));
    asked.filter(|ix| *ix != PODS && request.get(*ix) > 0 && preemptor.get(*ix) > 0)
}

/// Whether a queue holds more than it deserves of one of some resources.
pub(crate) fn exceeds(
    mut resources: impl Iterator<Item = ResIx>,
    held: impl Fn(ResIx) -> i64,
    deserved: impl Fn(ResIx) -> Option<f64>,
) -> bool {
    resources.any(|ix| deserved(ix).is_some_and(|deserved| held(ix) as f64 - deserved >= EPSILON))
}
