//! What the objects of the API server say of a workload, and which of it answers "what is with my
//! Job".
//!
//! ```text
//!  read: workload, PodGroups, pods, Leases, events ─► AccountFacts
//!        Job ─► PodGroup ─► pods without a node ─► device plugin and kubelet     ▼
//!        the first of these that keeps it is the answer; the others are steps ◄ account ◄ JobView
//! ```
//!
//! `explain job/NAME` and `job view` both show this. The scheduler's own view, where it may be
//! asked, is newer than what it has written on PodGroup and pods, so it stands in their place.

mod job;
mod pods;
mod read;
mod show;

#[cfg(test)]
mod tests;

use jiff::Timestamp;
use pumice_api::{Job, PodGroup, keys};
use pumice_engine::view::JobView;
use serde::Serialize;
use serde_json::Value;

use super::user::typed;
use super::words::{self, short_group};

pub(super) use crate::job_told::{phase as job_phase, replicas};
pub(super) use job::{has_ended, is_suspended};
pub(super) use pods::{of_pod, phase as pod_phase, waited};
pub(super) use read::{is_owned_by, job_of_group, job_query, read, read_job, read_pod};
pub(super) use show::account_table;

/// What groups of our kinds have in their names.
const OURS: &str = "volcano.sh";

/// Why something is not as it should be: one word, and what it means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct AccountWhy {
    pub reason: String,
    pub message: String,
}

impl AccountWhy {
    fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// One object on the way from the workload to the node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct AccountStep {
    /// `Job`, `PodGroup`, `Pods`, `On node`, `Last event`, `Not read`.
    pub what: &'static str,
    pub says: String,
}

/// What is with a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct WorkloadAccount {
    /// `Job team/train`.
    pub about: String,
    /// The phase, in the object's own words.
    pub phase: String,
    /// What keeps it; `None` when nothing does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<AccountWhy>,
    /// From the workload down.
    pub steps: Vec<AccountStep>,
}

impl WorkloadAccount {
    /// Adds what somebody else says of it.
    pub fn note(&mut self, says: String) {
        self.steps.push(AccountStep { what: "Note", says });
    }
}

/// What was read of a workload.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct AccountFacts {
    /// Kind of the workload, `Job`; empty if there is none of the name.
    pub kind: String,
    /// The workload.
    pub top: Value,
    /// What owns its pods, where that is another: kind and object.
    pub owner: Option<(String, Value)>,
    /// PodGroups of the workload, as the API server has them.
    pub groups: Vec<Value>,
    /// Pods of the workload, as the API server has them.
    pub pods: Vec<Value>,
    /// Events about it that warn, oldest first.
    pub warnings: Vec<Value>,
    /// Since when the controllers are silent, in words; `None` if they are not, or nobody may tell.
    pub silence: Option<String>,
    /// What may not be read, in the API server's words.
    pub hidden: Vec<String>,
}

impl AccountFacts {
    pub fn is_there(&self) -> bool {
        !self.kind.is_empty()
    }

    /// It is a Job of ours that has ended.
    pub fn has_ended(&self) -> bool {
        let job = self.job();
        job.is_some_and(|job| has_ended(&job.status.state.phase))
    }

    /// The Job of ours that the controllers make pods of: the workload, or the last one it has
    /// made.
    fn job(&self) -> Option<Job> {
        let version = self.top["apiVersion"].as_str().unwrap_or_default();
        let job = match &self.owner {
            None if version == keys::BATCH_API_VERSION && self.kind == keys::JOB_KIND => &self.top,
            Some((kind, owner)) if version.contains(OURS) && kind == keys::JOB_KIND => owner,
            _ => return None,
        };
        typed(job).ok()
    }
}

/// Puts together what was read and, where it could be asked, what the scheduler says.
pub(super) fn account(
    facts: &AccountFacts,
    scheduler: Option<&JobView>,
    now: Timestamp,
) -> WorkloadAccount {
    let job = facts.job();
    let groups: Vec<PodGroup> = facts
        .groups
        .iter()
        .filter_map(|one| typed(one).ok())
        .collect();
    let on_nodes = pods::on_nodes(&facts.pods, now);
    let obstacle = job
        .as_ref()
        .and_then(|job| job::obstacle(job, &groups, facts, now));
    let is_at_rest = job.as_ref().is_some_and(job::is_at_rest);
    let asked = scheduler.map(|view| {
        let message = view.message.clone().unwrap_or_default();
        view.reason
            .as_deref()
            .map(|reason| AccountWhy::new(reason, message))
    });
    let below = || match asked {
        Some(why) => why,
        None => job::unplaced(&groups, now).or_else(|| pods::without_node(&facts.pods)),
    };
    let why = match (obstacle, is_at_rest) {
        (Some(why), _) => Some(why),
        (None, true) => None,
        (None, false) => below()
            .or_else(|| {
                let mut kept = on_nodes.iter().filter(|held| !held.have_failed);
                kept.next().map(|held| held.why.clone())
            })
            .or_else(|| job.as_ref().and_then(|job| job::warned(job, facts))),
    };
    let mut steps = Vec::new();
    if let Some(job) = &job {
        steps.push(AccountStep {
            what: "Job",
            says: job::in_words(job, now),
        });
    }
    steps.extend(owner_step(facts));
    steps.extend(group_steps(&groups, job.is_some() && !is_at_rest));
    // The scheduler counts them itself.
    if scheduler.is_none() {
        steps.push(AccountStep {
            what: "Pods",
            says: pods::in_words(&facts.pods),
        });
    }
    steps.extend(on_nodes.iter().map(|held| AccountStep {
        what: "On node",
        says: held.to_string(),
    }));
    steps.extend(notes(facts));
    let metadata = &facts.top["metadata"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    WorkloadAccount {
        about: format!(
            "{} {}/{}",
            facts.kind,
            text(&metadata["namespace"]),
            text(&metadata["name"])
        ),
        phase: job.as_ref().map_or_else(String::new, job_phase),
        why,
        steps,
    }
}

/// What owns the pods, where it is not the workload itself.
fn owner_step(facts: &AccountFacts) -> Option<AccountStep> {
    let (kind, owner) = facts.owner.as_ref()?;
    let name = owner["metadata"]["name"].as_str().unwrap_or_default();
    Some(AccountStep {
        what: "Owner",
        says: format!("{kind} {name} owns the pods"),
    })
}

/// Who is silent, and what was not read.
fn notes(facts: &AccountFacts) -> impl Iterator<Item = AccountStep> {
    let step = |what| {
        move |says: &String| {
            let says = says.clone();
            AccountStep { what, says }
        }
    };
    let silence = facts.silence.iter().map(step("Note"));
    silence.chain(facts.hidden.iter().map(step("Not read")))
}

fn group_steps(groups: &[PodGroup], is_expected: bool) -> Vec<AccountStep> {
    let says = |group: &PodGroup| {
        let name = group.metadata.name.as_deref().unwrap_or_default();
        let status = &group.status;
        let phase = words::or(&status.phase, "Pending");
        let queue = words::or(&group.spec.queue, keys::DEFAULT_QUEUE);
        let (name, min) = (short_group(name), group.spec.min_member);
        format!("{name}, {phase}, needs {min} at the same time, queue {queue}")
    };
    let mut says: Vec<String> = groups.iter().map(says).collect();
    if says.is_empty() && is_expected {
        says.push("none yet".to_owned());
    }
    let step = |says| AccountStep {
        what: "PodGroup",
        says,
    };
    says.into_iter().map(step).collect()
}
