use pumice_conf::{Config, DEFAULT_CONF, parse};
use pumice_engine::Engine;
use pumice_ingest::Options;

use super::{Mode, SimulationSettings, simulate};
use crate::reader::{InputObjects, InputSource};
use crate::report::Report;
use crate::world::World;

mod restarts;
mod sgpus;

const NODE: &str = "\
kind: Node
apiVersion: v1
metadata: {name: n1}
status:
  allocatable: {cpu: \"4\", memory: 8Gi, pods: \"10\"}
---
";

const JOB: &str = "\
kind: Job
apiVersion: batch.volcano.sh/v1alpha1
metadata: {name: j}
spec:
  schedulerName: volcano
  minAvailable: 2
  tasks:
  - replicas: 2
    name: main
    template:
      spec:
        containers:
        - {name: main, resources: {requests: {cpu: 1}}}
---
";

/// Holds 2500m of the node until it is gone.
const LEAVING: &str = "\
kind: Pod
apiVersion: v1
metadata: {name: leaving, deletionTimestamp: \"2026-01-01T00:00:00Z\"}
spec:
  nodeName: n1
  containers:
  - {name: main, resources: {requests: {cpu: 2500m}}}
status: {phase: Running}
---
";

fn config() -> Config {
    parse(DEFAULT_CONF, &pumice_engine::REGISTRY)
        .config
        .expect("valid")
}

fn settings(mode: Mode) -> SimulationSettings {
    SimulationSettings {
        mode,
        now_s: 0,
        default_queue: "default".to_owned(),
        options: Options {
            scheduler_names: vec!["volcano".to_owned()],
            annotations: pumice_engine::annotations_read(),
        },
        ignored_provisioners: Vec::new(),
        node_selector: Vec::new(),
        shard: None,
    }
}

fn run(text: &str, mode: Mode) -> Report {
    run_under(&config(), text, mode)
}

fn run_under(config: &Config, text: &str, mode: Mode) -> Report {
    let (report, problems) = run_with_problems(config, text, mode);
    assert!(problems.is_empty(), "{problems:?}");
    report
}

fn run_with_problems(
    config: &Config,
    text: &str,
    mode: Mode,
) -> (Report, Vec<crate::problem::InputProblem>) {
    let source = InputSource {
        name: "f".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let mut input = InputObjects::default();
    input.read(&source).expect("text");
    let settings = settings(mode);
    simulate(config, input, &[source], &settings, |_, _| {})
}

/// Binds, phase of the first PodGroup, phase of the first Job, pods pipelined.
fn result(report: &Report) -> (usize, &str, &str, usize) {
    let group = report.pod_groups.first().map_or("", |group| group.phase);
    let job = report.jobs.first().map_or("", |job| job.phase.as_str());
    (report.binds.len(), group, job, report.pipelined.len())
}

#[test]
fn a_job_gets_its_pods_when_admitted_and_runs_in_the_end() {
    let report = run(&format!("{NODE}{JOB}"), Mode::FixedPoint);
    assert_eq!(result(&report), (2, "Running", "Running", 0));
    // Admitted; pods bound; PodGroup and Job follow the running pods; nothing left to do.
    assert_eq!(report.cycles, 4);
}

#[test]
fn with_cycles_the_pods_of_a_job_are_there_at_once() {
    let text = format!("{NODE}{JOB}");
    assert_eq!(
        result(&run(&text, Mode::Cycles(0))),
        (0, "Pending", "Pending", 0)
    );
    let one = run(&text, Mode::Cycles(1));
    assert_eq!((one.binds.len(), one.cycles), (2, 1));
    // Without a kubelet the pods never run.
    let three = run(&text, Mode::Cycles(3));
    assert_eq!(
        (three.binds.len(), three.jobs[0].phase.as_str()),
        (2, "Pending")
    );
    assert_eq!(three.cycles, 3);
}

#[test]
fn without_cycles_a_terminating_pod_goes_and_the_waiting_pods_are_bound() {
    let text = format!("{NODE}{LEAVING}{JOB}");
    assert_eq!(
        result(&run(&text, Mode::FixedPoint)),
        (2, "Running", "Running", 0)
    );
}

#[test]
fn with_cycles_a_terminating_pod_stays_and_the_pods_stay_pipelined() {
    let text = format!("{NODE}{LEAVING}{JOB}");
    for cycles in [1, 2, 5] {
        let report = run(&text, Mode::Cycles(cycles));
        assert_eq!(result(&report), (0, "Inqueue", "Pending", 1), "{cycles}");
        assert_eq!(report.pipelined[0].node, "n1");
    }
}

#[test]
fn a_job_that_is_not_admitted_gets_no_pods_and_says_why() {
    let large = JOB.replace("cpu: 1}", "cpu: 40}");
    let report = run(&format!("{NODE}{large}"), Mode::FixedPoint);
    assert_eq!(result(&report), (0, "Pending", "Pending", 0));
    assert!(report.pending.is_empty());
    let why = report.pod_groups[0].waiting.as_deref().unwrap_or_default();
    assert!(why.contains("overused cpu"), "{why}");
}

#[test]
fn the_same_input_gives_the_same_report() {
    let text = format!("{NODE}{LEAVING}{JOB}");
    assert_eq!(run(&text, Mode::FixedPoint), run(&text, Mode::FixedPoint));
}

#[test]
fn what_a_queue_holds_counts_for_all_queues_above_it() {
    let queue = |name: &str, parent: &str| {
        format!(
            "kind: Queue\napiVersion: scheduling.volcano.sh/v1beta1\nmetadata: {{name: {name}}}\n\
             spec: {{parent: \"{parent}\"}}\n---\n"
        )
    };
    let job = JOB.replace("  minAvailable", "  queue: leaf\n  minAvailable");
    let text = format!(
        "{NODE}{}{}{}{job}",
        queue("leaf", "mid"),
        queue("mid", ""),
        queue("x", "")
    );
    let report = run(&text, Mode::FixedPoint);
    let cpu = |line: &crate::report::QueueLine| format!("{} {}", line.name, line.allocated["cpu"]);
    let lines: Vec<String> = report.queues.iter().map(cpu).collect();
    assert_eq!(lines, ["default 0", "leaf 2", "mid 2", "root 2", "x 0"]);
}

#[test]
fn the_dump_of_a_scheduler_is_read_back() {
    let report = run(&format!("{NODE}{JOB}"), Mode::FixedPoint);
    let mut engine = Engine::new(&config(), "default");
    let mut input = InputObjects::default();
    let source = InputSource {
        name: "f".to_owned(),
        bytes: format!("{NODE}{JOB}").into_bytes(),
    };
    input.read(&source).expect("text");
    let settings = settings(Mode::Cycles(0));
    let (mut world, _) = World::new(input.items, &[source], &settings, Vec::new());
    world.make_all_job_pods(&settings.options);
    let deltas = world.take_deltas().into_iter();
    deltas.for_each(|delta| engine.apply(delta));
    // Decided, and not bound yet.
    assert_eq!(engine.cycle(0).binds.len(), 2);
    let document = serde_json::json!({
        "kind": "PumiceState",
        "apiVersion": "pumice.sh/v1",
        "deltas": engine.state().dump(),
    });
    let again = run(&document.to_string(), Mode::FixedPoint);
    let node_of = |report: &Report| {
        report
            .queues
            .iter()
            .map(|q| q.allocated.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(node_of(&again), node_of(&report));
    assert_eq!(again.binds, [], "what was on its way has arrived");
}

/// A Job of four pods of one cpu each, of which that many are enough.
fn elastic_job(name: &str, min: u32) -> String {
    JOB.replace("{name: j}", &format!("{{name: {name}}}"))
        .replace("minAvailable: 2", &format!("minAvailable: {min}"))
        .replace("replicas: 2", "replicas: 4")
}

#[test]
fn the_extras_of_a_job_that_runs_leave_room_to_one_whose_pods_are_still_being_made() {
    let group = "\
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: old}
spec: {minMember: 1}
status: {phase: Running}
---
";
    let pod = |at: usize| {
        format!(
            "kind: Pod\napiVersion: v1\nmetadata:\n  name: old-{at}\n  annotations: \
             {{scheduling.k8s.io/group-name: old}}\nspec:\n  schedulerName: volcano\n  \
             containers:\n  - {{name: main, resources: {{requests: {{cpu: 1}}}}}}\n---\n"
        )
    };
    let old: String = (0..6).map(pod).collect();
    let text = [NODE, group, &old, &elastic_job("young", 2)].concat();
    let report = run(&text, Mode::FixedPoint);
    let bound = |prefix: &str| {
        let names = report.binds.iter().map(|bind| bind.pod.as_str());
        names.filter(|pod| pod.starts_with(prefix)).count()
    };
    assert_eq!((bound("default/old"), bound("default/young")), (2, 2));
}

#[test]
fn three_elastic_jobs_given_together_all_start() {
    let jobs: String = ["a", "b", "c"].map(|name| elastic_job(name, 1)).concat();
    let report = run(&format!("{NODE}{jobs}"), Mode::FixedPoint);
    for job in ["a", "b", "c"] {
        let of_job = format!("default/{job}-");
        let bound = report
            .binds
            .iter()
            .filter(|bind| bind.pod.starts_with(&of_job));
        assert!(bound.count() >= 1, "{job}: {:?}", report.binds);
    }
}

#[test]
fn a_newcomer_without_pods_is_waited_for_five_seconds() {
    let empty = "\
kind: PodGroup
apiVersion: scheduling.volcano.sh/v1beta1
metadata: {name: empty}
spec: {minMember: 2, minResources: {cpu: 2}}
---
";
    let text = format!("{NODE}{}{empty}", elastic_job("a", 1));
    let report = run(&text, Mode::FixedPoint);
    assert_eq!(report.binds.len(), 4);
    assert!((6..9).contains(&report.cycles), "{}", report.cycles);
}

const PREEMPT_CONF: &str = r#"actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
"#;

/// `old` of low priority runs two pods, of which one is enough, and fills the node with them; `new` of
/// high priority comes with one pod.
fn somebody_goes() -> String {
    let class = |name: &str, value: i32| {
        format!(
            "kind: PriorityClass\napiVersion: scheduling.k8s.io/v1\nmetadata: {{name: {name}}}\n\
             value: {value}\n---\n"
        )
    };
    let job = |name: &str, class: &str, replicas: u32| {
        JOB.replace("{name: j}", &format!("{{name: {name}}}"))
            .replace("minAvailable: 2", "minAvailable: 1")
            .replace("replicas: 2", &format!("replicas: {replicas}"))
            .replace("tasks:", &format!("priorityClassName: {class}\n  tasks:"))
            .replace("cpu: 1", "cpu: 2")
    };
    let pod = |at: u32| {
        format!(
            "kind: Pod\napiVersion: v1\nmetadata:\n  name: old-main-{at}\n  annotations:\n    \
             scheduling.k8s.io/group-name: old\n    volcano.sh/job-name: old\n    \
             volcano.sh/task-spec: main\n    volcano.sh/task-index: \"{at}\"\nspec:\n  \
             schedulerName: volcano\n  nodeName: n1\n  containers:\n  - {{name: main, resources: \
             {{requests: {{cpu: 2}}}}}}\nstatus: {{phase: Running}}\n---\n"
        )
    };
    let running = "status: {state: {phase: Running}, minAvailable: 1, running: 2}\n---\n";
    [
        NODE.to_owned(),
        class("low", 10),
        class("high", 100),
        job("old", "low", 2).replace("---\n", running),
        pod(0),
        pod(1),
        job("new", "high", 1),
    ]
    .concat()
}

fn evicted(report: &Report) -> Vec<(&str, &str, &str)> {
    let lines = report.evictions.iter();
    lines
        .map(|line| {
            (
                &*line.pod,
                line.by.as_deref().unwrap_or_default(),
                &*line.action,
            )
        })
        .collect()
}

#[test]
fn an_evicted_pod_goes_its_job_makes_it_anew_and_who_it_went_for_is_bound() {
    let config = parse(PREEMPT_CONF, &pumice_engine::REGISTRY).config;
    let report = run_under(&config.expect("valid"), &somebody_goes(), Mode::FixedPoint);
    assert_eq!(
        evicted(&report),
        [("default/old-main-1", "default/new", "preempt")]
    );
    let bound: Vec<&str> = report.binds.iter().map(|bind| &*bind.pod).collect();
    assert_eq!(bound, ["default/new-main-0"]);
    let pending: Vec<&str> = report.pending.iter().map(|pod| &*pod.pod).collect();
    assert_eq!(pending, ["default/old-main-1"], "made anew");
    let phases: Vec<&str> = report.jobs.iter().map(|job| &*job.phase).collect();
    assert_eq!(phases, ["Running", "Running"]);
    assert!(report.cycles < 10, "it settles: {}", report.cycles);
}

#[test]
fn with_cycles_an_evicted_pod_is_terminating_and_who_it_goes_for_waits_on_its_node() {
    let config = parse(PREEMPT_CONF, &pumice_engine::REGISTRY).config;
    let config = config.expect("valid");
    for cycles in [1, 2, 5] {
        let report = run_under(&config, &somebody_goes(), Mode::Cycles(cycles));
        assert_eq!(
            evicted(&report),
            [("default/old-main-1", "default/new", "preempt")],
            "nobody else goes in cycle {cycles}"
        );
        assert_eq!(report.binds, []);
        let waits: Vec<(&str, &str)> = report
            .pipelined
            .iter()
            .map(|line| (&*line.pod, &*line.node))
            .collect();
        assert_eq!(waits, [("default/new-main-0", "n1")]);
    }
}

#[test]
fn an_extender_is_asked_by_nobody_and_only_one_that_is_ignorable_lets_pods_go_on() {
    for (ignorable, binds, says) in [
        (false, 0, "what it has a word on waits"),
        (true, 2, "all goes on as if it agreed"),
    ] {
        let extender = format!(
            "\n  - name: extender\n    arguments: {{extender.urlPrefix: 'http://ext', \
             extender.predicateVerb: p, extender.jobReadyVerb: r, extender.ignorable: {ignorable}}}\n"
        );
        let text = format!("{}{extender}", DEFAULT_CONF.trim_end());
        let config = parse(&text, &pumice_engine::REGISTRY)
            .config
            .expect("valid");
        let input = format!("{NODE}{JOB}");
        let (report, problems) = run_with_problems(&config, &input, Mode::FixedPoint);
        assert_eq!(report.binds.len(), binds);
        let [problem] = &problems[..] else {
            panic!("{problems:?}")
        };
        let line = format!(
            "warning: plugin extender: nobody asks the extender at http://ext in a simulation: {says}"
        );
        assert!(problem.to_string().starts_with(&line), "{problem}");
        let pending = &report.pending;
        assert_eq!(pending.is_empty(), ignorable);
    }
}
