//! What is told of a run in the end, in the form users and scripts read it.

use serde::Serialize;

/// Most jobs that are named for one reason.
pub const MAX_NAMED: usize = 3;

/// Mean and quantiles of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QuantileLine {
    /// Sum by count.
    pub mean: f64,
    /// Half are at most this.
    pub median: f64,
    /// Nine of ten are at most this.
    pub p90: f64,
    /// 19 of 20 are at most this.
    pub p95: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl QuantileLine {
    /// Mean and quantiles of these numbers; zeroes of none.
    pub fn of(mut numbers: Vec<f64>) -> Self {
        if numbers.is_empty() {
            return Self::default();
        }
        numbers.sort_by(f64::total_cmp);
        let count = numbers.len();
        // The first number that so many of all do not exceed.
        let at = |percent: usize| numbers[(count * percent).div_ceil(100).max(1) - 1];
        Self {
            mean: tenth(numbers.iter().sum::<f64>() / count as f64),
            median: tenth(at(50)),
            p90: tenth(at(90)),
            p95: tenth(at(95)),
            p99: tenth(at(99)),
            max: tenth(numbers[count - 1]),
        }
    }
}

/// To tenths.
pub(super) fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// To thousandths.
pub(super) fn thousandth(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// What became of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceOutcome {
    /// It came before the run ended.
    pub came: bool,
    /// When all of its pods ran first.
    pub first_start_s: Option<i64>,
    /// When it ended.
    pub end_s: Option<i64>,
    /// How often it started over.
    pub restarts: u32,
}

/// Jobs of a queue, or of a user.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountFigures {
    /// Name of the queue, or of the user.
    pub name: String,
    /// Jobs that came.
    pub jobs: usize,
    /// Jobs that ended.
    pub ended: usize,
    /// Hours of cards that its jobs had, or of cores where the cluster has no cards.
    pub hours: f64,
    /// Percent of what all had.
    pub share_percent: f64,
    /// Percent of what was due by its weight, from part to part of the time; users have one weight.
    pub of_due_percent: f64,
    /// Seconds that jobs waited for their start.
    pub wait_seconds: QuantileLine,
    /// From coming to the end, divided by how long they run.
    pub slowdown: QuantileLine,
}

/// How users fared beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsersFigures {
    /// Users whose jobs came.
    pub users: usize,
    /// The mean slowdown of each user's jobs.
    pub slowdown: QuantileLine,
    /// Jain's index of these means: 1 if all fared alike.
    pub slowdown_fairness: f64,
    /// Mean of Jain's index over what users have of what is due to them, all with one weight.
    pub fairness: f64,
    /// Each by name.
    pub all: Vec<AccountFigures>,
}

/// The largest tenth of all jobs: those that ask for most cards, or cores where the cluster has no cards; of those that ask
/// for as much, those that are allowed to run for longest.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LargestFigures {
    /// How many.
    pub jobs: usize,
    /// Those that ended.
    pub ended: usize,
    /// What the smallest of them asks.
    pub asks_from: f64,
    /// Seconds that they waited for their start.
    pub wait_seconds: QuantileLine,
    /// From coming to the end, divided by how long they run.
    pub slowdown: QuantileLine,
}

/// How true was what jobs were told of their start: the first promise of each.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromiseFigures {
    /// Jobs that waited for a second at least, and started.
    pub waited: usize,
    /// Those of them that were promised a start.
    pub promised: usize,
    /// How many of those that waited that is, in percent.
    pub promised_percent: f64,
    /// Those of them that started later than was promised first.
    pub later: usize,
    /// How far the promise was from the true start, in percent of the wait.
    pub error_percent: QuantileLine,
}

/// Jobs of a size.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SizeFigures {
    /// In words.
    pub size: &'static str,
    /// Jobs that came.
    pub jobs: usize,
    /// Jobs that ended.
    pub ended: usize,
    /// Seconds that jobs waited for their start.
    pub wait_seconds: QuantileLine,
    /// From coming to the end, divided by how long they run.
    pub slowdown: QuantileLine,
}

/// Jobs that never started, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NeverStarted {
    /// How many.
    pub jobs: usize,
    /// The first ones, by their names in the trace.
    pub first: Vec<String>,
    /// Why, in the words of the scheduler.
    pub reason: String,
}

/// Use of a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UseFigures {
    /// How much there is: cards, or cores.
    pub capacity: f64,
    /// Percent in use while jobs came, from the first to the last.
    pub used_percent: f64,
    /// Percent in use from the first job to the last event.
    pub used_of_run_percent: f64,
}

/// Curves over time, one number a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceCurves {
    /// Length of a part in seconds.
    pub part_seconds: i64,
    /// Jobs that wait.
    pub waiting: Vec<f64>,
    /// Jobs that run.
    pub running: Vec<f64>,
    /// Percent of all cores in use.
    pub cpu_percent: Vec<f64>,
    /// Percent of all cards in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards_percent: Vec<f64>,
    /// Percent of all cards that are free on nodes of which others are in use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scattered_percent: Vec<f64>,
    /// Percent of all cards that are free and of use to no task, where plugin `fragmentation` keeps a mix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub useless_percent: Vec<f64>,
    /// Jain's index over what queues have of what is due to them; -1 while nobody wants anything.
    pub fairness: Vec<f64>,
    /// Percent of all cards, or cores, that queues have; those with most first, the rest as `others`.
    pub queues: Vec<QueueCurve>,
}

/// The share of a queue over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueCurve {
    /// Name of the queue.
    pub name: String,
    /// Percent of the cluster.
    pub percent: Vec<f64>,
}

/// A trace under one configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceFigures {
    /// Where the configuration came from.
    pub configuration: String,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// By which resource they offer cards.
    pub card_resource: String,
    /// Jobs of the trace.
    pub jobs: usize,
    /// Jobs that came before the run ended.
    pub came: usize,
    /// Jobs that ended.
    pub ended: usize,
    /// Jobs that run in the end.
    pub running: usize,
    /// Jobs that wait in the end, for their start or to start over.
    pub waiting: usize,
    /// Seconds from the first job to the last event.
    pub makespan_seconds: i64,
    /// Seconds that jobs waited for their start; those that never started do not count.
    pub wait_seconds: QuantileLine,
    /// From coming to the end, divided by how long a job runs.
    pub slowdown: QuantileLine,
    /// The largest tenth of the jobs that came.
    pub largest_tenth: LargestFigures,
    /// When jobs were told that they start; absent where nobody was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promises: Option<PromiseFigures>,
    /// Cores.
    pub cpu: UseFigures,
    /// Cards; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cards: Option<UseFigures>,
    /// Percent of all cards that were free on nodes of which others were in use, while jobs came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scattered_percent: Option<f64>,
    /// Percent of all cards that were free and of use to no task of the mix, while jobs came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub useless_percent: Option<f64>,
    /// Mean of Jain's index over the time in which somebody wanted something.
    pub fairness: f64,
    /// Users; absent where the trace tells none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub users: Option<UsersFigures>,
    /// Jobs that were ended since they ran for longer than they may: plugin `runtimelimit`.
    pub ended_by_limit: usize,
    /// Pods that were evicted.
    pub evictions: usize,
    /// Jobs that started over, each as often as it did.
    pub restarts: usize,
    /// Hours of cards, or of cores, whose work was lost by that.
    pub lost_hours: f64,
    /// Queues by name.
    pub queues: Vec<AccountFigures>,
    /// Sizes, smallest first.
    pub sizes: Vec<SizeFigures>,
    /// Jobs that never started, by reason.
    pub never_started: Vec<NeverStarted>,
    /// What counts in another way than the trace has it.
    pub remarks: Vec<String>,
    /// Cycles of the scheduler.
    pub cycles: u64,
    /// Curves over time.
    pub curves: TraceCurves,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_numbers_that_occur() {
        let line = QuantileLine::of((1..=100).map(f64::from).collect());
        assert_eq!(
            (line.mean, line.median, line.p90, line.p99, line.max),
            (50.5, 50.0, 90.0, 99.0, 100.0)
        );
        let one = QuantileLine::of(vec![7.0]);
        assert_eq!((one.median, one.p99), (7.0, 7.0));
        assert_eq!(QuantileLine::of(Vec::new()), QuantileLine::default());
    }
}
