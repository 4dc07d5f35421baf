//! The rules of spec/02 §14.

use pumice_conf::Value;
use pumice_framework::{Changed, ChangedQueues, Class};
use pumice_model::object::{GroupObject, NodeObject, PodObject, PodPhase};

use super::*;
use crate::testing::*;
use jiff::Timestamp;
use pumice_framework::points::Purpose;
use pumice_framework::tiers::Weight;

const MIN: i64 = 60;
const HOUR: i64 = 3600;
/// Midnight of a day, UTC.
const DAY: i64 = 20_000 * 24 * HOUR;

fn plugin(arguments: &[(&str, &str)]) -> (Tdm, ReasonTable) {
    let pair = |(key, text): &(&str, &str)| ((*key).to_owned(), Value::Str((*text).to_owned()));
    let mut reasons = ReasonTable::default();
    let plugin = Tdm::new(&arguments.iter().map(pair).collect(), &mut reasons);
    (plugin, reasons)
}

const NIGHT: (&str, &str) = ("tdm.revocable-zone.rz1", "22:00-06:00");

fn open_at(plugin: &mut Tdm, state: &State, now_s: i64) {
    let cycle = CycleInfo {
        now_s,
        ..CycleInfo::default()
    };
    plugin.open(state, &cycle);
}

/// Opened again after only the jobs of these pods have changed.
fn reopen_at(plugin: &mut Tdm, state: &State, now_s: i64, pods: &[&str]) {
    let changed = Changed {
        jobs: Some(
            pods.iter()
                .filter_map(|name| state.task(task(state, name)).job)
                .collect(),
        ),
        queues: ChangedQueues::NONE,
        nodes: false,
    };
    plugin.open(state, &CycleInfo { now_s, changed });
}

fn zoned(name: &str, zone: &str) -> NodeObject {
    node(name, "64c 64Gi pods=100").labels(&format!("{ZONE}={zone}"))
}

fn marked(mark: PreemptableMark, pod: PodObject) -> PodObject {
    pod.preemptable(mark)
}

fn yes(pod: PodObject) -> PodObject {
    marked(PreemptableMark::Yes, pod)
}

fn noted(key: &str, text: &str, pod: PodObject) -> PodObject {
    pod.annotations(vec![(key.to_owned(), text.to_owned())])
}

fn with_budget(key: &str, text: &str, name: &str) -> GroupObject {
    group(name, 1)
        .queue("default")
        .annotations(vec![(key.to_owned(), text.to_owned())])
}

#[test]
fn a_zone_is_open_from_its_first_time_up_to_its_second_past_midnight_too() {
    let cases = [
        (
            "08:00-18:00",
            &["08:00", "12:00", "17:59"][..],
            &["07:59", "18:00", "00:00"][..],
        ),
        (
            "22:00-06:00",
            &["22:00", "23:59", "00:00", "03:51", "05:59"],
            &["06:00", "21:59"],
        ),
        ("8:00-08:00", &["00:00", "07:59", "08:00", "23:00"], &[]),
        ("00:00-00:00", &["00:00", "12:00", "23:59"], &[]),
        (" 9:30 - 10:00 ", &["09:30"], &["10:00", "09:29"]),
    ];
    let second_of = |text: &str| {
        let (hour, minute) = text.split_once(':').expect("a time");
        DAY + hour.parse::<i64>().unwrap() * HOUR + minute.parse::<i64>().unwrap() * MIN
    };
    for (text, open, closed) in cases {
        let window = ZoneWindow::parse(text).expect("a window");
        let is_open = |time: &&str| window.is_open(second_of(time), &TimeZone::UTC);
        assert!(open.iter().all(is_open), "{text}");
        assert!(!closed.iter().any(is_open), "{text}");
    }
}

#[test]
fn what_is_no_window_is_told_apart() {
    let cases = [
        ("22:00", "has no `-` between two times of day"),
        (
            "22:00-24:00",
            "has `24:00` where a time of day from 00:00 to 23:59 should be",
        ),
        (
            "22-06",
            "has `22` where a time of day from 00:00 to 23:59 should be",
        ),
        (
            "22:5-06:00",
            "has `22:5` where a time of day from 00:00 to 23:59 should be",
        ),
        (
            "-06:00",
            "has `` where a time of day from 00:00 to 23:59 should be",
        ),
        (
            "+1:00-06:00",
            "has `+1:00` where a time of day from 00:00 to 23:59 should be",
        ),
    ];
    for (text, fault) in cases {
        assert_eq!(ZoneWindow::parse(text), Err(fault.to_owned()), "{text}");
    }
}

#[test]
fn the_next_edge_is_where_clocks_show_one_or_are_set() {
    let window = ZoneWindow::parse("22:00-06:00").expect("a window");
    let utc = |at_s| window.next_edge_s(at_s, &TimeZone::UTC);
    assert_eq!(utc(DAY), Some(DAY + 6 * HOUR));
    assert_eq!(
        utc(DAY + 6 * HOUR),
        Some(DAY + 22 * HOUR),
        "later than that"
    );
    assert_eq!(utc(DAY + 22 * HOUR), Some(DAY + 30 * HOUR));
    // In Berlin clocks go from 2:00 to 3:00 on 2026-03-29, at 1:00 UTC.
    let berlin = clocks("Europe/Berlin").expect("a zone");
    let set_s = "2026-03-29T01:00:00Z"
        .parse::<Timestamp>()
        .unwrap()
        .as_second();
    let edges = |mut at_s: i64| {
        let mut all = Vec::new();
        for _ in 0..3 {
            at_s = window.next_edge_s(at_s, &berlin).expect("an edge");
            all.push((at_s - set_s) / HOUR);
        }
        all
    };
    assert_eq!(edges(set_s - 5 * HOUR), [-4, 0, 3], "opens, is set, closes");
    assert!(window.is_open(set_s + 2 * HOUR, &berlin));
    assert!(!window.is_open(set_s + 3 * HOUR, &berlin), "6:00 there");
}

#[test]
fn arguments_are_checked_with_their_place() {
    let text = "actions: allocate\ntiers:\n- plugins:\n  - name: tdm\n    arguments:\n      \
                tdm.revocable-zone.rz1: 10:00-25:00\n      tdm.evict.period: 0s\n      \
                tdm.time-zone: Mars/Olympus\n";
    let outcome = pumice_conf::parse(text, &REGISTRY);
    assert!(outcome.config.is_none());
    let told = outcome.diagnostics.iter();
    let told: Vec<String> = told.map(|one| one.render("conf")).collect();
    let told = told.join("\n");
    for expected in [
        "`tdm.revocable-zone.rz1`: `10:00-25:00` has `25:00` where a time of day from 00:00 to 23:59 should be",
        "6:31",
        "write two times of day, as in `22:00-06:00`",
        "`tdm.evict.period`: `0s` is too short",
        "`tdm.time-zone`: `Mars/Olympus` is no time zone of the IANA database",
    ] {
        assert!(told.contains(expected), "{expected}:\n{told}");
    }
}

fn verdicts(plugin: &Tdm, reasons: &ReasonTable, state: &State, uid: &str) -> Vec<String> {
    let Class { key, .. } = class(state, uid);
    let mut signature = points::Signature::default();
    signature.add(SPEC.name, plugin.signature(state, task(state, uid)));
    let class = Class::new(state, key, std::sync::Arc::new(signature));
    let mut part = StaticPart {
        verdict: vec![None; state.nodes().len()],
        score: vec![0; state.nodes().len()],
        normalised: Vec::new(),
    };
    plugin.static_filter(state, class.fixed(), &mut ReasonTable::default(), &mut part);
    plugin.static_score(state, class.fixed(), &mut part);
    let verdicts = part.verdict.iter().zip(&part.score);
    let text = |(verdict, score): (&Option<ReasonId>, &i64)| match verdict {
        Some(reason) => reasons.reason(*reason).text.clone(),
        None => score.to_string(),
    };
    verdicts.map(text).collect()
}

#[test]
fn only_revocable_pods_go_to_open_zones_and_are_drawn_there() {
    let state = Cluster::default()
        .with(node("n0", "8c pods=9"))
        .with(zoned("n1", "rz1"))
        .with(zoned("n2", "rz2"))
        .with(zoned("n3", ""))
        .with(pod("plain", "1c"))
        .with(yes(pod("marked", "1c")))
        .with(noted(ZONE, "*", pod("any", "1c")))
        .with(noted(ZONE, "rz1", yes(pod("one", "1c"))))
        .state();
    let (mut plugin, reasons) = plugin(&[NIGHT, ("tdm.time-zone", "Asia/Shanghai")]);
    let refused = "node is revocable, the pod is not";
    let unknown = "the times of the node's revocable zone are not configured";
    let closed = "zone rz1 is open 22:00-06:00 Asia/Shanghai, it is closed at this time";
    // 20:00 UTC is 4:00 in Shanghai, 22:00 UTC is 6:00 there.
    for (hour, there) in [(20, "100"), (22, closed)] {
        open_at(&mut plugin, &state, DAY + hour * HOUR);
        let of = |uid| verdicts(&plugin, &reasons, &state, uid);
        assert_eq!(of("plain"), ["0", refused, refused, "0"]);
        assert_eq!(of("one"), ["0", refused, refused, "0"]);
        assert_eq!(of("marked"), ["0", there, unknown, "0"]);
        assert_eq!(of("any"), ["0", there, unknown, "0"]);
    }
}

#[test]
fn what_a_pod_does_not_say_its_pod_group_says() {
    let marked_group = group("marked", 1)
        .queue("default")
        .preemptable(PreemptableMark::Yes);
    let state = Cluster::default()
        .with(marked_group)
        .with(with_budget(ZONE, "*", "zoned"))
        .pods(1, "marked", pod("x", "1c"))
        .pods(1, "marked", marked(PreemptableMark::No, pod("x", "1c")))
        .pods(1, "zoned", pod("x", "1c"))
        .pods(1, "zoned", noted(ZONE, "rz1", pod("x", "1c")))
        .state();
    let said = |uid| {
        (
            is_revocable(&state, task(&state, uid)),
            is_preemptable(&state, task(&state, uid)),
        )
    };
    assert_eq!(said("marked-2"), (true, true));
    assert_eq!(said("marked-3"), (false, false));
    assert_eq!(said("zoned-4"), (true, false));
    assert_eq!(said("zoned-5"), (false, false));
}

/// Twenty pods of a group, of which so many run.
fn job_of(group: GroupObject, total: usize, running: usize, ended: usize) -> (State, JobIx) {
    let name = group.name.clone();
    let done = pod("x", "1c").on("n").phase(PodPhase::Succeeded);
    let state = Cluster::default()
        .with(node("n", "64c pods=100"))
        .with(group)
        .pods(running, &name, yes(pod("x", "1c").on("n")))
        .pods(ended, &name, done)
        .pods(total - running - ended, &name, pod("x", "1c"))
        .state();
    let job = job(&state, &name);
    (state, job)
}

#[test]
fn budgets_are_what_the_pod_group_says() {
    let cases = [
        (Some((MAX_UNAVAILABLE, "5")), 20, 18, 0, 3),
        (Some((MAX_UNAVAILABLE, "5")), 20, 10, 8, 3),
        (Some((MAX_UNAVAILABLE, "5")), 20, 10, 0, 0),
        (Some((MAX_UNAVAILABLE, "10%")), 15, 15, 0, 2),
        (Some((MIN_AVAILABLE, "30%")), 10, 8, 0, 5),
        (Some((MIN_AVAILABLE, "3")), 10, 3, 0, 0),
        (Some((MIN_AVAILABLE, "3")), 10, 2, 0, 0),
        (Some((MIN_AVAILABLE, "0")), 10, 2, 0, 2),
        (Some((MIN_AVAILABLE, "some")), 10, 9, 0, 0),
        (Some((MAX_UNAVAILABLE, "-1")), 10, 9, 0, 0),
        (None, 10, 9, 0, 1),
        (None, 10, 0, 0, 0),
    ];
    for (said, total, running, ended, expected) in cases {
        let group = match said {
            Some((key, text)) => with_budget(key, text, "g"),
            None => group("g", 1).queue("default"),
        };
        let (state, job) = job_of(group, total, running, ended);
        let what = format!("{said:?}, {total} pods, {running} running");
        assert_eq!(budget::left(state.job(job)), expected, "{what}");
    }
    let both = group("g", 1).queue("default").annotations(vec![
        (MAX_UNAVAILABLE.to_owned(), "9".to_owned()),
        (MIN_AVAILABLE.to_owned(), "8".to_owned()),
    ]);
    let (mut state, job) = job_of(both, 10, 10, 0);
    assert_eq!(budget::left(state.job(job)), 2, "the minimum goes first");
    let first = state.job(job).tasks[0];
    state.evict(first);
    assert_eq!(budget::left(state.job(job)), 1, "who goes does not run");
    let (mut state, job) = job_of(group("g", 1).queue("default"), 3, 3, 0);
    let first = state.job(job).tasks[0];
    state.evict(first);
    assert_eq!(budget::left(state.job(job)), 0, "one at a time");
}

#[test]
fn what_cannot_be_read_is_told_to_the_owner() {
    let (state, job) = job_of(with_budget(MIN_AVAILABLE, "half", "g"), 2, 2, 0);
    let (tdm, _) = plugin(&[NIGHT]);
    let told = tdm.job_warning(&state, job).expect("a warning");
    assert!(
        told.contains("volcano.sh/jdb-min-available: `half` is neither"),
        "{told}"
    );
    let state = Cluster::default()
        .with(noted(ZONE, "rz1", pod("p", "1c")))
        .state();
    let job = state.task(task(&state, "p")).job.expect("a job");
    let told = tdm.job_warning(&state, job).expect("a warning");
    assert!(
        told.contains("`rz1` keeps pods off revocable nodes"),
        "{told}"
    );
    let state = Cluster::default()
        .with(noted(ZONE, "*", pod("p", "1c")))
        .state();
    let job = state.task(task(&state, "p")).job.expect("a job");
    assert_eq!(tdm.job_warning(&state, job), None);
}

/// On a node of rz1, on one of rz2, and on one without zone: marked pods of `g`, and others.
fn tenants() -> State {
    Cluster::default()
        .with(node("n0", "64c pods=100"))
        .with(zoned("n1", "rz1"))
        .with(zoned("n2", "rz2"))
        .with(with_budget(MIN_AVAILABLE, "2", "g"))
        .pods(2, "g", yes(pod("x", "1c").on("n1")))
        .pods(1, "g", yes(pod("x", "1c").on("n0")))
        .pods(1, "g", yes(pod("x", "1c").on("n2")))
        .with(pod("plain", "1c").on("n1"))
        .with(noted(ZONE, "*", pod("any", "1c").on("n1")))
        .with(yes(pod("here", "1c")).on("n0"))
        .with(pod("new", "1c"))
        .with(yes(pod("humble", "1c")))
        .state()
}

const ALL: &str = "g-4 g-5 g-6 g-7 plain any here";

fn all(state: &State) -> Vec<TaskIx> {
    ALL.split(' ').map(|name| task(state, name)).collect()
}

#[test]
fn those_in_closed_zones_leave_as_far_as_their_budget_allows() {
    let state = tenants();
    let (mut plugin, _) = plugin(&[NIGHT]);
    open_at(&mut plugin, &state, DAY + 12 * HOUR);
    assert!(VictimTasks::is_due(&plugin));
    let leave = plugin.victim_tasks(&state, &all(&state));
    // Two of the four of `g` stay at least; who says nothing stays; rz2 has no times.
    assert_eq!(names(&state, &leave), "g-4 g-5 any");
    open_at(&mut plugin, &state, DAY + 23 * HOUR);
    assert!(!VictimTasks::is_due(&plugin), "it is open");
    assert_eq!(plugin.victim_tasks(&state, &all(&state)), []);
}

#[test]
fn it_is_due_once_a_period_and_wakes_for_it_while_somebody_has_to_leave() {
    let mut state = tenants();
    let (mut plugin, _) = plugin(&[NIGHT, ("tdm.evict.period", "90s")]);
    let noon = DAY + 12 * HOUR;
    let opens = DAY + 22 * HOUR;
    open_at(&mut plugin, &state, noon);
    assert!(VictimTasks::is_due(&plugin));
    assert_eq!(plugin.wake_at_s(), Some(opens), "nobody went: nobody will");
    let victim = task(&state, "g-4");
    plugin.observe(&state, Step::Evicting(victim));
    state.evict(victim);
    assert_eq!(plugin.wake_at_s(), Some(noon + 90));
    reopen_at(&mut plugin, &state, noon + 89, &[]);
    assert!(!VictimTasks::is_due(&plugin));
    reopen_at(&mut plugin, &state, noon + 90, &[]);
    assert!(VictimTasks::is_due(&plugin));
    assert_eq!(plugin.wake_at_s(), Some(opens));
    // A job of those who have to leave has changed.
    reopen_at(&mut plugin, &state, noon + 100, &["humble"]);
    assert_eq!(plugin.wake_at_s(), Some(opens));
    reopen_at(&mut plugin, &state, noon + 110, &["g-5"]);
    assert_eq!(plugin.wake_at_s(), Some(noon + 180));
}

#[test]
fn only_marked_pods_beyond_revocable_nodes_make_room_and_for_unmarked_ones() {
    let state = tenants();
    let (plugin, _) = plugin(&[NIGHT]);
    let ask = |purpose, preemptor| {
        let answer = plugin.victims(&state, purpose, task(&state, preemptor), &all(&state));
        assert_eq!(answer.orders, answer.allowed.is_some());
        answer
            .allowed
            .map(|allowed| (answer.weight, names(&state, &allowed)))
    };
    let veto = |who: &str| Some((Weight::Veto, who.to_owned()));
    assert_eq!(ask(Purpose::Preempt, "new"), veto("g-6 here"));
    assert_eq!(ask(Purpose::WithinJob, "new"), veto("g-6 here"));
    assert_eq!(ask(Purpose::Preempt, "humble"), veto(""));
    assert_eq!(ask(Purpose::Reclaim, "new"), None);
    for name in ALL.split(' ') {
        let never = plugin.never(
            &state,
            Purpose::Preempt,
            task(&state, "new"),
            task(&state, name),
        );
        let goes = ["g-6", "here"].contains(&name);
        assert_eq!(never, (!goes).then_some(Weight::Veto), "{name}");
    }
}

#[test]
fn unmarked_jobs_go_first_and_alone_starve() {
    let marked_group = group("humble", 2)
        .queue("default")
        .preemptable(PreemptableMark::Yes);
    let state = Cluster::default()
        .with(marked_group)
        .with(group("proud", 2).queue("default"))
        .with(group("idle", 1).queue("default"))
        .pods(1, "humble", pod("x", "1c"))
        .pods(2, "proud", pod("x", "1c"))
        .state();
    let (plugin, _) = plugin(&[]);
    let of = |name| job(&state, name);
    assert_eq!(
        plugin.job_order(&state, of("proud"), of("humble")),
        Ordering::Less
    );
    assert_eq!(
        plugin.job_order(&state, of("proud"), of("idle")),
        Ordering::Equal
    );
    assert!(plugin.job_starving(&state, of("proud")));
    assert!(!plugin.job_starving(&state, of("idle")));
    assert!(!plugin.job_starving(&state, of("humble")));
    assert_eq!(plugin.job_pipelined(&state, of("proud")), Vote::Reject);
    assert_eq!(JobPipelined::lacks(&plugin, &state, of("proud")), 2);
}

#[test]
fn pods_for_which_nobody_goes_are_of_another_class_than_others() {
    let state = Cluster::default()
        .with(pod("plain", "1c"))
        .with(yes(pod("marked", "1c")))
        .with(noted(ZONE, "rz1", yes(pod("one", "1c"))))
        .state();
    let (mut plugin, _) = plugin(&[]);
    open_at(&mut plugin, &state, DAY);
    let of = |uid| plugin.signature(&state, task(&state, uid));
    let all = ["plain", "marked", "one"].map(of);
    let different: std::collections::BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), 3, "{all:?}");
}
