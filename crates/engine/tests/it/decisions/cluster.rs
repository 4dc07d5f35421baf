//! A small cluster around an engine: objects in the words of the tests, and an API server that
//! accepts every Binding.

use std::collections::BTreeMap;

use pumice_conf::{DEFAULT_CONF, parse};
use pumice_engine::{Decisions, Engine};
use pumice_model::Delta;
use pumice_model::object::{
    Amounts, GroupCondition, GroupObject, GroupPhase, GroupStatus, NodeObject, Pairs, PodObject,
    PodPhase, PodTerm, QueueObject, Requirement, Selector, SelectorOp,
};

/// Label whose values are the nodes.
pub const HOSTNAME: &str = "kubernetes.io/hostname";

/// A configuration in which nothing stands between a task and the nodes.
pub const NO_QUEUE_PLUGIN: &str = "actions: \"enqueue, allocate, backfill\"\n\
                                   tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n";

/// `2c 4Gi pods=10 example.com/x=1` as amounts in stored units.
pub fn amounts(text: &str) -> Amounts {
    let word = |word: &str| {
        let number = |digits: &str| digits.parse::<i64>().expect("a number");
        if let Some(cores) = word.strip_suffix('c') {
            return ("cpu".to_owned(), number(cores) * 1000);
        }
        if let Some(gib) = word.strip_suffix("Gi") {
            return ("memory".to_owned(), number(gib) << 30);
        }
        let (name, count) = word.split_once('=').expect("an amount");
        let unit = if name == "pods" { 1 } else { 1000 };
        (name.to_owned(), number(count) * unit)
    };
    let mut amounts: Amounts = text.split_whitespace().map(word).collect();
    amounts.sort();
    amounts
}

/// Sorted pairs.
pub fn pairs(pairs: &[(&str, &str)]) -> Pairs {
    let mut pairs: Pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    pairs.sort();
    pairs
}

/// A node with its host name as a label.
pub fn node(name: &str, allocatable: &str) -> NodeObject {
    NodeObject {
        name: name.to_owned(),
        uid: name.to_owned(),
        labels: pairs(&[(HOSTNAME, name)]),
        allocatable: amounts(allocatable),
        ..NodeObject::default()
    }
}

/// A pending pod of ours without PodGroup.
pub fn pod(name: &str, request: &str) -> PodObject {
    let mut request = amounts(request);
    let of = |wanted: &str| {
        request
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, n)| *n)
    };
    let (cpu, memory) = (of("cpu").unwrap_or(100), of("memory").unwrap_or(200 << 20));
    request.push(("pods".to_owned(), 1));
    request.sort();
    PodObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        ours: true,
        priority: 1,
        request,
        nonzero_cpu_milli: cpu,
        nonzero_memory_bytes: memory,
        container_count: 1,
        ..PodObject::default()
    }
}

/// The pod running on a node.
pub fn on(node: &str, pod: PodObject) -> PodObject {
    PodObject {
        node: Some(node.to_owned()),
        phase: PodPhase::Running,
        ..pod
    }
}

/// The pod, made by a controller that would make it again.
pub fn controlled(pod: PodObject) -> PodObject {
    PodObject {
        owners: vec![("ReplicaSet".to_owned(), "web-1".to_owned())],
        controlled: true,
        ..pod
    }
}

/// The pod as a member of a PodGroup.
pub fn member(group: &str, pod: PodObject) -> PodObject {
    PodObject {
        group: Some(group.to_owned()),
        ..pod
    }
}

/// The pod with a label `app`, created at a time.
pub fn app(app: &str, created_s: i64, pod: PodObject) -> PodObject {
    PodObject {
        labels: pairs(&[("app", app)]),
        created_s,
        ..pod
    }
}

/// Pods of that app in namespace `ns`, node by node.
pub fn pods_of(app: &str) -> PodTerm {
    PodTerm {
        namespaces: vec!["ns".to_owned()],
        namespace_selector: None,
        selector: Some(selector("app", SelectorOp::In(vec![app.to_owned()]))),
        topology_key: HOSTNAME.to_owned(),
    }
}

/// A selector with one requirement.
pub fn selector(key: &str, op: SelectorOp) -> Selector {
    Selector {
        requirements: vec![Requirement {
            key: key.to_owned(),
            op,
        }],
    }
}

/// An admitted PodGroup of the default queue.
pub fn group(name: &str, min_member: i32) -> GroupObject {
    GroupObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        min_member,
        status: GroupStatus {
            phase: GroupPhase::Inqueue,
            ..GroupStatus::default()
        },
        ..GroupObject::default()
    }
}

/// The PodGroup in phase Pending.
pub fn waiting(group: GroupObject) -> GroupObject {
    GroupObject {
        status: GroupStatus::default(),
        ..group
    }
}

/// An open queue.
pub fn queue(name: &str) -> QueueObject {
    QueueObject {
        name: name.to_owned(),
        weight: 1,
        reclaimable: true,
        ..QueueObject::default()
    }
}

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
        cluster.queue(queue("default"))
    }

    pub fn node(self, node: NodeObject) -> Self {
        self.with(Delta::NodeApply(Box::new(node)))
    }

    pub fn queue(self, queue: QueueObject) -> Self {
        self.with(Delta::QueueApply(Box::new(queue)))
    }

    pub fn group(self, group: GroupObject) -> Self {
        self.with(Delta::GroupApply(Box::new(group)))
    }

    pub fn pod(self, pod: PodObject) -> Self {
        self.with(Delta::PodApply(Box::new(pod)))
    }

    pub fn with(mut self, delta: Delta) -> Self {
        self.apply(delta);
        self
    }

    pub fn apply(&mut self, delta: Delta) {
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
            bound.push(PodObject {
                node: Some(node),
                ..pod
            });
        }
        bound
            .into_iter()
            .for_each(|pod| self.apply(Delta::PodApply(Box::new(pod))));
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

/// Numbers that look random, the same for a seed every time.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}
