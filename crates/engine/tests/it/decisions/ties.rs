//! Jobs that nothing else puts in order: they go by `namespace/name`, byte by byte.

use pumice_model::object::{GroupObject, GroupPhase, PodObject};

use super::cluster::*;

/// The one pod of a group.
fn pod_of(group: &GroupObject, request: &str) -> PodObject {
    let name = format!("{}-{}", group.namespace, group.name);
    pod(&name, request)
        .group(&group.name)
        .namespace(group.namespace.clone())
}

/// Groups that tie, each with the pod that comes after those of the groups before it.
fn in_order(status: &GroupObject) -> Vec<GroupObject> {
    vec![
        status.clone().namespace("b-1").name("z").uid("5"),
        status.clone().namespace("b").name("a").uid("4"),
        status.clone().namespace("b").name("a-1").uid("3"),
        status.clone().namespace("b").name("a1").uid("2"),
        status.clone().namespace("b1").name("a").uid("1"),
    ]
}

#[test]
fn the_group_whose_name_comes_first_goes_first_whatever_its_uid() {
    // What is short, and what a pod asks: allocate places it, or backfill.
    for (short, request) in [("1c 8Gi pods=9", "1c"), ("4c 8Gi pods=1", "")] {
        let groups = in_order(&group("g", 1));
        for pair in groups.windows(2) {
            let mut cluster = Cluster::new().with(node("n1", short));
            for group in pair.iter().rev() {
                let pod = pod_of(group, request);
                cluster = cluster.with(group.clone()).with(pod);
            }
            let first = format!("{}-{} n1", pair[0].namespace, pair[0].name);
            assert_eq!(cluster.cycle(), [first], "{request}");
        }
    }
}

#[test]
fn admission_goes_by_the_name_too() {
    let mut asking = group("g", 1).waiting();
    asking.min_resources = Some(amounts("1c"));
    let mut small = queue("small");
    small.capability = amounts("1c");
    asking.queue = "small".to_owned();
    let groups = in_order(&asking);
    for pair in groups.windows(2) {
        let node = node("n1", "4c 8Gi pods=9");
        let mut cluster = Cluster::new().with(node).with(small.clone());
        for group in pair.iter().rev() {
            let pod = pod_of(group, "1c");
            cluster = cluster.with(group.clone()).with(pod);
        }
        cluster.decide();
        let state = cluster.engine.state();
        let phase = |group: &GroupObject| {
            let job = state.population().job_by_key(&group.namespace, &group.name);
            state.job(job.expect("a group")).status.phase
        };
        assert_ne!(phase(&pair[0]), GroupPhase::Pending, "{pair:?}");
        assert_eq!(phase(&pair[1]), GroupPhase::Pending, "{pair:?}");
    }
}

#[test]
fn pods_without_group_go_by_namespace_then_uid() {
    let bare =
        |namespace: &str, uid: &str| pod(&format!("p-{uid}"), "1c").namespace(namespace).uid(uid);
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(bare("b", "1"))
        .with(bare("a", "3"))
        .with(bare("a", "2"));
    assert_eq!(cluster.cycle(), ["p-2 n1"]);
}
