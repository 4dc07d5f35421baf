//! `env`: the index of a pod in its task, as environment variables.

use k8s_openapi::api::core::v1::Pod;

use super::super::problem::JobProblem;
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::pods::{add_env, all_containers, env};

pub(super) struct Env;

/// Names of the variable; the first is the older one.
const INDEX: [&str; 2] = ["VK_TASK_INDEX", "VC_TASK_INDEX"];

impl JobPlugin for Env {
    fn name(&self) -> &'static str {
        "env"
    }

    fn prepare(&self, _: &Asked<'_>, place: PodPlace<'_>, pod: &mut Pod) -> Result<(), JobProblem> {
        let variables = INDEX.map(|name| env(name, place.index.to_string()));
        all_containers(spec(pod)).for_each(|container| add_env(container, &variables));
        Ok(())
    }
}
