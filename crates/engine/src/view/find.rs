//! From names to objects, and near names where there is none.

use std::collections::BTreeSet;

use pumice_conf::nearest;
use pumice_model::{JobIx, QueueIx, TaskIx};
use thiserror::Error;

use crate::view::pages::Pages;

/// Names looked at in search of a near one.
pub(super) const MAX_NAMES: usize = 20_000;

/// Objects of the same name in other namespaces that are told.
const MAX_ELSEWHERE: usize = 3;

/// Characters of the UID that a controller hangs on the name of the PodGroup of a Job.
const UID_CHARS: usize = 36;

/// Owners above each other that are followed.
const MAX_OWNERS: usize = 8;

/// Digits at least of the time that CronJobs hang on the names of their Jobs: minutes or seconds since 1970.
const TIME_DIGITS: usize = 8;

/// What was asked for is not known here.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
pub struct Absent {
    /// What, with its name: `pod a/web-0`.
    pub what: String,
    /// Why that may be.
    pub why: &'static str,
    /// Names that are known and near.
    pub near: Vec<String>,
}

impl Absent {
    fn text(&self) -> String {
        let mut text = format!("{} is not known here: {}", self.what, self.why);
        if !self.near.is_empty() {
            text.push_str(&format!("; did you mean {}?", self.near.join(" or ")));
        }
        text
    }
}

impl Pages<'_> {
    pub(super) fn find_pod(&self, namespace: &str, name: &str) -> Result<TaskIx, Absent> {
        let state = self.state;
        let inside = |ix: &TaskIx| state.names().text(state.task(*ix).namespace) == namespace;
        let mut elsewhere = Vec::new();
        for (ix, task) in state.population().tasks() {
            if &*task.name != name {
                continue;
            }
            if inside(&ix) {
                return Ok(ix);
            }
            if elsewhere.len() < MAX_ELSEWHERE {
                elsewhere.push(state.population().task_key(ix));
            }
        }
        let own = state.population().tasks().filter(|(ix, _)| inside(ix));
        let names = own.map(|(_, task)| &*task.name);
        Err(Absent {
            what: format!("pod {namespace}/{name}"),
            why: "it does not exist, was created only just now, or belongs to another scheduler",
            near: near(namespace, name, names, elsewhere),
        })
    }

    /// A PodGroup or a bare pod of that name; else the PodGroup of a workload of that name.
    pub(super) fn find_job(&self, namespace: &str, name: &str) -> Result<JobIx, Absent> {
        let state = self.state;
        if let Some(ix) = state.population().job_by_key(namespace, name) {
            return Ok(ix);
        }
        let inside = |ix: JobIx| state.names().text(state.job(ix).namespace) == namespace;
        // Jobs of bare pods have no key.
        let mut jobs = state.population().jobs();
        if let Some((ix, _)) = jobs.find(|(ix, job)| &*job.name == name && inside(*ix)) {
            return Ok(ix);
        }
        let of_workload = state.population().jobs().map(|(ix, _)| ix);
        let of_workload = of_workload.filter(|ix| inside(*ix) && self.is_of_workload(*ix, name));
        // A Deployment has a PodGroup for each of its ReplicaSets: of those that wait the first.
        let waits = |ix: &JobIx| self.pending_pods(*ix) > 0 || self.state.job(*ix).is_pending();
        if let Some(ix) = of_workload.min_by_key(|ix| (!waits(ix), *ix)) {
            return Ok(ix);
        }
        let other = state
            .population()
            .jobs()
            .filter(|(_, job)| &*job.name == name);
        let other = other.take(MAX_ELSEWHERE);
        let elsewhere = other
            .map(|(ix, _)| state.population().job_key(ix))
            .collect();
        let own = state.population().jobs().filter(|(ix, _)| inside(*ix));
        Err(Absent {
            what: format!("job {namespace}/{name}"),
            why: "there is neither a PodGroup nor a pod of this scheduler of that name, nor a \
                  workload whose pods it knows",
            near: near(namespace, name, own.map(|(_, job)| &*job.name), elsewhere),
        })
    }

    /// Whether the PodGroup was made for a workload of that name (`<name>-<uid>`), or the first pod
    /// of the job is owned by one; owners are followed to the top.
    fn is_of_workload(&self, ix: JobIx, name: &str) -> bool {
        let job = self.state.job(ix);
        let names = self.state.names();
        let made_for = job.name.len().checked_sub(UID_CHARS + 1);
        let made_for = made_for.and_then(|at| job.name.split_at_checked(at));
        let made_for = made_for.filter(|(_, rest)| rest.starts_with('-'));
        if made_for.is_some_and(|(owner, _)| owner == name || cron_job_of(owner) == Some(name)) {
            return true;
        }
        let Some(first) = job.tasks.first() else {
            return false;
        };
        let namespace = names.text(job.namespace);
        let mut owners = self.state.task(*first).owners.iter();
        owners.any(|(kind, owner)| {
            let owner = (names.text(*kind), names.text(*owner));
            self.is_below(namespace, owner, name)
        })
    }

    /// Whether an owner is of that name, or one above it.
    fn is_below(&self, namespace: &str, owner: (&str, &str), name: &str) -> bool {
        let (mut kind, mut owner) = owner;
        for _ in 0..MAX_OWNERS {
            if owner == name {
                return true;
            }
            let topology = self.state.ground().topology();
            let above = topology.controller_of(kind, namespace, owner);
            let above = above.or_else(|| match kind {
                "Job" => cron_job_of(owner).map(|above| ("CronJob", above)),
                _ => None,
            });
            let Some(above) = above else { return false };
            (kind, owner) = above;
        }
        false
    }

    pub(super) fn find_queue(&self, name: &str) -> Result<QueueIx, Absent> {
        let state = self.state;
        state.population().queue_by_name(name).ok_or_else(|| {
            let names = state
                .population()
                .queues()
                .iter()
                .map(|(_, queue)| queue.object.name.as_str());
            Absent {
                what: format!("queue {name}"),
                why: "it does not exist, or was set aside as broken",
                near: nearest(name, names)
                    .map(str::to_owned)
                    .into_iter()
                    .collect(),
            }
        })
    }
}

/// The CronJob that made a Job of that name, if one did: `<CronJob>-<time>`.
fn cron_job_of(job: &str) -> Option<&str> {
    let (cron_job, time) = job.rsplit_once('-')?;
    let is_time = time.len() >= TIME_DIGITS && time.bytes().all(|byte| byte.is_ascii_digit());
    is_time.then_some(cron_job)
}

/// The nearest name of the same namespace, and the same name of others.
fn near<'a>(
    namespace: &str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
    elsewhere: Vec<String>,
) -> Vec<String> {
    let nearest = nearest(name, names.take(MAX_NAMES));
    let nearest = nearest.map(|near| format!("{namespace}/{near}"));
    let all: BTreeSet<String> = nearest.into_iter().chain(elsewhere).collect();
    all.into_iter().collect()
}

/// A PodGroup by the name people gave: without the UID that a controller has hung on it.
pub fn short_group(name: &str) -> &str {
    let at = name.len().saturating_sub(UID_CHARS + 1);
    let (Some(short), Some(rest)) = (name.get(..at), name.get(at..)) else {
        return name;
    };
    let is_of_uid = |(at, letter): (usize, char)| match at {
        0 | 9 | 14 | 19 | 24 => letter == '-',
        _ => letter.is_ascii_hexdigit(),
    };
    match !short.is_empty() && rest.char_indices().all(is_of_uid) {
        true => short,
        false => name,
    }
}

/// A node that is not known.
pub(super) fn no_node<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Absent {
    let nearest = nearest(name, names.take(MAX_NAMES));
    Absent {
        what: format!("node {name}"),
        why: "it does not exist, or the scheduler was told to leave it out",
        near: nearest.map(str::to_owned).into_iter().collect(),
    }
}
