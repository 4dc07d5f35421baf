//! What places cost that are kept for gangs that wait: all planned at once, and after one change.

use std::time::Instant;

use clap::Args;
use pumice_conf::{Config, parse};
use pumice_engine::Engine;
use pumice_engine::view::{Ask, View};
use pumice_model::object::{GroupObject, GroupStatus, NodeObject, PodObject, PodPhase};
use pumice_model::run_time::RUN_TIME_LIMIT;
use pumice_model::{Delta, object::GroupPhase};

use super::arguments::Output;
use super::changes::{self, ChangeRow};
use super::cluster;

/// Cores of a node, in thousandths.
const NODE: i64 = 8_000;
const NAMESPACE: &str = "bench";
const NOW_S: i64 = 1_000_000;

/// With places that are kept, and without.
const PLUGINS: &str = "{name: priority}, {name: gang}, {name: predicates}, {name: nodeorder}";

/// Arguments of `pumice bench reserve`.
#[derive(Args, Clone)]
pub struct ReserveArguments {
    /// Nodes, all of them full
    #[arg(long, default_value_t = 5000)]
    pub nodes: usize,
    /// Jobs of one pod that run, each with another end
    #[arg(long, default_value_t = 10_000)]
    pub running: usize,
    /// Gangs that wait, each in a queue of its own, and so each with places kept
    #[arg(long, default_value_t = 100)]
    pub gangs: usize,
    /// Pods of a gang, each as large as a node
    #[arg(long, default_value_t = 8)]
    pub members: usize,
    /// Jobs that end, one after the other
    #[arg(long, default_value_t = 50)]
    pub changes: usize,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    pub output: Output,
}

/// Runs the benchmark.
pub fn run(arguments: &ReserveArguments) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for keeps in [false, true] {
        rows.extend(measure(arguments, &config(keeps)?, keeps)?);
    }
    changes::print(&rows, arguments.output)
}

fn config(keeps: bool) -> anyhow::Result<Config> {
    let kept = match keeps {
        true => ", {name: reservation}",
        false => "",
    };
    let text = format!("actions: \"allocate\"\ntiers: [{{plugins: [{PLUGINS}{kept}]}}]\n");
    let parsed = parse(&text, &pumice_engine::REGISTRY);
    parsed
        .config
        .ok_or_else(|| anyhow::anyhow!("the configuration is not valid"))
}

fn measure(
    arguments: &ReserveArguments,
    config: &Config,
    keeps: bool,
) -> anyhow::Result<Vec<ChangeRow>> {
    let mut engine = Engine::new(config, "default");
    build(arguments, |delta| engine.apply(delta));
    let timed = |engine: &mut Engine, now_s: i64| {
        let start = Instant::now();
        let decisions = engine.cycle(now_s);
        (start.elapsed().as_secs_f64() * 1e6, decisions)
    };
    let (first, decided) = timed(&mut engine, NOW_S);
    let known = keeps.then(|| planned(&engine, arguments.gangs));
    anyhow::ensure!(
        known.is_none_or(|known| known == arguments.gangs),
        "{known:?} gangs have places"
    );
    let (mut times, mut placed, mut tried) = (Vec::new(), 0, 0);
    for number in 0..arguments.changes {
        engine.apply(Delta::PodDelete(format!("runs-{number}")));
        let (took, decided) = timed(&mut engine, NOW_S + 1);
        times.push(took);
        placed += decided.binds.len();
        tried += decided.tried;
    }
    let [one, other] = match keeps {
        true => ["first cycle, all planned", "a pod ends, places are kept"],
        false => ["first cycle, without", "a pod ends, without"],
    };
    Ok(vec![
        ChangeRow::new(one, vec![first], decided.tried, decided.binds.len()),
        ChangeRow::new(other, times, tried, placed),
    ])
}

/// How many of the gangs have places kept.
fn planned(engine: &Engine, gangs: usize) -> usize {
    let is_planned = |gang: &usize| {
        let (namespace, name) = (NAMESPACE.to_owned(), format!("gang-{gang}"));
        let view = engine.known().view(&Ask::Job { namespace, name });
        matches!(view, Ok(View::Job(job)) if job.planned.is_some())
    };
    (0..gangs).filter(is_planned).count()
}

fn build(arguments: &ReserveArguments, mut apply: impl FnMut(Delta)) {
    for number in 0..arguments.gangs {
        apply(Delta::QueueApply(Box::new(cluster::queue(number))));
    }
    for number in 0..arguments.nodes {
        apply(Delta::NodeApply(Box::new(NodeObject {
            name: format!("node-{number:06}"),
            allocatable: vec![("cpu".to_owned(), NODE), ("pods".to_owned(), 110)],
            ..NodeObject::default()
        })));
    }
    let mut random = 1;
    let each = NODE * arguments.nodes as i64 / arguments.running.max(1) as i64;
    for number in 0..arguments.running {
        let limit_s = 3600 + (cluster::next(&mut random) % 86_400) as i64;
        apply(Delta::PodApply(Box::new(PodObject {
            node: Some(format!("node-{:06}", number % arguments.nodes.max(1))),
            phase: PodPhase::Running,
            scheduled_s: Some(NOW_S - 60),
            annotations: vec![(RUN_TIME_LIMIT.to_owned(), format!("{limit_s}s"))],
            ..pod(&format!("runs-{number}"), each)
        })));
    }
    for gang in 0..arguments.gangs {
        let name = format!("gang-{gang}");
        apply(Delta::GroupApply(Box::new(GroupObject {
            namespace: NAMESPACE.to_owned(),
            name: name.clone(),
            uid: name.clone(),
            min_member: i32::try_from(arguments.members).unwrap_or(i32::MAX),
            queue: cluster::queue(gang).name,
            status: GroupStatus {
                phase: GroupPhase::Inqueue,
                ..GroupStatus::default()
            },
            ..GroupObject::default()
        })));
        for member in 0..arguments.members {
            apply(Delta::PodApply(Box::new(PodObject {
                group: Some(name.clone()),
                annotations: vec![(RUN_TIME_LIMIT.to_owned(), "12h".to_owned())],
                ..pod(&format!("{name}-{member}"), NODE)
            })));
        }
    }
}

fn pod(name: &str, cpu_milli: i64) -> PodObject {
    PodObject {
        namespace: NAMESPACE.to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        created_s: 1,
        ours: true,
        request: vec![("cpu".to_owned(), cpu_milli), ("pods".to_owned(), 1)],
        nonzero_cpu_milli: cpu_milli,
        container_count: 1,
        ..PodObject::default()
    }
}
