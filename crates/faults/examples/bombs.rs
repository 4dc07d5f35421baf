//! What somebody with `edit` in one namespace costs the others, in a large cluster:
//! `cargo run -p pumice-faults --example bombs -- [NODES [SIZE [KIND]]]`, 5,000 nodes and size 100 unless told
//! otherwise, all kinds unless one is named.
//!
//! ```text
//! a pod runs on each node ─► memory before
//!   ─► bomb and, at the same moment, a plain pod of another namespace ─► deciding until that has its node
//!   ─► 10 s later a second plain pod ─► deciding until that has its node, memory during
//!   ─► all of it is deleted, a minute passes ─► memory after
//! ```
//!
//! Deciding is the processor time of the decider: being told of the objects, and its cycles. Memory is what it has
//! allocated, found by dropping it, so that each amount is of a run of its own. What a job may ask of a cycle is
//! bounded as in the daemon.

use std::process::ExitCode;
use std::time::Duration;

use peak_alloc::PeakAlloc;
use pumice_conf::Config;
use pumice_faults::bombs::{self, BOMBS, Bomb};
use pumice_faults::objects::pod;
use pumice_faults::{CONFIGURATION, Simulation};
use pumice_model::object::PodPhase;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// As `--job-work-limit` is unless somebody says otherwise.
const JOB_WORK_LIMIT: u64 = 50_000_000;

/// One of so many nodes has devices.
const NODES_A_DEVICE_NODE: usize = 5;

/// A plain pod that has no node after so many seconds never gets one.
const PATIENCE_S: u64 = 120;

type Outcome<T> = Result<T, String>;

/// How far a run goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Before,
    During,
    After,
}

/// What a run has shown.
struct Shown {
    /// Deciding until each of the plain pods had its node.
    decided: Vec<Duration>,
    /// What the decider had allocated at the end.
    bytes: usize,
}

/// What this thread has had of a processor, which nothing else on the machine changes much.
fn processor_time() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat");
    let told = told.unwrap_or_default();
    let first = told.split_whitespace().next();
    let nanos = first.and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

fn pass(world: &mut Simulation, seconds: u64) -> Outcome<()> {
    let mut steps = 0..seconds;
    let done = steps.try_for_each(|_| world.step(1000));
    done.map_err(|broken| broken.to_string())
}

fn decided(world: &mut Simulation) -> Outcome<Duration> {
    let leader = world.leader().ok_or("nobody leads")?;
    Ok(leader.stopwatch.spent)
}

/// Deciding until a new plain pod has its node.
fn plain(world: &mut Simulation, name: &str) -> Outcome<Duration> {
    let begun = decided(world)?;
    let uid = bombs::plain(world, name);
    for _ in 0..PATIENCE_S * 10 {
        world.step(100).map_err(|broken| broken.to_string())?;
        let leader = world.leader().ok_or("nobody leads")?;
        let state = leader.decider.engine().state();
        let task = state
            .population()
            .task_by_uid(&uid)
            .map(|ix| state.task(ix));
        if task.is_some_and(|task| task.status.is_allocated()) {
            return Ok(decided(world)? - begun);
        }
    }
    let told = &world.server.pods[&uid].told;
    Err(format!("{name} has no node after {PATIENCE_S} s: {told:?}"))
}

/// A cluster in which pods run and pods of all shapes that come here have come before.
fn cluster(config: &Config, nodes: usize) -> Outcome<Simulation> {
    let mut world = bombs::cluster(config, nodes, nodes / NODES_A_DEVICE_NODE);
    for at in 0..nodes {
        let mut runs = pod(&format!("runs-{at}"), None, 1000, 0);
        (runs.node, runs.phase) = (Some(format!("n{at}")), PodPhase::Running);
        world.server.make_pod(runs);
    }
    pass(&mut world, 3)?;
    let leader = world.leader().ok_or("nobody leads")?;
    leader.decider.engine_mut().limit_work(Some(JOB_WORK_LIMIT));
    leader.stopwatch.clock = processor_time;
    plain(&mut world, "first")?;
    Ok(world)
}

fn run(config: &Config, nodes: usize, size: u64, bomb: &Bomb, until: Stage) -> Outcome<Shown> {
    let mut world = cluster(config, nodes)?;
    let mut shown = Shown {
        decided: Vec::new(),
        bytes: 0,
    };
    if until >= Stage::During {
        let written = (bomb.1)(&mut world, 0, size);
        written.map_err(|broken| broken.to_string())?;
        shown.decided.push(plain(&mut world, "with-it")?);
        pass(&mut world, 10)?;
        shown.decided.push(plain(&mut world, "beside-it")?);
    }
    if until == Stage::After {
        bombs::delete(&mut world);
        pass(&mut world, 60)?;
    }
    let process = world.take_leader().ok_or("nobody leads")?;
    let with = HEAP.current_usage();
    drop(process.decider);
    shown.bytes = with.saturating_sub(HEAP.current_usage());
    Ok(shown)
}

/// A line of the table.
fn line(config: &Config, nodes: usize, size: u64, bomb: &Bomb) -> Outcome<String> {
    let before = run(config, nodes, size, bomb, Stage::Before)?;
    let during = run(config, nodes, size, bomb, Stage::During)?;
    let after = run(config, nodes, size, bomb, Stage::After)?;
    let ms = |at: usize| {
        let decided = during.decided.iter().zip(&after.decided);
        let mut of_stage = decided.skip(at).take(1);
        let longest = of_stage.next().map_or(Duration::ZERO, |(a, b)| *a.max(b));
        longest.as_secs_f64() * 1000.0
    };
    let mb = |shown: &Shown| shown.bytes as f64 / 1e6;
    let growth = 100.0 * (mb(&after) / mb(&before) - 1.0);
    let (of_before, of_during, of_after) = (mb(&before), mb(&during), mb(&after));
    Ok(format!(
        "{:22} {:9.0} {:9.0} {of_before:9.1} {of_during:9.1} {of_after:9.1} {growth:+8.1} %",
        bomb.0,
        ms(0),
        ms(1)
    ))
}

fn table(nodes: usize, size: u64, wanted: &str) -> Outcome<()> {
    let parsed = pumice_conf::parse(CONFIGURATION, &pumice_engine::REGISTRY);
    let config = parsed.config.ok_or("the configuration is not valid")?;
    println!("{nodes} nodes, size {size}; ms of deciding, MB of the decider");
    println!(
        "{:22} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10}",
        "kind", "with it", "beside it", "before", "during", "after", "stays"
    );
    let kinds = BOMBS.iter();
    for bomb in kinds.filter(|(name, _)| wanted.is_empty() || wanted == *name) {
        println!("{}", line(&config, nodes, size, bomb)?);
    }
    Ok(())
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, usual: u64| {
        let word = words.get(at);
        word.map_or(Some(usual), |word| word.parse::<u64>().ok())
    };
    let wanted = words.get(2).map_or("", String::as_str);
    let is_kind = wanted.is_empty() || BOMBS.iter().any(|(name, _)| *name == wanted);
    let (Some(nodes @ 1..), Some(size @ 1..), true) = (number(0, 5000), number(1, 100), is_kind)
    else {
        let names = BOMBS.map(|(name, _)| name).join(", ");
        eprintln!("usage: bombs [NODES [SIZE [KIND]]]; kinds: {names}");
        return ExitCode::from(2);
    };
    match table(usize::try_from(nodes).unwrap_or(usize::MAX), size, wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("{problem}");
            ExitCode::FAILURE
        }
    }
}
