//! What users may have in a queue (spec/15), by the objects of the server.

use std::collections::{BTreeMap, BTreeSet};

use crate::invariant::{Broken, Invariant};
use crate::oracle::amount;
use crate::rng::Rng;
use crate::server::{VirtualServer, holds, key};

/// Users that jobs name.
pub(super) const USERS: [&str; 3] = ["ada", "bob", "eve"];

/// Limits of every user in each queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct UserRules {
    /// Jobs that hold something.
    jobs: Option<usize>,
    cpu_milli: Option<i64>,
}

/// What a user has in a queue.
#[derive(Default)]
struct HeldOfUser<'a> {
    jobs: BTreeSet<&'a str>,
    cpu_milli: i64,
}

impl UserRules {
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x05e5);
        Self {
            jobs: rng.percent(40).then(|| rng.between(1, 3) as usize),
            cpu_milli: rng.percent(40).then(|| 1000 * rng.between(3, 8) as i64),
        }
    }

    /// The line of the configuration, or nothing.
    pub fn text(self) -> String {
        let jobs = self.jobs.map(|jobs| format!("jobs={jobs}"));
        let cpu = self.cpu_milli.map(|milli| format!("cpu={milli}m"));
        let all: Vec<String> = jobs.into_iter().chain(cpu).collect();
        match all.is_empty() {
            true => String::new(),
            false => format!("      fairshare.userLimits: \"{}\"\n", all.join(",")),
        }
    }

    /// No user has more than he may in a queue, but for jobs that were of another one.
    ///
    /// # Errors
    /// One has.
    pub fn check(self, server: &VirtualServer, but: &BTreeSet<String>) -> Result<(), Broken> {
        let mut held: BTreeMap<(&str, &str), HeldOfUser<'_>> = BTreeMap::new();
        let pods = server.pods.values();
        for pod in pods.filter(|pod| pod.ours && holds(pod) && !pod.deleting) {
            let Some(group) = &pod.group else { continue };
            let Some(group) = server.groups.get(&key(&pod.namespace, group)) else {
                continue;
            };
            if !group.user.is_empty() && !but.contains(&group.name) {
                let of_user = held.entry((&group.queue, &group.user)).or_default();
                of_user.jobs.insert(&group.name);
                of_user.cpu_milli += amount(&pod.request, "cpu");
            }
        }
        for ((queue, user), has) in held {
            let jobs = self.jobs.is_some_and(|most| has.jobs.len() > most);
            let cpu = self.cpu_milli.is_some_and(|most| has.cpu_milli > most);
            if jobs || cpu {
                let text = format!(
                    "user {user} has {:?} and {}m in queue {queue}, of {self:?}",
                    has.jobs, has.cpu_milli
                );
                return Err(Invariant::Queues.broken(text));
            }
        }
        Ok(())
    }
}
