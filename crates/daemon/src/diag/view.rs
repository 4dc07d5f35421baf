//! What the page tells.

use std::time::Duration;

use pumice_engine::Engine;
use serde::Serialize;

use super::laps::Lap;
use super::{DecidingCounts, DecidingTimes};
use pumice_process::rfc3339;

/// Namespaces told of, those that made most work first.
const MAX_TOLD: usize = 50;

/// Where time went since counting began.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagView {
    /// Since when it is counted, as RFC 3339 writes it.
    pub since: String,
    /// How long that is.
    pub seconds: f64,
    /// What the thread did; the seconds of all sum to `seconds`.
    pub thread: Vec<TimesRow>,
    /// Cycles that had something to do, and those that had not: a part of the thread's `steps`.
    pub cycles: Vec<TimesRow>,
    /// Parts of cycles: how a session opens (with plugins in it), each action, the statuses at the end.
    pub parts: Vec<TimesRow>,
    /// How long each plugin took while sessions opened.
    pub plugins: Vec<TimesRow>,
    /// What happened.
    pub counts: DecidingCounts,
    /// How things stand.
    pub now: DiagNow,
    /// Work of namespaces, those with most of it first.
    pub namespaces: Vec<NamespaceWork>,
}

/// Times of one thing.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TimesRow {
    /// What.
    pub name: String,
    /// How often.
    pub count: u64,
    /// All together.
    pub seconds: f64,
    /// Percent of the whole time.
    pub percent: f64,
    /// The last time, in milliseconds.
    pub last_ms: f64,
    /// On the average.
    pub mean_ms: f64,
    /// Milliseconds that the longest of them took.
    pub longest_ms: f64,
}

/// How things stand at this moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiagNow {
    /// Jobs known.
    pub jobs: usize,
    /// Those that sleep, since they would get nothing.
    pub jobs_asleep: usize,
    /// Pods known.
    pub pods: usize,
    /// Nodes known.
    pub nodes: usize,
    /// Bindings under way.
    pub bindings: usize,
    /// Steps that selectors of devices took since counting began.
    pub selector_steps: u64,
    /// Selectors that are still to be asked about devices.
    pub selectors_pending: usize,
}

/// Work that the jobs of a namespace made.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NamespaceWork {
    /// Name.
    pub namespace: String,
    /// In units of about one look at one node.
    pub work: u64,
    /// Percent of all work.
    pub percent: f64,
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn percent(part: f64, whole: f64) -> f64 {
    if whole > 0.0 {
        part / whole * 100.0
    } else {
        0.0
    }
}

impl DecidingTimes {
    /// As things stand at `now`; `bindings` are under way.
    pub fn view(&self, now: Duration, engine: &Engine, bindings: usize) -> DiagView {
        let began = self.activities.began();
        let whole = now.saturating_sub(began).as_secs_f64();
        let row = |name: &str, lap: &Lap| TimesRow {
            name: name.to_owned(),
            count: lap.count,
            seconds: lap.total.as_secs_f64(),
            percent: percent(lap.total.as_secs_f64(), whole),
            last_ms: ms(lap.last),
            mean_ms: ms(lap.mean()),
            longest_ms: ms(lap.longest),
        };
        let thread = self.activities.laps(now);
        let parts = [("open", &self.open)].into_iter();
        let actions = self.actions.iter().map(|(name, lap)| (name.as_str(), lap));
        let parts = parts.chain(actions).chain([("close", &self.close)]);
        DiagView {
            since: rfc3339(began.as_secs_f64()),
            seconds: whole,
            thread: thread.map(|(what, lap)| row(what.word(), &lap)).collect(),
            cycles: vec![row("busy", &self.cycles), row("idle", &self.idle_cycles)],
            parts: parts.map(|(name, lap)| row(name, lap)).collect(),
            plugins: self
                .plugins
                .iter()
                .map(|(name, lap)| row(name, lap))
                .collect(),
            counts: self.counts.clone(),
            now: self.stand(engine, bindings),
            namespaces: self.namespaces_told(),
        }
    }

    fn stand(&self, engine: &Engine, bindings: usize) -> DiagNow {
        let state = engine.state();
        let (steps, selectors_pending) = state.supplies().resource_claims().stock().selector_work();
        DiagNow {
            jobs: state.population().jobs().count(),
            jobs_asleep: engine.sleepers().count(),
            pods: state.population().tasks().count(),
            nodes: state.nodes().len(),
            bindings,
            selector_steps: steps.saturating_sub(self.selector_steps_before),
            selectors_pending,
        }
    }

    fn namespaces_told(&self) -> Vec<NamespaceWork> {
        let all: u64 = self.namespaces.values().sum();
        let told = self
            .namespaces
            .iter()
            .map(|(namespace, work)| NamespaceWork {
                namespace: namespace.clone(),
                work: *work,
                percent: percent(*work as f64, all as f64),
            });
        let mut told: Vec<NamespaceWork> = told.collect();
        told.sort_by_key(|told| std::cmp::Reverse(told.work));
        told.truncate(MAX_TOLD);
        told
    }
}
