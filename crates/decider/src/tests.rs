//! What is written, and what is not, for decisions and outcomes.

mod beside;
mod counted_tasks;
mod evictions;
mod expectations;
mod first_reasons;
mod kept_places;
mod kept_use;
mod silent_nodes;
mod standby;
mod trees;

use std::cell::Cell;
use std::time::Duration;

use pumice_conf::{Arguments, Config, DEFAULT_CONF, PluginConf, Tier, Value};
use pumice_engine::Unobserved;
use pumice_fixtures::{BuildGroup as _, BuildPod as _, ToDelta as _, group};
use pumice_model::extender::{
    AboutNode, ExtenderAnswer, ExtenderNotice, ExtenderQuestion, ExtenderReply, ExtenderVerb,
    NodeWord, QuestionAbout, StandingQuestion,
};
use pumice_model::object::{ContainerFacts, GroupPhase, NodeUsage, PodFacts, PodObject, PodPhase};
use pumice_model::write::{BindFailure, Outcome, PodRef, Write};
use pumice_model::{Delta, TaskStatus};

use super::*;

/// The built-in configuration.
fn config() -> Config {
    let parsed = pumice_conf::parse(DEFAULT_CONF, &pumice_engine::REGISTRY);
    parsed.config.expect("the built-in configuration is valid")
}

/// A ready node with that many milli-cores.
fn node(name: &str, cpu: i64) -> Delta {
    pumice_fixtures::node(name, &format!("cpu={cpu} 64Gi pods=100")).delta()
}

/// The default queue.
fn queue() -> Delta {
    pumice_fixtures::queue("default").delta()
}

/// A pod of gang `g` that wants one core.
fn member(name: &str) -> PodObject {
    pumice_fixtures::pod(name, "1c").group("g")
}

/// Gang `g` of that many.
fn gang(min_member: i32) -> Delta {
    group("g", min_member).queue("default").delta()
}

/// The pod on a node; with an owner that, as its controller, would make it anew.
fn runs(owned: bool, pod: PodObject) -> Delta {
    let owner = ("Job".to_owned(), "j".to_owned());
    pod.on("n1").owners([owner]).controlled(owned).delta()
}

/// A clock a test sets.
#[derive(Default)]
struct TestClock(Cell<u64>);

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.get())
    }
}

/// A leader that may decide.
struct Bench {
    decider: Decider,
    clock: TestClock,
}

impl Bench {
    fn new(deltas: impl IntoIterator<Item = Delta>) -> Self {
        Self::with(false, deltas)
    }

    fn with(dry_run: bool, deltas: impl IntoIterator<Item = Delta>) -> Self {
        let clock = TestClock::default();
        let options = DeciderOptions {
            gang_deadline: Duration::from_secs(300),
            dry_run,
            ..DeciderOptions::unlimited()
        };
        let mut decider = Decider::new(options, &clock);
        decider.configure(&config());
        decider.apply(deltas.into_iter().collect());
        decider.set_synced();
        decider.set_leader(!dry_run);
        Self { decider, clock }
    }

    fn apply(&mut self, delta: Delta) {
        self.decider.apply(vec![delta]);
    }

    /// A cycle and a report; what was written.
    fn at(&mut self, now_s: i64) -> Vec<Write> {
        self.clock.0.set(u64::try_from(now_s).expect("a time"));
        self.decider.report_due = Some(Duration::ZERO);
        self.decider.changed = true;
        self.decider.step(&self.clock, &mut Unobserved);
        self.written()
    }

    fn hears(&mut self, outcome: Outcome) {
        self.decider.on_outcome(outcome, &self.clock);
    }

    fn written(&mut self) -> Vec<Write> {
        let effects = self.decider.take_effects().into_iter();
        let writes = effects.filter_map(|effect| match effect {
            Effect::Write(write) => Some(write),
            _ => None,
        });
        writes.collect()
    }
}

fn evicted(writes: &[Write]) -> Vec<&str> {
    writes
        .iter()
        .filter_map(|write| match write {
            Write::Evict { pod, .. } => Some(pod.name.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn a_gang_that_stays_partial_is_given_up_after_its_deadline_and_only_pods_of_a_controller_go() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(3)]);
    bench.apply(runs(true, member("a")));
    bench.apply(runs(false, member("b")));
    bench.apply(member("c").delta());
    assert!(evicted(&bench.at(100)).is_empty());
    // What waits was told by then.
    bench.at(105);
    assert_eq!(
        bench.decider.engine.wake_at_s(),
        Some(400),
        "nothing else wakes a quiet cluster"
    );
    assert!(evicted(&bench.at(399)).is_empty());
    assert_eq!(evicted(&bench.at(400)), ["a"]);
    assert!(
        evicted(&bench.at(401)).is_empty(),
        "the deletion is under way"
    );
    assert!(evicted(&bench.at(999)).is_empty());
    assert_eq!(evicted(&bench.at(1000)), ["a"], "it did not help");
}

#[test]
fn a_gang_that_lost_members_is_never_given_up() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(2)]);
    for name in ["a", "b"] {
        bench.apply(runs(true, member(name)));
    }
    bench.at(100);
    bench.apply(Delta::PodDelete("b".to_owned()));
    let mut big = member("c");
    big.request[0].1 = 9000;
    bench.apply(big.delta());
    for now_s in [101, 500, 10_000] {
        assert!(evicted(&bench.at(now_s)).is_empty());
    }
    assert_eq!(bench.decider.engine.partial_gangs().len(), 1);
    assert_eq!(bench.decider.engine.give_up_gangs(i64::MAX), []);
}

#[test]
fn a_status_that_nobody_waits_for_is_not_taken_for_newer() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1), member("a").delta()]);
    bench.at(10);
    let (namespace, name) = ("ns".to_owned(), "g".to_owned());
    bench.hears(Outcome::GroupStatusNotNeeded { namespace, name });
    // What a watch shows is believed again.
    bench.apply(gang(1));
    let state = bench.decider.engine.state();
    let job = state.population().job_by_key("ns", "g").expect("a job");
    assert!(state.job(job).status.conditions.is_empty());
}

fn failed(pod: &PodRef, failure: BindFailure) -> Outcome {
    Outcome::BindFailed {
        pod: pod.clone(),
        node: "n1".to_owned(),
        failure,
        message: "no".to_owned(),
    }
}

#[test]
fn only_a_pod_that_still_waits_is_told_that_its_binding_failed() {
    let cases = [
        (BindFailure::PodGone, false),
        (BindFailure::PodReplaced, false),
        (BindFailure::BoundElsewhere("n2".to_owned()), false),
        (BindFailure::Denied, true),
        (BindFailure::Rejected, true),
        (BindFailure::GaveUp, true),
        (BindFailure::PreBind, true),
    ];
    let pod = PodRef {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
        uid: "p".to_owned(),
    };
    for (failure, told) in cases {
        let mut bench = Bench::new([]);
        bench.hears(failed(&pod, failure.clone()));
        let written = bench.written();
        let condition = written
            .iter()
            .any(|w| matches!(w, Write::PodCondition { .. }));
        assert_eq!(condition, told, "{failure:?}");
    }
}

fn events(writes: &[Write]) -> Vec<(&str, &str)> {
    writes
        .iter()
        .filter_map(|write| match write {
            Write::Event {
                reason, message, ..
            } => Some((reason.as_str(), message.as_str())),
            _ => None,
        })
        .collect()
}

#[test]
fn a_pod_bound_by_another_scheduler_says_so() {
    let pod = PodRef {
        namespace: "ns".to_owned(),
        name: "p".to_owned(),
        uid: "p".to_owned(),
    };
    let mut bench = Bench::new([]);
    let elsewhere = BindFailure::BoundElsewhere("n2".to_owned());
    bench.hears(failed(&pod, elsewhere));
    let node = "n1".to_owned();
    let same = Outcome::BoundByAnother { pod, node };
    bench.hears(same);
    let written = bench.written();
    let told = events(&written);
    assert_eq!(told.len(), 2, "{written:?}");
    for ((reason, message), node) in told.into_iter().zip(["n2", "n1"]) {
        assert_eq!(reason, "BoundByAnotherScheduler");
        assert!(
            message.contains(&format!("bound it to node {node}")),
            "{message}"
        );
    }
}

#[test]
fn a_standing_reason_is_an_event_again_and_no_condition() {
    let big = member("big").request("9c pods=1").group(None);
    let mut bench = Bench::new([queue(), node("n1", 2000), big.delta()]);
    bench.at(1);
    let first = bench.at(3);
    let is_condition = |write: &&Write| matches!(write, Write::PodCondition { .. });
    assert_eq!(
        (
            events(&first).len(),
            first.iter().filter(is_condition).count()
        ),
        (1, 1)
    );
    let later = bench.at(2703);
    assert_eq!(events(&later), events(&first));
    assert_eq!(later.iter().filter(is_condition).count(), 0);
}

fn group_phases(writes: &[Write]) -> Vec<GroupPhase> {
    let phase = |write: &Write| match write {
        Write::GroupStatus { status, .. } => Some(status.phase),
        _ => None,
    };
    writes.iter().filter_map(phase).collect()
}

#[test]
fn a_status_that_was_given_up_is_made_anew_after_a_pause() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1), member("a").delta()]);
    let now_s = 1000;
    assert_eq!(group_phases(&bench.at(now_s)), [GroupPhase::Inqueue]);
    let failed = Outcome::GroupStatusFailed {
        namespace: "ns".to_owned(),
        name: "g".to_owned(),
        message: "no".to_owned(),
    };
    bench.hears(failed);
    let due_s = bench.decider.retries.due_s().expect("it is tried again");
    assert!(group_phases(&bench.at(due_s - 1)).is_empty());
    assert_eq!(group_phases(&bench.at(due_s)), [GroupPhase::Inqueue]);
    assert_eq!(bench.decider.retries.due_s(), None);
}

const LIST: (&str, &str) = ("volcano.sh/devices-to-allocate", "GPU-a,NVIDIA,3000,50:");
const TURN: (&str, &str) = ("volcano.sh/vgpu-time", "1785000000");
const BUSY: (&str, &str) = ("volcano.sh/bind-phase", "allocating");
const DONE: (&str, &str) = ("volcano.sh/bind-phase", "success");

const CLEANUP: [(&str, &str); 2] = [
    ("volcano.sh/devices-to-allocate", ""),
    ("volcano.sh/vgpu-time", "18446744073709551615"),
];

fn pod(phase: PodPhase, records: &[(&str, &str)]) -> PodObject {
    member("a")
        .node("n1")
        .phase(phase)
        .facts(asks_a_gpu())
        .records(records)
}

/// What a pod asks that waits for a device plugin.
pub(crate) fn asks_a_gpu() -> PodFacts {
    let container = ContainerFacts {
        amounts: vec![("volcano.sh/vgpu-number".to_owned(), 1000)],
        ..ContainerFacts::default()
    };
    PodFacts {
        containers: vec![container],
        ..PodFacts::default()
    }
}

#[test]
fn only_a_pod_of_ours_that_ended_before_its_plugin_answered_is_cleaned_up_after() {
    use PodPhase::{Failed, Pending, Running, Succeeded};
    const CLEANED: [(&str, &str); 3] = [CLEANUP[0], CLEANUP[1], BUSY];
    type Records = &'static [(&'static str, &'static str)];
    let cases: [(PodPhase, Records, bool); 8] = [
        (Pending, &[], false),
        (Pending, &[LIST, TURN, BUSY], false),
        (Running, &[LIST, TURN, BUSY], false),
        (Running, &[LIST, TURN, DONE], false),
        (Failed, &[LIST, TURN, BUSY], true),
        (Succeeded, &[LIST, TURN, BUSY], true),
        (Failed, &[LIST, TURN, DONE], false),
        (Failed, &CLEANED, false),
    ];
    for (phase, records, wanted) in cases {
        assert_eq!(
            cleanups(pod(phase, records)),
            wanted,
            "{phase:?} {records:?}"
        );
        let theirs = pod(phase, records).ours(false);
        assert!(!cleanups(theirs));
        // Whoever may write a pod may write its annotations.
        let asks_nothing = pod(phase, records).facts(PodFacts::default());
        assert!(!cleanups(asks_nothing));
    }
}

#[test]
fn a_pod_deleted_before_it_started_is_cleaned_up_after_and_a_running_one_is_not() {
    for (phase, wanted) in [(PodPhase::Pending, true), (PodPhase::Running, false)] {
        let dying = pod(phase, &[LIST, TURN, BUSY]).deleting(true);
        assert_eq!(cleanups(dying), wanted, "{phase:?}");
    }
}

/// Whether a pod like that is cleaned up after.
fn cleanups(pod: PodObject) -> bool {
    let mut bench = Bench::new([]);
    bench.apply(pod.delta());
    let wanted = Write::CleanUp {
        pod: PodRef {
            namespace: "ns".to_owned(),
            name: "a".to_owned(),
            uid: "a".to_owned(),
        },
        annotations: CLEANUP.to_vec(),
    };
    bench.at(1).contains(&wanted)
}

#[test]
fn a_clean_up_waits_for_the_right_to_write_and_is_dropped_with_its_pod() {
    let ended = || pod(PodPhase::Failed, &[LIST, TURN, BUSY]).delta();
    let count = |writes: &[Write]| {
        let cleanups = writes.iter().filter(|w| matches!(w, Write::CleanUp { .. }));
        cleanups.count()
    };
    let mut bench = Bench::new([]);
    bench.decider.set_leader(false);
    bench.apply(ended());
    assert_eq!(count(&bench.at(1)), 0);
    bench.decider.set_leader(true);
    assert_eq!(count(&bench.at(2)), 1);
    assert_eq!(count(&bench.at(3)), 0);
    bench.apply(ended());
    bench.apply(Delta::PodDelete("a".to_owned()));
    assert_eq!(count(&bench.at(4)), 0);
}

#[test]
fn who_leads_again_writes_what_its_last_term_may_have_left_behind() {
    let ended = pod(PodPhase::Failed, &[LIST, TURN, BUSY]).delta();
    let waits = member("big").request("9c pods=1");
    let mut bench = Bench::new([queue(), node("n1", 1000), gang(1), waits.delta(), ended]);
    let told = |writes: Vec<Write>| {
        let cleanups = |write: &&Write| matches!(write, Write::CleanUp { .. });
        let conditions = |write: &&Write| matches!(write, Write::PodCondition { .. });
        (
            writes.iter().filter(cleanups).count(),
            writes.iter().filter(conditions).count(),
        )
    };
    assert_eq!(told(bench.at(1)), (1, 0));
    assert_eq!(told(bench.at(4)), (0, 1));
    assert_eq!(told(bench.at(8)), (0, 0));
    bench.decider.set_leader(false);
    assert_eq!(told(bench.at(9)), (0, 0));
    bench.decider.set_leader(true);
    assert_eq!(told(bench.at(10)), (1, 0));
    assert_eq!(
        told(bench.at(14)),
        (0, 1),
        "its condition may be another's by now"
    );
}

#[test]
fn a_dry_run_writes_nothing_and_forgets_after_a_minute_what_nobody_followed() {
    let mut bench = Bench::with(true, [node("n1", 1000), gang(1), member("a").delta()]);
    let status = |bench: &Bench| {
        let state = bench.decider.engine.state();
        state
            .task(state.population().task_by_uid("a").expect("a pod"))
            .status
    };
    assert_eq!(bench.at(10), []);
    assert_eq!(
        status(&bench),
        TaskStatus::Binding,
        "the default queue is imagined"
    );
    assert_eq!(bench.at(69), []);
    assert_eq!(status(&bench), TaskStatus::Binding);
    let again = bench.decider.next_step(Duration::from_secs(69));
    assert_eq!(
        again,
        Duration::from_secs(70),
        "nothing else wakes a quiet cluster"
    );
    bench.at(70);
    assert_eq!(status(&bench), TaskStatus::Pending);
    bench.at(71);
    assert_eq!(status(&bench), TaskStatus::Binding, "decided anew");
}

#[test]
fn nothing_is_decided_by_who_does_not_lead_rests_or_does_not_follow() {
    type Change = fn(&mut Decider);
    let changes: [(Change, Option<Change>); 3] = [
        (|d| d.set_leader(false), Some(|d| d.set_leader(true))),
        (|d| d.set_followed(false), Some(|d| d.set_followed(true))),
        (Decider::rest, None),
    ];
    let binds = |writes: &[Write]| {
        let binds = writes.iter().filter(|w| matches!(w, Write::Bind(_)));
        binds.count()
    };
    for (stop, go) in changes {
        let mut bench = Bench::new([queue(), node("n1", 1000), gang(1), member("a").delta()]);
        stop(&mut bench.decider);
        assert_eq!(binds(&bench.at(1)), 0);
        if let Some(go) = go {
            go(&mut bench.decider);
            assert_eq!(binds(&bench.at(2)), 1);
        }
    }
}

fn config_with(plugin: &str, arguments: &[(&str, &str)]) -> Config {
    let pair = |(key, value): &(&str, &str)| {
        let value = Value::Str((*value).to_owned());
        ((*key).to_owned(), value)
    };
    let plugin = PluginConf {
        name: plugin.to_owned(),
        arguments: arguments.iter().map(pair).collect::<Arguments>(),
        ..PluginConf::default()
    };
    Config {
        tiers: vec![Tier {
            plugins: vec![plugin],
        }],
        ..Config::default()
    }
}

#[test]
fn the_arguments_say_where_it_is_if_devices_are_shared_at_all() {
    let (namespace, name) = (
        "deviceshare.KnownGeometriesCMNamespace",
        "deviceshare.KnownGeometriesCMName",
    );
    let (vgpu, npu) = (
        ("deviceshare.VGPUEnable", "true"),
        ("deviceshare.AscendHAMiVNPUEnable", "true"),
    );
    type Pair = (&'static str, &'static str);
    let cases: [(&str, &[Pair], Option<Pair>); 6] = [
        ("gang", &[(name, "x")], None),
        ("deviceshare", &[(name, "x")], None),
        (
            "deviceshare",
            &[npu, (name, "x")],
            Some(("kube-system", "x")),
        ),
        (
            "deviceshare",
            &[vgpu],
            Some(("kube-system", "volcano-vgpu-device-config")),
        ),
        (
            "deviceshare",
            &[vgpu, (name, "x")],
            Some(("kube-system", "x")),
        ),
        (
            "deviceshare",
            &[vgpu, (name, "x"), (namespace, "gpu")],
            Some(("gpu", "x")),
        ),
    ];
    for (plugin, arguments, wanted) in cases {
        let found = device_config_place(&config_with(plugin, arguments));
        let found = found
            .as_ref()
            .map(|(ns, name)| (ns.as_str(), name.as_str()));
        assert_eq!(found, wanted);
    }
}

#[test]
fn what_a_config_map_says_of_the_mix_is_logged_and_what_cannot_be_read_of_it() {
    let named = |arguments: &[(&str, &str)]| {
        let config = config_with("fragmentation", arguments);
        mix_place(&config).map(|(namespace, name)| format!("{namespace}/{name}"))
    };
    assert_eq!(named(&[]), None);
    let place = ("fragmentation.configMap", "ns/mix");
    assert_eq!(named(&[place]).as_deref(), Some("ns/mix"));
    assert_eq!(mix_place(&config_with("gang", &[place])), None);
    let mut bench = Bench::new([]);
    let mut told = |text: &str| {
        let (namespace, name) = ("ns".to_owned(), "mix".to_owned());
        let text = text.to_owned();
        bench.decider.apply(vec![Delta::TaskMix {
            namespace,
            name,
            text,
        }]);
        let effects = bench.decider.take_effects().into_iter();
        let logged = effects.filter_map(|effect| match effect {
            Effect::Log(line) => Some((line.level, line.text)),
            _ => None,
        });
        logged.collect::<Vec<_>>()
    };
    let in_use = "mix of tasks in use: ConfigMap ns/mix".to_owned();
    assert_eq!(told("1 a.b/c=1"), [(LogLevel::Info, in_use)]);
    let [(LogLevel::Warning, text)] = &told("nonsense")[..] else {
        panic!("a warning");
    };
    assert!(
        text.contains("ConfigMap ns/mix") && text.contains("line 1: `nonsense`"),
        "{text}"
    );
}

fn measured(node: &str) -> Vec<(String, NodeUsage)> {
    let usage = NodeUsage {
        cpu: 50_000,
        memory: 50_000,
        at_s: 100,
    };
    vec![(node.to_owned(), usage)]
}

#[test]
fn what_was_measured_before_nodes_were_known_counts_once_they_are() {
    let mut bench = Bench::new([]);
    bench.decider.synced = false;
    bench.decider.set_node_usage(measured("n1"));
    bench.apply(node("n1", 2000));
    bench.decider.set_synced();
    let nodes = bench.decider.engine.state().nodes();
    let n1 = nodes.find("n1").expect("a node");
    assert!(nodes.usage(n1).is_some());
}

#[test]
fn a_source_that_names_no_node_is_told_of_once() {
    let mut bench = Bench::new([node("n1", 2000)]);
    let mut logged = |name: &str| {
        bench.decider.set_node_usage(measured(name));
        let effects = bench.decider.take_effects();
        let logs = effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Log(_)));
        logs.count()
    };
    assert_eq!(logged("10.0.0.1:9100"), 1);
    assert_eq!(logged("10.0.0.1:9100"), 0);
    assert_eq!(logged("n1"), 0);
    assert_eq!(logged("10.0.0.1:9100"), 1);
}

/// The built-in configuration and an extender.
fn with_extender(url: &str, arguments: &str) -> Config {
    let extender = format!(
        "  - name: extender\n    arguments: {{extender.urlPrefix: '{url}', {arguments}}}\n"
    );
    let text = format!("{}\n{extender}", DEFAULT_CONF.trim_end());
    let config = pumice_conf::parse(&text, &pumice_engine::REGISTRY).config;
    config.expect("valid")
}

/// It says that pod `a` may run on node `n1`.
fn fits(generation: u64) -> ExtenderReply {
    ExtenderReply {
        generation,
        question: ExtenderQuestion {
            verb: ExtenderVerb::Predicate,
            subject: "a".to_owned(),
            uid: String::new(),
        },
        answer: ExtenderAnswer::Nodes(vec![AboutNode {
            node: "n1".to_owned(),
            uid: "n1".to_owned(),
            said: NodeWord::Fits,
        }]),
    }
}

#[test]
fn an_extender_is_asked_at_once_what_is_new_and_what_stands_with_every_report() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1)]);
    bench
        .decider
        .configure(&with_extender("http://ext", "extender.predicateVerb: p"));
    let asked = |bench: &mut Bench, now_s: u64| -> Vec<Vec<String>> {
        bench.clock.0.set(now_s);
        bench.decider.step(&bench.clock, &mut Unobserved);
        let effects = bench.decider.take_effects().into_iter();
        let sheets = effects.filter_map(|effect| match effect {
            Effect::Ask(sheet) => Some(sheet),
            _ => None,
        });
        let subject = |asked: &StandingQuestion| asked.question.subject.clone();
        sheets
            .map(|sheet| sheet.questions.iter().map(subject).collect())
            .collect()
    };
    assert_eq!(asked(&mut bench, 1), [[""; 0]], "who is to be asked");
    bench.apply(member("a").delta());
    assert_eq!(asked(&mut bench, 2), [["a"]]);
    (3..6).for_each(|now_s| drop(asked(&mut bench, now_s)));
    assert_eq!(asked(&mut bench, 6), [[""; 0]; 0], "nothing has happened");
    bench.apply(node("n2", 2000));
    let told = [asked(&mut bench, 7), asked(&mut bench, 8)].concat();
    assert_eq!(told, [["a"]], "the same stands: with the report");
    bench.decider.take_extender_reply(fits(1));
    // It is bound, and with the next cycle the question stands no more.
    let rest = [asked(&mut bench, 9), asked(&mut bench, 10)].concat();
    assert_eq!(rest.last(), Some(&Vec::new()));
}

#[test]
fn what_an_extender_says_that_is_not_asked_any_more_does_not_count() {
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1)]);
    let asks = "extender.predicateVerb: p";
    bench.decider.configure(&with_extender("http://old", asks));
    bench.apply(member("a").delta());
    bench.at(1);
    // Its answer is on the way when another one is configured.
    bench.decider.configure(&with_extender("http://new", asks));
    bench.decider.take_extender_reply(fits(1));
    let is_bind = |write: &Write| matches!(write, Write::Bind(_));
    assert!(!bench.at(2).iter().any(is_bind));
    bench.decider.take_extender_reply(fits(2));
    assert!(bench.at(3).iter().any(is_bind));
    // The same one goes on to be asked under another configuration.
    bench.apply(member("a").uid("b").delta());
    bench.decider.configure(&with_extender("http://new", asks));
    assert_eq!(bench.decider.engine.question_sheet().generation, 2);
}

#[test]
fn an_extender_is_told_what_was_decided_and_what_came_to_nothing() {
    let told = "extender.allocateFuncVerb: a, extender.deallocateFuncVerb: d, \
                extender.jobEnqueuedVerb: e";
    let mut bench = Bench::new([queue(), node("n1", 2000), gang(1)]);
    bench.decider.configure(&with_extender("http://ext", told));
    let mut waits = gang(1);
    if let Delta::GroupApply(group) = &mut waits {
        group.status.phase = GroupPhase::Pending;
    }
    bench.apply(waits);
    bench.apply(member("a").delta());
    let told = |bench: &mut Bench, now_s: u64| -> Vec<(&'static str, String)> {
        bench.clock.0.set(now_s);
        bench.decider.step(&bench.clock, &mut Unobserved);
        let effects = bench.decider.take_effects().into_iter();
        let notices = effects.filter_map(|effect| match effect {
            Effect::TellExtender(notices) => Some(notices),
            _ => None,
        });
        let line = |notice: ExtenderNotice| match notice.about {
            QuestionAbout::Pod(pod) => {
                let node = pod.node.as_deref().unwrap_or_default();
                (notice.event.name(), format!("{} {node}", pod.name))
            }
            QuestionAbout::Job(job) => (notice.event.name(), job.key.clone()),
            about => panic!("{about:?}"),
        };
        notices.flatten().map(line).collect()
    };
    let line = |event, about: &str| (event, about.to_owned());
    let placed = line("allocateFunc", "a n1");
    assert_eq!(
        told(&mut bench, 1),
        [line("jobEnqueued", "ns/g"), placed.clone()]
    );
    bench.apply(Delta::BindFailed {
        uid: "a".to_owned(),
        message: "refused".to_owned(),
        at_s: 2,
    });
    let mut after = told(&mut bench, 2);
    (3..60).for_each(|now_s| after.extend(told(&mut bench, now_s)));
    assert_eq!(after, [line("deallocateFunc", "a n1"), placed]);
}

#[test]
fn an_extender_is_told_nothing_of_a_dry_run() {
    let mut bench = Bench::with(true, [queue(), node("n1", 2000), gang(1)]);
    let told = "extender.allocateFuncVerb: a, extender.onSessionOpenVerb: o";
    bench.decider.configure(&with_extender("http://ext", told));
    bench.apply(member("a").delta());
    bench.clock.0.set(1);
    let step = bench.decider.step(&bench.clock, &mut Unobserved);
    assert_eq!(step.decisions.expect("a cycle").binds.len(), 1);
    let effects = bench.decider.take_effects();
    let is_told = |effect: &Effect| match effect {
        Effect::TellExtender(_) => true,
        Effect::Ask(sheet) => sheet.session.is_some(),
        _ => false,
    };
    assert!(!effects.iter().any(is_told));
}
