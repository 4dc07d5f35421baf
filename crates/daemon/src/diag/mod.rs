//! Where the time of the deciding thread goes, for `/debug/diag`, in the manner of Slurm's `sdiag`.
//!
//! ```text
//!  DecideLoop, Stopwatch ─► DecidingTimes ─► DiagView ─► JSON, or text
//! ```
//!
//! The thread is always busy with exactly one [`Activity`], waiting among them, so that the times of all sum to
//! the time since counting began.

mod laps;
#[cfg(test)]
mod tests;
mod text;
mod view;

use std::collections::BTreeMap;
use std::time::Duration;

use pumice_engine::Decisions;

pub use laps::Activity;
use laps::{Activities, Lap};
pub use view::DiagView;

/// Namespaces of which it is told how much work they made; those that make less are told together.
const MAX_NAMESPACES: usize = 1000;

/// Under this name: no namespace has one like it.
const OTHERS: &str = "(others)";

/// What is counted since a moment.
pub struct DecidingTimes {
    activities: Activities,
    /// Cycles that had something to do, and those that had not.
    cycles: Lap,
    idle_cycles: Lap,
    /// Parts of cycles.
    open: Lap,
    close: Lap,
    actions: BTreeMap<String, Lap>,
    plugins: BTreeMap<String, Lap>,
    counts: DecidingCounts,
    namespaces: BTreeMap<String, u64>,
    /// Steps of selectors before counting began.
    selector_steps_before: u64,
}

/// How often something happened.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecidingCounts {
    /// Changes of the cluster taken in.
    pub changes: u64,
    /// Jobs tried, summed over cycles.
    pub jobs_tried: u64,
    /// Jobs that would have slept through what they got.
    pub jobs_missed: u64,
    /// Jobs admitted.
    pub jobs_admitted: u64,
    /// Pods placed.
    pub binds: u64,
    /// Pods evicted.
    pub evictions: u64,
    /// Cycles that were cut short since some job took its share of work.
    pub cycles_cut_short: u64,
}

/// A part of a cycle, as the engine's observer names them.
pub enum CyclePart<'a> {
    /// The session opens.
    Open,
    /// A plugin opens.
    Plugin(&'a str),
    /// The action of this name.
    Action(&'a str),
    /// Statuses of PodGroups.
    Close,
}

impl DecidingTimes {
    /// Counts from `now` on, a time since any moment.
    pub fn from(now: Duration) -> Self {
        Self {
            activities: Activities::from(now),
            cycles: Lap::default(),
            idle_cycles: Lap::default(),
            open: Lap::default(),
            close: Lap::default(),
            actions: BTreeMap::new(),
            plugins: BTreeMap::new(),
            counts: DecidingCounts::default(),
            namespaces: BTreeMap::new(),
            selector_steps_before: 0,
        }
    }

    /// Counts anew from `now` on.
    pub fn reset(&mut self, now: Duration, selector_steps: u64) {
        *self = Self {
            selector_steps_before: selector_steps,
            ..Self::from(now)
        };
    }

    /// The thread does something else from now on.
    pub fn begin(&mut self, activity: Activity, now: Duration) {
        self.activities.begin(activity, now);
    }

    /// Changes were taken in.
    pub fn changes(&mut self, count: usize) {
        self.counts.changes += count as u64;
    }

    /// A part of a cycle has ended.
    pub fn part(&mut self, part: CyclePart<'_>, took: Duration) {
        let lap = match part {
            CyclePart::Open => &mut self.open,
            CyclePart::Close => &mut self.close,
            CyclePart::Plugin(name) => of_name(&mut self.plugins, name),
            CyclePart::Action(name) => of_name(&mut self.actions, name),
        };
        lap.add(took);
    }

    /// A cycle has ended, and what was to be told of it was looked after in the rest of a step.
    pub fn cycle(&mut self, took: Duration, decisions: &Decisions, work: &BTreeMap<&str, u64>) {
        if decisions.skipped {
            return self.idle_cycles.add(took);
        }
        self.cycles.add(took);
        let counts = &mut self.counts;
        counts.jobs_tried += decisions.tried as u64;
        counts.jobs_missed += decisions.missed.len() as u64;
        counts.jobs_admitted += decisions.admitted.len() as u64;
        counts.binds += decisions.binds.len() as u64;
        counts.evictions += decisions.evictions.len() as u64;
        counts.cycles_cut_short += u64::from(decisions.postponed);
        for (namespace, units) in work {
            self.worked(namespace, *units);
        }
    }

    fn worked(&mut self, namespace: &str, units: u64) {
        if let Some(taken) = self.namespaces.get_mut(namespace) {
            *taken = taken.saturating_add(units);
            return;
        }
        if self.namespaces.len() >= MAX_NAMESPACES {
            self.forget_the_smaller_half();
        }
        self.namespaces.insert(namespace.to_owned(), units);
    }

    /// Namespaces come and go: those that made least are added up.
    fn forget_the_smaller_half(&mut self) {
        let mut all: Vec<(u64, String)> = std::mem::take(&mut self.namespaces)
            .into_iter()
            .map(|(name, units)| (units, name))
            .collect();
        all.sort_unstable();
        let rest = all.split_off(all.len() / 2);
        let others = all
            .into_iter()
            .fold(0_u64, |sum, (units, _)| sum.saturating_add(units));
        self.namespaces = rest
            .into_iter()
            .map(|(units, name)| (name, units))
            .collect();
        let told = self.namespaces.entry(OTHERS.to_owned()).or_default();
        *told = told.saturating_add(others);
    }
}

/// The lap of a name; names are those of the program's own lists.
fn of_name<'a>(laps: &'a mut BTreeMap<String, Lap>, name: &str) -> &'a mut Lap {
    if !laps.contains_key(name) {
        laps.insert(name.to_owned(), Lap::default());
    }
    laps.get_mut(name).expect("it was just made")
}
