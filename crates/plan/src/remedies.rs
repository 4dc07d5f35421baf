//! What would let a job run that waits, each found by trying it: more nodes, the end of another job, another limit.

use std::collections::BTreeMap;
use std::fmt;

use pumice_engine::Engine;
use pumice_model::object::{Amounts, Pairs, Taint};
use pumice_model::resource::display_amount;
use pumice_model::{Delta, JobIx, NodeIx, QueueIx};
use serde::{Deserialize, Serialize};

use crate::ask::{TwoClusters, asked_job};
use crate::course::Runner;
use crate::what_if::{more_nodes, removed};

/// Kinds of nodes of which more are tried, those that are most first.
const MAX_SHAPES: usize = 4;
/// Most nodes of a kind that are tried.
const MAX_MORE: usize = 1024;
/// Names of nodes that are tried begin so: after all others, so that those stay where they are in the tables.
const LAST: &str = "~";
/// Jobs whose end is tried, the smallest first.
const MAX_ENDS: usize = 12;
/// Queues above each other.
const MAX_DEPTH: usize = 16;

/// One change that is enough alone: all that is asked about runs then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Remedy {
    /// Nodes like one that there is.
    MoreNodes {
        /// How many; one less is not enough.
        count: usize,
        /// Name of a node that they are like.
        like: String,
    },
    /// The end of another job.
    End {
        /// `namespace/name`.
        job: String,
        /// How many pods it has.
        pods: usize,
    },
    /// No limit of a queue and of those above it.
    Limit {
        /// Name of the queue that has the limit.
        queue: String,
        /// What it would hold then of that which is limited now.
        holds: BTreeMap<String, String>,
    },
}

impl fmt::Display for Remedy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MoreNodes { count: 1, like } => write!(out, "1 node more like {like}"),
            Self::MoreNodes { count, like } => write!(out, "{count} nodes more like {like}"),
            Self::End { job, pods: 1 } => write!(out, "the end of {job} (1 pod)"),
            Self::End { job, pods } => write!(out, "the end of {job} ({pods} pods)"),
            Self::Limit { queue, holds } => {
                let holds = holds
                    .iter()
                    .map(|(name, amount)| format!("{name} {amount}"));
                let holds = holds.collect::<Vec<_>>().join(", ");
                write!(out, "a capability of queue {queue} of at least {holds}")
            }
        }
    }
}

struct RemedySearch<'s, 'c, 'r> {
    asked: &'s mut TwoClusters<'c>,
    runner: &'s mut Runner<'r>,
    left: u32,
}

pub fn search(asked: &mut TwoClusters<'_>, runner: &mut Runner<'_>) -> Vec<Remedy> {
    let mut search = RemedySearch::new(asked, runner);
    let mut found = search.limits();
    found.extend(search.ends());
    found.extend(search.nodes());
    found
}

/// More nodes, and nothing else.
pub fn nodes_alone(asked: &mut TwoClusters<'_>, runner: &mut Runner<'_>) -> Option<Remedy> {
    RemedySearch::new(asked, runner).nodes()
}

impl<'s, 'c, 'r> RemedySearch<'s, 'c, 'r> {
    fn new(asked: &'s mut TwoClusters<'c>, runner: &'s mut Runner<'r>) -> Self {
        let left = runner.bounds.tries;
        Self {
            asked,
            runner,
            left,
        }
    }
}

impl RemedySearch<'_, '_, '_> {
    /// The cluster after one change more, if all that is asked about runs in it.
    fn enough(&mut self, change: Vec<Delta>) -> Option<Engine> {
        self.left = self.left.checked_sub(1)?;
        let mut engine = self.asked.changed.fork().wake(self.asked.config_then);
        crate::course::come_true(&mut engine, change);
        let course = self.runner.run(&mut engine);
        let runs = |key: &String| {
            let job = asked_job(&engine, key);
            job.is_some_and(|ix| engine.state().job(ix).is_ready())
        };
        let all_run = course.evicted.is_empty() && self.asked.about.iter().all(runs);
        all_run.then_some(engine)
    }

    /// The fewest nodes of each kind that are enough.
    fn nodes(&mut self) -> Option<Remedy> {
        let mut best: Option<(usize, String)> = None;
        for like in shapes(&self.asked.changed) {
            let most = best.as_ref().map_or(MAX_MORE, |(count, _)| count - 1);
            if let Some(count) = self.fewest(like, most) {
                let name = &self.asked.changed.state().nodes().object(like).name;
                best = Some((count, name.clone()));
            }
        }
        best.map(|(count, like)| Remedy::MoreNodes { count, like })
    }

    fn fewest(&mut self, like: NodeIx, most: usize) -> Option<usize> {
        let (mut too_few, mut count) = (0, 1);
        loop {
            if count > most {
                count = most;
            }
            if count <= too_few {
                return None;
            }
            let more = more_nodes(&self.asked.changed, like, count, LAST);
            if self.enough(more).is_some() {
                break;
            }
            if self.left == 0 {
                return None;
            }
            too_few = count;
            count *= 2;
        }
        while too_few + 1 < count {
            let middle = too_few.midpoint(count);
            let more = more_nodes(&self.asked.changed, like, middle, LAST);
            match self.enough(more) {
                Some(_) => count = middle,
                // What was found is enough, if not the least.
                None if self.left == 0 => break,
                None => too_few = middle,
            }
        }
        Some(count)
    }

    /// The smallest job whose end is enough.
    fn ends(&mut self) -> Option<Remedy> {
        let state = self.asked.changed.state();
        let is_asked = |ix: JobIx| {
            let key = state.population().job_key(ix);
            self.asked.about.contains(&key)
        };
        let running = state.population().jobs();
        let running = running.filter(|(ix, job)| job.allocated_count() > 0 && !is_asked(*ix));
        let mut running: Vec<(usize, JobIx)> =
            running.map(|(ix, job)| (job.tasks.len(), ix)).collect();
        running.sort_unstable();
        // The smallest of each size alone would leave out what helps.
        let step = running.len().div_ceil(MAX_ENDS).max(1);
        let tried: Vec<(usize, JobIx)> = running.into_iter().step_by(step).collect();
        for (pods, ix) in tried {
            let job = self.asked.changed.state().population().job_key(ix);
            let end = removed(&self.asked.changed, ix);
            if self.enough(end).is_some() {
                return Some(Remedy::End { job, pods });
            }
        }
        None
    }

    /// The queue of the first job without its limits, and those above without theirs.
    fn limits(&mut self) -> Vec<Remedy> {
        let engine = &self.asked.changed;
        let population = engine.state().population();
        let queues = self.asked.about.iter().filter_map(|key| {
            let job = asked_job(engine, key)?;
            let queue = engine.state().job(job).queue_name;
            population.queue_by_name(population.names().text(queue))
        });
        let mut limited: Vec<QueueIx> = queues.flat_map(|queue| line(engine, queue)).collect();
        limited.sort_unstable();
        limited.dedup();
        limited.retain(|queue| !engine.state().queue(*queue).object.capability.is_empty());
        let lifted = limited.iter().map(|queue| {
            let mut object = engine.state().queue(*queue).object.clone();
            object.capability = Amounts::new();
            Delta::QueueApply(Box::new(object))
        });
        let lifted: Vec<Delta> = lifted.collect();
        if lifted.is_empty() {
            return Vec::new();
        }
        let limits: Vec<(String, Amounts)> = limited
            .iter()
            .map(|queue| {
                let object = &engine.state().queue(*queue).object;
                (object.name.clone(), object.capability.clone())
            })
            .collect();
        let Some(then) = self.enough(lifted) else {
            return Vec::new();
        };
        limits
            .iter()
            .filter_map(|(queue, limit)| over(&then, queue, limit))
            .collect()
    }
}

/// What a queue holds more than its limit was.
fn over(engine: &Engine, name: &str, limit: &Amounts) -> Option<Remedy> {
    let state = engine.state();
    let queue = state.population().queue_by_name(name)?;
    let held = state.queue(queue).allocated_with_devices();
    let over = limit.iter().filter_map(|(resource, most)| {
        let amount = held.get(state.resources().get(resource)?);
        (amount > *most).then(|| (resource.clone(), display_amount(resource, amount)))
    });
    let holds: BTreeMap<String, String> = over.collect();
    (!holds.is_empty()).then(|| Remedy::Limit {
        queue: name.to_owned(),
        holds,
    })
}

/// A queue and those above it.
fn line(engine: &Engine, queue: QueueIx) -> Vec<QueueIx> {
    let mut line = vec![queue];
    while line.len() < MAX_DEPTH {
        let Some(last) = line.last() else { break };
        let parent = &engine.state().queue(*last).object.parent;
        match engine.state().population().queue_by_name(parent) {
            Some(above) if !line.contains(&above) => line.push(above),
            _ => break,
        }
    }
    line
}

/// A node of each kind that may be used, of which there are most first.
fn shapes(engine: &Engine) -> Vec<NodeIx> {
    type Kind<'a> = (&'a Amounts, &'a Amounts, Pairs, &'a [Taint]);
    let nodes = engine.state().nodes();
    let mut kinds: BTreeMap<String, (usize, NodeIx)> = BTreeMap::new();
    for ix in nodes.indices() {
        let node = nodes.object(ix);
        if node.unschedulable {
            continue;
        }
        let own = |(_, value): &&(String, String)| *value != node.name;
        let labels: Pairs = node.labels.iter().filter(own).cloned().collect();
        let kind: Kind<'_> = (
            &node.allocatable,
            &node.device_capacity,
            labels,
            &node.taints,
        );
        kinds.entry(format!("{kind:?}")).or_insert((0, ix)).0 += 1;
    }
    let mut kinds: Vec<(usize, NodeIx)> = kinds.into_values().collect();
    kinds.sort_by_key(|(count, ix)| (std::cmp::Reverse(*count), *ix));
    kinds.truncate(MAX_SHAPES);
    kinds.into_iter().map(|(_, ix)| ix).collect()
}
