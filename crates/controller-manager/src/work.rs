//! The thread that runs the controllers: drives the [`Manager`] with what arrives and with the clock.
//!
//! A standby is told everything and does nothing, so that it goes on at once when it leads.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use pumice_cluster::ObjectRef;
use pumice_cluster::config_map::{ConfigMapError, ConfigMapText};
use pumice_cluster::effects::{Effects, Write};
use pumice_cluster::lease::TermWatch;
use pumice_controllers::runtime::{
    ManagedRef, Manager, ManagerInput, ManagerOutput, ObjectEvent, PodProbe, ProbeId,
};
use pumice_process::{DaemonStatus, MonotonicClock};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::Instant;

use crate::numbers::ControllerNumbers;
use crate::probe;
use crate::writes::ControllerWrites;

/// Most inputs taken before what follows from them is done.
const BUNDLE: usize = 4096;

/// The thread comes round this often, to show that it lives.
const PULSE: Duration = Duration::from_secs(1);

/// How often numbers of all that is known are published.
const NUMBERS: Duration = Duration::from_secs(5);

/// Probes under way at a time.
const PROBES: usize = 64;

/// The way to the thread, and from it.
pub struct WorkChannels {
    /// What happens, and how writes end.
    pub inputs: mpsc::Receiver<ManagerInput>,
    /// Where probes tell their end.
    pub own_inputs: mpsc::Sender<ManagerInput>,
    /// The controllers' configuration.
    pub configuration: mpsc::Receiver<ConfigMapText>,
    /// Where that stands.
    pub configuration_at: ManagedRef,
    /// Whether this process may write.
    pub term: TermWatch,
    /// Whether the process is to end.
    pub stop: watch::Receiver<bool>,
}

/// Where orders go.
pub struct WorkOutlets {
    /// Where writes to the API server go.
    pub writes: Arc<ControllerWrites>,
    /// Where events about objects go.
    pub events: Arc<Effects>,
}

/// The thread's state.
pub struct WorkLoop {
    manager: Manager,
    channels: WorkChannels,
    outlets: WorkOutlets,
    numbers: ControllerNumbers,
    status: Arc<DaemonStatus>,
    clock: MonotonicClock,
    probes: Arc<Semaphore>,
    is_configured: bool,
    /// Every kind was listed before the configuration was read.
    is_listed: bool,
    numbers_at: Instant,
    /// The term in which orders were given last.
    term: TermWatch,
}

impl WorkLoop {
    /// Nothing has happened yet.
    pub fn new(
        manager: Manager,
        channels: WorkChannels,
        outlets: WorkOutlets,
        numbers: ControllerNumbers,
        status: Arc<DaemonStatus>,
        clock: MonotonicClock,
    ) -> Self {
        Self {
            manager,
            term: channels.term.this_one(),
            channels,
            outlets,
            numbers,
            status,
            clock,
            probes: Arc::new(Semaphore::new(PROBES)),
            is_configured: false,
            is_listed: false,
            numbers_at: Instant::now(),
        }
    }

    /// Runs until it is told to stop.
    pub async fn run(mut self) {
        let mut bundle = Vec::new();
        loop {
            let wait = self.wait();
            let channels = &mut self.channels;
            let mut configuration = None;
            tokio::select! {
                biased;
                _ = channels.stop.wait_for(|stop| *stop) => return,
                Some(text) = channels.configuration.recv() => configuration = Some(text),
                _ = channels.inputs.recv_many(&mut bundle, BUNDLE) => {}
                () = channels.term.changed() => {}
                () = tokio::time::sleep(wait) => {}
            }
            if let Some(text) = configuration {
                self.configured(text);
            }
            self.take(&mut bundle);
            self.work();
            self.status.tick(self.clock.ticks_ms());
        }
    }

    fn leads(&self) -> bool {
        self.channels.term.is_leader()
    }

    /// How long nothing is due.
    fn wait(&self) -> Duration {
        let due = self.manager.next_at().filter(|_| self.leads());
        let Some(due) = due else { return PULSE };
        let wait = due.duration_since(self.clock.timestamp());
        Duration::try_from(wait).unwrap_or_default().min(PULSE)
    }

    fn take(&mut self, bundle: &mut Vec<ManagerInput>) {
        let now = self.clock.timestamp();
        let leads = self.status.synced() && self.leads();
        for input in bundle.drain(..) {
            if input == ManagerInput::Synced {
                self.is_listed = true;
                self.open(now);
                continue;
            }
            self.numbers.note(&input, self.manager.cache(), now, leads);
            self.manager.tell(input, now);
        }
    }

    /// Nothing is done before every kind was listed and the configuration was looked for.
    fn open(&mut self, now: Timestamp) {
        if self.is_listed && self.is_configured && !self.status.synced() {
            self.manager.tell(ManagerInput::Synced, now);
            self.status.set_synced(true);
            tracing::info!("every kind is listed");
        }
    }

    fn configured(&mut self, text: ConfigMapText) {
        let now = self.clock.timestamp();
        let ConfigMapText { uid, text } = text;
        let text = match text {
            Ok(text) => text.to_string(),
            Err(error) => {
                if let ConfigMapError::Refused(..) = &error {
                    tracing::warn!("{error}; the controllers run without configuration");
                }
                String::new()
            }
        };
        let at = self.channels.configuration_at.clone();
        self.manager
            .tell(ManagerInput::Configured { at, uid, text }, now);
        self.is_configured = true;
        self.open(now);
    }

    fn work(&mut self) {
        // What is ordered now is written in this term or not at all.
        let term = self.channels.term.this_one();
        if term.is_leader() {
            let now = self.clock.timestamp();
            if !term.is_same(&self.term) {
                self.manager.lead(now);
                self.term = term.clone();
            }
            for order in self.manager.work(now) {
                self.carry_out(&term, order);
            }
        }
        let (waiting, writes) = (self.manager.waiting(), self.manager.writes_under_way());
        self.numbers.metrics.work(waiting, writes);
        if self.numbers_at.elapsed() >= NUMBERS {
            self.numbers_at = Instant::now();
            self.numbers.publish(self.manager.cache());
        }
    }

    fn carry_out(&self, term: &TermWatch, order: ManagerOutput) {
        match order {
            ManagerOutput::Write(id, write) => {
                tracing::debug!("{} {:?}", write.of, std::mem::discriminant(&write.verb));
                self.outlets.writes.submit(term, id, write);
            }
            ManagerOutput::Event(event) => self.outlets.events.submit_in(term, written(event)),
            ManagerOutput::Probe(id, question) => self.probe(id, question),
        }
    }

    fn probe(&self, id: ProbeId, question: PodProbe) {
        let (places, inputs) = (Arc::clone(&self.probes), self.channels.own_inputs.clone());
        tokio::spawn(async move {
            let _place = places.acquire_owned().await;
            let outcome = probe::ask(&question).await;
            let _ = inputs.send(ManagerInput::Probed(id, outcome)).await;
        });
    }
}

/// An event as it is written.
fn written(event: ObjectEvent) -> Write {
    let path = event.about.kind.path();
    Write::Event {
        about: ObjectRef {
            api_version: path.api_version(),
            kind: path.kind.to_owned(),
            namespace: event.about.namespace,
            name: event.about.name,
            uid: event.uid,
        },
        warning: event.warning,
        reason: event.reason.to_owned(),
        message: event.message,
    }
}
