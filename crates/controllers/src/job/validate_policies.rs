//! Lifecycle policies of jobs and tasks (spec/03 D2).

use std::collections::BTreeSet;

use pumice_api::job::LifecyclePolicy;

use super::problem::{JobProblems, add};

/// Any event.
const ANY: &str = "*";

const EVENTS: [&str; 8] = [
    ANY,
    "PodFailed",
    "PodEvicted",
    "PodPending",
    "Unknown",
    "TaskCompleted",
    "TaskFailed",
    "JobUpdated",
];

const ACTIONS: [&str; 8] = [
    "AbortJob",
    "RestartJob",
    "RestartTask",
    "RestartPod",
    "RestartPartition",
    "TerminateJob",
    "CompleteJob",
    "ResumeJob",
];

/// Checks one list of policies; `owner` is the path of the job's spec or of the task.
pub(super) fn validate(policies: &[LifecyclePolicy], owner: &str, problems: &mut JobProblems) {
    let mut events = BTreeSet::new();
    let mut codes = BTreeSet::new();
    for (at, policy) in policies.iter().enumerate() {
        let path = format!("{owner}.policies[{at}]");
        let single = Some(policy.event.as_str()).filter(|event| !event.is_empty());
        let own: BTreeSet<&str> = policy
            .events
            .iter()
            .map(String::as_str)
            .chain(single)
            .collect();
        if !ACTIONS.contains(&policy.action.as_str()) {
            let message = format!(
                "{:?} is not an action; use {}",
                policy.action,
                ACTIONS.join(", ")
            );
            add(problems, format!("{path}.action"), message);
        }
        if let Some(Err(error)) = policy
            .timeout
            .as_deref()
            .map(pumice_units::duration::parse_go_duration)
        {
            let message = format!("{error}; write a duration, for example \"10m\"");
            add(problems, format!("{path}.timeout"), message);
        }
        match (own.is_empty(), policy.exit_code) {
            (false, Some(_)) | (true, None) => {
                add(problems, &path, "write either event, events or exitCode");
            }
            (true, Some(0)) => {
                add(
                    problems,
                    format!("{path}.exitCode"),
                    "0 is success; write another code",
                );
            }
            (true, Some(code)) if !codes.insert(code) => {
                let message = format!("there is another policy for exit code {code}");
                add(problems, format!("{path}.exitCode"), message);
            }
            (true, Some(_)) => {}
            (false, None) => on_events(&own, &events, &path, problems),
        }
        events.extend(own);
    }
    if events.contains(ANY) && events.len() > 1 {
        let message = "\"*\" is every event; no other event can stand beside it";
        add(problems, format!("{owner}.policies"), message);
    }
}

fn on_events(
    own: &BTreeSet<&str>,
    earlier: &BTreeSet<&str>,
    path: &str,
    problems: &mut JobProblems,
) {
    for event in own {
        if !EVENTS.contains(event) {
            let message = format!("{event:?} is not an event; use {}", EVENTS.join(", "));
            add(problems, format!("{path}.event"), message);
        } else if earlier.contains(event) {
            let message = format!("there is another policy for event {event:?}");
            add(problems, format!("{path}.event"), message);
        }
    }
}
