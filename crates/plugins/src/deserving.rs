//! What follows in reclaim from what a queue deserves (spec/07 §4), for the plugins that say so.
//!
//! Amounts that others hold beyond what they deserve shrink with every reclaim, since who takes ends
//! within what it deserves; so reclaiming ends.

use std::borrow::Cow;

use pumice_framework::points::WhyKept;
use pumice_framework::{Bound, Overrun, Overruns, Refusal};
use pumice_model::resource::{PODS, is_of_device_class};
use pumice_model::{ResIx, ResVec, State};
use smallvec::SmallVec;

use crate::capability::cluster_total;

/// Amounts closer than this count as equal (spec/02 §0.1).
pub(crate) const EPSILON: f64 = 0.1;

/// Why reclaim leaves pods to a queue.
pub(crate) const QUEUE_DESERVES_IT: WhyKept = WhyKept::Said {
    one: "of a queue that holds no more than it deserves",
    many: "of queues that hold no more than they deserve",
};

/// What of a request its queue still deserves, and what it does not.
pub(crate) struct StillDeserved {
    /// Resources of which the queue holds no more than it deserves with the request as well: others go
    /// for them.
    pub still: SmallVec<[ResIx; 4]>,
    /// Resources of which the queue has what it deserves: nobody goes for them, so they have to be idle.
    pub over: Overruns,
}

/// What a queue that holds so much still deserves of a request. Of a resource that its own amounts do not
/// name it deserves nothing where those of another queue name it (`is_shared`); one that none names goes
/// with the others.
///
/// # Errors
/// What it does not deserve, if nothing is left that it does, or nobody can say what of it is idle;
/// everything that is asked if nothing of it is named.
pub(crate) fn deserves(
    state: &State,
    request: &ResVec,
    held: impl Fn(ResIx) -> i64,
    deserved: impl Fn(ResIx) -> Option<f64>,
    is_shared: impl Fn(ResIx) -> bool,
) -> Result<StillDeserved, Refusal> {
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
    if asked.clone().next().is_none() {
        return Err(Refusal::AsksNothing);
    }
    let (mut still, mut named, mut over) = (SmallVec::new(), Overruns::new(), Overruns::new());
    for ix in asked.clone() {
        match deserved(ix) {
            Some(limit) if held(ix).saturating_add(request.get(ix)) as f64 - limit < EPSILON => {
                still.push(ix);
            }
            Some(limit) => {
                named.push(overrun(ix, limit));
                over.push(overrun(ix, limit));
            }
            None if is_shared(ix) => over.push(overrun(ix, 0.0)),
            None => {}
        }
    }
    // Devices that are claimed are no resources of nodes.
    let of_class = |over: &Overrun| is_of_device_class(state.resources().name(over.resource));
    if !still.is_empty() && !over.iter().any(of_class) {
        return Ok(StillDeserved { still, over });
    }
    if named.is_empty() {
        named = match still.is_empty() {
            true => asked.map(|ix| overrun(ix, 0.0)).collect(),
            false => over,
        };
    }
    Err(Refusal::Quota(named))
}

/// What tasks ask together.
pub(crate) fn sum_of<'a>(mut requests: impl Iterator<Item = Cow<'a, ResVec>>) -> Cow<'a, ResVec> {
    let mut sum = requests.next().unwrap_or_default();
    requests.for_each(|request| sum.to_mut().add_saturating(&request));
    sum
}

/// The resources for which a pod could go: it asks them, and the preemptor's queue still deserves them.
pub(crate) fn common<'a>(
    request: &'a ResVec,
    still: &'a [ResIx],
) -> impl Iterator<Item = ResIx> + Clone + 'a {
    let still = still.iter().copied();
    still.filter(|ix| request.get(*ix) > 0)
}

/// Whether a queue holds more than it deserves of one of some resources.
pub(crate) fn exceeds(
    mut resources: impl Iterator<Item = ResIx>,
    held: impl Fn(ResIx) -> i64,
    deserved: impl Fn(ResIx) -> f64,
) -> bool {
    resources.any(|ix| held(ix) as f64 - deserved(ix) >= EPSILON)
}

/// All resources a request names, `pods` aside.
pub(crate) fn asked(request: &ResVec) -> SmallVec<[ResIx; 4]> {
    let asked = request.iter().filter(|(_, amount)| *amount > 0);
    let asked = asked.map(|(ix, _)| ix);
    asked.filter(|ix| *ix != PODS).collect()
}
