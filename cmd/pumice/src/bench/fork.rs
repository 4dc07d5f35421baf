//! What a copy of the engine costs that is asked what would happen if, and what it costs the one that goes on.

use std::time::Instant;

use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_model::object::{GroupObject, PodObject};
use pumice_plan::{PlanBounds, PlanOutcome, PlanQuestion};
use serde::Serialize;

use super::arguments::{ForkArguments, Output};
use super::cluster::{MIB, request};
use super::placement::{config, memory_bytes};
use super::{changes::settle, cluster};

/// Pods of the gang that is asked about, and how often.
const GANG: usize = 100;
const PLANS: usize = 5;
/// What one of them asks in milli-cores: so that it fits, and as much as the largest node has, when none is empty.
const FITS_MILLI: i64 = 1_000;
const MORE_THAN_IS_FREE_MILLI: i64 = 128_000;

/// Result of one run.
#[derive(Serialize)]
struct ForkFigures {
    nodes: usize,
    pods: usize,
    /// Resident memory before the first fork.
    resident_bytes: u64,
    /// Milliseconds for which the engine stands still, median and longest.
    ms: f64,
    longest_ms: f64,
    /// Memory that a fork takes while neither side has changed anything, on average.
    bytes: u64,
    /// The first change of the original after a fork, microseconds, median; without a fork.
    change_us: f64,
    change_alone_us: f64,
    /// From the fork to the decisions of its first cycle, on another thread, milliseconds, median.
    answer_ms: f64,
    /// From the fork to the plan of a gang of so many pods that fits, and of one that waits, with what would help; milliseconds,
    /// median.
    plan_pods: usize,
    plan_ms: f64,
    plan_waits_ms: f64,
}

/// Runs the benchmark.
pub fn run(arguments: &ForkArguments) -> anyhow::Result<()> {
    let figures = measure(arguments, &config(&arguments.cluster)?);
    match arguments.cluster.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&figures)?),
        Output::Table => print(&figures),
    }
    Ok(())
}

fn measure(arguments: &ForkArguments, config: &Config) -> ForkFigures {
    let mut engine = Engine::new(config, "default");
    cluster::build(&arguments.cluster, |delta| engine.apply(delta));
    settle(&mut engine, 0);
    let pods = engine.state().population().tasks().count();
    let alone = change(&mut engine);
    // Whatever is made once is made.
    drop(engine.fork());
    let before = memory_bytes("VmRSS:");
    let mut forks = Vec::new();
    let mut times_ms = Vec::new();
    for _ in 0..arguments.forks {
        let start = Instant::now();
        forks.push(engine.fork());
        times_ms.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let grown = memory_bytes("VmRSS:").saturating_sub(before);
    let changed = change(&mut engine);
    let answers = forks.drain(..).map(|fork| {
        let start = Instant::now();
        let asked = std::thread::scope(|scope| {
            let thread = scope.spawn(|| fork.wake(config).cycle(2).tried);
            thread.join()
        });
        drop(asked);
        start.elapsed().as_secs_f64() * 1e3
    });
    let answer_ms = median(answers.collect());
    let plan_ms = plan(&mut engine, config, FITS_MILLI, PlanOutcome::Runs);
    let plan_waits_ms = plan(
        &mut engine,
        config,
        MORE_THAN_IS_FREE_MILLI,
        PlanOutcome::Waits,
    );

    let longest_ms = times_ms.iter().copied().fold(0.0, f64::max);
    ForkFigures {
        nodes: arguments.cluster.nodes,
        pods,
        resident_bytes: before,
        ms: median(times_ms),
        longest_ms,
        bytes: grown / arguments.forks.max(1) as u64,
        change_us: changed,
        change_alone_us: alone,
        answer_ms,
        plan_pods: GANG,
        plan_ms,
        plan_waits_ms,
    }
}

/// Milliseconds from the fork to the plan of a gang whose pods ask so much, median.
fn plan(engine: &mut Engine, config: &Config, cpu_milli: i64, expected: PlanOutcome) -> f64 {
    let group = GroupObject {
        namespace: "bench".to_owned(),
        name: "asked".to_owned(),
        uid: "asked".to_owned(),
        min_member: GANG as i32,
        ..GroupObject::default()
    };
    let pods = (0..GANG).map(|at| PodObject {
        name: format!("asked-{at}"),
        uid: format!("asked-{at}"),
        group: Some(group.name.clone()),
        ..request(cpu_milli, MIB)
    });
    let pods = pods.map(|pod| Delta::PodApply(Box::new(pod)));
    let group = Delta::GroupApply(Box::new(group.clone()));
    let question = PlanQuestion {
        objects: [group].into_iter().chain(pods).collect(),
        ..PlanQuestion::default()
    };
    let times = (0..PLANS).map(|_| {
        let start = Instant::now();
        let bounds = PlanBounds::default();
        let plan = pumice_plan::answer(engine.fork(), config, &question, 2, bounds, &|| true);
        let took = start.elapsed().as_secs_f64() * 1e3;
        let outcome = plan.map(|plan| plan.outcome);
        assert!(outcome == Ok(expected), "{outcome:?}");
        took
    });
    median(times.collect())
}

/// A pod ends: microseconds until that is taken in and decided about.
fn change(engine: &mut Engine) -> f64 {
    let uids = engine.state().population().tasks().take(100);
    let uids: Vec<String> = uids.map(|(_, task)| task.uid.to_string()).collect();
    let times = uids.into_iter().map(|uid| {
        let start = Instant::now();
        engine.apply(Delta::PodDelete(uid));
        engine.cycle(1);
        start.elapsed().as_secs_f64() * 1e6
    });
    median(times.collect())
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

fn print(figures: &ForkFigures) {
    println!("nodes            {}", figures.nodes);
    println!("pods             {}", figures.pods);
    println!(
        "resident         {:.0} MB",
        figures.resident_bytes as f64 / 1e6
    );
    println!(
        "fork             {:.2} ms, longest {:.2} ms",
        figures.ms, figures.longest_ms
    );
    println!("memory of a fork {:.1} MB", figures.bytes as f64 / 1e6);
    println!(
        "one change       {:.0} µs after a fork, {:.0} µs without",
        figures.change_us, figures.change_alone_us
    );
    println!("first answer     {:.1} ms", figures.answer_ms);
    println!(
        "plan             {:.1} ms for a gang of {}, {:.1} ms for one that waits",
        figures.plan_ms, figures.plan_pods, figures.plan_waits_ms
    );
}
