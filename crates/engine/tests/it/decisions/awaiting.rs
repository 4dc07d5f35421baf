//! Pods that wait for the PodGroup another controller makes for them.

use pumice_model::object::GroupPhase;
use pumice_model::{Delta, TaskStatus};

use super::cluster::*;

const SIGN: &str = "lease volcano-system/vc-controller-manager";

fn alive() -> Delta {
    Delta::GroupController(Some(SIGN.to_owned()))
}

fn dead() -> Delta {
    Delta::GroupController(None)
}

fn roomy() -> Cluster {
    Cluster::new().with(node("n1", "3c 8Gi pods=9"))
}

#[test]
fn a_pod_of_a_controller_waits_for_its_podgroup_while_one_is_about_to_be_made() {
    let mut cluster = roomy()
        .with(alive())
        .with(pod("p", "1c").replaced())
        .with(pod("bare", "1c"));
    assert_eq!(
        cluster.cycle(),
        ["bare n1"],
        "a bare pod gets a group of one"
    );
    let (reason, message) = cluster.why("p");
    assert_eq!(reason, "GangIncomplete");
    let says = "waits for its PodGroup: vc-controller-manager is alive (lease \
                volcano-system/vc-controller-manager) and makes one for pods of ReplicaSet web-1.";
    assert!(message.starts_with(says), "{message}");
    cluster.apply(dead());
    assert_eq!(cluster.cycle(), ["p n1"], "nobody makes one any more");
}

#[test]
fn without_such_a_controller_it_is_a_job_of_its_own() {
    let mut cluster = roomy().with(pod("p", "1c").replaced());
    assert_eq!(cluster.cycle(), ["p n1"]);
}

#[test]
fn a_gang_that_comes_late_is_bound_as_a_whole_or_not_at_all() {
    let names = ["a", "b", "c", "d"];
    for (cores, binds) in [(3, 0), (4, 4)] {
        let mut cluster = Cluster::new()
            .with(node("n1", &format!("{cores}c 8Gi pods=9")))
            .with(alive());
        for name in names {
            cluster.apply(pod(name, "1c").replaced());
        }
        assert_eq!(cluster.cycle(), [""; 0]);
        cluster.apply(group("g", 4).waiting());
        for name in names {
            assert_eq!(cluster.cycle(), [""; 0], "not all are members");
            cluster.apply(pod(name, "1c").replaced().group("g"));
        }
        let bound = cluster.cycle().len() + cluster.cycle().len();
        assert_eq!(bound, binds, "{cores} cores");
    }
}

#[test]
fn a_pod_that_was_a_job_of_its_own_and_found_no_place_joins_its_group() {
    let mut cluster = roomy()
        .with(pod("a", "4c").replaced())
        .with(pod("b", "4c").replaced());
    assert_eq!(cluster.cycle(), [""; 0]);
    cluster.apply(group("g", 2));
    for name in ["a", "b"] {
        cluster.apply(pod(name, "4c").replaced().group("g"));
    }
    cluster.cycle();
    let state = cluster.engine.state();
    let job = state.population().job_by_key("ns", "g").expect("the group");
    assert_eq!(state.job(job).count(TaskStatus::Pending), 2);
    assert_eq!(
        state.population().jobs().count(),
        1,
        "their own jobs are gone"
    );
    cluster.apply(node("n1", "8c 8Gi pods=9"));
    assert_eq!(cluster.cycle(), ["a n1", "b n1"]);
}

#[test]
fn a_pod_whose_binding_is_on_its_way_stays_a_job_of_its_own() {
    let mut cluster = roomy().with(pod("p", "1c").replaced());
    let decided = cluster.engine.cycle(0);
    assert_eq!(decided.binds.len(), 1);
    cluster.apply(alive());
    // What a status update shows before the Binding does.
    let mut seen = pod("p", "1c").replaced();
    seen.labels = pairs(&[("seen", "yes")]);
    cluster.apply(seen);
    let state = cluster.engine.state();
    let task = state.population().task_by_uid("p").expect("the pod");
    assert_eq!(state.task(task).status, TaskStatus::Binding);
    let queue = state.task(task).job.and_then(|job| state.job(job).queue);
    assert!(queue.is_some(), "its queue is charged");
    // A Binding that never lands makes it wait after all.
    cluster.apply(Delta::BindTakenBack {
        uid: "p".to_owned(),
    });
    assert_eq!(cluster.cycle(), [""; 0]);
    assert!(cluster.why("p").1.starts_with("waits for its PodGroup"));
}

#[test]
fn a_pod_that_waits_reserves_nothing_of_its_queue() {
    let mut cluster = roomy()
        .with(node("n2", "3c 8Gi pods=9"))
        .with(pod("p", "5c").replaced());
    assert_eq!(
        cluster.cycle(),
        [""; 0],
        "admitted, and no node is large enough"
    );
    let phase = |cluster: &Cluster| {
        let state = cluster.engine.state();
        let task = state.population().task_by_uid("p").expect("the pod");
        let job = state.task(task).job.expect("its job");
        state.job(job).status.phase
    };
    assert_eq!(phase(&cluster), GroupPhase::Inqueue);
    cluster.apply(alive());
    cluster.cycle();
    let state = cluster.engine.state();
    assert_eq!(phase(&cluster), GroupPhase::Pending);
    assert!(
        state
            .population()
            .queues()
            .reserved()
            .clamped()
            .iter()
            .all(|(_, amount)| amount == 0)
    );
    let queue = state
        .population()
        .queue_by_name("default")
        .expect("a queue");
    assert!(
        state
            .queue(queue)
            .pending
            .clamped()
            .iter()
            .all(|(_, amount)| amount == 0)
    );
}
