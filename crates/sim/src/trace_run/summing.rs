//! From books and outcomes to figures.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use pumice_traces::{TraceJob, WHOLE_CARD};

use super::books::{AccountBook, JobOwner, TraceBooks};
use super::curve::Curve;
use super::fairness::jain;
use super::figures::{
    LargestFigures, QuantileLine, QueueCurve, SizeFigures, TraceCurves, TraceFigures, TraceOutcome,
    UseFigures, tenth, thousandth,
};
use super::shares::mean_index;

/// Most queues that have a curve of their own; all others have one together.
pub const MAX_QUEUE_CURVES: usize = 7;

/// Shorter jobs count as so long in slowdowns, so that those of a second do not rule the mean.
const SHORTEST_S: f64 = 10.0;

/// What figures are made of.
pub struct RunEnd<'a> {
    /// The whole trace.
    pub jobs: &'a [TraceJob],
    /// What became of each.
    pub outcomes: &'a [TraceOutcome],
    /// Whose each is, by number in `queues` and `users`.
    pub owners: &'a [JobOwner],
    /// Names and weights of queues.
    pub queues: &'a [(String, i64)],
    /// Names of users.
    pub users: &'a [String],
    /// TraceBooks, up to the end.
    pub books: &'a TraceBooks,
    /// TraceBooks when the last job had come.
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
    /// Scattered ones, likewise.
    pub scattered: i128,
    /// Useless ones, likewise.
    pub useless: Option<i128>,
}

impl WindowSums {
    /// Now.
    pub fn of(books: &TraceBooks, seconds: i64) -> Self {
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
        figures.ended = self.count_ended(&all);
        figures.restarts = self
            .outcomes
            .iter()
            .map(|outcome| outcome.restarts as usize)
            .sum();
        figures.makespan_seconds = self.run_s;
        figures.wait_seconds = self.waits(&all);
        figures.slowdown = self.slowdowns(&all);
        figures.largest_tenth = self.largest_tenth(&all);
        self.uses(figures);
        self.sizes(&all, figures);
        let dues = self.dues_of_queues();
        self.curves(&dues, figures);
        figures.queues = self.of_queues(&all, &dues);
        figures.users = self.of_users(&all);
    }

    pub(super) fn waits(&self, jobs: &[usize]) -> QuantileLine {
        let waits = jobs.iter().filter_map(|at| {
            let start_s = self.outcomes[*at].first_start_s?;
            Some((start_s - self.jobs[*at].submit_s) as f64)
        });
        QuantileLine::of(waits.collect())
    }

    /// The bounded slowdown of a job that has ended.
    pub(super) fn slowdown(&self, at: usize) -> Option<f64> {
        let whole_s = self.outcomes[at].end_s? - self.jobs[at].submit_s;
        let lasts_s = self.jobs[at].lasts_s? as f64;
        Some((whole_s as f64 / lasts_s.max(SHORTEST_S)).max(1.0))
    }

    pub(super) fn slowdowns(&self, jobs: &[usize]) -> QuantileLine {
        QuantileLine::of(jobs.iter().filter_map(|at| self.slowdown(*at)).collect())
    }

    pub(super) fn count_ended(&self, jobs: &[usize]) -> usize {
        let ended = jobs.iter().filter(|at| self.outcomes[**at].end_s.is_some());
        ended.count()
    }

    /// What a job asks of cards, or of cores where the cluster has none; in thousandths.
    fn asks_milli(&self, at: usize) -> i64 {
        let job = &self.jobs[at];
        match self.books.all_cards_milli > 0 {
            true => job.cards_milli(),
            false => job.cpu_milli(),
        }
    }

    fn largest_tenth(&self, jobs: &[usize]) -> LargestFigures {
        let mut largest = jobs.to_vec();
        largest.sort_by_cached_key(|at| {
            let job = &self.jobs[*at];
            let runs_s = job.limit_s.or(job.lasts_s).unwrap_or(i64::MAX);
            Reverse((self.asks_milli(*at), runs_s))
        });
        largest.truncate(jobs.len().div_ceil(10));
        let smallest = largest.last().map_or(0, |at| self.asks_milli(*at));
        LargestFigures {
            jobs: largest.len(),
            ended: self.count_ended(&largest),
            asks_from: thousandth(smallest as f64 / 1000.0),
            wait_seconds: self.waits(&largest),
            slowdown: self.slowdowns(&largest),
        }
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
        let mut by_size: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for at in jobs {
            let job = &self.jobs[*at];
            let amount = if has_cards {
                job.cards_milli()
            } else {
                job.cpu_milli()
            };
            by_size.entry(size_of(amount)).or_default().push(*at);
        }
        let names = SIZES[usize::from(!has_cards)];
        let line = |(size, jobs): (usize, Vec<usize>)| SizeFigures {
            size: names[size],
            jobs: jobs.len(),
            ended: self.count_ended(&jobs),
            wait_seconds: self.waits(&jobs),
            slowdown: self.slowdowns(&jobs),
        };
        figures.sizes = by_size.into_iter().map(line).collect();
    }

    fn curves(&self, dues: &[Vec<(f64, f64)>], figures: &mut TraceFigures) {
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
        let index: Vec<Option<f64>> = dues.iter().map(|parts| jain(parts)).collect();
        figures.fairness = mean_index(&index);
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
        let names = self.queues.iter().map(|(name, _)| name);
        let all = names.zip(&self.books.queues);
        let mut books: Vec<(&String, &AccountBook)> =
            all.filter(|(_, book)| book.has.total() > 0).collect();
        books.sort_by_key(|(name, book)| (Reverse(book.has.total()), *name));
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
