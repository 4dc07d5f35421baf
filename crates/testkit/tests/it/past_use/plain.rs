//! Past use and limits of run times as spec/13 and spec/11 §3 read, by plain lists: who held what from when to when, sums
//! over it second by second in real numbers, jobs one by one.

use std::collections::BTreeMap;

/// Longer ago nothing counts that a real number could tell.
const MAX_HALF_LIVES: f64 = 60.0;

/// Parts of a half-life in which sums go forward.
const PARTS: f64 = 200.0;

/// A clock that goes back by more begins anew.
const LONGEST_BACK_S: i64 = 3600;

/// Cores in thousandths, and bytes.
pub type Held = [i64; 2];

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub enum Measure {
    /// The largest share of the cluster, of pods too.
    Dominant,
    /// A weight for a core, and one for a GiB.
    Weights([f64; 2]),
}

/// What somebody says of run times, in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Said {
    pub expected_s: Option<i64>,
    pub limit_s: Option<i64>,
}

/// A pod, what it asks, and what has become of it.
#[derive(Clone, Debug)]
pub struct Pod {
    pub job: String,
    pub asks: Held,
    pub said: Said,
    /// It has a place: bound, running or bound by us.
    pub is_held: bool,
    /// It has a place until the next cycle, since others of its gang wait for room that is being released; nobody is
    /// charged for that.
    pub is_kept: bool,
    /// It is seen to be on a node by its object, and since when.
    pub scheduled_s: Option<i64>,
    pub is_deleting: bool,
    /// It was evicted by its limit.
    pub is_evicted: bool,
}

impl Pod {
    fn holds(&self) -> bool {
        self.is_held && !self.is_deleting
    }
}

/// A job: a gang of which all pods have to start.
#[derive(Clone, Debug)]
pub struct Job {
    pub queue: String,
    /// Whom it is charged to, in its queue; nothing where users do not count.
    pub user: Option<String>,
    pub created_s: i64,
    pub said: Said,
}

/// A queue, its weight and what it says of its pods.
#[derive(Clone, Debug)]
pub struct Queue {
    pub weight: i64,
    pub created_s: i64,
    pub said: Said,
}

/// Somebody held something.
#[derive(Clone, Debug)]
struct Stretch {
    pod: String,
    queue: String,
    user: Option<String>,
    asks: Held,
    from_s: i64,
    /// Nothing: he still does.
    to_s: Option<i64>,
}

/// Who: a queue, or a user of one.
pub type Account = (String, Option<String>);

/// The lists.
#[derive(Clone, Debug)]
pub struct Plain {
    pub measure: Measure,
    pub half_life_s: i64,
    pub interval_s: i64,
    /// What a pod may run beyond its limit; nothing: nobody minds limits.
    pub grace_s: Option<i64>,
    pub node: Held,
    pub slots: i64,
    pub queues: BTreeMap<String, Queue>,
    pub jobs: BTreeMap<String, Job>,
    pub pods: BTreeMap<String, Pod>,
    stretches: Vec<Stretch>,
    /// What the cluster has, from when on.
    totals: Vec<(i64, Held, i64)>,
    /// The time that counts: it never goes back, but where it begins anew.
    clock_s: Option<i64>,
    ordered_s: Option<i64>,
    pub(super) order: BTreeMap<Account, f64>,
    was_waited: bool,
    /// When the order is to be made anew, as was told.
    told_s: Option<i64>,
}

/// What a cycle comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Jobs that were bound, in order.
    pub bound: Vec<String>,
    /// Pods that were evicted, by name.
    pub evicted: Vec<String>,
    /// Two accounts are so close that real numbers cannot tell who goes first.
    pub is_close: bool,
}

impl Plain {
    pub fn new(
        measure: Measure,
        [half_life_s, interval_s]: [i64; 2],
        grace_s: Option<i64>,
    ) -> Self {
        Self {
            measure,
            half_life_s,
            interval_s,
            grace_s,
            node: [0, 0],
            slots: 0,
            queues: BTreeMap::new(),
            jobs: BTreeMap::new(),
            pods: BTreeMap::new(),
            stretches: Vec::new(),
            totals: Vec::new(),
            clock_s: None,
            ordered_s: None,
            order: BTreeMap::new(),
            was_waited: false,
            told_s: None,
        }
    }

    /// A process that knows nothing.
    pub fn forget(&mut self) {
        self.stretches.clear();
        self.totals.clear();
        (self.clock_s, self.ordered_s) = (None, None);
        self.order.clear();
        (self.was_waited, self.told_s) = (false, None);
    }

    fn account(&self, pod: &Pod) -> Option<Account> {
        let job = self.jobs.get(&pod.job)?;
        Some((job.queue.clone(), job.user.clone()))
    }

    /// The clock goes on, stands, or begins anew.
    pub(super) fn tick(&mut self, now_s: i64) -> i64 {
        let clock_s = match self.clock_s {
            None => now_s,
            Some(known_s) if known_s - now_s > LONGEST_BACK_S => {
                let back_s = known_s - now_s;
                for stretch in &mut self.stretches {
                    stretch.from_s -= back_s;
                    stretch.to_s = stretch.to_s.map(|to_s| to_s - back_s);
                }
                self.totals
                    .iter_mut()
                    .for_each(|(at_s, ..)| *at_s -= back_s);
                now_s
            }
            Some(known_s) => now_s.max(known_s),
        };
        self.clock_s = Some(clock_s);
        clock_s
    }

    /// Who holds what is looked at.
    pub(super) fn look(&mut self, clock_s: i64) {
        // Pods that are there when a process begins count from when they got their nodes.
        let is_first = self.totals.is_empty();
        let total = (self.node, self.slots);
        let known = self.totals.last().map(|(_, node, slots)| (*node, *slots));
        if known != Some(total) {
            self.totals.push((clock_s, total.0, total.1));
        }
        for stretch in self.stretches.iter_mut().filter(|one| one.to_s.is_none()) {
            let pod = self.pods.get(&stretch.pod);
            let holds = pod.is_some_and(Pod::holds);
            let job = pod.and_then(|pod| self.jobs.get(&pod.job));
            let is_his =
                job.is_some_and(|job| job.user == stretch.user && job.queue == stretch.queue);
            if !holds || !is_his {
                stretch.to_s = Some(clock_s);
            }
        }
        for (name, pod) in &self.pods {
            let open = self
                .stretches
                .iter()
                .find(|one| one.pod == *name && one.to_s.is_none());
            let Some((queue, user)) = self.account(pod) else {
                continue;
            };
            if !pod.holds() || open.is_some() {
                continue;
            }
            let since_s = pod.scheduled_s.filter(|_| is_first).unwrap_or(clock_s);
            self.stretches.push(Stretch {
                pod: name.clone(),
                queue,
                user,
                asks: pod.asks,
                from_s: since_s.min(clock_s),
                to_s: None,
            });
        }
    }

    fn rate(&self, all: &[&Stretch], at_s: i64) -> f64 {
        let sum = |of: usize| all.iter().map(|one| one.asks[of]).sum::<i64>() as f64;
        match self.measure {
            Measure::Weights([core, gib]) => {
                sum(0) / 1000.0 * core + sum(1) / (1u64 << 30) as f64 * gib
            }
            Measure::Dominant => {
                let known = self
                    .totals
                    .iter()
                    .rev()
                    .find(|(from_s, ..)| *from_s <= at_s);
                let first = self.totals.first();
                let Some((_, node, slots)) = known.or(first) else {
                    return 0.0;
                };
                let part = |held: f64, of: i64| if of > 0 { held / of as f64 } else { 0.0 };
                let parts = [
                    part(sum(0), node[0]),
                    part(sum(1), node[1]),
                    part(all.len() as f64, *slots),
                ];
                parts.into_iter().fold(0.0, f64::max)
            }
        }
    }

    fn is_of(one: &Stretch, (queue, user): &Account) -> bool {
        one.queue == *queue && (user.is_none() || one.user == *user)
    }

    fn of<'a>(&'a self, account: &'a Account) -> impl Iterator<Item = &'a Stretch> {
        self.stretches
            .iter()
            .filter(move |one| Self::is_of(one, account))
    }

    /// What an account used, as it counts at a time: units times seconds.
    pub fn used(&self, account: &Account) -> f64 {
        let Some(now_s) = self.clock_s else {
            return 0.0;
        };
        let all: Vec<&Stretch> = self.of(account).collect();
        let ends = all
            .iter()
            .flat_map(|one| [one.from_s, one.to_s.unwrap_or(now_s)]);
        let totals = self.totals.iter().map(|(at_s, ..)| *at_s);
        let mut cuts: Vec<i64> = ends
            .chain(totals)
            .filter(|at_s| *at_s <= now_s)
            .chain([now_s])
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        let half_life_s = self.half_life_s as f64;
        let mut used = 0.0;
        for pair in cuts.windows(2) {
            let (from_s, to_s) = (pair[0], pair[1]);
            let there = |one: &&&Stretch| {
                one.from_s <= from_s && one.to_s.is_none_or(|end_s| end_s >= to_s)
            };
            let there: Vec<&Stretch> = all.iter().filter(there).copied().collect();
            let rate = self.rate(&there, from_s);
            let oldest_s = now_s as f64 - MAX_HALF_LIVES * half_life_s;
            let mut at_s = (from_s as f64).max(oldest_s);
            while rate > 0.0 && at_s < to_s as f64 {
                let part_s = (half_life_s / PARTS).min(to_s as f64 - at_s);
                let age_s = now_s as f64 - at_s - part_s / 2.0;
                used += rate * part_s * (-age_s / half_life_s).exp2();
                at_s += part_s;
            }
        }
        used
    }

    /// What an account holds now, in units.
    pub fn rate_now(&self, account: &Account) -> f64 {
        let held = self.stretches.iter().filter(|one| one.to_s.is_none());
        let kept = self.pods.iter().filter(|(_, pod)| pod.is_kept);
        let kept = kept.filter_map(|(name, pod)| {
            let (queue, user) = self.account(pod)?;
            Some(Stretch {
                pod: name.clone(),
                queue,
                user,
                asks: pod.asks,
                from_s: 0,
                to_s: None,
            })
        });
        let all: Vec<Stretch> = held.cloned().chain(kept).collect();
        let there: Vec<&Stretch> = all.iter().filter(|one| Self::is_of(one, account)).collect();
        self.rate(&there, i64::MAX)
    }

    pub(super) fn put_in_order(&mut self, now_s: i64) {
        let ages = |at_s: i64| at_s > now_s || now_s - at_s >= self.interval_s;
        // While jobs wait, which may sleep, only at a time that was told before.
        let is_told = self.told_s.is_some_and(|told_s| told_s <= now_s);
        let may = self
            .ordered_s
            .is_none_or(|at_s| ages(at_s) && (is_told || !self.was_waited));
        if may {
            self.make_order(now_s);
        }
        self.was_waited = self.waits();
        let next_s = self.ordered_s.map(|at_s| at_s.min(now_s) + self.interval_s);
        self.told_s = next_s.filter(|_| self.was_waited);
    }

    fn make_order(&mut self, now_s: i64) {
        self.ordered_s = Some(now_s);
        let queues = self.queues.keys().map(|queue| (queue.clone(), None));
        let users = self
            .jobs
            .values()
            .map(|job| (job.queue.clone(), job.user.clone()));
        let all: Vec<Account> = queues.chain(users).collect();
        self.order = all
            .into_iter()
            .map(|account| (account.clone(), self.used(&account)))
            .collect();
    }

    /// When the next limit is over.
    pub fn next_over_s(&self) -> Option<i64> {
        self.pods.values().filter_map(|pod| self.over_s(pod)).min()
    }

    fn limit_s(&self, pod: &Pod) -> Option<i64> {
        let job = self.jobs.get(&pod.job)?;
        let queue = self
            .queues
            .get(&job.queue)
            .map(|queue| queue.said)
            .unwrap_or_default();
        let expected_s = pod
            .said
            .expected_s
            .or(job.said.expected_s)
            .or(queue.expected_s);
        let default_s = queue
            .limit_s
            .map(|limit_s| limit_s.max(expected_s.unwrap_or(0)));
        pod.said.limit_s.or(job.said.limit_s).or(default_s)
    }

    /// When a pod is ended by its limit.
    fn over_s(&self, pod: &Pod) -> Option<i64> {
        let since_s = pod
            .scheduled_s
            .filter(|_| !pod.is_deleting && !pod.is_evicted)?;
        Some(since_s + self.limit_s(pod)? + self.grace_s?)
    }

    pub(super) fn end_by_limits(&mut self, now_s: i64) -> Vec<String> {
        let is_over = |pod: &Pod| self.over_s(pod).is_some_and(|over_s| over_s <= now_s);
        let over = self.pods.iter().filter(|(_, pod)| is_over(pod));
        let over: Vec<String> = over.map(|(name, _)| name.clone()).collect();
        for name in &over {
            if let Some(pod) = self.pods.get_mut(name) {
                pod.is_evicted = true;
                pod.is_deleting = true;
            }
        }
        over
    }
}
