//! A plan on a quiet cluster is what then happens: pods go where it says, the same ones are evicted, and the cluster
//! that was asked is as it was.

mod claims;
mod what_ifs;

use std::collections::BTreeMap;

use pumice_conf::Config;
use pumice_engine::Engine;
use pumice_model::object::PodObject;
use pumice_model::{Delta, TaskIx};
use pumice_plan::{PlanBounds, PlanQuestion, PlanView, answer};
use pumice_testkit::generate::{
    claims_cluster, claims_conf_text, cluster, conf_text, evicting_conf_text, full_cluster,
    full_network_cluster, full_tree_cluster, full_vendor_cluster, gang_that_claims,
    network_cluster, network_conf_text, npu_cluster, npu_conf_text, tree_conf_text, vendor_cluster,
    vendor_conf_text,
};

use crate::run;
use claims::QuietClaims;

/// Clusters of each kind.
const CASES: u64 = 50;

/// Clusters whose pods claim devices.
const CLAIM_CASES: u64 = 80;

/// Most cycles until a cluster is at rest.
const MAX_CYCLES: i64 = 200;

/// When it is asked, seconds since the epoch.
const ASKED_S: i64 = 1_000;

/// A cluster and a configuration of a seed.
type ClusterOf = fn(u64) -> Vec<Delta>;
type ConfOf = fn(u64) -> String;

/// Pods by `namespace/name` with their nodes, and who was evicted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Happened {
    placed: BTreeMap<String, String>,
    evicted: Vec<String>,
}

/// A cluster in which whatever is decided comes true at once, and nothing else happens.
struct Quiet {
    engine: Engine,
    pods: BTreeMap<String, PodObject>,
    claims: QuietClaims,
}

impl Quiet {
    fn new(config: &Config, objects: &[Delta]) -> Self {
        let mut quiet = Self {
            engine: run::engine(config, &[]),
            pods: BTreeMap::new(),
            claims: QuietClaims::default(),
        };
        quiet.take(objects);
        quiet
    }

    fn take(&mut self, objects: &[Delta]) {
        for delta in objects {
            match delta {
                Delta::PodApply(pod) => {
                    self.pods.insert(pod.uid.clone(), PodObject::clone(pod));
                }
                Delta::ResourceClaimApply(claim) => self.claims.take(claim),
                _ => {}
            }
            self.engine.apply(delta.clone());
        }
    }

    /// Runs until it is at rest; `None` if it never is.
    fn settle(&mut self, from_s: i64) -> Option<Happened> {
        let mut happened = Happened::default();
        for now_s in from_s..from_s + MAX_CYCLES {
            let decisions = self.engine.cycle(now_s);
            let state = self.engine.state();
            let key = |task: TaskIx| state.population().task_key(task);
            let mut told = self.claims.all_given_back(&decisions);
            for bind in &decisions.binds {
                let node = state.nodes().object(bind.node).name.clone();
                happened.placed.insert(key(bind.task), node.clone());
                let pod = self.pods.get_mut(&*state.task(bind.task).uid)?;
                told.extend(self.claims.bound(&bind.claims, &pod.uid));
                (pod.node, pod.records) = (Some(node), run::records(bind));
                told.push(Delta::PodApply(Box::new(pod.clone())));
            }
            for eviction in &decisions.evictions {
                happened.placed.remove(&key(eviction.task));
                happened.evicted.push(key(eviction.task));
                let uid = state.task(eviction.task).uid.to_string();
                let gone = self.pods.remove(&uid)?;
                told.push(Delta::PodDelete(uid));
                told.extend(self.claims.left(&gone));
            }
            if decisions.settled && told.is_empty() {
                happened.evicted.sort();
                return Some(happened);
            }
            told.into_iter().for_each(|delta| self.engine.apply(delta));
        }
        None
    }
}

/// What a plan says, in the words of what happens: all jobs and all differences.
fn planned(view: &PlanView, asked: &Quiet) -> Happened {
    let mut planned = Happened::default();
    let had = |pod: &str| {
        let population = asked.engine.state().population();
        let mut all = population.tasks();
        let found = all.find(|(ix, _)| population.task_key(*ix) == pod);
        found.is_some_and(|(_, task)| task.node.is_some() && !task.status.is_undecided())
    };
    let of_jobs = view.jobs.iter().flat_map(|job| &job.pods);
    let of_jobs = of_jobs.filter(|one| !had(&one.pod));
    planned
        .placed
        .extend(of_jobs.map(|one| (one.pod.clone(), one.node.clone())));
    for other in &view.others {
        if let Some(node) = other.then.strip_prefix("on ") {
            planned.placed.insert(other.pod.clone(), node.to_owned());
        }
    }
    planned.evicted = view.evicted.iter().map(|one| one.pod.clone()).collect();
    planned.evicted.sort();
    planned
}

/// The objects without the last PodGroup, if there are some whose waiting pods claim devices of these, its pods and the
/// claims that are theirs alone, and those.
fn split(objects: Vec<Delta>) -> Option<(Vec<Delta>, Vec<Delta>)> {
    let that_claim = claims::groups_that_claim(&objects);
    let groups = objects.iter().filter_map(|delta| match delta {
        Delta::GroupApply(group) => Some((group.namespace.clone(), group.name.clone())),
        _ => None,
    });
    let last = groups.max_by_key(|group| that_claim.contains(group))?;
    let is_new = |delta: &Delta| match delta {
        Delta::GroupApply(group) => (&group.namespace, &group.name) == (&last.0, &last.1),
        Delta::PodApply(pod) => {
            pod.namespace == last.0 && pod.group.as_deref() == Some(&last.1) && pod.node.is_none()
        }
        _ => false,
    };
    let (new, old): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_new);
    let own = claims::only_of(&new, &old);
    let is_own = |delta: &Delta| match delta {
        Delta::ResourceClaimApply(claim) => {
            own.contains(&(claim.namespace.clone(), claim.name.clone()))
        }
        _ => false,
    };
    let (claims, old): (Vec<_>, Vec<_>) = old.into_iter().partition(is_own);
    Some((old, [new, claims].concat()))
}

/// An object as an API server makes it at that time: a pod has the priority of its class.
fn as_made(quiet: &Quiet, mut object: Delta) -> Delta {
    match &mut object {
        Delta::GroupApply(group) => group.created_s = ASKED_S,
        Delta::PodApply(pod) => {
            pod.created_s = ASKED_S;
            let classes = quiet.engine.state().population().priority_classes();
            pod.priority = classes.value(&pod.priority_class).unwrap_or(pod.priority);
        }
        _ => {}
    }
    object
}

/// In how many clusters something happened.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Some pod found a place.
    placed: usize,
    /// One was evicted.
    evicted: usize,
    /// Claims were given devices.
    given: usize,
    /// Devices of claims were free for others once a pod was gone.
    freed: usize,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            placed: self.placed + other.placed,
            evicted: self.evicted + other.evicted,
            given: self.given + other.given,
            freed: self.freed + other.freed,
        }
    }
}

/// What happens to a cluster to which something new comes; `None` where nothing can be asked.
fn comes_true((old, new): (Vec<Delta>, Vec<Delta>), conf: &str, seed: u64) -> Option<Counts> {
    let config = run::config(conf);
    let mut quiet = Quiet::new(&config, &old);
    quiet.settle(0)?;
    // Whatever only time brings has happened.
    quiet.settle(ASKED_S - MAX_CYCLES)?;
    let before = quiet.engine.state().dump();
    let new = new.into_iter().map(|delta| as_made(&quiet, delta));
    let new: Vec<Delta> = new.collect();
    let question = PlanQuestion {
        objects: new.clone(),
        ..PlanQuestion::default()
    };
    let bounds = PlanBounds {
        cycles: MAX_CYCLES as u32,
        tries: 3,
    };
    let fork = quiet.engine.fork();
    let plan = answer(fork, &config, &question, ASKED_S, bounds, &|| true).expect("a plan");
    assert!(
        quiet.engine.state().dump() == before,
        "seed {seed}: it left something"
    );
    let said = planned(&plan, &quiet);
    if quiet.settle(ASKED_S)? != Happened::default() {
        // It was not at rest.
        return None;
    }
    (quiet.claims.given, quiet.claims.freed) = (0, 0);
    quiet.take(&claims::one_by_one(new));
    let then = quiet.settle(ASKED_S)?;
    assert_eq!(said, then, "seed {seed}: {plan:#?}");
    Some(Counts {
        placed: usize::from(!then.placed.is_empty()),
        evicted: usize::from(!then.evicted.is_empty()),
        given: usize::from(quiet.claims.given > 0),
        freed: usize::from(quiet.claims.freed > 0),
    })
}

/// What happens in so many clusters.
fn all_come_true(cases: u64, of: ClusterOf, conf: ConfOf) -> Counts {
    let seeds = run::seeds(0, cases);
    let happened = seeds.filter_map(|seed| comes_true(split(of(seed))?, &conf(seed), seed));
    happened.fold(Counts::default(), Counts::plus)
}

/// What happens in so many clusters to which a gang comes that claims devices.
fn gangs_come_true(cases: u64, number: fn(u64) -> u64) -> Counts {
    let seeds = run::seeds(0, cases).map(number);
    let happened = seeds.filter_map(|seed| {
        let objects = claims_cluster(seed);
        let gang = gang_that_claims(seed, &objects);
        comes_true((objects, gang), &claims_conf_text(seed), seed)
    });
    happened.fold(Counts::default(), Counts::plus)
}

#[test]
fn plans_of_small_clusters_come_true() {
    let counts = all_come_true(CASES, cluster, conf_text);
    assert!(counts.placed > 8, "{counts:?}");
}

#[test]
fn plans_with_cards_come_true() {
    let of_vendors = all_come_true(CASES, vendor_cluster, vendor_conf_text);
    let npus = all_come_true(CASES, npu_cluster, npu_conf_text);
    assert!(
        of_vendors.placed > 8 && npus.placed > 8,
        "{of_vendors:?}, {npus:?}"
    );
}

#[test]
fn plans_in_domains_come_true() {
    let counts = all_come_true(CASES, network_cluster, network_conf_text);
    assert!(counts.placed > 8, "{counts:?}");
}

#[test]
fn plans_that_evict_come_true() {
    let kinds: [(ClusterOf, ConfOf); 4] = [
        (full_cluster, evicting_conf_text),
        (full_tree_cluster, tree_conf_text),
        (full_network_cluster, evicting_conf_text),
        (full_vendor_cluster, evicting_conf_text),
    ];
    let counts = kinds.map(|(of, conf)| all_come_true(CASES, of, conf));
    let evicted: usize = counts.iter().map(|counts| counts.evicted).sum();
    assert!(evicted > 10, "{counts:?}");
}

/// In half of the clusters claims have devices already that keep their pods away; a third of them are full.
#[test]
fn plans_for_gangs_that_claim_devices_come_true() {
    let counts = gangs_come_true(CLAIM_CASES, |seed| seed);
    assert!(counts.given > 10, "{counts:?}");
    let counts = all_come_true(CLAIM_CASES / 2, claims_cluster, claims_conf_text);
    assert!(counts.placed > 2, "{counts:?}");
}

/// Only in those of these clusters that are full.
#[test]
fn plans_that_evict_pods_with_devices_come_true() {
    let counts = gangs_come_true(CLAIM_CASES, |seed| 6 * (seed / 2) + 4 + seed % 2);
    assert!(counts.evicted > 3 && counts.freed > 2, "{counts:?}");
}
