//! The process is killed at any moment, answers are lost, watches lag: no pod is made twice, none
//! is missing, and every restart counts once.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use pumice_controllers::runtime::{ApiVerb, WriteOutcome};

use super::*;
use crate::cluster::Dice;

/// Steps in which a world has to get somewhere.
const MAX_STEPS: usize = 60_000;

const SEEDS: std::ops::Range<u64> = 0..25;

/// A world in which things happen by chance.
struct Storm {
    world: World,
    dice: Dice,
    seed: u64,
    job: ManagedRef,
    kills: usize,
}

impl Storm {
    fn new(seed: u64, spec: Value) -> Self {
        let mut world = world();
        world.loses_answers = true;
        let job = apply(&mut world, spec);
        Self {
            world,
            dice: Dice::new(seed + 1),
            seed,
            job,
            kills: 0,
        }
    }

    /// One thing happens in the controllers, or to them, or in the cluster.
    fn happen(&mut self) {
        let (world, dice) = (&mut self.world, &mut self.dice);
        match dice.roll(100) {
            0 => {
                self.kills += 1;
                world.kill(dice);
            }
            1..=4 => world.server.admit_groups(),
            5..=14 => {
                let all = world.server.names(ManagedKind::Pod);
                let Some(of) = all.get(dice.roll(all.len())) else {
                    return;
                };
                let pod = world.server.get(of).cloned().unwrap_or_default();
                if !pod["metadata"]["deletionTimestamp"].is_null() {
                    world.server.remove(of);
                } else if pod["status"]["phase"].is_null() {
                    world.server.start_pod(of);
                }
            }
            _ => {
                if !world.step(dice) {
                    let later = world.now + SignedDuration::from_millis(200);
                    world.set_time(later);
                }
            }
        }
    }

    /// Things happen until this is so.
    fn until(&mut self, what: &str, is_so: impl Fn(&World, &Value) -> bool) {
        for _ in 0..MAX_STEPS {
            let status = status(&self.world, &self.job);
            if is_so(&self.world, &status) {
                return;
            }
            self.happen();
        }
        let status = status(&self.world, &self.job);
        let is_there = is_so(&self.world, &status);
        let pods = pods(&self.world);
        assert!(
            is_there,
            "seed {}: never {what}: {status:#} {pods:?}",
            self.seed
        );
    }

    /// All pods run, and the status says so.
    fn until_running(&mut self, count: i64) {
        self.until("running", |world, status| {
            let pods = world.server.all(ManagedKind::Pod);
            let running = pods.iter().filter(|pod| {
                pod["status"]["phase"] == "Running"
                    && pod["metadata"]["deletionTimestamp"].is_null()
            });
            running.count() as i64 == count
                && status["running"] == count
                && status["state"]["phase"] == "Running"
        });
    }

    /// All pods end well, and the Job is completed.
    fn until_completed(&mut self) {
        self.world.server.end_pods();
        self.until("completed", |_, status| {
            status["state"]["phase"] == "Completed"
        });
    }

    /// How often each pod was made.
    fn made(&self) -> BTreeMap<String, usize> {
        let mut made = BTreeMap::new();
        for (write, outcome) in &self.world.server.log {
            let is_done = matches!(outcome, WriteOutcome::Done(Some(_)));
            let is_creation = matches!(write.verb, ApiVerb::Create(_));
            if write.of.kind == ManagedKind::Pod && is_done && is_creation {
                *made.entry(write.of.name.clone()).or_default() += 1;
            }
        }
        made
    }

    /// Looks at the pods and at the order of writes: a status is only written over the one that was
    /// looked at.
    fn check(&self, retries: i64, expected: &[(&str, usize)]) {
        for (write, _) in &self.world.server.log {
            if let ApiVerb::Merge {
                patch,
                status: true,
            } = &write.verb
            {
                assert!(patch["metadata"]["resourceVersion"].is_string(), "{patch}");
            }
        }
        let status = status(&self.world, &self.job);
        let seed = self.seed;
        assert_eq!(
            status["retryCount"].as_i64().unwrap_or(0),
            retries,
            "seed {seed}: {status}"
        );
        let expected = expected
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        assert_eq!(self.made(), expected.collect(), "seed {seed}");
    }
}

fn spec(event: &str, action: &str) -> Value {
    let policies = json!([{"event": event, "action": action}]);
    json!({"tasks": [task("a", 2), task("b", 2)], "policies": policies, "maxRetry": 9})
}

const ALL: [&str; 4] = ["j-a-0", "j-a-1", "j-b-0", "j-b-1"];

/// All pods, those named made twice.
fn twice(names: &[&str]) -> Vec<(&'static str, usize)> {
    let count = |name| if names.contains(&name) { 2 } else { 1 };
    ALL.into_iter().map(|name| (name, count(name))).collect()
}

#[test]
fn a_job_without_mishaps_makes_each_pod_once() {
    let mut kills = 0;
    for seed in SEEDS {
        let mut wanted = spec("PodEvicted", "RestartJob");
        wanted["policies"][0]["events"] = json!(["PodFailed", "TaskFailed", "Unknown"]);
        let mut storm = Storm::new(seed, wanted);
        storm.until_running(4);
        storm.until_completed();
        storm.check(0, &twice(&[]));
        kills += storm.kills;
    }
    assert!(kills > 25, "the storm was none: {kills}");
}

#[test]
fn a_failed_pod_restarts_what_the_policy_says_once() {
    let cases: [(&str, &[&str]); 3] = [
        ("RestartJob", &ALL),
        ("RestartTask", &["j-a-0", "j-a-1"]),
        ("RestartPod", &["j-a-0"]),
    ];
    for (action, restarted) in cases {
        for seed in SEEDS {
            let mut storm = Storm::new(seed, spec("PodFailed", action));
            storm.until_running(4);
            storm.world.server.end_pod(&pod("j-a-0"), 1);
            storm.until("restarted", |_, status| status["retryCount"] == 1);
            storm.until_running(4);
            storm.until_completed();
            storm.check(1, &twice(restarted));
        }
    }
}

#[test]
fn an_evicted_pod_restarts_what_the_policy_says_once() {
    let cases: [(&str, &[&str]); 3] = [
        ("RestartJob", &ALL),
        ("RestartTask", &["j-b-0", "j-b-1"]),
        ("RestartPod", &["j-b-1"]),
    ];
    for (action, restarted) in cases {
        for seed in SEEDS {
            let mut storm = Storm::new(seed, spec("PodEvicted", action));
            storm.until_running(4);
            match seed % 2 {
                0 => drop(storm.world.server.delete(&pod("j-b-1"), "", false)),
                _ => storm.world.server.remove(&pod("j-b-1")),
            }
            storm.until("restarted", |_, status| status["retryCount"] == 1);
            storm.until_running(4);
            storm.until_completed();
            storm.check(1, &twice(restarted));
        }
    }
}

#[test]
fn two_failures_at_once_restart_both_pods() {
    for seed in SEEDS {
        let mut storm = Storm::new(seed, spec("PodFailed", "RestartPod"));
        storm.until_running(4);
        storm.world.server.end_pod(&pod("j-a-0"), 1);
        storm.world.server.end_pod(&pod("j-b-0"), 1);
        storm.until("restarted", |_, status| {
            status["retryCount"].as_i64() >= Some(1)
        });
        storm.until_running(4);
        storm.until_completed();
        let retries = status(&storm.world, &storm.job)["retryCount"].as_i64();
        let retries = retries.unwrap_or(0);
        assert!((1..=2).contains(&retries), "seed {seed}: {retries}");
        storm.check(retries, &twice(&["j-a-0", "j-b-0"]));
    }
}

#[test]
fn a_command_restarts_once() {
    for seed in SEEDS {
        let mut storm = Storm::new(seed, spec("PodEvicted", "TerminateJob"));
        storm.until_running(4);
        commands::command(&mut storm.world, "again", "RestartJob");
        storm.until("restarted", |_, status| status["retryCount"] == 1);
        storm.until_running(4);
        storm.until_completed();
        storm.check(1, &twice(&ALL));
        storm.until("without Commands", |world, _| {
            world.server.names(ManagedKind::Command).is_empty()
        });
    }
}

#[test]
fn a_job_is_suspended_and_resumed_once() {
    for seed in SEEDS {
        let mut storm = Storm::new(seed, spec("PodEvicted", "TerminateJob"));
        storm.until_running(4);
        storm.world.server.end_pod(&pod("j-b-0"), 0);
        commands::command(&mut storm.world, "suspend", "AbortJob");
        storm.until("aborted", |_, status| status["state"]["phase"] == "Aborted");
        commands::command(&mut storm.world, "resume", "ResumeJob");
        storm.until("resumed", |_, status| status["retryCount"] == 1);
        storm.until_running(3);
        storm.until_completed();
        storm.check(1, &twice(&["j-a-0", "j-a-1", "j-b-1"]));
    }
}

#[test]
fn scaling_evicts_nobody() {
    for seed in SEEDS {
        let mut storm = Storm::new(seed, spec("PodEvicted", "RestartJob"));
        storm.until_running(4);
        changes::scale(&mut storm.world, &storm.job, 1, 1);
        storm.until_running(3);
        changes::scale(&mut storm.world, &storm.job, 2, 2);
        storm.until_running(4);
        storm.until_completed();
        storm.check(0, &twice(&["j-a-1"]));
    }
}

#[test]
fn what_plugins_make_is_there_before_any_pod() {
    for seed in SEEDS {
        let mut wanted = spec("PodEvicted", "RestartJob");
        wanted["plugins"] = json!({"svc": [], "ssh": []});
        let mut storm = Storm::new(seed, wanted);
        storm.until_running(4);
        let log = storm.world.written();
        let at = |write: &str| log.iter().position(|one| one.starts_with(write));
        for made in ["create ConfigMap", "create Service", "create Secret"] {
            assert!(
                at(made).is_some() && at(made) < at("create Pod "),
                "seed {seed}: {made}"
            );
        }
        storm.until_completed();
        storm.check(0, &twice(&[]));
    }
}
