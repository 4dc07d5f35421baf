//! Carries out the effects of the decider, and publishes what it did: journal, log and metrics.

mod numbers;
mod timing;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pumice_admin::log::Every;
use pumice_admin::metrics::{Metrics, PodStage, TaskStage};
use pumice_cluster::ObjectRef;
use pumice_cluster::effects::{BindStage, Effects, Meter, Outcome, WaitsFor, Write};
use pumice_cluster::lease::TermWatch;
use pumice_decider::beside::BesideBook;
use pumice_decider::{Effect, LogLevel, LogLine, StepResult};
use pumice_engine::{BindWait, Decisions, Engine};
use pumice_ingest::ObjectProblem;
use pumice_model::extender::{ExtenderNotice, QuestionSheet};
use pumice_model::{Delta, JobIx, NodeIx, State, TaskIx};
use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::{Notify, mpsc, watch as cell};

use pumice_process::rfc3339;

use crate::clock::DeciderClock;
use crate::diag::DecidingTimes;
use crate::extender::ExtenderFeed;
use crate::journal::{Journal, JournalEntry, JournalEviction};
use crate::pod_traces::{PodDecision, TraceFeed, TraceSink};

/// Lines of the log that come in floods are written this often, with how many there were.
const FLOOD_PERIOD: Duration = Duration::from_secs(30);
/// Bytes of the problems of one object that are told: users write the values that stand in them.
const MAX_PROBLEMS: usize = 2_000;

/// What an extender is to be told that may wait.
const MAX_NOTICES: usize = 4096;

/// Where writes go.
pub enum Out {
    /// To the API server.
    Effects(Arc<Effects>),
    /// Nowhere (`--dry-run`).
    Nowhere,
}

/// Tells the outside.
pub struct Publisher {
    out: Out,
    journal: Arc<Journal>,
    metrics: Arc<Metrics>,
    clock: DeciderClock,
    /// Told when a queue every cluster has is deleted.
    queue_gone: Arc<Notify>,
    /// What an extender is to be asked.
    questions: cell::Sender<Arc<QuestionSheet>>,
    /// What it is to be told, where somebody does.
    extender_notices: Option<mpsc::Sender<ExtenderNotice>>,
    /// Gangs that were bound in part when last looked at.
    partial: FxHashSet<JobIx>,
    numbers: numbers::Numbers,
    /// Objects that cannot be read, by kind: namespace and name.
    unreadable: FxHashMap<String, FxHashMap<(String, String), String>>,
    floods: Every,
    /// In a dry run: what the other scheduler did.
    pub beside: Option<Arc<Mutex<BesideBook>>>,
    /// What is told of the way of pods.
    pub traces: TraceFeed,
    /// Where the time of the deciding thread goes.
    pub times: DecidingTimes,
}

impl Publisher {
    /// A publisher that has published nothing.
    pub fn new(
        out: Out,
        journal: Arc<Journal>,
        metrics: Arc<Metrics>,
        clock: DeciderClock,
        queue_gone: Arc<Notify>,
    ) -> Self {
        Self {
            out,
            journal,
            metrics,
            clock,
            queue_gone,
            questions: cell::Sender::default(),
            extender_notices: None,
            partial: FxHashSet::default(),
            numbers: numbers::Numbers::default(),
            unreadable: FxHashMap::default(),
            floods: Every::new(FLOOD_PERIOD),
            beside: None,
            traces: TraceFeed::default(),
            times: DecidingTimes::from(clock.since_epoch()),
        }
    }

    /// What an extender is to be asked and told from now on, for the only one who does that.
    pub fn extender_feed(&mut self) -> ExtenderFeed {
        let (sender, notices) = mpsc::channel(MAX_NOTICES);
        self.extender_notices = Some(sender);
        ExtenderFeed {
            questions: self.questions.subscribe(),
            notices,
        }
    }

    /// Whether decisions make sense now: a dry run always decides, otherwise the leader does.
    pub fn may_write(&self, term: &TermWatch) -> bool {
        matches!(self.out, Out::Nowhere) || term.is_leader()
    }

    fn write(&self, term: &TermWatch, write: Write) {
        match &self.out {
            Out::Effects(effects) => effects.submit_in(term, write),
            Out::Nowhere => {}
        }
    }

    /// Does what the decider wants done, who decided it in this term: it is written in no other.
    pub fn carry_out(&self, term: &TermWatch, effects: Vec<Effect>) {
        self.traces.effects(&effects);
        for effect in effects {
            match effect {
                Effect::Write(write) => self.write(term, write),
                Effect::Recall { uid, why } => self.recall(&uid, &why),
                Effect::Ask(sheet) => {
                    self.questions.send_replace(Arc::new(*sheet));
                }
                Effect::TellExtender(notices) => self.tell_extender(notices),
                Effect::MakeDefaultQueues => self.queue_gone.notify_one(),
                Effect::Log(line) => self.log(&line),
            }
        }
    }

    /// Those are lost for which there is no room: an extender that is slow holds nothing up.
    fn tell_extender(&self, notices: Vec<ExtenderNotice>) {
        let Some(sender) = &self.extender_notices else {
            return;
        };
        let lost = notices.into_iter().map(|notice| sender.try_send(notice));
        let lost = lost.filter(Result::is_err).count();
        if lost > 0 {
            self.metrics.extender_notices("lost", lost);
        }
    }

    fn recall(&self, uid: &str, why: &str) {
        if let Out::Effects(effects) = &self.out
            && effects.recall(uid, why)
        {
            self.metrics.bind_recalled();
        }
    }

    fn log(&self, line: &LogLine) {
        let more = match line.flood.map(|kind| self.floods.admit(kind)) {
            Some(None) => return,
            None | Some(Some(0)) => String::new(),
            Some(Some(more)) => format!(" (and {more} more like it before)"),
        };
        let text = &line.text;
        match line.level {
            LogLevel::Info => tracing::info!("{text}{more}"),
            LogLevel::Warning => tracing::warn!("{text}{more}"),
            LogLevel::Error => tracing::error!("{text}{more}"),
        }
    }

    /// Whether nothing is decided because what happens is not followed.
    pub fn decisions_stopped(&self, stopped: bool) {
        self.metrics.decisions_stopped(stopped);
    }

    /// Which Bindings are held back at this moment, by UID of the pod; `None` in a dry run.
    pub fn bind_waits(&self) -> Option<Vec<(String, BindWait)>> {
        let Out::Effects(effects) = &self.out else {
            return None;
        };
        let (plugin, lock) = effects.longest_waits();
        let wait = |what| match what {
            WaitsFor::Plugin { first, ahead } => BindWait::Plugin {
                first,
                ahead,
                most_s: plugin.as_secs(),
            },
            WaitsFor::Lock => BindWait::Lock {
                most_s: lock.as_secs(),
            },
        };
        let waits = effects.bind_waits().into_iter();
        Some(waits.map(|held| (held.uid, wait(held.what))).collect())
    }

    /// Journal and numbers of what a cycle decided.
    pub fn record(&mut self, engine: &Engine, decisions: &Decisions, step: &StepResult) {
        let state = engine.state();
        let now = step.at.as_secs_f64();
        let entry = |ix: TaskIx, node: Option<NodeIx>, eviction| {
            let task = state.task(ix);
            let group = task.job.filter(|job| state.job(*job).group().is_some());
            JournalEntry {
                time: rfc3339(now),
                cycle: engine.cycles(),
                pod: state.population().task_key(ix),
                uid: task.uid.to_string(),
                node: node.map_or_else(String::new, |node| state.nodes().object(node).name.clone()),
                group: group.map_or_else(String::new, |job| state.population().job_key(job)),
                eviction,
            }
        };
        for eviction in &decisions.evictions {
            let why = JournalEviction {
                action: eviction.reason,
                evicted_for: eviction.by.map(|by| state.population().job_key(by)),
                cards: engine.known().held_cards(eviction.task),
            };
            let node = state.task(eviction.task).node;
            self.journal.add(entry(eviction.task, node, Some(why)));
        }
        for bind in &decisions.binds {
            let decision = entry(bind.task, Some(bind.node), None);
            self.traces.decided(step.at, &decision.uid, || PodDecision {
                cycle: decision.cycle,
                node: decision.node.clone(),
                queue: queue_of(state, bind.task),
                group: decision.group.clone(),
            });
            self.journal.add(decision);
            self.numbers.placed(&self.metrics, engine, bind.task, now);
        }
        if let Some(book) = &self.beside {
            let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
            book.decided(engine, decisions, unix_s(step.at));
        }
        self.cycle_took(step.took, decisions);
        let work = engine.work_by_namespace();
        self.times.cycle(step.took, decisions, &work);
    }

    /// Tells who follows pods what has happened, before the engine knows it.
    pub fn see(&mut self, deltas: &[Delta], engine: &Engine) {
        self.times.changes(deltas.len());
        self.traces.see(deltas, engine);
        if let Some(book) = &self.beside {
            let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
            book.see(deltas, engine, unix_s(self.clock.since_epoch()));
        }
    }

    /// Counts how a write ended.
    pub fn count_outcome(&self, engine: &Engine, outcome: &Outcome) {
        self.traces.outcome(outcome);
        let state = engine.state();
        if let Outcome::Bound { pod, .. } = outcome
            && let Some(task) = state.population().task_by_uid(&pod.uid)
        {
            let age = self.clock.unix_s() - state.task(task).created_s as f64;
            self.metrics
                .task_latency(TaskStage::Bound, age.max(0.0) * 1000.0);
        }
    }

    /// An object that cannot be read: told to its owner.
    pub fn report_problems(&mut self, about: ObjectRef, problems: &[ObjectProblem], counts: bool) {
        let unreadable = self.unreadable.entry(about.kind.clone()).or_default();
        let key = (about.namespace.clone(), about.name.clone());
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let message = shortened(all.join("; "));
        let told = match problems.is_empty() {
            true => unreadable.remove(&key),
            false => unreadable.insert(key, message.clone()),
        };
        self.metrics
            .unreadable_objects(&about.kind, unreadable.len());
        if problems.is_empty() {
            tracing::info!("{about} can be read again");
            return;
        }
        let (kept, consequence) = match counts {
            true => ("counts", "what cannot be read counts as used"),
            false => ("is set aside", "not considered by the scheduler"),
        };
        // Whoever changes an object again and again fills no log with it.
        if told.as_ref() != Some(&message) {
            tracing::warn!("{about} {kept}: {message}");
        }
        let event = Write::Event {
            about,
            warning: true,
            reason: "InvalidObject".to_owned(),
            message: format!("{consequence}: {message}"),
        };
        if let Out::Effects(effects) = &self.out {
            // It is so in every term.
            effects.submit(event);
        }
    }

    /// Brings the numbers up to date after a report; `silent` nodes do not tell of their devices any more.
    pub fn publish_numbers(&mut self, engine: &mut Engine, silent: usize) {
        self.metrics.silent_nodes(silent);
        let partial = engine.partial_gangs();
        self.metrics.gangs_partial(partial.len());
        let now_partial: FxHashSet<JobIx> = partial.iter().map(|(job, _)| *job).collect();
        for _ in now_partial.difference(&self.partial) {
            self.metrics.gang_became_partial();
        }
        self.partial = now_partial;
        self.numbers.publish(&self.metrics, engine);
        let gauges = engine.device_gauges();
        if gauges.all {
            let nodes = gauges.nodes.iter().map(|(node, _)| node.as_str());
            self.metrics.keep_cards(&nodes.collect());
        }
        for (node, values) in &gauges.nodes {
            self.metrics.cards(node, values);
        }
    }
}

/// Name of the queue of a pod; empty where it has none.
fn queue_of(state: &State, task: TaskIx) -> String {
    let job = state.task(task).job;
    job.map_or_else(String::new, |job| {
        state.names().text(state.job(job).queue_name).to_owned()
    })
}

/// Whole seconds since the epoch.
fn unix_s(at: Duration) -> i64 {
    i64::try_from(at.as_secs()).unwrap_or(i64::MAX)
}

fn shortened(mut text: String) -> String {
    if text.len() > MAX_PROBLEMS {
        text.truncate(text.floor_char_boundary(MAX_PROBLEMS));
        text.push('…');
    }
    text
}

/// Counts writes, and follows Bindings.
pub struct Meters {
    /// For `/metrics`.
    pub metrics: Arc<Metrics>,
    /// Told how far Bindings are.
    pub traces: TraceSink,
}

impl Meter for Meters {
    fn write(&self, kind: &'static str, result: &'static str, seconds: f64) {
        self.metrics.write(kind, result, seconds);
        if (kind, result) == ("bind", "unknown") {
            self.metrics.bind_unknown_outcome();
        }
    }

    fn bind_stage(&self, uid: &str, stage: BindStage) {
        self.traces.binds(uid, stage);
    }

    fn bound(&self, seconds: f64) {
        self.metrics.stage(PodStage::Bind, seconds * 1000.0);
    }

    fn binds_waiting(&self, count: usize) {
        self.metrics.device_binds_waiting(count);
    }

    fn suppressed_event(&self) {
        self.metrics.events_suppressed(1);
    }
}

#[cfg(test)]
pub mod tests;
