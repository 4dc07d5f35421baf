//! A small cluster that is driven step by step: pods end, jobs come, time passes, and whatever is decided comes true.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use pumice_engine::view::{Ask, Time, View};
use pumice_engine::{Decisions, Engine};
use pumice_fixtures::{
    BuildGroup as _, BuildNode as _, BuildPod as _, BuildQueue as _, Dice, group, node, pod, queue,
};
use pumice_model::Delta;
use pumice_model::object::{
    ContainerFacts, ContainerKind, GroupObject, HighestTier, HyperNodeMembers, HyperNodeObject,
    NodeObject, PodObject, PodPhase, TopologyRequest,
};
use pumice_model::run_time::{RUN_TIME, RUN_TIME_LIMIT};

use crate::run;

/// When a cluster begins, seconds since the epoch.
const BEGIN_S: i64 = 10_000;

/// Jobs that wait at a time, at most.
const MAX_WAITING: usize = 7;

/// Queues, of which one has a limit.
const QUEUES: [&str; 3] = ["default", "free", "held"];

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manners {
    /// Pods end by what they say, who comes comes last, and nothing else happens.
    Kind,
    /// Anything.
    Nasty,
}

/// A job as it came.
pub struct Job {
    pub group: GroupObject,
    /// It has started at some time.
    pub has_started: bool,
    /// It lacked pods again when the cycle began.
    pub is_incomplete: bool,
}

/// A cluster and what is outside of it.
pub struct Driven {
    pub engine: Engine,
    pub conf_text: String,
    pub now_s: i64,
    pub jobs: BTreeMap<String, Job>,
    /// By UID.
    pub pods: BTreeMap<String, PodObject>,
    pub nodes: BTreeMap<String, NodeObject>,
    /// All that was told and is no job, pod or node.
    furniture: Vec<Delta>,
    /// Pods that run longer than they say.
    late: BTreeSet<String>,
    /// Bindings that are confirmed before the next cycle.
    unconfirmed: Vec<Delta>,
    default_limit_s: Option<i64>,
    has_cards: bool,
    has_racks: bool,
    manners: Manners,
    dice: Dice,
    made: i64,
    /// What happened, for whoever reads of a failure.
    pub story: String,
}

fn conf(dice: &mut Dice, manners: Manners) -> (String, Option<i64>) {
    let actions = match (manners, dice.below(3)) {
        (Manners::Kind, _) | (_, 0) => "enqueue, allocate, backfill",
        (_, 1) => "enqueue, allocate, backfill, preempt, reclaim",
        _ => "enqueue, allocate, preempt, backfill",
    };
    // What a queue deserves by `proportion` is less when others ask for more.
    let shares = match (manners, dice.below(3)) {
        (_, 0) | (Manners::Kind, 1) => "",
        (_, 1) => "{name: proportion},",
        _ => "{name: capacity},",
    };
    let scores = ["", "{name: binpack},", "{name: nodeorder},"][dice.below(3) as usize];
    let jobs = [1, 1, 2, 50][dice.below(4) as usize];
    let slack = match manners {
        Manners::Kind => 0,
        Manners::Nasty => 30 * dice.below(2),
    };
    let interval = 30 * dice.below(2);
    let default_limit_s = (dice.below(4) == 0).then(|| 100 + 100 * dice.below(7) as i64);
    let default_limit =
        default_limit_s.map(|limit_s| format!(", reservation.defaultLimit: {limit_s}s"));
    let text = format!(
        "actions: \"{actions}\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}]\n\
         - plugins: [{{name: predicates}}, {shares} {scores} {{name: network-topology-aware}}, \
         {{name: deviceshare, arguments: {{deviceshare.VGPUEnable: true}}}}, \
         {{name: reservation, arguments: {{reservation.jobs: {jobs}, reservation.slack: {slack}s, \
         reservation.interval: {interval}s{}}}}}]\n",
        default_limit.unwrap_or_default()
    );
    (text, default_limit_s)
}

impl Driven {
    pub fn new(seed: u64, manners: Manners) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.below(2);
        let (conf_text, default_limit_s) = conf(&mut dice, manners);
        let config = run::config(&conf_text);
        let mut driven = Self {
            engine: run::engine(&config, &[]),
            conf_text,
            now_s: BEGIN_S,
            jobs: BTreeMap::new(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            furniture: Vec::new(),
            late: BTreeSet::new(),
            unconfirmed: Vec::new(),
            default_limit_s,
            has_cards: dice.below(4) == 0,
            has_racks: dice.below(4) == 0,
            manners,
            dice,
            made: 0,
            story: String::new(),
        };
        // All are tried in every cycle, and it is counted what sleeping would have missed; or nobody looks.
        let interval_s = [0, i64::MAX][(seed % 2) as usize];
        driven.engine.set_full_check_interval_s(Some(interval_s));
        driven.furnish();
        driven
    }

    fn furnish(&mut self) {
        let cores = 3 + self.dice.below(8);
        let held = queue("held").capability(&*format!("{cores}c"));
        for object in [queue("default"), queue("free"), held] {
            self.furniture.push(Delta::QueueApply(Box::new(object)));
        }
        let nodes = 2 + self.dice.below(3);
        for at in 0..nodes {
            self.node_comes(at);
        }
        for rack in 0..if self.has_racks { 2 } else { 0 } {
            let members = (0..nodes).filter(|at| at % 2 == rack);
            let members = members.map(|at| HyperNodeMembers::Node(format!("n{at}")));
            let rack = HyperNodeObject {
                name: format!("rack{rack}"),
                uid: format!("rack{rack}"),
                tier: 1,
                tier_name: String::new(),
                members: members.collect(),
            };
            self.furniture.push(Delta::HyperNodeApply(Box::new(rack)));
        }
        for delta in self.furniture.clone() {
            self.engine.apply(delta);
        }
    }

    fn node_comes(&mut self, at: u64) {
        let name = format!("n{at}");
        let cores = 2 + self.dice.below(5);
        let slots = 3 + self.dice.below(8);
        let mut offer = format!("{cores}c 64Gi pods={slots}");
        let register = format!(
            "GPU-{name}-0,10,24576,NVIDIA-Tesla P40,true,hami-core:\
             GPU-{name}-1,10,24576,NVIDIA-Tesla P40,true,hami-core:"
        );
        if self.has_cards {
            offer +=
                " volcano.sh/vgpu-number=20 volcano.sh/vgpu-memory=49152 volcano.sh/vgpu-cores=200";
        }
        let mut object = node(&name, &offer);
        if self.has_cards {
            let register = [("volcano.sh/node-vgpu-register", register.as_str())];
            object = object.device_annotations(&register);
        }
        let _ = writeln!(self.story, "node {name} {cores}c pods={slots}");
        self.engine
            .apply(Delta::NodeApply(Box::new(object.clone())));
        self.nodes.insert(name, object);
    }

    /// All there is.
    pub fn objects(&self) -> Vec<Delta> {
        let nodes = self.nodes.values().cloned().map(Box::new);
        let groups = self.jobs.values().map(|job| Box::new(job.group.clone()));
        let pods = self.pods.values().cloned().map(Box::new);
        let furniture = self.furniture.iter().cloned();
        let all = furniture.chain(nodes.map(Delta::NodeApply));
        all.chain(groups.map(Delta::GroupApply))
            .chain(pods.map(Delta::PodApply))
            .collect()
    }

    fn is_running(pod: &PodObject) -> bool {
        pod.node.is_some() && pod.phase == PodPhase::Running
    }

    /// When the pod has to be gone by what is said of it.
    fn end_s(&self, pod: &PodObject) -> Option<i64> {
        let said = |key: &str| {
            let mut all = pod.annotations.iter();
            let (_, text) = all.find(|(known, _)| known == key)?;
            text.strip_suffix('s')?.parse::<i64>().ok()
        };
        let bound_s = said(RUN_TIME_LIMIT)
            .or(said(RUN_TIME))
            .or(self.default_limit_s)?;
        Some(pod.scheduled_s.filter(|_| Self::is_running(pod))? + bound_s)
    }

    /// Something happens.
    pub fn step(&mut self) {
        for delta in std::mem::take(&mut self.unconfirmed) {
            self.engine.apply(delta);
        }
        let ends = self
            .pods
            .values()
            .filter(|pod| !self.late.contains(&pod.uid));
        let ends = ends.filter_map(|pod| self.end_s(pod)).min();
        match self.dice.below(12) {
            0..=2 => self.now_s = ends.unwrap_or(self.now_s + 1),
            3..=5 => {
                let later_s = self.now_s + 1 + self.dice.below(60) as i64;
                self.now_s = ends.map_or(later_s, |end_s| end_s.min(later_s));
            }
            6 => self.pod_ends_early(),
            7 if self.manners == Manners::Nasty => self.something_bad_happens(),
            _ => self.job_comes(),
        }
        let over = self.pods.values();
        let over = over.filter(|pod| self.end_s(pod).is_some_and(|end_s| end_s <= self.now_s));
        let over = over.filter(|pod| !self.late.contains(&pod.uid));
        let over: Vec<String> = over.map(|pod| pod.uid.clone()).collect();
        over.into_iter().for_each(|uid| self.pod_ends(&uid));
    }

    fn some_running(&mut self) -> Option<String> {
        let running = self.pods.values().filter(|pod| Self::is_running(pod));
        let running: Vec<String> = running.map(|pod| pod.uid.clone()).collect();
        let at = self.dice.below(running.len().max(1) as u64);
        running.get(at as usize).cloned()
    }

    fn pod_ends_early(&mut self) {
        if let Some(uid) = self.some_running() {
            self.pod_ends(&uid);
        }
    }

    /// The pod succeeds where others of its job may still come; a job that is over goes.
    fn pod_ends(&mut self, uid: &str) {
        let Some(mut pod) = self.pods.remove(uid) else {
            return;
        };
        let _ = writeln!(self.story, "{} {uid} ends", self.now_s);
        let job = pod.group.clone().unwrap_or_default();
        pod.phase = PodPhase::Succeeded;
        self.engine.apply(Delta::PodApply(Box::new(pod.clone())));
        self.pods.insert(uid.to_owned(), pod);
        let members = self.pods.values();
        let members = members.filter(|pod| pod.group.as_deref() == Some(&job));
        if members.clone().any(|pod| pod.phase != PodPhase::Succeeded) {
            return;
        }
        let members: Vec<String> = members.map(|pod| pod.uid.clone()).collect();
        for uid in members {
            self.pods.remove(&uid);
            self.engine.apply(Delta::PodDelete(uid));
        }
        self.jobs.remove(&job);
        self.engine.apply(Delta::GroupDelete("ns".to_owned(), job));
    }

    /// A pod without limit stays for long, one runs over, is deleted, a node goes or comes back.
    fn something_bad_happens(&mut self) {
        match self.dice.below(4) {
            0 => {
                if let Some(uid) = self.some_running() {
                    let _ = writeln!(self.story, "{} {uid} runs on", self.now_s);
                    self.late.insert(uid);
                }
            }
            1 => {
                if let Some(uid) = self.some_running() {
                    self.pod_goes(&uid);
                }
            }
            2 => self.now_s += 500,
            _ => {
                let at = self.dice.below(4);
                let name = format!("n{at}");
                if self.nodes.remove(&name).is_none() {
                    return self.node_comes(at);
                }
                let _ = writeln!(self.story, "{} node {name} goes", self.now_s);
                self.engine.apply(Delta::NodeDelete(name.clone()));
                let there = self.pods.values();
                let there = there.filter(|pod| pod.node.as_ref() == Some(&name));
                let there: Vec<String> = there.map(|pod| pod.uid.clone()).collect();
                there.into_iter().for_each(|uid| self.pod_goes(&uid));
            }
        }
    }

    /// The pod is deleted, and another comes in its place.
    fn pod_goes(&mut self, uid: &str) {
        let Some(mut pod) = self.pods.remove(uid) else {
            return;
        };
        let _ = writeln!(self.story, "{} {uid} is deleted", self.now_s);
        self.engine.apply(Delta::PodDelete(uid.to_owned()));
        pod.uid += "'";
        (pod.node, pod.scheduled_s, pod.phase) = (None, None, PodPhase::Pending);
        pod.records.clear();
        self.engine.apply(Delta::PodApply(Box::new(pod.clone())));
        self.pods.insert(pod.uid.clone(), pod);
    }

    fn waiting(&self) -> usize {
        let jobs = self.jobs.values();
        jobs.filter(|job| !job.has_started).count()
    }

    fn job_comes(&mut self) {
        if self.waiting() >= MAX_WAITING {
            return;
        }
        self.made += 1;
        let name = format!("j{:04}", self.made);
        let min = 1 + self.dice.below(3) as i32;
        let (priority, created_s) = match self.manners {
            Manners::Kind => (1, self.made),
            Manners::Nasty => (
                1 + self.dice.below(3) as i32,
                1 + self.dice.below(50) as i64,
            ),
        };
        let queue = QUEUES[self.dice.below(3) as usize];
        let mut object = group(&name, min).queue(queue).created_s(created_s);
        if self.has_racks && self.dice.below(2) == 0 {
            object = object.topology(Some(TopologyRequest::Hard(HighestTier::Number(1))));
        }
        let extra = i32::from(self.dice.below(6) == 0);
        let least = u64::from(self.manners == Manners::Kind);
        let cores = least + self.dice.below(5 - least);
        let mut request = format!("{cores}c");
        if cores == 0 {
            request = String::new();
        }
        if self.has_cards && self.dice.below(2) == 0 {
            let memory = 8000 * (1 + self.dice.below(3));
            let _ = write!(
                request,
                " volcano.sh/vgpu-number=1 volcano.sh/vgpu-memory={memory}"
            );
        }
        let times = self.run_times();
        let _ = writeln!(
            self.story,
            "{} {name} min:{min}+{extra} {queue} priority:{priority} created:{created_s} {request} {times:?} {:?}",
            self.now_s, object.topology
        );
        self.engine
            .apply(Delta::GroupApply(Box::new(object.clone())));
        for at in 0..min + extra {
            let mut member = pod(&format!("{name}-{at}"), &request);
            let extended = member.request.iter().filter(|(name, _)| name.contains('/'));
            member.facts.containers = vec![ContainerFacts {
                kind: ContainerKind::Regular,
                amounts: extended.cloned().collect(),
            }];
            member.annotations = times.clone();
            let member = member
                .group(name.as_str())
                .created_s(created_s)
                .priority(priority);
            self.engine.apply(Delta::PodApply(Box::new(member.clone())));
            self.pods.insert(member.uid.clone(), member);
        }
        let job = Job {
            group: object,
            has_started: false,
            is_incomplete: false,
        };
        self.jobs.insert(name, job);
    }

    /// What the pods of a job say of how long they run.
    fn run_times(&mut self) -> Vec<(String, String)> {
        let mut say = |key: &str| {
            (
                key.to_owned(),
                format!("{}s", 20 + 10 * self.dice.below(40)),
            )
        };
        let (expected, limit) = (say(RUN_TIME), say(RUN_TIME_LIMIT));
        match self.dice.below(10) {
            0 => Vec::new(),
            1 => vec![expected],
            2 => vec![expected, limit],
            _ => vec![limit],
        }
    }

    /// A cycle; who was bound, by job.
    pub fn cycle(&mut self) -> BTreeMap<String, usize> {
        let decisions = self.engine.cycle(self.now_s);
        let bound = self.accept(&decisions);
        for uid in self.evicted(&decisions) {
            self.pod_goes(&uid);
        }
        bound
    }

    fn evicted(&self, decisions: &Decisions) -> Vec<String> {
        let state = self.engine.state();
        let evictions = decisions.evictions.iter();
        evictions
            .map(|one| state.task(one.task).uid.to_string())
            .collect()
    }

    fn accept(&mut self, decisions: &Decisions) -> BTreeMap<String, usize> {
        let mut bound = BTreeMap::new();
        for bind in &decisions.binds {
            let state = self.engine.state();
            let node = state.nodes().object(bind.node).name.clone();
            let uid = state.task(bind.task).uid.to_string();
            let _ = writeln!(self.story, "{} {uid} on {node}", self.now_s);
            let pod = self.pods.get_mut(&uid).expect("a known pod");
            (pod.node, pod.phase) = (Some(node), PodPhase::Running);
            (pod.scheduled_s, pod.records) = (Some(self.now_s), run::records(bind));
            *bound
                .entry(pod.group.clone().unwrap_or_default())
                .or_default() += 1;
            self.unconfirmed
                .push(Delta::PodApply(Box::new(pod.clone())));
        }
        if self.manners == Manners::Kind || self.dice.below(3) > 0 {
            for delta in std::mem::take(&mut self.unconfirmed) {
                self.engine.apply(delta);
            }
        }
        bound
    }

    /// Pods of the job that have a node or have ended well.
    pub fn ready(&self, job: &str) -> usize {
        let members = self.pods.values();
        let members = members.filter(|pod| pod.group.as_deref() == Some(job));
        members.filter(|pod| pod.node.is_some()).count()
    }

    /// Who has enough pods has started.
    pub fn note_started(&mut self) {
        let names: Vec<String> = self.jobs.keys().cloned().collect();
        for name in names {
            let ready = self.ready(&name);
            let job = self.jobs.get_mut(&name).expect("a job");
            job.has_started |= ready >= job.group.min_member as usize;
        }
    }

    /// Who has started and has not enough pods any more is completed before others.
    pub fn note_incomplete(&mut self) {
        let names: Vec<String> = self.jobs.keys().cloned().collect();
        for name in names {
            let ready = self.ready(&name);
            let job = self.jobs.get_mut(&name).expect("a job");
            job.is_incomplete = job.has_started && ready < job.group.min_member as usize;
        }
    }

    /// Whether one job is before another one in the queue of both.
    pub fn goes_before(&self, one: &str, other: &str) -> bool {
        let (Some(one), Some(other)) = (self.jobs.get(one), self.jobs.get(other)) else {
            return false;
        };
        let is_older = one.group.created_s < other.group.created_s;
        one.group.queue == other.group.queue && (is_older || one.is_incomplete)
    }

    /// When the job is to start.
    pub fn planned(&self, job: &str) -> Option<Time> {
        let (namespace, name) = ("ns".to_owned(), job.to_owned());
        match self.engine.known().view(&Ask::Job { namespace, name }) {
            Ok(View::Job(view)) => view.planned?.at,
            other => unreachable!("{other:?}"),
        }
    }
}
