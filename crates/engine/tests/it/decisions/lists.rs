//! Lists that the page is made of: jobs, nodes, one node.

use pumice_engine::view::{Ask, JobsAsk, JobsShown, JobsView, NodeMapView, View};

use super::cluster::*;

fn jobs(cluster: &Cluster, ask: JobsAsk) -> JobsView {
    match cluster.engine.known().view(&Ask::Jobs(ask)) {
        Ok(View::Jobs(view)) => view,
        other => unreachable!("{other:?}"),
    }
}

fn names(view: &JobsView) -> Vec<&str> {
    view.jobs.iter().map(|job| job.name.as_str()).collect()
}

/// Runs, fits nowhere, waits for room.
fn three() -> Cluster {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "4c 8Gi pods=9"))
        .with(node("n2", "2c 8Gi pods=9"))
        .with(pod("runs", "3c").on("n1"))
        .with(pod("never", "9c"))
        .with(pod("waits", "3c"));
    cluster.cycle();
    cluster
}

#[test]
fn jobs_are_found_by_name_reason_and_whether_they_wait() {
    let cluster = three();
    let all = jobs(&cluster, JobsAsk::default());
    assert_eq!(names(&all), ["ns/never", "ns/runs", "ns/waits"]);
    assert_eq!((all.total, all.from), (3, 0));
    assert_eq!(all.reasons.get("no-node"), Some(&2));
    let waiting = JobsAsk {
        shown: JobsShown::Waiting,
        search: "s/w".to_owned(),
        ..JobsAsk::default()
    };
    let waiting = jobs(&cluster, waiting);
    assert_eq!(names(&waiting), ["ns/waits"]);
    let row = &waiting.jobs[0];
    assert_eq!(
        (row.placed, row.pending, row.class.as_deref()),
        (0, 1, Some("no-node"))
    );
    assert!(
        row.summary.as_deref().unwrap_or_default().contains("cpu"),
        "{row:?}"
    );
    let running = JobsAsk {
        shown: JobsShown::Running,
        ..JobsAsk::default()
    };
    assert_eq!(names(&jobs(&cluster, running)), ["ns/runs"]);
    let other = JobsAsk {
        reason: "topology".to_owned(),
        ..JobsAsk::default()
    };
    assert_eq!(jobs(&cluster, other).total, 0);
    let later = JobsAsk {
        from: 2,
        ..JobsAsk::default()
    };
    assert_eq!(names(&jobs(&cluster, later)), ["ns/waits"]);
}

#[test]
fn jobs_beyond_the_first_ones_follow_in_order_and_each_once() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN).with(node("n1", "4c 8Gi pods=9"));
    for n in (0..250).rev() {
        cluster = cluster.with(pod(&format!("p{n:03}"), "9c"));
    }
    cluster.cycle();
    let mut told: Vec<String> = Vec::new();
    for from in [0, 100, 200, 300] {
        let ask = JobsAsk {
            from,
            ..JobsAsk::default()
        };
        let view = jobs(&cluster, ask);
        assert_eq!((view.total, view.from), (250, from.min(250)));
        told.extend(view.jobs.into_iter().map(|job| job.name));
    }
    let all: Vec<String> = (0..250).map(|n| format!("ns/p{n:03}")).collect();
    assert_eq!(told, all);
}

#[test]
fn each_job_of_the_list_can_be_asked_about_by_its_name() {
    let cluster = three();
    for row in jobs(&cluster, JobsAsk::default()).jobs {
        let (namespace, name) = row.name.split_once('/').expect("a namespace");
        let ask = Ask::Job {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match cluster.engine.known().view(&ask) {
            Ok(View::Job(view)) => {
                assert_eq!((&view.name, &view.queue), (&row.name, &row.queue));
                assert_eq!(view.summary, row.summary);
            }
            other => unreachable!("{other:?}"),
        }
    }
}

#[test]
fn nodes_are_told_by_their_fullest_resource_and_one_with_its_pods() {
    let cluster = three();
    let map = match cluster.engine.known().view(&Ask::Nodes) {
        Ok(View::Nodes(view)) => view,
        other => unreachable!("{other:?}"),
    };
    let NodeMapView { total, nodes, .. } = map;
    assert_eq!(total, 2);
    let first = &nodes[0];
    assert_eq!(
        (
            first.name.as_str(),
            first.percent,
            first.resource.as_str(),
            first.pods
        ),
        ("n1", 75, "cpu", 1)
    );
    assert_eq!((nodes[1].percent, nodes[1].resource.as_str()), (0, ""));
    match cluster.engine.known().view(&Ask::Node("n1".to_owned())) {
        Ok(View::Node(view)) => {
            assert_eq!(view.pods.len(), 1);
            assert_eq!(view.pods[0].pod, "ns/runs");
            assert_eq!(view.pods[0].holds.get("cpu").map(String::as_str), Some("3"));
        }
        other => unreachable!("{other:?}"),
    }
    let absent = cluster.engine.known().view(&Ask::Node("n3".to_owned()));
    assert!(absent.expect_err("no such node").to_string().contains("n3"));
}
