//! Who goes for whom, seen over several plans: queues of a tree by what they deserve, gangs for gangs
//! (spec/07).

use pumice_faults::objects::queue;
use pumice_model::object::QueueObject;

use crate::calm::CalmCluster;

/// Reclaim by what each queue of a tree deserves.
const TREE: &str = r#"actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
"#;

/// Gangs go for gangs, as a whole where nothing can be spared.
const GANGS: &str = r#"actions: "enqueue, allocate, gangpreempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: nodeorder
"#;

/// Longer than a plan takes from the eviction to the last Binding, seconds.
const PLAN_S: u64 = 10;

#[test]
fn queues_of_a_tree_get_back_what_they_deserve_from_the_nearest_first() {
    let mut cluster = CalmCluster::new(TREE, 2, 2000);
    for (name, parent, cpu_milli) in [
        ("eng", "root", 2000),
        ("dev", "eng", 1000),
        ("prod", "eng", 1000),
        ("sci", "root", 2000),
    ] {
        cluster.0.server.put_queue(QueueObject {
            parent: parent.to_owned(),
            deserved: vec![("cpu".to_owned(), cpu_milli)],
            ..queue(name, 0)
        });
    }
    cluster.gang_of("sci", "sci", "low", 1, 1);
    cluster.pass(PLAN_S);
    cluster.gang_of("dev", "dev", "low", 3, 1);
    cluster.pass(PLAN_S);
    assert_eq!((cluster.bound("sci-"), cluster.bound("dev-")), (1, 3));
    // Its sibling has too much; `sci` holds less than it deserves.
    cluster.gang_of("prod", "prod", "low", 1, 1);
    cluster.pass(PLAN_S);
    assert_eq!(cluster.bound("prod-"), 1);
    // `eng` as a whole has too much: what is beyond comes from `dev`, not from `prod`.
    cluster.gang_of("more", "sci", "low", 1, 1);
    cluster.pass(PLAN_S);
    let all = ["dev-", "prod-", "sci-", "more-"].map(|name| cluster.bound(name));
    assert_eq!(all, [1, 1, 1, 1], "dev, prod, sci, more");
    // Everybody has what it deserves: one more pod takes nobody's place.
    cluster.gang_of("late", "prod", "high", 1, 1);
    cluster.pass(PLAN_S);
    let told = cluster.told("Pod ns/late-0", "FailedScheduling");
    assert!(
        told.iter()
            .any(|text| text.contains("queue \"prod\" may not reclaim")),
        "{told:?}"
    );
    let all = ["dev-", "sci-", "late-"].map(|name| cluster.bound(name));
    assert_eq!(all, [1, 1, 0], "dev, sci, late");
}

#[test]
fn a_gang_takes_what_others_can_spare_and_then_another_one_as_a_whole() {
    let mut cluster = CalmCluster::new(GANGS, 2, 2000);
    for (name, min) in [("elastic", 1), ("rigid", 2)] {
        cluster.gang_of(name, "default", "low", 2, min);
        cluster.pass(PLAN_S);
        assert_eq!(cluster.places(&format!("{name}-")).len(), 2);
    }
    cluster.gang_of("one", "default", "high", 1, 1);
    cluster.pass(PLAN_S);
    let all = ["elastic-", "rigid-", "one-"].map(|name| cluster.bound(name));
    assert_eq!(all, [1, 2, 1], "elastic, rigid, one");
    cluster.gang_of("pair", "default", "high", 2, 2);
    cluster.pass(PLAN_S);
    let all = ["elastic-", "rigid-", "one-", "pair-"].map(|name| cluster.bound(name));
    assert_eq!(all, [1, 0, 1, 2], "elastic, rigid, one, pair");
    // The effects make the victims' events of this.
    let evicts = |line: &&String| line.contains(" evicts ns-rigid-");
    let history = cluster.0.history.iter().filter(evicts);
    let whom = "gangpreempt for PodGroup ns/pair";
    let evicted: Vec<&String> = history.filter(|line| line.ends_with(whom)).collect();
    assert_eq!(evicted.len(), 2, "{:#?}", cluster.0.history);
    let told = cluster.told("PodGroup ns/pair", "Preempting");
    assert!(
        told.iter()
            .any(|text| text.contains("gangpreempt evicts 2 pods")),
        "{told:?}"
    );
}
