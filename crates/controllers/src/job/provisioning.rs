//! What pods of a Job carry for which room is asked of Cluster Autoscaler at once ([`crate::provisioning`]).

use k8s_openapi::api::core::v1::PodTemplate;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use pumice_api::{Job, keys, name};

use super::{namespace, owner, plugins, pod_group_name, task_name, task_pod};

/// The class by which room is asked for; `None` where the Job does not ask.
///
/// # Errors
/// What the Job says is no name of a class; the text.
pub fn provisioning_class(job: &Job) -> Result<Option<&str>, &str> {
    let annotations = job.metadata.annotations.as_ref();
    let said = annotations.and_then(|all| all.get(keys::PROVISIONING_CLASS));
    match said.map(String::as_str) {
        None => Ok(None),
        Some(class) if name::is_dns_subdomain(class) => Ok(Some(class)),
        Some(text) => Err(text),
    }
}

/// Annotations by which an autoscaler knows that the pods wait for what was asked for at once, and buys nothing for each.
pub(super) fn annotations(job: &Job) -> impl Iterator<Item = (String, String)> + use<> {
    let class = provisioning_class(job).ok().flatten();
    let both = class.map(|class| {
        [
            (keys::CONSUMED_REQUEST.to_owned(), pod_group_name(job)),
            (keys::CONSUMED_CLASS.to_owned(), class.to_owned()),
        ]
    });
    both.into_iter().flatten()
}

/// The template of the pods of a task, as one of them would be made: `None` if there is no such task, or a plugin cannot
/// prepare its pods.
pub fn pod_template(job: &Job, task: usize) -> Option<PodTemplate> {
    let group = pod_group_name(job);
    let mut pod = task_pod(job, task, 0, &group)?;
    plugins::prepare(job, task, 0, &mut pod).ok()?;
    let role = task_name(job.spec.tasks.get(task)?);
    Some(PodTemplate {
        metadata: ObjectMeta {
            name: Some(format!("{group}-{role}")),
            namespace: Some(namespace(job).to_owned()),
            owner_references: Some(vec![owner(job)]),
            ..ObjectMeta::default()
        },
        template: Some(PodTemplateSpec {
            metadata: Some(ObjectMeta {
                annotations: pod.metadata.annotations,
                labels: pod.metadata.labels,
                ..ObjectMeta::default()
            }),
            spec: pod.spec,
        }),
    })
}
