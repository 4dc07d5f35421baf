//! Examples and tables of spec/02 §2, §4, §5 and §7.5.

use std::cmp::Ordering;

use pumice_conf::Value;
use pumice_model::object::{GroupObject, GroupPhase, PodObject, QueueObject};

use super::builders::*;
use crate::naive::cycle::Cycle;
use crate::naive::queue_share::{allocatable, deserved, overused, queue_share};
use crate::naive::state::{Status, get};
use crate::naive::{enqueue, gates, hdrf, order};

fn is_inqueue(cycle: &Cycle, job: &str) -> bool {
    cycle.world.jobs[job].group.status.phase == GroupPhase::Inqueue
}

#[test]
fn a_gang_is_ready_by_placed_members_and_pipelined_with_waiting_ones() {
    let config = named(&[], &["gang"]);
    for (status, ready, pipelined) in [
        (Status::Allocated, true, true),
        (Status::Pipelined, false, true),
        (Status::Pending, false, false),
    ] {
        let pods = (0..5).map(|index| pod(&format!("p{index}"), "1c 1Gi").group("j"));
        let cluster = Cluster::default().groups([group("j", 3)]).pods(pods);
        let mut cycle = cluster.cycle(&config);
        for (uid, task) in &mut cycle.world.tasks {
            match uid.as_str() {
                "p0" | "p1" => task.status = Status::Running,
                "p2" => task.status = status,
                _ => {}
            }
        }
        assert_eq!(gates::job_ready(&cycle, "ns/j"), ready);
        assert_eq!(gates::job_pipelined(&cycle, "ns/j"), pipelined);
    }
}

#[test]
fn role_minima_count_unless_they_exceed_min_member() {
    let config = named(&[], &["gang"]);
    for (min_member, ready) in [(2, true), (3, false)] {
        let mut gang = group("j", min_member);
        gang.min_task_member = vec![("ps".to_owned(), 1), ("worker".to_owned(), 2)];
        let pods = (0..3).map(|index| {
            let mut pod = pod(&format!("p{index}"), "1c 1Gi").on("n1").group("j");
            pod.role = "worker".to_owned();
            pod
        });
        let cluster = Cluster::default().groups([gang]).pods(pods);
        assert_eq!(gates::job_ready(&cluster.cycle(&config), "ns/j"), ready);
    }
}

#[test]
fn overcommit_admits_as_in_the_table() {
    let integer = Value::Int(2);
    let float = Value::Float;
    let cases = [
        (None, [true, false, false, false]),
        (Some(float(1.2)), [true, false, false, false]),
        (Some(float(1.0)), [false, false, false, false]),
        (Some(integer), [true, true, true, false]),
        (Some(float(0.5)), [true, false, false, false]),
    ];
    for (factor, admitted) in cases {
        let arguments: Vec<_> = factor
            .map(|f| ("overcommit-factor", f))
            .into_iter()
            .collect();
        let config = config(&["enqueue"], vec![plugin("overcommit", &arguments)]);
        for (m, admitted) in [4, 5, 6, 14].into_iter().zip(admitted) {
            let sized = |name, phase, cores: i64| GroupObject {
                min_resources: Some(amounts(&format!("{cores}c 1Gi"))),
                ..group(name, 1).phase(phase)
            };
            let cluster = Cluster::default()
                .nodes([node("n1", "10c 20Gi pods=100")])
                .groups([
                    sized("r", GroupPhase::Running, 1),
                    sized("i", GroupPhase::Inqueue, 2),
                    sized("x", GroupPhase::Pending, m),
                ])
                .pods((0..6).map(|index| pod(&format!("r{index}"), "1c 1Gi").on("n1").group("r")));
            let mut cycle = cluster.cycle(&config);
            enqueue::run(&mut cycle);
            assert_eq!(is_inqueue(&cycle, "ns/x"), admitted, "{arguments:?} {m}");
        }
    }
}

fn many(job: &str, count: usize, request: &str) -> Vec<PodObject> {
    let name = |index| format!("{job}-{index}");
    (0..count)
        .map(|index| pod(&name(index), request).group(job))
        .collect()
}

fn running(job: &str, count: usize, request: &str) -> Vec<PodObject> {
    let pods = many(job, count, request).into_iter();
    pods.map(|pod| PodObject {
        name: format!("r-{}", pod.name),
        uid: format!("r-{}", pod.uid),
        ..pod.on("n1")
    })
    .collect()
}

#[test]
fn drf_orders_jobs_by_their_dominant_share_with_pods_as_a_dimension() {
    let config = named(&[], &["drf"]);
    let groups = ["c", "b", "a"].map(|name| group(name, 1).phase(GroupPhase::Running));
    let cluster = Cluster::default()
        .nodes([node("n1", "64c 256Gi pods=110")])
        .groups(groups)
        .pods(running("a", 10, "100m 64Mi"))
        .pods(running("b", 2, "4c 8Gi"))
        .pods(running("c", 1, "2c 64Gi"));
    let cycle = cluster.cycle(&config);
    for (job, share) in [("ns/a", 10.0 / 110.0), ("ns/b", 0.125), ("ns/c", 0.25)] {
        assert_eq!(hdrf::job_share(&cycle, job), share);
    }
    assert_eq!(order::jobs(&cycle, "ns/a", "ns/b"), Ordering::Less);
    assert_eq!(order::jobs(&cycle, "ns/b", "ns/c"), Ordering::Less);
}

#[test]
fn hierarchical_queues_are_ordered_as_in_the_table_and_equal_weighted_shares_by_name() {
    let mut drf = plugin("drf", &[]);
    drf.enabled.hierarchy = true;
    let config = config(&[], vec![drf]);
    let placed = |name: &str, hierarchy: &[&str], weights: &[f64]| QueueObject {
        hierarchy: hierarchy.iter().map(|part| (*part).to_owned()).collect(),
        hierarchy_weights: weights.to_vec(),
        ..queue(name)
    };
    // (running of sci, dev, prod; pending each; order). In the third row dev and prod have equal
    // weighted shares up to rounding, so names decide.
    for (counts, pending, expected) in [
        ([2, 1, 6], 5, ["dev", "prod", "sci"]),
        ([4, 1, 1], 5, ["prod", "dev", "sci"]),
        ([1, 2, 6], 5, ["sci", "dev", "prod"]),
        ([2, 3, 3], 0, ["sci", "prod", "dev"]),
    ] {
        let mut cluster = Cluster::default()
            .nodes([node("n1", "20c 20Gi pods=200")])
            .queues([
                placed("sci", &["root", "sci"], &[1.0, 1.0]),
                placed("dev", &["root", "eng", "dev"], &[1.0, 2.0, 1.0]),
                placed("prod", &["root", "eng", "prod"], &[1.0, 2.0, 3.0]),
            ]);
        for (name, count) in ["sci", "dev", "prod"].into_iter().zip(counts) {
            cluster = cluster
                .groups([group(name, 1).queue(name).phase(GroupPhase::Running)])
                .pods(running(name, count, "1c 1Gi"))
                .pods(many(name, pending, "1c 1Gi"));
        }
        let cycle = cluster.cycle(&config);
        let mut names = ["sci", "prod", "dev"];
        names.sort_by(|l, r| order::queues(&cycle, l, r));
        assert_eq!(names, expected, "{counts:?}");
    }
}

struct ProportionCase {
    queues: [QueueObject; 2],
    pods: Vec<PodObject>,
    /// cores, GiB, pods of qa and qb
    deserved: [(f64, f64, f64); 2],
}

fn proportion_cases() -> Vec<ProportionCase> {
    let limited = QueueObject {
        capability: vec![("cpu".to_owned(), 2000)],
        ..queue("qa")
    };
    let guaranteed = QueueObject {
        guarantee: vec![("cpu".to_owned(), 6000)],
        ..queue("qa")
    };
    let pods = |a, b| [many("a", a, "1c 1Gi"), many("b", b, "1c 1Gi")].concat();
    let mixed = [
        running("a", 3, "2c 2Gi"),
        many("a", 2, "2c 2Gi"),
        many("b", 6, "1c 1Gi"),
    ];
    vec![
        ProportionCase {
            queues: [queue("qa"), queue("qb").weight(3)],
            pods: pods(9, 4),
            deserved: [(6.0, 9.0, 9.0), (4.0, 4.0, 4.0)],
        },
        ProportionCase {
            queues: [limited, queue("qb")],
            pods: pods(9, 12),
            deserved: [(2.0, 9.0, 9.0), (8.0, 11.0, 12.0)],
        },
        ProportionCase {
            queues: [guaranteed, queue("qb")],
            pods: pods(2, 12),
            deserved: [(6.0, 2.0, 2.0), (4.0, 12.0, 12.0)],
        },
        ProportionCase {
            queues: [queue("qa"), queue("qb")],
            pods: mixed.concat(),
            deserved: [(5.0, 10.0, 5.0), (5.0, 6.0, 6.0)],
        },
    ]
}

fn proportion_cluster(case: ProportionCase) -> Cluster {
    Cluster::default()
        .nodes([node("n1", "10c 20Gi pods=100")])
        .queues(case.queues)
        .groups([group("a", 1).queue("qa"), group("b", 1).queue("qb")])
        .pods(case.pods)
}

#[test]
fn proportion_divides_the_cluster_as_in_the_table() {
    let config = named(&[], &["proportion"]);
    for (index, case) in proportion_cases().into_iter().enumerate() {
        let expected = case.deserved;
        let cluster = proportion_cluster(case);
        let all = deserved(&cluster.cycle(&config).world);
        for (queue, (cores, gib, pods)) in ["qa", "qb"].into_iter().zip(expected) {
            let shares = &all[queue];
            let found = (
                shares["cpu"] / 1000.0,
                shares["memory"] / GI as f64,
                shares["pods"],
            );
            assert_eq!(found, (cores, gib, pods), "row {}, {queue}", index + 1);
        }
    }
}

#[test]
fn proportion_refuses_what_exceeds_the_deserved_amount_in_a_requested_dimension() {
    let config = named(&[], &["proportion"]);
    let Some(case) = proportion_cases().pop() else {
        panic!("there are cases");
    };
    let cluster = proportion_cluster(case);
    let cycle = cluster.cycle(&config);
    assert_eq!(queue_share(&cycle, "qa"), 1.2);
    assert_eq!(queue_share(&cycle, "qb"), 0.0);
    assert!(!overused(&cycle, "qa"));
    assert!(!allocatable(&cycle, "qa", &cycle.world.tasks["a-0"]));
    assert!(allocatable(&cycle, "qb", &cycle.world.tasks["b-0"]));
}

#[test]
fn proportion_admits_up_to_the_capability_counting_reservations_and_elastic_parts() {
    let config = named(&["enqueue"], &["proportion"]);
    for (cores, admitted) in [(8, true), (7, false), (6, false)] {
        let limited = QueueObject {
            capability: vec![("cpu".to_owned(), cores * 1000)],
            ..queue("qa")
        };
        let sized = |name, phase, cores: i64| GroupObject {
            min_resources: Some(vec![("cpu".to_owned(), cores * 1000)]),
            ..group(name, 1).queue("qa").phase(phase)
        };
        let cluster = Cluster::default()
            .nodes([node("n1", "10c 20Gi pods=100")])
            .queues([limited])
            .groups([
                sized("r", GroupPhase::Running, 1),
                sized("i", GroupPhase::Inqueue, 4),
                sized("x", GroupPhase::Pending, 3),
            ])
            .pods(running("r", 2, "1c 1Gi"));
        let mut cycle = cluster.cycle(&config);
        enqueue::run(&mut cycle);
        assert_eq!(is_inqueue(&cycle, "ns/x"), admitted, "{cores}");
        assert_eq!(get(&cycle.world.allocated("ns/r", false), "cpu"), 2000);
    }
}
