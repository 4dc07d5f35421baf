//! A stand-in for cluster autoscalers, by the rules that Cluster Autoscaler and Karpenter document.
//!
//! ```text
//!  pods without node, PodScheduled=False, reason Unschedulable, no nominated node
//!     └─ those that fit on nodes that are there or on their way are left out, those of high priority first
//!          └─ the rest is packed on nodes of one kind, the largest first: as many are bought, at once
//! ```
//!
//! It knows nothing of gangs or queues, as they do not.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use pumice_units::quantity;
use serde_json::Value;

use crate::{NodeShape, Rest};

/// So long no pod comes before it buys for those that did.
const IDLE: Duration = Duration::from_secs(1);

/// Room of a node, or what a pod asks: cpu in milli-cores, memory in bytes, pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodRoom {
    /// In milli-cores.
    pub cpu: i64,
    /// In bytes.
    pub memory: i64,
    /// How many pods.
    pub pods: i64,
}

impl PodRoom {
    fn of(amounts: &Value, pods: i64) -> Result<Self> {
        let amount = |name: &str| -> Result<i64> {
            let text = amounts[name].as_str().unwrap_or("0");
            let parsed = quantity::parse(text).ok().context("a quantity")?;
            Ok(parsed.milli_ceil())
        };
        Ok(Self {
            cpu: amount("cpu")?,
            memory: amount("memory")? / 1000,
            pods,
        })
    }

    /// What a pod asks.
    ///
    /// # Errors
    /// When its request is no amount.
    pub fn asked_by(pod: &Value) -> Result<Self> {
        let mut sum = Self {
            pods: 1,
            ..Self::default()
        };
        for container in pod["spec"]["containers"].as_array().into_iter().flatten() {
            let one = Self::of(&container["resources"]["requests"], 0)?;
            sum.cpu += one.cpu;
            sum.memory += one.memory;
        }
        Ok(sum)
    }

    /// Takes what is asked, if there is as much.
    pub fn take(&mut self, asked: Self) -> bool {
        let fits = asked.cpu <= self.cpu && asked.memory <= self.memory && asked.pods <= self.pods;
        if fits {
            self.cpu -= asked.cpu;
            self.memory -= asked.memory;
            self.pods -= asked.pods;
        }
        fits
    }
}

/// Buys nodes of one kind. A node that was bought comes when the test says so.
pub struct Autoscaler {
    rest: Rest,
    shape: NodeShape,
    /// How many nodes each scale-up bought.
    scale_ups: Vec<usize>,
    /// Nodes that have come.
    come: usize,
    /// Names of the pods that it saw last, and since when these are the same.
    seen: (Vec<String>, Instant),
}

impl Autoscaler {
    /// One that buys nodes like this.
    pub fn new(rest: Rest, shape: NodeShape) -> Self {
        Self {
            rest,
            shape,
            scale_ups: Vec::new(),
            come: 0,
            seen: (Vec::new(), Instant::now()),
        }
    }

    /// How many nodes each scale-up bought, the first first.
    pub fn scale_ups(&self) -> &[usize] {
        &self.scale_ups
    }

    /// Room of an empty node of its kind.
    ///
    /// # Errors
    /// When the kind has amounts that are none.
    pub fn of_one(&self) -> Result<PodRoom> {
        let node = self.shape.object("one");
        PodRoom::of(&node["status"]["allocatable"], self.shape.pods.into())
    }

    /// Free room of nodes that are there.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub fn free(&self) -> Result<Vec<PodRoom>> {
        let pods = self.rest.list("/api/v1/pods")?;
        let mut free = Vec::new();
        for node in self.rest.list("/api/v1/nodes")? {
            let amounts = &node["status"]["allocatable"];
            let most = amounts["pods"].as_str().unwrap_or("0").parse()?;
            let mut room = PodRoom::of(amounts, most)?;
            for pod in pods.iter().filter(|pod| holds(pod, &node)) {
                room.take(PodRoom::asked_by(pod)?);
            }
            free.push(room);
        }
        Ok(free)
    }

    /// Pods for which it would buy, those of high priority first.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub fn pods_to_help(&self) -> Result<Vec<Value>> {
        let mut pods = self.rest.list("/api/v1/pods")?;
        pods.retain(asks_for_nodes);
        pods.sort_by_key(|pod| -pod["spec"]["priority"].as_i64().unwrap_or(0));
        Ok(pods)
    }

    /// Looks once: how many nodes it buys. While pods come it waits, as Karpenter does, until for a second none has.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub fn look(&mut self) -> Result<usize> {
        let pods = self.pods_to_help()?;
        let names = pods.iter().map(|pod| pod["metadata"]["name"].to_string());
        let names: Vec<String> = names.collect();
        if names != self.seen.0 {
            self.seen = (names, Instant::now());
        }
        if self.seen.1.elapsed() < IDLE {
            return Ok(0);
        }
        let bought: usize = self.scale_ups.iter().sum();
        let mut free = self.free()?;
        free.extend(vec![self.of_one()?; bought - self.come]);
        let mut left = Vec::new();
        for pod in pods {
            let asked = PodRoom::asked_by(&pod)?;
            if !free.iter_mut().any(|room| room.take(asked)) {
                left.push(asked);
            }
        }
        left.sort_unstable();
        let mut new: Vec<PodRoom> = Vec::new();
        for asked in left.into_iter().rev() {
            let mut one = self.of_one()?;
            // For what no node of its kind holds it does nothing.
            if !new.iter_mut().any(|room| room.take(asked)) && one.take(asked) {
                new.push(one);
            }
        }
        if !new.is_empty() {
            self.scale_ups.push(new.len());
        }
        Ok(new.len())
    }

    /// Nodes that were bought come.
    ///
    /// # Errors
    /// When the API server refuses one.
    pub fn come(&mut self) -> Result<()> {
        for at in self.come..self.scale_ups.iter().sum() {
            let node = self.shape.object(&format!("bought-{at}"));
            self.rest.create("/api/v1/nodes", &node)?;
            self.come += 1;
        }
        Ok(())
    }
}

fn is_over(pod: &Value) -> bool {
    let phase = pod["status"]["phase"].as_str();
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether the pod is on the node, or is to be there once others have left.
fn holds(pod: &Value, node: &Value) -> bool {
    let name = &node["metadata"]["name"];
    let on = &pod["spec"]["nodeName"];
    let nominated = on.is_null() && pod["status"]["nominatedNodeName"] == *name;
    !is_over(pod) && (on == name || nominated)
}

fn asks_for_nodes(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let says = |condition: &Value| {
        condition["type"] == "PodScheduled"
            && condition["status"] == "False"
            && condition["reason"] == "Unschedulable"
    };
    let has_place =
        !pod["spec"]["nodeName"].is_null() || !pod["status"]["nominatedNodeName"].is_null();
    !is_over(pod) && !has_place && conditions.into_iter().flatten().any(says)
}
