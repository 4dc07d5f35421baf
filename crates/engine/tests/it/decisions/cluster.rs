//! A small cluster around an engine, and an API server that accepts every Binding.

use std::collections::BTreeMap;

use pumice_conf::{DEFAULT_CONF, parse};
use pumice_engine::{Decisions, Engine};
use pumice_model::object::{GroupCondition, GroupPhase, PodObject};
use pumice_model::{Delta, TaskStatus};

pub use pumice_fixtures::*;

/// A configuration in which nothing stands between a task and the nodes.
pub const NO_QUEUE_PLUGIN: &str = "actions: \"enqueue, allocate, backfill\"\n\
                                   tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n";

/// Objects and the engine that knows them.
pub struct Cluster {
    pub engine: Engine,
    pub pods: BTreeMap<String, PodObject>,
}

impl Cluster {
    /// An empty cluster under the built-in configuration.
    pub fn new() -> Self {
        Self::under(DEFAULT_CONF)
    }

    /// An empty cluster with the default queue, under a configuration.
    pub fn under(conf: &str) -> Self {
        let config = parse(conf, &pumice_engine::REGISTRY)
            .config
            .expect("a configuration");
        let cluster = Self {
            engine: Engine::new(&config, "default"),
            pods: BTreeMap::new(),
        };
        cluster.with(queue("default"))
    }

    /// The first pod, by UID, of those whose Bindings were accepted is gone.
    pub fn first_bound_ends(&mut self) {
        let tasks = self.engine.state().population().tasks();
        let bound = tasks.filter(|(_, task)| task.status == TaskStatus::Bound);
        let first = bound.map(|(_, task)| task.uid.to_string()).min();
        if let Some(uid) = first {
            self.engine.apply(Delta::PodDelete(uid));
        }
    }

    /// With what is new in it, or changes.
    pub fn with(mut self, object: impl ToDelta) -> Self {
        self.apply(object);
        self
    }

    pub fn apply(&mut self, object: impl ToDelta) {
        let delta = object.delta();
        if let Delta::PodApply(pod) = &delta {
            self.pods
                .insert(format!("{}/{}", pod.namespace, pod.name), (**pod).clone());
        }
        self.engine.apply(delta);
    }

    /// One cycle whose Bindings nobody has answered yet.
    pub fn decide(&mut self) -> Decisions {
        self.engine.cycle(0)
    }

    /// One cycle and accepted Bindings: `pod node` of each, in order.
    pub fn cycle(&mut self) -> Vec<String> {
        let decisions = self.decide();
        self.accept(&decisions)
    }

    /// The Bindings of a cycle are accepted: `pod node` of each, in order.
    pub fn accept(&mut self, decisions: &Decisions) -> Vec<String> {
        let state = self.engine.state();
        let mut lines = Vec::new();
        let mut bound = Vec::new();
        for bind in &decisions.binds {
            let key = state.population().task_key(bind.task);
            let node = state.nodes().object(bind.node).name.clone();
            let (_, name) = key.split_once('/').expect("namespace and name");
            lines.push(format!("{name} {node}"));
            let pod = self.pods.get(&key).expect("a known pod").clone();
            bound.push(pod.node(node));
        }
        bound.into_iter().for_each(|pod| self.apply(pod));
        lines
    }

    /// Phase of a PodGroup.
    pub fn phase(&self, group: &str) -> GroupPhase {
        let state = self.engine.state();
        state
            .job(state.population().job_by_key("ns", group).expect("a group"))
            .status
            .phase
    }

    /// A condition of a PodGroup.
    pub fn condition(&self, group: &str, kind: &str) -> Option<GroupCondition> {
        let state = self.engine.state();
        let job = state.job(state.population().job_by_key("ns", group).expect("a group"));
        job.status
            .conditions
            .iter()
            .find(|condition| condition.kind == kind)
            .cloned()
    }

    /// Why a pod waits: reason and message.
    pub fn why(&self, pod: &str) -> (&'static str, String) {
        let task = self
            .engine
            .state()
            .population()
            .task_by_uid(pod)
            .expect("a pod");
        let why = self.engine.known().why_pending(task).expect("it waits");
        (why.reason, why.message)
    }
}
