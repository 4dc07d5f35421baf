//! What it costs to evict for pods that wait: a cluster full of pods of lower priority, or of a queue that
//! holds more than it deserves.

use std::time::Instant;

use pumice_engine::Engine;
use serde::Serialize;

use super::arguments::{EvictArguments, EvictFor, Output};
use super::cluster;
use crate::check::{configuration, read};

/// Volcano's usual tiers.
const CONF: &str = r#"
actions: "enqueue, allocate, {action}, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
- plugins:
  - name: overcommit
    arguments:
      overcommit-factor: 100.0
  - name: drf
    enablePreemptable: false
  - name: predicates
  - name: proportion
  - name: nodeorder
"#;

/// Result of one run.
#[derive(Serialize)]
struct EvictFigures {
    nodes: usize,
    /// Pods for which others were evicted.
    nominated: usize,
    evicted: usize,
    /// Pods that found no place.
    left: usize,
    /// The cycle that decided, and for how long a cycle runs that has nothing new to decide.
    seconds: f64,
    again_seconds: f64,
    pods_per_second: f64,
    /// Milliseconds per class of pods.
    ms_per_class: f64,
}

/// Runs the benchmark.
pub fn run(arguments: &EvictArguments, what: EvictFor) -> anyhow::Result<()> {
    let action = match what {
        EvictFor::Priority => "preempt",
        EvictFor::Queue => "reclaim",
    };
    let config = match &arguments.config {
        Some(path) => configuration(&path.display().to_string(), &read(path)?)?,
        None => {
            let text = CONF.replace("{action}", action);
            configuration("configuration of the benchmark", text.as_bytes())?
        }
    };
    let mut engine = Engine::new(&config, "default");
    cluster::build_occupied(arguments, what, |delta| engine.apply(delta));
    let start = Instant::now();
    let decisions = engine.cycle(1);
    let seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    engine.cycle(2);
    let again_seconds = start.elapsed().as_secs_f64();
    let (nominated, pods) = (decisions.nominations.len(), arguments.jobs * arguments.gang);
    let classes = arguments.classes.clamp(1, pods.max(1));
    let figures = EvictFigures {
        nodes: arguments.nodes,
        nominated,
        evicted: decisions.evictions.len(),
        left: pods.saturating_sub(nominated + decisions.binds.len()),
        seconds,
        again_seconds,
        pods_per_second: nominated as f64 / seconds.max(1e-9),
        ms_per_class: seconds * 1e3 / classes as f64,
    };
    if arguments.output == Output::Json {
        println!("{}", serde_json::to_string_pretty(&figures)?);
        return Ok(());
    }
    println!("nodes            {}", figures.nodes);
    println!("nominated        {}", figures.nominated);
    println!("evicted          {}", figures.evicted);
    println!("left             {}", figures.left);
    println!("seconds          {:.4}", figures.seconds);
    println!("next cycle       {:.4} s", figures.again_seconds);
    println!("pods per second  {:.0}", figures.pods_per_second);
    println!("per class        {:.3} ms", figures.ms_per_class);
    Ok(())
}
