use pumice_conf::{Config, DEFAULT_CONF, parse};
use pumice_ingest::Options;
use pumice_traces::{TraceMachine, read_trace};

use super::{TraceFigures, TraceGround, TraceRunSettings, run_trace};
use crate::reader::{InputObjects, InputSource};
use crate::settings::{Mode, SimulationSettings};

const NAMES: &str = "submit,duration,members,cpu,memory,cards,model,queue,priority,name\n";

const LABEL: &str = "nvidia.com/gpu.product";

/// Gangs, and pods of higher priority evict others.
const PREEMPT: &str = "actions: \"enqueue, allocate, preempt\"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
";

/// No share of a queue keeps a job from what is free.
const GANGS: &str = "actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
";

const SHARED: &str = "actions: \"enqueue, allocate\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.SchedulePolicy: binpack
";

/// The first job of a queue has places kept.
const KEPT: &str = "actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
  - name: reservation
";

/// Who used less goes first, and who runs longer than he may is ended.
const FAIR: &str = "actions: \"enqueue, allocate\"
tiers:
- plugins:
  - name: gang
  - name: fairshare
    arguments: {fairshare.users: said, fairshare.interval: 1s}
  - name: predicates
  - name: runtimelimit
    arguments: {runtimelimit.grace: 5s}
";

const USERS: &str = "submit,duration,limit,cards,user,name\n";

fn config(text: &str) -> Config {
    parse(text, &pumice_engine::REGISTRY).config.expect("valid")
}

fn settings() -> TraceRunSettings {
    TraceRunSettings {
        default_queue: "default".to_owned(),
        card_resource: None,
        model_label: LABEL.to_owned(),
        until_s: None,
    }
}

/// So many nodes with eight cards.
fn nodes(count: usize) -> TraceGround {
    let mut ground = TraceGround::default();
    let shape = TraceMachine::shaped("cpu=96,memory=768Gi,cards=8").expect("a shape");
    ground.add_shaped(count, &shape);
    ground
}

fn run_on(ground: &TraceGround, conf: &str, rows: &str) -> TraceFigures {
    let reading = read_trace("t", &format!("{NAMES}{rows}"), None).expect("a trace");
    run_trace(&config(conf), ground, &reading.jobs, &settings(), |_| ())
}

fn run(rows: &str) -> TraceFigures {
    run_on(&nodes(1), DEFAULT_CONF, rows)
}

fn manifests(text: &str) -> TraceGround {
    let settings = SimulationSettings {
        mode: Mode::FixedPoint,
        now_s: 0,
        default_queue: "default".to_owned(),
        options: Options {
            scheduler_names: vec!["volcano".to_owned()],
            annotations: pumice_engine::annotations_read(),
        },
        ignored_provisioners: Vec::new(),
        node_selector: Vec::new(),
        shard: None,
    };
    let source = InputSource {
        name: "t".to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    let mut input = InputObjects::default();
    input.read(&source).expect("text");
    let (ground, problems) = TraceGround::of_manifests(input, &[source], &settings);
    assert_eq!(problems, []);
    ground
}

#[test]
fn a_gang_waits_until_there_is_room_for_all_of_it() {
    let figures = run("0,100,1,1,,6,,,,first\n10,50,2,1,,2,,,,gang\n");
    assert_eq!((figures.came, figures.ended), (2, 2));
    assert_eq!(
        (figures.wait_seconds.max, figures.wait_seconds.mean),
        (90.0, 45.0)
    );
    assert_eq!(figures.makespan_seconds, 150);
    // 6 cards for 100 s and 4 for 50 s of 8 for 150 s.
    assert_eq!(figures.cards.expect("cards").used_of_run_percent, 66.7);
    // (90 + 50) / 50, and nothing for the first.
    assert_eq!(figures.slowdown.max, 2.8);
}

/// Rows with users and limits, on one node.
fn run_users(conf: &str, rows: &str) -> TraceFigures {
    let reading = read_trace("t", &format!("{USERS}{rows}"), None).expect("a trace");
    run_trace(&config(conf), &nodes(1), &reading.jobs, &settings(), |_| ())
}

#[test]
fn a_large_job_has_its_place_kept_and_is_told_when_it_starts() {
    // Small ones come every ten seconds; the large one is told that it starts when those of before it have to end.
    let mut rows = "0,100,200,4,u,\n10,100,150,4,u,\n20,50,50,8,u,large\n".to_owned();
    (3..40).for_each(|at| rows += &format!("{0},100,100,4,v,\n", 10 * at));
    let starves = run_users(GANGS, &rows);
    let kept = run_users(KEPT, &rows);
    assert_eq!(starves.promises, None);
    let promises = kept.promises.expect("promises");
    assert!(
        promises.promised > 0 && promises.promised < promises.waited,
        "{promises:?}"
    );
    assert_eq!(promises.later, 0);
    // Four of 40 are a tenth; three of them ask for half a node, and came first of those that may run for long.
    let (few, all) = (kept.largest_tenth, starves.largest_tenth);
    assert_eq!((few.jobs, few.ended, few.asks_from), (4, 4, 4.0));
    assert!(
        few.wait_seconds.max < all.wait_seconds.max / 5.0,
        "{few:?} {all:?}"
    );
}

#[test]
fn a_promise_is_compared_with_what_came_of_it() {
    // It is told to start at 200, when the first one is allowed to end, and starts at 100, after a wait of 80.
    let figures = run_users(KEPT, "0,100,200,8,u,\n20,50,50,8,u,\n");
    let promises = figures.promises.expect("promises");
    assert_eq!((promises.waited, promises.promised_percent), (1, 100.0));
    assert_eq!((promises.later, promises.error_percent.median), (0, 125.0));
}

#[test]
fn where_nobody_says_how_long_jobs_run_it_is_learned_from_those_that_have_ended() {
    let rows = "0,100,,8,u,\n100,100,,8,u,\n200,100,,8,u,\n300,100,,8,u,\n320,50,,8,u,\n";
    assert_eq!(run_users(KEPT, rows).promises, None);
    let learns = format!("{KEPT}  - name: runtimeestimate\n");
    let figures = run_users(&learns, rows);
    let promises = figures.promises.expect("promises");
    assert_eq!((promises.waited, promises.promised_percent), (1, 100.0));
    assert_eq!((promises.later, promises.error_percent.median), (0, 0.0));
    assert_eq!(figures.ended, 5);
}

#[test]
fn users_are_told_apart() {
    // Both want the whole node all the time, and each has it for half of it.
    let figures = run_users(GANGS, "0,100,,8,u,\n0,100,,8,v,\n");
    let users = figures.users.expect("users");
    assert_eq!((users.users, users.all.len()), (2, 2));
    let [u, v] = &users.all[..] else {
        unreachable!();
    };
    assert_eq!(
        (u.name.as_str(), u.share_percent, u.slowdown.mean),
        ("u", 50.0, 1.0)
    );
    assert_eq!(
        (v.name.as_str(), v.share_percent, v.slowdown.mean),
        ("v", 50.0, 2.0)
    );
    assert_eq!((u.of_due_percent, v.of_due_percent), (200.0, 66.7));
    // (1 + 2)² / (2 · (1 + 4)); one of two with everything, then one that wants anything.
    assert_eq!((users.slowdown_fairness, users.fairness), (0.9, 0.75));
    assert_eq!(users.slowdown.mean, 1.5);
    assert_eq!(run("0,100,1,1,,1,,,,\n").users, None);
}

#[test]
fn the_user_of_a_trace_is_the_one_who_is_charged() {
    // The last job is of a user who had nothing, and passes those that came before it.
    let rows = "0,100,100,8,u,\n1,10,10,8,u,\n2,10,10,8,u,\n3,10,10,8,v,\n";
    let waits = |conf: &str| -> Vec<f64> {
        let users = run_users(conf, rows).users.expect("users");
        users.all.iter().map(|user| user.wait_seconds.max).collect()
    };
    assert_eq!(waits(GANGS), [108.0, 117.0]);
    assert_eq!(waits(FAIR), [118.0, 97.0]);
}

#[test]
fn who_runs_longer_than_he_may_is_ended_where_limits_are_kept() {
    let rows = "0,100,20,8,u,\n1,10,,8,u,\n";
    let lenient = run_users(GANGS, rows);
    assert_eq!((lenient.ended_by_limit, lenient.makespan_seconds), (0, 110));
    let strict = run_users(FAIR, rows);
    assert_eq!(
        (strict.ended_by_limit, strict.ended, strict.restarts),
        (1, 2, 0)
    );
    // 20 and 5 seconds of grace.
    assert_eq!(strict.makespan_seconds, 35);
    // Though nobody waits for its end.
    let alone = run_users(FAIR, "0,100,20,8,u,\n");
    assert_eq!((alone.ended_by_limit, alone.makespan_seconds), (1, 25));
}

#[test]
fn the_same_trace_gives_the_same_figures() {
    let mut rows = String::new();
    for at in 0..200 {
        let (queue, cards) = (at % 3, 1 << (at % 4));
        rows += &format!("{},{},1,1,,{cards},,q{queue},0,\n", at * 7, 100 + at % 50);
    }
    let ground = nodes(2);
    assert_eq!(run_on(&ground, GANGS, &rows), run_on(&ground, GANGS, &rows));
    assert_eq!(run_on(&ground, GANGS, &rows).ended, 200);
}

#[test]
fn a_job_that_is_evicted_starts_over() {
    let figures = run_on(
        &nodes(1),
        PREEMPT,
        "0,100,2,1,,4,,,1,low\n40,10,1,1,,4,,,9,high\n",
    );
    assert_eq!((figures.ended, figures.restarts), (2, 1));
    // The low one ran 40 s on 8 cards for nothing, then waited until the high one was done.
    assert_eq!(figures.lost_hours, 0.1);
    assert_eq!(figures.makespan_seconds, 150);
}

#[test]
fn what_never_fits_is_told_in_the_words_of_the_scheduler() {
    let rows = "0,10,1,1,,16,,,,large\n5,10,1,1,,1,,,,small\n";
    let figures = run_on(&nodes(2), GANGS, rows);
    assert_eq!((figures.ended, figures.waiting), (1, 1));
    let line = &figures.never_started[0];
    assert_eq!(
        (line.jobs, line.first.as_slice()),
        (1, &["large".to_owned()][..])
    );
    assert!(line.reason.contains("never fits"), "{}", line.reason);
}

#[test]
fn a_job_without_an_end_keeps_what_it_has() {
    let figures = run("0,,1,1,,6,,,,service\n10,50,1,1,,4,,,,late\n");
    assert_eq!((figures.ended, figures.running, figures.waiting), (0, 1, 1));
}

#[test]
fn a_run_ends_when_it_is_told_to() {
    let reading = read_trace(
        "t",
        &format!("{NAMES}0,1000,1,1,,1,,,,\n5000,10,1,1,,1,,,,\n"),
        None,
    )
    .expect("a trace");
    let settings = TraceRunSettings {
        until_s: Some(500),
        ..settings()
    };
    let figures = run_trace(
        &config(DEFAULT_CONF),
        &nodes(1),
        &reading.jobs,
        &settings,
        |_| (),
    );
    assert_eq!(
        (figures.came, figures.running, figures.makespan_seconds),
        (1, 1, 500)
    );
}

#[test]
fn cards_are_shared_where_the_configuration_shares_them() {
    let rows = "0,100,1,1,,0.5,,,,a\n0,100,1,1,,0.5,,,,b\n0,100,7,1,,1,,,,c\n";
    let shared = run_on(&nodes(1), SHARED, rows);
    assert_eq!((shared.wait_seconds.max, shared.ended), (0.0, 3));
    assert_eq!(shared.cards.expect("cards").used_of_run_percent, 100.0);
    let whole = run(rows);
    assert_eq!(whole.wait_seconds.max, 100.0);
    assert!(
        whole.remarks[0].starts_with("2 jobs ask for a share of a card and get a whole one"),
        "{:?}",
        whole.remarks
    );
}

#[test]
fn queues_of_manifests_take_the_jobs_of_others_into_the_default_one() {
    let ground = manifests(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: \"8\", memory: 8Gi, pods: \"10\"}}\n---\n\
         apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: known}\nspec: {weight: 2}\n",
    );
    let figures = run_on(
        &ground,
        DEFAULT_CONF,
        "0,10,1,1,,,,known,,\n0,10,1,1,,,,strange,,\n",
    );
    let names: Vec<&str> = figures
        .queues
        .iter()
        .map(|queue| queue.name.as_str())
        .collect();
    assert_eq!(names, ["default", "known"]);
    assert!(
        figures.remarks[0].contains("strange"),
        "{:?}",
        figures.remarks
    );
    assert_eq!(figures.cards, None);
}

#[test]
fn pods_of_manifests_keep_their_node_and_those_without_one_take_no_part() {
    let node = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: \"8\", memory: 8Gi, pods: \"10\"}}\n---\n";
    let pod = |name: &str, node: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{schedulerName: volcano, {node}containers: [{{name: m, \
             image: i, resources: {{requests: {{cpu: 6}}}}}}]}}\n---\n"
        )
    };
    let ground = manifests(&format!(
        "{node}{}{}",
        pod("runs", "nodeName: n1, "),
        pod("waits", "")
    ));
    assert_eq!(ground.left_out, 1);
    let figures = run_on(&ground, DEFAULT_CONF, "0,10,1,4,,,,,,\n0,10,1,2,,,,,,\n");
    assert_eq!((figures.ended, figures.waiting), (1, 1));
    assert!(
        figures
            .remarks
            .iter()
            .any(|remark| remark.starts_with("1 pods and Jobs")),
        "{:?}",
        figures.remarks
    );
}

#[test]
fn wishes_for_models_count_where_nodes_tell_them() {
    let shape = |model: &str| {
        TraceMachine::shaped(&format!("cpu=8,memory=8Gi,cards=1,model={model}")).expect("a shape")
    };
    let mut ground = TraceGround::default();
    ground.add_shaped(1, &shape("A100"));
    ground.add_shaped(1, &shape("H100"));
    let rows = "0,10,1,1,,1,H100,,,\n0,10,1,1,,1,H100,,,\n";
    assert_eq!(run_on(&ground, DEFAULT_CONF, rows).wait_seconds.max, 10.0);
    let anywhere = run_on(&nodes(1), DEFAULT_CONF, rows);
    assert_eq!(anywhere.wait_seconds.max, 0.0);
    assert!(
        anywhere.remarks[0].starts_with("2 jobs name models"),
        "{:?}",
        anywhere.remarks
    );
}

#[test]
fn processors_share_pods_as_large_as_nodes() {
    let mut ground = TraceGround::default();
    ground.add_shaped(
        2,
        &TraceMachine::shaped("cpu=16,memory=64Gi").expect("a shape"),
    );
    let job = |processors: u32| {
        format!("1 0 -1 60 {processors} -1 -1 {processors} -1 -1 1 1 1 -1 1 -1 -1 -1\n")
    };
    for (processors, ended) in [(24, 1), (32, 1), (33, 0)] {
        let reading = read_trace("t", &job(processors), None).expect("a trace");
        let figures = run_trace(
            &config(DEFAULT_CONF),
            &ground,
            &reading.jobs,
            &settings(),
            |_| (),
        );
        assert_eq!(figures.ended, ended, "{processors}");
    }
}
