//! What becomes of jobs, as an engine keeps it for the accountants.

use std::collections::BTreeMap;

use pumice_engine::history;
use pumice_history::{BookNews, JobOutcome, JobRecord};
use pumice_model::Delta;
use pumice_model::object::PodPhase;

use super::claims;
use super::cluster::*;

fn keeping(conf: &str) -> Cluster {
    let mut cluster = Cluster::under(conf);
    history::keep(&mut cluster.engine, Vec::new());
    cluster
}

fn told(record: &JobRecord) -> Vec<(&str, i64)> {
    let waits = record.waits.iter().filter(|wait| wait.seconds > 0);
    waits.map(|wait| (&*wait.reason, wait.seconds)).collect()
}

fn held(record: &JobRecord) -> BTreeMap<&str, u128> {
    record.spans.within(i64::MIN, i64::MAX).collect()
}

fn the_only(mut records: Vec<JobRecord>) -> JobRecord {
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}

/// Waits for a node, runs on two, one pod ends before the other, and then it is gone.
#[test]
fn a_record_tells_when_a_job_waited_and_why_what_it_held_and_where() {
    let mut cluster = keeping(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9 nvidia.com/gpu=8"))
        .with(group("g", 2).user("ada").created_s(990))
        .with(pod("g0", "3c nvidia.com/gpu=2").group("g"))
        .with(pod("g1", "3c nvidia.com/gpu=2").group("g"));
    cluster.engine.cycle(990);
    cluster.engine.cycle(1_060);
    let condition = cluster.condition("g", "Unschedulable").expect("it waits");
    cluster.apply(node("n2", "4c 8Gi pods=9 nvidia.com/gpu=8"));
    let decided = cluster.engine.cycle(1_290);
    assert_eq!(cluster.accept(&decided).len(), 2);
    cluster.engine.cycle(1_310);
    let ended = |name: &str, node: &str| {
        let pod = pod(name, "3c nvidia.com/gpu=2").group("g").on(node);
        pod.phase(PodPhase::Succeeded)
    };
    cluster.apply(ended("g0", "n1"));
    cluster.engine.cycle(2_290);
    let open = the_only(history::open(&cluster.engine));
    assert_eq!(open.outcome, JobOutcome::Running);
    cluster.apply(ended("g1", "n2"));
    cluster.engine.cycle(3_290);
    for uid in ["g0", "g1"] {
        cluster.apply(Delta::PodDelete(uid.to_owned()));
    }
    cluster.apply(Delta::GroupDelete("ns".to_owned(), "g".to_owned()));
    cluster.engine.cycle(4_000);
    let BookNews { ended, open, lost } = history::take(&mut cluster.engine);
    assert_eq!((open.len(), lost), (0, 0));
    let record = the_only(ended);
    assert_eq!((&*record.namespace, &*record.name), ("ns", "g"));
    assert_eq!((&*record.queue, &*record.user), ("default", "ada"));
    assert_eq!(
        (record.submit_s, record.start_s, record.end_s),
        (990, Some(1_290), Some(3_290))
    );
    assert_eq!(record.outcome, JobOutcome::Succeeded);
    assert_eq!(told(&record), [("gang", 300)]);
    // In the words of the PodGroup.
    assert!(
        condition.message.starts_with(&*record.waits[0].text),
        "{record:?}"
    );
    assert!(!record.waits[0].text.is_empty());
    assert_eq!(record.nodes, ["n1".into(), "n2".into()] as [Box<str>; 2]);
    assert_eq!((record.pods, record.nodes_at_once), (2, 2));
    assert_eq!(held(&record)["nvidia.com/gpu"], 2_000 * (1_000 + 2_000));
    assert_eq!(held(&record)["cpu"], 3_000 * (1_000 + 2_000));
}

/// A replica that decides nothing knows what is held, and not why anybody waits.
#[test]
fn a_replica_that_stands_by_keeps_what_is_held_and_no_reasons() {
    let mut cluster = keeping(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("waits", "9c").created_s(100))
        .with(pod("runs", "1c").created_s(100).on("n1").scheduled_s(150));
    let stand_by = |cluster: &mut Cluster, now_s| {
        cluster.engine.stand_by();
        history::stand_by(&mut cluster.engine, now_s);
    };
    stand_by(&mut cluster, 100);
    stand_by(&mut cluster, 200);
    cluster.engine.cycle(250);
    cluster.engine.cycle(300);
    stand_by(&mut cluster, 400);
    cluster.apply(Delta::PodDelete("waits".to_owned()));
    cluster.apply(Delta::PodDelete("runs".to_owned()));
    stand_by(&mut cluster, 500);
    let ended = history::take(&mut cluster.engine).ended;
    let of = |name: &str| {
        let mut all = ended.iter();
        all.find(|record| &*record.name == name).expect("a record")
    };
    assert_eq!(told(of("waits")), [("unseen", 250), ("no-node", 150)]);
    assert_eq!(held(of("runs"))["cpu"], 1_000 * 400);
}

/// What is kept changes nothing of what is decided and written, in a standby that comes to lead either.
#[test]
fn who_keeps_it_decides_and_tells_the_same() {
    let run = |keeps: bool| {
        let mut cluster = Cluster::under(NO_QUEUE_PLUGIN);
        if keeps {
            history::keep(&mut cluster.engine, Vec::new());
        }
        cluster.apply(node("n1", "4c 8Gi pods=9"));
        let mut decided = Vec::new();
        for at in 0..60_i64 {
            cluster.apply(group(&format!("g{at}"), 2));
            cluster.apply(pod(&format!("p{at}"), "1c").group(format!("g{}", at / 2)));
            if at % 20 < 5 {
                cluster.engine.stand_by();
                history::stand_by(&mut cluster.engine, at);
                continue;
            }
            let cycle = cluster.engine.cycle(at);
            decided.push((cluster.accept(&cycle), cycle.groups));
            if at % 7 == 0 {
                cluster.apply(Delta::PodDelete(format!("p{}", at / 2)));
            }
        }
        decided
    };
    assert_eq!(run(true), run(false));
}

/// Two pods of a job share a claim of two devices, and one has a device of its own besides.
#[test]
fn devices_of_resource_claims_are_held_and_one_that_pods_share_once() {
    let mut cluster = claims::cluster(&["g0", "g1", "g2"])
        .with(claims::told(claims::claim("both", "", 2)))
        .with(claims::told(claims::claim("own", "own", 1)))
        .with(group("g", 3));
    history::keep(&mut cluster.engine, Vec::new());
    for name in ["g0", "g1"] {
        cluster.apply(claims::naming("both", None, pod(name, "1c").group("g")));
    }
    cluster.apply(claims::owning(pod("own", "1c").group("g")));
    let decided = cluster.engine.cycle(1_000);
    let bound = cluster.accept(&decided);
    assert_eq!(bound.len(), 3, "{bound:?}");
    cluster.engine.cycle(1_010);
    cluster.engine.cycle(2_010);
    let record = the_only(history::open(&cluster.engine));
    let held = held(&record);
    assert_eq!(held["deviceclass/gpu"], 3 * 1_010, "{held:?}");
}
