//! How much of all GPUs is given out: tasks of a trace, drawn with replacement, placed one by one.
//!
//! It is the experiment of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), on the real engine: GPUs are
//! shared as vGPUs by memory alone, and tasks are bare pods.

mod chart;
mod departures;
mod mix;
mod trace;

use anyhow::Context;
use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_model::object::{NodeObject, NodeOp, NodeRequirement, NodeTerm, PodObject};
use serde::Serialize;

use super::arguments::{Output, PackingArguments};
use super::{cluster, devices};
use crate::check::{configuration, read};
use departures::SteadyShares;
use trace::{Trace, TraceNode, TraceTask, WHOLE};

/// The configuration that Volcano documents for vGPUs, with the plugin that fills nodes.
const DOCUMENTED: &str = r#"actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
  - name: binpack
  - name: deviceshare
    arguments:
      deviceshare.VGPUEnable: true
      deviceshare.SchedulePolicy: binpack
"#;

/// Node label with the model of its GPUs.
const MODEL: &str = "gpu-model";

/// Memory of a GPU: so that each part of one is a whole number of MiB.
const MIB_OF_PART: i64 = 80;

/// Pods that may share a GPU: more than the smallest tasks of traces need.
const SLOTS: i64 = 100;

/// A configuration, and what came of it.
#[derive(Serialize)]
struct PackingFigures {
    config: String,
    /// Percent of all GPUs given out once 1, 2, 3… percent have arrived; mean of all draws.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    given_out: Vec<f64>,
    /// Percent given out at 100 percent arrived, of each draw.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    at_all: Vec<f64>,
    /// With departures, of each draw.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steady: Vec<SteadyShares>,
}

/// Demand at which a draw ends, in percent of all GPUs: without departures and with them.
const UNTIL: (u32, u32) = (130, 800);

/// Runs the benchmark.
pub fn run(arguments: &PackingArguments) -> anyhow::Result<()> {
    let trace = Trace::read(&arguments.nodes, &arguments.pods, arguments.tasks)?;
    anyhow::ensure!(
        !arguments.departures || trace.interval_s() > 0.0,
        "--departures needs tasks with GPUs that last for some time: columns creation_time and deletion_time"
    );
    let mut configs = Vec::new();
    for path in &arguments.config {
        let name = path.display().to_string();
        configs.push((name.clone(), configuration(&name, &read(path)?)?));
    }
    if configs.is_empty() {
        let config = configuration("built-in configuration", DOCUMENTED.as_bytes())?;
        configs.push(("documented".to_owned(), config));
    }
    if let Some(path) = &arguments.mix {
        let lines = mix::read_lines(path)?;
        mix::tell(&mut configs, &lines)?;
    }
    let all: Vec<PackingFigures> = configs
        .iter()
        .map(|(name, config)| measure(arguments, &trace, name, config))
        .collect();
    if let Some(path) = &arguments.svg {
        let curves: Vec<(&str, &[f64])> = all
            .iter()
            .map(|figures| (figures.config.as_str(), &figures.given_out[..]))
            .collect();
        let written = std::fs::write(path, chart::svg(&curves));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    match arguments.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&all)?),
        Output::Table => print(&all),
    }
    Ok(())
}

fn measure(
    arguments: &PackingArguments,
    trace: &Trace,
    name: &str,
    config: &Config,
) -> PackingFigures {
    let mut figures = PackingFigures {
        config: name.to_owned(),
        given_out: Vec::new(),
        at_all: Vec::new(),
        steady: Vec::new(),
    };
    let seeds = (0..u64::from(arguments.draws)).map(|draw| arguments.seed.wrapping_add(draw));
    if arguments.departures {
        let until = arguments.until.unwrap_or(UNTIL.1);
        let draws = seeds.map(|seed| {
            let draw = Draw::new(trace, config, seed);
            draw.with_departures(arguments.load, until)
        });
        figures.steady = draws.collect();
        return figures;
    }
    let until = arguments.until.unwrap_or(UNTIL.0);
    let curves = seeds.map(|seed| Draw::new(trace, config, seed).without_departures(until));
    let curves: Vec<Vec<f64>> = curves.collect();
    let mean = |at: usize| curves.iter().map(|curve| curve[at]).sum::<f64>() / curves.len() as f64;
    figures.given_out = (0..until as usize).map(mean).collect();
    figures.at_all = curves
        .iter()
        .filter_map(|curve| curve.get(99).copied())
        .collect();
    figures
}

/// One draw of the tasks.
struct Draw<'a> {
    trace: &'a Trace,
    engine: Engine,
    random: u64,
    /// Tasks drawn so far.
    count: u64,
}

impl<'a> Draw<'a> {
    fn new(trace: &'a Trace, config: &Config, seed: u64) -> Self {
        let mut engine = Engine::new(config, "default");
        engine.apply(Delta::QueueApply(Box::new(cluster::queue(0))));
        for of_trace in &trace.nodes {
            engine.apply(Delta::NodeApply(Box::new(node(of_trace))));
        }
        Self {
            trace,
            engine,
            random: seed,
            count: 0,
        }
    }

    /// The next task.
    fn next(&mut self) -> &'a TraceTask {
        self.count += 1;
        self.trace.draw(&mut self.random)
    }

    /// Whether the task finds a place; if not, it is gone.
    fn place(&mut self, task: &TraceTask, now_s: i64) -> bool {
        let pod = pod(task, self.count);
        let uid = pod.uid.clone();
        self.engine.apply(Delta::PodApply(Box::new(pod)));
        let is_placed = !self.engine.cycle(now_s).binds.is_empty();
        if !is_placed {
            self.engine.apply(Delta::PodDelete(uid));
        }
        is_placed
    }

    /// Percent of all GPUs given out once 1, 2, 3… percent have arrived.
    fn without_departures(mut self, until: u32) -> Vec<f64> {
        let all = self.trace.capacity_milli();
        let (mut arrived, mut given) = (0, 0);
        let mut curve = Vec::new();
        while curve.len() < until as usize {
            let task = self.next();
            arrived += task.demand_milli();
            if self.place(task, 0) {
                given += task.demand_milli();
            }
            while curve.len() < until as usize && arrived * 100 >= all * (curve.len() as i64 + 1) {
                curve.push(100.0 * given as f64 / all as f64);
            }
        }
        curve
    }
}

fn uid(number: u64) -> String {
    format!("uid-task-{number:07}")
}

fn node(of_trace: &TraceNode) -> NodeObject {
    let mut node = NodeObject {
        name: of_trace.name.clone(),
        labels: vec![(MODEL.to_owned(), of_trace.model.clone())],
        allocatable: vec![
            ("cpu".to_owned(), of_trace.cpu_milli),
            ("memory".to_owned(), of_trace.memory_mib * cluster::MIB),
            ("pods".to_owned(), 1024),
        ],
        ..NodeObject::default()
    };
    let card = (SLOTS, MIB_OF_PART * WHOLE);
    let kind = format!("NVIDIA-{}", of_trace.model);
    devices::add_vgpus(&mut node, of_trace.gpus, &kind, card);
    node
}

fn pod(task: &TraceTask, number: u64) -> PodObject {
    let mut pod = cluster::request(task.cpu_milli, task.memory_mib * cluster::MIB);
    pod.name = format!("task-{number:07}");
    pod.uid = uid(number);
    if task.gpus > 0 {
        devices::ask_vgpus(&mut pod, task.gpus, task.gpu_milli * MIB_OF_PART);
    }
    if !task.models.is_empty() {
        let requirement = NodeRequirement {
            key: MODEL.to_owned(),
            op: NodeOp::In(task.models.clone()),
        };
        pod.node_affinity = Some(vec![NodeTerm {
            expressions: vec![requirement],
            ..NodeTerm::default()
        }]);
    }
    pod
}

fn print(all: &[PackingFigures]) {
    for figures in all {
        println!("{}", figures.config);
        if !figures.steady.is_empty() {
            print_steady(figures, &all[0]);
            continue;
        }
        for (at, share) in figures.given_out.iter().enumerate() {
            let arrived = at + 1;
            if arrived.is_multiple_of(10) && arrived >= 50 || arrived == figures.given_out.len() {
                println!("  arrived {arrived:>4} %  given out {share:6.2} %");
            }
        }
        if !figures.at_all.is_empty() {
            println!("  at 100 %                {}", spread(&figures.at_all));
        }
    }
}

/// What came of departures, beside those of the first configuration.
fn print_steady(figures: &PackingFigures, first: &PackingFigures) {
    let of = |figures: &PackingFigures, share: fn(&SteadyShares) -> f64| -> Vec<f64> {
        figures.steady.iter().map(share).collect()
    };
    let rejected = of(figures, |steady| steady.rejected);
    println!("  rejected of the GPU demand  {}", spread(&rejected));
    let several = of(figures, |steady| steady.several);
    println!("  of it for several GPUs      {}", spread(&several));
    let time = of(figures, |steady| steady.rejected_time);
    println!("  rejected of the GPU time    {}", spread(&time));
    let unavoidable = of(figures, |steady| steady.unavoidable);
    println!("  by a single pool of GPUs    {}", spread(&unavoidable));
    let in_use = of(figures, |steady| steady.in_use);
    println!("  GPUs in use                 {}", spread(&in_use));
    let sum = |shares: &[f64]| shares.iter().sum::<f64>();
    let before = of(first, |steady| steady.rejected);
    let time_before = of(first, |steady| steady.rejected_time);
    if figures.config != first.config && sum(&before) > 0.0 && sum(&time_before) > 0.0 {
        let change = |now: &[f64], before: &[f64]| 100.0 * (sum(now) / sum(before) - 1.0);
        println!(
            "  rejected against {}: {:+.0} %, of the time {:+.0} %",
            first.config,
            change(&rejected, &before),
            change(&time, &time_before)
        );
    }
}

/// Mean, least and most.
fn spread(values: &[f64]) -> String {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!(
        "{mean:.2} % (of {} draws {least:.2} to {most:.2})",
        values.len()
    )
}
