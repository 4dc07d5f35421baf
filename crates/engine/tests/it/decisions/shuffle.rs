//! Who leaves its node for nobody's sake: `shuffle` with the plugins that name pods (spec/07 §10).

use pumice_model::object::{
    BudgetObject, NodeObject, PreemptableMark, Requirement, Selector, SelectorOp,
};

use super::cluster::*;

const TDM: &str = r#"
actions: "enqueue, allocate, backfill, shuffle"
tiers:
- plugins:
  - name: tdm
    arguments:
      tdm.revocable-zone.rz1: 22:00-06:00
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: pdb
"#;

const HOUR: i64 = 3600;

fn zoned(name: &str) -> NodeObject {
    node(name, "8c 8Gi pods=9").labels(&[("volcano.sh/revocable-zone", "rz1")])
}

/// Who goes in a cycle at a time: for whom, and by which action.
fn goes(cluster: &mut Cluster, now_s: i64) -> Vec<String> {
    let decisions = cluster.engine.cycle(now_s);
    let state = cluster.engine.state();
    let line = |one: &pumice_engine::Eviction| {
        assert_eq!((one.by, one.reason), (None, "shuffle"));
        state.task(one.task).name.to_string()
    };
    assert_eq!(decisions.nominations, []);
    decisions.evictions.iter().map(line).collect()
}

/// A job of one pod that runs in the zone.
fn tenant(cluster: Cluster, name: &str, app: &str) -> Cluster {
    cluster.with(group(name, 1)).with(
        pod(name, "1c")
            .app(app)
            .on("night")
            .group(name)
            .preemptable(PreemptableMark::Yes),
    )
}

#[test]
fn when_a_zone_closes_its_pods_leave_but_those_that_gang_and_budget_protect() {
    let only_web = Selector {
        requirements: vec![Requirement {
            key: "app".to_owned(),
            op: SelectorOp::In(vec!["web".to_owned()]),
        }],
    };
    let no_disruption = BudgetObject {
        namespace: "ns".to_owned(),
        name: "web".to_owned(),
        selector: Some(only_web),
        ..BudgetObject::default()
    };
    let mut cluster = Cluster::under(TDM).with(zoned("night")).with(no_disruption);
    // Each gang has one pod beyond its minimum, but `whole`.
    for name in ["free", "web"] {
        cluster = tenant(cluster, name, name);
        let second = format!("{name}-2");
        let second = pod(&second, "1c").app(name).created_s(5);
        cluster = cluster.with(
            second
                .on("night")
                .group(name)
                .preemptable(PreemptableMark::Yes),
        );
    }
    cluster = tenant(cluster, "whole", "whole");
    let closes = 6 * HOUR;
    assert_eq!(goes(&mut cluster, closes - 1), [""; 0]);
    assert_eq!(cluster.engine.plugins_wake_at_s(), Some(closes));
    assert_eq!(
        goes(&mut cluster, closes + 59),
        ["free-2"],
        "due a minute after the first cycle"
    );
    // It is on its way; of what is left the gang needs everything.
    assert_eq!(goes(&mut cluster, closes + 60), [""; 0]);
    assert_eq!(goes(&mut cluster, closes + 119), [""; 0]);
}

#[test]
fn a_pod_that_waits_for_a_zone_is_told_so_and_placed_when_it_opens() {
    let mut cluster = Cluster::under(TDM)
        .with(zoned("night"))
        .with(pod("batch", "1c").preemptable(PreemptableMark::Yes))
        .with(pod("plain", "1c"));
    let opens = 22 * HOUR;
    assert_eq!(cluster.engine.cycle(opens - HOUR).binds, []);
    let (_, why) = cluster.why("batch");
    let closed = "zone rz1 is open 22:00-06:00 UTC, it is closed at this time";
    assert!(why.contains(closed), "{why}");
    let (_, why) = cluster.why("plain");
    assert!(why.contains("node is revocable, the pod is not"), "{why}");
    assert_eq!(cluster.engine.plugins_wake_at_s(), Some(opens));
    assert_eq!(cluster.engine.cycle(opens - 1).binds, []);
    let decisions = cluster.engine.cycle(opens);
    assert_eq!(cluster.accept(&decisions), ["batch night"]);
}

#[test]
fn a_job_for_which_others_go_loses_nobody_for_nobodys_sake_in_the_same_cycle() {
    let conf = r#"
actions: "enqueue, allocate, preempt, shuffle"
tiers:
- plugins:
  - name: tdm
    arguments:
      tdm.revocable-zone.rz1: 22:00-06:00
- plugins:
  - name: predicates
"#;
    let mut cluster = Cluster::under(conf)
        .with(zoned("night"))
        .with(node("day", "4c 8Gi pods=9"))
        .with(group("old", 1))
        .with(
            pod("old", "4c")
                .on("day")
                .group("old")
                .preemptable(PreemptableMark::Yes),
        )
        .with(group("new", 1))
        .with(
            pod("guest", "1c")
                .on("night")
                .group("new")
                .preemptable(PreemptableMark::Yes),
        )
        .with(pod("new", "4c").group("new"));
    let mut plan = |now_s| {
        let decisions = cluster.engine.cycle(now_s);
        let state = cluster.engine.state();
        let line =
            |one: &pumice_engine::Eviction| format!("{} {}", one.reason, state.task(one.task).name);
        let lines: Vec<String> = decisions.evictions.iter().map(line).collect();
        lines
    };
    assert_eq!(plan(12 * HOUR), ["preempt old"]);
    assert_eq!(plan(12 * HOUR + 60), ["shuffle guest"]);
}
