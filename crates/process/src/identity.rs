//! Who this process is.

use k8s_openapi::Resource;
use k8s_openapi::api::core::v1::Pod;
use pumice_cluster::ObjectRef;

/// Where the kubelet mounts the namespace of a pod.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

fn trimmed(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Name of this machine, or of the pod; `program` where there is none.
pub fn host(program: &str) -> String {
    let name = std::env::var("HOSTNAME")
        .ok()
        .filter(|name| !name.is_empty());
    let name = name.or_else(|| trimmed("/proc/sys/kernel/hostname"));
    name.unwrap_or_else(|| program.to_owned())
}

/// `<hostname>_<unique>`, new at every start (spec/01 §1.5).
pub fn lease_holder(program: &str) -> String {
    let unique = trimmed("/proc/sys/kernel/random/uuid");
    let unique = unique.unwrap_or_else(|| std::process::id().to_string());
    format!("{}_{unique}", host(program))
}

/// The pod this process runs in, when it runs in one: as the environment says (`POD_NAME`,
/// `POD_NAMESPACE`, `POD_UID`), else by its host name and the namespace of its service account.
pub fn own_pod(program: &str) -> Option<ObjectRef> {
    let told = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Some(ObjectRef {
        api_version: Pod::API_VERSION.to_owned(),
        kind: Pod::KIND.to_owned(),
        namespace: told("POD_NAMESPACE").or_else(|| trimmed(NAMESPACE_FILE))?,
        name: told("POD_NAME").unwrap_or_else(|| host(program)),
        uid: told("POD_UID").unwrap_or_default(),
    })
}
