//! The engine decides what a naive loop over all tasks and nodes decides, binding for binding.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::{Config, parse};
use pumice_engine::Engine;
use pumice_model::object::{GroupPhase, PodObject, QueueObject};
use pumice_model::{Delta, TaskStatus};
use pumice_testkit::generate::{cluster, conf_text};
use pumice_testkit::naive::{self, Outcome};

const DEFAULT_QUEUE: &str = "default";

/// Random clusters and configurations each test tries.
const CASES: u64 = 3000;

fn config(seed: u64) -> Config {
    let text = conf_text(seed);
    let outcome = parse(&text, &pumice_plugins::REGISTRY);
    outcome
        .config
        .unwrap_or_else(|| panic!("{text}\n{:?}", outcome.diagnostics))
}

/// The engine with an API server that accepts every write, and nothing else.
fn fast(config: &Config, objects: &[Delta], cycles: u32) -> (Engine, Outcome) {
    let mut engine = Engine::new(config, DEFAULT_QUEUE);
    let mut pods: BTreeMap<String, PodObject> = BTreeMap::new();
    let mut queues = BTreeSet::new();
    for delta in objects {
        match delta {
            Delta::PodApply(pod) => {
                pods.insert(
                    format!("{}/{}", pod.namespace, pod.name),
                    pod.as_ref().clone(),
                );
            }
            Delta::QueueApply(queue) => {
                queues.insert(queue.name.clone());
            }
            _ => {}
        }
        engine.apply(delta.clone());
    }
    for name in [DEFAULT_QUEUE, "root"] {
        if !queues.contains(name) {
            let queue = QueueObject {
                name: name.to_owned(),
                weight: 1,
                reclaimable: true,
                ..QueueObject::default()
            };
            engine.apply(Delta::QueueApply(Box::new(queue)));
        }
    }
    let mut outcome = Outcome::default();
    for cycle in 0..cycles {
        let decisions = engine.cycle(i64::from(cycle));
        let mut echo = Vec::new();
        for bind in &decisions.binds {
            let key = engine.state().task_key(bind.task);
            let node = engine.state().nodes.object(bind.node).name.clone();
            let pod = pods.get_mut(&key).expect("a known pod");
            pod.node = Some(node.clone());
            echo.push(Delta::PodApply(Box::new(pod.clone())));
            outcome.binds.push((key, node));
        }
        if cycle + 1 < cycles {
            echo.into_iter().for_each(|delta| engine.apply(delta));
        }
    }
    describe(&engine, &mut outcome);
    (engine, outcome)
}

fn describe(engine: &Engine, outcome: &mut Outcome) {
    let state = engine.state();
    for (ix, task) in state
        .tasks()
        .filter(|(_, t)| t.status == TaskStatus::Pipelined)
    {
        let node = state.nodes.object(task.node.expect("a node")).name.clone();
        outcome.pipelined.push((state.task_key(ix), node));
    }
    outcome.pipelined.sort();
    for (ix, job) in state.jobs().filter(|(_, job)| job.group().is_some()) {
        let phase = match job.status.phase {
            GroupPhase::Pending => "Pending",
            GroupPhase::Inqueue => "Inqueue",
            GroupPhase::Running => "Running",
            GroupPhase::Unknown => "Unknown",
            GroupPhase::Completed => "Completed",
        };
        outcome.phases.insert(state.job_key(ix), phase.to_owned());
        let conditions: Vec<_> = job
            .status
            .conditions
            .iter()
            .map(|c| (c.kind.clone(), c.status.clone(), c.reason.clone()))
            .collect();
        if !conditions.is_empty() {
            outcome.conditions.insert(state.job_key(ix), conditions);
        }
    }
}

/// The naive outcome, without the groups it invents for bare pods.
fn slow(config: &Config, objects: &[Delta], cycles: u32) -> Outcome {
    let mut outcome = naive::schedule(config, objects, DEFAULT_QUEUE, cycles);
    let real: BTreeSet<String> = objects
        .iter()
        .filter_map(|delta| match delta {
            Delta::GroupApply(group) => Some(format!("{}/{}", group.namespace, group.name)),
            _ => None,
        })
        .collect();
    outcome.phases.retain(|key, _| real.contains(key));
    outcome.conditions.retain(|key, _| real.contains(key));
    outcome
}

fn check(seed: u64, cycles: u32) {
    let objects = cluster(seed);
    let config = config(seed);
    let (_, fast) = fast(&config, &objects, cycles);
    let slow = slow(&config, &objects, cycles);
    let context = || format!("seed {seed}, {cycles} cycle(s), conf:\n{}", conf_text(seed));
    assert_eq!(fast.binds, slow.binds, "binds: {}", context());
    assert_eq!(fast.pipelined, slow.pipelined, "pipelined: {}", context());
    assert_eq!(fast.phases, slow.phases, "phases: {}", context());
    assert_eq!(
        fast.conditions,
        slow.conditions,
        "conditions: {}",
        context()
    );
}

#[test]
fn one_cycle_decides_what_the_naive_loop_decides() {
    let seeds = std::env::var("PUMICE_SEEDS").ok();
    let (from, to) = seeds
        .as_deref()
        .and_then(|text| text.split_once(".."))
        .and_then(|(l, r)| Some((l.parse().ok()?, r.parse().ok()?)))
        .unwrap_or((0, CASES));
    (from..to).for_each(|seed| check(seed, 1));
}

#[test]
#[ignore]
fn dump() {
    let seed: u64 = std::env::var("SEED").unwrap().parse().unwrap();
    let cycles = std::env::var("CYC")
        .ok()
        .and_then(|c| c.parse().ok())
        .unwrap_or(if seed % 4 == 3 { 3 } else { 1 });
    println!("{}", conf_text(seed));
    let objects = cluster(seed);
    for o in &objects {
        match o {
            Delta::PodApply(p) => println!(
                "POD {}/{} uid={} ours={} node={:?} ph={:?} del={} grp={:?} role={} pri={} class={} req={:?} nz={},{} gates={:?} created={} labels={:?} sel={:?} aff={:?} pref={:?} tol={:?} ports={:?} paff={:?} panti={:?} ppref={:?} ppanti={:?} spread={:?} img={:?} owners={:?}",
                p.namespace,
                p.name,
                p.uid,
                p.ours,
                p.node,
                p.phase,
                p.deleting,
                p.group,
                p.role,
                p.priority,
                p.priority_class,
                p.request,
                p.nonzero_cpu_milli,
                p.nonzero_memory_bytes,
                p.gates,
                p.created_s,
                p.labels,
                p.node_selector,
                p.node_affinity,
                p.preferred_node_affinity,
                p.tolerations,
                p.host_ports,
                p.affinity,
                p.anti_affinity,
                p.preferred_affinity,
                p.preferred_anti_affinity,
                p.spread,
                p.images,
                p.owners
            ),
            o => println!("{o:?}"),
        }
    }
    let config = config(seed);
    let (engine, f) = fast(&config, &objects, cycles);
    let s = slow(&config, &objects, cycles);
    println!("FAST {:?}\nSLOW {:?}", f.binds, s.binds);
    println!("FAST pipe {:?}\nSLOW pipe {:?}", f.pipelined, s.pipelined);
    for k in f.phases.keys() {
        if f.phases[k] != s.phases[k] {
            println!("PHASE {k} fast {} slow {}", f.phases[k], s.phases[k]);
        }
    }
    for (ix, t) in engine.state().tasks() {
        if let Some(w) = engine.why_pending(ix) {
            println!(
                "WHY {} {:?} {} {}",
                engine.state().task_key(ix),
                t.status,
                w.reason,
                w.message
            );
        }
    }
    for (ix, q) in engine.state().queues() {
        println!(
            "Q {} alloc {:?} view {:?}",
            q.object.name,
            q.allocated,
            engine.queue_view(ix)
        );
    }
}

#[test]
#[ignore]
fn survey() {
    std::panic::set_hook(Box::new(|_| {}));
    let mut n = 0;
    let mut shown = 0;
    let (from, to) = std::env::var("PUMICE_SEEDS")
        .ok()
        .and_then(|t| {
            let (l, r) = t.split_once("..")?;
            Some((l.parse().ok()?, r.parse().ok()?))
        })
        .unwrap_or((0, 4000));
    for seed in from..to {
        let r = std::panic::catch_unwind(|| check(seed, if seed % 4 == 3 { 3 } else { 1 }));
        if let Err(e) = r {
            let text = e.downcast_ref::<String>().cloned().unwrap_or_else(|| {
                e.downcast_ref::<&str>()
                    .map(|s| s.to_string())
                    .unwrap_or_default()
            });
            n += 1;
            if shown < 8 {
                shown += 1;
                println!("BAD {text}\n");
            }
        }
    }
    println!("TOTAL {n}");
}

#[test]
fn further_cycles_decide_what_the_naive_loop_decides() {
    (CASES..CASES + CASES / 3).for_each(|seed| check(seed, 3));
}

#[test]
fn random_cases_are_not_trivial() {
    let mut binds = 0;
    let mut pipelined = 0;
    for seed in 0..300 {
        let (_, outcome) = fast(&config(seed), &cluster(seed), 1);
        binds += outcome.binds.len();
        pipelined += outcome.pipelined.len();
    }
    assert!(binds > 1000, "{binds} binds");
    assert!(pipelined > 10, "{pipelined} pipelined");
}
