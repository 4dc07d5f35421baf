//! What queues and users had of what was due to them, and how their jobs fared.

use super::books::{AccountBook, JobOwner};
use super::curve::Curve;
use super::fairness::{due, jain};
use super::figures::{AccountFigures, QuantileLine, UsersFigures, tenth, thousandth};
use super::summing::RunEnd;

/// By part of the time: what each has, and what is due to it.
type Dues = Vec<Vec<(f64, f64)>>;

/// Mean of Jain's index over the parts of which one is known.
pub(super) fn mean_index(index: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = index.iter().flatten().copied().collect();
    match known.len() {
        0 => 1.0,
        count => thousandth(known.iter().sum::<f64>() / count as f64),
    }
}

impl RunEnd<'_> {
    /// All of what is shared: cards, or cores where there are none.
    pub(super) fn shared_milli(&self) -> f64 {
        match self.books.all_cards_milli {
            0 => self.books.all_cpu_milli as f64,
            cards => cards as f64,
        }
    }

    pub(super) fn dues_of_queues(&self) -> Dues {
        let weights = self.queues.iter().map(|(_, weight)| *weight);
        self.dues(&self.books.queues, &weights.collect::<Vec<i64>>())
    }

    fn dues(&self, books: &[AccountBook], weights: &[i64]) -> Dues {
        let means = |of: fn(&AccountBook) -> &Curve| -> Vec<Vec<f64>> {
            books.iter().map(|book| of(book).means()).collect()
        };
        let (has, wants) = (means(|book| &book.has), means(|book| &book.wants));
        let parts = self.books.waiting.means().len();
        let at = |curve: &[f64], part: usize| curve.get(part).copied().unwrap_or(0.0);
        let of_part = |part: usize| {
            let wishes = wants.iter().zip(weights);
            let wishes: Vec<(f64, f64)> = wishes
                .map(|(wants, weight)| (at(wants, part), (*weight).max(1) as f64))
                .collect();
            let due = due(self.shared_milli(), &wishes);
            let has = has.iter().map(|has| at(has, part));
            has.zip(due).collect()
        };
        (0..parts).map(of_part).collect()
    }

    pub(super) fn of_queues(&self, jobs: &[usize], dues: &Dues) -> Vec<AccountFigures> {
        let names: Vec<&str> = self.queues.iter().map(|(name, _)| name.as_str()).collect();
        let jobs = self.by_account(jobs, names.len(), |owner| Some(owner.queue));
        self.accounts(&names, &self.books.queues, &jobs, dues)
    }

    pub(super) fn of_users(&self, jobs: &[usize]) -> Option<UsersFigures> {
        let names: Vec<&str> = self.users.iter().map(String::as_str).collect();
        let jobs = self.by_account(jobs, names.len(), |owner| owner.user);
        if jobs.iter().all(Vec::is_empty) {
            return None;
        }
        let dues = self.dues(&self.books.users, &vec![1; names.len()]);
        let means: Vec<f64> = jobs
            .iter()
            .filter_map(|jobs| self.mean_slowdown(jobs))
            .collect();
        let alike: Vec<(f64, f64)> = means.iter().map(|mean| (*mean, 1.0)).collect();
        let index: Vec<Option<f64>> = dues.iter().map(|parts| jain(parts)).collect();
        Some(UsersFigures {
            users: jobs.iter().filter(|jobs| !jobs.is_empty()).count(),
            slowdown: QuantileLine::of(means),
            slowdown_fairness: thousandth(jain(&alike).unwrap_or(1.0)),
            fairness: mean_index(&index),
            all: self.accounts(&names, &self.books.users, &jobs, &dues),
        })
    }

    fn mean_slowdown(&self, jobs: &[usize]) -> Option<f64> {
        let all: Vec<f64> = jobs.iter().filter_map(|at| self.slowdown(*at)).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
    }

    /// Jobs by the account that they are of.
    fn by_account(
        &self,
        jobs: &[usize],
        accounts: usize,
        of: fn(JobOwner) -> Option<u32>,
    ) -> Vec<Vec<usize>> {
        let mut by_account: Vec<Vec<usize>> = vec![Vec::new(); accounts];
        for at in jobs {
            let account = of(self.owners[*at]).map(|account| account as usize);
            if let Some(jobs) = account.and_then(|account| by_account.get_mut(account)) {
                jobs.push(*at);
            }
        }
        by_account
    }

    /// Those that have jobs, by name.
    fn accounts(
        &self,
        names: &[&str],
        books: &[AccountBook],
        jobs: &[Vec<usize>],
        dues: &Dues,
    ) -> Vec<AccountFigures> {
        let all: i128 = books.iter().map(|book| book.has.total()).sum();
        let mut lines = Vec::new();
        let accounts = names.iter().zip(books).zip(jobs).enumerate();
        for (at, ((name, book), jobs)) in accounts.filter(|(_, (_, jobs))| !jobs.is_empty()) {
            let had = book.has.total();
            let (has, due) = dues.iter().fold((0.0, 0.0), |(has, due), part| {
                (has + part[at].0, due + part[at].1)
            });
            lines.push(AccountFigures {
                name: (*name).to_owned(),
                jobs: jobs.len(),
                ended: self.count_ended(jobs),
                hours: tenth(had as f64 / 3_600_000.0),
                share_percent: match all {
                    0 => 0.0,
                    all => tenth(100.0 * had as f64 / all as f64),
                },
                of_due_percent: match due > 0.0 {
                    true => tenth(100.0 * has / due),
                    false => 100.0,
                },
                wait_seconds: self.waits(jobs),
                slowdown: self.slowdowns(jobs),
            });
        }
        lines.sort_by(|left, right| left.name.cmp(&right.name));
        lines
    }
}
