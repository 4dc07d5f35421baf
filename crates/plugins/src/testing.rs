//! Small clusters for the tests of this crate, written in the words of the specification.

use pumice_conf::{ActionSpec, Arg, ArgSpec, Registry};
use pumice_framework::{Class, CycleInfo, Plugin};
use pumice_model::object::{
    Amounts, GroupObject, GroupPhase, GroupStatus, NodeObject, Pairs, PodObject, PodPhase,
    QueueObject, Taint, TaintEffect,
};
use pumice_model::{Delta, JobIx, QueueIx, State, TaskIx};

const ARGUMENTS: &[ArgSpec] = &[Arg::switch(
    "predicateErrorCacheEnable",
    true,
    "Any argument of an action.",
)
.spec()];

const fn action(name: &'static str) -> ActionSpec {
    ActionSpec {
        name,
        summary: "An action.",
        args: ARGUMENTS,
    }
}

/// The plugins, and actions for them to be configured with.
pub static REGISTRY: Registry = Registry {
    plugins: crate::SPECS,
    actions: &[action("enqueue"), action("allocate"), action("backfill")],
};

/// `1c 500m 2Gi 64Mi gpu=2 pods=110 example.com/x=1` as amounts in stored units.
pub fn amounts(text: &str) -> Amounts {
    let mut amounts: Amounts = text.split_whitespace().map(amount).collect();
    amounts.sort();
    amounts
}

fn amount(word: &str) -> (String, i64) {
    let number = |digits: &str| digits.parse::<i64>().expect("a number");
    if let Some((name, count)) = word.split_once('=') {
        return match name {
            "pods" => ("pods".to_owned(), number(count)),
            "gpu" => ("nvidia.com/gpu".to_owned(), number(count) * 1000),
            "cpu" | "memory" => (name.to_owned(), number(count)),
            other => (other.to_owned(), number(count) * 1000),
        };
    }
    for (suffix, name, unit) in [
        ("Gi", "memory", 1 << 30),
        ("Mi", "memory", 1 << 20),
        ("c", "cpu", 1000),
        ("m", "cpu", 1),
    ] {
        if let Some(digits) = word.strip_suffix(suffix) {
            return (name.to_owned(), number(digits) * unit);
        }
    }
    panic!("no amount: {word}")
}

/// `a=1 b=2` as pairs.
pub fn pairs(text: &str) -> Pairs {
    let mut pairs: Pairs = text
        .split_whitespace()
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    pairs.sort();
    pairs
}

/// A taint written `key=value:Effect` or `key:Effect`.
pub fn taint(text: &str) -> Taint {
    let (rest, effect) = text.split_once(':').expect("an effect");
    let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
    let effect = match effect {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        other => panic!("no effect: {other}"),
    };
    Taint {
        key: key.to_owned(),
        value: value.to_owned(),
        effect,
    }
}

/// A node of this name that offers these amounts.
pub fn node(name: &str, allocatable: &str) -> NodeObject {
    NodeObject {
        name: name.to_owned(),
        allocatable: amounts(allocatable),
        ..NodeObject::default()
    }
}

/// A pending pod of ours with one container.
pub fn pod(name: &str, request: &str) -> PodObject {
    let mut request = amounts(request);
    let of = |wanted: &str| {
        request
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, n)| *n)
    };
    let nonzero_cpu_milli = of("cpu").unwrap_or(100);
    let nonzero_memory_bytes = of("memory").unwrap_or(200 << 20);
    request.push(("pods".to_owned(), 1));
    request.sort();
    PodObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        ours: true,
        priority: 1,
        request,
        nonzero_cpu_milli,
        nonzero_memory_bytes,
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

/// An open queue.
pub fn queue(name: &str, weight: i64) -> QueueObject {
    QueueObject {
        name: name.to_owned(),
        weight,
        reclaimable: true,
        ..QueueObject::default()
    }
}

/// A PodGroup of a queue, `minMember` 1, admitted.
pub fn group(name: &str, queue: &str) -> GroupObject {
    GroupObject {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
        uid: name.to_owned(),
        min_member: 1,
        queue: queue.to_owned(),
        status: GroupStatus {
            phase: GroupPhase::Inqueue,
            ..GroupStatus::default()
        },
        ..GroupObject::default()
    }
}

/// The PodGroup in a phase and with `minResources`.
pub fn asking(phase: GroupPhase, min_resources: &str, group: GroupObject) -> GroupObject {
    let status = GroupStatus {
        phase,
        ..group.status
    };
    GroupObject {
        min_resources: Some(amounts(min_resources)),
        status,
        ..group
    }
}

/// A cluster in the making.
#[derive(Default)]
pub struct Cluster {
    deltas: Vec<Delta>,
}

impl Cluster {
    pub fn node(mut self, node: NodeObject) -> Self {
        self.deltas.push(Delta::NodeApply(Box::new(node)));
        self
    }

    pub fn queue(mut self, queue: QueueObject) -> Self {
        self.deltas.push(Delta::QueueApply(Box::new(queue)));
        self
    }

    pub fn group(mut self, group: GroupObject) -> Self {
        self.deltas.push(Delta::GroupApply(Box::new(group)));
        self
    }

    pub fn pod(mut self, pod: PodObject) -> Self {
        self.deltas.push(Delta::PodApply(Box::new(pod)));
        self
    }

    /// Several equal pods of a group; their names are unique in the cluster.
    pub fn pods(mut self, count: usize, group: &str, pod: PodObject) -> Self {
        for _ in 0..count {
            let name = format!("{group}-{}", self.deltas.len());
            let group = Some(group.to_owned());
            self = self.pod(PodObject {
                uid: name.clone(),
                name,
                group,
                ..pod.clone()
            });
        }
        self
    }

    pub fn build(self) -> State {
        let mut state = State::new("default");
        for delta in self.deltas {
            state.apply(delta);
        }
        state.seal();
        state.admissions().learn();
        state.changes().settle_books();
        state
    }
}

/// The plugin after it has seen the cycle open.
pub fn opened<P: Plugin>(mut plugin: P, state: &State) -> P {
    plugin.open(state, &CycleInfo::default());
    plugin
}

pub fn job(state: &State, name: &str) -> JobIx {
    state.population().job_by_key("ns", name).expect("a job")
}

pub fn queue_ix(state: &State, name: &str) -> QueueIx {
    state.population().queue_by_name(name).expect("a queue")
}

pub fn task(state: &State, uid: &str) -> TaskIx {
    state.population().task_by_uid(uid).expect("a task")
}

/// The class of a pod.
pub fn class(state: &State, uid: &str) -> Class {
    Class::of(state, task(state, uid))
}

/// Names of tasks, in their order.
pub fn names(state: &State, tasks: &[TaskIx]) -> String {
    let names: Vec<&str> = tasks.iter().map(|ix| &*state.task(*ix).name).collect();
    names.join(" ")
}
