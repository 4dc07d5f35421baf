//! The Job behind a PodGroup, as its own object tells of it: what is done on events, restarts, tasks. The scheduler follows
//! PodGroups and pods alone, so whoever serves the page asks for the Job, or tells who does.

use std::collections::BTreeMap;

use maud::{Markup, html};
use pumice_engine::view::{JobView, short_group};
use serde::Serialize;

use crate::address::{PageAddress, pair};
use crate::parts::{phase, say, sentence};
use crate::source::Source;
use crate::words::Word;

/// Name of the PodGroups that are made for what is no Job, without the UID behind it.
const OF_OTHERS: &str = "podgroup";

/// Phases of pods that have a column of their own; others are told in the last one.
const PHASES: [&str; 4] = ["Pending", "Running", "Succeeded", "Failed"];

/// Tasks told of one Job, and what is done on events told of one of them.
const MAX_TASKS: usize = 100;
const MAX_POLICIES: usize = 20;

/// What is known of the Job of a PodGroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToldWorkload {
    /// There is none.
    Nothing,
    /// What its object says.
    Job(Box<WorkloadView>),
    /// It is not asked for here: the command that does.
    AskedBy(String),
    /// It cannot be read: why.
    Unread(String),
}

/// A Job (`batch.volcano.sh`), as its object says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadView {
    /// `namespace/name`.
    pub name: String,
    /// The phase that its controller tells.
    pub phase: String,
    /// Reason of the phase, in one word; empty for none.
    pub reason: String,
    /// The reason for people; empty for none.
    pub message: String,
    /// Restarts so far, and how many there may be: `1 of 3`.
    pub restarts: String,
    /// Pods that have to run at the same time, and all: `2 of 3`.
    pub minimum: String,
    /// What is done on which events, one a line.
    pub policies: Vec<String>,
    /// Tasks in their order.
    pub tasks: Vec<WorkloadTask>,
}

/// Pods of one template.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadTask {
    /// Name of the task.
    pub name: String,
    /// Pods there are to be.
    pub replicas: i32,
    /// Pods of it that have to be there before any starts.
    pub minimum: i32,
    /// Images of the containers.
    pub images: Vec<String>,
    /// Pods by phase, as the controller has counted them.
    pub pods: BTreeMap<String, i32>,
    /// What is done on which events, before what the Job says.
    pub policies: Vec<String>,
}

impl ToldWorkload {
    /// Who tells of the Job for which a PodGroup was made. The controllers call that as the Job, with a UID behind.
    pub fn elsewhere(view: &JobView) -> Self {
        let (namespace, group) = pair(&view.name);
        let job = short_group(&group);
        if view.kind != "PodGroup" || job == group || job == OF_OTHERS {
            return Self::Nothing;
        }
        Self::AskedBy(format!("pumice job view {job} -n {namespace}"))
    }
}

/// What is told of the Job of a PodGroup; nothing where there is none.
pub(crate) fn workload(address: &PageAddress, view: &JobView, source: &mut dyn Source) -> Markup {
    let told = source.workload(view);
    html! {
        @if told != ToldWorkload::Nothing {
            section {
                h2 { (say(address, Word::TheJobSays)) }
                @match &told {
                    ToldWorkload::Nothing => {}
                    ToldWorkload::Job(job) => { (facts(address, job)) (tasks(address, job)) }
                    ToldWorkload::AskedBy(command) => { p { (say(address, Word::JobAskedBy)) " " code { (command) } } }
                    ToldWorkload::Unread(why) => { p { (say(address, Word::JobUnread)) ": " (why) } }
                }
            }
        }
    }
}

fn facts(address: &PageAddress, of: &WorkloadView) -> Markup {
    html! {
        dl {
            dt { (say(address, Word::Job)) } dd { (of.name) " " (phase(&of.phase)) }
            @if !of.reason.is_empty() { dt { (say(address, Word::Reason)) } dd { (of.reason) (sentence(&of.message, "")) } }
            dt { (say(address, Word::Restarts)) } dd { (of.restarts) }
            dt { (say(address, Word::Minimum)) } dd { (of.minimum) }
            dt { (say(address, Word::Policies)) } dd { (policies(address, &of.policies)) }
        }
    }
}

fn tasks(address: &PageAddress, of: &WorkloadView) -> Markup {
    html! {
        h3 { (say(address, Word::Tasks)) }
        table {
            thead { tr {
                th { (say(address, Word::Task)) } th { (say(address, Word::Replicas)) } th { (say(address, Word::Minimum)) }
                @for phase in PHASES { th { (phase) } }
                th { (say(address, Word::Policies)) }
            } }
            tbody {
                @for one in of.tasks.iter().take(MAX_TASKS) {
                    tr {
                        th scope="row" { (one.name) @for (phase, count) in others(one) { " · " (count) " " (phase) } }
                        td.number { (one.replicas) }
                        td.number { (one.minimum) }
                        @for phase in PHASES { td.number { (one.pods.get(phase).copied().unwrap_or(0)) } }
                        td { (policies(address, &one.policies)) }
                    }
                }
            }
        }
        @if of.tasks.len() > MAX_TASKS { p { (of.tasks.len() - MAX_TASKS) " " (say(address, Word::More)) } }
    }
}

/// Pods in phases that have no column.
fn others(of: &WorkloadTask) -> impl Iterator<Item = (&str, i32)> {
    let pods = of
        .pods
        .iter()
        .map(|(phase, count)| (phase.as_str(), *count));
    pods.filter(|(phase, count)| *count != 0 && !PHASES.contains(phase))
}

fn policies(address: &PageAddress, all: &[String]) -> Markup {
    html! {
        @if all.is_empty() { "–" }
        @for (at, one) in all.iter().take(MAX_POLICIES).enumerate() { @if at > 0 { br; } (one) }
        @if all.len() > MAX_POLICIES { br; (all.len() - MAX_POLICIES) " " (say(address, Word::More)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(kind: &str, name: &str) -> JobView {
        JobView {
            kind: kind.to_owned(),
            name: name.to_owned(),
            ..JobView::default()
        }
    }

    #[test]
    fn who_tells_of_a_job_is_said_of_podgroups_of_jobs_alone() {
        let uid = "6f1cba06-6b4a-4c5e-9d26-0c2b8a3f0f11";
        let of_job = ToldWorkload::elsewhere(&group("PodGroup", &format!("team/train-{uid}")));
        let command = "pumice job view train -n team".to_owned();
        assert_eq!(of_job, ToldWorkload::AskedBy(command));
        for (kind, name) in [
            ("PodGroup", "team/train".to_owned()),
            ("PodGroup", format!("team/podgroup-{uid}")),
            ("Pod", format!("team/train-{uid}")),
        ] {
            let told = ToldWorkload::elsewhere(&group(kind, &name));
            assert_eq!(told, ToldWorkload::Nothing, "{kind} {name}");
        }
    }
}
