//! Puts the parts together, and takes them apart in order.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::{Context, anyhow};
use pumice_admin::http::{Endpoints, RenderedMetrics};
use pumice_admin::log;
use pumice_admin::metrics::Metrics;
use pumice_cluster::PluginProgress;
use pumice_cluster::client::{self, Clients, ConnectOptions};
use pumice_cluster::effects::{self, EffectOptions, Effects, Ensured, Sight};
use pumice_cluster::lease::{Elector, TermWatch};
use pumice_cluster::ring::Ring;
use pumice_cluster::watch::{self, WatchInput, WatchOptions};
use pumice_decider::{DeciderOptions, Sharding};
use pumice_devices::FAMILIES;
use pumice_process::{EndSignals, identity};
use tokio::sync::{Notify, mpsc, watch as cell};
use tokio::task::JoinHandle;

use crate::admin_api::AdminApi;
use crate::clock::DeciderClock;
use crate::conf::{self, ConfFollower, ConfInUse};
use crate::decide::{Channels, DecideCommand, DecideLoop, DecideRequest};
use crate::device_config;
use crate::extender::{ExtenderFeed, ExtenderFollower};
use crate::journal::Journal;
use crate::level_socket;
use crate::node_reports;
use crate::node_usage::UsageFollower;
use crate::notices::{self, Notice, Notices};
use crate::pod_traces::{self, TraceFeed, TraceSink};
use crate::publish::{Meters, Out, Publisher};
use crate::settings::DaemonSettings;
use crate::shutdown::Shutdown;
use crate::signals;
use crate::watch_metrics::{self, WatchMetrics};
use pumice_process::DaemonStatus;

/// How others see this program.
const PROGRAM: &str = concat!("pumice-scheduler/", env!("CARGO_PKG_VERSION"));

/// Changes that may wait for the deciding thread before the watch waits too.
const INPUTS: usize = 1024;

/// Pause before the default queues are made again, when they could not be.
const QUEUES_RETRY: Duration = Duration::from_secs(30);

/// Pause before a default queue that was deleted is made again: nobody is fought faster.
const QUEUES_PAUSE: Duration = Duration::from_secs(1);

/// How often the numbers of the watch are published.
const WATCH_NUMBERS: Duration = Duration::from_secs(5);

/// Runs until told to end. A process that loses the lease decides and writes nothing, follows what
/// happens, and stands for election again.
///
/// # Errors
/// What cannot be started with; an invalid configuration with `--disable-default-scheduler-config`.
pub fn run(settings: DaemonSettings) -> anyhow::Result<()> {
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
    let result = runtime.block_on(Daemon::start_and_run(Arc::new(settings), level));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// What most parts need.
struct Daemon {
    settings: Arc<DaemonSettings>,
    clients: Clients,
    clock: DeciderClock,
    metrics: Arc<Metrics>,
    status: Arc<DaemonStatus>,
    journal: Arc<Journal>,
    in_use: Arc<RwLock<Option<ConfInUse>>>,
    level: log::LevelHandle,
    traces: TraceSink,
}

impl Daemon {
    async fn start_and_run(
        settings: Arc<DaemonSettings>,
        level: log::LevelHandle,
    ) -> anyhow::Result<()> {
        let connection = &settings.flags.connection;
        let options = ConnectOptions {
            master: Some(connection.master.clone()).filter(|master| !master.is_empty()),
            kubeconfig: Some(PathBuf::from(&connection.kubeconfig))
                .filter(|path| path != Path::new("")),
            user_agent: PROGRAM.to_owned(),
        };
        let metrics = Metrics::new()?;
        metrics.declare_cards(FAMILIES.iter().flat_map(|family| family.gauges))?;
        let (metrics, clock) = (Arc::new(metrics), DeciderClock::start());
        let daemon = Self {
            clients: client::connect(&options).await?,
            traces: pod_traces::start(&settings, PROGRAM, clock, &metrics)?,
            settings,
            clock,
            metrics,
            status: Arc::new(DaemonStatus::default()),
            journal: Arc::new(Journal::default()),
            in_use: Arc::new(RwLock::new(None)),
            level,
        };
        daemon.run().await
    }

    async fn run(self) -> anyhow::Result<()> {
        let mut end = EndSignals::listen()?;
        let (request_sender, requests) = mpsc::channel(64);
        let (command_sender, commands) = mpsc::channel(64);
        self.serve(request_sender.clone()).await?;
        let flags = &self.settings.flags;
        let folder = flags.dumps.cache_dump_dir.clone();
        let folder = flags.dumps.cache_dumper.then_some(folder);
        signals::dump_on_demand(folder, request_sender, self.clock)?;

        let (stop, stopped) = cell::channel(false);
        let (elector, term) = self.elect(stopped)?;
        let (input_sender, inputs) = mpsc::channel(INPUTS);
        tokio::spawn(watch_metrics::probe(input_sender.clone(), WATCH_NUMBERS));
        let (watch, sight) = self.watch(input_sender)?;
        // Bounded by what the decider has handed in: see `decide::MAX_OUTCOMES`.
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let effects = self.effects(&term, outcome_sender, sight);
        let queue_gone = Arc::new(Notify::new());
        self.make_queues(&term, Arc::clone(&queue_gone));
        tokio::spawn(level_socket::serve(self.level.clone(), term.clone()));
        let channels = Channels {
            inputs,
            outcomes,
            requests,
            commands,
            term: term.clone(),
            picture: watch.picture(),
        };
        let (mut core, extender) = self.start_core(channels, effects.clone(), queue_gone)?;
        let notices = self.write_notices(effects.clone(), &term);
        let mut follower =
            self.follow_configuration(command_sender.clone(), extender, notices.clone());
        let shutdown = Shutdown {
            core: command_sender,
            effects,
            stop,
            elector,
        };
        let patience = self.settings.flags.scheduling.resource_sync_timeout;
        let mut watch_metrics = WatchMetrics::new(patience, notices);
        let mut numbers = tokio::time::interval(WATCH_NUMBERS);
        let result = loop {
            tokio::select! {
                name = end.next() => {
                    tracing::info!("{name}: ending");
                    break Ok(());
                }
                result = &mut follower => match result {
                    // The built-in configuration does not change.
                    Ok(Ok(())) => follower = tokio::spawn(std::future::pending()),
                    Ok(Err(error)) => break Err(error),
                    Err(error) => break Err(error.into()),
                },
                gone = &mut core => break Err(match gone {
                    Ok(()) => anyhow!("the deciding thread ended"),
                    Err(_) => anyhow!("the deciding thread failed; its message is above"),
                }),
                _ = numbers.tick() => self.publish_watch(&mut watch_metrics, &watch, &term),
            }
        };
        tokio::select! {
            () = shutdown.orderly() => {}
            name = end.next() => tracing::warn!("{name} again: ending at once"),
        }
        result
    }

    async fn serve(&self, core: mpsc::Sender<DecideRequest>) -> anyhow::Result<()> {
        let serving = &self.settings.flags.serving;
        let api = AdminApi {
            status: Arc::clone(&self.status),
            in_use: Arc::clone(&self.in_use),
            journal: Arc::clone(&self.journal),
            core,
            dumping: Default::default(),
            clock: self.clock,
        };
        let endpoints = Endpoints {
            program: PROGRAM,
            metrics: serving
                .enable_metrics
                .then(|| RenderedMetrics::new(Arc::clone(&self.metrics) as _)),
            answers: Arc::new(api),
            level: self.level.clone(),
            debug_open: serving.debug_open,
        };
        let api = self.clients.probe.clone();
        serving.open_ports(endpoints, api).await
    }

    /// The election, when there is one, and the term it sets.
    fn elect(
        &self,
        mut stopped: cell::Receiver<bool>,
    ) -> anyhow::Result<(Option<JoinHandle<()>>, TermWatch)> {
        let settings = self
            .settings
            .flags
            .lease
            .election(&identity::lease_holder("pumice-scheduler"));
        let Some(settings) = settings.filter(|_| !self.settings.flags.ours.dry_run) else {
            return Ok((None, TermWatch::always()));
        };
        let (elector, term) = Elector::new(self.clients.lease.clone(), settings)?;
        let stop = async move {
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        Ok((Some(tokio::spawn(elector.run(stop))), term))
    }

    /// Starts to watch, and what is known of the API server.
    fn watch(
        &self,
        inputs: mpsc::Sender<WatchInput>,
    ) -> anyhow::Result<(watch::WatchHandle, Sight)> {
        let Clients {
            reads,
            probe,
            contact,
            ..
        } = &self.clients;
        tokio::spawn(contact.clone().probe(probe.clone()));
        let patience = self.effect_options().plugin_patience;
        let dry_run = self.settings.flags.ours.dry_run;
        let progress = (!dry_run).then(|| PluginProgress::new(patience));
        let options = self.watch_options()?;
        let watch = watch::start(reads.clone(), options, inputs, contact, progress.as_ref());
        let sight = Sight {
            contact: contact.clone(),
            picture: watch.picture(),
            progress,
        };
        Ok((watch, sight))
    }

    fn effects(
        &self,
        term: &TermWatch,
        outcomes: mpsc::UnboundedSender<effects::Outcome>,
        sight: Sight,
    ) -> Option<Arc<Effects>> {
        let flags = &self.settings.flags;
        if flags.ours.dry_run {
            return None;
        }
        let meter = Arc::new(Meters {
            metrics: Arc::clone(&self.metrics),
            traces: self.traces.clone(),
        });
        let client = self.clients.writes.clone();
        let effects = effects::start(
            client,
            self.effect_options(),
            term.clone(),
            outcomes,
            meter,
            sight,
        );
        Some(Arc::new(effects))
    }

    fn effect_options(&self) -> EffectOptions {
        let flags = &self.settings.flags;
        EffectOptions {
            events: flags.ours.events,
            event_lifetime: flags.ours.event_ttl,
            bind_timeout: flags.ours.bind_timeout,
            eviction_method: flags.ours.eviction_method,
            qps: flags.connection.kube_api_qps,
            burst: flags.connection.kube_api_burst,
            ..EffectOptions::new(self.settings.event_source())
        }
    }

    fn watch_options(&self) -> anyhow::Result<WatchOptions> {
        let settings = &self.settings;
        let scheduling = &settings.flags.scheduling;
        let ring = settings.member.as_ref();
        let ring = ring.map(|member| Ring::new(&member.name, member.count as usize));
        let sharded = settings.sharding != Sharding::None;
        Ok(WatchOptions {
            scheduler_names: scheduling.scheduler_name.clone(),
            annotations: pumice_engine::annotations_read(),
            node_selector: settings.node_selector.clone(),
            ring: ring.transpose()?,
            workloads: settings.workloads,
            priority_class: settings.priority_classes,
            numatopologies: settings.numatopologies,
            csi: scheduling.csi_storage,
            shard: sharded.then(|| scheduling.scheduler_sharding_name.clone()),
            group_controller: settings.group_controller.clone(),
            grace: settings.flags.ours.watch_grace,
            ..WatchOptions::default()
        })
    }

    /// Makes the queues every cluster has, once this replica may write, and again when somebody
    /// deletes one.
    fn make_queues(&self, term: &TermWatch, gone: Arc<Notify>) {
        if self.settings.flags.ours.dry_run {
            return;
        }
        let client = self.clients.writes.clone();
        let queue = self.settings.flags.scheduling.default_queue.clone();
        let mut term = term.clone();
        tokio::spawn(async move {
            loop {
                term.leading().await;
                match effects::ensure_queues(&client, &term, &queue).await {
                    Ok(Ensured::Present) => {
                        gone.notified().await;
                        tracing::warn!(
                            "queue root or {queue} was deleted: made again, since nothing can be \
                             placed without it"
                        );
                        tokio::time::sleep(QUEUES_PAUSE).await;
                        continue;
                    }
                    // The term may be too short for a request at this moment.
                    Ok(Ensured::NoTerm) => {}
                    Ok(Ensured::NoQueueKind) => {
                        tracing::debug!("there is no kind Queue: queues are made when it appears");
                    }
                    Err(error) => tracing::error!("{error}"),
                }
                tokio::time::sleep(QUEUES_RETRY).await;
            }
        });
    }

    fn start_core(
        &self,
        channels: Channels,
        effects: Option<Arc<Effects>>,
        queue_gone: Arc<Notify>,
    ) -> anyhow::Result<(CoreThread, ExtenderFeed)> {
        let flags = &self.settings.flags;
        let dry_run = effects.is_none();
        let mut publisher = Publisher::new(
            effects.map_or(Out::Nowhere, Out::Effects),
            Arc::clone(&self.journal),
            Arc::clone(&self.metrics),
            self.clock,
            queue_gone,
        );
        publisher.traces = TraceFeed::new(self.traces.clone());
        let extender = publisher.extender_feed();
        let options = DeciderOptions {
            default_queue: flags.scheduling.default_queue.clone(),
            ignored_provisioners: flags.scheduling.ignored_provisioners.clone(),
            period: flags.scheduling.schedule_period,
            event_lifetime: flags.ours.event_ttl,
            sharding: self.settings.sharding,
            gang_deadline: flags.ours.partial_gang_deadline,
            job_work_limit: Some(flags.ours.job_work_limit).filter(|limit| *limit > 0),
            full_check: flags.ours.full_check_interval,
            dry_run,
        };
        let (status, clock) = (Arc::clone(&self.status), self.clock);
        let (sender, ended) = tokio::sync::oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()?;
        std::thread::Builder::new()
            .name("engine".to_owned())
            .spawn(move || {
                // The engine is made here: it never leaves its thread.
                let decide = DecideLoop::new(options, channels, publisher, status, clock);
                runtime.block_on(decide.run());
                let _ = sender.send(());
            })
            .context("the deciding thread cannot be started")?;
        Ok((ended, extender))
    }

    fn follow_configuration(
        &self,
        core: mpsc::Sender<DecideCommand>,
        extender: ExtenderFeed,
        notices: mpsc::Sender<Notice>,
    ) -> JoinHandle<anyhow::Result<()>> {
        let source = &self.settings.conf;
        self.status
            .set_configuration_problem(Some("the configuration is not read yet".to_owned()));
        let (devices, places) = cell::channel(None);
        let reads = self.clients.reads.clone();
        tokio::spawn(device_config::follow(reads, places, core.clone()));
        let (reports, places) = cell::channel(Vec::new());
        let reads = self.clients.reads.clone();
        tokio::spawn(node_reports::follow(reads, places, core.clone()));
        let (usage, source_of_usage) = cell::channel(None);
        let usage_follower = UsageFollower {
            api: self.clients.reads.clone(),
            user_agent: PROGRAM.to_owned(),
            source: source_of_usage,
            core: core.clone(),
            metrics: Arc::clone(&self.metrics),
            notices: notices.clone(),
            clock: self.clock,
        };
        tokio::spawn(usage_follower.run());
        let extender_follower = ExtenderFollower {
            user_agent: PROGRAM.to_owned(),
            period: self.settings.flags.scheduling.schedule_period,
            core: core.clone(),
            metrics: Arc::clone(&self.metrics),
            notices: notices.clone(),
        };
        tokio::spawn(extender_follower.run(extender));
        let follower = ConfFollower {
            name: conf::name(source),
            strict: self
                .settings
                .flags
                .scheduling
                .disable_default_scheduler_config,
            core,
            devices,
            reports,
            usage,
            status: Arc::clone(&self.status),
            in_use: Arc::clone(&self.in_use),
            metrics: Arc::clone(&self.metrics),
            notices,
        };
        tokio::spawn(follower.run(conf::texts(source, &self.clients.reads)))
    }

    /// Where notices for operators go; nowhere in a dry run.
    fn write_notices(
        &self,
        effects: Option<Arc<Effects>>,
        term: &TermWatch,
    ) -> mpsc::Sender<Notice> {
        let (sender, receiver) = mpsc::channel(notices::MOST_WAITING);
        if let Some(effects) = effects {
            let notices = Notices {
                client: self.clients.reads.clone(),
                effects,
                term: term.clone(),
                source: self.settings.conf.clone(),
                again: self.settings.flags.ours.event_ttl / 2,
            };
            tokio::spawn(notices.run(receiver));
        }
        sender
    }

    fn publish_watch(
        &self,
        watch_metrics: &mut WatchMetrics,
        watch: &watch::WatchHandle,
        term: &TermWatch,
    ) {
        let leads = term.is_leader() && !self.settings.flags.ours.dry_run;
        self.metrics.leader(leads);
        let kinds = watch.kinds();
        watch_metrics.publish(&self.metrics, &kinds);
        if let Some(waits) = watch_metrics.overdue(&kinds) {
            tracing::warn!("nothing is scheduled yet, the first lists are not complete: {waits}");
        }
    }
}

/// Ends with the deciding thread; an error when it panicked.
type CoreThread = tokio::sync::oneshot::Receiver<()>;
