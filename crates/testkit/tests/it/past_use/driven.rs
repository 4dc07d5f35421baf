//! A small cluster that is driven step by step, told to an engine as objects and to plain lists as what they mean.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use pumice_engine::view::{Ask, QueuesView, View};
use pumice_engine::{Decisions, Engine};
use pumice_fixtures::{
    BuildGroup as _, BuildPod as _, BuildQueue as _, Dice, ToDelta as _, group, node, pod, queue,
};
use pumice_model::Delta;
use pumice_model::object::{GroupObject, GroupPhase, NodeObject, PodObject, PodPhase, QueueObject};
use pumice_model::run_time::{
    DEADLINE, DEFAULT_RUN_TIME, DEFAULT_RUN_TIME_LIMIT, RUN_TIME, RUN_TIME_LIMIT,
};

use super::conf::{Users, conf};
use super::plain::{Job, Outcome, Plain, Pod, Queue, Said};
use crate::run;

/// When a cluster begins, seconds since the epoch.
const BEGIN_S: i64 = 1_000_000;

/// Jobs that wait at a time, at most.
const MAX_WAITING: usize = 8;

/// A cluster and what is outside of it.
pub struct Driven {
    pub engine: Engine,
    pub plain: Plain,
    pub conf_text: String,
    pub now_s: i64,
    /// What happened, for whoever reads of a failure.
    pub story: String,
    users: Users,
    queues: BTreeMap<String, QueueObject>,
    groups: BTreeMap<String, GroupObject>,
    /// By `namespace/name`.
    pods: BTreeMap<String, PodObject>,
    node: NodeObject,
    dice: Dice,
    made: u64,
}

impl Driven {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.below(2);
        let (conf_text, plain, users) = conf(&mut dice);
        let mut driven = Self {
            engine: run::engine(&run::config(&conf_text), &[]),
            plain,
            conf_text,
            now_s: BEGIN_S,
            story: String::new(),
            users,
            queues: BTreeMap::new(),
            groups: BTreeMap::new(),
            pods: BTreeMap::new(),
            node: NodeObject::default(),
            dice,
            made: 0,
        };
        driven.node_is();
        for name in ["default", "qa", "qb"] {
            driven.queue_is(name);
        }
        // It is there, and has nothing below it that takes part.
        driven.plain.queues.insert(
            "root".to_owned(),
            Queue {
                weight: 1,
                created_s: 0,
                said: Said::default(),
            },
        );
        driven
    }

    fn node_is(&mut self) {
        let (cores, memory) = (
            4 + self.dice.below(8) as i64,
            16 + self.dice.below(40) as i64,
        );
        let slots = 10 + self.dice.below(30) as i64;
        self.node = node("n1", &format!("{cores}c {memory}Gi pods={slots}"));
        self.plain.node = [cores * 1000, memory << 30];
        self.plain.slots = slots;
        let _ = writeln!(
            self.story,
            "{} node {cores}c {memory}Gi {slots}",
            self.now_s
        );
        self.engine.apply(self.node.clone().delta());
    }

    /// A queue comes, or is another one from now on.
    fn queue_is(&mut self, name: &str) {
        let weight = 1 + self.dice.below(3) as i64;
        let known = self.plain.queues.get(name).map(|queue| queue.created_s);
        let created_s = known.unwrap_or(BEGIN_S - self.dice.below(2) as i64);
        let (run_times, said) = self.run_times([DEFAULT_RUN_TIME, DEFAULT_RUN_TIME_LIMIT], 3);
        let object = queue(name)
            .uid(format!("{:08x}-{name}", 0x9d5e_77c1_u32 ^ created_s as u32))
            .weight(weight)
            .created_s(created_s)
            .run_times(run_times.clone());
        let _ = writeln!(
            self.story,
            "{} queue {name} {weight} {created_s} {run_times:?}",
            self.now_s
        );
        self.engine.apply(object.clone().delta());
        self.queues.insert(name.to_owned(), object);
        let told = Queue {
            weight,
            created_s,
            said,
        };
        self.plain.queues.insert(name.to_owned(), told);
    }

    /// What somebody writes of run times, one time of so many; as it is written, and as it is meant.
    fn run_times(&mut self, keys: [&str; 2], often: u64) -> (Vec<(String, String)>, Said) {
        let (mut pairs, mut said) = (Vec::new(), Said::default());
        for (at, key) in keys.into_iter().enumerate() {
            if self.dice.below(often) > 0 {
                continue;
            }
            let seconds = 5 + self.dice.below(300) as i64;
            let (text, meant) = match self.dice.below(12) {
                0 => ("soon".to_owned(), None),
                1 => ("0s".to_owned(), None),
                2 => ("200000h".to_owned(), None),
                3 => (format!("{}.2s", seconds - 1), Some(seconds)),
                _ => (format!("{seconds}s"), Some(seconds)),
            };
            pairs.push((key.to_owned(), text));
            let field = if at == 0 {
                &mut said.expected_s
            } else {
                &mut said.limit_s
            };
            *field = meant;
        }
        (pairs, said)
    }

    fn some<T: Clone>(&mut self, all: &[T]) -> Option<T> {
        let at = self.dice.below(all.len().max(1) as u64);
        all.get(at as usize).cloned()
    }

    fn some_pod(&mut self, is_it: fn(&PodObject) -> bool) -> Option<String> {
        let all = self.pods.iter().filter(|(_, pod)| is_it(pod));
        let all: Vec<String> = all.map(|(name, _)| name.clone()).collect();
        self.some(&all)
    }

    /// Something happens.
    pub fn step(&mut self) {
        match self.dice.below(20) {
            0..=3 => self.now_s += 1 + self.dice.below(40) as i64,
            4 => self.now_s += 600 + self.dice.below(20_000) as i64,
            5 => self.clock_goes_back(),
            6..=12 => self.job_comes(),
            13 => {
                if let Some(name) = self.some_pod(|pod| pod.node.is_some()) {
                    self.pod_ends(&name);
                }
            }
            14 => {
                if let Some(name) = self.some_pod(|pod| pod.node.is_some() && !pod.deleting) {
                    self.pod_goes(&name);
                }
            }
            15 => self.group_changes(),
            16 => {
                let name = ["default", "qa", "qb", "qc"][self.dice.below(4) as usize];
                self.queue_is(name);
            }
            17 => self.node_is(),
            18 => self.restart(),
            _ => {
                self.now_s += 1;
                self.pods_that_go_are_gone();
            }
        }
    }

    fn clock_goes_back(&mut self) {
        let back_s = match self.dice.below(2) {
            0 => 1 + self.dice.below(3600) as i64,
            _ => 3601 + self.dice.below(20_000) as i64,
        };
        self.now_s -= back_s;
        let _ = writeln!(self.story, "{} now, {back_s} s back", self.now_s);
    }

    fn user(&self, namespace: &str, said: &str) -> Option<String> {
        match self.users {
            Users::None => None,
            Users::Namespace => Some(namespace.to_owned()),
            Users::Said => Some(said.to_owned()),
        }
    }

    fn said_user(&mut self) -> String {
        ["ada", "bob", "eve", ""][self.dice.below(4) as usize].to_owned()
    }

    fn job_comes(&mut self) {
        let waiting = self.pods.values().filter(|pod| pod.node.is_none());
        if waiting.count() >= MAX_WAITING {
            return;
        }
        self.made += 1;
        let namespace = ["ns-a", "ns-b"][self.dice.below(2) as usize];
        let names: Vec<String> = self.queues.keys().cloned().collect();
        let queue = self.some(&names).unwrap_or_default();
        let name = format!("j{:04}", self.dice.below(10_000));
        let key = format!("{namespace}/{name}");
        if self.groups.contains_key(&key) {
            return;
        }
        let created_s = self.now_s - self.dice.below(2) as i64;
        let said_user = self.said_user();
        let (annotations, said) = self.run_times([RUN_TIME, RUN_TIME_LIMIT], 4);
        let pods = 1 + self.dice.below(3);
        let object = group(&name, pods as i32)
            .namespace(namespace)
            .uid(format!("{:08x}-{}", self.dice.below(1 << 30), self.made))
            .created_s(created_s)
            .queue(&*queue)
            .user(&*said_user)
            .annotations(annotations)
            .phase(GroupPhase::Pending);
        let (cores, memory) = (1 + self.dice.below(3), 1 + self.dice.below(12));
        let job = Job {
            queue,
            user: self.user(namespace, &said_user),
            created_s,
            said,
        };
        let _ = writeln!(
            self.story,
            "{} {key} of {pods} pods, {cores}c {memory}Gi {job:?} {:?}",
            self.now_s, object.annotations
        );
        self.engine.apply(object.clone().delta());
        self.groups.insert(key.clone(), object);
        self.plain.jobs.insert(key.clone(), job);
        // Somebody else may have given it its node.
        let elsewhere = pods == 1 && self.dice.below(4) == 0;
        for at in 0..pods {
            self.pod_comes((namespace, &name), at, (cores, memory), elsewhere);
        }
    }

    fn pod_comes(
        &mut self,
        (namespace, name): (&str, &str),
        at: u64,
        (cores, memory): (u64, u64),
        elsewhere: bool,
    ) {
        let (mut annotations, mut said) = self.run_times([RUN_TIME, RUN_TIME_LIMIT], 5);
        if self.dice.below(6) == 0 {
            let seconds = 5 + self.dice.below(300) as i64;
            annotations.push((DEADLINE.to_owned(), format!("{seconds}s")));
            said.limit_s = Some(said.limit_s.map_or(seconds, |limit_s| limit_s.min(seconds)));
        }
        annotations.sort();
        let mut object = pod(&format!("{name}-{at}"), &format!("{cores}c {memory}Gi"))
            .namespace(namespace)
            .uid(format!(
                "{:08x}-{}-{at}",
                self.dice.below(1 << 30),
                self.made
            ))
            .created_s(self.now_s)
            .group(name)
            .annotations(annotations);
        let since_s = self.now_s - self.dice.below(400) as i64;
        if elsewhere {
            object = object.on("n1").scheduled_s(since_s);
        }
        let key = format!("{namespace}/{}", object.name);
        let _ = writeln!(
            self.story,
            "  {key} {:?} {:?}",
            object.scheduled_s, object.annotations
        );
        let told = Pod {
            job: format!("{namespace}/{name}"),
            asks: [cores as i64 * 1000, (memory as i64) << 30],
            said,
            is_held: elsewhere,
            is_kept: false,
            scheduled_s: object.scheduled_s,
            is_deleting: false,
            is_evicted: false,
        };
        self.engine.apply(object.clone().delta());
        self.pods.insert(key.clone(), object);
        self.plain.pods.insert(key, told);
    }

    /// The pod succeeds, and goes with its group if it is the last.
    fn pod_ends(&mut self, name: &str) {
        let _ = writeln!(self.story, "{} {name} ends", self.now_s);
        let Some(mut object) = self.pods.remove(name) else {
            return;
        };
        object.phase = PodPhase::Succeeded;
        self.engine.apply(object.clone().delta());
        self.is_gone(name, &object);
    }

    fn is_gone(&mut self, name: &str, object: &PodObject) {
        self.plain.pods.remove(name);
        let job = format!(
            "{}/{}",
            object.namespace,
            object.group.clone().unwrap_or_default()
        );
        let mut members = self.pods.values();
        let is_last = !members.any(|pod| {
            format!(
                "{}/{}",
                pod.namespace,
                pod.group.clone().unwrap_or_default()
            ) == job
        });
        if is_last {
            self.engine.apply(Delta::PodDelete(object.uid.clone()));
            self.engine.apply(Delta::GroupDelete(
                object.namespace.clone(),
                object.group.clone().unwrap_or_default(),
            ));
            self.groups.remove(&job);
            self.plain.jobs.remove(&job);
        }
    }

    /// Somebody deletes the pod; it takes its time.
    fn pod_goes(&mut self, name: &str) {
        let _ = writeln!(self.story, "{} {name} is being deleted", self.now_s);
        if let Some(object) = self.pods.get_mut(name) {
            object.deleting = true;
            self.engine.apply(object.clone().delta());
        }
        if let Some(told) = self.plain.pods.get_mut(name) {
            told.is_deleting = true;
        }
    }

    fn pods_that_go_are_gone(&mut self) {
        let going = self.pods.iter().filter(|(_, pod)| pod.deleting);
        let going: Vec<String> = going.map(|(name, _)| name.clone()).collect();
        for name in going {
            if let Some(object) = self.pods.remove(&name) {
                let _ = writeln!(self.story, "{} {name} is gone", self.now_s);
                self.engine.apply(Delta::PodDelete(object.uid.clone()));
                self.is_gone(&name, &object);
            }
        }
    }

    /// Somebody edits a PodGroup: how long it may run, and whose it is.
    fn group_changes(&mut self) {
        let names: Vec<String> = self.groups.keys().cloned().collect();
        let Some(name) = self.some(&names) else {
            return;
        };
        let said_user = self.said_user();
        let (annotations, said) = self.run_times([RUN_TIME, RUN_TIME_LIMIT], 2);
        let Some(object) = self.groups.get_mut(&name) else {
            return;
        };
        object.user.clone_from(&said_user);
        object.annotations = annotations;
        let _ = writeln!(
            self.story,
            "{} {name} is of {said_user} {:?}",
            self.now_s, object.annotations
        );
        self.engine.apply(object.clone().delta());
        let namespace = object.namespace.clone();
        let user = self.user(&namespace, &said_user);
        if let Some(job) = self.plain.jobs.get_mut(&name) {
            (job.user, job.said) = (user, said);
        }
    }

    /// Another process takes over, which knows what objects say.
    fn restart(&mut self) {
        let _ = writeln!(self.story, "{} a process that knows nothing", self.now_s);
        let queues = self.queues.values().cloned().map(|one| one.delta());
        let groups = self.groups.values().cloned().map(|one| one.delta());
        let pods = self.pods.values().cloned().map(|one| one.delta());
        let all = std::iter::once(self.node.clone().delta()).chain(queues);
        let objects: Vec<Delta> = all.chain(groups).chain(pods).collect();
        self.engine = run::engine(&run::config(&self.conf_text), &objects);
        self.plain.forget();
    }

    /// A cycle; what the engine made of it, in the words of the lists. Unless it was skipped they are as they would be then.
    pub fn cycle(&mut self, then: Plain) -> Outcome {
        let mut outcome = Outcome::default();
        let decisions = self.engine.cycle(self.now_s);
        if !decisions.skipped {
            self.plain = then;
        }
        let state = self.engine.state();
        for bind in &decisions.binds {
            let task = state.task(bind.task);
            let job = task
                .job
                .map(|job| state.population().job_key(job))
                .unwrap_or_default();
            if outcome.bound.last() != Some(&job) {
                outcome.bound.push(job);
            }
        }
        let evicted = decisions.evictions.iter();
        let evicted = evicted.map(|one| state.population().task_key(one.task));
        outcome.evicted = evicted.collect();
        outcome.evicted.sort();
        self.come_true(&decisions);
        outcome
    }

    /// Bound pods run, evicted ones are being deleted.
    fn come_true(&mut self, decisions: &Decisions) {
        let state = self.engine.state();
        let key = |task| state.population().task_key(task);
        let bound: Vec<String> = decisions.binds.iter().map(|bind| key(bind.task)).collect();
        let evicted: Vec<String> = decisions
            .evictions
            .iter()
            .map(|one| key(one.task))
            .collect();
        for name in bound {
            let _ = writeln!(self.story, "{} {name} bound", self.now_s);
            let later_s = self.dice.below(2) as i64;
            let Some(object) = self.pods.get_mut(&name) else {
                continue;
            };
            (object.node, object.phase) = (Some("n1".to_owned()), PodPhase::Running);
            object.scheduled_s = Some(self.now_s + later_s);
            self.engine.apply(object.clone().delta());
            if let Some(told) = self.plain.pods.get_mut(&name) {
                told.scheduled_s = object.scheduled_s;
            }
        }
        for name in evicted {
            self.pod_goes(&name);
        }
    }

    /// What the engine says of past use.
    pub fn told(&self) -> QueuesView {
        match self.engine.known().view(&Ask::Queues) {
            Ok(View::Queues(view)) => view,
            other => unreachable!("{other:?}"),
        }
    }
}
