//! Puts the parts together, and takes them apart in order.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use pumice_admin::metrics::{ControllerMetrics, KindNumbers};
use pumice_cluster::client::Clients;
use pumice_cluster::config_map::watch_config_map;
use pumice_cluster::effects::{self, EffectOptions, Effects, Meter, Sight};
use pumice_cluster::follow::{FollowLimits, ReadWay};
use pumice_cluster::lease::TermWatch;
use pumice_controllers::runtime::{ManagedKind, ManagedRef, Manager, ManagerInput};
use pumice_process::{App, DaemonStatus, MonotonicClock, Running, Shell, ShellSettings};
use tokio::sync::{mpsc, oneshot, watch as cell};

use crate::follow::{self, ControllerWatch};
use crate::numbers::ControllerNumbers;
use crate::pages::ControllerPages;
use crate::settings::ControllerSettings;
use crate::work::{WorkChannels, WorkLoop, WorkOutlets};
use crate::writes::{ControllerWrites, WriteMeter, WriteOptions};

/// How others see this program.
const PROGRAM: &str = concat!("pumice-controllers/", env!("CARGO_PKG_VERSION"));

/// Inputs that may wait for the thread before the watch waits too.
const INPUTS: usize = 4096;

/// A required kind that is not followed for so long makes the process not ready.
const LOST: Duration = Duration::from_secs(10);

/// Source of events, as in Volcano.
const EVENT_SOURCE: &str = "vc-controller-manager";

/// Key of the controllers' configuration.
const CONFIGURATION_KEY: &str = "volcano-controller.conf";

/// Runs until told to end. A process that loses the lease stands by and for election again.
///
/// # Errors
/// What cannot be started with.
pub fn run(settings: ControllerSettings) -> anyhow::Result<()> {
    pumice_process::run(ControllersApp(settings))
}

/// The controllers, not yet started.
struct ControllersApp(ControllerSettings);

impl App for ControllersApp {
    type Running = RunningControllers;

    fn settings(&self) -> ShellSettings {
        let flags = &self.0.flags;
        ShellSettings {
            name: "pumice-controllers",
            program: PROGRAM,
            connection: flags.connection.clone(),
            lease: flags.lease.clone(),
            stands: true,
            serving: flags.serving.clone(),
            log_json: flags.ours.log_json,
            warnings: self.0.warnings.clone(),
        }
    }

    async fn start(self, shell: &mut Shell) -> anyhow::Result<RunningControllers> {
        let process = ControllerProcess {
            clients: shell.clients.clone(),
            settings: self.0,
            clock: MonotonicClock::start(),
            metrics: Arc::new(ControllerMetrics::new()?),
            status: Arc::clone(&shell.status),
        };
        process.start(shell).await
    }
}

/// What most parts need.
struct ControllerProcess {
    settings: ControllerSettings,
    clients: Clients,
    clock: MonotonicClock,
    metrics: Arc<ControllerMetrics>,
    status: Arc<DaemonStatus>,
}

/// The parts that run.
struct RunningControllers {
    process: ControllerProcess,
    thread: oneshot::Receiver<()>,
    watch: ControllerWatch,
    term: TermWatch,
    /// Tells the thread to end.
    stop: cell::Sender<bool>,
    writes: Arc<ControllerWrites>,
    events: Arc<Effects>,
}

impl Running for RunningControllers {
    async fn failed(&mut self) -> anyhow::Error {
        let _ = (&mut self.thread).await;
        anyhow!("the thread of the controllers failed; its message is above")
    }

    fn publish(&mut self) {
        self.process.publish_watch(&self.watch, &self.term);
    }

    async fn rest(&mut self) {
        self.stop.send_replace(true);
        self.writes.close().await;
        self.events.idle().await;
    }
}

impl ControllerProcess {
    async fn start(self, shell: &mut Shell) -> anyhow::Result<RunningControllers> {
        let pages = ControllerPages {
            status: Arc::clone(&self.status),
            clock: self.clock,
            controllers: self.names(),
        };
        let metrics = Arc::clone(&self.metrics) as _;
        shell.serve(Arc::new(pages), metrics, None).await?;
        let term = shell.elect().await?;
        let (stop, stopped) = cell::channel(false);
        let (sender, inputs) = mpsc::channel(INPUTS);
        let way = ReadWay::from(&self.clients);
        let watch = follow::watch(&way, &FollowLimits::default(), &sender);
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
        let thread = self.start_thread(channels, outlets)?;
        Ok(RunningControllers {
            process: self,
            thread,
            watch,
            term,
            stop,
            writes,
            events,
        })
    }

    /// Names of the controllers that run.
    fn names(&self) -> Vec<&'static str> {
        let made = self.settings.controllers.iter();
        made.filter(|one| one.make.is_some())
            .map(|one| one.name)
            .collect()
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
        let way = ReadWay::from(&self.clients);
        let texts = watch_config_map(way, &namespace, &name, CONFIGURATION_KEY);
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
