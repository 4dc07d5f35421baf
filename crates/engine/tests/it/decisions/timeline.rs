//! What became of a job, as its page tells it.

use pumice_engine::view::{Ask, JobView, StretchKind, View, WaitKind};
use pumice_model::object::Gates;

use super::cluster::*;

fn job(cluster: &Cluster, namespace: &str, name: &str) -> JobView {
    let (namespace, name) = (namespace.to_owned(), name.to_owned());
    match cluster.engine.known().view(&Ask::Job { namespace, name }) {
        Ok(View::Job(view)) => *view,
        other => unreachable!("{other:?}"),
    }
}

fn stretches(view: &JobView) -> Vec<(&str, i64, bool)> {
    let told = view.timeline.iter();
    told.map(|one| (one.kind.name(), one.seconds, one.goes_on))
        .collect()
}

#[test]
fn a_job_waits_runs_and_says_since_when_and_why() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("g0", "3c").group("g"))
        .with(pod("g1", "3c").group("g"));
    cluster.engine.cycle(1_000);
    cluster.engine.cycle(1_060);
    cluster.apply(node("n2", "4c 8Gi pods=9"));
    let decided = cluster.engine.cycle(1_300);
    assert_eq!(cluster.accept(&decided).len(), 2);
    cluster.engine.cycle(1_310);
    let view = job(&cluster, "ns", "g");
    let told = stretches(&view);
    let (last, before) = told.split_last().expect("stretches");
    assert_eq!(*last, ("runs", 10, true));
    assert_eq!(before, [("gang", 300, false)]);
    let why = &view.timeline[0].text;
    assert!(why.starts_with("1/2 tasks in gang unschedulable"), "{why}");
    assert_eq!(
        view.timeline[0].from.as_ref().map(|from| from.0.as_str()),
        Some("1970-01-01T00:16:40Z")
    );
}

#[test]
fn of_a_job_that_goes_back_and_forth_the_first_and_the_last_stretches_are_kept() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("p", "3c"));
    let gated = |is_gated: bool| match is_gated {
        true => pod("p", "9c").gates(Gates::Foreign),
        false => pod("p", "9c"),
    };
    cluster.apply(gated(true));
    for turn in 1..=40_i64 {
        cluster.apply(gated(turn % 2 == 1));
        cluster.engine.cycle(turn * 10);
    }
    let view = job(&cluster, "ns", "p");
    assert_eq!(view.timeline.len(), 12, "{view:?}");
    assert_eq!(view.stretches_dropped, 28);
    let from = |at: usize| view.timeline[at].from.clone().expect("a time").0;
    assert_eq!(from(0), "1970-01-01T00:00:10Z");
    assert_eq!(from(11), "1970-01-01T00:06:40Z");
}

#[test]
fn who_makes_many_jobs_crowds_out_those_of_the_same_namespace_alone() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN).with(node("n1", "4c 8Gi pods=9"));
    for at in 0..1_100 {
        cluster.apply(pod(&format!("p{at:04}"), "9c"));
    }
    cluster.engine.cycle(100);
    cluster.apply(pod("other", "9c").namespace("elsewhere"));
    cluster.apply(pod("late", "9c"));
    cluster.engine.cycle(110);
    assert_eq!(
        stretches(&job(&cluster, "elsewhere", "other")),
        [("no-node", 0, true)]
    );
    assert_eq!(stretches(&job(&cluster, "ns", "late")), []);
    let known = (0..1_100).filter(|at| {
        let view = job(&cluster, "ns", &format!("p{at:04}"));
        !view.timeline.is_empty()
    });
    assert_eq!(known.count(), 1_000);
    // Whoever goes makes room.
    cluster.apply(pumice_model::Delta::PodDelete("p0000".to_owned()));
    cluster.apply(pod("later", "9c"));
    cluster.engine.cycle(120);
    assert_eq!(
        stretches(&job(&cluster, "ns", "later")),
        [("no-node", 0, true)]
    );
}

#[test]
fn every_kind_of_stretch_is_read_as_it_is_told() {
    let waits = WaitKind::ALL.iter().copied().map(StretchKind::Waits);
    let plain = [StretchKind::Runs, StretchKind::Ended, StretchKind::NoPods];
    for kind in waits.chain(plain) {
        assert_eq!(StretchKind::from(String::from(kind)), kind);
    }
    let later = StretchKind::from("of another version".to_owned());
    assert_eq!(later, StretchKind::Other);
}
