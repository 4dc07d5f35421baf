//! What came of a simulation, in the form users and scripts read it (design.md §5).

use std::collections::BTreeMap;

use pumice_engine::Engine;
use pumice_engine::report::queue_totals;
use pumice_engine::view::{Ask, MixView, View};
use pumice_engine::waiting::Subject;
use pumice_model::object::GroupPhase;
use pumice_model::resource::display_amount;
use pumice_model::{
    ClaimStep, Job, JobIx, NetworkDomain, NetworkTree, Queue, QueueIx, ResVec, TaskStatus,
    VolumeStep,
};
use serde::Serialize;

/// A pod that was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BindLine {
    /// `namespace/name`.
    pub pod: String,
    /// Node name.
    pub node: String,
    /// Annotations the Binding would carry.
    pub annotations: BTreeMap<String, String>,
    /// What happens to its open claims before that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub volumes: Vec<VolumeLine>,
    /// What its resource claims get before that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimLine>,
    /// Names of its shared cards.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
    /// PodGroup of the pod, or the pod itself when it has none.
    #[serde(rename = "job")]
    pub group: String,
}

/// What a resource claim of a pod that is bound gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClaimLine {
    /// `namespace/name` of the claim.
    pub claim: String,
    /// `driver/pool/device` of each device; none for a claim that has had its devices before.
    pub devices: Vec<String>,
}

impl ClaimLine {
    /// A step as a line.
    pub fn of(step: &ClaimStep) -> Self {
        let given = step.allocation.iter();
        let devices = given.flat_map(|given| &given.devices.devices);
        Self {
            claim: format!("{}/{}", step.namespace, step.claim),
            devices: devices.map(|device| device.key.to_string()).collect(),
        }
    }
}

/// What becomes of an open claim of a pod that is bound: one of both ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeLine {
    /// `namespace/name` of the claim.
    pub claim: String,
    /// It gets this PersistentVolume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// A volume is provisioned for this node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provisioned_for: Option<String>,
}

impl VolumeLine {
    /// A step as a line.
    pub fn of(step: &VolumeStep) -> Self {
        match step {
            VolumeStep::BindVolume {
                volume,
                namespace,
                claim,
                ..
            } => Self {
                claim: format!("{namespace}/{claim}"),
                volume: Some(volume.clone()),
                provisioned_for: None,
            },
            VolumeStep::SelectNode {
                namespace,
                claim,
                node,
                ..
            } => Self {
                claim: format!("{namespace}/{claim}"),
                volume: None,
                provisioned_for: Some(node.clone()),
            },
        }
    }
}

/// A pod that was evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvictionLine {
    /// `namespace/name`.
    pub pod: String,
    /// The job it made room for: `namespace/name` of its PodGroup, or of the pod that has none. `shuffle`
    /// makes room for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The action: `preempt`, `reclaim`, `shuffle`.
    pub action: String,
    /// The node it leaves.
    pub node: String,
    /// What it frees of cards there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cards: Vec<String>,
    /// PodGroup of the evicted pod, or the pod itself when it has none.
    #[serde(rename = "job")]
    pub group: String,
}

/// A pod that waits on a node for resources that are being released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pipelined {
    /// `namespace/name`.
    pub pod: String,
    /// Node name.
    pub node: String,
}

/// A PodGroup condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConditionLine {
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why the condition has its status, in one word.
    pub reason: String,
    /// Why the condition has its status, for people.
    pub message: String,
}

/// A PodGroup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodGroupLine {
    /// `namespace/name`.
    pub name: String,
    /// Phase of the PodGroup.
    pub phase: &'static str,
    /// Conditions of the PodGroup, one of each type.
    pub conditions: Vec<ConditionLine>,
    /// Why it is not running, when no condition tells: those of Volcano say nothing about a group
    /// that has no pods yet because it was not admitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<String>,
    /// What is written on it or its pods that does not mean what it seems to, as events tell.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How many of its pods lack a place, of how many, when that is what its condition says.
    #[serde(skip)]
    pub shortage: Option<(i32, usize)>,
}

/// How a message speaks of a pod whose name stands beside it.
const THIS_POD: Subject<'_> = Subject {
    pod: "Pod",
    task: "Task",
};

/// A pod that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pending {
    /// `namespace/name`.
    pub pod: String,
    /// Reason of its `PodScheduled` condition.
    pub reason: String,
    /// Text of the condition `PodScheduled`, for people.
    pub message: String,
    /// The message without the pod's name: the same for pods with the same reason.
    #[serde(skip)]
    pub same_message: String,
    /// PodGroup of the pod, or the pod itself when it has none.
    #[serde(rename = "job")]
    pub group: String,
}

/// A pod without PodGroup on which something does not mean what it seems to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PodWarning {
    /// `namespace/name`.
    pub pod: String,
    /// What, as an event tells.
    pub warning: String,
}

/// A queue at the end of the simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueLine {
    /// Name of the queue.
    pub name: String,
    /// State of the queue.
    pub state: &'static str,
    /// What it deserves, as quantities.
    pub deserved: BTreeMap<String, String>,
    /// What its jobs and those of the queues below it hold, as quantities.
    pub allocated: BTreeMap<String, String>,
    /// Largest ratio of what the queue holds to what it deserves.
    pub share: f64,
    /// What is wrong on it, as an event tells; empty for nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub warning: String,
}

/// A HyperNode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HyperNodeLine {
    /// Name of the HyperNode.
    pub name: String,
    /// Tier of the HyperNode.
    pub tier: i64,
    /// Nodes in it, those of its children included.
    pub nodes: usize,
    /// What is left out of it, as events tell; empty for nothing.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub warning: String,
}

/// A batch Job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobLine {
    /// `namespace/name`.
    pub name: String,
    /// Phase of the Job.
    pub phase: String,
    /// Why it is in this phase, in one word; absent where that needs no words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why it is in this phase, in a sentence.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// PodGroup of the Job, `namespace/name`.
    #[serde(rename = "podGroup", skip_serializing_if = "String::is_empty")]
    pub group: String,
}

impl JobLine {
    /// It is to run and does not, or a part of it is still to come.
    pub fn waits(&self) -> bool {
        let has_words = !self.message.is_empty();
        match self.phase.as_str() {
            "Restarting" => true,
            "Pending" => has_words,
            "Running" => self.reason == "DependencyNotReady",
            _ => false,
        }
    }
}

/// Objects of one kind that had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Kind of the objects.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// Pods without node that another scheduler places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StrangerLine {
    /// Name of the other scheduler.
    pub scheduler: String,
    /// How many.
    pub pods: u64,
    /// The scheduler here that was most likely meant; empty where its name resembles none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nearest: String,
}

/// An input problem, for machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProblemLine {
    /// `file:line:column`.
    pub place: String,
    /// Object that the problem is in.
    pub object: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
    /// Whether the object was set aside.
    #[serde(rename = "setAside")]
    pub set_aside: bool,
}

/// Where the configuration came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", tag = "from", content = "name")]
pub enum ConfigSource {
    /// The file of `--config`.
    Flag(String),
    /// A file beside the manifests.
    File(String),
    /// A ConfigMap among the manifests, `namespace/name`.
    ConfigMap(String),
    /// The dump of a scheduler, by its file.
    Dump(String),
    /// None was given.
    BuiltIn,
}

impl std::fmt::Display for ConfigSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Flag(file) => write!(f, "{file} (--config)"),
            Self::File(file) => f.write_str(file),
            Self::ConfigMap(name) => write!(f, "ConfigMap {name}"),
            Self::Dump(file) => write!(f, "the one in use when {file} was written"),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// The whole result.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Binds in the order of the decisions.
    pub binds: Vec<BindLine>,
    /// Evictions in the order of the decisions.
    pub evictions: Vec<EvictionLine>,
    /// Claims whose devices kept a pod from nodes and were given back, in the order of the decisions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub device_returns: Vec<String>,
    /// Pods pipelined when the last cycle ended, by name.
    pub pipelined: Vec<Pipelined>,
    /// PodGroups by name.
    pub pod_groups: Vec<PodGroupLine>,
    /// Pods that wait, by name.
    pub pending: Vec<Pending>,
    /// Pods without PodGroup on which something does not mean what it seems to, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pod_warnings: Vec<PodWarning>,
    /// Queues by name.
    pub queues: Vec<QueueLine>,
    /// HyperNodes by tier, then by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hyper_nodes: Vec<HyperNodeLine>,
    /// What tasks ask of cards and what of the free ones is of use to none, where a plugin keeps it: as
    /// `pumice top --mix` tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<MixView>,
    /// Batch Jobs by name.
    pub jobs: Vec<JobLine>,
    /// Pods that other schedulers place, by scheduler.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_schedulers: Vec<StrangerLine>,
    /// Kinds without effect.
    pub ignored: Vec<Ignored>,
    /// Cycles run.
    pub cycles: u32,
    /// Where the configuration came from, when the caller tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configuration: Option<ConfigSource>,
    /// Number of objects that take part.
    #[serde(skip)]
    pub objects: usize,
    /// Input problems; absent when there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemLine>,
}

impl Report {
    /// Fills in everything that the engine's final state shows.
    pub fn describe(&mut self, engine: &Engine) {
        let state = engine.state();
        for (ix, task) in state.population().tasks() {
            if task.status == TaskStatus::Pipelined
                && let Some(node) = task.node
            {
                let node = state.nodes().object(node).name.clone();
                self.pipelined.push(Pipelined {
                    pod: state.population().task_key(ix),
                    node,
                });
            }
            if let Some(waiting) = engine.known().waiting(ix) {
                self.pending.push(Pending {
                    pod: state.population().task_key(ix),
                    reason: waiting.reason().to_owned(),
                    message: waiting.text(),
                    same_message: waiting.text_of(THIS_POD),
                    group: task
                        .job
                        .map(|job| state.population().job_key(job))
                        .unwrap_or_default(),
                });
            }
        }
        self.mix = match engine.known().view(&Ask::Mix) {
            Ok(View::Mix(view)) if view.absent.is_none() => Some(view),
            _ => None,
        };
        self.pipelined.sort_by(|l, r| l.pod.cmp(&r.pod));
        self.pending.sort_by(|l, r| l.pod.cmp(&r.pod));
        self.describe_groups(engine);
        let totals = queue_totals(state);
        let mut warnings = engine.known().queue_warnings();
        for (ix, queue) in state.population().queues().iter() {
            let allocated = totals.get(&ix).unwrap_or(&queue.allocated);
            let warning = warnings.remove(&ix);
            self.queues
                .push(queue_line(engine, ix, queue, allocated, warning));
        }
        self.queues.sort_by(|l, r| l.name.cmp(&r.name));
        self.hyper_nodes = hyper_node_lines(state.ground().network());
    }

    fn describe_groups(&mut self, engine: &Engine) {
        let state = engine.state();
        for (ix, job) in state
            .population()
            .jobs()
            .filter(|(_, job)| job.group().is_some())
        {
            let conditions = job.status.conditions.iter().map(|c| ConditionLine {
                kind: c.kind.clone(),
                status: c.status.clone(),
                reason: c.reason.clone(),
                message: c.message.clone(),
            });
            self.pod_groups.push(PodGroupLine {
                name: state.population().job_key(ix),
                phase: job.status.phase.name(),
                conditions: conditions.collect(),
                waiting: waiting(engine, ix, job),
                warnings: engine.known().job_warnings(ix),
                shortage: engine.known().gang_shortage(ix),
            });
        }
        self.pod_groups.sort_by(|l, r| l.name.cmp(&r.name));
        for (ix, _) in state
            .population()
            .jobs()
            .filter(|(_, job)| job.group().is_none())
        {
            let warnings = engine.known().job_warnings(ix).into_iter();
            self.pod_warnings.extend(warnings.map(|warning| PodWarning {
                pod: state.population().job_key(ix),
                warning,
            }));
        }
        self.pod_warnings.sort_by(|l, r| l.pod.cmp(&r.pod));
    }
}

/// Why a group without pods waits.
fn waiting(engine: &Engine, ix: JobIx, job: &Job) -> Option<String> {
    if job.status.phase != GroupPhase::Pending || !job.tasks.is_empty() {
        return None;
    }
    engine.known().cause_text(ix)
}

fn hyper_node_lines(network: &NetworkTree) -> Vec<HyperNodeLine> {
    let Some((_cluster, domains)) = network.domains().split_last() else {
        return Vec::new();
    };
    let line = |domain: &NetworkDomain| {
        let own = network.faults_of(&domain.name).iter();
        let messages: Vec<&str> = own.map(|fault| fault.message.as_str()).collect();
        HyperNodeLine {
            name: domain.name.to_string(),
            tier: domain.tier,
            nodes: domain.nodes.len(),
            warning: messages.join("; "),
        }
    };
    domains.iter().map(line).collect()
}

fn queue_line(
    engine: &Engine,
    ix: QueueIx,
    queue: &Queue,
    allocated: &ResVec,
    warning: Option<String>,
) -> QueueLine {
    let names = engine.state().resources();
    let quantity = |ix, amount: i64| {
        let name = names.name(ix).to_owned();
        let text = display_amount(&name, amount);
        (name, text)
    };
    let mut allocated: BTreeMap<String, String> = allocated
        .iter()
        .map(|(ix, amount)| quantity(ix, amount))
        .collect();
    for always in ["cpu", "memory"] {
        allocated
            .entry(always.to_owned())
            .or_insert_with(|| "0".to_owned());
    }
    let view = engine.known().queue_view(ix).unwrap_or_default();
    let deserved = view.deserved.iter().filter(|(_, amount)| *amount >= 0.1);
    QueueLine {
        name: queue.object.name.clone(),
        state: queue.object.state.name(),
        deserved: deserved
            .map(|(ix, amount)| quantity(*ix, *amount as i64))
            .collect(),
        allocated,
        share: view.share,
        warning: warning.unwrap_or_default(),
    }
}
