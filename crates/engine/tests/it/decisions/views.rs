//! What people are told who ask: why something waits, its place, and what would have to change.

use pumice_devices::{ContainerFacts, ContainerKind};
use pumice_engine::Engine;
use pumice_engine::view::{Ask, CardsView, JobView, PodView, QueueView, TopView, View};
use pumice_model::Delta;
use pumice_model::object::WorkloadObject;

use super::cluster::*;
use super::devices;

pub fn pod_view(engine: &Engine, name: &str) -> PodView {
    let ask = Ask::Pod {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    };
    match engine.known().view(&ask) {
        Ok(View::Pod(view)) => *view,
        other => unreachable!("{other:?}"),
    }
}

fn job_view(engine: &Engine, name: &str) -> JobView {
    let ask = Ask::Job {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    };
    match engine.known().view(&ask) {
        Ok(View::Job(view)) => *view,
        other => unreachable!("{other:?}"),
    }
}

fn queue_view(engine: &Engine, name: &str) -> QueueView {
    match engine.known().view(&Ask::Queue(name.to_owned())) {
        Ok(View::Queue(view)) => *view,
        other => unreachable!("{other:?}"),
    }
}

fn cards_view(engine: &Engine, node: Option<&str>) -> CardsView {
    match engine.known().view(&Ask::Cards(node.map(str::to_owned))) {
        Ok(View::Cards(view)) => view,
        other => unreachable!("{other:?}"),
    }
}

fn top_view(engine: &Engine) -> TopView {
    match engine.known().view(&Ask::Top) {
        Ok(View::Top(view)) => *view,
        other => unreachable!("{other:?}"),
    }
}

/// A message with every asked part.
fn says(changes: &[String], parts: &[&str]) -> bool {
    let has = |text: &String| parts.iter().all(|part| text.contains(part));
    changes.iter().any(has)
}

#[test]
fn a_pod_that_lacks_little_is_told_how_much_and_where() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("big", "8c 8Gi pods=9"))
        .with(node("small", "1c 8Gi pods=9"))
        .with(pod("running", "5c").on("big"))
        .with(pod("waits", "4c"));
    cluster.cycle();
    let view = pod_view(&cluster.engine, "waits");
    assert_eq!(view.reason.as_deref(), Some("Unschedulable"));
    assert!(says(&view.changes, &["1 cpu", "node big"]), "{view:#?}");
    let place = view.place.expect("it waits");
    assert_eq!((place.position, place.waiting), (1, 1));
}

#[test]
fn a_pod_no_node_is_large_enough_for_is_told_the_largest() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("big", "8c 8Gi pods=9 example.com/gpu=8"))
        .with(pod("waits", "1c example.com/gpu=16"));
    cluster.cycle();
    let view = pod_view(&cluster.engine, "waits");
    let parts = [
        "it asks 16 example.com/gpu",
        "the largest node, big, has 8 in all",
    ];
    assert!(says(&view.changes, &parts), "{view:#?}");
}

#[test]
fn a_pod_that_runs_waits_for_nothing() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "8c 8Gi pods=9"))
        .with(pod("runs", "1c").on("n1"));
    cluster.cycle();
    let view = pod_view(&cluster.engine, "runs");
    assert_eq!(
        (view.status.as_str(), view.node.as_deref()),
        ("Running", Some("n1"))
    );
    assert_eq!(
        (view.reason, view.place, view.changes),
        (None, None, Vec::new())
    );
}

#[test]
fn a_gang_is_told_how_many_pods_lack_a_place() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "2c 8Gi pods=9"))
        .with(group("g", 3))
        .with(pod("g-0", "1c").group("g"))
        .with(pod("g-1", "1c").group("g"))
        .with(pod("g-2", "1c").group("g"));
    cluster.cycle();
    let view = job_view(&cluster.engine, "g");
    assert_eq!((view.kind.as_str(), view.min_member), ("PodGroup", 3));
    assert_eq!(view.pods.get("Pending"), Some(&3));
    let parts = ["1 more pod of its gang", "it needs 3", "2 could have one"];
    assert!(says(&view.changes, &parts), "{view:#?}");
    assert_eq!(view.waiting.iter().map(|same| same.count).sum::<usize>(), 3);
    assert_eq!(view.not_told, 0);
}

#[test]
fn a_gang_without_all_its_pods_is_told_how_many_are_missing() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "9c 8Gi pods=9"))
        .with(group("g", 5))
        .with(pod("g-0", "1c").group("g"));
    cluster.cycle();
    let view = job_view(&cluster.engine, "g");
    assert!(
        says(&view.changes, &["4 more pods", "it needs 5, there are 1"]),
        "{view:#?}"
    );
}

#[test]
fn owners_are_followed_to_the_top() {
    let set = |name: &str| WorkloadObject {
        kind: "ReplicaSet".to_owned(),
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        selector: None,
        controller: Some(("Deployment".to_owned(), "web".to_owned())),
    };
    let owned = |name: &str, kind: &str, owner: &str| {
        pod(name, "2c").owners([(kind.to_owned(), owner.to_owned())])
    };
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("n1", "1c 8Gi pods=9"))
        .with(owned("web-1-x", "ReplicaSet", "web-1"))
        .with(owned("nightly-29400000-y", "Job", "nightly-29400000"))
        .with(group(
            "weekly-29400000-6f1ed002-ab5c-4f1d-9c3e-1f0a5c1b2d3e",
            1,
        ));
    cluster.apply(Delta::WorkloadApply(set("web-1")));
    cluster.cycle();
    for (name, job) in [
        ("web-1", "ns/web-1-x"),
        ("web", "ns/web-1-x"),
        ("nightly", "ns/nightly-29400000-y"),
        (
            "weekly-29400000",
            "ns/weekly-29400000-6f1ed002-ab5c-4f1d-9c3e-1f0a5c1b2d3e",
        ),
        (
            "weekly",
            "ns/weekly-29400000-6f1ed002-ab5c-4f1d-9c3e-1f0a5c1b2d3e",
        ),
    ] {
        assert_eq!(job_view(&cluster.engine, name).name, job, "{name}");
    }
}

#[test]
fn the_place_in_the_queue_is_the_order_jobs_are_tried_in() {
    let job = |name: &str, created_s| group(name, 1).queue("training").created_s(created_s);
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(queue("training"))
        .with(job("third", 30))
        .with(job("first", 10))
        .with(job("second", 20))
        .with(group("elsewhere", 1));
    for name in ["first", "second", "third", "elsewhere"] {
        let pod = pod(&format!("{name}-0"), "4c").group(name);
        cluster.apply(pod);
    }
    cluster.cycle();
    for (at, name) in ["first", "second", "third"].into_iter().enumerate() {
        let place = job_view(&cluster.engine, name).place.expect("it waits");
        assert_eq!((place.position, place.waiting), (at + 1, 3), "{name}");
        assert_eq!(place.queue, "training");
        let first = (at > 0).then(|| "ns/first".to_owned());
        assert_eq!(place.first, first, "{name}");
    }
    let queue = queue_view(&cluster.engine, "training");
    let names: Vec<&str> = queue.first.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["ns/first", "ns/second", "ns/third"]);
    assert_eq!((queue.waiting, queue.pods.get("Pending")), (3, Some(&3)));
    assert_eq!(top_view(&cluster.engine).waiting.total, 4);
}

#[test]
fn a_queue_at_its_capability_says_what_would_have_to_be_given_back() {
    let training = queue("training").capability("4c");
    let mut cluster = Cluster::new()
        .with(node("n1", "16c 64Gi pods=9"))
        .with(training)
        .with(group("runs", 1).queue("training"))
        .with(group("waits", 1).queue("training"))
        .with(pod("runs-0", "3c").group("runs").on("n1"))
        .with(pod("waits-0", "2c").group("waits"));
    cluster.cycle();
    let view = pod_view(&cluster.engine, "waits-0");
    let parts = [
        "queue training has to give back 1 cpu",
        "limit 4, held 3, asked 2",
    ];
    assert!(says(&view.changes, &parts), "{view:#?}");
    let queue = queue_view(&cluster.engine, "training");
    assert_eq!(queue.allocated.get("cpu").map(String::as_str), Some("3"));
    assert_eq!(queue.capability.get("cpu").map(String::as_str), Some("4"));
    assert_eq!(queue.first.len(), 1);
}

#[test]
fn a_parent_queue_has_what_its_children_have() {
    let child = queue("child").parent("root");
    let mut cluster = Cluster::new()
        .with(node("n1", "16c 64Gi pods=9"))
        .with(queue("root"))
        .with(child)
        .with(group("runs", 1).queue("child"))
        .with(pod("runs-0", "3c").group("runs").on("n1"));
    cluster.cycle();
    let root = queue_view(&cluster.engine, "root");
    assert_eq!(root.allocated.get("cpu").map(String::as_str), Some("3"));
}

#[test]
fn cards_are_told_with_who_shares_them() {
    let mut cluster = Cluster::under(devices::CONF)
        .with(devices::two_cards("gpu"))
        .with(node("cpu", "8c 8Gi pods=9"))
        .with(devices::vgpu("a", 1000))
        .with(devices::vgpu("b", 2000));
    cluster.decide();
    let view = cards_view(&cluster.engine, None);
    assert_eq!((view.total, view.cards.len()), (2, 2));
    let [first, second] = &view.cards[..] else {
        panic!("{view:#?}");
    };
    assert_eq!(
        (first.family.as_str(), first.mode.as_str()),
        ("vgpu", "hami-core")
    );
    assert_eq!((first.id.as_str(), first.index), ("GPU-aa", 0));
    assert_eq!((first.memory, first.slots), (24576, Some(10)));
    // Binpack puts both on one card.
    let (memory, sharers) = (
        first.memory_used + second.memory_used,
        first.sharers.max(second.sharers),
    );
    assert_eq!((memory, sharers), (3000, 2));
    let pods: Vec<&str> = [first, second]
        .iter()
        .flat_map(|card| &card.pods)
        .map(|pod| pod.pod.as_str())
        .collect();
    assert_eq!(pods, ["ns/a", "ns/b"]);
    assert_eq!(cards_view(&cluster.engine, Some("cpu")).total, 0);
    let top = top_view(&cluster.engine);
    let gpu = &top.nodes[0];
    assert_eq!(
        (gpu.name.as_str(), gpu.cards, gpu.cards_in_use),
        ("gpu", 2, 1)
    );
}

#[test]
fn what_is_not_known_is_answered_with_near_names() {
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(queue("training"))
        .with(group("mnist", 1))
        .with(pod("worker-0", "1c"));
    cluster.cycle();
    let pod = |namespace: &str, name: &str| Ask::Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let job = Ask::Job {
        namespace: "ns".to_owned(),
        name: "minst".to_owned(),
    };
    for (ask, near) in [
        (pod("ns", "worker-1"), "ns/worker-0"),
        (pod("other", "worker-0"), "ns/worker-0"),
        (job, "ns/mnist"),
        (Ask::Queue("trainign".to_owned()), "training"),
        (Ask::Cards(Some("n2".to_owned())), "n1"),
    ] {
        let absent = cluster.engine.known().view(&ask).expect_err("not there");
        assert_eq!(absent.near, [near], "{ask:?}");
        assert!(
            absent
                .to_string()
                .ends_with(&format!("did you mean {near}?")),
            "{absent}"
        );
    }
}

#[test]
fn a_job_is_found_by_the_name_of_its_workload() {
    let uid = "01234567-89ab-cdef-0123-456789abcdef";
    let of_job = format!("train-{uid}");
    let owned = pod("web-0", "1c")
        .group("podgroup-1")
        .owners([("StatefulSet".to_owned(), "web".to_owned())]);
    let mut cluster = Cluster::new()
        .with(node("n1", "1c 8Gi pods=9"))
        .with(group(&of_job, 1).waiting())
        .with(group("podgroup-1", 1))
        .with(owned);
    cluster.cycle();
    assert_eq!(
        job_view(&cluster.engine, "train").name,
        format!("ns/{of_job}")
    );
    assert_eq!(job_view(&cluster.engine, "web").name, "ns/podgroup-1");
}

#[test]
fn a_cluster_with_many_waiting_jobs_is_told_in_a_bounded_view() {
    let mut cluster = Cluster::new().with(node("n1", "1c 8Gi pods=9"));
    for at in 0..200 {
        let pod = pod(&format!("p-{at:03}"), "4c");
        cluster.apply(pod);
    }
    cluster.cycle();
    let top = top_view(&cluster.engine);
    assert_eq!((top.waiting.total, top.waiting.pods), (200, 200));
    assert_eq!(top.waiting.first.len(), pumice_engine::view::MAX_WAITING);
    let positions: Vec<usize> = top.waiting.first.iter().map(|job| job.position).collect();
    assert!(positions.is_sorted(), "{positions:?}");
    let cpu = &top.cluster.resources[0];
    assert_eq!(
        (cpu.resource.as_str(), cpu.used.as_str(), cpu.percent),
        ("cpu", "0", 0)
    );
}

#[test]
fn a_replica_that_stands_by_can_be_asked_after_nodes_have_gone() {
    let mut cluster = Cluster::under(NO_QUEUE_PLUGIN)
        .with(node("a", "2c 8Gi pods=9"))
        .with(node("b", "3c 8Gi pods=9"))
        .with(pod("waits", "4c"))
        .with(pod("runs", "1c").on("b"));
    cluster.cycle();
    cluster.apply(Delta::NodeDelete("a".to_owned()));
    cluster.engine.stand_by();
    assert_eq!(pod_view(&cluster.engine, "waits").status, "Pending");
    cluster.cycle();
    let view = pod_view(&cluster.engine, "waits");
    assert!(
        says(&view.changes, &["the largest node, b, has 3"]),
        "{view:#?}"
    );
}

#[test]
fn what_is_asked_holds_device_memory_that_no_node_tells_of_and_what_a_job_without_pods_will_ask() {
    let memory = "huawei.com/Ascend910B4-memory";
    let mut asking = pod("p", "1c huawei.com/Ascend910B4=1");
    asking.facts.containers.push(ContainerFacts {
        kind: ContainerKind::Regular,
        amounts: vec![
            ("huawei.com/Ascend910B4".to_owned(), 1000),
            (memory.to_owned(), 8_192_000),
        ],
    });
    let mut later = group("later", 2).waiting();
    later.min_resources = Some(amounts("4c"));
    let mut cluster = Cluster::new()
        .with(node("n1", "2c 8Gi pods=9"))
        .with(group("g", 1))
        .with(asking.group("g"))
        .with(later);
    cluster.cycle();
    let asks = pod_view(&cluster.engine, "p").asks;
    assert_eq!(asks.get(memory).map(String::as_str), Some("8192"));
    assert_eq!(asks.get("cpu").map(String::as_str), Some("1"));
    let gang = job_view(&cluster.engine, "g").asks;
    assert_eq!(gang.get(memory).map(String::as_str), Some("8192"));
    assert_eq!(gang.get("cpu").map(String::as_str), Some("1"));
    let asks = job_view(&cluster.engine, "later").asks;
    assert_eq!(asks.get("cpu").map(String::as_str), Some("4"));
}

#[test]
fn a_job_without_pods_that_is_not_admitted_has_the_word_of_its_condition() {
    let mut later = group("later", 2).waiting();
    later.min_resources = Some(amounts("4c"));
    let mut cluster = Cluster::new().with(node("n1", "2c 8Gi pods=9")).with(later);
    cluster.cycle();
    let view = job_view(&cluster.engine, "later");
    let state = cluster.engine.state();
    let job = state.population().job_by_key("ns", "later").expect("a job");
    let conditions = &state.job(job).status.conditions;
    let condition = conditions.first().expect("a condition");
    assert_eq!(condition.reason, "NotEnoughResources");
    assert_eq!(view.reason.as_deref(), Some(condition.reason.as_str()));
    assert_eq!(view.message.as_deref(), Some(condition.message.as_str()));
}
