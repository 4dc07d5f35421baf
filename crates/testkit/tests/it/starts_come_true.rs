//! When a job starts (spec/11 §2), by the naive scheduler from one moment at which something ends to the next, each time
//! on objects alone.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pumice_conf::Config;
use pumice_fixtures::{Cluster, Dice};
use pumice_model::Delta;
use pumice_model::object::{PodObject, PodPhase};
use pumice_model::run_time::RunTimeTexts;
use pumice_plan::{PlanBounds, PlannedJob, WhenAbout, when};
use pumice_testkit::naive;

use crate::run;

/// Random clusters.
const CASES: u64 = 150;

/// When it is asked, seconds since the epoch.
const ASKED_S: i64 = 1_000;

const CONF: &str = "
actions: \"enqueue, allocate, backfill\"
tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}, {name: capacity}, {name: binpack}]}]
";

/// A full cluster whose pods mostly say when they end, and gangs that wait for it.
fn text(dice: &mut Dice) -> (String, u64) {
    // What the queue says counts for who says nothing himself.
    let of_queue = ["", "runs:250s", "runs:250s limit:400s"][dice.below(3) as usize];
    let mut text = format!("queue q capability:9c {of_queue}\n");
    let nodes = 2 + dice.below(3);
    for node in 0..nodes {
        let _ = writeln!(text, "node n{node} {}c 64Gi pods=20", 3 + dice.below(4));
        for pod in 0..2 {
            let since = ASKED_S - 1 - dice.below(300) as i64;
            let ends = match dice.below(6) {
                0 => String::new(),
                1 => format!("limit:{}s", 100 + dice.below(600)),
                _ => format!(
                    "runs:{}s limit:{}s",
                    100 + dice.below(400),
                    300 + dice.below(600)
                ),
            };
            let cores = 1 + dice.below(2);
            let name = format!("r{node}{pod}");
            let _ = writeln!(
                text,
                "group {name}\npod {name} {cores}c group:{name} on:n{node} since:{since} {ends}"
            );
        }
    }
    let gangs = 3 + dice.below(4);
    for gang in 0..gangs {
        let (min, cores) = (1 + dice.below(3), 1 + dice.below(3));
        let queue = if dice.below(2) == 0 { "queue:q" } else { "" };
        let runs = match dice.below(4) {
            0 => String::new(),
            _ => format!("runs:{}s", 20 + dice.below(300)),
        };
        let created = 500 + dice.below(3);
        let priority = 1 + dice.below(2);
        let _ = writeln!(
            text,
            "group w{gang} min:{min} {queue} created:{created} {runs}\n\
             pod w{gang}*{min} {cores}c group:w{gang} created:{created} priority:{priority}"
        );
    }
    (text, gangs)
}

/// When a pod ends that is on a node, if anybody said so.
fn end_s(objects: &[Delta], pod: &PodObject) -> Option<i64> {
    let group = objects.iter().find_map(|one| match one {
        Delta::GroupApply(group) if pod.group.as_ref() == Some(&group.name) => Some(group),
        _ => None,
    });
    let queue = objects.iter().find_map(|one| match one {
        Delta::QueueApply(queue) if Some(&queue.name) == group.map(|group| &group.queue) => {
            Some(queue)
        }
        _ => None,
    });
    let run_time = RunTimeTexts {
        pod: Some(&pod.annotations),
        group: group.map(|group| &group.annotations),
        queue: queue.map(|queue| &queue.run_times),
    }
    .read();
    let said = run_time
        .expected_s
        .into_iter()
        .chain(run_time.limit_s)
        .min()?;
    pod.node.as_ref()?;
    Some(pod.scheduled_s? + said)
}

fn pods(objects: &mut [Delta]) -> impl Iterator<Item = &mut PodObject> {
    objects.iter_mut().filter_map(|one| match one {
        Delta::PodApply(pod) => Some(&mut **pod),
        _ => None,
    })
}

/// Seconds until a pod of the job gets a node.
fn naive_start(config: &Config, mut objects: Vec<Delta>, job: &str) -> Option<i64> {
    let mut now_s = ASKED_S;
    loop {
        let outcome = naive::schedule(config, &objects, "default", 4);
        let mut is_started = false;
        for (name, node) in outcome.binds {
            let name = name.split_once('/').map_or("", |(_, name)| name);
            let mut all = pods(&mut objects);
            let bound = all
                .find(|pod| pod.name == name)
                .expect("a pod that is there");
            (bound.node, bound.phase) = (Some(node), PodPhase::Running);
            bound.scheduled_s = Some(now_s);
            is_started |= bound.group.as_deref() == Some(job);
        }
        if is_started {
            return Some(now_s - ASKED_S);
        }
        let ends = objects.iter().filter_map(|one| match one {
            Delta::PodApply(pod) => end_s(&objects, pod),
            _ => None,
        });
        now_s = ends.filter(|end_s| *end_s > now_s).min()?;
        let before = objects.clone();
        objects.retain(|one| match one {
            Delta::PodApply(pod) => end_s(&before, pod) != Some(now_s),
            _ => true,
        });
    }
}

#[test]
fn a_job_starts_when_the_naive_scheduler_starts_it() {
    let (mut later, mut never) = (0, 0);
    for seed in run::seeds(0, CASES) {
        let mut dice = Dice(seed);
        let (text, gangs) = text(&mut dice);
        let config = run::config(CONF);
        let objects = Cluster::of(&text).0;
        let mut engine = run::engine(&config, &objects);
        let all: BTreeMap<String, Option<i64>> = ["q", "default"]
            .into_iter()
            .flat_map(|queue| {
                let about = WhenAbout::Queue {
                    queue: queue.to_owned(),
                };
                let (fork, bounds) = (engine.fork(), PlanBounds::default());
                let told = when(fork, &config, &about, ASKED_S, bounds, [&|| true, &|| true]);
                told.expect("a queue").jobs
            })
            .map(|view| (view.job, view.expected.map(|start| start.in_s)))
            .collect();
        assert_eq!(all.len() as u64, gangs, "seed {seed}:\n{text}");
        for gang in 0..gangs {
            let name = format!("w{gang}");
            let job = WhenAbout::Job(PlannedJob {
                namespace: "ns".to_owned(),
                name: name.clone(),
            });
            let (fork, bounds) = (engine.fork(), PlanBounds::default());
            let told =
                when(fork, &config, &job, ASKED_S, bounds, [&|| true, &|| true]).expect("a job");
            let start = told.jobs[0].expected.as_ref().map(|start| start.in_s);
            let expected = naive_start(&config, objects.clone(), &name);
            assert_eq!(start, expected, "seed {seed}, {name}:\n{text}");
            assert_eq!(all[&format!("ns/{name}")], start, "seed {seed}, {name}");
            later += u64::from(expected.is_some_and(|in_s| in_s > 0));
            never += u64::from(expected.is_none());
        }
    }
    // The cases are not trivial.
    assert!(later > 50, "{later} start later");
    assert!(never > 10, "{never} never start");
}
