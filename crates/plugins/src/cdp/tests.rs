//! Who is within a cool-down, and when a cycle is needed for it (spec/02 §18).

use super::*;
use crate::testing::*;
use pumice_model::Delta;
use pumice_model::object::PodObject;

const NOW_S: i64 = 1_000;

fn scheduled(name: &str, scheduled_s: Option<i64>, label: &str, annotation: &str) -> PodObject {
    let said = |text: &str| match text {
        "" => Vec::new(),
        text => vec![(COOLDOWN_TIME.to_owned(), text.to_owned())],
    };
    pod(name, "1c")
        .on("n")
        .group("g")
        .created_s(NOW_S - 100)
        .scheduled_s(scheduled_s)
        .labels(said(label))
        .annotations(said(annotation))
}

fn open_at(plugin: &mut Cdp, state: &State, now_s: i64, jobs: Option<Vec<JobIx>>) {
    let mut cycle = CycleInfo {
        now_s,
        ..CycleInfo::default()
    };
    cycle.changed.jobs = jobs;
    plugin.open(state, &cycle);
}

fn cluster() -> Cluster {
    Cluster::default()
        .with(queue("default"))
        .with(node("n", "99c pods=99"))
        .with(group("g", 1).queue("default"))
}

#[test]
fn pods_are_protected_until_their_cool_down_is_over() {
    // When it got its node, label, annotation: protected.
    let cases = [
        (Some(NOW_S - 59), "60s", "", true),
        (Some(NOW_S - 60), "60s", "", false),
        (Some(NOW_S - 59), "", "1m", true),
        (Some(NOW_S - 60), "", "60s500ms", true),
        (Some(NOW_S - 59), "1s", "1h", false),
        (Some(NOW_S - 59), "", "", false),
        (Some(NOW_S - 59), "", "60", false),
        (Some(NOW_S), "", "0s", false),
        (Some(NOW_S), "", "-1h", false),
        (Some(NOW_S), "2562047h", "", true),
        // Made 100 s ago, so it got its node later.
        (None, "101s", "", true),
        (None, "100s", "", false),
    ];
    for (scheduled_s, label, annotation, protected) in cases {
        let state = cluster()
            .with(scheduled("p", scheduled_s, label, annotation))
            .state();
        let mut plugin = Cdp::default();
        open_at(&mut plugin, &state, NOW_S, None);
        let all = [task(&state, "p")];
        for purpose in [Purpose::Preempt, Purpose::Reclaim, Purpose::WithinJob] {
            let answer = plugin.victims(&state, purpose, all[0], &all);
            let allowed = if protected { Vec::new() } else { all.to_vec() };
            let expected = VictimAnswer::new(Weight::Protection, allowed);
            assert_eq!(answer, expected, "{scheduled_s:?} {label} {annotation}");
        }
    }
}

#[test]
fn a_cycle_is_asked_for_when_the_next_cool_down_ends() {
    let mut state = cluster()
        .with(scheduled("p", Some(NOW_S - 10), "30s", ""))
        .with(scheduled("q", Some(NOW_S - 10), "", "20s"))
        .with(scheduled("over", Some(NOW_S - 10), "10s", ""))
        .with(scheduled("waits", None, "10m", "").node(None))
        .state();
    let g = job(&state, "g");
    let mut plugin = Cdp::default();
    open_at(&mut plugin, &state, NOW_S, None);
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 10));
    open_at(&mut plugin, &state, NOW_S + 10, Some(vec![]));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 20));
    let later = scheduled("p", Some(NOW_S - 10), "50s", "");
    state.apply(later.delta());
    state.seal();
    open_at(&mut plugin, &state, NOW_S + 11, Some(vec![g]));
    assert_eq!(plugin.wake_at_s(), Some(NOW_S + 40));
    state.apply(Delta::PodDelete("p".to_owned()));
    state.seal();
    open_at(&mut plugin, &state, NOW_S + 12, Some(vec![g]));
    assert_eq!(plugin.wake_at_s(), None);
}

#[test]
fn a_cool_down_that_cannot_be_read_is_told_of() {
    let state = cluster()
        .with(scheduled("q", None, "", "soon"))
        .with(scheduled("p", None, "", "60"))
        .with(scheduled("fine", None, "60s", ""))
        .with(group("h", 1).queue("default"))
        .state();
    let mut plugin = Cdp::default();
    open_at(&mut plugin, &state, NOW_S, None);
    let warning = |name| plugin.job_warning(&state, job(&state, name));
    assert_eq!(
        warning("g").as_deref(),
        Some(
            "volcano.sh/cooldown-time of pod p protects nothing: `60` is no duration: the unit is \
             missing; write a number with its unit, as in `30s`, `5m` or `1h30m`"
        )
    );
    assert_eq!(warning("h"), None);
}
