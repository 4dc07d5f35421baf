//! What a recording costs, how large it is, and how fast it is decided once more: pods that come, run and end in
//! virtual time.

use std::cell::Cell;
use std::time::Duration;

use clap::Args;
use pumice_conf::DEFAULT_CONF;
use pumice_decider::{Clock, DeciderOptions, Effect};
use pumice_engine::{REGISTRY, Unobserved};
use pumice_model::Delta;
use pumice_model::object::{PodObject, PodPhase, QueueObject};
use pumice_model::write::{Outcome, Write};
use pumice_record::{RecordedDecider, Replay, ReplayEvent, TapeBlocks, TapeReader};
use serde::Serialize;

use super::arguments::{Output, PlacementArguments};
use super::cluster::{self, MIB, request};
use super::placement::config;

/// Bytes of entries that make a block, as in the daemon.
const BLOCK_BYTES: usize = 256 << 10;

/// How long a pod runs, in seconds.
const RUNS_S: usize = 30;

/// Arguments of `pumice bench record`.
#[derive(Args, Clone)]
pub struct RecordArguments {
    /// Pods that come, evenly
    #[arg(long, default_value_t = 60_000)]
    pub pods: usize,
    /// Seconds in which they come
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub seconds: u64,
    #[command(flatten)]
    pub cluster: PlacementArguments,
}

/// Result of one run.
#[derive(Serialize)]
struct RecordFigures {
    nodes: usize,
    bound: usize,
    virtual_seconds: u64,
    /// Processor time of deciding, all that is told it included, in seconds; without a recording, and with one.
    decides_s: f64,
    decides_recorded_s: f64,
    /// Making blocks, on another thread in the daemon.
    blocks_s: f64,
    /// Processor time of the recording, of a processor, in percent of virtual time.
    share_percent: f64,
    bytes: usize,
    bytes_per_bound: f64,
    /// Processor time of the replay, and how often it goes into virtual time.
    replay_s: f64,
    replay_times: f64,
    /// Steps that were decided otherwise.
    differences: usize,
}

/// A clock that is set.
#[derive(Default)]
struct SetClock(Cell<Duration>);

impl Clock for SetClock {
    fn now(&self) -> Duration {
        self.0.get()
    }
}

/// What one run in virtual time took and left.
#[derive(Default)]
struct VirtualRun {
    bound: usize,
    decides: Duration,
    blocks: Duration,
    bytes: Vec<u8>,
}

/// What this thread has had of a processor: on a machine that others use, too, time that passes says little.
pub fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// Runs the benchmark.
pub fn run(arguments: &RecordArguments) -> anyhow::Result<()> {
    let config = config(&arguments.cluster)?;
    let plain = virtual_run(arguments, &config, false);
    let recorded = virtual_run(arguments, &config, true);
    let start = processor_time();
    let differences = replay(&recorded.bytes, &config);
    let replay_s = (processor_time() - start).as_secs_f64();
    let seconds = arguments.seconds + RUNS_S as u64;
    let cost = recorded.decides.saturating_sub(plain.decides) + recorded.blocks;
    let figures = RecordFigures {
        nodes: arguments.cluster.nodes,
        bound: recorded.bound,
        virtual_seconds: seconds,
        decides_s: plain.decides.as_secs_f64(),
        decides_recorded_s: recorded.decides.as_secs_f64(),
        blocks_s: recorded.blocks.as_secs_f64(),
        share_percent: cost.as_secs_f64() * 100.0 / arguments.seconds as f64,
        bytes: recorded.bytes.len(),
        bytes_per_bound: recorded.bytes.len() as f64 / recorded.bound.max(1) as f64,
        replay_s,
        replay_times: seconds as f64 / replay_s,
        differences,
    };
    match arguments.cluster.output {
        Output::Json => println!("{}", serde_json::to_string_pretty(&figures)?),
        Output::Table => print(&figures),
    }
    Ok(())
}

fn print(figures: &RecordFigures) {
    println!(
        "{} pods bound on {} nodes in {} s of virtual time",
        figures.bound, figures.nodes, figures.virtual_seconds
    );
    println!(
        "decided in {:.2} s, recorded in {:.2} s, blocks {:.2} s: {:.2} % of a processor",
        figures.decides_s, figures.decides_recorded_s, figures.blocks_s, figures.share_percent
    );
    println!(
        "{} bytes, {:.0} a bound pod",
        figures.bytes, figures.bytes_per_bound
    );
    println!(
        "replayed in {:.2} s, {:.0} times virtual time, {} differences",
        figures.replay_s, figures.replay_times, figures.differences
    );
}

fn options() -> DeciderOptions {
    DeciderOptions {
        gang_deadline: Duration::from_secs(300),
        job_work_limit: Some(50_000_000),
        ..DeciderOptions::unlimited()
    }
}

fn pod(number: usize) -> PodObject {
    let mut pod = request(100, 128 * MIB);
    pod.name = format!("train-{number:06}-worker-0");
    let random = cluster::next(&mut (number as u64));
    let [a, b, c, d, e, f, g, h] = random.to_be_bytes();
    pod.uid =
        format!("{a:02x}{b:02x}{c:02x}{d:02x}-{e:02x}{f:02x}-4{g:02x}0-9{h:02x}0-{number:012x}");
    pod
}

fn virtual_run(
    arguments: &RecordArguments,
    config: &pumice_conf::Config,
    is_recorded: bool,
) -> VirtualRun {
    let clock = SetClock::default();
    clock.0.set(Duration::from_secs(1_800_000_000));
    let (mut decider, start) = RecordedDecider::new(options(), &clock);
    let mut run = VirtualRun::default();
    let mut blocks = TapeBlocks::new("pumice bench", "bench");
    if is_recorded {
        decider.record(true);
        blocks.begin(start, &mut |block| run.bytes.extend_from_slice(block));
    }
    decider.configure(config, Some(DEFAULT_CONF));
    tell_cluster(&mut decider, arguments);
    // Ten rounds a second, as bundles of changes come.
    let rounds = (arguments.seconds as usize + RUNS_S) * 10;
    let arrivals = arguments.seconds as usize * 10;
    let mut tape = Vec::new();
    let mut running: Vec<(usize, PodObject)> = Vec::new();
    for round in 0..rounds {
        clock.0.set(clock.now() + Duration::from_micros(100_007));
        let due = |round: usize| (arguments.pods * round.min(arrivals)) / arrivals;
        let mut deltas: Vec<Delta> = (due(round)..due(round + 1))
            .map(|number| Delta::PodApply(Box::new(pod(number))))
            .collect();
        let ended = running.partition_point(|(since, _)| since + RUNS_S * 10 <= round);
        for (_, mut pod) in running.drain(..ended) {
            let uid = pod.uid.clone();
            pod.phase = PodPhase::Succeeded;
            deltas.push(Delta::PodApply(Box::new(pod)));
            deltas.push(Delta::PodDelete(uid));
        }
        // Nothing has happened, and nothing is due before the second is over.
        if deltas.is_empty() && !round.is_multiple_of(10) && round + 1 < rounds {
            continue;
        }
        let begun = processor_time();
        if !deltas.is_empty() {
            decider.apply(deltas);
        }
        decider.step(&clock, &mut Unobserved);
        let effects = decider.take_effects();
        run.decides += processor_time().saturating_sub(begun);
        let (landed, outcomes) = land(effects, round, &mut running);
        run.bound += outcomes.len();
        let begun = processor_time();
        for outcome in outcomes {
            decider.on_outcome(outcome, &clock);
        }
        if !landed.is_empty() {
            decider.apply(landed);
        }
        tape.extend(decider.take_tape());
        run.decides += processor_time().saturating_sub(begun);
        if tape.len() > BLOCK_BYTES || round + 1 == rounds {
            let begun = processor_time();
            run.bytes.extend(blocks.block(&tape));
            run.blocks += processor_time().saturating_sub(begun);
            tape.clear();
        }
    }
    run
}

/// Nodes and queues, and that all is known and may be decided.
fn tell_cluster(decider: &mut RecordedDecider, arguments: &RecordArguments) {
    let mut objects = Vec::new();
    let cluster = PlacementArguments {
        jobs: 0,
        ..arguments.cluster.clone()
    };
    cluster::build(&cluster, |delta| objects.push(delta));
    for name in ["root", "default"] {
        let queue = QueueObject {
            name: name.to_owned(),
            ..cluster::queue(0)
        };
        objects.push(Delta::QueueApply(Box::new(queue)));
    }
    decider.apply(objects);
    decider.set_synced();
    decider.set_leader(true);
}

/// What the cluster tells of Bindings: they come true at once.
fn land(
    effects: Vec<Effect>,
    round: usize,
    running: &mut Vec<(usize, PodObject)>,
) -> (Vec<Delta>, Vec<Outcome>) {
    let (mut landed, mut outcomes) = (Vec::new(), Vec::new());
    for effect in effects {
        if let Effect::Write(Write::Bind(bind)) = effect {
            let number = usize::from_str_radix(&bind.pod.uid[24..], 16).unwrap_or(0);
            let mut pod = pod(number);
            pod.node = Some(bind.node.clone());
            landed.push(Delta::PodApply(Box::new(pod.clone())));
            pod.phase = PodPhase::Running;
            landed.push(Delta::PodApply(Box::new(pod.clone())));
            running.push((round, pod));
            outcomes.push(Outcome::Bound {
                pod: bind.pod,
                node: bind.node,
                claims: Vec::new(),
            });
        }
    }
    (landed, outcomes)
}

/// How many steps were decided otherwise.
fn replay(bytes: &[u8], config: &pumice_conf::Config) -> usize {
    let is_default = pumice_conf::parse(DEFAULT_CONF, &REGISTRY).config.as_ref() == Some(config);
    let mut replay = Replay::new((!is_default).then(|| config.clone()));
    let mut differences = 0;
    for piece in TapeReader::new(bytes) {
        match replay.take_piece(piece) {
            Ok(Some(ReplayEvent::Stepped(step))) => differences += usize::from(!step.is_same()),
            Ok(Some(ReplayEvent::ToldOtherwise { .. } | ReplayEvent::Waits { .. })) | Err(_) => {
                differences += 1;
            }
            Ok(_) => {}
        }
    }
    differences
}
