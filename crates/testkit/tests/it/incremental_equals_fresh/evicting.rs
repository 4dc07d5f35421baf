//! A state that was changed decides as one made anew where pods are evicted: who goes and who is
//! promised a place is read from objects.

use std::collections::{BTreeMap, BTreeSet};

use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_model::Delta;
use pumice_testkit::generate::{
    Changing, evicting_conf_text, gangs_in_domains_conf_text, tree_conf_text,
};

use super::{May, Seen, Sleep, check, cycle, live_engine};
use crate::run;

const CASES: u64 = 150;
const NETWORK_CASES: u64 = 100;
const STEPS: u32 = 10;

/// Time of the first cycle, and from one to the next: a promise does not end within all of them.
const START_S: i64 = 1_000_000;
const STEP_S: i64 = 50;

fn time_s(step: u32) -> i64 {
    START_S + i64::from(step) * STEP_S
}

/// A cluster to which things happen while an engine decides about it.
struct Life {
    cluster: Changing,
    live: Engine,
    /// Pods that are going: first step without them, name, UID.
    leaving: Vec<(u32, String, String)>,
    /// UIDs of pods that nobody may evict for a while, and until when.
    spared: Vec<(String, i64)>,
    /// Jobs whose pods wait for promised places, by pod.
    promised: BTreeMap<String, String>,
}

impl Life {
    fn tell(&mut self, deltas: impl IntoIterator<Item = Delta>) {
        deltas.into_iter().for_each(|delta| self.live.apply(delta));
    }

    /// An engine that hears of everything now.
    fn fresh(&self, config: &Config) -> Engine {
        let mut fresh = run::engine(config, &self.cluster.objects());
        for (uid, until_s) in &self.spared {
            fresh.apply(Delta::PodSpared {
                uid: uid.clone(),
                message: "refused".to_owned(),
                until_s: *until_s,
            });
        }
        // Who was admitted by whom stands nowhere.
        let live = self.live.state();
        live.population()
            .admissions(live.resources())
            .into_iter()
            .for_each(|known| fresh.apply(known));
        fresh
    }

    /// The order in which promises were made is known to the one only who made them.
    fn has_ordered_promises(&self) -> bool {
        let waits = |pod: &str| match self.cluster.pod(pod) {
            Some(Delta::PodApply(pod)) => pod.node.is_none() && pod.nominated_node.is_some(),
            _ => false,
        };
        let standing = self.promised.iter().filter(|(pod, _)| waits(pod));
        standing.map(|(_, job)| job).collect::<BTreeSet<_>>().len() > 1
    }

    /// What the cycle decided comes true; of some evictions nothing comes.
    fn carry_out(&mut self, seen: &Seen, refuses: bool, (step, now_s): (u32, i64)) {
        for (pod, node) in &seen.binds {
            let records = seen.records[pod].clone();
            let echo = self.cluster.bind(pod, node, records);
            self.tell(echo);
        }
        for (pod, node) in &seen.nominations {
            let written = self.cluster.write(pod, |pod| {
                pod.nominated_node = Some(node.clone());
            });
            let Some(Delta::PodApply(object)) = &written else {
                continue;
            };
            let job = object.group.clone().unwrap_or_default();
            self.promised.insert(pod.clone(), job);
            self.tell(written);
        }
        for pod in &seen.nominations_ended {
            let written = self.cluster.write(pod, |pod| pod.nominated_node = None);
            self.tell(written);
        }
        for (at, (pod, _, _)) in seen.evictions.iter().enumerate() {
            let Some(Delta::PodApply(object)) = self.cluster.pod(pod) else {
                continue;
            };
            if refuses && at % 3 == 0 {
                self.refuse(object.uid, now_s);
                continue;
            }
            let written = self.cluster.write(pod, |pod| pod.deleting = true);
            self.tell(written);
            let last = step + 1 + (at as u32) % 2;
            self.leaving.push((last, pod.clone(), object.uid));
        }
        for (group, status) in &seen.groups {
            let echo = self.cluster.set_status(group, status.clone());
            self.tell(echo);
        }
    }

    fn refuse(&mut self, uid: String, at_s: i64) {
        self.live.apply(Delta::EvictFailed {
            uid: uid.clone(),
            message: "refused".to_owned(),
            at_s,
        });
        let state = self.live.state();
        let task = state.population().task_by_uid(&uid).expect("a known pod");
        let until_s = state
            .population()
            .holds()
            .spared(task)
            .expect("nobody tries at once")
            .until_s;
        self.spared.push((uid, until_s));
    }

    /// Evicted pods leave, and other things happen.
    fn pass(&mut self, step: u32, seed: u64, sleep: Sleep) {
        let all = std::mem::take(&mut self.leaving).into_iter();
        let (gone, still): (Vec<_>, Vec<_>) = all.partition(|(last, _, _)| *last <= step);
        self.leaving = still;
        for (_, pod, uid) in gone {
            let deltas = self.cluster.leave(&pod, &uid, time_s(step));
            self.tell(deltas);
        }
        for _ in 0..(seed + u64::from(step)) % 3 {
            let happens = sleep.happens(&mut self.cluster, step);
            self.tell(happens);
        }
    }
}

/// Numbers of steps that were compared, and of evictions.
fn follow(seed: u64, sleep: Sleep) -> (usize, usize) {
    let text = match seed % 2 {
        0 => evicting_conf_text(seed),
        _ => tree_conf_text(seed),
    };
    follow_under(seed, sleep, Changing::full(seed), &text)
}

fn follow_under(seed: u64, sleep: Sleep, cluster: Changing, text: &str) -> (usize, usize) {
    let config = run::config(text);
    let mut life = Life {
        live: live_engine(seed, &config, &cluster, sleep),
        cluster,
        leaving: Vec::new(),
        spared: Vec::new(),
        promised: BTreeMap::new(),
    };
    let (mut compared, mut evictions) = (0, 0);
    for step in 0..STEPS {
        let now_s = time_s(step);
        life.spared.retain(|(_, until_s)| *until_s > now_s);
        let mut fresh = life.fresh(&config);
        let mut dumped = run::engine(&config, &life.live.state().dump());
        let has_ordered_promises = life.has_ordered_promises();
        let seen = cycle(&mut life.live, now_s);
        let context = format!("seed {seed}, step {step}, {sleep:?}, conf:\n{text}");
        let may = May {
            know_devices_late: false,
            be_late: false,
            be_old: true,
        };
        for (other, which) in [(&mut fresh, ""), (&mut dumped, "dump ")] {
            let expected = cycle(other, now_s);
            if !has_ordered_promises {
                check(&seen, &expected, may, &format!("{which}{context}"));
                compared += 1;
            }
        }
        assert_eq!(life.live.sleepers().missed(), 0, "missed: {context}");
        evictions += seen.evictions.len();
        life.carry_out(&seen, seed.is_multiple_of(3), (step, now_s));
        life.pass(step + 1, seed, sleep);
    }
    (compared, evictions)
}

#[test]
fn an_engine_that_evicts_decides_like_a_fresh_one() {
    follow_all(CASES, follow);
}

#[test]
fn so_does_one_that_evicts_for_gangs_that_keep_to_a_domain() {
    follow_all(NETWORK_CASES, |seed, sleep| {
        let text = gangs_in_domains_conf_text(seed);
        follow_under(seed, sleep, Changing::full_network(seed), &text)
    });
}

fn follow_all(cases: u64, one: impl Fn(u64, Sleep) -> (usize, usize)) {
    for sleep in [Sleep::Checked, Sleep::Sound] {
        let (mut compared, mut evictions) = (0, 0);
        let seeds = run::seeds(0, cases);
        let cases = (seeds.end - seeds.start) as usize;
        for seed in seeds {
            let (steps, victims) = one(seed, sleep);
            compared += steps;
            evictions += victims;
        }
        // The cases are not trivial.
        assert!(compared > cases * STEPS as usize, "{compared} compared");
        assert!(2 * evictions > cases, "{evictions} evictions");
    }
}
