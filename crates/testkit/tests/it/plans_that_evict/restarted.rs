//! A scheduler that is started anew before each cycle goes on with the plans of the one before: all that it needs
//! to know of them stands on the objects.

use std::collections::{BTreeMap, BTreeSet};

use pumice_engine::Decisions;
use pumice_model::Delta;
use pumice_model::object::PodObject;
use pumice_testkit::generate::full_cluster;

use super::{CYCLES, Run, SETTLED};
use crate::run;

const CASES: u64 = 300;

/// What a cycle decided, by names.
#[derive(Debug, PartialEq)]
struct Decided {
    /// Pod, and the job it goes for.
    evictions: Vec<(String, String)>,
    /// Pod and node.
    nominations: Vec<(String, String)>,
    binds: Vec<(String, String)>,
}

impl Decided {
    fn of(run: &Run, decisions: &Decisions) -> Self {
        let state = run.engine.state();
        let place = |task, node| {
            let node = &state.nodes().object(node).name;
            (state.population().task_key(task), node.clone())
        };
        let evictions = decisions.evictions.iter().map(|one| {
            let by = one
                .by
                .map_or_else(String::new, |by| state.population().job_key(by));
            (state.population().task_key(one.task), by)
        });
        let nominations = decisions.nominations.iter();
        Self {
            evictions: evictions.collect(),
            nominations: nominations
                .map(|(task, node)| place(*task, *node))
                .collect(),
            binds: decisions
                .binds
                .iter()
                .map(|one| place(one.task, one.node))
                .collect(),
        }
    }
}

/// The scheduler that is started anew, and the objects it is told then.
struct Restarted {
    run: Run,
    objects: Vec<Delta>,
    /// UIDs of pods that had to go.
    evicted: BTreeSet<String>,
    /// Nodes of pods, by UID.
    bound: BTreeMap<String, String>,
}

impl Restarted {
    /// A new scheduler decides.
    fn decide(&mut self, cycle: u32) -> Decisions {
        self.run.engine = run::engine(&self.run.config, &self.objects);
        let decisions = self.run.decide(cycle);
        let state = self.run.engine.state();
        for eviction in &decisions.evictions {
            let uid = state.task(eviction.task).uid.to_string();
            let is_new = self.evicted.insert(uid.clone());
            assert!(is_new, "{uid} goes again: {}", self.run.context);
        }
        decisions
    }

    /// Makes decisions come true, and writes the statuses of PodGroups.
    fn carry_out(&mut self, cycle: u32, decisions: &Decisions) {
        let state = self.run.engine.state();
        let written = decisions.groups.iter();
        let written = written.map(|ix| {
            (
                state.population().job_key(*ix),
                state.job(*ix).status.clone(),
            )
        });
        let mut written: BTreeMap<String, _> = written.collect();
        self.run.carry_out(cycle, decisions);
        for delta in &mut self.objects {
            let Delta::GroupApply(group) = delta else {
                continue;
            };
            let key = format!("{}/{}", group.namespace, group.name);
            if let Some(status) = written.remove(&key) {
                group.status = status;
            }
        }
        let is_pod = |delta: &Delta| matches!(delta, Delta::PodApply(_));
        self.objects.retain(|delta| !is_pod(delta));
        for pod in self.run.outside.pods.values() {
            if let Some(node) = &pod.node {
                let before = self.bound.entry(pod.uid.clone()).or_insert(node.clone());
                assert_eq!(before, node, "{} moves: {}", pod.uid, self.run.context);
            }
            self.objects.push(Delta::PodApply(Box::new(pod.clone())));
        }
    }

    /// Pods that were promised a place and have none yet.
    fn promised(&self) -> impl Iterator<Item = &PodObject> {
        let pods = self.run.outside.pods.values();
        pods.filter(|pod| pod.node.is_none() && pod.nominated_node.is_some())
    }

    /// In which order several jobs were promised their places stands nowhere.
    fn has_ordered_promises(&self) -> bool {
        let jobs: BTreeSet<_> = self
            .promised()
            .map(|pod| (&pod.namespace, &pod.group))
            .collect();
        jobs.len() > 1
    }
}

/// Without pods that have no PodGroup: that one of them was admitted stands nowhere. And without those that
/// were being deleted before: here nobody lets them go, so whoever is promised their room waits.
fn that_come_and_go(mut objects: Vec<Delta>) -> Vec<Delta> {
    let stays = |pod: &PodObject| pod.group.is_none() || pod.deleting;
    objects.retain(|delta| !matches!(delta, Delta::PodApply(pod) if stays(pod)));
    objects
}

#[test]
fn a_scheduler_that_is_started_anew_before_each_cycle_decides_as_one_that_stays() {
    let (mut compared, mut evictions) = (0, 0);
    for seed in run::seeds(0, CASES) {
        let objects = that_come_and_go(full_cluster(seed));
        let mut stays = Run::new(seed, &objects);
        let mut starts = Restarted {
            run: Run::new(seed, &objects),
            objects,
            evicted: BTreeSet::new(),
            bound: BTreeMap::new(),
        };
        let mut is_twin = true;
        for cycle in 0..CYCLES + SETTLED {
            let is_free = starts.has_ordered_promises();
            let found = starts.decide(cycle);
            if is_twin {
                let expected = stays.decide(cycle);
                let [theirs, own] = [(&stays, &expected), (&starts.run, &found)]
                    .map(|(run, decisions)| Decided::of(run, decisions));
                is_twin = own == theirs;
                let context = &stays.context;
                assert!(is_twin || is_free, "{own:?}, not {theirs:?}: {context}");
                compared += u64::from(is_twin);
                stays.carry_out(cycle, &expected);
            }
            evictions += found.evictions.len() as u64;
            let is_settled = cycle < CYCLES || found.evictions.is_empty();
            assert!(is_settled, "somebody goes still: {}", starts.run.context);
            starts.carry_out(cycle, &found);
        }
        let waits = starts.promised().next();
        assert!(waits.is_none(), "{waits:?} waits: {}", starts.run.context);
    }
    // The cases are not trivial.
    assert!(compared > CASES * u64::from(CYCLES), "{compared} compared");
    assert!(evictions > CASES / 2, "{evictions} evictions");
}
