//! From books and outcomes to figures.

use std::collections::BTreeMap;

use pumice_traces::{TraceJob, WHOLE_CARD};

use super::books::{QueueBook, TraceBooks};
use super::curve::Curve;
use super::fairness::{due, jain};
use super::figures::{
    QuantileLine, QueueCurve, QueueFigures, SizeFigures, TraceCurves, TraceFigures, TraceOutcome,
    UseFigures, tenth, thousandth,
};

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
    /// The queue of each, by number in `queues`.
    pub queue_of: &'a [u32],
    /// Names and weights of queues.
    pub queues: &'a [(String, i64)],
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
        let total = |at: usize| self.books.queues[at].has.total();
        let all: i128 = (0..self.queues.len()).map(total).sum();
        let dues = self.dues();
        let of_queues = self.queues.iter().zip(&by_queue).enumerate();
        for (at, ((name, _), jobs)) in of_queues.filter(|(_, (_, jobs))| !jobs.is_empty()) {
            let had = total(at);
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
        let means = |of: fn(&QueueBook) -> &Curve| -> Vec<Vec<f64>> {
            let books = self.books.queues.iter();
            books.map(|book| of(book).means()).collect()
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
        let names = self.queues.iter().map(|(name, _)| name);
        let all = names.zip(&self.books.queues);
        let mut books: Vec<(&String, &QueueBook)> =
            all.filter(|(_, book)| book.has.total() > 0).collect();
        books.sort_by_key(|(name, book)| (std::cmp::Reverse(book.has.total()), *name));
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
