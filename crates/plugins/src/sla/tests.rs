//! The examples of spec/02 §13, and how the plugin keeps up with its jobs.

use pumice_conf::Value;
use pumice_framework::Changed;
use pumice_model::Delta;
use pumice_model::object::{GroupObject, GroupPhase};

use super::*;
use crate::testing::*;

const MIN: i64 = 60;
/// 10:20:00 of some day.
const NOW_S: i64 = 37_200;

fn with_limit(name: &str, age_s: i64, limit: Option<&str>) -> GroupObject {
    let annotation = |text: &str| (ANNOTATIONS[0].to_owned(), text.to_owned());
    group(name, 1)
        .queue("default")
        .phase(GroupPhase::Pending)
        .min_resources("1c")
        .created_s(NOW_S - age_s)
        .annotations(Vec::from_iter(limit.map(annotation)))
}

fn plugin(limit: Option<&str>) -> Sla {
    let pair = |text: &str| (WAITING_TIME.to_string(), Value::Str(text.to_owned()));
    Sla::new(&limit.map(pair).into_iter().collect())
}

fn open_at(plugin: &mut Sla, state: &State, now_s: i64, jobs: Option<Vec<JobIx>>) {
    let changed = Changed {
        jobs,
        ..Changed::default()
    };
    plugin.open(state, &CycleInfo { now_s, changed });
}

fn opened(limit: Option<&str>, state: &State) -> Sla {
    let mut plugin = plugin(limit);
    open_at(&mut plugin, state, NOW_S, None);
    plugin
}

#[test]
fn the_job_whose_time_runs_out_first_goes_first_and_jobs_without_a_limit_last() {
    let state = Cluster::default()
        .with(with_limit("a", 10 * MIN, Some("30m")))
        .with(with_limit("b", MIN, Some("15m")))
        .with(with_limit("negative", 60 * MIN, Some("-1h")))
        .with(with_limit("none", 60 * MIN, None))
        .with(with_limit("unreadable", 60 * MIN, Some("soon")))
        .state();
    let plugin = opened(None, &state);
    let order = |l, r| plugin.job_order(&state, job(&state, l), job(&state, r));
    assert_eq!(order("b", "a"), Ordering::Less);
    assert_eq!(order("a", "none"), Ordering::Less);
    assert_eq!(order("negative", "none"), Ordering::Equal);
    assert_eq!(order("unreadable", "none"), Ordering::Equal);
    assert_eq!(order("b", "none"), Ordering::Less);
}

#[test]
fn a_job_is_voted_for_from_the_second_on_in_which_its_time_has_run_out() {
    let state = Cluster::default()
        .with(with_limit("j", 10 * MIN, Some("10m")))
        .state();
    let ix = job(&state, "j");
    for (now_s, vote) in [(NOW_S - 1, Vote::Abstain), (NOW_S, Vote::Permit)] {
        let mut plugin = plugin(None);
        open_at(&mut plugin, &state, now_s, None);
        assert_eq!(plugin.job_enqueueable(&state, ix), (vote, None));
        assert_eq!(plugin.job_pipelined(&state, ix), vote);
        assert_eq!(plugin.sub_job_pipelined(&state, ix, 0), Vote::Abstain);
    }
}

#[test]
fn a_podgroup_s_own_limit_goes_before_that_of_the_configuration() {
    let mut short = with_limit("short", 0, None);
    let own = (ANNOTATIONS[1].to_owned(), "10s".to_owned());
    short.annotations = vec![own];
    let mut both = with_limit("both", 0, Some("20s"));
    both.annotations
        .push((ANNOTATIONS[1].to_owned(), "10s".to_owned()));
    let state = Cluster::default()
        .with(short)
        .with(both)
        .with(with_limit("wrong", 0, Some("0s")))
        .with(with_limit("none", 0, None))
        .state();
    let plugin = opened(Some("1m"), &state);
    let left_s = |name| {
        let at_ns = plugin.deadline(job(&state, name)).expect("a limit");
        due_s(at_ns) - NOW_S
    };
    let names = ["short", "both", "wrong", "none"];
    assert_eq!(names.map(left_s), [10, 20, 60, 60]);
}

#[test]
fn no_limit_of_zero_or_less_is_one() {
    let state = Cluster::default().with(with_limit("j", 0, None)).state();
    for limit in ["0s", "-5m"] {
        let plugin = opened(Some(limit), &state);
        assert_eq!(plugin.deadline(job(&state, "j")), None);
        assert_eq!(plugin.wake_at_s(), None);
    }
}

#[test]
fn a_cycle_is_asked_for_when_the_time_of_a_waiting_job_runs_out_and_only_once() {
    let running = with_limit("r", 0, Some("1s"))
        .phase(GroupPhase::Running)
        .min_resources("1c");
    let mut state = Cluster::default()
        .with(with_limit("j", 0, Some("1500ms")))
        .with(with_limit("k", 0, Some("10s")))
        .with(running)
        .state();
    let mut plugin = opened(None, &state);
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 2), "not before, and whole");
    open_at(&mut plugin, &state, NOW_S + 2, Some(Vec::new()));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 10));
    open_at(&mut plugin, &state, NOW_S + 10, Some(Vec::new()));
    assert_eq!(plugin.wake_at_s(), None);
    // What changes is followed, and what is gone is forgotten.
    let r = job(&state, "r");
    let mut later = pod("p", "1c");
    later.group = Some("r".to_owned());
    let longer = with_limit("r", 0, Some("1m"))
        .phase(GroupPhase::Running)
        .min_resources("1c");
    state.apply(longer.delta());
    state.apply(later.delta());
    state.seal();
    open_at(&mut plugin, &state, NOW_S + 11, Some(vec![r]));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 60));
    state.apply(Delta::PodDelete("p".to_owned()));
    state.apply(Delta::GroupDelete("ns".to_owned(), "r".to_owned()));
    state.seal();
    open_at(&mut plugin, &state, NOW_S + 12, Some(vec![r]));
    assert_eq!(plugin.wake_at_s(), None);
}

#[test]
fn an_annotation_that_cannot_be_read_is_told_of() {
    let mut both = with_limit("both", 0, Some("10s"));
    both.annotations
        .push((ANNOTATIONS[1].to_owned(), "30".to_owned()));
    let state = Cluster::default()
        .with(with_limit("good", 0, Some("10s")))
        .with(with_limit("zero", 0, Some("0s")))
        .with(with_limit("none", 0, None))
        .with(with_limit("soon", 0, Some("soon")))
        .with(both)
        .state();
    let plugin = opened(None, &state);
    let warning = |name| plugin.job_warning(&state, job(&state, name));
    assert_eq!(["good", "zero", "none"].map(warning), [None, None, None]);
    assert_eq!(
        warning("soon").as_deref(),
        Some(
            "annotation volcano.sh/sla-waiting-time is passed over: `soon` is no duration: there is no \
             number where one must stand; write a number with its unit, as in `30s`, `5m` or `1h30m`"
        )
    );
    assert!(
        warning("both").is_some_and(|text| text.contains("sla-waiting-time is passed over: `30`"))
    );
}
