//! Changes of a cluster that somebody thinks of.

use std::collections::BTreeMap;

use pumice_engine::Engine;
use pumice_model::object::{Amounts, NodeAccess, NodeObject, QueueObject, SliceObject};
use pumice_model::resource::read_amount;
use pumice_model::{Delta, JobIx, NodeIx, TaskStatus};
use serde::{Deserialize, Serialize};

use crate::claims_then::made_again;
use crate::error::PlanError;

/// Label whose value is the node.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Most nodes that can be thought of at once.
const MAX_NODES: usize = 10_000;

/// A job by its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedJob {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of a PodGroup, of a workload, or of a pod without PodGroup.
    pub name: String,
}

/// Amounts of a queue by the names of resources, as Kubernetes writes quantities; those that are not named stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AmountsThen {
    /// `spec.capability`.
    pub capability: BTreeMap<String, String>,
    /// `spec.deserved`.
    pub deserved: BTreeMap<String, String>,
    /// `spec.guarantee.resource`.
    pub guarantee: BTreeMap<String, String>,
    /// `spec.weight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<i64>,
}

/// What if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum WhatIf {
    /// There were so many nodes more like one that there is, all of them empty.
    AddNodes {
        /// How many.
        count: usize,
        /// Name of the node that they are like.
        like: String,
    },
    /// A node took no new pods.
    Cordon(String),
    /// A node took no new pods, and those on it had to go: those that a controller makes again come anew.
    Drain(String),
    /// A job and its pods were gone.
    Remove(PlannedJob),
    /// A queue had other amounts.
    Queue {
        /// Name of the queue.
        name: String,
        /// What it has then.
        amounts: AmountsThen,
    },
}

impl WhatIf {
    /// What changes.
    ///
    /// # Errors
    /// A name means nothing, or an amount cannot be read.
    pub fn deltas(&self, engine: &Engine) -> Result<Vec<Delta>, PlanError> {
        match self {
            Self::AddNodes { count, .. } if *count > MAX_NODES => Err(PlanError::TooMany {
                what: "nodes",
                count: *count,
                most: MAX_NODES,
            }),
            Self::AddNodes { count, like } => {
                Ok(more_nodes(engine, node_of(engine, like)?, *count, like))
            }
            Self::Cordon(name) => Ok(vec![cordoned(engine, node_of(engine, name)?)]),
            Self::Drain(name) => Ok(drained(engine, node_of(engine, name)?)),
            Self::Remove(job) => Ok(removed(engine, job.find(engine)?)),
            Self::Queue { name, amounts } => {
                let found = engine.state().population().queue_by_name(name);
                let queue = found.ok_or_else(|| PlanError::NoQueue(name.clone()))?;
                let queue = engine.state().queue(queue).object.clone();
                Ok(vec![Delta::QueueApply(Box::new(amounts.set(queue)?))])
            }
        }
    }
}

impl PlannedJob {
    /// The job of that name.
    ///
    /// # Errors
    /// There is none; with near names.
    pub fn find(&self, engine: &Engine) -> Result<JobIx, PlanError> {
        let found = engine.known().find_job(&self.namespace, &self.name);
        found.map_err(|absent| PlanError::Absent(absent.to_string()))
    }
}

impl AmountsThen {
    fn set(&self, mut queue: QueueObject) -> Result<QueueObject, PlanError> {
        for (into, amounts) in [
            (&mut queue.capability, &self.capability),
            (&mut queue.deserved, &self.deserved),
            (&mut queue.guarantee, &self.guarantee),
        ] {
            for (name, text) in amounts {
                let amount = read_amount(name, text).filter(|amount| *amount >= 0);
                let amount = amount.ok_or_else(|| PlanError::NoAmount {
                    resource: name.clone(),
                    text: text.clone(),
                })?;
                set_amount(into, name, amount);
            }
        }
        queue.weight = self.weight.unwrap_or(queue.weight);
        Ok(queue)
    }
}

fn set_amount(amounts: &mut Amounts, name: &str, amount: i64) {
    amounts.retain(|(known, _)| known != name);
    amounts.push((name.to_owned(), amount));
    amounts.sort();
}

fn node_of(engine: &Engine, name: &str) -> Result<NodeIx, PlanError> {
    let found = engine.state().nodes().find(name);
    found.ok_or_else(|| PlanError::NoNode(name.to_owned()))
}

/// Nodes with all that one has but its name and its pods, its devices among it; their names begin so.
pub fn more_nodes(engine: &Engine, like: NodeIx, count: usize, prefix: &str) -> Vec<Delta> {
    let like = engine.state().nodes().object(like);
    let reports = engine.state().supplies().devices().reports_of(&like.name);
    let devices = engine.state().supplies().resource_claims().stock();
    let slices: Vec<&SliceObject> = devices.slices_of(&like.name).collect();
    let width = count.to_string().len();
    let made = (1..=count).flat_map(|nth| {
        let name = format!("{prefix}-more-{nth:0width$}");
        let mut labels = like.labels.clone();
        for (key, value) in &mut labels {
            if key == HOSTNAME {
                value.clone_from(&name);
            }
        }
        let told = reports.iter().map(|(topic, text)| Delta::NodeReport {
            node: name.clone(),
            topic: topic.clone(),
            text: Some(text.clone()),
        });
        let published = slices.iter().map(|slice| {
            let of_pool = |other: &&&SliceObject| {
                (&other.driver, &other.pool) == (&slice.driver, &slice.pool)
            };
            Delta::SliceApply(Box::new(SliceObject {
                name: format!("{}-of-{name}", slice.name),
                pool: format!("{}-of-{name}", slice.pool),
                slice_count: slices.iter().filter(of_pool).count() as i64,
                access: NodeAccess::Node(name.clone()),
                ..(**slice).clone()
            }))
        });
        let told: Vec<Delta> = told.chain(published).collect();
        let node = NodeObject {
            uid: name.clone(),
            name,
            labels,
            unschedulable: false,
            ..like.clone()
        };
        [Delta::NodeApply(Box::new(node))].into_iter().chain(told)
    });
    made.collect()
}

fn cordoned(engine: &Engine, node: NodeIx) -> Delta {
    Delta::NodeApply(Box::new(NodeObject {
        unschedulable: true,
        ..engine.state().nodes().object(node).clone()
    }))
}

/// Pods of DaemonSets stay, as `kubectl drain` leaves them.
fn drained(engine: &Engine, node: NodeIx) -> Vec<Delta> {
    let state = engine.state();
    let mut deltas = vec![cordoned(engine, node)];
    for ix in state.nodes().tasks(node) {
        let task = state.task(*ix);
        let of_daemon_set = |(kind, _): &(_, _)| state.names().text(*kind) == "DaemonSet";
        let is_over = matches!(task.status, TaskStatus::Succeeded | TaskStatus::Failed);
        if is_over || task.owners.iter().any(of_daemon_set) {
            continue;
        }
        deltas.push(Delta::PodDelete(task.uid.to_string()));
        if task.controlled {
            let mut again = pumice_model::state::unplaced_pod(state, *ix);
            again.uid.push_str("-again");
            deltas.extend(made_again(engine, &mut again));
            deltas.push(Delta::PodApply(Box::new(again)));
        }
    }
    deltas
}

/// The end of a job: its PodGroup and its pods are gone.
pub fn removed(engine: &Engine, job: JobIx) -> Vec<Delta> {
    let state = engine.state();
    let tasks = state.job(job).tasks.iter();
    let mut deltas: Vec<Delta> = tasks
        .map(|task| Delta::PodDelete(state.task(*task).uid.to_string()))
        .collect();
    if let Some(group) = state.job(job).group() {
        let (namespace, name) = (group.namespace.clone(), group.name.clone());
        deltas.push(Delta::GroupDelete(namespace, name));
    }
    deltas
}
