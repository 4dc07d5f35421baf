//! What is told of a run in the end, in the form users and scripts read it.

use std::collections::BTreeMap;

use pumice_traces::{TraceJob, WHOLE_CARD};
use serde::Serialize;

use super::books::Books;
use super::curve::Curve;
use super::fairness::{due, jain};

/// Most queues that have a curve of their own; all others have one together.
pub const MAX_QUEUE_CURVES: usize = 7;

/// Most jobs that are named for one reason.
pub const MAX_NAMED: usize = 3;

/// Shorter jobs count as so long in slowdowns, so that those of a second do not rule the mean.
const SHORTEST_S: f64 = 10.0;

/// Mean and quantiles of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QuantileLine {
    /// Mean.
    pub mean: f64,
    /// Half are at most this.
    pub median: f64,
    /// Nine of ten are at most this.
    pub p90: f64,
    /// 99 of 100 are at most this.
    pub p99: f64,
    /// The largest.
    pub max: f64,
}

impl QuantileLine {
    /// Of these numbers; zeroes of none.
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
            p99: tenth(at(99)),
            max: tenth(numbers[count - 1]),
        }
    }
}

/// To tenths.
fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// To thousandths.
fn thousandth(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// What became of a job.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// It came before the run ended.
    pub came: bool,
    /// When all of its pods ran first.
    pub first_start_s: Option<i64>,
    /// When it ended.
    pub end_s: Option<i64>,
    /// How often it started over.
    pub restarts: u32,
}

/// Jobs of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueFigures {
    /// Name of the queue.
    pub name: String,
    /// Jobs that came.
    pub jobs: usize,
    /// Jobs that ended.
    pub ended: usize,
    /// Hours of cards that its jobs had, or of cores where the cluster has no cards.
    pub hours: f64,
    /// Percent of what all queues had.
    pub share_percent: f64,
    /// Percent of what was due to it by its weight, from part to part of the time.
    pub of_due_percent: f64,
    /// Seconds that jobs waited for their start.
    pub wait_seconds: QuantileLine,
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
    /// The same of the whole run.
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
    /// Pods that were evicted.
    pub evictions: usize,
    /// Jobs that started over, each as often as it did.
    pub restarts: usize,
    /// Hours of cards, or of cores, whose work was lost by that.
    pub lost_hours: f64,
    /// Queues by name.
    pub queues: Vec<QueueFigures>,
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

/// What figures are made of.
pub struct RunEnd<'a> {
    /// Jobs.
    pub jobs: &'a [TraceJob],
    /// What became of each.
    pub outcomes: &'a [Outcome],
    /// The queue of each, by number in `queues`.
    pub queue_of: &'a [u32],
    /// Names and weights of queues.
    pub queues: &'a [(String, i64)],
    /// Books, up to the end.
    pub books: &'a Books,
    /// Books when the last job had come.
    pub when_last_came: &'a WindowSums,
    /// Seconds of the whole run.
    pub run_s: i64,
}

/// Sums up to the time at which the last job came.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowSums {
    /// Length of that time.
    pub seconds: i64,
    /// Thousandths of cores times seconds.
    pub cpu: i128,
    /// Thousandths of cards times seconds.
    pub cards: i128,
    /// The same of scattered ones.
    pub scattered: i128,
    /// The same of useless ones.
    pub useless: Option<i128>,
}

impl WindowSums {
    /// Now.
    pub fn of(books: &Books, seconds: i64) -> Self {
        Self {
            seconds,
            cpu: books.cpu.total(),
            cards: books.cards.total(),
            scattered: books.scattered.total(),
            useless: books.useless.as_ref().map(Curve::total),
        }
    }
}

fn percent_of(sum: i128, all_milli: i64, seconds: i64) -> f64 {
    let all = i128::from(all_milli) * i128::from(seconds);
    match all {
        0 => 0.0,
        all => tenth(100.0 * sum as f64 / all as f64),
    }
}

/// Sizes by cards in all, or by cores where nobody asks for cards.
const SIZES: [[&str; 7]; 2] = [
    [
        "no card",
        "a share of a card",
        "1 card",
        "2 to 7 cards",
        "8 cards",
        "9 to 63 cards",
        "64 cards and more",
    ],
    [
        "no core",
        "less than a core",
        "1 core",
        "2 to 7 cores",
        "8 cores",
        "9 to 63 cores",
        "64 cores and more",
    ],
];

fn size_of(amount_milli: i64) -> usize {
    match amount_milli {
        ..=0 => 0,
        1..WHOLE_CARD => 1,
        1_000..2_000 => 2,
        2_000..8_000 => 3,
        8_000..9_000 => 4,
        9_000..64_000 => 5,
        _ => 6,
    }
}

impl RunEnd<'_> {
    /// Fills in everything but what the loop counted itself.
    pub fn fill(&self, figures: &mut TraceFigures) {
        let all: Vec<usize> = (0..self.jobs.len())
            .filter(|at| self.outcomes[*at].came)
            .collect();
        figures.jobs = self.jobs.len();
        figures.came = all.len();
        figures.ended = all
            .iter()
            .filter(|at| self.outcomes[**at].end_s.is_some())
            .count();
        figures.restarts = self
            .outcomes
            .iter()
            .map(|outcome| outcome.restarts as usize)
            .sum();
        figures.makespan_seconds = self.run_s;
        figures.wait_seconds = self.waits(&all);
        figures.slowdown = self.slowdowns(&all);
        self.uses(figures);
        self.sizes(&all, figures);
        self.curves(figures);
        self.of_queues(&all, figures);
    }

    fn waits(&self, jobs: &[usize]) -> QuantileLine {
        let waits = jobs.iter().filter_map(|at| {
            let start_s = self.outcomes[*at].first_start_s?;
            Some((start_s - self.jobs[*at].submit_s) as f64)
        });
        QuantileLine::of(waits.collect())
    }

    fn slowdowns(&self, jobs: &[usize]) -> QuantileLine {
        let slowdowns = jobs.iter().filter_map(|at| {
            let whole_s = self.outcomes[*at].end_s? - self.jobs[*at].submit_s;
            let lasts_s = self.jobs[*at].lasts_s? as f64;
            Some((whole_s as f64 / lasts_s.max(SHORTEST_S)).max(1.0))
        });
        QuantileLine::of(slowdowns.collect())
    }

    fn uses(&self, figures: &mut TraceFigures) {
        let (books, window) = (self.books, self.when_last_came);
        let of = |all: i64, sum: i128, whole: &Curve| UseFigures {
            capacity: thousandth(all as f64 / 1000.0),
            used_percent: percent_of(sum, all, window.seconds),
            used_of_run_percent: percent_of(whole.total(), all, self.run_s),
        };
        figures.cpu = of(books.all_cpu_milli, window.cpu, &books.cpu);
        if books.all_cards_milli > 0 {
            let cards = books.all_cards_milli;
            figures.cards = Some(of(cards, window.cards, &books.cards));
            figures.scattered_percent = Some(percent_of(window.scattered, cards, window.seconds));
            let useless = window
                .useless
                .map(|sum| percent_of(sum, cards, window.seconds));
            figures.useless_percent = useless;
        }
    }

    fn sizes(&self, jobs: &[usize], figures: &mut TraceFigures) {
        let has_cards = self.jobs.iter().any(|job| job.cards_milli() > 0);
        let cores = |job: &TraceJob| -> i64 {
            job.roles
                .iter()
                .map(|role| i64::from(role.members) * role.cpu_milli)
                .sum()
        };
        let mut by_size: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in jobs {
            let job = &self.jobs[*at];
            let amount = if has_cards {
                job.cards_milli()
            } else {
                cores(job)
            };
            by_size.entry(size_of(amount)).or_default().push(*at);
        }
        let names = SIZES[usize::from(!has_cards)];
        let line = |(size, jobs): (usize, Vec<usize>)| SizeFigures {
            size: names[size],
            jobs: jobs.len(),
            ended: jobs
                .iter()
                .filter(|at| self.outcomes[**at].end_s.is_some())
                .count(),
            wait_seconds: self.waits(&jobs),
            slowdown: self.slowdowns(&jobs),
        };
        figures.sizes = by_size.into_iter().map(line).collect();
    }

    fn of_queues(&self, jobs: &[usize], figures: &mut TraceFigures) {
        let mut by_queue: Vec<Vec<usize>> = vec![Vec::new(); self.queues.len()];
        jobs.iter()
            .for_each(|at| by_queue[self.queue_of[*at] as usize].push(*at));
        let total = |name: &str| {
            self.books
                .queues
                .get(name)
                .map_or(0, |book| book.has.total())
        };
        let all: i128 = self.queues.iter().map(|(name, _)| total(name)).sum();
        let dues = self.dues();
        let of_queues = self.queues.iter().zip(&by_queue).enumerate();
        for (at, ((name, _), jobs)) in of_queues.filter(|(_, (_, jobs))| !jobs.is_empty()) {
            let had = total(name);
            let (has, due) = dues.iter().fold((0.0, 0.0), |(has, due), part| {
                (has + part[at].0, due + part[at].1)
            });
            figures.queues.push(QueueFigures {
                name: name.clone(),
                jobs: jobs.len(),
                ended: jobs
                    .iter()
                    .filter(|at| self.outcomes[**at].end_s.is_some())
                    .count(),
                hours: tenth(had as f64 / 3_600_000.0),
                share_percent: if all == 0 {
                    0.0
                } else {
                    tenth(100.0 * had as f64 / all as f64)
                },
                of_due_percent: if due > 0.0 {
                    tenth(100.0 * has / due)
                } else {
                    100.0
                },
                wait_seconds: self.waits(jobs),
            });
        }
        figures
            .queues
            .sort_by(|left, right| left.name.cmp(&right.name));
    }

    /// All of what queues share: cards, or cores where there are none.
    fn shared_milli(&self) -> f64 {
        match self.books.all_cards_milli {
            0 => self.books.all_cpu_milli as f64,
            cards => cards as f64,
        }
    }

    /// By part of the time: what each queue has, and what is due to it.
    fn dues(&self) -> Vec<Vec<(f64, f64)>> {
        let means = |of: fn(&super::books::QueueBook) -> &Curve| -> Vec<Vec<f64>> {
            let books = self
                .queues
                .iter()
                .map(|(name, _)| self.books.queues.get(name));
            books
                .map(|book| book.map_or_else(Vec::new, |book| of(book).means()))
                .collect()
        };
        let (has, wants) = (means(|book| &book.has), means(|book| &book.wants));
        let parts = self.books.waiting.means().len();
        let at = |curve: &[f64], part: usize| curve.get(part).copied().unwrap_or(0.0);
        let of_part = |part: usize| {
            let wishes = wants.iter().zip(self.queues);
            let wishes: Vec<(f64, f64)> = wishes
                .map(|(wants, (_, weight))| (at(wants, part), (*weight).max(1) as f64))
                .collect();
            let due = due(self.shared_milli(), &wishes);
            let has = has.iter().map(|has| at(has, part));
            has.zip(due).collect()
        };
        (0..parts).map(of_part).collect()
    }

    fn curves(&self, figures: &mut TraceFigures) {
        let books = self.books;
        let percents = |curve: &Curve, all: f64| -> Vec<f64> {
            curve
                .means()
                .iter()
                .map(|mean| tenth(100.0 * mean / all.max(1.0)))
                .collect()
        };
        let cards = books.all_cards_milli as f64;
        let of_cards = |curve: &Curve| match books.all_cards_milli {
            0 => Vec::new(),
            _ => percents(curve, cards),
        };
        let index: Vec<Option<f64>> = self.dues().iter().map(|parts| jain(parts)).collect();
        let known: Vec<f64> = index.iter().flatten().copied().collect();
        figures.fairness = match known.len() {
            0 => 1.0,
            count => thousandth(known.iter().sum::<f64>() / count as f64),
        };
        figures.curves = TraceCurves {
            part_seconds: books.waiting.width_s(),
            waiting: books.waiting.means().into_iter().map(tenth).collect(),
            running: books.running.means().into_iter().map(tenth).collect(),
            cpu_percent: percents(&books.cpu, books.all_cpu_milli as f64),
            cards_percent: of_cards(&books.cards),
            scattered_percent: of_cards(&books.scattered),
            useless_percent: books.useless.as_ref().map(of_cards).unwrap_or_default(),
            fairness: index
                .into_iter()
                .map(|index| index.map_or(-1.0, thousandth))
                .collect(),
            queues: self.queue_curves(),
        };
    }

    fn queue_curves(&self) -> Vec<QueueCurve> {
        let mut books: Vec<_> = self
            .books
            .queues
            .iter()
            .filter(|(_, book)| book.has.total() > 0)
            .collect();
        books.sort_by_key(|(name, book)| (std::cmp::Reverse(book.has.total()), (*name).clone()));
        let parts = self.books.waiting.means().len();
        let mut others = vec![0.0; parts];
        let mut curves = Vec::new();
        let has_others = books.len() > MAX_QUEUE_CURVES + 1;
        for (at, (name, book)) in books.into_iter().enumerate() {
            let mut percent: Vec<f64> = book.has.means();
            percent.resize(parts, 0.0);
            percent
                .iter_mut()
                .for_each(|mean| *mean *= 100.0 / self.shared_milli().max(1.0));
            if has_others && at >= MAX_QUEUE_CURVES {
                others
                    .iter_mut()
                    .zip(percent)
                    .for_each(|(sum, more)| *sum += more);
                continue;
            }
            curves.push((name.clone(), percent));
        }
        if has_others {
            curves.push(("others".to_owned(), others));
        }
        let curve = |(name, percent): (String, Vec<f64>)| QueueCurve {
            name,
            percent: percent.into_iter().map(tenth).collect(),
        };
        curves.into_iter().map(curve).collect()
    }
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
