//! Puts the parts together, and takes them apart in order.

use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use anyhow::{Context, anyhow};
use pumice_admin::metrics::Metrics;
use pumice_cluster::PluginProgress;
use pumice_cluster::client::Clients;
use pumice_cluster::effects::{self, EffectOptions, Effects, Ensured, Sight};
use pumice_cluster::follow::ReadWay;
use pumice_cluster::hash_ring::Ring;
use pumice_cluster::lease::TermWatch;
use pumice_cluster::watch::{self, WatchInput, WatchOptions};
use pumice_decider::beside::BesideBook;
use pumice_decider::{DeciderOptions, Sharding};
use pumice_devices::FAMILIES;
use pumice_model::KeptTopic;
use pumice_process::{App, DaemonStatus, NUMBERS, Running, Shell, ShellSettings};
use tokio::sync::{Notify, mpsc, watch as cell};
use tokio::task::JoinHandle;

use crate::admin_api::AdminApi;
use crate::admin_api::KeptPast;
use crate::clock::DeciderClock;
use crate::commands::DecideCommand;
use crate::conf::{self, ConfFollower, ConfInUse};
use crate::copied_answers::Questions;
use crate::decide::PastFeeds;
use crate::decide::{Channels, DecideLoop};
use crate::device_config;
use crate::extender::{ExtenderFeed, ExtenderFollower};
use crate::history;
use crate::journal::Journal;
use crate::kept_map;
use crate::level_socket;
use crate::mix_map;
use crate::node_advice::NodeAdvice;
use crate::node_reports;
use crate::node_usage::UsageFollower;
use crate::notices::{self, Notice, Notices};
use crate::own_page;
use crate::pod_traces::{self, TraceFeed, TraceSink};
use crate::publish::{Meters, Out, Publisher};
use crate::recording;
use crate::requests::DecideRequest;
use crate::settings::DaemonSettings;
use crate::shared_copy::SharedCopy;
use crate::shutdown::Shutdown;
use crate::signals;
use crate::watch_metrics::{self, WatchMetrics};

/// How others see this program.
const PROGRAM: &str = concat!("pumice-scheduler/", env!("CARGO_PKG_VERSION"));

/// Changes that may wait for the deciding thread before the watch waits too.
const INPUTS: usize = 1024;

/// Pause before the default queues are made again, when they could not be.
const QUEUES_RETRY: Duration = Duration::from_secs(30);

/// Pause before a default queue that was deleted is made again: nobody is fought faster.
const QUEUES_PAUSE: Duration = Duration::from_secs(1);

/// Runs until told to end. A process that loses the lease decides and writes nothing, follows what
/// happens, and stands for election again.
///
/// # Errors
/// What cannot be started with; an invalid configuration with `--disable-default-scheduler-config`.
pub fn run(settings: DaemonSettings) -> anyhow::Result<()> {
    pumice_process::run(SchedulerApp(Arc::new(settings)))
}

/// The scheduler, not yet started.
struct SchedulerApp(Arc<DaemonSettings>);

impl App for SchedulerApp {
    type Running = RunningDaemon;

    fn settings(&self) -> ShellSettings {
        let flags = &self.0.flags;
        ShellSettings {
            name: "pumice-scheduler",
            program: PROGRAM,
            connection: flags.connection.clone(),
            lease: flags.lease.clone(),
            stands: !flags.ours.dry_run,
            serving: flags.serving.clone(),
            log_json: flags.ours.log_json,
            warnings: self.0.warnings.clone(),
        }
    }

    async fn start(self, shell: &mut Shell) -> anyhow::Result<RunningDaemon> {
        let metrics = Metrics::new()?;
        metrics.declare_cards(FAMILIES.iter().flat_map(|family| family.gauges))?;
        let (metrics, clock) = (Arc::new(metrics), DeciderClock::start());
        let beside = self.0.flags.ours.dry_run.then(Arc::default);
        let daemon = Daemon {
            clients: shell.clients.clone(),
            traces: pod_traces::start(&self.0, PROGRAM, clock, &metrics)?,
            settings: self.0,
            clock,
            metrics,
            status: Arc::clone(&shell.status),
            journal: Arc::new(Journal::default()),
            beside,
            in_use: Arc::new(RwLock::new(None)),
        };
        daemon.start(shell).await
    }
}

/// What most parts need.
struct Daemon {
    settings: Arc<DaemonSettings>,
    clients: Clients,
    clock: DeciderClock,
    metrics: Arc<Metrics>,
    status: Arc<DaemonStatus>,
    journal: Arc<Journal>,
    beside: Option<Arc<Mutex<BesideBook>>>,
    in_use: Arc<RwLock<Option<ConfInUse>>>,
    traces: TraceSink,
}

/// The parts that run.
struct RunningDaemon {
    daemon: Daemon,
    core: CoreThread,
    follower: JoinHandle<anyhow::Result<()>>,
    watch: watch::WatchHandle,
    watch_metrics: WatchMetrics,
    term: TermWatch,
    shutdown: Shutdown,
}

impl Running for RunningDaemon {
    async fn failed(&mut self) -> anyhow::Error {
        loop {
            tokio::select! {
                result = &mut self.follower => match result {
                    // The built-in configuration does not change.
                    Ok(Ok(())) => self.follower = tokio::spawn(std::future::pending()),
                    Ok(Err(error)) => return error,
                    Err(error) => return error.into(),
                },
                gone = &mut self.core => return match gone {
                    Ok(()) => anyhow!("the deciding thread ended"),
                    Err(_) => anyhow!("the deciding thread failed; its message is above"),
                },
            }
        }
    }

    fn publish(&mut self) {
        self.daemon
            .publish_watch(&mut self.watch_metrics, &self.watch, &self.term);
    }

    async fn rest(&mut self) {
        self.shutdown.rest().await;
    }
}

impl Daemon {
    async fn start(self, shell: &mut Shell) -> anyhow::Result<RunningDaemon> {
        let (request_sender, requests) = mpsc::channel(64);
        let (command_sender, commands) = mpsc::channel(64);
        let metrics = Arc::clone(&self.metrics);
        let (recording, ring) = recording::start(&self.settings.recording, PROGRAM, metrics)?;
        let (history, shelf) = history::start(&self.settings.history);
        let kept = KeptPast {
            recording: ring,
            history: shelf,
        };
        let questions = Questions::new(self.settings.flags.ours.plan_time);
        let pages = self.pages(request_sender.clone(), kept, questions.clone());
        let pages = Arc::new(pages);
        let ui = self.settings.flags.ours.enable_ui;
        let ui = ui.then(|| own_page::pages(Arc::clone(&pages), PROGRAM));
        let metrics = Arc::clone(&self.metrics) as _;
        shell.serve(pages, metrics, ui.transpose()?).await?;
        let flags = &self.settings.flags;
        let folder = flags.dumps.cache_dump_dir.clone();
        let folder = flags.dumps.cache_dumper.then_some(folder);
        signals::dump_on_demand(folder, request_sender.clone(), self.clock)?;

        let term = shell.elect().await?;
        let (input_sender, inputs) = mpsc::channel(INPUTS);
        tokio::spawn(watch_metrics::probe(input_sender.clone(), NUMBERS));
        let (watch, sight) = self.watch(input_sender)?;
        // Bounded by what the decider has handed in: see `decide::MAX_OUTCOMES`.
        let (outcome_sender, outcomes) = mpsc::unbounded_channel();
        let effects = self.effects(&term, outcome_sender, sight);
        let queue_gone = Arc::new(Notify::new());
        self.make_queues(&term, Arc::clone(&queue_gone));
        self.advise(questions, request_sender, effects.as_ref(), &term);
        tokio::spawn(level_socket::serve(shell.level.clone(), term.clone()));
        let channels = Channels {
            inputs,
            outcomes,
            requests,
            commands,
            term: term.clone(),
            picture: watch.picture(),
        };
        let (core, extender) = self.start_core(
            channels,
            effects.clone(),
            queue_gone,
            PastFeeds { recording, history },
        )?;
        let notices = self.write_notices(effects.clone(), &term);
        let follower = self.follow_configuration(command_sender.clone(), extender, notices.clone());
        let patience = self.settings.flags.scheduling.resource_sync_timeout;
        Ok(RunningDaemon {
            daemon: self,
            core,
            follower,
            watch,
            watch_metrics: WatchMetrics::new(patience, notices),
            term,
            shutdown: Shutdown {
                core: command_sender,
                effects,
            },
        })
    }

    fn pages(
        &self,
        core: mpsc::Sender<DecideRequest>,
        kept: KeptPast,
        questions: Questions,
    ) -> AdminApi {
        AdminApi {
            status: Arc::clone(&self.status),
            in_use: Arc::clone(&self.in_use),
            journal: Arc::clone(&self.journal),
            beside: self.beside.clone(),
            core,
            dumping: Default::default(),
            shared_copy: SharedCopy::default(),
            questions,
            kept,
            asking_history: Default::default(),
            clock: self.clock,
        }
    }

    /// Starts to watch, and what is known of the API server.
    fn watch(
        &self,
        inputs: mpsc::Sender<WatchInput>,
    ) -> anyhow::Result<(watch::WatchHandle, Sight)> {
        let patience = self.effect_options().plugin_patience;
        let dry_run = self.settings.flags.ours.dry_run;
        let progress = (!dry_run).then(|| PluginProgress::new(patience));
        let options = self.watch_options()?;
        let way = ReadWay::from(&self.clients);
        let watch = watch::start(way, options, inputs, progress.as_ref());
        let sight = Sight {
            contact: self.clients.contact.clone(),
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

    /// Tells which nodes would help, if that is asked for.
    fn advise(
        &self,
        questions: Questions,
        core: mpsc::Sender<DecideRequest>,
        effects: Option<&Arc<Effects>>,
        term: &TermWatch,
    ) {
        let pause = self.settings.flags.ours.node_advice;
        if let Some(effects) = effects.filter(|_| !pause.is_zero()) {
            let advice = NodeAdvice {
                questions,
                core,
                effects: Arc::clone(effects),
                term: term.clone(),
                metrics: Arc::clone(&self.metrics),
                pause,
            };
            tokio::spawn(advice.run());
        }
    }

    fn start_core(
        &self,
        channels: Channels,
        effects: Option<Arc<Effects>>,
        queue_gone: Arc<Notify>,
        feeds: PastFeeds,
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
        publisher.beside = self.beside.clone();
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
                let decide = DecideLoop::new(options, channels, publisher, status, clock, feeds);
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
        let way = ReadWay::from(&self.clients);
        tokio::spawn(device_config::follow(way.clone(), places, core.clone()));
        let (mix, places) = cell::channel(None);
        tokio::spawn(mix_map::follow(way.clone(), places, core.clone()));
        let kept = KeptTopic::ALL.map(|topic| {
            let (kept, places) = cell::channel(None);
            tokio::spawn(kept_map::follow(topic, way.clone(), places, core.clone()));
            (topic, kept)
        });
        let (reports, places) = cell::channel(Vec::new());
        tokio::spawn(node_reports::follow(way.clone(), places, core.clone()));
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
            mix,
            kept,
            reports,
            usage,
            status: Arc::clone(&self.status),
            in_use: Arc::clone(&self.in_use),
            metrics: Arc::clone(&self.metrics),
            notices,
        };
        tokio::spawn(follower.run(conf::texts(source, &way)))
    }

    /// Where notices for operators go; nowhere in a dry run.
    fn write_notices(
        &self,
        effects: Option<Arc<Effects>>,
        term: &TermWatch,
    ) -> mpsc::Sender<Notice> {
        let (sender, receiver) = mpsc::channel(notices::MAX_WAITING);
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
