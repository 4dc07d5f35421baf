//! Bindings that are held back for the device plugin of their node.

use pumice_engine::BindWait;
use pumice_model::TaskStatus;

use super::cluster::*;

fn behind(first: &str, ahead: usize) -> BindWait {
    BindWait::Plugin {
        first: first.to_owned(),
        ahead,
        most_s: 30,
    }
}

/// `a` and `b` are decided and not bound.
fn decided() -> Cluster {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("a", "1c"))
        .with(pod("b", "1c"));
    assert_eq!(cluster.decide().binds.len(), 2);
    cluster
}

fn told(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let reports = cluster.engine.reports(now_s).pods.into_iter();
    reports.map(|report| report.message).collect()
}

#[test]
fn a_pod_whose_binding_waits_says_for_whom_and_is_counted() {
    let mut cluster = decided();
    told(&mut cluster, 0);
    let waits = vec![("b".to_owned(), behind("a", 0))];
    assert!(cluster.engine.set_bind_waits(waits.clone()));
    assert!(!cluster.engine.set_bind_waits(waits), "nothing new");
    let text = "the Binding to node n1 waits until the device plugin there is done with pod ns/a, \
                at most 30 s a pod";
    assert_eq!(cluster.why("b"), ("Schedulable", text.to_owned()));
    let pending = cluster.engine.metrics_snapshot().pending;
    assert_eq!(pending.get("device-plugin"), Some(&1));
    assert_eq!(told(&mut cluster, 0), [""; 0], "most go on soon");
    assert_eq!(cluster.engine.first_report_due_ms(), Some(2000));
    assert_eq!(told(&mut cluster, 2), [text]);
    let more = vec![("b".to_owned(), behind("gone", 2))];
    assert!(cluster.engine.set_bind_waits(more));
    let (_, text) = cluster.why("b");
    assert!(
        text.contains("with another pod, ") && text.ends_with("; 2 more pods come before this one")
    );
}

#[test]
fn what_a_pod_was_told_before_is_replaced_while_its_binding_waits() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "1c 8Gi pods=9"))
        .with(pod("b", "2c"));
    for now_s in [0, 2] {
        cluster.engine.cycle(now_s);
        told(&mut cluster, now_s);
    }
    cluster.apply(node("n1", "4c 8Gi pods=9"));
    assert_eq!(cluster.engine.cycle(3).binds.len(), 1);
    assert_eq!(told(&mut cluster, 3), [""; 0]);
    let waits = vec![("b".to_owned(), behind("a", 0))];
    cluster.engine.set_bind_waits(waits);
    assert_eq!(told(&mut cluster, 4), [""; 0]);
    assert_eq!(told(&mut cluster, 6).len(), 1);
}

#[test]
fn a_binding_that_went_on_has_nothing_to_say() {
    let mut cluster = decided();
    let waits = vec![("b".to_owned(), behind("a", 0))];
    cluster.engine.set_bind_waits(waits);
    assert_eq!(told(&mut cluster, 0), [""; 0]);
    assert!(cluster.engine.set_bind_waits(Vec::new()));
    assert_eq!(told(&mut cluster, 9), [""; 0]);
    cluster
        .engine
        .set_bind_waits(vec![("b".to_owned(), behind("a", 0))]);
    let bound = pod("b", "1c").node("n1");
    cluster.apply(bound);
    let task = cluster
        .engine
        .state()
        .population()
        .task_by_uid("b")
        .expect("a pod");
    assert_ne!(
        cluster.engine.state().task(task).status,
        TaskStatus::Binding
    );
    assert_eq!(cluster.engine.known().why_pending(task), None);
    assert_eq!(told(&mut cluster, 20), [""; 0]);
}
