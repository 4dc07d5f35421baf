//! Whether an API server would take the pods of a Job, asked before any of them is made.

use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;
use pumice_wire::rules::{self, BrokenRule, RuleScope};

use super::{plugins, pod_group_name, task_pod};

/// The rules that the templates of a valid Job break, told in its fields. Looked at is the first pod
/// of each task as it would be made, with the volumes and what else the Job and its plugins add.
pub fn broken_templates(job: &Job, scope: RuleScope) -> Vec<BrokenRule> {
    let group = pod_group_name(job);
    let mut broken = Vec::new();
    for task in 0..job.spec.tasks.len() {
        let Some(mut pod) = task_pod(job, task, 0, &group) else {
            continue;
        };
        // What a plugin cannot prepare is told where the pod is to be made.
        if plugins::prepare(job, task, 0, &mut pod).is_err() {
            continue;
        }
        let found = of_pod(&pod, scope).into_iter();
        broken.extend(found.map(|rule| in_template(task, rule)));
    }
    broken
}

fn of_pod(pod: &Pod, scope: RuleScope) -> Vec<BrokenRule> {
    let json = serde_json::to_value(pod).unwrap_or_default();
    rules::broken("", "Pod", &json, scope)
}

fn in_template(task: usize, rule: BrokenRule) -> BrokenRule {
    let template = format!("spec.tasks[{task}].template.");
    // What is said of other fields of the pod is said of the same template.
    let within = |text: String| text.replace(" spec.", &format!(" {template}spec."));
    BrokenRule {
        path: format!("{template}{}", rule.path),
        message: within(rule.message),
        help: within(rule.help),
    }
}
