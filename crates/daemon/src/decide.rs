//! The thread that decides: drives the [`Decider`] with what arrives and with the clock.
//!
//! ```text
//!  watch ──► inputs ───┐
//!  effects ► outcomes ─┼─► apply all that is there ─► Decider::step ─► Publisher ─► effects
//!  HTTP, signals ──────┘
//! ```
//!
//! When something is decided is a matter of the decider; here is nothing but channels and time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pumice_cluster::effects::Outcome;
use pumice_cluster::lease::TermWatch;
use pumice_cluster::watch::{Picture, WatchInput};
use pumice_conf::Config;
use pumice_decider::{Clock as _, DeciderOptions};
use pumice_engine::ViewSnapshot;
use tokio::sync::mpsc;

use crate::clock::DeciderClock;
use crate::commands::DecideCommand;
use crate::diag::Activity;
use crate::history::HistoryFeed;
use crate::publish::Publisher;
use crate::recording::RecordingFeed;
use crate::requests::{CopiedGround, DecideRequest, DumpDocument, NoView, Standby};
use crate::shared_copy::TakenSnapshot;
use pumice_model::Delta;
use pumice_process::DaemonStatus;
use pumice_record::RecordedDecider;

/// Most inputs applied before the next look at everything else.
const BUNDLE: usize = 4096;

/// Most outcomes that may wait: each write has one, and writers hold a million Bindings at most, and
/// one status of each pod, group and queue. A bound of the channel's own could make both sides wait
/// for each other.
const MAX_OUTCOMES: usize = 10_000_000;

/// The thread comes round this often whatever `--schedule-period` says, to show that it lives.
const PULSE: Duration = Duration::from_secs(1);

/// How often it is asked which Bindings are held back.
const BIND_WAITS_PERIOD: Duration = Duration::from_secs(1);

/// Where the thread hears from others.
pub struct Channels {
    /// Changes of the cluster.
    pub inputs: mpsc::Receiver<WatchInput>,
    /// How writes ended.
    pub outcomes: mpsc::UnboundedReceiver<Outcome>,
    /// Questions.
    pub requests: mpsc::Receiver<DecideRequest>,
    /// Orders.
    pub commands: mpsc::Receiver<DecideCommand>,
    /// Whether this replica may write.
    pub term: TermWatch,
    /// Whether what decisions are made from is followed.
    pub picture: Picture,
}

/// Where it goes what has happened.
pub struct PastFeeds {
    /// What was told and decided.
    pub recording: RecordingFeed,
    /// What became of jobs.
    pub history: HistoryFeed,
}

/// The thread's own things.
pub struct DecideLoop {
    decider: RecordedDecider,
    feeds: PastFeeds,
    /// The configuration in use, once there is one, and its text.
    config: Option<Box<Config>>,
    configuration: Option<String>,
    /// What decisions are made from was followed before the last inputs were applied.
    followed: bool,
    channels: Channels,
    /// The term that ran, if one did, when the thread last came round.
    term: TermWatch,
    publisher: Publisher,
    status: Arc<DaemonStatus>,
    clock: DeciderClock,
    /// When it was last asked which Bindings are held back.
    bind_waits_at: Duration,
}

impl DecideLoop {
    /// A thread that decides nothing until it gets a configuration.
    pub fn new(
        options: DeciderOptions,
        channels: Channels,
        publisher: Publisher,
        status: Arc<DaemonStatus>,
        clock: DeciderClock,
        mut feeds: PastFeeds,
    ) -> Self {
        let (mut decider, start) = RecordedDecider::new(options, &clock);
        feeds.recording.begin(&mut decider, start);
        feeds.history.begin(decider.engine_mut());
        Self {
            decider,
            feeds,
            config: None,
            configuration: None,
            followed: true,
            term: channels.term.this_one(),
            channels,
            publisher,
            status,
            clock,
            bind_waits_at: clock.now(),
        }
    }

    /// Runs until every sender of inputs is gone.
    pub async fn run(mut self) {
        let mut bundle = Vec::with_capacity(BUNDLE);
        loop {
            let now = self.clock.now();
            let wait = self.decider.next_step(now).saturating_sub(now).min(PULSE);
            self.publisher.does(Activity::Waits);
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => {}
                Some(outcome) = self.channels.outcomes.recv() => self.on_outcome(outcome),
                Some(command) = self.channels.commands.recv() => self.obey(command),
                Some(request) = self.channels.requests.recv() => self.answer(request),
                () = self.channels.term.changed() => {}
                () = self.channels.picture.changed() => {}
                count = self.channels.inputs.recv_many(&mut bundle, BUNDLE) => {
                    if count == 0 {
                        return;
                    }
                }
            }
            self.publisher.does(Activity::Changes);
            // Asked before, so that what was missed is applied before it is decided from.
            self.look_at_picture();
            self.look_at_term();
            self.drain(&mut bundle);
            self.status.tick(self.clock.ticks_ms());
            self.step();
        }
    }

    /// Whether what decisions are made from is followed.
    fn look_at_picture(&mut self) {
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
        self.decider.set_followed(followed);
        self.publisher.decisions_stopped(!followed);
        if followed {
            self.status.set_lost(None);
            tracing::info!("what happens is followed again: deciding goes on");
        } else {
            let kinds = kinds();
            tracing::warn!("nothing is decided: what happens is not followed: {kinds}");
        }
    }

    /// Whether this replica leads, asked before anything of this round is decided: what is decided in it
    /// is written in this term or not at all.
    fn look_at_term(&mut self) {
        let term = self.channels.term.this_one();
        if !term.is_same(&self.term) {
            // One term may have followed another while the thread was busy.
            self.decider.set_leader(false);
        }
        self.decider.set_leader(term.is_leader());
        self.term = term;
    }

    /// Everything that has arrived, up to a bundle of each.
    fn drain(&mut self, bundle: &mut Vec<WatchInput>) {
        while bundle.len() < BUNDLE
            && let Ok(input) = self.channels.inputs.try_recv()
        {
            bundle.push(input);
        }
        for input in bundle.drain(..) {
            self.apply(input);
        }
        debug_assert!(self.channels.outcomes.len() <= MAX_OUTCOMES);
        for _ in 0..BUNDLE {
            match self.channels.outcomes.try_recv() {
                Ok(outcome) => self.on_outcome(outcome),
                Err(_) => break,
            }
        }
    }

    fn apply(&mut self, input: WatchInput) {
        match input {
            WatchInput::Deltas(deltas) => {
                self.publisher.see(&deltas, self.decider.engine());
                self.decider.apply(deltas);
            }
            WatchInput::Problems {
                about,
                problems,
                counts,
            } => self.publisher.report_problems(about, &problems, counts),
            WatchInput::Shard(view) => self.decider.set_shard(view),
            WatchInput::Probe(sent) => self.publisher.input_waited(sent.elapsed()),
            WatchInput::Synced => {
                self.publisher.traces.synced();
                self.decider.set_synced();
                self.status.set_synced(true);
            }
        }
    }

    fn on_outcome(&mut self, outcome: Outcome) {
        self.publisher.does(Activity::Outcomes);
        self.publisher
            .count_outcome(self.decider.engine(), &outcome);
        self.decider.on_outcome(outcome, &self.clock);
    }

    fn obey(&mut self, command: DecideCommand) {
        self.publisher.does(Activity::Commands);
        match command {
            DecideCommand::Configure { config, text } => {
                self.decider.configure(&config, text.as_deref());
                (self.config, self.configuration) = (Some(config), text);
            }
            DecideCommand::DeviceConfig {
                namespace,
                name,
                text,
            } => self.decider.set_device_config(namespace, name, text),
            DecideCommand::TaskMix {
                namespace,
                name,
                text,
            } => self.decider.apply(vec![Delta::TaskMix {
                namespace,
                name,
                text,
            }]),
            DecideCommand::KeptText {
                topic,
                namespace,
                name,
                text,
            } => self.decider.apply(vec![Delta::KeptText {
                topic,
                namespace,
                name,
                text,
            }]),
            DecideCommand::NodeReports { place, news } => {
                self.decider.set_node_reports(&place, news);
            }
            DecideCommand::NodeUsage(measured) => self.decider.set_node_usage(measured),
            DecideCommand::ExtenderReply(reply) => self.decider.take_extender_reply(*reply),
            DecideCommand::Rest(reply) => {
                self.decider.rest();
                // What the outcomes before it asked for goes out before the answer.
                let effects = self.decider.take_effects();
                self.publisher.carry_out(&self.term, effects);
                let now = self.clock.now();
                self.feeds.recording.hand_over(&mut self.decider, now);
                self.feeds.recording.flush(&mut self.decider);
                let engine = self.decider.engine_mut();
                self.feeds.history.hand_over(engine, now, true);
                let _ = reply.send(());
            }
        }
    }

    fn answer(&mut self, request: DecideRequest) {
        self.publisher.does(Activity::Answers);
        match request {
            DecideRequest::Snapshot(reply) => {
                if !reply.is_closed() {
                    let _ = reply.send(self.snapshot());
                }
            }
            DecideRequest::Fork(reply) => {
                if !reply.is_closed() {
                    let _ = reply.send(self.fork());
                }
            }
            DecideRequest::Dump(reply) => {
                if !reply.is_closed() {
                    let configuration = self.configuration.clone();
                    let _ = reply.send(DumpDocument::of(self.decider.engine(), configuration));
                }
            }
            DecideRequest::Diag { reset, reply } => {
                let engine = self.decider.engine();
                let _ = reply.send(self.publisher.diag(engine));
                if reset {
                    self.publisher.reset_diag(engine);
                }
            }
        }
    }

    fn snapshot(&mut self) -> Result<Box<TakenSnapshot>, NoView> {
        self.knows()?;
        if self.standby().is_some() {
            return Err(NoView::StandsBy);
        }
        let since = Instant::now();
        let snapshot = ViewSnapshot::of(self.decider.engine_mut());
        let took = since.elapsed();
        Ok(Box::new(TakenSnapshot { snapshot, took }))
    }

    fn fork(&mut self) -> Result<Box<CopiedGround>, NoView> {
        self.knows()?;
        let config = self.config.as_deref().cloned().unwrap_or_default();
        let now_s = i64::try_from(self.clock.now().as_secs()).unwrap_or(i64::MAX);
        let fork = self.decider.engine_mut().fork();
        Ok(Box::new(CopiedGround {
            fork,
            config,
            now_s,
            standby: self.standby(),
        }))
    }

    /// Who leads, where it is not this replica.
    fn standby(&self) -> Option<Standby> {
        let leads = self.publisher.may_write(&self.channels.term);
        (!leads).then(|| Standby {
            leader: self.channels.term.holder(),
        })
    }

    /// Whether there is anything to tell.
    fn knows(&self) -> Result<(), NoView> {
        if !self.status.synced() {
            let why = "the first lists of the API server are not complete";
            return Err(NoView::NotNow(why.to_owned()));
        }
        if !self.decider.is_configured() {
            let why = "nothing is scheduled: there is no valid configuration; see /readyz";
            return Err(NoView::NotNow(why.to_owned()));
        }
        Ok(())
    }

    /// What is due now, and what comes of it.
    fn step(&mut self) {
        self.publisher.does(Activity::Steps);
        let now = self.clock.now();
        if self.decider.may_decide() && now >= self.bind_waits_at + BIND_WAITS_PERIOD {
            self.bind_waits_at = now;
            if let Some(waits) = self.publisher.bind_waits() {
                self.decider.set_bind_waits(waits);
            }
        }
        let step = self.publisher.time_step(&mut self.decider, &self.clock);
        self.publisher.does(Activity::Records);
        if let Some(decisions) = &step.decisions {
            self.publisher
                .record(self.decider.engine(), decisions, &step);
        }
        self.publisher.does(Activity::Writes);
        let effects = self.decider.take_effects();
        self.publisher.carry_out(&self.term, effects);
        self.feeds.recording.hand_over(&mut self.decider, now);
        let engine = self.decider.engine_mut();
        self.feeds.history.hand_over(engine, now, false);
        if step.reported {
            self.publisher.does(Activity::Numbers);
            let silent = self.decider.silent_nodes();
            self.publisher
                .publish_numbers(self.decider.engine_mut(), silent);
        }
    }
}

#[cfg(test)]
mod tests;
