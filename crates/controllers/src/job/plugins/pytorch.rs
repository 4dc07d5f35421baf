//! `pytorch`: what `torch.distributed` reads from the environment.

use k8s_openapi::api::core::v1::{Container, Pod};

use super::super::problem::JobProblem;
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::flags::{FlagKind, FlagSpec};
use super::hosts;
use super::pods::{add_env, env, open_port};

pub(super) struct Pytorch;

const FLAGS: [FlagSpec; 6] = [
    FlagSpec::new("master", FlagKind::Task("master")),
    FlagSpec::new("worker", FlagKind::Task("worker")),
    FlagSpec::new("port", FlagKind::Port(23456)),
    FlagSpec::new("wait-master-enabled", FlagKind::Switch(false)),
    FlagSpec::new("wait-master-timeout", FlagKind::Seconds(300)),
    FlagSpec::new("wait-master-image", FlagKind::Text("busybox:1.36.1")),
];

/// Name of the init container that waits for the master.
const WAIT: &str = "wait-for-master";

/// Waits until host `$1` answers on port `$2`, at most `$3` seconds.
const WAIT_SCRIPT: &str = r#"answers() {
  nc -z "$1" "$2" || bash -c ': </dev/tcp/"$0"/"$1"' "$1" "$2"
}
waited=0
while ! answers "$1" "$2" 2>/dev/null; do
  if [ "$waited" -ge "$3" ]; then echo "no answer from $1:$2 after $3 s" >&2; exit 1; fi
  sleep 2
  waited=$((waited + 2))
done
echo "$1:$2 answers after $waited s""#;

impl JobPlugin for Pytorch {
    fn name(&self) -> &'static str {
        "pytorch"
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
        let Some(master) = asked.task("master") else {
            return Ok(());
        };
        let address = hosts::host(asked.job, master, 0);
        let port = asked.flags.number("port");
        let masters = master.replicas;
        let is_master = place.is(asked, "master");
        let is_worker = !is_master && place.is(asked, "worker");
        let workers = match asked.task("worker") {
            Some(worker) if !std::ptr::eq(worker, master) => worker.replicas,
            _ => 0,
        };
        let mut variables = vec![
            env("MASTER_ADDR", &*address),
            env("MASTER_PORT", port.to_string()),
            env("WORLD_SIZE", masters.saturating_add(workers).to_string()),
        ];
        if is_master {
            variables.push(env("RANK", place.index.to_string()));
        } else if is_worker {
            variables.push(env("RANK", masters.saturating_add(place.index).to_string()));
        }
        let pod = spec(pod);
        let is_host_network = pod.host_network == Some(true);
        open_port(
            pod.containers.iter_mut(),
            is_host_network,
            "pytorchjob-port",
            port,
        );
        for container in &mut pod.containers {
            add_env(container, &variables);
        }
        if is_worker && asked.flags.is_on("wait-master-enabled") {
            let init = pod.init_containers.get_or_insert_default();
            if !init.iter().any(|container| container.name == WAIT) {
                init.push(wait(asked, &address, port));
            }
        }
        Ok(())
    }
}

fn wait(asked: &Asked<'_>, address: &str, port: u32) -> Container {
    let seconds = asked.flags.number("wait-master-timeout").to_string();
    let port = port.to_string();
    let command = ["sh", "-c", WAIT_SCRIPT, WAIT, address, &port, &seconds];
    Container {
        name: WAIT.to_owned(),
        image: Some(asked.flags.text("wait-master-image").to_owned()),
        command: Some(command.map(str::to_owned).to_vec()),
        ..Container::default()
    }
}
