//! `mpi`: the master knows the hosts of the workers.

use k8s_openapi::api::core::v1::Pod;

use super::super::problem::{JobProblem, JobProblems};
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::flags::{FlagKind, FlagSpec};
use super::hosts;
use super::pods::{add_env, all_containers, env, open_port};

pub(super) struct Mpi;

const FLAGS: [FlagSpec; 3] = [
    FlagSpec::new("master", FlagKind::Task("master")),
    FlagSpec::new("worker", FlagKind::Task("worker")),
    FlagSpec::new("port", FlagKind::Port(22)),
];

impl JobPlugin for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn flags(&self) -> &'static [FlagSpec] {
        &FLAGS
    }

    fn problems(&self, asked: &Asked<'_>, problems: &mut JobProblems) {
        problems.extend(asked.needs_task("master", "master").err());
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        place: PodPlace<'_>,
        pod: &mut Pod,
    ) -> Result<(), JobProblem> {
        let pod = spec(pod);
        let port = asked.flags.number("port");
        let is_host_network = pod.host_network == Some(true);
        let init = pod.init_containers.iter_mut().flatten();
        open_port(init, is_host_network, "mpijob-port", port);
        open_port(
            pod.containers.iter_mut(),
            is_host_network,
            "mpijob-port",
            port,
        );
        if let (true, Some(worker)) = (place.is(asked, "master"), asked.task("worker")) {
            let hosts = env("MPI_HOST", hosts::hosts(asked.job, worker).join(","));
            let variables = [hosts];
            all_containers(pod).for_each(|container| add_env(container, &variables));
        }
        Ok(())
    }
}
