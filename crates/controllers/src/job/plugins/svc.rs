//! `svc`: pods of a Job find each other by name. A Service gives the names, a ConfigMap lists them
//! by task, and a NetworkPolicy lets nobody else in.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    ConfigMapKeySelector, ConfigMapVolumeSource, EnvVar, EnvVarSource, Pod, Volume,
};
use pumice_api::job::TaskSpec;
use pumice_api::{Job, keys};
use serde_json::{Value, json};

use super::super::problem::JobDoubt;
use super::super::problem::{JobProblem, JobProblems, add};
use super::super::{name, namespace, owner, task_name, uid};
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::flags::{FlagKind, FlagSpec};
use super::hosts;
use super::pods::{add_env, all_containers, mount};
use crate::runtime::{ApiWrite, ManagedKind, ManagedRef};

pub(super) struct Svc;

const FLAGS: [FlagSpec; 3] = [
    FlagSpec::new(NOT_READY, FlagKind::Switch(false)),
    FlagSpec::new(NO_POLICY, FlagKind::Switch(false)),
    FlagSpec::new(HOSTS_ENV, FlagKind::Switch(true)),
];
const NOT_READY: &str = "publish-not-ready-addresses";
const NO_POLICY: &str = "disable-network-policy";
const HOSTS_ENV: &str = "inject-hosts-env";

/// Where the lists of hosts are mounted.
const MOUNT_PATH: &str = "/etc/volcano";

impl JobPlugin for Svc {
    fn name(&self) -> &'static str {
        "svc"
    }

    fn flags(&self) -> &'static [FlagSpec] {
        &FLAGS
    }

    fn problems(&self, asked: &Asked<'_>, problems: &mut JobProblems) {
        let job = asked.job;
        if !hosts::is_label(&config_map(job)) {
            let message = format!(
                "plugin svc makes the Service {0:?} and the volume \"{0}-svc\": use at most 59 \
                 lower-case letters, digits and '-'",
                name(job)
            );
            add(problems, "metadata.name", message);
        }
        for (at, task) in job.spec.tasks.iter().enumerate() {
            let longest = hosts::short_host(job, task, (task.replicas - 1).max(0));
            if !hosts::is_label(&longest) {
                let message = format!(
                    "plugin svc makes {longest:?} a host name, which has at most 63 lower-case \
                     letters, digits and '-'; shorten the name of the job or of the task"
                );
                add(problems, format!("spec.tasks[{at}].name"), message);
            }
        }
    }

    /// Servers of Kubernetes before 1.36 want a letter at the beginning of a Service's name.
    fn doubts(&self, asked: &Asked<'_>, doubts: &mut Vec<JobDoubt>) {
        let name = name(asked.job);
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            doubts.push(JobDoubt {
                path: "metadata.name".to_owned(),
                message: format!(
                    "{name:?} begins with a digit: plugin svc makes a Service of that name, which \
                     many API servers refuse, and without it the Job does not start"
                ),
                help: format!("give it a name that begins with a letter, such as \"job-{name}\""),
            });
        }
    }

    fn follows_replicas(&self) -> bool {
        true
    }

    fn objects(&self, asked: &Asked<'_>) -> Vec<ApiWrite> {
        let job = asked.job;
        let mut writes = vec![
            ApiWrite::create(ManagedKind::ConfigMap, host_map(job)),
            ApiWrite::create(ManagedKind::Service, service(asked)),
        ];
        if !asked.flags.is_on(NO_POLICY) {
            writes.push(ApiWrite::create(ManagedKind::NetworkPolicy, policy(job)));
        }
        writes
    }

    fn refresh(&self, asked: &Asked<'_>) -> Vec<ApiWrite> {
        let job = asked.job;
        let of = ManagedRef::new(ManagedKind::ConfigMap, namespace(job), &config_map(job));
        vec![ApiWrite::merge_owned(
            &uid(job),
            of,
            json!({"data": lists(job)}),
        )]
    }

    fn prepare(&self, asked: &Asked<'_>, _: PodPlace<'_>, pod: &mut Pod) -> Result<(), JobProblem> {
        let job = asked.job;
        let pod_name = pod.metadata.name.clone().unwrap_or_default();
        let spec = spec(pod);
        let unset = |text: &Option<String>| text.as_deref().is_none_or(str::is_empty);
        if unset(&spec.hostname) {
            spec.hostname = Some(pod_name);
        }
        if unset(&spec.subdomain) {
            spec.subdomain = Some(name(job).to_owned());
        }
        if asked.flags.is_on(HOSTS_ENV) {
            let variables = variables(job);
            all_containers(spec).for_each(|container| add_env(container, &variables));
        }
        let volume = Volume {
            name: config_map(job),
            config_map: Some(ConfigMapVolumeSource {
                name: config_map(job),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        };
        mount(spec, volume, MOUNT_PATH, None);
        Ok(())
    }
}

fn config_map(job: &Job) -> String {
    format!("{}-svc", name(job))
}

/// Name of a task in keys and variables.
fn key_of(task: &TaskSpec) -> String {
    task_name(task).replace('-', "_")
}

/// Names of the variables with the hosts of a task, and with their number.
fn variable_names(task: &TaskSpec) -> [String; 2] {
    let key = key_of(task).to_uppercase();
    [format!("VC_{key}_HOSTS"), format!("VC_{key}_NUM")]
}

/// Hosts by task.
fn lists(job: &Job) -> BTreeMap<String, String> {
    let mut lists = BTreeMap::new();
    for task in &job.spec.tasks {
        let hosts = hosts::hosts(job, task);
        let [all, count] = variable_names(task);
        lists.insert(format!("{}.host", key_of(task)), hosts.join("\n"));
        lists.insert(all, hosts.join(","));
        lists.insert(count, hosts.len().to_string());
    }
    lists
}

fn variables(job: &Job) -> Vec<EnvVar> {
    let variable = |key: String| EnvVar {
        name: key.clone(),
        value: None,
        value_from: Some(EnvVarSource {
            config_map_key_ref: Some(ConfigMapKeySelector {
                name: config_map(job),
                key,
                optional: None,
            }),
            ..EnvVarSource::default()
        }),
    };
    let tasks = job.spec.tasks.iter();
    tasks.flat_map(variable_names).map(variable).collect()
}

fn host_map(job: &Job) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": config_map(job), "namespace": namespace(job),
            "ownerReferences": [owner(job)]},
        "data": lists(job),
    })
}

/// Labels of all pods of the Job.
fn members(job: &Job) -> Value {
    json!({keys::JOB_NAME: name(job), keys::JOB_NAMESPACE: namespace(job)})
}

fn service(asked: &Asked<'_>) -> Value {
    let job = asked.job;
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name(job), "namespace": namespace(job),
            "ownerReferences": [owner(job)]},
        "spec": {"clusterIP": "None", "selector": members(job),
            "publishNotReadyAddresses": asked.flags.is_on(NOT_READY)},
    })
}

fn policy(job: &Job) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
        "metadata": {"name": name(job), "namespace": namespace(job),
            "ownerReferences": [owner(job)]},
        "spec": {"podSelector": {"matchLabels": members(job)}, "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"podSelector": {"matchLabels": members(job)}}]}]},
    })
}
