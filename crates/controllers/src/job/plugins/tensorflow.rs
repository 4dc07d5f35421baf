//! `tensorflow`: the cluster as `TF_CONFIG`.

use k8s_openapi::api::core::v1::Pod;
use serde_json::json;

use super::super::problem::JobProblem;
use super::super::task_name;
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::flags::{FlagKind, FlagSpec};
use super::hosts;
use super::pods::{add_env, env};

pub(super) struct Tensorflow;

/// Roles, which are flags too, in the order of `TF_CONFIG`.
const ROLES: [&str; 4] = ["ps", "worker", "chief", "evaluator"];

const FLAGS: [FlagSpec; 5] = [
    FlagSpec::new("ps", FlagKind::Task("ps")),
    FlagSpec::new("worker", FlagKind::Task("worker")),
    FlagSpec::new("chief", FlagKind::Task("chief")),
    FlagSpec::new("evaluator", FlagKind::Task("evaluator")),
    FlagSpec::new("port", FlagKind::Port(2222)),
];

impl JobPlugin for Tensorflow {
    fn name(&self) -> &'static str {
        "tensorflow"
    }

    fn flags(&self) -> &'static [FlagSpec] {
        &FLAGS
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        place: PodPlace<'_>,
        pod: &mut Pod,
    ) -> Result<(), JobProblem> {
        let is_alone = matches!(asked.job.spec.tasks.as_slice(), [task] if task.replicas == 1);
        if is_alone {
            return Ok(());
        }
        let variables = [env("TF_CONFIG", config(asked, place))];
        for container in &mut spec(pod).containers {
            add_env(container, &variables);
        }
        Ok(())
    }
}

/// `{"cluster":{role: [host:port]},"task":{"type","index"}}`, roles without pods left out.
fn config(asked: &Asked<'_>, place: PodPlace<'_>) -> String {
    let port = asked.flags.number("port");
    let members = |role: &str| {
        let task = asked.task(role)?;
        let hosts = hosts::hosts(asked.job, task).into_iter();
        let hosts: Vec<String> = hosts.map(|host| format!("{host}:{port}")).collect();
        (!hosts.is_empty()).then(|| format!("{}:{}", json!(role), json!(hosts)))
    };
    let cluster: Vec<String> = ROLES.into_iter().filter_map(members).collect();
    // A task that several flags name is a chief first, as the one that there is only one of.
    let roles = ["chief", "worker", "ps", "evaluator"].into_iter();
    let own = roles.into_iter().find(|role| place.is(asked, role));
    let role = json!(own.unwrap_or_else(|| task_name(place.task)));
    let cluster = cluster.join(",");
    let index = place.index;
    format!(r#"{{"cluster":{{{cluster}}},"task":{{"type":{role},"index":{index}}}}}"#)
}
