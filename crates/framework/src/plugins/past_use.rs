//! Who knows who used how much, and who orders by it.

use pumice_model::{JobIx, State};

use super::{Member, Plugins};
use crate::plugin::CycleInfo;
use crate::points::{JobFactor, KeepsUse};

/// Who knows who used how much.
pub fn use_keeper(plugins: &Plugins) -> Option<&dyn KeepsUse> {
    let mut keepers = plugins.ask(&plugins.points.keeps_use, |x| x.as_keeps_use());
    keepers.next()
}

/// What the place of a job in its queue is made of, by the first plugin that orders by factors; `None` where none does.
pub fn job_factors(plugins: &Plugins, state: &State, job: JobIx) -> Option<Vec<JobFactor>> {
    let mut weighing = plugins.ask(&plugins.points.weighs_jobs, |x| x.as_weighs_jobs());
    weighing.next().map(|point| point.factors(state, job))
}

/// Whether jobs are ordered by factors.
pub fn orders_by_factors(plugins: &Plugins) -> bool {
    !plugins.points.weighs_jobs.is_empty()
}

/// Tells those who order jobs by factors what is known of past use.
pub(super) fn tell_of_use(plugins: &mut Plugins, state: &State, cycle: &CycleInfo) {
    if !orders_by_factors(plugins) {
        return;
    }
    let keeper = plugins.points.keeps_use.first().map(|(tier, at)| {
        let before = plugins.tiers.iter().take(*tier).map(Vec::len);
        before.sum::<usize>() + at
    });
    let mut all: Vec<&mut Member> = plugins.tiers.iter_mut().flatten().collect();
    let (before, rest) = all.split_at_mut(keeper.unwrap_or(0));
    let (keeper, after) = match keeper.and_then(|_| rest.split_first_mut()) {
        Some((keeper, after)) => (Some(&*keeper.plugin), after),
        None => (None, rest),
    };
    let used = keeper.and_then(|keeper| keeper.as_keeps_use());
    for member in before.iter_mut().chain(after) {
        if member.plugin.as_weighs_jobs().is_some() {
            member.plugin.hear(state, cycle, used);
        }
    }
}
