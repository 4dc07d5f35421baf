//! What metrics and those who measure are told.

use pumice_framework::{EvictionTally, Observer, Stage};
use pumice_model::Delta;
use pumice_model::resource::CPU;

use super::cluster::*;
use super::victims::{PREEMPT, Plans, cluster, ranked, runs, small};

#[test]
fn waiting_pods_are_counted_by_why_they_wait() {
    let gated = pumice_model::object::PodObject {
        gates: pumice_model::object::Gates::Foreign,
        ..pod("gated", "1c")
    };
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group("g", 2))
        .with(group("few", 9))
        .with(pod("g0", "1c").group("g"))
        .with(pod("g1", "9c").group("g"))
        .with(pod("f0", "1c").group("few"))
        .with(pod("a0", "1c").group("absent"))
        .with(pod("large", "9c"))
        .with(gated);
    cluster.cycle();
    let numbers = cluster.engine.metrics_snapshot();
    let counts: Vec<_> = numbers.pending.into_iter().collect();
    let expected = [
        ("gang", 1),
        ("gang-incomplete", 1),
        ("gated", 1),
        ("no-node", 2),
        ("no-podgroup", 1),
    ];
    assert_eq!(counts, expected);
    assert_eq!(numbers.unready_jobs, 2);
}

#[test]
fn a_pod_is_counted_by_what_it_is_told() {
    let mut asking = group("g", 1).waiting();
    asking.min_resources = Some(amounts("9c"));
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(node("n2", "2c 8Gi pods=9"))
        .with(asking)
        .with(pod("never", "9c").group("g"))
        .with(pod("later", "1c").group("g"))
        .with(group("role", 2))
        .with(pod("r-0", "3c").group("role"))
        .with(pod("r-1", "3c").group("role"));
    cluster.cycle();
    let engine = &cluster.engine;
    for (name, class, says) in [
        ("never", "no-node", "the pod never fits"),
        ("later", "not-admitted", "does not admit"),
        ("r-0", "gang", "can possibly be assigned"),
        ("r-1", "no-node", "nodes are unavailable"),
    ] {
        let task = engine
            .state()
            .population()
            .task_by_uid(name)
            .expect("a pod");
        let waiting = engine.known().waiting(task).expect("it waits");
        assert_eq!(waiting.class(), class, "{}", waiting.text());
        assert!(waiting.text().contains(says), "{}", waiting.text());
    }
    let counts: Vec<_> = cluster
        .engine
        .metrics_snapshot()
        .pending
        .into_iter()
        .collect();
    assert_eq!(counts, [("gang", 1), ("no-node", 2), ("not-admitted", 1)]);
}

#[test]
fn numbers_of_jobs_are_told_when_they_change() {
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(group("g", 2))
        .with(pod("g0", "1c").group("g"))
        .with(pod("g1", "9c").group("g"));
    cluster.cycle();
    let job = cluster.engine.metrics_snapshot().jobs[0];
    assert_eq!(
        (job.unschedulable, job.unready, job.share),
        (1, true, Some(0.0))
    );
    cluster.engine.cycle(0);
    let settled = cluster.engine.metrics_snapshot();
    cluster.engine.cycle(1);
    assert_eq!(cluster.engine.metrics_snapshot().jobs, [], "{settled:?}");
    cluster.apply(pod("g1", "1c").group("g"));
    cluster.cycle();
    cluster.cycle();
    let job = cluster.engine.metrics_snapshot().jobs[0];
    assert_eq!(
        (job.unschedulable, job.unready, job.share),
        (0, false, Some(0.5))
    );
    for name in ["g0", "g1"] {
        cluster.apply(Delta::PodDelete(name.to_owned()));
    }
    cluster.apply(Delta::GroupDelete("ns".to_owned(), "g".to_owned()));
    cluster.cycle();
    assert_eq!(cluster.engine.metrics_snapshot().gone, [job.job]);
}

#[test]
fn numbers_of_queues_say_what_they_hold_ask_for_and_deserve() {
    let mut cluster = Cluster::new()
        .with(node("n1", "4c 8Gi pods=9"))
        .with(pod("runs", "1c").on("n1"))
        .with(pod("large", "9c"));
    cluster.cycle();
    let numbers = cluster.engine.metrics_snapshot();
    let [queue] = &numbers.queues[..] else {
        panic!("one queue");
    };
    let cpu = (queue.allocated.get(CPU), queue.request.get(CPU));
    assert_eq!(cpu, (1000, 10_000));
    assert_eq!(queue.deserved[0], (CPU, 4000.0));
    assert_eq!((queue.weight, queue.overused), (1, false));
    // Of the pods it asks for, one of two runs.
    assert_eq!(queue.share, 0.5);
}

#[derive(Default)]
struct Written(Vec<String>);

impl Observer for Written {
    fn begin(&mut self, stage: Stage<'_>) {
        self.0.push(format!("{stage:?}"));
    }

    fn end(&mut self, stage: Stage<'_>) {
        self.0.push(format!("/{stage:?}"));
    }
}

#[test]
fn an_observer_sees_every_part_of_a_cycle() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN).with(pod("p", "1c"));
    let mut seen = Written::default();
    cluster.engine.cycle_observed(0, &mut seen);
    let expected = [
        "Open",
        "PluginOpen(\"gang\")",
        "/PluginOpen(\"gang\")",
        "PluginOpen(\"predicates\")",
        "/PluginOpen(\"predicates\")",
        "/Open",
        "Action(\"enqueue\")",
        "/Action(\"enqueue\")",
        "Action(\"allocate\")",
        "/Action(\"allocate\")",
        "Action(\"backfill\")",
        "/Action(\"backfill\")",
        "Close",
        "/Close",
    ];
    assert_eq!(seen.0, expected);
}

#[test]
fn plans_that_evict_and_nodes_weighed_for_them_are_counted_since_the_last_look() {
    let mut all = cluster(PREEMPT).with(small("n1")).with(small("n2"));
    for (node, name) in [("n1", "a"), ("n1", "b"), ("n2", "c")] {
        all = runs(all, "low", node, name, "2c");
    }
    // `n2` has room for one of two, `n1` for the other once one pod is gone.
    let mut all = all
        .with(ranked("high", group("new", 2)))
        .with(pod("new1", "2c").group("new"))
        .with(pod("new2", "2c").group("new"));
    let plan = all.plan();
    assert_eq!(
        plan.iter().filter(|line| line.starts_with('-')).count(),
        1,
        "{plan:?}"
    );
    let tally = all.engine.metrics_snapshot().evictions;
    assert_eq!(
        tally.plans.into_iter().collect::<Vec<_>>(),
        [("preempt", 1)]
    );
    assert!(tally.attempts >= 1, "{}", tally.attempts);
    assert!(
        matches!(tally.last_victims, Some(1 | 2)),
        "{:?}",
        tally.last_victims
    );
    assert_eq!(
        all.engine.metrics_snapshot().evictions,
        EvictionTally::default()
    );
    // Somebody for whom nobody goes: looked for, and no plan.
    let mut vain = runs(cluster(PREEMPT).with(small("n1")), "low", "n1", "old", "1c");
    vain = runs(vain, "high", "n1", "kept", "3c");
    let mut vain = vain
        .with(ranked("high", group("new", 1)))
        .with(pod("new", "2c").group("new"));
    assert_eq!(vain.plan(), [""; 0]);
    let tally = vain.engine.metrics_snapshot().evictions;
    assert!(tally.plans.is_empty(), "{:?}", tally.plans);
}
