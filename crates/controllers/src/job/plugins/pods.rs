//! Changes several plugins make to a pod. What the template has at the same place stays.

use k8s_openapi::api::core::v1::{Container, ContainerPort, EnvVar, PodSpec, Volume, VolumeMount};

/// An environment variable. A later one of the same name wins, so plugins win over the template.
pub(super) fn env(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar {
        name: name.to_owned(),
        value: Some(value.into()),
        value_from: None,
    }
}

/// Init containers and containers.
pub(super) fn all_containers(pod: &mut PodSpec) -> impl Iterator<Item = &mut Container> {
    let init = pod.init_containers.iter_mut().flatten();
    init.chain(&mut pod.containers)
}

/// Adds variables to a container.
pub(super) fn add_env(container: &mut Container, variables: &[EnvVar]) {
    let known = container.env.get_or_insert_default();
    known.extend_from_slice(variables);
}

/// Adds a volume, and mounts it in every container that has nothing mounted there.
pub(super) fn mount(pod: &mut PodSpec, volume: Volume, path: &str, sub_path: Option<&str>) {
    for container in all_containers(pod) {
        let mounts = container.volume_mounts.get_or_insert_default();
        let same = |text: &str| text.trim_end_matches('/') == path.trim_end_matches('/');
        if mounts.iter().any(|known| same(&known.mount_path)) {
            continue;
        }
        mounts.push(VolumeMount {
            name: volume.name.clone(),
            mount_path: path.to_owned(),
            sub_path: sub_path.map(str::to_owned),
            ..VolumeMount::default()
        });
    }
    let volumes = pod.volumes.get_or_insert_default();
    if !volumes.iter().any(|known| known.name == volume.name) {
        volumes.push(volume);
    }
}

/// Declares a port of containers that do not declare it. On the network of the host one container
/// only: two that declare the same port of the host are refused.
pub(super) fn open_port<'a>(
    containers: impl Iterator<Item = &'a mut Container>,
    is_host_network: bool,
    name: &str,
    port: u32,
) {
    let number = i32::try_from(port).unwrap_or(i32::MAX);
    let mut containers: Vec<&mut Container> = containers.collect();
    let declares = |container: &Container| {
        let mut ports = container.ports.iter().flatten();
        ports.any(|known| known.container_port == number)
    };
    let mut is_open = containers.iter().any(|container| declares(container));
    for container in &mut containers {
        if declares(container) || (is_host_network && is_open) {
            continue;
        }
        is_open = true;
        container.ports.get_or_insert_default().push(ContainerPort {
            name: Some(name.to_owned()),
            container_port: number,
            ..ContainerPort::default()
        });
    }
}
