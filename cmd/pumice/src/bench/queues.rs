//! What a change costs in a tree of queues in which many pods run.

use std::time::Instant;

use pumice_engine::Engine;
use pumice_model::Delta;

use super::arguments::QueueTreeArguments;
use super::changes::{self, ChangeRow, settle};
use super::cluster::QueueTreeCluster;
use crate::check::{configuration, read};

/// Volcano's usual tiers, with the tree.
const CONF: &str = r#"
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: predicates
  - name: capacity
    enableHierarchy: true
  - name: nodeorder
"#;

/// Runs the benchmark.
pub fn run(arguments: &QueueTreeArguments) -> anyhow::Result<()> {
    let config = match &arguments.config {
        Some(path) => configuration(&path.display().to_string(), &read(path)?)?,
        None => configuration("configuration of the benchmark", CONF.as_bytes())?,
    };
    let cluster = QueueTreeCluster::new(arguments);
    let mut bench = QueuesBench {
        engine: Engine::new(&config, "default"),
        now_s: 0,
        changes: arguments.changes,
    };
    cluster.build(|delta| bench.engine.apply(delta));
    settle(&mut bench.engine, 0);
    let leaves = cluster.leaves().len();
    let rows = [
        bench.measure("a pod ends", |number| vec![cluster.end(number)]),
        bench.measure("a job of one pod comes", |number| cluster.job(number, 1)),
        bench.measure("a queue deserves another amount", |number| {
            vec![cluster.queue_change(number)]
        }),
        bench.measure_once("a gang of ten in each queue", || {
            let numbers = 0..leaves;
            let jobs = numbers.flat_map(|at| cluster.job(arguments.changes + at, 10));
            jobs.collect()
        }),
    ];
    changes::print(&rows, arguments.output)
}

struct QueuesBench {
    engine: Engine,
    now_s: i64,
    changes: usize,
}

impl QueuesBench {
    /// Each change on its own, until nothing is left to decide.
    fn measure(&mut self, change: &'static str, deltas: impl Fn(usize) -> Vec<Delta>) -> ChangeRow {
        let (mut times, mut tried, mut placed) = (Vec::new(), 0, 0);
        for number in 0..self.changes {
            let (us, of_these, bound) = self.time(deltas(number));
            times.push(us);
            (tried, placed) = (tried + of_these, placed + bound);
        }
        ChangeRow::new(change, times, tried, placed)
    }

    /// All at once.
    fn measure_once(&mut self, change: &'static str, deltas: impl Fn() -> Vec<Delta>) -> ChangeRow {
        let (us, tried, placed) = self.time(deltas());
        ChangeRow::new(change, vec![us], tried, placed)
    }

    /// Microseconds, jobs tried, pods placed.
    fn time(&mut self, deltas: Vec<Delta>) -> (f64, usize, usize) {
        let (mut tried, mut placed) = (0, 0);
        self.now_s += 1;
        let start = Instant::now();
        deltas
            .into_iter()
            .for_each(|delta| self.engine.apply(delta));
        loop {
            let decisions = self.engine.cycle(self.now_s);
            if decisions.is_empty() {
                break;
            }
            placed += decisions.binds.len();
            tried += decisions.tried;
        }
        (start.elapsed().as_secs_f64() * 1e6, tried, placed)
    }
}
