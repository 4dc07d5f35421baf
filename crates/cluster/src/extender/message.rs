//! Requests as JSON (spec/02 §23.2, §23.4).

use std::collections::BTreeMap;
use std::sync::Arc;

use pumice_model::TaskStatus;
use pumice_model::extender::{QuestionAbout, ToldJob, ToldNode, ToldPod, ToldSession};
use pumice_model::object::{Amounts, Pairs, QueueObject, TaintEffect};
use pumice_model::resource::display_amount;
use serde_json::{Map, Value, json};

/// Nodes by name, encoded once.
#[derive(Clone, Debug, Default)]
pub struct NodeTexts {
    known: Vec<Arc<ToldNode>>,
    /// Text of each of these nodes.
    texts: Vec<Arc<str>>,
}

impl NodeTexts {
    /// The nodes as they are now; who has not changed since `self` is not encoded again.
    #[must_use]
    pub fn renewed(&self, nodes: &[Arc<ToldNode>]) -> Self {
        let known: BTreeMap<&str, _> = self
            .all()
            .map(|(node, text)| (node.object.name.as_str(), (node, text)))
            .collect();
        let text = |node: &Arc<ToldNode>| match known.get(node.object.name.as_str()) {
            Some((known, text)) if Arc::ptr_eq(known, node) => Arc::clone(text),
            _ => Arc::from(self::node(node).to_string()),
        };
        Self {
            texts: nodes.iter().map(text).collect(),
            known: nodes.to_vec(),
        }
    }

    /// Each, and its text.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Arc<ToldNode>, &Arc<str>)> {
        self.known.iter().zip(&self.texts)
    }
}

/// What a question or notice is about, encoded.
pub(super) fn about(about: &QuestionAbout) -> String {
    let value = match about {
        QuestionAbout::Pod(pod) => json!({"task": task(pod)}),
        QuestionAbout::Job(job) => json!({"job": self::job(job)}),
        QuestionAbout::Queue(queue) => json!({"queue": self::queue(queue)}),
        QuestionAbout::Victims {
            evictor,
            candidates,
        } => {
            let evictees: Vec<Value> = candidates.iter().map(|pod| task(pod)).collect();
            json!({"evictor": task(evictor), "evictees": evictees})
        }
        QuestionAbout::Gone => json!({}),
    };
    value.to_string()
}

/// `pod` is a message about the pod alone.
pub(super) fn predicate(pod: &str, node: &str) -> String {
    format!("{},\"node\":{node}}}", open(pod))
}

/// `pod` is a message about the pod alone.
pub(super) fn prioritize(pod: &str, nodes: &NodeTexts) -> String {
    let nodes: Vec<&str> = nodes.all().map(|(_, text)| &**text).collect();
    format!("{},\"nodes\":[{}]}}", open(pod), nodes.join(","))
}

/// An object to which more is to be added.
fn open(object: &str) -> &str {
    object.strip_suffix('}').unwrap_or(object)
}

/// A cycle, with what there is: nodes are encoded already.
pub(super) fn session(session: &ToldSession, nodes: &NodeTexts) -> String {
    let jobs: Map<String, Value> = session
        .jobs
        .iter()
        .map(|job| (job.key.clone(), self::job(job)))
        .collect();
    let queues: Map<String, Value> = session
        .queues
        .iter()
        .map(|queue| (queue.name.clone(), self::queue(queue)))
        .collect();
    let nodes: Vec<String> = nodes
        .all()
        .map(|(node, text)| format!("{}:{text}", json!(node.object.name)))
        .collect();
    let rest = json!({
        "Jobs": jobs,
        "Queues": queues,
        "NamespaceInfo": {},
        "RevocableNodes": {},
        "NodeList": null,
    });
    format!(
        "{},\"Nodes\":{{{}}}}}",
        open(&rest.to_string()),
        nodes.join(",")
    )
}

fn pairs(pairs: &Pairs) -> Value {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| (key.clone(), json!(value)))
        .collect::<Map<_, _>>()
        .into()
}

fn time(seconds: i64) -> Value {
    let time = jiff::Timestamp::from_second(seconds).ok();
    time.map_or(Value::Null, |time| json!(time.to_string()))
}

fn quantities(amounts: &Amounts) -> Value {
    let amounts = amounts.iter();
    amounts
        .map(|(name, amount)| (name.clone(), json!(display_amount(name, *amount))))
        .collect::<Map<_, _>>()
        .into()
}

/// Volcano's Resource.
fn resource(amounts: &Amounts) -> Value {
    let of = |wanted: &str| {
        let found = amounts.iter().find(|(name, _)| name == wanted);
        found.map_or(0, |(_, amount)| *amount)
    };
    let scalars = amounts
        .iter()
        .filter(|(name, _)| name != "cpu" && name != "memory");
    let scalars: Map<String, Value> = scalars
        .map(|(name, amount)| (name.clone(), json!(*amount as f64)))
        .collect();
    json!({
        "MilliCPU": of("cpu") as f64,
        "Memory": of("memory") as f64,
        "ScalarResources": scalars,
        "MaxTaskNum": of("pods"),
    })
}

fn status(status: TaskStatus) -> u32 {
    match status {
        TaskStatus::Pending => 1,
        TaskStatus::Allocated => 2,
        TaskStatus::Pipelined => 4,
        TaskStatus::Binding => 8,
        TaskStatus::Bound => 16,
        TaskStatus::Running => 32,
        TaskStatus::Releasing => 64,
        TaskStatus::Succeeded => 128,
        TaskStatus::Failed => 256,
        TaskStatus::Unknown => 512,
    }
}

fn phase(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Running | TaskStatus::Releasing => "Running",
        TaskStatus::Succeeded => "Succeeded",
        TaskStatus::Failed => "Failed",
        TaskStatus::Unknown => "Unknown",
        _ => "Pending",
    }
}

fn task(pod: &ToldPod) -> Value {
    let request = resource(&pod.request);
    json!({
        "UID": pod.uid,
        "Job": pod.job,
        "Namespace": pod.namespace,
        "Name": pod.name,
        "TaskRole": pod.role,
        "Resreq": request,
        "InitResreq": request,
        "NodeName": pod.node.as_deref().unwrap_or_default(),
        "Status": status(pod.status),
        "Priority": pod.priority,
        "Preemptable": pod.preemptable,
        "BestEffort": pod.best_effort,
        "SchGated": pod.gated,
        "PodAnnotations": pairs(&pod.annotations),
        "Pod": {
            "metadata": {
                "name": pod.name,
                "namespace": pod.namespace,
                "uid": pod.uid,
                "creationTimestamp": time(pod.created_s),
                "labels": pairs(&pod.labels),
                "annotations": pairs(&pod.annotations),
            },
            "spec": {
                "nodeName": pod.node.as_deref().unwrap_or_default(),
                "nodeSelector": pairs(&pod.node_selector),
                "priority": pod.priority,
                "priorityClassName": pod.priority_class,
            },
            "status": {"phase": phase(pod.status)},
        },
    })
}

/// Pods by UID.
fn tasks<'a>(pods: impl Iterator<Item = &'a Arc<ToldPod>>) -> Value {
    let pods: Map<String, Value> = pods.map(|pod| (pod.uid.clone(), task(pod))).collect();
    pods.into()
}

fn node(node: &ToldNode) -> Value {
    let object = &node.object;
    let taints = object.taints.iter().map(|taint| {
        let effect = match taint.effect {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
        };
        json!({"key": taint.key, "value": taint.value, "effect": effect})
    });
    let total = resource(&node.total);
    json!({
        "Name": object.name,
        "State": {"Phase": 1, "Reason": ""},
        "Releasing": resource(&node.releasing),
        "Idle": resource(&node.idle),
        "Used": resource(&node.used),
        "Allocatable": total,
        "Capacity": total,
        "Tasks": tasks(node.pods.iter()),
        "Node": {
            "metadata": {
                "name": object.name,
                "uid": object.uid,
                "labels": pairs(&object.labels),
            },
            "spec": {
                "unschedulable": object.unschedulable,
                "taints": taints.collect::<Vec<_>>(),
            },
            "status": {"allocatable": quantities(&object.allocatable)},
        },
    })
}

fn job(job: &ToldJob) -> Value {
    let minima: Map<String, Value> = job
        .role_minima
        .iter()
        .map(|(role, min)| (role.clone(), json!(min)))
        .collect();
    let total: i64 = job.role_minima.iter().map(|(_, min)| i64::from(*min)).sum();
    let mut by_status: BTreeMap<u32, Vec<&Arc<ToldPod>>> = BTreeMap::new();
    for pod in &job.pods {
        by_status.entry(status(pod.status)).or_default().push(pod);
    }
    let by_status: Map<String, Value> = by_status
        .into_iter()
        .map(|(status, pods)| (status.to_string(), tasks(pods.into_iter())))
        .collect();
    let min_resources = job.min_resources.as_ref().map(quantities);
    json!({
        "UID": job.key,
        "PgUID": job.uid,
        "Name": job.name,
        "Namespace": job.namespace,
        "Queue": job.queue,
        "Priority": job.priority,
        "MinAvailable": job.min_available,
        "TaskMinAvailable": minima,
        "TaskMinAvailableTotal": total,
        "TaskStatusIndex": by_status,
        "Tasks": tasks(job.pods.iter()),
        "Allocated": resource(&job.allocated),
        "TotalRequest": resource(&job.total),
        "CreationTimestamp": time(job.created_s),
        "PodGroup": {
            "metadata": {
                "name": job.name,
                "namespace": job.namespace,
                "uid": job.uid,
                "creationTimestamp": time(job.created_s),
            },
            "spec": {
                "minMember": job.min_available,
                "minTaskMember": minima,
                "minResources": min_resources,
                "queue": job.queue,
            },
            "status": {"phase": job.phase.name()},
            "Version": "v1beta1",
        },
    })
}

fn queue(queue: &QueueObject) -> Value {
    let weights: Vec<String> = queue.hierarchy_weights.iter().map(f64::to_string).collect();
    json!({
        "UID": queue.name,
        "Name": queue.name,
        "Weight": queue.weight,
        "Weights": weights.join("/"),
        "Hierarchy": queue.hierarchy.join("/"),
        "Queue": {
            "metadata": {
                "name": queue.name,
                "uid": queue.uid,
                "creationTimestamp": time(queue.created_s),
            },
            "spec": {
                "weight": queue.weight,
                "priority": queue.priority,
                "parent": queue.parent,
                "reclaimable": queue.reclaimable,
                "capability": quantities(&queue.capability),
                "deserved": quantities(&queue.deserved),
                "guarantee": {"resource": quantities(&queue.guarantee)},
            },
            "status": {"state": queue.state.name(), "allocated": quantities(&queue.allocated)},
        },
    })
}
