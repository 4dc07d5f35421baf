//! What it costs to place pending gangs on a cluster.

use std::time::{Duration, Instant};

use pumice_conf::{Config, DEFAULT_CONF};
use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_model::object::PodObject;
use serde::Serialize;

use super::arguments::{BenchDevices, Output, PlacementArguments};
use super::cluster;
use crate::check::{configuration, read};

/// Pods created one at a time.
const ONE_BY_ONE: usize = 200;

/// Result of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// How many nodes the cluster had.
    pub nodes: usize,
    /// Pods placed.
    pub placed: usize,
    /// Pods that found no place.
    pub pending: usize,
    /// Inputs applied → decisions out.
    pub seconds: f64,
    /// `placed / seconds`.
    pub pods_per_second: f64,
    /// A following cycle without change, microseconds.
    pub idle_cycle_us: f64,
    /// One pod is created, decided about, and bound: the cycle in between, microseconds, median.
    pub one_pod_cycle_us: f64,
    /// The longest of them, microseconds.
    pub one_pod_cycle_max_us: f64,
    /// Cycles until everything was decided.
    pub cycles: u64,
    /// The longest of them.
    pub longest_cycle_seconds: f64,
    /// Inputs applied → the last of the plain pods decided; 0 without plain pods.
    pub plain_seconds: f64,
    /// Resident memory at the end; 0 where the system does not tell.
    pub rss_bytes: u64,
    /// The most memory that was resident.
    pub peak_bytes: u64,
}

/// Runs the benchmark.
pub fn run(arguments: &PlacementArguments) -> anyhow::Result<()> {
    let figures = measure(arguments, &config(arguments)?);
    print(&figures, arguments.output)
}

/// The configuration of a benchmark.
pub fn config(arguments: &PlacementArguments) -> anyhow::Result<Config> {
    match &arguments.config {
        Some(path) => configuration(&path.display().to_string(), &read(path)?),
        None => {
            let devices = match arguments.devices {
                BenchDevices::None => None,
                BenchDevices::Vgpu => Some("VGPUEnable: true"),
                BenchDevices::HamiNpu => Some("AscendHAMiVNPUEnable: true"),
                BenchDevices::MindclusterNpu => Some("AscendMindClusterVNPUEnable: true"),
                BenchDevices::Nvidia | BenchDevices::NvidiaLinked => Some("HAMiVendors: [NVIDIA]"),
                BenchDevices::Hygon => Some("HAMiVendors: [Hygon]"),
                BenchDevices::Cambricon => Some("HAMiVendors: [Cambricon]"),
                BenchDevices::Iluvatar => Some("HAMiVendors: [Iluvatar]"),
                BenchDevices::Mthreads => Some("HAMiVendors: [Mthreads]"),
                BenchDevices::Metax => Some("HAMiVendors: [MetaX]"),
                BenchDevices::Kunlun => Some("HAMiVendors: [Kunlun]"),
                BenchDevices::Neuron => Some("HAMiVendors: [AWSNeuron]"),
                BenchDevices::Enflame => Some("HAMiVendors: [Enflame]"),
            };
            let devices = devices.map_or_else(String::new, deviceshare);
            let network = match arguments.topology {
                0 => "",
                _ => "  - name: network-topology-aware\n",
            };
            let text = format!("{DEFAULT_CONF}{devices}{network}");
            configuration("built-in configuration", text.as_bytes())
        }
    }
}

/// What shared devices add to the built-in configuration.
fn deviceshare(switch: &str) -> String {
    format!(
        "  - name: deviceshare\n    arguments:\n      deviceshare.{switch}\n      \
         deviceshare.SchedulePolicy: binpack\n"
    )
}

/// Builds the cluster and measures.
pub fn measure(arguments: &PlacementArguments, config: &Config) -> Figures {
    let mut engine = Engine::new(config, "default");
    engine.limit_work((arguments.job_work_limit > 0).then_some(arguments.job_work_limit));
    cluster::build(arguments, |delta| engine.apply(delta));
    let backlog = work_off(&mut engine);
    let (placed, seconds) = (backlog.placed, backlog.took.as_secs_f64());
    // Let the cycle settle first: what follows has nothing left to do.
    while !engine.cycle(1).is_empty() {}
    let idle = idle_cycle(&mut engine);
    let one_pod = one_pod_cycles(&mut engine);
    Figures {
        nodes: arguments.nodes,
        placed,
        pending: arguments.jobs * arguments.gang + arguments.plain - placed,
        seconds,
        pods_per_second: placed as f64 / seconds.max(1e-9),
        idle_cycle_us: idle.as_secs_f64() * 1e6,
        one_pod_cycle_us: one_pod.0,
        one_pod_cycle_max_us: one_pod.1,
        cycles: backlog.cycles,
        longest_cycle_seconds: backlog.longest.as_secs_f64(),
        plain_seconds: backlog.plain.as_secs_f64(),
        rss_bytes: memory_bytes("VmRSS:"),
        peak_bytes: memory_bytes("VmHWM:"),
    }
}

/// How long it took to decide about everything that waits.
#[derive(Default)]
struct Backlog {
    placed: usize,
    cycles: u64,
    took: Duration,
    longest: Duration,
    plain: Duration,
}

/// Cycles until no job is left that had no turn.
fn work_off(engine: &mut Engine) -> Backlog {
    let mut backlog = Backlog::default();
    let start = Instant::now();
    loop {
        let begun = start.elapsed();
        let decisions = engine.cycle(0);
        backlog.took = start.elapsed();
        backlog.longest = backlog.longest.max(backlog.took - begun);
        backlog.cycles += 1;
        backlog.placed += decisions.binds.len();
        let name = |task| &engine.state().task(task).name;
        let mut binds = decisions.binds.iter();
        if binds.any(|bind| name(bind.task).starts_with(cluster::PLAIN)) {
            backlog.plain = backlog.took;
        }
        if !decisions.postponed {
            return backlog;
        }
    }
}

/// The longest of several cycles without change.
fn idle_cycle(engine: &mut Engine) -> Duration {
    let one = |engine: &mut Engine| {
        let start = Instant::now();
        let decisions = engine.cycle(2);
        (start.elapsed(), decisions.is_empty())
    };
    (0..100).map(|_| one(engine).0).max().unwrap_or_default()
}

/// Pods created one at a time; for each, from the input to the decision. Median and longest in
/// microseconds; every other pod is alone in its PodGroup.
fn one_pod_cycles(engine: &mut Engine) -> (f64, f64) {
    let mut times: Vec<f64> = (0..ONE_BY_ONE)
        .map(|number| {
            let (group, pod) = cluster::single(number);
            let start = Instant::now();
            if let Some(group) = group {
                engine.apply(group);
            }
            engine.apply(Delta::PodApply(Box::new(pod.clone())));
            let decisions = engine.cycle(3);
            let elapsed = start.elapsed().as_secs_f64() * 1e6;
            if let [bind] = &decisions.binds[..] {
                let node = engine.state().nodes().object(bind.node).name.clone();
                let node = Some(node);
                engine.apply(Delta::PodApply(Box::new(PodObject { node, ..pod })));
            }
            while !engine.cycle(3).is_empty() {}
            elapsed
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let longest = times.last().copied().unwrap_or(0.0);
    (times[times.len() / 2], longest)
}

/// Resident memory of this process, as the system reports it.
pub fn memory_bytes(kind: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(kind));
    let kib = line.and_then(|rest| {
        rest.trim()
            .trim_end_matches(" kB")
            .trim()
            .parse::<u64>()
            .ok()
    });
    kib.unwrap_or(0) * 1024
}

fn print(figures: &Figures, output: Output) -> anyhow::Result<()> {
    if output == Output::Json {
        println!("{}", serde_json::to_string_pretty(figures)?);
        return Ok(());
    }
    println!("nodes            {}", figures.nodes);
    println!("placed           {}", figures.placed);
    println!("pending          {}", figures.pending);
    println!("seconds          {:.4}", figures.seconds);
    println!("pods per second  {:.0}", figures.pods_per_second);
    println!("idle cycle       {:.2} µs", figures.idle_cycle_us);
    println!(
        "one pod          {:.0} µs, longest {:.0} µs",
        figures.one_pod_cycle_us, figures.one_pod_cycle_max_us
    );
    println!("cycles           {}", figures.cycles);
    println!("longest cycle    {:.4} s", figures.longest_cycle_seconds);
    println!("plain pods after {:.4} s", figures.plain_seconds);
    println!(
        "resident         {:.0} MB, at most {:.0} MB",
        figures.rss_bytes as f64 / 1e6,
        figures.peak_bytes as f64 / 1e6
    );
    Ok(())
}
