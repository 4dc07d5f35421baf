//! `ray`: one pod is the head of a Ray cluster, the others join it.

use k8s_openapi::api::core::v1::Pod;
use pumice_api::job::TaskSpec;
use pumice_api::keys;
use serde_json::json;

use super::super::problem::{JobProblem, JobProblems, add};
use super::super::{name, namespace, owner, task_name};
use super::entry::{Asked, JobPlugin, PodPlace, spec};
use super::flags::{FlagKind, FlagSpec};
use super::hosts;
use super::pods::open_port;
use crate::runtime::{ApiWrite, ManagedKind};

pub(super) struct Ray;

const FLAGS: [FlagSpec; 7] = [
    FlagSpec::new("head", FlagKind::Task("head")),
    FlagSpec::new("headContainer", FlagKind::Text("head")),
    FlagSpec::new("worker", FlagKind::Task("worker")),
    FlagSpec::new("workerContainer", FlagKind::Text("worker")),
    FlagSpec::new("port", FlagKind::Port(6379)),
    FlagSpec::new("dashboardPort", FlagKind::Port(8265)),
    FlagSpec::new("clientPort", FlagKind::Port(10001)),
];

/// Names of the head's ports, with their flags.
const PORTS: [(&str, &str); 3] = [
    ("gcs", "port"),
    ("dashboard", "dashboardPort"),
    ("client-server", "clientPort"),
];

impl JobPlugin for Ray {
    fn name(&self) -> &'static str {
        "ray"
    }

    fn flags(&self) -> &'static [FlagSpec] {
        &FLAGS
    }

    fn problems(&self, asked: &Asked<'_>, problems: &mut JobProblems) {
        problems.extend(asked.needs_task("head", "head").err());
        let roles = [("head", "headContainer"), ("worker", "workerContainer")];
        for (task, flag) in roles {
            let Some(task) = asked.task(task) else {
                continue;
            };
            let wanted = asked.flags.text(flag);
            if !containers(task).any(|container| container == wanted) {
                let known: Vec<&str> = containers(task).collect();
                let message = format!(
                    "task {:?} has no container {wanted:?} to start Ray in; name one with \
                     \"--{flag}=<container>\": {}",
                    task_name(task),
                    known.join(", ")
                );
                add(problems, &asked.path, message);
            }
        }
        let ports = PORTS.map(|(_, flag)| asked.flags.number(flag));
        if let [gcs, dashboard, client] = ports
            && (gcs == dashboard || gcs == client || dashboard == client)
        {
            let message = format!(
                "port {gcs}, dashboardPort {dashboard} and clientPort {client} must differ"
            );
            add(problems, &asked.path, message);
        }
    }

    fn objects(&self, asked: &Asked<'_>) -> Vec<ApiWrite> {
        let job = asked.job;
        let port = |(name, flag)| {
            let number = asked.flags.number(flag);
            json!({"name": name, "port": number, "targetPort": number, "protocol": "TCP"})
        };
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": format!("{}-head-svc", name(job)), "namespace": namespace(job),
                "ownerReferences": [owner(job)]},
            "spec": {
                "selector": {keys::JOB_NAME: name(job), keys::JOB_NAMESPACE: namespace(job),
                    keys::TASK_SPEC: asked.flags.text("head")},
                "ports": PORTS.map(port),
            },
        });
        vec![ApiWrite::create(ManagedKind::Service, service)]
    }

    fn prepare(
        &self,
        asked: &Asked<'_>,
        place: PodPlace<'_>,
        pod: &mut Pod,
    ) -> Result<(), JobProblem> {
        let head = asked.needs_task("head", "head")?;
        let flags = &asked.flags;
        let [gcs, dashboard, client] = PORTS.map(|(_, flag)| flags.number(flag));
        let (container, command) = if place.is(asked, "head") {
            let command = format!(
                "ray start --head --block --dashboard-host=0.0.0.0 --port={gcs} \
                 --dashboard-port={dashboard} --ray-client-server-port={client}"
            );
            (flags.text("headContainer"), command)
        } else if place.is(asked, "worker") {
            let address = hosts::host(asked.job, head, 0);
            let command = format!("ray start --block --address={address}:{gcs}");
            (flags.text("workerContainer"), command)
        } else {
            return Ok(());
        };
        let mut containers = spec(pod).containers.iter_mut();
        let Some(container) = containers.find(|known| known.name == container) else {
            return Ok(());
        };
        container.command = Some(vec!["sh".to_owned(), "-c".to_owned(), command]);
        if place.is(asked, "head") {
            for (name, flag) in PORTS {
                let only = std::iter::once(&mut *container);
                open_port(only, false, name, flags.number(flag));
            }
        }
        Ok(())
    }
}

fn containers(task: &TaskSpec) -> impl Iterator<Item = &str> {
    let pods = task.template.spec.iter();
    pods.flat_map(|pod| &pod.containers)
        .map(|container| container.name.as_str())
}
