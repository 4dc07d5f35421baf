//! Plugin `sla`: what becomes of jobs that may wait for some seconds only.

use pumice_faults::objects::group;
use pumice_model::object::{GroupObject, GroupPhase};

use crate::calm::CalmCluster;

/// Alone in the first tier, `sla` goes before the reservations of overcommit and before gangs.
const CONF: &str = r#"
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: sla
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: overcommit
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// Seconds that a job with a limit may wait.
const LIMIT_S: u64 = 6;

/// Two nodes of 4 cores, 2 of which a pod has that runs for a long time.
fn start() -> CalmCluster {
    let mut cluster = CalmCluster::new(CONF, 2, 4000);
    cluster.bare("service", 2000);
    cluster.pass(2);
    assert_eq!(cluster.bound("service"), 1);
    cluster
}

/// A PodGroup that needs all its pods and asks for their cores, with a limit or without.
fn asks(cluster: &mut CalmCluster, name: &str, pods: i32, cpu_milli: i64, limit: Option<&str>) {
    let annotation = |limit: &str| ("volcano.sh/sla-waiting-time".to_owned(), limit.to_owned());
    let group = GroupObject {
        min_resources: Some(vec![("cpu".to_owned(), i64::from(pods) * cpu_milli)]),
        annotations: limit.map(annotation).into_iter().collect(),
        ..group(name, pods, "default")
    };
    cluster.gang(group, pods.unsigned_abs() as usize, cpu_milli);
}

#[test]
fn a_job_is_admitted_past_an_earlier_bigger_one_when_its_time_runs_out() {
    let mut cluster = start();
    // Of 8 × 1.2 cores 2 are used and 6 are reserved for a gang of which one pod fits.
    asks(&mut cluster, "big", 2, 3000, None);
    cluster.pass(2);
    assert_eq!(cluster.phase("big"), GroupPhase::Inqueue);
    asks(&mut cluster, "patient", 1, 2000, None);
    asks(&mut cluster, "hasty", 1, 2000, Some("6s"));
    cluster.pass(LIMIT_S - 1);
    assert_eq!(cluster.bound("hasty-"), 0, "its time is not over");
    cluster.pass(3);
    assert_eq!(cluster.bound("hasty-"), 1);
    assert_eq!((cluster.bound("big-"), cluster.bound("patient-")), (0, 0));
    assert_eq!(cluster.phase("patient"), GroupPhase::Pending);
}

#[test]
fn what_a_job_could_have_is_kept_for_it_once_its_time_has_run_out() {
    let mut cluster = start();
    // One of its pods has the idle node; the other needs that of the service too.
    asks(&mut cluster, "big", 2, 4000, Some("6s"));
    cluster.pass(LIMIT_S - 1);
    assert_eq!(cluster.bound("big-"), 0);
    assert_eq!(
        cluster.phase("big"),
        GroupPhase::Pending,
        "too big to be admitted"
    );
    cluster.pass(3);
    assert_eq!(cluster.phase("big"), GroupPhase::Inqueue);
    // It asks for no reservation, so it is admitted, and it fits on the idle node only.
    cluster.gang(group("late", 1, "default"), 1, 3000);
    cluster.pass(3);
    assert_eq!(cluster.phase("late"), GroupPhase::Inqueue);
    assert_eq!(cluster.bound("late-"), 0);
    cluster.delete("service");
    cluster.pass(5);
    assert_eq!(cluster.bound("big-"), 2);
    cluster.pass(5);
    assert_eq!(cluster.bound("late-"), 0);
}

#[test]
fn a_limit_that_cannot_be_read_is_told_on_its_podgroup() {
    let mut cluster = start();
    asks(&mut cluster, "unclear", 1, 1000, Some("tomorrow"));
    cluster.pass(3);
    assert_eq!(cluster.bound("unclear-"), 1);
    let told = cluster.told("PodGroup ns/unclear", "InvalidAnnotation");
    assert!(
        told.iter()
            .any(|text| text.contains("`tomorrow` is no duration")),
        "{told:?}"
    );
}
