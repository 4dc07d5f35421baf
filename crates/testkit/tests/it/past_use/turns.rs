//! What a cycle does by the lists: queues take turns, and each of their jobs.

use super::plain::{Account, Outcome, Plain};

/// What is free, and what will be when those that are being deleted are gone: cores, bytes, slots.
#[derive(Clone, Copy)]
struct Rooms {
    idle: [i64; 3],
    future: [i64; 3],
}

/// What comes of the turn of a job.
enum Turn {
    Bound,
    /// So many of its pods have places, and the others wait for room that is being released.
    Kept(usize),
    Nothing,
}

impl Plain {
    /// Accounts by what they used for each part of a weight, then by creation and name.
    fn sorted<T: Ord + Clone>(mut all: Vec<(f64, T)>) -> (Vec<T>, bool) {
        let is_close = |left: f64, right: f64| {
            left != right && (left - right).abs() <= 1e-6 * left.abs().max(right.abs()).max(1.0)
        };
        let pairs = all.iter().enumerate();
        let is_close = pairs
            .clone()
            .any(|(at, (one, _))| all[..at].iter().any(|(other, _)| is_close(*one, *other)));
        all.sort_by(|left, right| {
            left.0
                .total_cmp(&right.0)
                .then_with(|| left.1.cmp(&right.1))
        });
        (all.into_iter().map(|(_, who)| who).collect(), is_close)
    }

    /// One cycle.
    pub fn cycle(&mut self, now_s: i64) -> Outcome {
        let clock_s = self.tick(now_s);
        self.pods.values_mut().for_each(|pod| pod.is_kept = false);
        self.look(clock_s);
        self.put_in_order(now_s);
        let mut outcome = Outcome {
            evicted: self.end_by_limits(now_s),
            ..Outcome::default()
        };
        let mut rooms = self.rooms();
        let ordered = |account: Account| self.order.get(&account).copied().unwrap_or(0.0);
        let queues = self.queues.iter().map(|(name, queue)| {
            let used = ordered((name.clone(), None)) / queue.weight as f64;
            (used, (queue.created_s, name.clone()))
        });
        let (queues, is_close) = Self::sorted(queues.collect());
        outcome.is_close |= is_close;
        let mut kept = Vec::new();
        for (_, queue) in queues {
            let jobs = self.jobs.iter().filter(|(_, job)| job.queue == queue);
            let waiting = jobs.filter(|(name, _)| !self.waiting(name).is_empty());
            let jobs = waiting.map(|(name, job)| {
                let used = match &job.user {
                    Some(user) => ordered((queue.clone(), Some(user.clone()))),
                    None => 0.0,
                };
                (used, (job.created_s, name.clone()))
            });
            let (jobs, is_close) = Self::sorted(jobs.collect());
            outcome.is_close |= is_close;
            for (_, job) in jobs {
                match self.turn(&job, &mut rooms) {
                    Turn::Bound => outcome.bound.push(job),
                    Turn::Kept(pods) => kept.push((job, pods)),
                    Turn::Nothing => {}
                }
            }
        }
        for job in outcome.bound.clone() {
            let pods = self
                .pods
                .values_mut()
                .filter(|pod| pod.job == job && !pod.is_held);
            pods.for_each(|pod| pod.is_held = true);
        }
        for (job, at_once) in kept {
            let pods = self
                .pods
                .values_mut()
                .filter(|pod| pod.job == job && !pod.is_held);
            let pods = pods.filter(|pod| !pod.is_deleting);
            pods.take(at_once).for_each(|pod| pod.is_kept = true);
        }
        self.look(clock_s);
        outcome
    }

    /// Tries a job: it is bound, or keeps places until the next cycle, or nothing of it stays.
    fn turn(&self, job: &str, rooms: &mut Rooms) -> Turn {
        let before = *rooms;
        let asks = self.waiting(job);
        let (mut at_once, mut later) = (0, 0);
        for pod in &asks {
            let fits = |room: &[i64; 3]| room.iter().zip(pod).all(|(room, asks)| room >= asks);
            if !fits(&rooms.future) {
                continue;
            }
            let is_idle = fits(&rooms.idle);
            let takes = |room: &mut [i64; 3]| {
                let room = room.iter_mut().zip(pod);
                room.for_each(|(room, asks)| *room -= asks);
            };
            takes(&mut rooms.future);
            if is_idle {
                takes(&mut rooms.idle);
                at_once += 1;
            } else {
                later += 1;
            }
        }
        if at_once == asks.len() {
            return Turn::Bound;
        }
        if at_once + later == asks.len() {
            return Turn::Kept(at_once);
        }
        *rooms = before;
        Turn::Nothing
    }

    /// What is free, and what will be when those that are being deleted are gone: cores, bytes, slots.
    fn rooms(&self) -> Rooms {
        let mut idle = [self.node[0], self.node[1], self.slots];
        let mut future = idle;
        for pod in self.pods.values().filter(|pod| pod.is_held) {
            let takes = |room: &mut [i64; 3]| {
                let own = [pod.asks[0], pod.asks[1], 1];
                room.iter_mut()
                    .zip(own)
                    .for_each(|(room, own)| *room -= own);
            };
            takes(&mut idle);
            if !pod.is_deleting {
                takes(&mut future);
            }
        }
        Rooms { idle, future }
    }

    /// What each pod of a job asks that has no place.
    fn waiting(&self, job: &str) -> Vec<[i64; 3]> {
        let pods = self.pods.values().filter(|pod| pod.job == job);
        let waiting = pods.filter(|pod| !pod.is_held && !pod.is_deleting);
        waiting.map(|pod| [pod.asks[0], pod.asks[1], 1]).collect()
    }

    /// Some job waits.
    pub fn waits(&self) -> bool {
        self.jobs.keys().any(|job| !self.waiting(job).is_empty())
    }
}
