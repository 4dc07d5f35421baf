//! From the Lease to the pod that holds it, or else to one that stands by, and the port of its pages.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};

use super::error::of_request;
use super::{RemoteError, RemoteOptions};
use crate::pods;

/// Port of `--secure-address` unless told otherwise.
const PORT: u16 = 8443;

/// The flag that moves it.
const LISTEN: &str = "--secure-address";

/// Label of the scheduler's pods in Volcano's chart and in ours.
const SCHEDULER_PODS: &str = "app=volcano-scheduler";

const GET_LEASE: &str = "the verb get on leases of coordination.k8s.io";
const GET_PODS: &str = "the verbs get and list on pods";

/// A pod of the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulerPod {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub pod: String,
    /// Port of its pages.
    pub port: u16,
    /// ServiceAccount of the pod.
    pub account: String,
}

pub(super) async fn find(
    client: &Client,
    options: &RemoteOptions,
) -> Result<SchedulerPod, RemoteError> {
    let (namespace, name) = (&options.lease_namespace, &options.lease_name);
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let lease = leases.get_opt(name).await;
    let lease = lease.map_err(|error| of_request(&error, GET_LEASE, options))?;
    let lease = lease.ok_or_else(|| RemoteError::NoLease {
        namespace: namespace.clone(),
        name: name.clone(),
    })?;
    let holder = lease.spec.and_then(|spec| spec.holder_identity);
    let holder = holder.filter(|holder| !holder.is_empty());
    let holder = holder.ok_or_else(|| RemoteError::NoHolder {
        namespace: namespace.clone(),
        name: name.clone(),
    })?;
    let pod = pod_of(client, options, &holder).await?;
    Ok(found(&pod, options))
}

/// The pod of this name.
pub(super) async fn find_named(
    client: &Client,
    options: &RemoteOptions,
    name: &str,
) -> Result<SchedulerPod, RemoteError> {
    let namespace = options.lease_namespace.as_str();
    let pod = pods::get(client, namespace, name).await;
    let pod = pod.map_err(|error| of_request(&error, GET_PODS, options))?;
    let pod = pod.ok_or_else(|| RemoteError::NoSuchPod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })?;
    Ok(found(&pod, options))
}

/// The first by name of the scheduler's pods that are ready.
pub(super) async fn find_standby(
    client: &Client,
    options: &RemoteOptions,
) -> Result<Option<SchedulerPod>, RemoteError> {
    let namespace = options.lease_namespace.as_str();
    let ours = ListParams::default().labels(SCHEDULER_PODS);
    let pods = pods::list(client, namespace, &ours).await;
    let pods = pods.map_err(|error| of_request(&error, GET_PODS, options))?;
    let ready = pods.into_iter().filter(is_ready);
    let first = ready.min_by_key(ResourceExt::name_any);
    Ok(first.map(|pod| found(&pod, options)))
}

fn found(pod: &Pod, options: &RemoteOptions) -> SchedulerPod {
    SchedulerPod {
        namespace: options.lease_namespace.clone(),
        pod: pod.name_any(),
        port: options.port.unwrap_or_else(|| port_of(pod)),
        account: account_of(pod),
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions);
    let mut conditions = conditions.flatten();
    let ready = conditions.any(|one| one.type_ == "Ready" && one.status == "True");
    ready && pod.metadata.deletion_timestamp.is_none()
}

/// `<hostname>_<uuid>`: the host name of a pod is its name, cut at 63 characters, or with host
/// network the name of its node.
async fn pod_of(
    client: &Client,
    options: &RemoteOptions,
    holder: &str,
) -> Result<Pod, RemoteError> {
    let namespace = options.lease_namespace.as_str();
    let host = holder.rsplit_once('_').map_or(holder, |(host, _)| host);
    let refused = |error: kube::Error| of_request(&error, GET_PODS, options);
    if let Some(pod) = pods::get(client, namespace, host).await.map_err(refused)? {
        return Ok(pod);
    }
    let all = pods::list(client, namespace, &ListParams::default()).await;
    let found = all
        .map_err(refused)?
        .into_iter()
        .find(|pod| has_host(pod, host));
    found.ok_or_else(|| RemoteError::NoPod {
        namespace: namespace.to_owned(),
        holder: holder.to_owned(),
    })
}

/// Longest host name of a pod.
const MAX_HOST: usize = 63;

fn has_host(pod: &Pod, host: &str) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let cut = host.len() == MAX_HOST && pod.name_any().starts_with(host);
    let on_node = spec.host_network == Some(true) && spec.node_name.as_deref() == Some(host);
    let schedules = spec.containers.iter().any(|container| {
        let words = container.args.iter().chain(&container.command).flatten();
        let mut words = words.chain([&container.name]).chain(&container.image);
        words.any(|word| word.contains("scheduler"))
    });
    cut || on_node && schedules
}

fn account_of(pod: &Pod) -> String {
    let account = pod
        .spec
        .as_ref()
        .and_then(|spec| spec.service_account_name.clone());
    account.unwrap_or_else(|| "default".to_owned())
}

/// The port of `--secure-address`, else the container port called `secure`, else the default.
fn port_of(pod: &Pod) -> u16 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let told = containers.clone().find_map(listen_port);
    let named = || {
        let ports = containers.flat_map(|container| container.ports.iter().flatten());
        let mut ports = ports.filter(|port| port.name.as_deref() == Some("secure"));
        ports
            .next()
            .and_then(|port| u16::try_from(port.container_port).ok())
    };
    told.or_else(named).unwrap_or(PORT)
}

fn listen_port(container: &Container) -> Option<u16> {
    let words: Vec<&str> = container
        .command
        .iter()
        .chain(&container.args)
        .flatten()
        .flat_map(|word| word.split_whitespace())
        .collect();
    let address = words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix(LISTEN)?;
        match rest.strip_prefix('=') {
            Some(address) => Some(address),
            None if rest.is_empty() => words.get(at + 1).copied(),
            None => None,
        }
    })?;
    let (_, port) = address.rsplit_once(':')?;
    port.parse().ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(container: serde_json::Value) -> Pod {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [container]}});
        serde_json::from_value(pod).expect("a pod")
    }

    #[test]
    fn the_port_is_the_one_the_scheduler_listens_on() {
        for (container, port) in [
            (json!({"name": "c"}), 8443),
            (
                json!({"name": "c", "args": ["--secure-address=:9090"]}),
                9090,
            ),
            (
                json!({"name": "c", "args": ["--secure-address", "127.0.0.1:9091"]}),
                9091,
            ),
            (
                json!({"name": "c", "args": ["--v=3 --secure-address=:9092 2>&1"]}),
                9092,
            ),
            (
                json!({"name": "c", "ports": [{"name": "secure", "containerPort": 9093}]}),
                9093,
            ),
            (json!({"name": "c", "args": ["--secure-address=:0"]}), 8443),
        ] {
            assert_eq!(port_of(&pod(container.clone())), port, "{container}");
        }
    }

    #[test]
    fn a_pod_is_known_by_its_host_name() {
        let long = "a".repeat(70);
        let named = |name: &str| {
            let mut pod = pod(json!({"name": "volcano-scheduler"}));
            pod.metadata.name = Some(name.to_owned());
            pod
        };
        assert!(has_host(&named(&long), &long[..63]));
        assert!(!has_host(&named("other"), "p"));
        let mut on_node = named("other");
        let spec = on_node.spec.get_or_insert_default();
        spec.host_network = Some(true);
        spec.node_name = Some("node-1".to_owned());
        assert!(has_host(&on_node, "node-1"));
    }
}
