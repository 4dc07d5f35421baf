//! The tasks that were counted for the mix are kept for whoever leads next (spec/10 §6).

use pumice_faults::network::RequestFate;
use pumice_faults::objects::{node, pod};
use pumice_model::KeptTopic;

use crate::calm::CalmCluster;

/// The mix is counted, and kept.
const KEEPING: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: deviceshare
    arguments:
      deviceshare.GPUSharingEnable: true
  - name: fragmentation
    arguments:
      fragmentation.keepIn: ns/kept
"#;

/// From the begin of a term to the first text, and a little more, seconds.
const PAUSE_S: u64 = 60;

/// A cluster with cards in which that ConfigMap is, once three pods have come for cards and gone again.
fn cluster() -> CalmCluster {
    let mut cluster = CalmCluster::new(KEEPING, 0, 0);
    cluster.0.server.put_node(node("n0", 8000, 4));
    let kept = &mut cluster.0.server.kept;
    kept.insert(KeptTopic::Tasks, String::new());
    cluster.pass(5);
    for at in 0..3 {
        let pod = pod(&format!("a{at}"), None, 1000, 3000);
        cluster.0.server.make_pod(pod);
    }
    cluster.pass(5);
    assert_eq!(cluster.bound("a"), 3);
    cluster.delete("a");
    cluster.pass(5);
    assert!(cluster.0.server.pods.is_empty());
    cluster
}

fn pass_quickly(cluster: &mut CalmCluster, seconds: u64) {
    for _ in 0..seconds {
        let done = cluster.0.step(1000);
        done.unwrap_or_else(|failure| panic!("{failure}"));
    }
}

/// So many tasks the leader knows to have come, in whole ones, when little time has passed.
fn counted(cluster: &mut CalmCluster) -> u64 {
    let leader = cluster.0.leader().expect("a leader");
    let text = leader
        .decider
        .engine()
        .known()
        .text_to_keep(KeptTopic::Tasks);
    let masses = text.lines().skip(1).map(|line| {
        let mass = line.trim_start_matches("{\"mass\":");
        let end = mass.find(',').expect("more follows");
        mass[..end].parse::<u64>().expect("a number")
    });
    (masses.sum::<u64>() + (1 << 19)) >> 20
}

#[test]
fn the_next_process_knows_the_tasks_that_the_last_one_counted_though_a_write_was_lost() {
    let mut cluster = cluster();
    assert_eq!(counted(&mut cluster), 3);
    cluster.0.network.next_statuses = vec![RequestFate::Lost, RequestFate::Refused];
    pass_quickly(&mut cluster, PAUSE_S);
    assert!(cluster.0.network.next_statuses.is_empty(), "it was tried");
    cluster.0.kill(0, 1500);
    pass_quickly(&mut cluster, 60);
    assert_eq!(counted(&mut cluster), 3);
}

/// Whatever becomes of its first requests, and whoever comes next.
#[test]
fn an_orderly_restart_loses_nothing_of_what_was_counted() {
    use RequestFate::{Lost, Refused};
    let fates: [&[RequestFate]; 3] = [&[], &[Refused, Refused], &[Lost, Refused]];
    for fates in fates {
        let mut cluster = cluster();
        cluster.0.network.next_statuses = fates.to_vec();
        cluster.0.stop(0, 1500);
        pass_quickly(&mut cluster, 60);
        assert!(cluster.0.network.next_statuses.is_empty(), "it was tried");
        assert_eq!(counted(&mut cluster), 3, "{fates:?}");
    }
}

#[test]
fn nonsense_that_somebody_wrote_is_replaced_and_an_orderly_end_writes_over_it_too() {
    for stops in [false, true] {
        let mut cluster = cluster();
        let nonsense = "{\"format\":1".to_owned();
        cluster.0.server.kept.insert(KeptTopic::Tasks, nonsense);
        match stops {
            true => {
                pass_quickly(&mut cluster, 3);
                cluster.0.stop(0, 1500);
            }
            false => pass_quickly(&mut cluster, PAUSE_S),
        }
        pass_quickly(&mut cluster, 60);
        let text = cluster.0.server.kept[&KeptTopic::Tasks].clone();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert_eq!(counted(&mut cluster), 3);
    }
}

#[test]
fn a_process_that_is_killed_before_it_has_written_takes_what_it_counted_with_it() {
    let mut cluster = cluster();
    cluster.0.kill(0, 1500);
    pass_quickly(&mut cluster, 60);
    assert_eq!(counted(&mut cluster), 0);
    assert_eq!(cluster.0.server.kept[&KeptTopic::Tasks], "");
    // One that comes now is all that the next one has to tell.
    let late = pod("late", None, 1000, 3000);
    cluster.0.server.make_pod(late);
    pass_quickly(&mut cluster, PAUSE_S);
    let text = cluster.0.server.kept[&KeptTopic::Tasks].clone();
    assert_eq!(text.lines().count(), 2, "{text}");
}
