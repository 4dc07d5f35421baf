//! Plugin `pdb`: no eviction breaks a PodDisruptionBudget (spec/02 §11).
//!
//! ```text
//!  status.disruptionsAllowed ─ evictions decided here that the status does not show ─► what is left
//!                                     ▲ Evicting · Restored
//!  an eviction counts until the budget changes after the pod's deletion was seen, or for two minutes
//! ```

use std::collections::BTreeMap;

use pumice_conf::PluginSpec;
use pumice_framework::points;
use pumice_framework::points::victims::Purpose;
use pumice_framework::points::{Victims, WhyKept};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{CycleInfo, Plugin, PluginMemory, RememberedObject, Step};
use pumice_model::state::KnownBudget;
use pumice_model::{State, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;

/// How long an eviction counts that no status ever shows: as long as the disruption controller waits for
/// the deletion of a pod.
const EXPECTED_S: i64 = 120;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "pdb",
    summary: "Protects pods covered by a PodDisruptionBudget from eviction.",
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |_, _| Box::new(Pdb::default()));

/// The plugin.
#[derive(Clone, Default)]
pub struct Pdb {
    now_s: i64,
    /// Evictions that statuses of budgets may not show yet, by UID of the pod.
    expected: BTreeMap<Box<str>, ExpectedEviction>,
}

/// An eviction that was decided.
#[derive(Clone)]
struct ExpectedEviction {
    namespace: String,
    pod: Box<str>,
    at_s: i64,
    /// Budgets that select the pod by name, each with its version when the deletion was seen.
    budgets: Vec<(String, Option<u64>)>,
}

/// The API server has taken the pod off what is allowed already.
fn is_counted(budget: &KnownBudget, pod: &str) -> bool {
    budget.object.disrupted.iter().any(|name| name == pod)
}

impl Pdb {
    /// How many more pods of a budget may go.
    fn left(&self, budget: &KnownBudget) -> i64 {
        let object = &budget.object;
        let counts = |eviction: &&ExpectedEviction| {
            eviction.namespace == object.namespace
                && !is_counted(budget, &eviction.pod)
                && eviction
                    .budgets
                    .iter()
                    .any(|(name, _)| *name == object.name)
        };
        let expected = self.expected.values().filter(counts).count();
        i64::from(object.allowed) - i64::try_from(expected).unwrap_or(i64::MAX)
    }

    /// Those that break no budget, in the order given.
    fn within_budgets(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let mut left: FxHashMap<(&str, &str), i64> = FxHashMap::default();
        let mut may_go = |victim: TaskIx| {
            let task = state.task(victim);
            let counting = state
                .supplies()
                .allowances()
                .budgets_of(state.names(), state.task(victim))
                .filter(|budget| !is_counted(budget, &task.name));
            let keys: Vec<_> = counting
                .map(|budget| {
                    let key = (
                        budget.object.namespace.as_str(),
                        budget.object.name.as_str(),
                    );
                    left.entry(key).or_insert_with(|| self.left(budget));
                    key
                })
                .collect();
            let is_free = keys
                .iter()
                .all(|key| left.get(key).is_some_and(|left| *left > 0));
            if is_free {
                for key in keys {
                    *left.entry(key).or_default() -= 1;
                }
            }
            is_free
        };
        let candidates = candidates.iter().copied();
        candidates.filter(|victim| may_go(*victim)).collect()
    }

    fn decided(&mut self, state: &State, victim: TaskIx) {
        let task = state.task(victim);
        let budgets: Vec<_> = state
            .supplies()
            .allowances()
            .budgets_of(state.names(), state.task(victim))
            .map(|budget| (budget.object.name.clone(), None))
            .collect();
        if budgets.is_empty() {
            return;
        }
        let eviction = ExpectedEviction {
            namespace: state.names().text(task.namespace).to_owned(),
            pod: task.name.clone(),
            at_s: self.now_s,
            budgets,
        };
        self.expected.insert(task.uid.clone(), eviction);
    }
}

impl ExpectedEviction {
    /// As one of another process is told of it, with each budget: when it was decided, and whether the deletion was seen.
    /// A budget that has moved on since counts it no more.
    fn told(&self, state: &State, uid: &str) -> Vec<RememberedObject> {
        let budgets = self.budgets.iter().filter(|(name, seen_at)| {
            let known = state.supplies().allowances().budget(&self.namespace, name);
            let version = known.map(|budget| budget.version);
            seen_at.is_none() || version == *seen_at
        });
        let told = budgets.map(|(name, seen_at)| RememberedObject {
            namespace: self.namespace.clone(),
            name: self.pod.to_string(),
            uid: uid.to_owned(),
            beside: Some(name.clone()),
            numbers: vec![Some(self.at_s), seen_at.map(|_| 1)],
        });
        told.collect()
    }

    /// Brings it in step with what is seen; false once no budget needs it any more.
    fn follow(&mut self, state: &State, uid: &str, now_s: i64) -> bool {
        let victim = state.population().task_by_uid(uid);
        if let Some(victim) = victim {
            let task = state.task(victim);
            let stays = matches!(task.status, TaskStatus::Running | TaskStatus::Bound);
            if stays && !task.deleting {
                // Taken back, or refused.
                return false;
            }
        }
        let is_seen =
            victim.is_none_or(|victim| state.population().evictions().before(victim).is_none());
        let namespace = &self.namespace;
        self.budgets.retain_mut(|(name, seen_at)| {
            let Some(budget) = state.supplies().allowances().budget(namespace, name) else {
                return false;
            };
            match *seen_at {
                Some(version) => version == budget.version,
                None => {
                    *seen_at = is_seen.then_some(budget.version);
                    true
                }
            }
        });
        !self.budgets.is_empty() && now_s.saturating_sub(self.at_s) < EXPECTED_S
    }
}

impl Plugin for Pdb {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_victims: Victims);

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.now_s = cycle.now_s;
        self.expected
            .retain(|uid, eviction| eviction.follow(state, uid, cycle.now_s));
    }

    fn observe(&mut self, state: &State, step: Step) {
        match step {
            Step::Evicting(victim) => self.decided(state, victim),
            Step::Restored(victim) => {
                self.expected.remove(&state.task(victim).uid);
            }
            Step::Placed(_) | Step::Leaving(_) | Step::Admitted(_) => {}
        }
    }

    fn keep(&self, state: &State) -> Option<PluginMemory> {
        let expected = self.expected.iter();
        let objects = expected.flat_map(|(uid, eviction)| eviction.told(state, uid));
        Some(PluginMemory {
            numbers: vec![Some(self.now_s)],
            objects: objects.collect(),
            ..PluginMemory::default()
        })
    }

    fn restore(&mut self, told: &PluginMemory, state: &State) {
        self.now_s = told.number(0).unwrap_or(self.now_s);
        for one in &told.objects {
            let Some(budget) = &one.beside else { continue };
            let eviction = self.expected.entry(one.uid.as_str().into());
            let eviction = eviction.or_insert_with(|| ExpectedEviction {
                namespace: one.namespace.clone(),
                pod: one.name.as_str().into(),
                at_s: one.number(0).unwrap_or(self.now_s),
                budgets: Vec::new(),
            });
            let known = state.supplies().allowances().budget(&one.namespace, budget);
            let seen_at = known.filter(|_| one.number(1).is_some());
            let seen_at = seen_at.map(|budget| budget.version);
            eviction.budgets.push((budget.clone(), seen_at));
        }
    }

    fn wake_at_s(&self) -> Option<i64> {
        let first = self.expected.values().map(|eviction| eviction.at_s).min()?;
        Some(first.saturating_add(EXPECTED_S).max(self.now_s + 1))
    }
}

impl Victims for Pdb {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::ByBudget)
    }

    fn victims(
        &self,
        state: &State,
        _: Purpose,
        _: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        VictimAnswer::new(Weight::Veto, self.within_budgets(state, candidates))
    }

    fn unprotected(&self, state: &State, candidates: &[TaskIx]) -> Option<Vec<TaskIx>> {
        Some(self.within_budgets(state, candidates))
    }
}

#[cfg(test)]
mod tests;
