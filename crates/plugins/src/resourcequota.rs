//! Plugin `resourcequota`: admits a PodGroup only if its pods can be made within the ResourceQuotas of
//! its namespace (spec/02 §12).
//!
//! ```text
//!  status.used + what admitted groups still make pods for + what this one does ≤ status.hard
//! ```

use std::collections::BTreeMap;

use pumice_conf::PluginSpec;
use pumice_framework::points;
use pumice_framework::points::Admission;
use pumice_framework::{CycleInfo, Plugin, QuotaRefusal, QuotaShortage, Refusal, Step, Vote};
use pumice_model::resource::{Unit, unit_of};
use pumice_model::{Job, JobIx, State, Sym, Task, TaskIx, TaskStatus};
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "resourcequota",
    summary: "Admits jobs only within the ResourceQuota of their namespace.",
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry = PluginEntry::new(SPEC, |_, _| Box::new(ResourceQuota::default()));

/// Amounts in thousandths under the names that quotas use.
type QuotaAmounts = Vec<(String, i64)>;

/// The plugin.
#[derive(Clone, Default)]
pub struct ResourceQuota {
    /// What admitted jobs still make pods for, with their namespace.
    jobs: FxHashMap<JobIx, (Sym, QuotaAmounts)>,
    /// Sums of `jobs`, by namespace and name of the resource.
    promised: FxHashMap<Sym, BTreeMap<String, i128>>,
}

/// What of the `minResources` of a job its pods do not hold yet. Nothing once it has `minMember` pods, nor
/// of pods without PodGroup: who is there has been counted.
fn outstanding(state: &State, job: &Job) -> QuotaAmounts {
    let Some(group) = job.group().filter(|group| !group.quota_request.is_empty()) else {
        return QuotaAmounts::new();
    };
    let has_ended =
        |task: &&Task| matches!(task.status, TaskStatus::Succeeded | TaskStatus::Failed);
    let tasks = job.tasks.iter().copied();
    let live: Vec<TaskIx> = tasks.filter(|ix| !has_ended(&state.task(*ix))).collect();
    let count = i64::try_from(live.len()).unwrap_or(i64::MAX);
    let min = i64::from(job.min_available);
    if min <= count {
        return QuotaAmounts::new();
    }
    let rest = |(name, asked): &(String, i64)| {
        let held = match name.as_str() {
            "pods" | "count/pods" => count.saturating_mul(1000),
            // What pods may use at most is not known: each has its share.
            name if name.starts_with("limits.") => {
                let share = i128::from(*asked) * i128::from(count) / i128::from(min);
                i64::try_from(share).unwrap_or(i64::MAX)
            }
            name => held(state, &live, name.strip_prefix("requests.").unwrap_or(name)),
        };
        let rest = asked.saturating_sub(held);
        (rest > 0).then(|| (name.clone(), rest))
    };
    group.quota_request.iter().filter_map(rest).collect()
}

/// What pods request of a resource, in thousandths.
fn held(state: &State, tasks: &[TaskIx], resource: &str) -> i64 {
    let request = |task: &TaskIx| state.shape(*task).amount_of(state.resources(), resource);
    let sum = tasks.iter().map(request).fold(0, i64::saturating_add);
    match unit_of(resource) {
        Some(Unit::Whole) => sum.saturating_mul(1000),
        Some(Unit::Milli) | None => sum,
    }
}

impl ResourceQuota {
    /// Brings what is promised to a job in step.
    fn follow(&mut self, state: &State, ix: JobIx) {
        if let Some((namespace, amounts)) = self.jobs.remove(&ix) {
            self.shift(namespace, &amounts, -1);
        }
        let job = state.population().has_job(ix).then(|| state.job(ix));
        let Some(job) = job.filter(|job| !job.is_pending()) else {
            return;
        };
        let amounts = outstanding(state, job);
        if !amounts.is_empty() {
            let namespace = job.namespace;
            self.shift(namespace, &amounts, 1);
            self.jobs.insert(ix, (namespace, amounts));
        }
    }

    fn shift(&mut self, namespace: Sym, amounts: &QuotaAmounts, by: i128) {
        let sums = self.promised.entry(namespace).or_default();
        for (name, amount) in amounts {
            let sum = sums.entry(name.clone()).or_default();
            *sum += i128::from(*amount) * by;
            if *sum == 0 {
                sums.remove(name);
            }
        }
        if sums.is_empty() {
            self.promised.remove(&namespace);
        }
    }

    fn promised(&self, namespace: Sym, name: &str) -> i64 {
        let sum = self
            .promised
            .get(&namespace)
            .and_then(|sums| sums.get(name));
        sum.map_or(0, |sum| i64::try_from(*sum).unwrap_or(i64::MAX))
    }
}

impl Plugin for ResourceQuota {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_admission: Admission);

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        match &cycle.changed.jobs {
            Some(jobs) => jobs.iter().for_each(|ix| self.follow(state, *ix)),
            None => {
                self.jobs.clear();
                self.promised.clear();
                state
                    .population()
                    .jobs()
                    .for_each(|(ix, _)| self.follow(state, ix));
            }
        }
    }

    fn observe(&mut self, state: &State, step: Step) {
        if let Step::Admitted(job) = step {
            self.follow(state, job);
        }
    }
}

impl Admission for ResourceQuota {
    fn job_enqueueable(&self, state: &State, job: JobIx) -> (Vote, Option<Refusal>) {
        let namespace = state.job(job).namespace;
        let asked = outstanding(state, state.job(job));
        for quota in state
            .supplies()
            .allowances()
            .quotas(state.names().text(namespace))
        {
            // Which pods a scope means is known of pods only.
            if quota.is_scoped {
                continue;
            }
            let amount = |list: &QuotaAmounts, name: &str| {
                let found = list.iter().find(|(known, _)| known == name);
                found.map(|(_, amount)| *amount)
            };
            let shortage = |(name, asked): &(String, i64)| {
                let shortage = QuotaShortage {
                    name: name.clone(),
                    asked: *asked,
                    used: amount(&quota.used, name).unwrap_or(0),
                    promised: self.promised(namespace, name),
                    hard: amount(&quota.hard, name)?,
                };
                let parts = [shortage.asked, shortage.used, shortage.promised];
                let sum: i128 = parts.into_iter().map(i128::from).sum();
                (sum > i128::from(shortage.hard)).then_some(shortage)
            };
            let shortages: Vec<_> = asked.iter().filter_map(shortage).collect();
            if !shortages.is_empty() {
                let refusal = QuotaRefusal {
                    quota: quota.name.clone(),
                    shortages,
                };
                return (
                    Vote::Reject,
                    Some(Refusal::NamespaceQuota(Box::new(refusal))),
                );
            }
        }
        (Vote::Permit, None)
    }
}

#[cfg(test)]
mod tests;
