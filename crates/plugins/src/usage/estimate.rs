//! How much of a node is used, with what its newest pods will use (spec/02 §21.2).

use pumice_conf::{Arg, ArgMap, Arguments, FormedText, GoDuration, TextForm};
use pumice_model::resource::{CPU, MEMORY};
use pumice_model::{NodeIx, State, Task, TaskIx, TaskStatus};
use pumice_units::duration::seconds_up;

/// All of a node, in the unit of its usage.
const WHOLE: f64 = 100_000.0;
/// How often nodes are measured, where `metrics.interval` does not say.
const INTERVAL_NS: i64 = 30 * NANOS_PER_S;
const NANOS_PER_S: i64 = 1_000_000_000;
const NO_AMOUNT: &str = "is no amount";

/// How often nodes are measured, of the map `metrics`.
pub const INTERVAL: Arg<GoDuration> = Arg::duration("metrics.interval", "");

const REQUEST_RATIO: Arg<f64> = Arg::float(
    "request_ratio",
    0.7,
    "How much of its request a pod that is not measured yet is taken to use.",
)
.within_or_default(0.0, 1.0);
const BURST_RATIO: Arg<f64> = Arg::float(
    "burst_ratio",
    0.0,
    "How much it is taken to use of what its limit is above its request.",
)
.within_or_default(0.0, 1.0);
const RISK_THRESHOLD: Arg<f64> = Arg::float(
    "risk_threshold",
    0.6,
    "From this load of the node on, `risk_factor` counts.",
)
.within_or_default(0.0, 1.0);
const RISK_FACTOR: Arg<f64> = Arg::float(
    "risk_factor",
    1.2,
    "By how much more a pod is taken to use on a loaded node.",
)
.min_or_default(1.0);
const BEST_EFFORT_CPU: Arg<FormedText> = Arg::formed(
    "be_cpu",
    TextForm {
        phrase: "an amount of cpu",
        example: "250m",
        fault: |text| cpu_milli(text).is_none().then(|| NO_AMOUNT.to_owned()),
    },
    "250m",
    "What a pod without requests is taken to use; a number without a unit is milli-cores.",
);
const BEST_EFFORT_MEMORY: Arg<FormedText> = Arg::formed(
    "be_mem",
    TextForm {
        phrase: "an amount of memory",
        example: "200Mi",
        fault: |text| memory_bytes(text).is_none().then(|| NO_AMOUNT.to_owned()),
    },
    "200Mi",
    "Likewise of memory; a number without a unit is MiB.",
);
/// How much pods that are not measured yet are taken to use.
pub const ESTIMATOR: Arg<ArgMap> = Arg::map(
    "estimator",
    &[
        REQUEST_RATIO.spec(),
        BURST_RATIO.spec(),
        RISK_THRESHOLD.spec(),
        RISK_FACTOR.spec(),
        BEST_EFFORT_CPU.spec(),
        BEST_EFFORT_MEMORY.spec(),
    ],
    "How much pods that are not measured yet are taken to use.",
);

/// Milli-cores.
fn cpu_milli(text: &str) -> Option<i64> {
    let digits = text.trim();
    digits.strip_suffix('m').unwrap_or(digits).parse().ok()
}

/// Bytes that a quantity of memory stands for.
fn memory_bytes(text: &str) -> Option<i64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit: i64 = match unit {
        "" | "Mi" => 1 << 20,
        "Ki" => 1 << 10,
        "Gi" => 1 << 30,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

/// Amounts of cpu in milli-cores, and of memory in bytes.
type CpuAndMemory = [i64; 2];

/// Estimates the load of nodes.
pub struct LoadEstimator {
    weights: [f64; 2],
    request_ratio: f64,
    burst_ratio: f64,
    risk_threshold: f64,
    risk_factor: f64,
    best_effort: CpuAndMemory,
    interval_s: i64,
}

impl LoadEstimator {
    /// The estimator with the arguments of the plugin, and the weights of cpu and memory.
    pub fn new(arguments: &Arguments, cpu: i64, memory: i64) -> Self {
        let interval_ns = INTERVAL.read(arguments).filter(|nanos| *nanos > 0);
        let interval_ns = interval_ns.unwrap_or(INTERVAL_NS);
        let own = ESTIMATOR.read(arguments);
        Self {
            weights: [cpu as f64, memory as f64],
            request_ratio: REQUEST_RATIO.read(&own),
            burst_ratio: BURST_RATIO.read(&own),
            risk_threshold: RISK_THRESHOLD.read(&own),
            risk_factor: RISK_FACTOR.read(&own),
            best_effort: [
                cpu_milli(BEST_EFFORT_CPU.read(&own)).unwrap_or(0),
                memory_bytes(BEST_EFFORT_MEMORY.read(&own)).unwrap_or(0),
            ],
            interval_s: seconds_up(interval_ns),
        }
    }

    /// Whether cpu or memory counts at all.
    pub fn weighs(&self) -> bool {
        self.weights.iter().any(|weight| *weight != 0.0)
    }

    /// The load of a node, 0 … 1; none where nothing is measured.
    pub fn load(&self, state: &State, node: NodeIx) -> Option<f64> {
        let nodes = state.nodes();
        let usage = nodes.usage(node)?;
        let measured = [usage.cpu as f64 / WHOLE, usage.memory as f64 / WHOLE];
        let has = [CPU, MEMORY].map(|resource| nodes.total.get(resource, node));
        let unseen = |ix: &TaskIx| self.is_unseen(state.task(*ix), usage.at_s);
        let mut pods: Vec<TaskIx> = nodes.tasks(node).to_vec();
        pods.retain(unseen);
        pods.sort_by(|left, right| state.task(*left).uid.cmp(&state.task(*right).uid));
        let mut unmeasured: CpuAndMemory = [0; 2];
        for pod in pods {
            let before = self.weighted(measured, unmeasured, has);
            let risk = match before >= self.risk_threshold {
                true => self.risk_factor,
                false => 1.0,
            };
            let more = self.estimate(state, pod, risk);
            for (sum, more) in unmeasured.iter_mut().zip(more) {
                *sum = sum.saturating_add(more);
            }
        }
        Some(self.weighted(measured, unmeasured, has))
    }

    /// The measurement at a time does not show the pod.
    fn is_unseen(&self, task: &Task, measured_s: i64) -> bool {
        match task.status {
            TaskStatus::Allocated | TaskStatus::Binding | TaskStatus::Bound => true,
            TaskStatus::Running => {
                let since_s = task.scheduled_s;
                since_s.is_none_or(|since_s| since_s > measured_s.saturating_sub(self.interval_s))
            }
            _ => false,
        }
    }

    fn weighted(&self, measured: [f64; 2], unmeasured: CpuAndMemory, has: CpuAndMemory) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for at in 0..2 {
            let estimated = match has[at] {
                has if has > 0 => unmeasured[at] as f64 / has as f64,
                _ => 0.0,
            };
            sum += (measured[at] + estimated).clamp(0.0, 1.0) * self.weights[at];
            weights += self.weights[at];
        }
        match weights {
            0.0 => 0.0,
            weights => sum / weights,
        }
    }

    /// What a pod will use, rounded.
    fn estimate(&self, state: &State, pod: TaskIx, risk: f64) -> CpuAndMemory {
        if state.task(pod).best_effort {
            return self
                .best_effort
                .map(|amount| (amount as f64 * risk).round() as i64);
        }
        let shape = state.shape(pod);
        let burst = [shape.burst_cpu_milli, shape.burst_memory_bytes];
        let mut estimates = [0; 2];
        for ((estimate, resource), burst) in estimates.iter_mut().zip([CPU, MEMORY]).zip(burst) {
            let request = shape.request.get(resource);
            let most = request.saturating_add(burst);
            let used = request as f64 * self.request_ratio + burst as f64 * self.burst_ratio;
            *estimate = ((used * risk).round() as i64).clamp(0, most.max(0));
        }
        estimates
    }
}
