//! The calm after the storm: everything comes to rest within a bounded time, with a bounded number of Bindings and
//! evictions.

use std::collections::BTreeSet;

use pumice_model::object::PodObject;

use super::TimeStorm;
use crate::BrokenInvariant;
use crate::evictions::EvictionLog;
use crate::invariant::{Broken, Invariant};
use crate::server::{holds, key};
use crate::time_over::least_limit_s;

/// For how long nothing is written once the world is at rest, milliseconds.
const QUIET_MS: u64 = 60_000;

/// The world is at rest after so long at the latest, milliseconds.
const MAX_UNREST_MS: u64 = 5_000_000;

/// Furthest that clocks are wrong in the calm, milliseconds.
const MAX_WRONG_MS: i64 = 120_000;

/// Most pods of a job.
const MAX_SIZE: u32 = 4;

/// Longest step of the calm, milliseconds.
const STEP_MS: u64 = 1000;

/// What was so when the calm began.
struct Begun {
    /// Pods that are there or are about to be made.
    pods: u32,
    binds: u32,
    evicted: EvictionLog,
}

impl TimeStorm {
    /// Faults end, and everything settles.
    pub(super) fn calm_down(&mut self) -> Result<(), Box<BrokenInvariant>> {
        self.simulation.history.push("the storm ends".to_owned());
        self.end_faults();
        let before = self.begun();
        self.come_to_rest()?;
        let checked = self.check_moves(&before);
        checked.map_err(|broken| self.simulation.failure(broken))?;
        self.simulation.settle()
    }

    fn begun(&self) -> Begun {
        let server = &self.simulation.server;
        // A pod that is missing is about to be made anew.
        let names: BTreeSet<String> = server
            .pods
            .values()
            .map(|pod| key(&pod.namespace, &pod.name))
            .chain(server.templates.keys().cloned())
            .collect();
        let going = server.pods.values().filter(|pod| pod.deleting).count();
        Begun {
            pods: (names.len() + going) as u32,
            binds: self.simulation.binds,
            evicted: self.simulation.evicted.clone(),
        }
    }

    fn end_faults(&mut self) {
        self.simulation.network.chances = [0; 3];
        self.simulation.lag = false;
        // Whoever has limits is not made anew, or he would be ended for ever.
        let limited: Vec<String> = self
            .simulation
            .server
            .templates
            .iter()
            .filter(|(_, template)| self.is_limited(&template.pod))
            .map(|(key, _)| key.clone())
            .collect();
        for key in limited {
            self.simulation.server.templates.remove(&key);
        }
        // Of some seeds clocks stay wrong, but by no more than some minutes: whoever is behind ends each pod that much later.
        // Whoever goes by another clock than that of his machine starts anew: after a leap events are told again at any time.
        let most_ms = if self.chance.percent(75) {
            0
        } else {
            MAX_WRONG_MS
        };
        for slot in 0..self.simulation.slots.len() {
            let ahead_ms = self.simulation.slots[slot].wall_clock.ahead_ms();
            let ahead_ms = ahead_ms.clamp(-most_ms, most_ms);
            self.simulation.set_wall_clock(slot, ahead_ms);
            let wall_clock = self.simulation.slots[slot].wall_clock;
            let process = self.simulation.slots[slot].process.as_ref();
            if process.is_some_and(|process| process.clock != wall_clock) {
                self.simulation.kill(slot, 500);
            }
        }
        let now_ms = self.simulation.server.now_ms();
        for slot in &mut self.simulation.slots {
            if let Some(process) = &mut slot.process {
                process.watches.heal(now_ms);
                process.lease_cut_until_ms = 0;
            }
        }
    }

    fn come_to_rest(&mut self) -> Result<(), Box<BrokenInvariant>> {
        let begin_ms = self.simulation.server.now_ms();
        let (mut seen, mut since_ms) = (None, begin_ms);
        loop {
            self.step(STEP_MS)?;
            let now_ms = self.simulation.server.now_ms();
            let leader = self.simulation.leader();
            let handed_in = leader.map(|leader| (leader.identity(), leader.writers.handed_in));
            if seen != handed_in || handed_in.is_none() || self.something_ends() {
                (seen, since_ms) = (handed_in, now_ms);
            }
            if now_ms >= since_ms + QUIET_MS {
                return Ok(());
            }
            if now_ms > begin_ms + MAX_UNREST_MS {
                let text = format!("no rest {MAX_UNREST_MS} ms after the storm");
                return Err(self.simulation.failure(Invariant::Quiet.broken(text)));
            }
        }
    }

    /// Some pod on a node is still to end, by itself or by its limit; or one waits for its nomination, which lasts ten minutes.
    fn something_ends(&self) -> bool {
        let server = &self.simulation.server;
        let ends = |pod: &PodObject| {
            let by_limit =
                pod.ours && pod.scheduled_s.is_some() && least_limit_s(server, pod).is_some();
            pod.deleting || by_limit || self.lengths.contains_key(&pod.name)
        };
        let is_nominated = |pod: &PodObject| pod.node.is_none() && pod.nominated_node.is_some();
        let mut pods = server.pods.values();
        pods.any(|pod| is_nominated(pod) || holds(pod) && ends(pod))
    }

    /// Nobody chases anybody: of no job go more pods in the calm than twice as many as it has, and no more are bound than
    /// were there when it began, or were made anew for one that was evicted since.
    fn check_moves(&self, before: &Begun) -> Result<(), Broken> {
        let broken = |text: String| Err(Invariant::Evictions.broken(text));
        let evicted = &self.simulation.evicted;
        for (job, lost) in &evicted.lost {
            let lost = lost - before.evicted.lost.get(job).copied().unwrap_or(0);
            if lost > 2 * MAX_SIZE {
                return broken(format!("{job} loses {lost} pods to others in the calm"));
            }
        }
        let sum = |log: &EvictionLog| log.landed.values().sum::<u32>();
        let evictions = sum(evicted) - sum(&before.evicted);
        let binds = self.simulation.binds - before.binds;
        match binds <= before.pods + evictions {
            true => Ok(()),
            false => broken(format!(
                "{binds} Bindings in the calm, of {} pods and {evictions} evictions",
                before.pods
            )),
        }
    }
}
