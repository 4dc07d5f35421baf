//! Tasks that come and end by the times of the trace, in a cluster that has run for long.
//!
//! ```text
//!  tasks that are there at some moment, each with what is left of its time ──► placed, or gone
//!  tasks that come at random ──► placed, or rejected ──► counted in the second half
//! ```
//!
//! From an empty cluster the tasks that run for months, which hold most GPUs, would take months to gather. Tasks come
//! at random, not with the gaps of the trace: of its five months the first are nearly empty, and drawn from them all,
//! short gaps come in floods of which no cluster could serve a tenth.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use pumice_model::Delta;
use serde::Serialize;

use super::trace::{TraceTask, uniform};
use super::{Draw, uid};

/// What came of a cluster in which tasks come and end, in percent.
#[derive(Clone, Copy, Serialize)]
pub struct SteadyShares {
    /// GPU demand that was rejected.
    pub rejected: f64,
    /// GPUs given out at any time.
    pub in_use: f64,
    /// GPU time that was rejected, those who were there in the beginning included: a task counts by how long it lasts.
    pub rejected_time: f64,
    /// Demand of tasks that ask several GPUs, as a share of the GPU demand that was rejected.
    pub several: f64,
    /// What would be rejected if all GPUs were one, and nothing else were asked: so much is not for want of packing.
    pub unavoidable: f64,
}

/// The tasks that are there.
#[derive(Default)]
struct PresentTasks {
    held_milli: i64,
    /// When they end, in seconds, their numbers, and what they hold.
    ends: BinaryHeap<Reverse<(i64, u64, i64)>>,
}

impl PresentTasks {
    fn add(&mut self, task: &TraceTask, number: u64, end_s: f64) {
        let demand = task.demand_milli();
        self.held_milli += demand;
        self.ends.push(Reverse((end_s as i64, number, demand)));
    }

    /// The number of a task whose time is over.
    fn ended(&mut self, now_s: f64) -> Option<u64> {
        let Reverse((end_s, number, demand)) = *self.ends.peek()?;
        if end_s > now_s as i64 {
            return None;
        }
        self.ends.pop();
        self.held_milli -= demand;
        Some(number)
    }
}

/// The cluster, and beside it one that is a single pool of GPUs.
struct BothClusters<'a> {
    draw: Draw<'a>,
    now_s: f64,
    real: PresentTasks,
    pool: PresentTasks,
}

impl BothClusters<'_> {
    /// Whether the task finds a place in the cluster, and in the pool; it ends so many seconds later.
    fn come(&mut self, task: &TraceTask, left_s: f64) -> (bool, bool) {
        let (number, end_s) = (self.draw.count, self.now_s + left_s);
        let is_placed = self.draw.place(task, self.now_s as i64);
        if is_placed {
            self.real.add(task, number, end_s);
        }
        let held = self.pool.held_milli + task.demand_milli();
        let is_pooled = held <= self.draw.trace.capacity_milli();
        if is_pooled {
            self.pool.add(task, number, end_s);
        }
        (is_placed, is_pooled)
    }

    fn pass(&mut self, seconds: f64) {
        self.now_s += seconds;
        while let Some(number) = self.real.ended(self.now_s) {
            self.draw.engine.apply(Delta::PodDelete(uid(number)));
        }
        while self.pool.ended(self.now_s).is_some() {}
    }
}

impl Draw<'_> {
    /// What comes of tasks that ask for `load` percent of the GPU time that there is, until `until` percent of all GPUs
    /// were asked.
    pub fn with_departures(self, load: u32, until: u32) -> SteadyShares {
        let (load, until) = (i64::from(load), i64::from(until));
        let trace = self.trace;
        let all = trace.capacity_milli();
        let mean_s = trace.interval_s() * 100.0 / load as f64;
        let mut both = BothClusters {
            draw: self,
            now_s: 0.0,
            real: PresentTasks::default(),
            pool: PresentTasks::default(),
        };
        let mut there = 0;
        let mut asked = AskedShares::default();
        while 100 * there < load * all {
            let (task, left_s) = trace.draw_present(&mut both.draw.random);
            both.draw.count += 1;
            there += task.demand_milli();
            let (is_placed, _) = both.come(task, left_s);
            asked.add_time(task, left_s, is_placed);
        }
        let mut arrived = 0;
        while 100 * arrived < until * all {
            let task = both.draw.next();
            let chance = uniform(&mut both.draw.random);
            both.pass(-(1.0 - chance).ln() * mean_s);
            let held_before = both.real.held_milli;
            let (is_placed, is_pooled) = both.come(task, task.lasts_s as f64);
            arrived += task.demand_milli();
            asked.add_time(task, task.lasts_s as f64, is_placed);
            if 200 * arrived > until * all {
                asked.add(task, is_placed, is_pooled);
                asked.looks += 1;
                asked.held += held_before as f64;
            }
        }
        asked.shares(all as f64)
    }
}

/// What was asked, and what of it was rejected.
#[derive(Default)]
struct AskedShares {
    demand: i64,
    rejected: i64,
    several: i64,
    unavoidable: i64,
    time: f64,
    rejected_time: f64,
    looks: u32,
    held: f64,
}

impl AskedShares {
    fn add_time(&mut self, task: &TraceTask, lasts_s: f64, is_placed: bool) {
        let time = task.demand_milli() as f64 * lasts_s;
        self.time += time;
        self.rejected_time += if is_placed { 0.0 } else { time };
    }

    fn add(&mut self, task: &TraceTask, is_placed: bool, is_pooled: bool) {
        let demand = task.demand_milli();
        let of = |counts: bool| if counts { demand } else { 0 };
        self.demand += demand;
        self.rejected += of(!is_placed);
        self.several += of(!is_placed && task.gpus > 1);
        self.unavoidable += of(!is_pooled);
    }

    fn shares(&self, all: f64) -> SteadyShares {
        let percent = |part: f64, whole: f64| 100.0 * part / f64::max(1.0, whole);
        let of_asked = |part: i64| percent(part as f64, self.demand as f64);
        SteadyShares {
            rejected: of_asked(self.rejected),
            in_use: percent(self.held, f64::from(self.looks) * all),
            rejected_time: percent(self.rejected_time, self.time),
            several: percent(self.several as f64, self.rejected as f64),
            unavoidable: of_asked(self.unavoidable),
        }
    }
}
