//! For what a queue may reclaim: what it still deserves, for all pods that are placed together (spec/07 §4).

use super::cluster::*;
use super::victims::{Plans, cluster};

fn conf(action: &str) -> String {
    format!(
        "actions: \"enqueue, allocate, {action}\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n\
         - plugins: [{{name: predicates}}, {{name: capacity}}]\n"
    )
}

fn job(cluster: Cluster, queue: &str, name: &str, min: i32) -> Cluster {
    cluster.with(group(name, min).queue(queue))
}

/// A running pod of a job that can spare it.
fn running(cluster: Cluster, queue: &str, name: &str, request: &str) -> Cluster {
    let cluster = job(cluster, queue, name, 0);
    cluster.with(pod(name, request).group(name).on("n1"))
}

/// `train` has borrowed cpus, and `adhoc` holds the cards that `train` deserves.
fn borrowed(action: &str, cpus: i64, train: &str) -> Cluster {
    let all = cluster(&conf(action))
        .with(node("n1", &format!("{cpus}c 64Gi pods=20 gpu=2")))
        .with(queue("train").deserved(train))
        .with(queue("adhoc").deserved("12c"));
    let all = running(all, "train", "prep", "6c");
    let all = running(all, "adhoc", "nb0", "1c gpu=1");
    let all = running(all, "adhoc", "nb1", "1c gpu=1");
    let all = job(all, "train", "job", 1);
    all.with(pod("job", "2c gpu=1").group("job"))
}

#[test]
fn deserved_cards_come_back_while_cpu_is_borrowed() {
    for action in ["reclaim", "gangreclaim"] {
        let mut all = borrowed(action, 16, "4c gpu=2");
        assert_eq!(all.plan(), ["-nb0", "job (n1)"], "{action}");
        all.gone("nb0");
        assert_eq!(all.plan(), ["job n1"], "{action}");
        // The other one comes again, and takes neither the card nor the cpus back.
        let all = job(all, "adhoc", "again", 0);
        let mut all = all.with(pod("again", "1c gpu=1").group("again"));
        assert_eq!(all.plan(), [""; 0], "{action}");
    }
}

#[test]
fn what_is_not_deserved_any_more_has_to_be_idle_already() {
    // Eight cpus are held, and one is idle: with a card another one would be, which is not deserved.
    for action in ["reclaim", "gangreclaim"] {
        let mut all = borrowed(action, 9, "4c gpu=2");
        assert_eq!(all.plan(), [""; 0], "{action}");
        let (_, why) = all.why("job");
        let expected = format!(
            "{action}: queue \"train\" may not reclaim: queue resource quota insufficient: insufficient cpu \
             (deserved 4"
        );
        assert!(why.contains(&expected), "{why}");
        // Were it deserved, it would come from those who go.
        let mut all = borrowed(action, 9, "8c gpu=2");
        assert_eq!(all.plan(), ["-nb0", "job (n1)"], "{action}");
        // Of what no queue names nobody keeps count.
        let mut all = cluster(&conf(action))
            .with(node("n1", "2c 64Gi pods=20 gpu=2"))
            .with(queue("train").deserved("gpu=2"))
            .with(queue("adhoc"));
        for name in ["nb0", "nb1"] {
            all = running(all, "adhoc", name, "1c gpu=1");
        }
        let all = job(all, "train", "job", 1);
        let mut all = all.with(pod("job", "1c gpu=1").group("job"));
        assert_eq!(all.plan(), ["-nb0", "job (n1)"], "{action}");
    }
}

#[test]
fn a_gang_reclaims_only_what_its_queue_deserves_in_all() {
    for (pods, expected) in [(4, 0), (3, 0), (2, 2), (1, 1)] {
        let mut all = cluster(&conf("gangreclaim"))
            .with(node("n1", "4c 64Gi pods=20"))
            .with(queue("a").deserved("2c"))
            .with(queue("b"));
        for at in 0..4 {
            all = running(all, "b", &format!("run{at}"), "1c");
        }
        all = job(all, "a", "gang", 1);
        for at in 0..pods {
            all = all.with(pod(&format!("gang{at}"), "1c").group("gang"));
        }
        let plan = all.plan();
        let going = plan.iter().filter(|line| line.starts_with('-'));
        assert_eq!(going.count(), expected, "{pods}: {plan:?}");
        if expected == 0 {
            let (_, why) = all.why("gang0");
            let expected = format!("insufficient cpu (deserved 2 of 4, used 0, asked {pods})");
            assert!(why.contains(&expected), "{why}");
        }
    }
}
