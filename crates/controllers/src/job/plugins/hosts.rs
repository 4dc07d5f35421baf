//! Names under which the pods of a Job find each other.

use pumice_api::Job;
use pumice_api::job::TaskSpec;
use pumice_api::name as syntax;

use super::super::{name, task_name};

/// Longest DNS label.
const MAX_LABEL: usize = 63;

/// `host.subdomain` of one pod.
pub(super) fn host(job: &Job, task: &TaskSpec, index: i32) -> String {
    format!("{}.{}", short_host(job, task, index), subdomain(job, task))
}

/// Host name of one pod without its subdomain.
pub(super) fn short_host(job: &Job, task: &TaskSpec, index: i32) -> String {
    match own_host(task) {
        Some(host) => host.to_owned(),
        None => format!("{}-{}-{index}", name(job), task_name(task)),
    }
}

/// Indices of a task's pods that have a host name of their own: one where the template names it.
pub(super) fn indices(task: &TaskSpec) -> std::ops::Range<i32> {
    match own_host(task) {
        Some(_) => 0..task.replicas.min(1),
        None => 0..task.replicas,
    }
}

/// `host.subdomain` of all pods of a task.
pub(super) fn hosts(job: &Job, task: &TaskSpec) -> Vec<String> {
    indices(task).map(|index| host(job, task, index)).collect()
}

/// Host name the template asks for.
pub(super) fn own_host(task: &TaskSpec) -> Option<&str> {
    let host = task.template.spec.as_ref()?.hostname.as_deref()?;
    Some(host).filter(|host| !host.is_empty())
}

/// Subdomain of a task's pods.
pub(super) fn subdomain<'a>(job: &'a Job, task: &'a TaskSpec) -> &'a str {
    let own = task
        .template
        .spec
        .as_ref()
        .and_then(|pod| pod.subdomain.as_deref());
    own.filter(|own| !own.is_empty())
        .unwrap_or_else(|| name(job))
}

/// Whether a text can be a host name: lower-case letters, digits and `-`, at most 63.
pub(super) fn is_label(text: &str) -> bool {
    text.len() <= MAX_LABEL && !text.contains('.') && syntax::is_dns_subdomain(text)
}
