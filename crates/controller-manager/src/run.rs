//! Puts the parts together, and takes them apart in order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use pumice_admin::http::{Endpoints, RenderedMetrics};
use pumice_admin::log;
use pumice_admin::metrics::{ControllerMetrics, KindNumbers};
use pumice_cluster::client::{self, Clients, ConnectOptions};
use pumice_cluster::config_map::watch_config_map;
use pumice_cluster::controllers::{
    self, ControllerWatch, ControllerWatchOptions, ControllerWrites, WriteMeter, WriteOptions,
};
use pumice_cluster::effects::{self, EffectOptions, Effects, Meter, Sight};
use pumice_cluster::lease::{Elector, TermWatch};
use pumice_controllers::runtime::{ManagedKind, ManagedRef, Manager, ManagerInput};
use pumice_process::{DaemonStatus, EndSignals, MonotonicClock, identity};
use tokio::sync::{mpsc, oneshot, watch as cell};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::PROGRAM;
use crate::numbers::ControllerNumbers;
use crate::pages::ControllerPages;
use crate::settings::ControllerSettings;
use crate::work::{WorkChannels, WorkLoop, WorkOutlets};

/// Inputs that may wait for the thread before the watch waits too.
const INPUTS: usize = 4096;

/// How often the numbers of the watch are published.
const WATCH_NUMBERS: Duration = Duration::from_secs(5);

/// A required kind that is not followed for so long makes the process not ready.
const LOST: Duration = Duration::from_secs(10);

/// Longest time for requests under way after the order to end.
const DRAIN: Duration = Duration::from_secs(10);

/// Source of events, as in Volcano.
const EVENT_SOURCE: &str = "vc-controller-manager";

/// Key of the controllers' configuration.
const CONFIGURATION_KEY: &str = "volcano-controller.conf";

/// Runs until told to end. A process that loses the lease stands by and for election again.
///
/// # Errors
/// What cannot be started with.
pub fn run(settings: ControllerSettings) -> anyhow::Result<()> {
    let format = match settings.flags.ours.log_json {
        true => log::LogFormat::Json,
        false => log::LogFormat::Klog,
    };
    let verbosity = u32::try_from(settings.flags.serving.verbosity.max(0)).unwrap_or(u32::MAX);
    let level = log::init(format, verbosity)?;
    for warning in &settings.warnings {
        tracing::warn!("{warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no runtime")?;
    let result = runtime.block_on(ControllerProcess::start_and_run(settings, level));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// What most parts need.
struct ControllerProcess {
    settings: ControllerSettings,
    clients: Clients,
    clock: MonotonicClock,
    metrics: Arc<ControllerMetrics>,
    status: Arc<DaemonStatus>,
    level: log::LevelHandle,
}

impl ControllerProcess {
    async fn start_and_run(
        settings: ControllerSettings,
        level: log::LevelHandle,
    ) -> anyhow::Result<()> {
        let connection = &settings.flags.connection;
        let options = ConnectOptions {
            master: Some(connection.master.clone()).filter(|master| !master.is_empty()),
            kubeconfig: Some(PathBuf::from(&connection.kubeconfig))
                .filter(|path| path != Path::new("")),
            user_agent: PROGRAM.to_owned(),
        };
        let process = Self {
            clients: client::connect(&options).await?,
            settings,
            clock: MonotonicClock::start(),
            metrics: Arc::new(ControllerMetrics::new()?),
            status: Arc::new(DaemonStatus::default()),
            level,
        };
        process.run().await
    }

    async fn run(self) -> anyhow::Result<()> {
        let mut end = EndSignals::listen()?;
        self.serve().await?;
        let (stop, stopped) = cell::channel(false);
        let (release, released) = cell::channel(false);
        let (elector, term) = self.elect(released)?;
        let (sender, inputs) = mpsc::channel(INPUTS);
        let Clients {
            reads,
            probe,
            contact,
            ..
        } = &self.clients;
        tokio::spawn(contact.clone().probe(probe.clone()));
        let options = ControllerWatchOptions::default();
        let watch = controllers::watch(reads, options, &sender, contact);
        let outlets = self.outlets(&term, &sender);
        let (writes, events) = (Arc::clone(&outlets.writes), Arc::clone(&outlets.events));
        let (configuration, configuration_at) = self.follow_configuration();
        let channels = WorkChannels {
            inputs,
            own_inputs: sender,
            configuration,
            configuration_at,
            term: term.clone(),
            stop: stopped,
        };
        let mut thread = self.start_thread(channels, outlets)?;
        let mut numbers = tokio::time::interval(WATCH_NUMBERS);
        let result = loop {
            tokio::select! {
                name = end.next() => {
                    tracing::info!("{name}: ending");
                    break Ok(());
                }
                _ = &mut thread => {
                    break Err(anyhow!("the thread of the controllers failed; its message is above"));
                }
                _ = numbers.tick() => self.publish_watch(&watch, &term),
            }
        };
        stop.send_replace(true);
        let ended = async {
            let drained = timeout(DRAIN, drain(&writes, &events)).await.is_ok();
            end_election(drained, &release, elector).await;
        };
        tokio::select! {
            () = ended => {}
            name = end.next() => tracing::warn!("{name} again: ending at once"),
        }
        result
    }

    async fn serve(&self) -> anyhow::Result<()> {
        let serving = &self.settings.flags.serving;
        let pages = ControllerPages {
            status: Arc::clone(&self.status),
            clock: self.clock,
            controllers: self.names(),
        };
        let endpoints = Endpoints {
            program: PROGRAM,
            metrics: serving
                .enable_metrics
                .then(|| RenderedMetrics::new(Arc::clone(&self.metrics) as _)),
            answers: Arc::new(pages),
            level: self.level.clone(),
            debug_open: serving.debug_open,
        };
        let api = self.clients.probe.clone();
        serving.open_ports(endpoints, api).await
    }

    /// Names of the controllers that run.
    fn names(&self) -> Vec<&'static str> {
        let made = self.settings.controllers.iter();
        made.filter(|one| one.make.is_some())
            .map(|one| one.name)
            .collect()
    }

    /// The election, when there is one, and the term it sets.
    fn elect(
        &self,
        mut released: cell::Receiver<bool>,
    ) -> anyhow::Result<(Option<JoinHandle<()>>, TermWatch)> {
        let holder = identity::lease_holder("pumice-controllers");
        let Some(settings) = self.settings.flags.lease.election(&holder) else {
            return Ok((None, TermWatch::always()));
        };
        let (elector, term) = Elector::new(self.clients.lease.clone(), settings)?;
        let stop = async move {
            let _ = released.wait_for(|released| *released).await;
        };
        Ok((Some(tokio::spawn(elector.run(stop))), term))
    }

    /// Where orders go.
    fn outlets(&self, term: &TermWatch, inputs: &mpsc::Sender<ManagerInput>) -> WorkOutlets {
        let flags = &self.settings.flags;
        let Clients {
            writes, contact, ..
        } = &self.clients;
        let meter = Arc::new(ControllerMeter(Arc::clone(&self.metrics)));
        let options = EffectOptions {
            events: flags.ours.events,
            event_lifetime: flags.ours.event_ttl,
            qps: flags.connection.kube_api_qps,
            burst: flags.connection.kube_api_burst,
            ..EffectOptions::new(EVENT_SOURCE)
        };
        let sight = Sight {
            contact: contact.clone(),
            ..Sight::default()
        };
        // Nothing but events is written this way, and they have no outcome.
        let (outcomes, _) = mpsc::unbounded_channel();
        let term_of_events = term.clone();
        let client = writes.clone();
        let events = effects::start(
            client,
            options,
            term_of_events,
            outcomes,
            meter.clone(),
            sight,
        );
        let options = WriteOptions {
            most_pods: flags.ours.concurrent_pods,
            qps: flags.connection.kube_api_qps,
            burst: flags.connection.kube_api_burst,
            ..WriteOptions::default()
        };
        let client = writes.clone();
        let writes = ControllerWrites::start(client, contact, term, options, inputs.clone(), meter);
        WorkOutlets {
            writes: Arc::new(writes),
            events: Arc::new(events),
        }
    }

    /// The controllers' configuration, and where it stands (spec/03 C7).
    fn follow_configuration(
        &self,
    ) -> (
        mpsc::Receiver<pumice_cluster::config_map::ConfigMapText>,
        ManagedRef,
    ) {
        let told = |name: &str, default: &str| {
            let value = std::env::var(name).ok().filter(|value| !value.is_empty());
            value.unwrap_or_else(|| default.to_owned())
        };
        let namespace = told("KUBE_POD_NAMESPACE", "volcano-system");
        let release = told("HELM_RELEASE_NAME", "volcano");
        let name = format!("{release}-controller-configmap");
        let client = self.clients.reads.clone();
        let texts = watch_config_map(client, &namespace, &name, CONFIGURATION_KEY);
        let at = ManagedRef::new(ManagedKind::ConfigMap, &namespace, &name);
        (texts, at)
    }

    fn start_thread(
        &self,
        channels: WorkChannels,
        outlets: WorkOutlets,
    ) -> anyhow::Result<oneshot::Receiver<()>> {
        let (selected, options) = (
            self.settings.controllers.clone(),
            self.settings.options.clone(),
        );
        tracing::info!("controllers: {}", self.names().join(", "));
        let (status, clock) = (Arc::clone(&self.status), self.clock);
        let numbers = ControllerNumbers {
            metrics: Arc::clone(&self.metrics),
        };
        let handle = tokio::runtime::Handle::current();
        let (sender, ended) = oneshot::channel();
        std::thread::Builder::new()
            .name("controllers".to_owned())
            .spawn(move || {
                let makers = selected.iter().filter_map(|one| one.make);
                let manager = Manager::new(makers.map(|make| make(&options)).collect());
                let work = WorkLoop::new(manager, channels, outlets, numbers, status, clock);
                handle.block_on(work.run());
                let _ = sender.send(());
            })
            .context("the thread of the controllers cannot be started")?;
        Ok(ended)
    }

    fn publish_watch(&self, watch: &ControllerWatch, term: &TermWatch) {
        self.metrics.leader(term.is_leader());
        let kinds = watch.kinds();
        for kind in &kinds {
            let numbers = KindNumbers {
                staleness: kind.last_contact_age.map(|age| age.as_secs_f64()),
                lost: kind.lost_for.unwrap_or_default().as_secs_f64(),
                failures: kind.counts.failures,
                unreadable: kind.counts.unreadable,
            };
            self.metrics.watch_kind(kind.kind, numbers);
        }
        let lost = kinds.iter().filter(|kind| kind.required);
        let lost: Vec<&str> = lost
            .filter(|kind| kind.lost_for.is_some_and(|time| time >= LOST))
            .map(|kind| kind.kind)
            .collect();
        let problem = (!lost.is_empty()).then(|| format!("not followed: {}", lost.join(", ")));
        self.status.set_lost(problem);
    }
}

/// Waits until nothing of ours is under way.
async fn drain(writes: &ControllerWrites, events: &Effects) {
    writes.close().await;
    events.idle().await;
}

/// Gives the lease back, unless a write may still be under way.
async fn end_election(
    drained: bool,
    release: &cell::Sender<bool>,
    elector: Option<JoinHandle<()>>,
) {
    let Some(elector) = elector else { return };
    if !drained {
        tracing::warn!(
            "some writes are still under way after {DRAIN:?}: the lease is not released, another \
             replica takes over when it runs out"
        );
        return elector.abort();
    }
    release.send_replace(true);
    let _ = timeout(DRAIN, elector).await;
}

/// Counts writes.
struct ControllerMeter(Arc<ControllerMetrics>);

impl WriteMeter for ControllerMeter {
    fn write(&self, verb: &'static str, kind: &'static str, result: &'static str, seconds: f64) {
        self.0.write(verb, kind, result, seconds);
    }
}

impl Meter for ControllerMeter {
    fn write(&self, _: &'static str, result: &'static str, seconds: f64) {
        // Counts of an event are patched, new ones created.
        self.0.write("create or patch", "Event", result, seconds);
    }

    fn suppressed_event(&self) {
        self.0.event_suppressed();
    }
}
