//! When the thread decides, and when it does not.

use pumice_conf::{PluginConf, Value};
use pumice_decider::Sharding;
use pumice_fixtures::ToDelta;
use pumice_model::object::PodObject;
use pumice_model::shard::ShardView;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::*;
use crate::journal::Journal;
use crate::publish::Out;
use crate::publish::tests::{config, gang, member, node, queue};

/// The question with which a configuration is taken over.
fn taken(config: Config) -> DecideCommand {
    let config = Box::new(config);
    let text = Some("a text".to_owned());
    DecideCommand::Configure { config, text }
}

/// A core that writes nowhere, and the other ends of its channels.
struct Bench {
    inputs: mpsc::Sender<WatchInput>,
    requests: mpsc::Sender<DecideRequest>,
    commands: mpsc::Sender<DecideCommand>,
    journal: Arc<Journal>,
}

/// Runs `test` beside a core on one thread.
fn beside_a_core(test: impl AsyncFnOnce(Bench)) {
    beside(Sharding::None, test);
}

fn beside(sharding: Sharding, test: impl AsyncFnOnce(Bench)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    let (inputs, input_receiver) = mpsc::channel(16);
    let (requests, request_receiver) = mpsc::channel(16);
    let (commands, command_receiver) = mpsc::channel(16);
    let (outcomes, outcome_receiver) = mpsc::unbounded_channel();
    let channels = Channels {
        inputs: input_receiver,
        outcomes: outcome_receiver,
        requests: request_receiver,
        commands: command_receiver,
        term: TermWatch::always(),
        picture: Picture::default(),
    };
    let options = DeciderOptions {
        period: Duration::from_secs(3600),
        sharding,
        dry_run: true,
        ..DeciderOptions::unlimited()
    };
    let journal = Arc::new(Journal::default());
    let metrics = Arc::new(pumice_admin::metrics::Metrics::new().expect("metrics"));
    let clock = DeciderClock::start();
    let publisher = Publisher::new(
        Out::Nowhere,
        journal.clone(),
        metrics,
        clock,
        Arc::default(),
    );
    let core = DecideLoop::new(
        options,
        channels,
        publisher,
        Arc::new(DaemonStatus::default()),
        clock,
        PastFeeds {
            recording: RecordingFeed::off(),
            history: HistoryFeed::off(),
        },
    );
    let bench = Bench {
        inputs,
        requests,
        commands,
        journal,
    };
    runtime.block_on(async {
        tokio::select! {
            () = core.run() => panic!("the core ends only with its inputs"),
            () = test(bench) => {}
        }
    });
    drop(outcomes);
}

impl Bench {
    async fn input(&self, input: WatchInput) {
        self.inputs.send(input).await.expect("the core listens");
    }

    /// Waits until the core has taken in everything sent before, and has had a turn after it.
    async fn round(&self) {
        for _ in 0..2 {
            let (reply, answer) = oneshot::channel();
            let request = DecideRequest::Snapshot(reply);
            self.requests.send(request).await.expect("the core listens");
            let _ = answer.await.expect("an answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until so many decisions were made.
    async fn decided(&self, count: usize) {
        let all = || {
            self.journal.json()["decisions"]
                .as_array()
                .map_or(0, Vec::len)
        };
        let enough = async {
            while all() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let waited = timeout(Duration::from_secs(30), enough).await;
        assert!(waited.is_ok(), "{} of {count}", all());
        assert_eq!(all(), count);
    }

    async fn configure(&self) {
        self.ask(taken(config())).await;
    }

    async fn ask(&self, command: DecideCommand) {
        self.commands.send(command).await.expect("the core listens");
    }
}

fn cluster(pods: impl IntoIterator<Item = PodObject>) -> WatchInput {
    let pods = pods.into_iter().map(ToDelta::delta);
    let around = [queue(), node("n1", 9000), gang(1)];
    WatchInput::Deltas(around.into_iter().chain(pods).collect())
}

#[test]
fn nothing_is_decided_before_all_lists_are_complete_and_the_configuration_is_there() {
    for configured_first in [true, false] {
        beside_a_core(async |bench| {
            bench.input(cluster([member("a")])).await;
            match configured_first {
                true => bench.configure().await,
                false => bench.input(WatchInput::Synced).await,
            }
            bench.round().await;
            bench.decided(0).await;
            match configured_first {
                true => bench.input(WatchInput::Synced).await,
                false => bench.configure().await,
            }
            bench.decided(1).await;
        });
    }
}

#[test]
fn while_devices_are_shared_nothing_is_decided_before_their_configuration_is_told() {
    let sharing = |name: &str| {
        let mut config = config();
        let name = Value::Str(name.to_owned());
        let arguments = [
            ("deviceshare.VGPUEnable".to_owned(), Value::Bool(true)),
            ("deviceshare.KnownGeometriesCMName".to_owned(), name),
        ];
        config.tiers[0].plugins.push(PluginConf {
            name: "deviceshare".to_owned(),
            arguments: arguments.into_iter().collect(),
            ..PluginConf::default()
        });
        taken(config)
    };
    let told = |name: &str, text: Option<&str>| DecideCommand::DeviceConfig {
        namespace: "kube-system".to_owned(),
        name: name.to_owned(),
        text: text.map(str::to_owned),
    };
    let pod = |name: &str| WatchInput::Deltas(vec![member(name).delta()]);
    beside_a_core(async |bench| {
        bench.ask(sharing("x")).await;
        bench.input(cluster([member("a")])).await;
        bench.input(WatchInput::Synced).await;
        bench.ask(told("y", None)).await;
        bench.round().await;
        bench.decided(0).await;
        bench.ask(told("x", None)).await;
        bench.decided(1).await;
        // The same place: what was told of it holds on.
        bench.ask(sharing("x")).await;
        bench.input(pod("b")).await;
        bench.decided(2).await;
        bench.ask(sharing("y")).await;
        bench.round().await;
        bench.input(pod("c")).await;
        bench.round().await;
        bench.decided(2).await;
        bench.ask(told("y", Some("vgpu: {}"))).await;
        bench.decided(3).await;
        bench.ask(sharing("x")).await;
        bench.configure().await;
        bench.input(pod("d")).await;
        bench.decided(4).await;
    });
}

#[test]
fn a_change_is_acted_on_at_once_and_not_after_the_period() {
    beside_a_core(async |bench| {
        bench.configure().await;
        bench.input(cluster([])).await;
        bench.input(WatchInput::Synced).await;
        bench.round().await;
        bench
            .input(WatchInput::Deltas(vec![member("a").delta()]))
            .await;
        bench.decided(1).await;
    });
}

#[test]
fn after_the_order_to_rest_questions_are_answered_and_nothing_is_decided() {
    beside_a_core(async |bench| {
        bench.configure().await;
        bench.input(cluster([])).await;
        bench.input(WatchInput::Synced).await;
        let (reply, rests) = oneshot::channel();
        bench
            .commands
            .send(DecideCommand::Rest(reply))
            .await
            .expect("the core listens");
        rests.await.expect("an answer");
        bench
            .input(WatchInput::Deltas(vec![member("a").delta()]))
            .await;
        bench.round().await;
        bench.decided(0).await;
    });
}

/// Nodes decided on, in order.
fn nodes(journal: &Journal) -> Vec<String> {
    let decisions = journal.json();
    let decisions = decisions["decisions"].as_array().cloned();
    let node = |entry: serde_json::Value| entry["node"].as_str().map(str::to_owned);
    decisions.into_iter().flatten().filter_map(node).collect()
}

fn own(names: &[&str]) -> WatchInput {
    WatchInput::Shard(ShardView {
        in_use: names.iter().map(|name| (*name).to_owned()).collect(),
        ..ShardView::default()
    })
}

#[test]
fn nodes_of_other_shards_are_used_never_or_last_and_stay_so_when_they_change() {
    let pod = |name: &str| WatchInput::Deltas(vec![member(name).delta()]);
    for (mode, first) in [(Sharding::Hard, &[][..]), (Sharding::Soft, &["n1"])] {
        beside(mode, async |bench| {
            bench.configure().await;
            bench.input(cluster([member("a")])).await;
            bench.input(own(&[])).await;
            bench.input(WatchInput::Synced).await;
            bench.round().await;
            assert_eq!(nodes(&bench.journal), first);
            // A node that comes later, and one that changes, belong to whom they belong.
            bench.input(own(&["n2"])).await;
            bench
                .input(WatchInput::Deltas(vec![node("n2", 2000), node("n1", 9500)]))
                .await;
            bench.input(pod("b")).await;
            bench.decided(2).await;
            let last = nodes(&bench.journal).pop();
            assert_eq!(last.as_deref(), Some("n2"));
        });
    }
}
