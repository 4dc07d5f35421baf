//! Plugin `overcommit`: limits how much may be admitted beyond the cluster's size (spec/02 §4).

use std::ops::BitOr;

use pumice_conf::{Arg, Arguments, PluginSpec};
use pumice_framework::points;
use pumice_framework::points::Admission;
use pumice_framework::{Bound, CycleInfo, Overrun, Plugin, Refusal, Step, Vote};
use pumice_model::{JobIx, ResIx, ResVec, State};

use crate::demand::{self, amount, is_within};
use crate::entry::PluginEntry;

const FACTOR: Arg<f64> = Arg::float(
    "overcommit-factor",
    1.2,
    "Size the cluster is taken to have, as a multiple of its real size.",
)
.min_or_default(1.0);

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "overcommit",
    summary: "Limits how many jobs are admitted compared with the size of the cluster.",
    args: &[FACTOR.spec()],
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |conf, _| Box::new(Overcommit::new(&conf.arguments)));

/// The plugin.
#[derive(Clone)]
pub struct Overcommit {
    factor: f64,
    /// Used, when the cycle opened.
    used: ResVec,
    /// Cluster total × factor − used, when the cycle opened.
    idle: Vec<f64>,
    /// What admitted jobs reserve.
    inqueue: ResVec,
}

impl Overcommit {
    /// The plugin with its arguments.
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            factor: FACTOR.read(arguments),
            used: ResVec::default(),
            idle: Vec::new(),
            inqueue: ResVec::default(),
        }
    }

    fn factor_in_thousandths(&self) -> u32 {
        (self.factor * 1000.0).round() as u32
    }
}

impl Plugin for Overcommit {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_admission: Admission);

    fn open(&mut self, state: &State, _cycle: &CycleInfo) {
        let all = (0..state.resources().len()).map(|at| ResIx(at as u16));
        self.used = ResVec::default();
        for ix in all.clone() {
            self.used.set(ix, used(state, ix));
        }
        let idle = |ix: ResIx| {
            state.nodes().cluster_total.get(ix) as f64 * self.factor - self.used.get(ix) as f64
        };
        self.idle = all.map(idle).collect();
        self.inqueue = state.population().queues().reserved().clamped();
    }

    fn observe(&mut self, state: &State, step: Step) {
        if let Step::Admitted(job) = step {
            self.inqueue.add_saturating(&state.job(job).reservation());
        }
    }
}

/// How much is in use. A node uses no more than it has: whoever may write `spec.nodeName` could put a pod there that
/// asks for more than the cluster.
fn used(state: &State, resource: ResIx) -> i64 {
    let (used, total) = (&state.nodes().used, &state.nodes().total);
    let used = used.column(resource).unwrap_or_default();
    let total = total.column(resource).unwrap_or_default();
    // Seldom is a node above what it has, or an amount below zero: then some sign below says so, and only then are
    // nodes compared one by one.
    let signs = |(used, total): (&i64, &i64)| used | total | total.wrapping_sub(*used);
    let is_plain = used.iter().zip(total).map(signs).fold(0, i64::bitor) >= 0;
    match is_plain && used.len() == total.len() {
        true => used.iter().sum(),
        false => used
            .iter()
            .zip(total)
            .map(|(used, total)| *used.min(total))
            .sum(),
    }
}

impl Admission for Overcommit {
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        let Some(wanted) = &state.job(job).min_resources else {
            return (Vote::Permit, None);
        };
        let demand = |ix| self.inqueue.get(ix).saturating_add(wanted.get(ix));
        let limit = |ix| amount(&self.idle, ix);
        if is_within(wanted, demand, limit) {
            return (Vote::Permit, None);
        }
        let overrun = |ix| Overrun {
            resource: ix,
            above: None,
            bound: Bound::Cluster,
            limit: state.nodes().cluster_total.get(ix),
            total: state.nodes().cluster_total.get(ix),
            used: self.used.get(ix),
            reserved: self.inqueue.get(ix),
            asked: wanted.get(ix),
        };
        let overruns = demand::overruns(state, wanted, demand, limit, overrun);
        let refusal = Refusal::Overcommit(overruns, self.factor_in_thousandths());
        (Vote::Reject, Some(refusal))
    }

    fn is_lasting(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
