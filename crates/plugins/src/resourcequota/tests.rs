//! Quotas, what is used of them and what is promised (examples of spec/02 §12).

use super::*;
use crate::testing::*;
use pumice_model::Delta;
use pumice_model::object::{GroupObject, GroupPhase, PodPhase, QuotaObject};

/// `cpu=4 pods=2` in whole units as thousandths.
fn by_name(text: &str) -> Vec<(String, i64)> {
    let words = text.split_whitespace();
    let pairs = words.map(|word| word.split_once('=').expect("a pair"));
    pairs
        .map(|(name, count)| {
            (
                name.to_owned(),
                count.parse::<i64>().expect("a number") * 1000,
            )
        })
        .collect()
}

fn quota(hard: &str, used: &str) -> QuotaObject {
    QuotaObject {
        namespace: "ns".to_owned(),
        name: "compute".to_owned(),
        hard: by_name(hard),
        used: by_name(used),
        is_scoped: false,
    }
}

/// A group of four pods.
fn of_four(name: &str, phase: GroupPhase, asks: &str) -> GroupObject {
    group(name, 4)
        .queue("default")
        .phase(phase)
        .min_resources("")
        .quota_request(by_name(asks))
}

fn apply(state: &mut State, delta: Delta) {
    state.apply(delta);
    state.seal();
}

fn vote(plugin: &ResourceQuota, state: &State) -> Vote {
    plugin.job_enqueueable(state, job(state, "new")).0
}

#[test]
fn what_is_used_promised_and_asked_stays_within_every_quota() {
    // hard, used, promised, asked.
    let cases = [
        ("cpu=10", "cpu=4", "", "cpu=6", Vote::Permit),
        ("cpu=10", "cpu=4", "", "cpu=7", Vote::Reject),
        ("cpu=10", "cpu=4", "cpu=3", "cpu=4", Vote::Reject),
        ("cpu=10", "cpu=4", "cpu=3", "cpu=3", Vote::Permit),
        ("cpu=10", "cpu=10", "", "memory=5", Vote::Permit),
        (
            "requests.cpu=10",
            "requests.cpu=10",
            "",
            "cpu=5",
            Vote::Permit,
        ),
        (
            "requests.cpu=10",
            "requests.cpu=9",
            "",
            "cpu=5 requests.cpu=5",
            Vote::Reject,
        ),
        (
            "limits.memory=10",
            "limits.memory=9",
            "",
            "limits.memory=2",
            Vote::Reject,
        ),
        (
            "count/pods=10",
            "count/pods=7",
            "",
            "count/pods=4 pods=4",
            Vote::Reject,
        ),
        (
            "count/pods=10",
            "count/pods=6",
            "",
            "count/pods=4 pods=4",
            Vote::Permit,
        ),
        ("pods=10", "", "", "", Vote::Permit),
    ];
    for (hard, used, promised, asked, expected) in cases {
        let mut state = Cluster::default()
            .with(queue("default"))
            .with(of_four("other", GroupPhase::Inqueue, promised))
            .with(of_four("new", GroupPhase::Pending, asked))
            .state();
        apply(&mut state, quota(hard, used).delta());
        let plugin = opened(ResourceQuota::default(), &state);
        assert_eq!(
            vote(&plugin, &state),
            expected,
            "{hard}; {used}; {promised}; {asked}"
        );
        apply(
            &mut state,
            Delta::QuotaDelete("ns".to_owned(), "compute".to_owned()),
        );
        assert_eq!(vote(&plugin, &state), Vote::Permit, "no quota");
    }
}

#[test]
fn a_quota_with_scopes_and_one_of_another_namespace_do_not_count() {
    for (namespace, is_scoped, expected) in [
        ("ns", false, Vote::Reject),
        ("ns", true, Vote::Permit),
        ("elsewhere", false, Vote::Permit),
    ] {
        let mut state = Cluster::default()
            .with(queue("default"))
            .with(of_four("new", GroupPhase::Pending, "cpu=5"))
            .state();
        let quota = QuotaObject {
            namespace: namespace.to_owned(),
            is_scoped,
            ..quota("cpu=4", "")
        };
        apply(&mut state, quota.delta());
        let plugin = opened(ResourceQuota::default(), &state);
        assert_eq!(vote(&plugin, &state), expected, "{namespace} {is_scoped}");
    }
}

#[test]
fn pods_that_are_there_are_not_counted_twice() {
    // How many of the four pods are there, of 1 core and 1 Gi each; one more has ended.
    for (there, expected) in [
        (0, "cpu=4 limits.cpu=8 memory=4 pods=4 requests.cpu=4"),
        (1, "cpu=3 limits.cpu=6 memory=3 pods=3 requests.cpu=3"),
        (3, "cpu=1 limits.cpu=2 memory=1 pods=1 requests.cpu=1"),
        (4, ""),
    ] {
        let mut asked = by_name("cpu=4 limits.cpu=8 memory=4 pods=4 requests.cpu=4");
        asked[2].1 <<= 30;
        let state = Cluster::default()
            .with(queue("default"))
            .with(of_four("new", GroupPhase::Pending, "").quota_request(asked))
            .pods(there, "new", pod("", "1c 1Gi"))
            .pods(1, "new", pod("", "1c 1Gi").phase(PodPhase::Succeeded))
            .state();
        let mut rest = outstanding(&state, state.job(job(&state, "new")));
        for (_, amount) in rest.iter_mut().filter(|(name, _)| name == "memory") {
            *amount >>= 30;
        }
        assert_eq!(rest, by_name(expected), "{there} pods");
    }
}

#[test]
fn what_is_promised_follows_admissions_and_the_pods_that_come() {
    let mut state = Cluster::default()
        .with(queue("default"))
        .with(of_four("first", GroupPhase::Pending, "cpu=4"))
        .with(of_four("new", GroupPhase::Pending, "cpu=4"))
        .state();
    apply(&mut state, quota("cpu=6", "cpu=0").delta());
    let mut plugin = opened(ResourceQuota::default(), &state);
    assert_eq!(vote(&plugin, &state), Vote::Permit);
    let first = job(&state, "first");
    state.admissions().admit(first);
    plugin.observe(&state, Step::Admitted(first));
    assert_eq!(
        vote(&plugin, &state),
        Vote::Reject,
        "promised in this cycle"
    );
    let open = |plugin: &mut ResourceQuota, state: &State| {
        let mut cycle = CycleInfo::default();
        cycle.changed.jobs = Some(vec![first]);
        plugin.open(state, &cycle);
    };
    open(&mut plugin, &state);
    assert_eq!(vote(&plugin, &state), Vote::Reject, "and in the next");
    // Two of its pods are made: used says so, and the promise is half of it.
    for name in ["f0", "f1"] {
        let pod = pod(name, "1c").group("first");
        apply(&mut state, pod.delta());
    }
    apply(&mut state, quota("cpu=6", "cpu=2").delta());
    open(&mut plugin, &state);
    let (vote_now, refusal) = plugin.job_enqueueable(&state, job(&state, "new"));
    assert_eq!(vote_now, Vote::Reject);
    let expected = QuotaShortage {
        name: "cpu".to_owned(),
        asked: 4000,
        used: 2000,
        promised: 2000,
        hard: 6000,
    };
    let Some(Refusal::NamespaceQuota(refusal)) = refusal else {
        panic!("{refusal:?}");
    };
    assert_eq!(
        (refusal.quota.as_str(), refusal.shortages),
        ("compute", vec![expected])
    );
    apply(
        &mut state,
        Delta::GroupDelete("ns".to_owned(), "first".to_owned()),
    );
    open(&mut plugin, &state);
    assert_eq!(vote(&plugin, &state), Vote::Permit, "its group is gone");
}
