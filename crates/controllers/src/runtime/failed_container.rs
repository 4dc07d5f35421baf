//! Which containers of a pod have failed, and how.

use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodStatus};

/// A container that has ended with another code than 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedContainer {
    /// Name of the container.
    pub name: Box<str>,
    /// It is an init container.
    pub is_init: bool,
    /// Exit code of the container.
    pub code: i32,
}

impl std::fmt::Display for FailedContainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_init {
            "init container"
        } else {
            "container"
        };
        write!(f, "exit code {} of {kind} {}", self.code, self.name)
    }
}

/// Those of a pod, in the order of its spec, whatever order the statuses have: containers, then init
/// containers. The kubelet ends sidecars when the others have ended, so the code of one says nothing
/// of why the pod failed; it counts where no other container tells.
pub(super) fn failed_containers(pod: &Pod) -> Box<[FailedContainer]> {
    let Some(status) = &pod.status else {
        return Box::default();
    };
    let spec = pod.spec.as_ref();
    let regular = spec.map_or(&[][..], |spec| &spec.containers);
    let init = spec.and_then(|spec| spec.init_containers.as_deref());
    let init = init.unwrap_or_default();
    let is_sidecar = |failed: &FailedContainer| {
        let mut init = init.iter();
        let own = init.find(|container| *container.name == *failed.name);
        own.is_some_and(|container| container.restart_policy.as_deref() == Some("Always"))
    };
    let (sidecars, mut failed): (Vec<_>, Vec<_>) = in_order(init_statuses(status), init, true)
        .into_iter()
        .partition(is_sidecar);
    let mut all = in_order(statuses(status), regular, false);
    all.append(&mut failed);
    if all.is_empty() {
        all = sidecars;
    }
    all.into_boxed_slice()
}

/// Statuses of the containers that are no init containers.
pub(super) fn statuses(status: &PodStatus) -> &[ContainerStatus] {
    status.container_statuses.as_deref().unwrap_or_default()
}

/// Statuses of init containers, sidecars among them.
pub(super) fn init_statuses(status: &PodStatus) -> &[ContainerStatus] {
    let statuses = status.init_container_statuses.as_deref();
    statuses.unwrap_or_default()
}

fn in_order(
    statuses: &[ContainerStatus],
    spec: &[Container],
    is_init: bool,
) -> Vec<FailedContainer> {
    let failed = |status: &ContainerStatus| {
        let code = status.state.as_ref()?.terminated.as_ref()?.exit_code;
        (code != 0).then(|| FailedContainer {
            name: status.name.as_str().into(),
            is_init,
            code,
        })
    };
    let place = |name: &str| {
        let at = spec.iter().position(|container| container.name == name);
        at.unwrap_or(spec.len())
    };
    let mut all: Vec<FailedContainer> = statuses.iter().filter_map(failed).collect();
    all.sort_by_key(|failed| place(&failed.name));
    all
}
