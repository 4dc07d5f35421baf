//! The thread that owns the engine: inputs in, decisions out.
//!
//! ```text
//!  watch ──► inputs ───┐
//!  effects ► outcomes ─┼─► apply all that is there ─► cycle ─► Publisher ─► effects
//!  HTTP, signals ──────┘        (only when every list is complete, the configuration is
//!                                valid, and this replica may write)
//! ```
//!
//! A change is acted on at once; while cycles take long, the pause between two is as long as the
//! last one took, so that inputs are taken in bundles. A standby applies inputs and decides nothing;
//! so does a daemon that is about to end, which still hears how its last writes ended.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pumice_cluster::effects::{BindFailure, Outcome};
use pumice_cluster::lease::TermWatch;
use pumice_cluster::shard::{ShardStatus, ShardView};
use pumice_cluster::watch::{Input, Picture};
use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_engine::view::{Ask, View};
use pumice_model::object::{NodeObject, QueueObject, Shard};
use pumice_model::{Delta, NoteAbout};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::clock::Clock;
use crate::device_config::{self, Place};
use crate::publish::Publisher;
use crate::settings::Sharding;
use crate::status::Status;

/// Most inputs applied before the next look at everything else.
const BUNDLE: usize = 4096;

/// Longest pause between cycles that inputs are collected in.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Shortest pause: a burst of single changes is taken together.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// How often conditions, queue status and numbers are brought up to date.
const REPORT_PERIOD: Duration = Duration::from_secs(1);

/// The thread comes round this often whatever `--schedule-period` says, to show that it lives.
const PULSE: Duration = Duration::from_secs(1);

/// First pause before a pod whose Binding failed is placed again; doubles up to the second.
const RETRY: (i64, i64) = (1, 60);

/// What others ask of the thread.
pub enum Question {
    /// What the engine sees.
    View(Ask, oneshot::Sender<Result<View, NoView>>),
    /// The state, as `pumice simulate` reads it.
    Dump(oneshot::Sender<Vec<u8>>),
    /// Take this configuration from the next cycle on.
    Configure {
        /// The configuration.
        config: Box<Config>,
        /// Its text, for dumps.
        text: String,
    },
    /// The text of the device configuration at that place, or that there is none.
    DeviceConfig {
        /// Namespace of the ConfigMap.
        namespace: String,
        /// Its name.
        name: String,
        /// `device-config.yaml`.
        text: Option<String>,
    },
    /// Decide nothing any more. The answer comes after all outcomes told before were heard.
    Rest(oneshot::Sender<()>),
}

/// There is nothing to show.
pub enum NoView {
    /// What was asked for does not exist: why.
    Absent(String),
    /// This replica does not know at the moment: why.
    NotNow(String),
}

/// Where the thread hears from others.
pub struct Channels {
    /// Changes of the cluster.
    pub inputs: mpsc::Receiver<Input>,
    /// How writes ended.
    pub outcomes: mpsc::UnboundedReceiver<Outcome>,
    /// Questions.
    pub questions: mpsc::Receiver<Question>,
    /// Whether this replica may write.
    pub term: TermWatch,
    /// Whether what decisions are made from is followed.
    pub picture: Picture,
}

/// How the thread goes about its work.
pub struct CoreOptions {
    /// Queue of PodGroups and pods that name none.
    pub default_queue: String,
    /// Provisioners whose volumes do not count against node limits.
    pub ignored_provisioners: Vec<String>,
    /// Longest pause between two looks at everything.
    pub period: Duration,
    /// How long the API server keeps events.
    pub event_lifetime: Duration,
    /// How nodes of other shards are used.
    pub sharding: Sharding,
    /// Told when a queue every cluster has is deleted.
    pub queue_gone: Arc<Notify>,
    /// How long a gang may stay bound in part; zero for any time.
    pub gang_deadline: Duration,
    /// Work a job may take of a cycle.
    pub job_work_limit: Option<u64>,
}

/// The thread's own things.
pub struct Core {
    engine: Engine,
    /// Text of the configuration in use, once there is one.
    configured: Option<String>,
    /// Where the device configuration is, and whether it was told since.
    devices: (Place, bool),
    resting: bool,
    /// What decisions are made from was followed before the last inputs were taken in.
    followed: bool,
    channels: Channels,
    publisher: Publisher,
    status: Arc<Status>,
    clock: Clock,
    period: Duration,
    last_cycle: Instant,
    last_took: Duration,
    report_due: Option<Instant>,
    /// When it was last asked which Bindings are held back.
    looked_at_waits: Instant,
    changed: bool,
    default_queue: String,
    queue_gone: Arc<Notify>,
    sharding: Sharding,
    /// Nodes of the own shard, once known.
    shard: Option<BTreeSet<String>>,
    /// What the own NodeShard shall say, until it is written.
    shard_status: Option<ShardStatus>,
}

impl Core {
    /// A thread that decides nothing until it gets a configuration.
    pub fn new(
        options: CoreOptions,
        channels: Channels,
        publisher: Publisher,
        status: Arc<Status>,
        clock: Clock,
    ) -> Self {
        let mut engine = Engine::new(&Config::default(), &options.default_queue);
        engine.ignore_provisioners(options.ignored_provisioners);
        let lifetime_s = i64::try_from(options.event_lifetime.as_secs());
        engine.set_event_lifetime_s(lifetime_s.unwrap_or(i64::MAX));
        let deadline_s = options.gang_deadline.as_secs();
        engine.set_partial_gang_deadline(i64::try_from(deadline_s).unwrap_or(i64::MAX));
        engine.limit_work(options.job_work_limit);
        Self {
            engine,
            configured: None,
            devices: (None, true),
            resting: false,
            followed: true,
            channels,
            publisher,
            status,
            clock,
            period: options.period.max(SHORTEST_PAUSE),
            last_cycle: Instant::now(),
            last_took: Duration::ZERO,
            report_due: None,
            looked_at_waits: Instant::now(),
            changed: false,
            default_queue: options.default_queue,
            queue_gone: options.queue_gone,
            sharding: options.sharding,
            shard: None,
            shard_status: None,
        }
    }

    /// Runs until every sender of inputs is gone.
    pub async fn run(mut self) {
        let mut bundle = Vec::with_capacity(BUNDLE);
        loop {
            let wake = tokio::time::Instant::from_std(self.next_wake());
            tokio::select! {
                biased;
                _ = tokio::time::sleep_until(wake) => {}
                Some(outcome) = self.channels.outcomes.recv() => self.on_outcome(outcome),
                Some(question) = self.channels.questions.recv() => self.answer(question),
                () = self.channels.term.changed() => self.changed = true,
                () = self.channels.picture.changed() => self.changed = true,
                count = self.channels.inputs.recv_many(&mut bundle, BUNDLE) => {
                    if count == 0 {
                        return;
                    }
                }
            }
            // Asked before, so that what was missed is taken in before it is decided from.
            self.see();
            self.drain(&mut bundle);
            self.take_back();
            self.status.tick(self.clock.ticks_ms());
            self.run_due();
        }
    }

    /// Whether what decisions are made from is followed.
    fn see(&mut self) {
        let lost = self.channels.picture.lost();
        let followed = lost.is_empty();
        let kinds = || {
            let kind =
                |(kind, age): &(&str, Duration)| format!("{kind} for {:.1} s", age.as_secs_f64());
            lost.iter().map(kind).collect::<Vec<_>>().join(", ")
        };
        if !followed {
            self.status.set_lost(Some(format!(
                "nothing is decided, what happens is not followed: {}; see --watch-grace",
                kinds()
            )));
        }
        if followed == self.followed {
            return;
        }
        self.followed = followed;
        self.changed = true;
        self.publisher.stopped(!followed);
        if followed {
            self.status.set_lost(None);
            tracing::info!("what happens is followed again: deciding goes on");
        } else {
            let kinds = kinds();
            tracing::warn!("nothing is decided: what happens is not followed: {kinds}");
        }
    }

    /// Decisions on their way that what has changed forbids are taken back, and made anew once they
    /// certainly cannot come true.
    fn take_back(&mut self) {
        for outdated in self.engine.outdated() {
            self.publisher.recall(&outdated.uid, &outdated.why);
        }
    }

    /// Everything that has arrived, up to a bundle of each.
    fn drain(&mut self, bundle: &mut Vec<Input>) {
        while bundle.len() < BUNDLE
            && let Ok(input) = self.channels.inputs.try_recv()
        {
            bundle.push(input);
        }
        for input in bundle.drain(..) {
            self.apply(input);
        }
        for _ in 0..BUNDLE {
            match self.channels.outcomes.try_recv() {
                Ok(outcome) => self.on_outcome(outcome),
                Err(_) => break,
            }
        }
    }

    fn apply(&mut self, input: Input) {
        match input {
            Input::Deltas(deltas) => {
                for mut delta in deltas {
                    if let Delta::NodeApply(node) = &mut delta {
                        node.shard = self.shard_of(&node.name);
                    }
                    if let Delta::QueueDelete(name) = &delta
                        && (*name == "root" || *name == self.default_queue)
                    {
                        self.queue_gone.notify_one();
                    }
                    self.publisher.watch_plugins(&delta);
                    self.publisher.correct(&self.engine, &mut delta);
                    self.engine.apply(delta);
                }
                self.changed = true;
            }
            Input::Problems { about, problems } => self.publisher.report_problems(about, &problems),
            Input::Shard(view) => self.apply_shard_view(view),
            Input::Probe(sent) => self.publisher.input_waited(sent.elapsed()),
            Input::Synced => {
                if self.publisher.is_dry_run() {
                    self.assume_default_queues();
                }
                self.status.set_synced(true);
                self.changed = true;
            }
        }
    }

    /// A dry run decides as if the queues were there that a real one makes.
    fn assume_default_queues(&mut self) {
        for (name, reclaimable) in [("root", false), (self.default_queue.as_str(), true)] {
            if self.engine.state().queue_by_name(name).is_none() {
                self.engine.apply(Delta::QueueApply(Box::new(QueueObject {
                    name: name.to_owned(),
                    weight: 1,
                    reclaimable,
                    ..QueueObject::default()
                })));
            }
        }
    }

    /// The nodes of the own shard changed.
    fn apply_shard_view(&mut self, view: ShardView) {
        if view.missing {
            tracing::error!(
                "there is no NodeShard of this scheduler's name: its last nodes are kept; see \
                 --scheduler-sharding-name"
            );
        }
        self.shard = Some(view.in_use);
        let nodes = self.engine.state().nodes.known();
        let moved: Vec<NodeObject> = nodes
            .into_iter()
            .filter(|node| node.shard != self.shard_of(&node.name))
            .cloned()
            .collect();
        for mut node in moved {
            node.shard = self.shard_of(&node.name);
            self.engine.apply(Delta::NodeApply(Box::new(node)));
        }
        // Another replica may have the lease: written once this one decides.
        self.shard_status = view.status;
        self.changed = true;
    }

    fn shard_of(&self, node: &str) -> Shard {
        let own = self.shard.as_ref().is_some_and(|own| own.contains(node));
        match self.sharding {
            Sharding::Hard if !own => Shard::Never,
            Sharding::Soft if !own => Shard::Later,
            _ => Shard::Own,
        }
    }

    fn on_outcome(&mut self, outcome: Outcome) {
        let Outcome::BindFailed {
            pod,
            node,
            failure,
            message,
        } = outcome
        else {
            self.publisher.on_outcome(&self.engine, &outcome);
            return;
        };
        if failure == BindFailure::Outdated {
            tracing::info!(
                pod = format!("{}/{}", pod.namespace, pod.name),
                node = %node,
                "decided anew: {message}"
            );
            return self.unplace(pod.uid, message, 0);
        }
        let wait_s = self.publisher.retry_after_s(&pod.uid, RETRY);
        self.publisher.bind_failed(&pod, &node, &failure, &message);
        self.unplace(pod.uid, message, wait_s);
    }

    /// A Binding has failed: the pod may be placed again after this time.
    fn unplace(&mut self, uid: String, message: String, wait_s: i64) {
        self.engine.apply(Delta::BindFailed {
            uid,
            message,
            retry_at_s: self.clock.now_s() + wait_s,
        });
        self.changed = true;
    }

    fn answer(&mut self, question: Question) {
        match question {
            Question::View(ask, reply) => {
                let _ = reply.send(self.view(&ask));
            }
            Question::Dump(reply) => {
                let configuration = self.configured.as_deref();
                let _ = reply.send(crate::dump::state(&self.engine, configuration));
            }
            Question::Configure { config, text } => {
                self.engine.reconfigure(&config);
                self.configured = Some(text);
                self.changed = true;
                let place = device_config::place(&config);
                if place != self.devices.0 {
                    self.devices = (place.clone(), place.is_none());
                }
            }
            Question::DeviceConfig {
                namespace,
                name,
                text,
            } => self.take_device_config(namespace, name, text),
            Question::Rest(reply) => {
                self.resting = true;
                let _ = reply.send(());
            }
        }
    }

    fn view(&self, ask: &Ask) -> Result<View, NoView> {
        if !self.status.synced() {
            let why = "the first lists of the API server are not complete";
            return Err(NoView::NotNow(why.to_owned()));
        }
        if !self.publisher.may_write(&self.channels.term) {
            return Err(NoView::NotNow(match self.channels.term.holder() {
                Some(holder) => format!("this replica stands by; the leader is {holder}"),
                None => "this replica stands by; there is no leader".to_owned(),
            }));
        }
        if self.configured.is_none() {
            let why = "nothing is scheduled: there is no valid configuration; see /readyz";
            return Err(NoView::NotNow(why.to_owned()));
        }
        let view = self.engine.view(ask);
        view.map_err(|absent| NoView::Absent(absent.to_string()))
    }

    /// Cards must not be given away by a device configuration that is about to be replaced.
    fn take_device_config(&mut self, namespace: String, name: String, text: Option<String>) {
        let at = Some((namespace.clone(), name.clone()));
        if self.devices.0 != at {
            // The scheduler's configuration has changed meanwhile.
            return;
        }
        self.devices.1 = true;
        let (whose, is_there) = (format!("ConfigMap {namespace}/{name}"), text.is_some());
        let about = NoteAbout::ConfigMap(namespace.clone(), name.clone());
        self.engine.apply(Delta::DeviceConfig {
            namespace,
            name,
            text,
        });
        let notes = self.engine.state().device_notes();
        let of_it = notes.filter(|note| note.about == about);
        let problems: Vec<&str> = of_it.map(|note| note.text.as_str()).collect();
        if !problems.is_empty() {
            tracing::warn!("{whose} is not taken: {}", problems.join("; "));
        } else if is_there {
            tracing::info!("device configuration in use: {whose}");
        }
        self.changed = true;
    }

    fn may_decide(&self) -> bool {
        !self.resting
            && self.configured.is_some()
            && self.followed
            && self.devices.1
            && self.status.synced()
            && self.publisher.may_write(&self.channels.term)
    }

    /// When to look again although nothing arrives.
    fn next_wake(&self) -> Instant {
        let mut wake = (self.last_cycle + self.period).min(Instant::now() + PULSE);
        if !self.may_decide() {
            return wake;
        }
        if self.changed {
            wake = wake.min(self.cycle_from());
        }
        if let Some(report) = self.report_due {
            wake = wake.min(report);
        }
        if let Some(at_s) = self.due_s() {
            let wait = (at_s as f64 - self.clock.unix_s()).clamp(0.001, PULSE.as_secs_f64());
            wake = wake.min(Instant::now() + Duration::from_secs_f64(wait));
        }
        wake
    }

    /// When the engine or the publisher has something to do although nothing happens.
    fn due_s(&self) -> Option<i64> {
        let due = [self.engine.wake_at_s(), self.publisher.due_s()];
        due.into_iter().flatten().min()
    }

    fn cycle_from(&self) -> Instant {
        self.last_cycle + self.last_took.clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
    }

    /// A cycle and a report, when they are due.
    fn run_due(&mut self) {
        let now = Instant::now();
        let period_over = now >= self.last_cycle + self.period;
        if !self.may_decide() {
            if period_over {
                self.stand_by();
            }
            return;
        }
        self.publisher.clean_up();
        if now >= self.looked_at_waits + REPORT_PERIOD {
            self.looked_at_waits = now;
            if self.publisher.follow_bind_waits(&mut self.engine) {
                self.report_due = Some(now);
            }
        }
        if let Some(status) = self.shard_status.take() {
            self.publisher.write_shard(status);
        }
        let due = self.due_s().is_some_and(|at| at <= self.clock.now_s());
        if period_over || due || self.changed && now >= self.cycle_from() {
            self.cycle();
        }
        if due {
            // A pod has waited long enough to be told why, even if nothing else has happened.
            self.report_due = Some(now);
        }
        if self.report_due.is_some_and(|due| due <= Instant::now()) {
            self.report_due = None;
            self.publisher.report(&mut self.engine, self.clock.now_s());
        }
    }

    /// Keeps the books of a replica that decides nothing.
    fn stand_by(&mut self) {
        self.last_cycle = Instant::now();
        if self.status.synced() && std::mem::take(&mut self.changed) {
            self.engine.stand_by();
        }
    }

    fn cycle(&mut self) {
        let start = Instant::now();
        self.changed = false;
        let now_s = self.clock.now_s();
        let decisions = self.publisher.observed_cycle(&mut self.engine, now_s);
        self.publisher
            .publish(&self.engine, &decisions, self.clock.unix_s());
        self.last_cycle = Instant::now();
        self.last_took = start.elapsed();
        self.publisher.cycle_took(self.last_took, &decisions);
        if !decisions.skipped && self.report_due.is_none() {
            self.report_due = Some(self.last_cycle + REPORT_PERIOD);
        }
        // What a cycle decided may let the next one decide more.
        self.changed |= !decisions.settled;
    }
}

#[cfg(test)]
mod tests;
