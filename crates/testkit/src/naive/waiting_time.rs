//! How long jobs may wait: plugin `sla` (spec/02 §13).

use std::cmp::Ordering;

use pumice_conf::PluginConf;
use pumice_units::duration::parse_go_duration;

use super::cycle::Cycle;
use super::state::label;

/// Nanoseconds from the creation of its PodGroup until the job has waited too long; none: for ever.
fn limit_ns(cycle: &Cycle, plugin: &PluginConf, job: &str) -> Option<i64> {
    let sensible = |text: &str| parse_go_duration(text).ok().filter(|limit| *limit > 0);
    let annotations = &cycle.world.jobs[job].group.annotations;
    let annotated = |key| label(annotations, key).and_then(sensible);
    annotated("volcano.sh/sla-waiting-time")
        .or_else(|| annotated("sla-waiting-time"))
        .or_else(|| plugin.arguments.str("sla-waiting-time").and_then(sensible))
}

/// When the job has waited too long, in nanoseconds.
fn deadline_ns(cycle: &Cycle, plugin: &PluginConf, job: &str) -> Option<i128> {
    let created_s = i128::from(cycle.world.jobs[job].group.created_s);
    let limit_ns = limit_ns(cycle, plugin, job)?;
    Some(created_s * 1_000_000_000 + i128::from(limit_ns))
}

/// Jobs with a limit first; of these the one whose time runs out first.
pub fn compare_jobs(cycle: &Cycle, plugin: &PluginConf, l: &str, r: &str) -> Ordering {
    let deadline = |job| deadline_ns(cycle, plugin, job);
    match (deadline(l), deadline(r)) {
        (Some(l), Some(r)) => l.cmp(&r),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// The vote for a job that has waited too long; no opinion on others.
pub fn vote(cycle: &Cycle, plugin: &PluginConf, job: &str) -> Option<bool> {
    let now_ns = i128::from(cycle.now_s) * 1_000_000_000;
    let is_late = deadline_ns(cycle, plugin, job).is_some_and(|at_ns| now_ns >= at_ns);
    is_late.then_some(true)
}
