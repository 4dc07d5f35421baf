//! Plugin `cdp`: pods are not evicted within their cool-down after they got their node (spec/02 §18).

use std::collections::BTreeMap;

use pumice_conf::PluginSpec;
use pumice_framework::points;
use pumice_framework::points::victims::Purpose;
use pumice_framework::points::{Victims, WhyKept};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_framework::{CycleInfo, Plugin};
use pumice_model::selector::label;
use pumice_model::{JobIx, State, Task, TaskIx};
use pumice_units::duration::{parse_go_duration, seconds_up};
use rustc_hash::FxHashMap;

use crate::entry::PluginEntry;

/// Label, else annotation, of a pod with its cool-down, a Go duration.
const COOLDOWN_TIME: &str = "volcano.sh/cooldown-time";

/// What the configuration may say.
pub const SPEC: PluginSpec = PluginSpec {
    name: "cdp",
    summary: "Protects pods from eviction for a time after their start.",
    ..PluginSpec::PLAIN
};

/// Entry of the list of plugins.
pub const ENTRY: PluginEntry =
    PluginEntry::new(SPEC, |_, _| Box::new(Cdp::default())).reading(&[COOLDOWN_TIME]);

/// The plugin.
#[derive(Clone, Default)]
pub struct Cdp {
    now_s: i64,
    /// Jobs with pods that have a cool-down, and what is known of it.
    jobs: FxHashMap<JobIx, CoolJob>,
    /// How many cool-downs end when, in seconds since the epoch, those that are over left out.
    ends_s: BTreeMap<i64, u32>,
}

/// What is kept of a job.
#[derive(Clone, Default)]
struct CoolJob {
    /// When cool-downs of its pods end, as far as they had not ended when it was looked at.
    ends_s: Vec<i64>,
    /// The first of its pods, by name, whose cool-down cannot be read, and why.
    unreadable: Option<(Box<str>, String)>,
}

/// The text of a pod's cool-down.
fn text<'a>(state: &'a State, task: &'a Task) -> Option<&'a str> {
    let names = state.names();
    let key = names.get(COOLDOWN_TIME);
    let value = key.and_then(|key| label(&task.labels, key));
    let value = value.map(|value| names.text(value));
    value.or_else(|| task.annotation(COOLDOWN_TIME))
}

/// When the cool-down of a pod on a node ends, the first whole second in which it is over. A pod that
/// does not tell when it got its node got it after it was made.
fn end_s(task: &Task, cooldown_ns: i64) -> i64 {
    let since_s = task.scheduled_s.unwrap_or(task.created_s);
    since_s.saturating_add(seconds_up(cooldown_ns))
}

impl Cdp {
    /// The pod is within its cool-down.
    fn is_cooling(&self, state: &State, victim: TaskIx) -> bool {
        let task = state.task(victim);
        let cooldown = text(state, task).and_then(|text| parse_go_duration(text).ok());
        cooldown.is_some_and(|cooldown_ns| end_s(task, cooldown_ns) > self.now_s)
    }

    /// Those whose cool-down is over.
    fn cool(&self, state: &State, candidates: &[TaskIx]) -> Vec<TaskIx> {
        let cool = candidates.iter().copied();
        cool.filter(|victim| !self.is_cooling(state, *victim))
            .collect()
    }

    /// Brings what is kept of a job in step.
    fn follow(&mut self, state: &State, ix: JobIx) {
        if let Some(old) = self.jobs.remove(&ix) {
            for end_s in old.ends_s {
                self.forget_end(end_s);
            }
        }
        if !state.population().has_job(ix) {
            return;
        }
        let mut job = CoolJob::default();
        for task in state.job(ix).tasks.iter().map(|ix| state.task(*ix)) {
            let Some(text) = text(state, task) else {
                continue;
            };
            match parse_go_duration(text) {
                Ok(cooldown_ns) if task.node.is_some() => {
                    let end_s = end_s(task, cooldown_ns);
                    if end_s > self.now_s {
                        job.ends_s.push(end_s);
                    }
                }
                Ok(_) => {}
                Err(error) => {
                    let known = job.unreadable.as_ref().map(|(name, _)| name);
                    if known.is_none_or(|known| task.name < *known) {
                        let why = format!("`{text}` is no duration: {error}");
                        job.unreadable = Some((task.name.clone(), why));
                    }
                }
            }
        }
        for end_s in &job.ends_s {
            *self.ends_s.entry(*end_s).or_default() += 1;
        }
        if !job.ends_s.is_empty() || job.unreadable.is_some() {
            self.jobs.insert(ix, job);
        }
    }

    fn forget_end(&mut self, end_s: i64) {
        if let Some(count) = self.ends_s.get_mut(&end_s) {
            *count -= 1;
            if *count == 0 {
                self.ends_s.remove(&end_s);
            }
        }
    }
}

impl Plugin for Cdp {
    fn name(&self) -> &'static str {
        SPEC.name
    }

    points!(self; as_victims: Victims);

    fn open(&mut self, state: &State, cycle: &CycleInfo) {
        self.now_s = cycle.now_s;
        match &cycle.changed.jobs {
            Some(jobs) => jobs.iter().for_each(|ix| self.follow(state, *ix)),
            None => {
                self.jobs.clear();
                self.ends_s.clear();
                state
                    .population()
                    .jobs()
                    .for_each(|(ix, _)| self.follow(state, ix));
            }
        }
        self.ends_s = self.ends_s.split_off(&cycle.now_s.saturating_add(1));
    }

    fn wake_at_s(&self) -> Option<i64> {
        self.ends_s.keys().next().copied()
    }

    fn job_warning(&self, _: &State, job: JobIx) -> Option<String> {
        let (pod, why) = self.jobs.get(&job)?.unreadable.as_ref()?;
        Some(format!(
            "{COOLDOWN_TIME} of pod {pod} protects nothing: {why}; write a number with its unit, as in \
             `30s`, `5m` or `1h30m`"
        ))
    }
}

impl Victims for Cdp {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::Said {
            one: "within its cool-down",
            many: "within their cool-down",
        })
    }

    fn victims(
        &self,
        state: &State,
        _: Purpose,
        _: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        VictimAnswer::new(Weight::Protection, self.cool(state, candidates))
    }

    fn unprotected(&self, state: &State, candidates: &[TaskIx]) -> Option<Vec<TaskIx>> {
        Some(self.cool(state, candidates))
    }

    fn never(&self, state: &State, _: Purpose, _: TaskIx, candidate: TaskIx) -> Option<Weight> {
        self.is_cooling(state, candidate)
            .then_some(Weight::Protection)
    }
}

#[cfg(test)]
mod tests;
