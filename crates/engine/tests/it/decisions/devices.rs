//! Shared cards over the life of a pod: reserved, assumed while its Binding is on its way, read back
//! from its annotations; given back exactly.

use pumice_conf::parse;
use pumice_devices::{AnnotationValue, LedgerTime, NodeDevices};
use pumice_engine::Engine;
use pumice_framework::Bind;
use pumice_model::object::{
    ContainerFacts, ContainerKind, GroupPhase, NodeObject, Pairs, PodObject, QueueState,
};
use pumice_model::{Delta, NoteAbout, TaskStatus};

use super::cluster::*;
use super::views::pod_view;

const REGISTER: &str = "volcano.sh/node-vgpu-register";
const IDS: &str = "volcano.sh/vgpu-ids-new";

pub const CONF: &str = "actions: \"enqueue, allocate, backfill\"\n\
                    tiers: [{plugins: [{name: gang}, {name: predicates}, {name: deviceshare, \
                    arguments: {deviceshare.VGPUEnable: true, \
                    deviceshare.SchedulePolicy: binpack}}]}]\n";

fn cards(node: NodeObject, register: &str) -> NodeObject {
    node.device_annotations(&[(REGISTER, register)])
}

/// Two P40 that hosts share.
pub fn two_cards(name: &str) -> NodeObject {
    let allocatable = "8c 64Gi pods=20 volcano.sh/vgpu-number=20 volcano.sh/vgpu-memory=49152 \
                       volcano.sh/vgpu-cores=200";
    let register = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                    GPU-bb,10,24576,NVIDIA-Tesla P40,true,hami-core:";
    cards(node(name, allocatable), register)
}

/// One A100 that is split.
pub fn split_card(name: &str) -> NodeObject {
    let allocatable = "8c 64Gi pods=20 volcano.sh/vgpu-number=10 volcano.sh/vgpu-memory=40960 \
                       volcano.sh/vgpu-cores=100";
    let register = "GPU-m0,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
    cards(node(name, allocatable), register)
}

/// A pod of one container that asks all this.
fn asking(name: &str, text: &str) -> PodObject {
    let mut pod = pod(name, text);
    let extended = |(name, _): &&(String, i64)| name.contains('/');
    pod.facts.containers.push(ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: pod.request.iter().filter(extended).cloned().collect(),
    });
    pod
}

/// A pod of one container that asks a vGPU with this much memory.
pub fn vgpu(name: &str, memory: i64) -> PodObject {
    let text = format!("1c volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory={memory}");
    asking(name, &text)
}

pub fn holding(ids: &str, pod: PodObject) -> PodObject {
    pod.records(&[(IDS, ids)])
}

/// The allocation a decision writes.
fn ids(bind: &Bind) -> String {
    let mut written = bind.devices.iter().flat_map(|written| &written.annotations);
    let annotation = written.find(|annotation| annotation.key == IDS);
    let text = annotation.and_then(|annotation| match &annotation.value {
        AnnotationValue::Text(text) => Some(text.clone()),
        _ => None,
    });
    text.expect("an allocation")
}

/// One cycle whose Bindings nobody answers: `pod allocation` of each.
pub fn decide(cluster: &mut Cluster) -> Vec<String> {
    let decisions = cluster.decide();
    let state = cluster.engine.state();
    let line = |bind: &Bind| format!("{} {}", state.task(bind.task).name, ids(bind));
    decisions.binds.iter().map(line).collect()
}

fn ledger<'a>(cluster: &'a Cluster, node: &str) -> &'a NodeDevices {
    let nodes = cluster.engine.state().nodes();
    &nodes.devices[nodes.find(node).expect("a node").at()]
}

/// `id memory-in-use` of each card.
pub fn used(cluster: &Cluster, node: &str, view: LedgerTime) -> Vec<String> {
    let families = ledger(cluster, node).families();
    families
        .flat_map(|(_, cards)| {
            let line = |(at, card): (usize, &pumice_devices::Card)| {
                format!("{} {}", card.id, cards.used(at, view)[0])
            };
            cards.cards.iter().enumerate().map(line).collect::<Vec<_>>()
        })
        .collect()
}

pub fn bare(node: NodeObject, pods: Vec<PodObject>) -> Cluster {
    let cluster = Cluster::under(CONF).with(node);
    pods.into_iter().fold(cluster, Cluster::with)
}

#[test]
fn cycles_between_a_binding_and_its_echo_never_give_a_card_out_twice() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 20_000)]);
    assert_eq!(decide(&mut cluster), ["a GPU-aa,NVIDIA,20000,0:"]);
    cluster.apply(vgpu("b", 20_000));
    assert_eq!(decide(&mut cluster), ["b GPU-bb,NVIDIA,20000,0:"]);
    cluster.apply(vgpu("c", 20_000));
    assert!(decide(&mut cluster).is_empty());

    let mut cluster = bare(split_card("n1"), vec![vgpu("a", 3000)]);
    assert_eq!(decide(&mut cluster), ["a GPU-m0[group1-0],NVIDIA,3000,0:"]);
    cluster.apply(vgpu("b", 3000));
    assert_eq!(decide(&mut cluster), ["b GPU-m0[group1-1],NVIDIA,3000,0:"]);
}

#[test]
fn a_failed_binding_gives_its_cards_back() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 20_000)]);
    assert_eq!(decide(&mut cluster).len(), 1);
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 20000", "GPU-bb 0"]
    );
    cluster.apply(Delta::BindFailed {
        uid: "a".to_owned(),
        message: "refused".to_owned(),
        at_s: 9,
    });
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 0", "GPU-bb 0"]
    );
}

#[test]
fn a_gang_that_is_undone_leaves_the_ledger_as_it_was() {
    let mut cluster = Cluster::under(CONF)
        .with(two_cards("n1"))
        .with(holding("GPU-bb,NVIDIA,9000,0:", vgpu("r", 9000)).on("n1"))
        .with(group("g", 3));
    for name in ["p0", "p1", "p2"] {
        let pod = vgpu(name, 12_000).group("g");
        cluster.apply(pod);
    }
    cluster.engine.stand_by();
    let before = ledger(&cluster, "n1").clone();
    // Two fit one card, or one each; 36,000 and 9,000 do not fit two cards with 12,000 in a piece.
    cluster.apply(holding("GPU-aa,NVIDIA,9000,0:", vgpu("s", 9000)).on("n1"));
    cluster.engine.stand_by();
    assert_ne!(&before, ledger(&cluster, "n1"), "the test sees changes");
    let before = ledger(&cluster, "n1").clone();
    assert!(decide(&mut cluster).is_empty());
    assert_eq!(&before, ledger(&cluster, "n1"));
}

#[test]
fn terminating_pods_hold_their_cards_and_others_wait_for_them() {
    let leaving = holding("GPU-aa,NVIDIA,20000,0:", vgpu("leaving", 20_000))
        .on("n1")
        .deleting(true);
    let staying = holding("GPU-bb,NVIDIA,20000,0:", vgpu("staying", 20_000)).on("n1");
    let mut cluster = bare(two_cards("n1"), vec![leaving, staying, vgpu("a", 10_000)]);
    assert!(decide(&mut cluster).is_empty());
    let state = cluster.engine.state();
    let task = state.task(state.population().task_by_uid("a").expect("a pod"));
    assert_eq!(task.status, TaskStatus::Pipelined);
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 20000", "GPU-bb 20000"]
    );
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Future),
        ["GPU-aa 10000", "GPU-bb 20000"]
    );
    cluster.apply(Delta::PodDelete("leaving".to_owned()));
    assert_eq!(decide(&mut cluster), ["a GPU-aa,NVIDIA,10000,0:"]);
}

#[test]
fn what_annotations_say_replaces_what_was_assumed_unless_it_cannot_be_read() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    assert_eq!(decide(&mut cluster), ["a GPU-aa,NVIDIA,9000,0:"]);
    let bound = |text: &str| holding(text, vgpu("a", 9000)).on("n1").delta();
    cluster.apply(bound("nonsense"));
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 9000", "GPU-bb 0"]
    );
    let notes = cluster.engine.take_device_notes();
    let about = |about: &NoteAbout| matches!(about, NoteAbout::Pod { name, .. } if name == "a");
    assert!(notes.iter().any(|note| about(&note.about)), "{notes:?}");
    // Another process may have bound it.
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    assert_eq!(decide(&mut cluster), ["a GPU-aa,NVIDIA,9000,0:"]);
    cluster.apply(bound("GPU-bb,NVIDIA,9000,0:"));
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 0", "GPU-bb 9000"]
    );
}

#[test]
fn usage_nobody_can_tell_counts_on_every_card_it_could_be_on() {
    let untold = vgpu("untold", 20_000).on("n1");
    let mut cluster = bare(two_cards("n1"), vec![untold, vgpu("a", 9000)]);
    assert!(decide(&mut cluster).is_empty());
    let (_, why) = cluster.why("a");
    assert!(why.contains("GPU-aa, GPU-bb: 4,424 MiB short"), "{why}");
    cluster.apply(Delta::PodDelete("untold".to_owned()));
    assert_eq!(decide(&mut cluster), ["a GPU-aa,NVIDIA,9000,0:"]);
}

#[test]
fn cards_in_another_order_keep_their_users() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("in-flight", 9000)]);
    decide(&mut cluster);
    let seen = holding("GPU-bb,NVIDIA,5000,0:", vgpu("seen", 5000)).on("n1");
    cluster.apply(seen);
    let register = "GPU-cc,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                    GPU-bb,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                    GPU-aa,10,24576,NVIDIA-Tesla P40,false,hami-core:";
    let turned = cards(two_cards("n1"), register);
    cluster.apply(turned);
    let expected = ["GPU-cc 0", "GPU-bb 5000", "GPU-aa 9000"];
    assert_eq!(used(&cluster, "n1", LedgerTime::Now), expected);
    // A card that goes and comes back.
    let gone = cards(
        two_cards("n1"),
        "GPU-cc,10,24576,NVIDIA-Tesla P40,true,hami-core:",
    );
    cluster.apply(gone);
    // Until they are told again the card that is there may be either of them.
    assert_eq!(used(&cluster, "n1", LedgerTime::Now), ["GPU-cc 14000"]);
    cluster.apply(two_cards("n1"));
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 9000", "GPU-bb 5000"]
    );
}

#[test]
fn a_node_that_goes_and_comes_back_keeps_what_was_promised_on_it() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    decide(&mut cluster);
    cluster.apply(Delta::NodeDelete("n1".to_owned()));
    cluster.engine.stand_by();
    cluster.apply(two_cards("n1"));
    cluster.engine.stand_by();
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 9000", "GPU-bb 0"]
    );
}

#[test]
fn an_engine_fed_from_the_dump_knows_the_cards_of_bindings_on_their_way() {
    let mut cluster = bare(split_card("n1"), vec![vgpu("a", 3000)]);
    decide(&mut cluster);
    let mut again = Cluster::under(CONF);
    for delta in cluster.engine.state().dump() {
        again.apply(delta);
    }
    again.apply(vgpu("b", 3000));
    assert_eq!(decide(&mut again), ["b GPU-m0[group1-1],NVIDIA,3000,0:"]);
}

pub fn config(text: &str) -> pumice_conf::Config {
    let outcome = parse(text, &pumice_engine::REGISTRY);
    outcome.config.expect("a configuration")
}

#[test]
fn switching_the_family_off_and_on_again_keeps_what_pods_hold() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 20_000)]);
    decide(&mut cluster);
    cluster.engine.reconfigure(&config(NO_QUEUE_PLUGIN));
    cluster.apply(vgpu("b", 9000));
    assert!(decide(&mut cluster).is_empty());
    let (_, why) = cluster.why("b");
    assert!(why.contains("deviceshare.VGPUEnable"), "{why}");
    cluster.engine.reconfigure(&config(CONF));
    assert_eq!(decide(&mut cluster), ["b GPU-bb,NVIDIA,9000,0:"]);
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 20000", "GPU-bb 9000"]
    );
}

#[test]
fn the_geometry_may_change_while_running_and_a_broken_one_changes_nothing() {
    let map = |text: Option<&str>| Delta::DeviceConfig {
        namespace: "kube-system".to_owned(),
        name: "volcano-vgpu-device-config".to_owned(),
        text: text.map(str::to_owned),
    };
    let coarse = "nvidia:\n  knownMigGeometries:\n  - models: [A100]\n    allowedGeometries:\n    \
                  - group: halves\n      geometries: [{name: 3g.20gb, memory: 20480, count: 2}]\n";
    let mut cluster = bare(split_card("n1"), vec![vgpu("a", 3000)]);
    cluster.apply(map(Some(coarse)));
    assert_eq!(decide(&mut cluster), ["a GPU-m0[halves-0],NVIDIA,3000,0:"]);
    for broken in ["nvidia: [", "nvidia:\n  knownMigGeometries: 7\n"] {
        cluster.apply(map(Some(broken)));
        let notes = cluster.engine.take_device_notes();
        let about = |about: &NoteAbout| matches!(about, NoteAbout::ConfigMap(..));
        let told = notes.iter().find(|note| about(&note.about));
        let text = told.map_or("", |note| note.text.as_str());
        assert!(text.contains("what was read before stays"), "{notes:?}");
    }
    cluster.apply(vgpu("b", 3000));
    assert_eq!(decide(&mut cluster), ["b GPU-m0[halves-1],NVIDIA,3000,0:"]);
    // Without the ConfigMap the built-in table counts, which has no group of that name: the card is
    // held by something nobody can tell, and gives out nothing.
    cluster.apply(map(None));
    cluster.apply(vgpu("c", 3000));
    assert!(decide(&mut cluster).is_empty());
    cluster.apply(map(Some(coarse)));
    assert_eq!(used(&cluster, "n1", LedgerTime::Now), ["GPU-m0 40960"]);
}

#[test]
fn queues_are_charged_for_all_cards_of_a_pod() {
    let memory = "1c volcano.sh/vgpu-number=2 volcano.sh/vgpu-memory=3000";
    let whole = "1c volcano.sh/vgpu-number=1";
    let half = "1c volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory-percentage=50";
    for (text, expected) in [(memory, 6_000_000), (whole, 24_576_000), (half, 12_288_000)] {
        let mut cluster = bare(two_cards("n1"), vec![asking("a", text)]);
        assert_eq!(decide(&mut cluster).len(), 1, "{text}");
        let state = cluster.engine.state();
        let queue = state.queue(
            state
                .population()
                .queue_by_name("default")
                .expect("a queue"),
        );
        let named = |name: &str| {
            let ix = state.resources().get(name);
            ix.map_or(0, |ix| queue.allocated.get(ix))
        };
        assert_eq!(named("volcano.sh/vgpu-memory"), expected, "{text}");
        assert_eq!(named("volcano.sh/vgpu-memory-percentage"), 0, "{text}");
    }
}

#[test]
fn requests_that_cannot_be_read_are_told_and_placed_nowhere() {
    for (text, told) in [
        (
            "volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=3221225472",
            "MiB",
        ),
        ("volcano.sh/vgpu-number=1 volcano.sh/vgpu-cores=101", "101"),
        (
            "volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory-percentage=150",
            "150",
        ),
        ("volcano.sh/vgpu-cores=50", "volcano.sh/vgpu-number"),
    ] {
        let bad = asking("bad", &format!("1c {text}"));
        let mut cluster = bare(two_cards("n1"), vec![bad, vgpu("good", 3000)]);
        assert_eq!(decide(&mut cluster), ["good GPU-aa,NVIDIA,3000,0:"]);
        let (_, why) = cluster.why("bad");
        assert!(why.contains(told), "{text}: {why}");
    }
}

/// The engine of a cluster with one card and a gauge for every pod on it.
fn gauges(engine: &mut Engine) -> Vec<String> {
    let gauges = engine.device_gauges();
    let lines = gauges.nodes.iter().flat_map(|(node, gauges)| {
        gauges.iter().map(move |gauge| {
            let pod = gauge.pod.as_deref().unwrap_or_default();
            format!("{node} {} {} {pod} {}", gauge.name, gauge.card, gauge.value)
        })
    });
    lines
        .filter(|line| line.contains("memory") && line.contains("GPU-aa"))
        .collect()
}

#[test]
fn gauges_follow_the_ledger_node_by_node() {
    let mut cluster = bare(two_cards("n1"), vec![vgpu("a", 9000)]);
    cluster.apply(two_cards("n2"));
    decide(&mut cluster);
    let told = gauges(&mut cluster.engine);
    let line = "n1 volcano_vgpu_device_memory_allocation_for_a_certain_pod GPU-aa a 9000";
    assert!(told.contains(&line.to_owned()), "{told:?}");
    assert!(
        gauges(&mut cluster.engine).is_empty(),
        "nothing has changed"
    );
    cluster.apply(Delta::PodDelete("a".to_owned()));
    let told = gauges(&mut cluster.engine);
    let line = "n1 volcano_vgpu_device_allocated_memory GPU-aa  0";
    assert!(told.contains(&line.to_owned()), "{told:?}");
    assert!(told.iter().all(|line| line.starts_with("n1")), "{told:?}");
}

/// Annotations say nothing of a pod that has none.
#[test]
fn pods_without_devices_hold_none() {
    let mut cluster = bare(two_cards("n1"), vec![pod("plain", "1c").on("n1")]);
    cluster.engine.stand_by();
    let records: Pairs = Pairs::new();
    let plain = pod("plain", "1c").on("n1").records(records);
    cluster.apply(plain);
    assert_eq!(
        used(&cluster, "n1", LedgerTime::Now),
        ["GPU-aa 0", "GPU-bb 0"]
    );
}

#[test]
fn a_pod_that_is_never_served_reserves_nothing_of_its_queue_and_says_why() {
    let conf = CONF.replace("predicates}", "predicates}, {name: proportion}");
    let off = conf.replace("VGPUEnable: true", "VGPUEnable: false");
    let all = "volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=49152";
    let huge = "volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory=3221225472";
    let wrong = format!("{all} volcano.sh/vgpu-cores=101");
    for (conf, bad, good, told) in [
        (&conf, wrong.as_str(), vgpu("good", 3000), "101"),
        (&conf, huge, vgpu("good", 3000), "write 3072"),
        (&off, all, pod("good", "1c"), "deviceshare.VGPUEnable"),
        (&off, huge, pod("good", "1c"), "deviceshare.VGPUEnable"),
    ] {
        let bad = asking("bad", &format!("1c {bad}"));
        let cluster = Cluster::under(conf).with(two_cards("n1"));
        let mut cluster = cluster.with(bad).with(good);
        let binds = cluster.decide().binds.len();
        assert_eq!(binds, 1, "{told}");
        let (reason, why) = cluster.why("bad");
        assert_eq!(reason, "NeverServed");
        assert!(
            why.starts_with("no node can serve the pod: ") && why.contains(told),
            "{why}"
        );
        let change = "what the reason says has to be mended: as it is no node can serve the pod";
        assert_eq!(pod_view(&cluster.engine, "bad").changes, [change]);
    }
}

#[test]
fn what_would_have_to_change_is_told_of_cards_of_the_mode_that_is_asked() {
    for (memory, all) in [
        (45_000, "45,000 MiB asked, 40,960 MiB in all"),
        (41_000, "40,960 MiB in all"),
    ] {
        let mut mig = vgpu("p", memory);
        mig.facts.annotations = pairs(&[("volcano.sh/vgpu-mode", "mig")]);
        let mut cluster = bare(two_cards("a-hami"), vec![mig]).with(split_card("z-mig"));
        assert!(cluster.cycle().is_empty());
        let changes = pod_view(&cluster.engine, "p").changes;
        let [change] = changes.as_slice() else {
            panic!("{changes:?}");
        };
        assert!(
            change.starts_with(
                "the pod has to ask what cards have in all, or other cards have to come"
            ),
            "{change}"
        );
        let told = format!("{change} {}", cluster.why("p").1);
        assert!(told.contains("z-mig: ") && told.contains(all), "{told}");
    }
}

#[test]
fn cards_in_use_that_would_do_are_told_with_who_holds_them() {
    let busy = |name, id: &str| {
        holding(
            &format!("{id},NVIDIA,20000,0:"),
            vgpu(name, 20_000).on("n1"),
        )
    };
    let pods = vec![busy("a", "GPU-aa"), busy("b", "GPU-bb"), vgpu("p", 9000)];
    let mut cluster = bare(two_cards("n1"), pods);
    assert!(cluster.cycle().is_empty());
    let view = pod_view(&cluster.engine, "p");
    let message = view.message.expect("it waits");
    for change in &view.changes {
        assert!(
            !message.contains(change.as_str()),
            "nothing twice: {change}"
        );
    }
    let expected = "cards of node n1 would have to be given back, which would do were they idle; held by ns/a, ns/b";
    assert_eq!(view.changes, [expected], "{message}");
}

#[test]
fn the_nearest_miss_is_a_full_node_rather_than_one_of_another_mode() {
    let mut full = two_cards("vgpu-1");
    let slots = |(name, _): &&mut (String, i64)| name == "volcano.sh/vgpu-number";
    let slots = full.allocatable.iter_mut().find(slots);
    slots.expect("slots").1 = 1000;
    let mut hami = vgpu("p", 3000);
    hami.facts.annotations = pairs(&[("volcano.sh/vgpu-mode", "hami-core")]);
    let busy = holding("GPU-aa,NVIDIA,3000,0:", vgpu("busy", 3000).on("vgpu-1"));
    let mut cluster = bare(full, vec![busy, hami]).with(split_card("a-mig"));
    assert!(cluster.cycle().is_empty());
    let message = cluster.why("p").1;
    let expected = "Nearest miss: node vgpu-1: volcano.sh/vgpu-number short by 1 (1 asked, 0 of 1 \
                    free).";
    assert!(message.ends_with(expected), "{message}");
    assert!(!message.contains("never"), "{message}");
}

#[test]
fn cards_that_are_too_small_or_too_few_never_fit_whatever_the_queue_says() {
    let shut = queue("shut").state(QueueState::Closed);
    let conf = CONF.replace(
        "{name: predicates}",
        "{name: predicates}, {name: proportion}",
    );
    for (asked, why) in [
        (
            vgpu("p", 30_000),
            "GPU-aa, GPU-bb: 30,000 MiB asked, 24,576 MiB in all",
        ),
        (
            asking("p", "1c volcano.sh/vgpu-number=3"),
            "no enough gpu cards on node n1: 3 asked; GPU-aa, GPU-bb: fits",
        ),
    ] {
        // The cards are in use, which does not matter.
        let busy = holding("GPU-aa,NVIDIA,20000,0:", vgpu("busy", 20_000).on("n1"));
        let mut cluster = Cluster::under(&conf)
            .with(two_cards("n1"))
            .with(shut.clone())
            .with(busy)
            .with(asked.clone().queue("shut"));
        assert!(cluster.cycle().is_empty());
        let message = cluster.why("p").1;
        let start = "0/1 nodes are unavailable: the pod never fits: ";
        assert!(
            message.starts_with(start) && message.contains(why),
            "{message}"
        );
        // Tried, it says so too.
        let mut cluster = bare(two_cards("n1"), vec![asked]);
        assert!(cluster.cycle().is_empty());
        let message = cluster.why("p").1;
        assert!(message.contains(" It never fits: "), "{message}");
        assert!(message.contains(why), "{message}");
    }
    // A node without cards is no nearer for its name, whoever says so first.
    let pod = vgpu("p", 30_000).queue("shut");
    let mut cluster = Cluster::under(&conf)
        .with(node("a-cpu", "64c 64Gi pods=20"))
        .with(two_cards("n1"))
        .with(shut)
        .with(pod);
    assert!(cluster.cycle().is_empty());
    let message = cluster.why("p").1;
    assert!(
        message.contains("the pod never fits: ") && message.contains("24,576 MiB in all"),
        "{message}"
    );
    // Only in use: it may fit later.
    let busy = |name, id| {
        holding(
            &format!("{id},NVIDIA,20000,0:"),
            vgpu(name, 20_000).on("n1"),
        )
    };
    let pods = vec![busy("a", "GPU-aa"), busy("b", "GPU-bb"), vgpu("p", 20_000)];
    let mut cluster = bare(two_cards("n1"), pods);
    assert!(cluster.cycle().is_empty());
    let message = cluster.why("p").1;
    assert!(!message.contains("never"), "{message}");
}

#[test]
fn npus_are_not_handed_out_as_bare_numbers() {
    let mind_cluster = [
        "for huawei.com/npu-core, which is switched off; set \
         deviceshare.AscendMindClusterVNPUEnable: true",
        "for huawei.com/npu-core, but the plugin deviceshare is not configured; add it with the \
         argument deviceshare.AscendMindClusterVNPUEnable: true",
    ];
    let ascend = |resource: &str| {
        [
            format!(
                "{resource}, but NPUs of HAMi are off: set the argument \
                 deviceshare.AscendHAMiVNPUEnable: true"
            ),
            format!(
                "{resource}, but plugin deviceshare is not configured: add it with the argument \
                 deviceshare.AscendHAMiVNPUEnable: true"
            ),
        ]
    };
    for (resource, why) in [
        ("huawei.com/npu-core", mind_cluster.map(str::to_owned)),
        ("huawei.com/Ascend310P", ascend("huawei.com/Ascend310P")),
        (
            "huawei.com/Ascend910B3-memory",
            ascend("huawei.com/Ascend910B3-memory"),
        ),
    ] {
        for (conf, why) in [CONF, NO_QUEUE_PLUGIN].into_iter().zip(why) {
            let allocatable = format!("8c 64Gi pods=20 {resource}=16");
            let mut cluster = Cluster::under(conf)
                .with(node("npu-1", &allocatable))
                .with(asking("p", &format!("1c {resource}=1")))
                .with(pod("plain", "1c"));
            assert_eq!(cluster.cycle(), ["plain npu-1"]);
            let (reason, message) = cluster.why("p");
            assert_eq!(reason, "NeverServed");
            let expected = format!("no node can serve the pod: the pod asks {why}");
            assert!(message.contains(&expected), "{message}");
        }
    }
}

#[test]
fn a_gang_that_asks_npus_is_not_admitted_and_reserves_nothing() {
    let asks = |name: &str, least: &str| {
        let group = group(name, 1).waiting();
        let min_resources = Some(amounts(least));
        group.min_resources(min_resources)
    };
    let mut cluster = Cluster::new()
        .with(node("npu-1", "4c 8Gi pods=9 huawei.com/npu-core=8"))
        .with(asks("npus", "4c huawei.com/npu-core=8"))
        .with(asking("p", "4c huawei.com/npu-core=8").group("npus"))
        .with(asks("cpus", "4c"))
        .with(pod("q", "4c").group("cpus"));
    assert_eq!(cluster.cycle(), ["q npu-1"]);
    assert_eq!(cluster.phase("npus"), GroupPhase::Pending);
    // Pods of Volcano that run on NPUs go on, and count.
    let running = asking("old", "1c huawei.com/npu-core=8").on("npu-1");
    let mut cluster = Cluster::new()
        .with(node("npu-1", "4c 8Gi pods=9 huawei.com/npu-core=8"))
        .with(running);
    assert!(cluster.cycle().is_empty());
    let state = cluster.engine.state();
    let core = state.resources().get("huawei.com/npu-core").expect("known");
    let node = state.nodes().find("npu-1").expect("there");
    assert_eq!(state.nodes().idle.get(core, node), 0);
}
