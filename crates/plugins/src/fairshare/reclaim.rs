//! Reclaim minds what was used: nobody goes for a queue that used as much for its weight (docs/spec/13-past-use.md §6).

use pumice_framework::points::{Purpose, Victims, WhyKept};
use pumice_framework::tiers::{VictimAnswer, Weight};
use pumice_model::{QueueIx, State, TaskIx};

use super::FairShare;

/// A queue has to have used more by this part of what the other one used, above and below: an eighth.
const MORE: (u128, u128) = (9, 8);

impl FairShare {
    /// Whether a queue used more for its weight than another one, as of when orders were made, by so much that it is not the
    /// other way round at once.
    pub(super) fn used_more(&self, state: &State, queue: QueueIx, other: QueueIx) -> bool {
        let weight = |queue| u128::from(state.queue(queue).object.weight.max(1).unsigned_abs());
        // Each use by the weight of the other.
        let of = |own, other| self.used_of_queue(own).saturating_mul(weight(other));
        let (own, its) = (of(queue, other), of(other, queue));
        own.saturating_mul(MORE.1) > its.saturating_mul(MORE.0)
    }
}

fn queue_of(state: &State, task: TaskIx) -> Option<QueueIx> {
    state.task(task).job.and_then(|job| state.job(job).queue)
}

impl Victims for FairShare {
    fn why_kept(&self) -> Option<WhyKept> {
        Some(WhyKept::Said {
            one: "of a queue that used no more for its weight",
            many: "of queues that used no more for their weight",
        })
    }

    fn speaks(&self, purpose: Purpose) -> bool {
        purpose == Purpose::Reclaim
    }

    fn victims(
        &self,
        state: &State,
        _purpose: Purpose,
        preemptor: TaskIx,
        candidates: &[TaskIx],
    ) -> VictimAnswer<TaskIx> {
        let Some(own) = queue_of(state, preemptor) else {
            return VictimAnswer::abstains();
        };
        let used_more = |task: &TaskIx| {
            let queue = queue_of(state, *task);
            queue.is_some_and(|queue| self.used_more(state, queue, own))
        };
        let candidates = candidates.iter().copied();
        VictimAnswer::new(Weight::Veto, candidates.filter(used_more).collect())
    }
}

#[cfg(test)]
mod tests {
    use pumice_fixtures::Dice;
    use pumice_framework::{Changed, CycleInfo, Plugin};

    use super::*;
    use crate::testing::*;

    const QUEUES: u64 = 6;

    /// Queues with random weights, in each of which one pod runs that holds some cores for some time, and one waits.
    fn cluster(dice: &mut Dice) -> State {
        let mut cluster = Cluster::default().with(node("n", "99c 99Gi pods=999"));
        for at in 0..QUEUES {
            let name = format!("q{at}");
            let (weight, cores) = (1 + dice.below(4) as i64, 1 + dice.below(4));
            let since_s = dice.below(3_600) as i64;
            let holds = pod("", &format!("{cores}c"))
                .on("n")
                .scheduled_s(Some(since_s));
            cluster = cluster
                .with(queue(&name).weight(weight))
                .with(group(&name, 1).queue(&name))
                .pods(1, &name, holds)
                .with(group(&format!("w{at}"), 1).queue(&name))
                .pods(1, &format!("w{at}"), pod("", "1c"));
        }
        cluster.state()
    }

    /// By one order no queue is in a circle of queues each of which may take from the next, however weights and uses are: from who
    /// takes to who gives use for each part of weight grows, by an eighth.
    #[test]
    fn nobody_chases_anybody_in_a_circle() {
        let mut may = 0;
        for seed in 0..200 {
            let mut dice = Dice(seed);
            let state = cluster(&mut dice);
            let arguments = [("fairshare.reclaim", pumice_conf::Value::Bool(true))];
            let arguments = arguments.map(|(key, value)| (key.to_owned(), value));
            let mut plugin = FairShare::new(&arguments.into_iter().collect());
            let changed = Changed::default();
            plugin.open(
                &state,
                &CycleInfo {
                    now_s: 3_600,
                    changed,
                },
            );
            let queues: Vec<QueueIx> = (0..QUEUES)
                .map(|at| queue_ix(&state, &format!("q{at}")))
                .collect();
            let takes = |own: usize| {
                let waits = state.job(job(&state, &format!("w{own}"))).tasks[0];
                let run = |at: u64| state.job(job(&state, &format!("q{at}"))).tasks[0];
                let candidates: Vec<TaskIx> = (0..QUEUES).map(run).collect();
                let answer = plugin.victims(&state, Purpose::Reclaim, waits, &candidates);
                assert_eq!(answer.weight, Weight::Veto);
                let allowed = answer.allowed.unwrap_or_default();
                candidates
                    .iter()
                    .map(|task| allowed.contains(task))
                    .collect::<Vec<bool>>()
            };
            let takes: Vec<Vec<bool>> = (0..queues.len()).map(takes).collect();
            // Whoever can be reached.
            let mut reached = takes.clone();
            for via in 0..queues.len() {
                for from in 0..queues.len() {
                    for to in 0..queues.len() {
                        reached[from][to] |= reached[from][via] && reached[via][to];
                    }
                }
            }
            for (at, row) in reached.iter().enumerate() {
                assert!(!row[at], "seed {seed}: {takes:?}");
            }
            may += takes.iter().flatten().filter(|may| **may).count();
        }
        assert!(may > 1_000, "{may}");
    }

    #[test]
    fn a_queue_that_used_an_eighth_more_gives_and_one_that_used_less_more_does_not() {
        let of = |first: i64, second: i64| {
            let mut cluster = Cluster::default().with(node("n", "999c 99Gi pods=999"));
            for (name, cores) in [("a", first), ("b", second)] {
                let holds = pod("", &format!("{cores}c")).on("n").scheduled_s(Some(0));
                cluster = cluster
                    .with(queue(name))
                    .with(group(name, 1).queue(name))
                    .pods(1, name, holds);
            }
            let state = cluster.state();
            let mut plugin = FairShare::new(&pumice_conf::Arguments::default());
            let changed = Changed::default();
            plugin.open(
                &state,
                &CycleInfo {
                    now_s: 3_600,
                    changed,
                },
            );
            let [a, b] = ["a", "b"].map(|name| queue_ix(&state, name));
            plugin.used_more(&state, a, b)
        };
        assert!(of(92, 80) && !of(88, 80) && !of(80, 80) && !of(70, 80));
    }
}
