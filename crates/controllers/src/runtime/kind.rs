//! The kinds controllers read or write, and where the API server has them.

use k8s_openapi::Resource as _;
use pumice_api::NativePodGroup;

/// A kind of objects, as a row of the table below says where the API server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ManagedKind {
    /// `batch.volcano.sh` Job.
    Job,
    /// Pods of the core API.
    Pod,
    /// PodGroups of `scheduling.volcano.sh`.
    PodGroup,
    /// PodGroups of Kubernetes itself (`scheduling.k8s.io`).
    NativeGroup,
    /// Queues of `scheduling.volcano.sh`.
    Queue,
    /// `bus.volcano.sh` Command.
    Command,
    /// `batch.volcano.sh` CronJob.
    CronJob,
    /// JobFlows of `flow.volcano.sh`.
    JobFlow,
    /// JobTemplates of `flow.volcano.sh`.
    JobTemplate,
    /// HyperNodes of `topology.volcano.sh`.
    HyperNode,
    /// Nodes of the core API.
    Node,
    /// Namespaces of the core API.
    Namespace,
    /// PriorityClasses of `scheduling.k8s.io`.
    PriorityClass,
    /// PersistentVolumeClaims of the core API.
    PersistentVolumeClaim,
    /// ReplicaSets of `apps`.
    ReplicaSet,
    /// StatefulSets of `apps`.
    StatefulSet,
    /// DaemonSets of `apps`.
    DaemonSet,
    /// `batch` Job of Kubernetes.
    BatchJob,
    /// ValidatingAdmissionPolicies of `admissionregistration.k8s.io`.
    ValidatingAdmissionPolicy,
    /// ValidatingAdmissionPolicyBindings of `admissionregistration.k8s.io`.
    ValidatingAdmissionPolicyBinding,
    /// ProvisioningRequests of `autoscaling.x-k8s.io`.
    ProvisioningRequest,
    /// PodTemplate; not followed.
    PodTemplate,
    /// ConfigMap; not followed.
    ConfigMap,
    /// Secret; not followed.
    Secret,
    /// Service; not followed.
    Service,
    /// NetworkPolicy; not followed.
    NetworkPolicy,
}

/// Where the API server has a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindPath {
    /// `kind`.
    pub kind: &'static str,
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version within the group.
    pub version: &'static str,
    /// Plural in paths.
    pub plural: &'static str,
    /// Objects have a namespace.
    pub namespaced: bool,
}

impl KindPath {
    const fn new(
        kind: &'static str,
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        namespaced: bool,
    ) -> Self {
        Self {
            kind,
            group,
            version,
            plural,
            namespaced,
        }
    }

    /// `group/version`, or the version alone in the core group.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Path of its objects in all namespaces.
    pub fn all(&self) -> String {
        let prefix = if self.group.is_empty() { "api" } else { "apis" };
        format!("/{prefix}/{}/{}", self.api_version(), self.plural)
    }
}

/// A kind of the core API with namespaces.
const fn core(kind: &'static str, plural: &'static str) -> KindPath {
    KindPath::new(kind, "", "v1", plural, true)
}

/// A kind of what the API server judges writes by.
const fn admission(kind: &'static str, plural: &'static str) -> KindPath {
    KindPath::new(kind, "admissionregistration.k8s.io", "v1", plural, false)
}

impl ManagedKind {
    /// Where the API server has it.
    pub const fn path(self) -> KindPath {
        const VOLCANO_BATCH: &str = "batch.volcano.sh";
        const SCHEDULING: &str = "scheduling.volcano.sh";
        const NATIVE: &str = NativePodGroup::GROUP;
        const NATIVE_VERSION: &str = NativePodGroup::VERSION;
        let path = KindPath::new;
        match self {
            Self::Job => path("Job", VOLCANO_BATCH, "v1alpha1", "jobs", true),
            Self::Pod => core("Pod", "pods"),
            Self::PodGroup => path("PodGroup", SCHEDULING, "v1beta1", "podgroups", true),
            Self::NativeGroup => path("PodGroup", NATIVE, NATIVE_VERSION, "podgroups", true),
            Self::Queue => path("Queue", SCHEDULING, "v1beta1", "queues", false),
            Self::Command => path("Command", "bus.volcano.sh", "v1alpha1", "commands", true),
            Self::CronJob => path("CronJob", VOLCANO_BATCH, "v1alpha1", "cronjobs", true),
            Self::JobFlow => path("JobFlow", "flow.volcano.sh", "v1alpha1", "jobflows", true),
            Self::JobTemplate => path(
                "JobTemplate",
                "flow.volcano.sh",
                "v1alpha1",
                "jobtemplates",
                true,
            ),
            Self::HyperNode => path(
                "HyperNode",
                "topology.volcano.sh",
                "v1alpha1",
                "hypernodes",
                false,
            ),
            Self::Node => path("Node", "", "v1", "nodes", false),
            Self::Namespace => path("Namespace", "", "v1", "namespaces", false),
            Self::PriorityClass => path("PriorityClass", NATIVE, "v1", "priorityclasses", false),
            Self::PersistentVolumeClaim => core("PersistentVolumeClaim", "persistentvolumeclaims"),
            Self::ReplicaSet => path("ReplicaSet", "apps", "v1", "replicasets", true),
            Self::StatefulSet => path("StatefulSet", "apps", "v1", "statefulsets", true),
            Self::DaemonSet => path("DaemonSet", "apps", "v1", "daemonsets", true),
            Self::BatchJob => path("Job", "batch", "v1", "jobs", true),
            Self::ValidatingAdmissionPolicy => {
                admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies")
            }
            Self::ValidatingAdmissionPolicyBinding => admission(
                "ValidatingAdmissionPolicyBinding",
                "validatingadmissionpolicybindings",
            ),
            Self::ProvisioningRequest => path(
                "ProvisioningRequest",
                "autoscaling.x-k8s.io",
                "v1",
                "provisioningrequests",
                true,
            ),
            Self::PodTemplate => core("PodTemplate", "podtemplates"),
            Self::ConfigMap => core("ConfigMap", "configmaps"),
            Self::Secret => core("Secret", "secrets"),
            Self::Service => core("Service", "services"),
            Self::NetworkPolicy => path(
                "NetworkPolicy",
                "networking.k8s.io",
                "v1",
                "networkpolicies",
                true,
            ),
        }
    }

    /// How the kind is called in the log and in numbers: of two of one name the second has its group behind it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NativeGroup => "PodGroup.scheduling.k8s.io",
            Self::BatchJob => "Job.batch",
            other => other.path().kind,
        }
    }

    /// `group/version` of every version that may be served, newest first.
    pub fn api_versions(self) -> Vec<String> {
        let older = match self {
            Self::NativeGroup => &NativePodGroup::OLDER_VERSIONS[..],
            _ => &[],
        };
        let older = older.iter().map(|version| (*version).to_owned());
        std::iter::once(self.path().api_version())
            .chain(older)
            .collect()
    }

    /// The kind of an owner or target reference.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        let all = [
            Self::Job,
            Self::Pod,
            Self::PodGroup,
            Self::NativeGroup,
            Self::Queue,
            Self::CronJob,
            Self::JobFlow,
            Self::JobTemplate,
            Self::ReplicaSet,
            Self::StatefulSet,
            Self::DaemonSet,
            Self::BatchJob,
        ];
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        all.into_iter()
            .find(|one| one.path().kind == kind && one.path().group == group)
    }
}

/// Which object: an empty namespace for kinds without.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagedRef {
    /// Kind of the object.
    pub kind: ManagedKind,
    /// Namespace of the object.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl ManagedRef {
    /// An object of a kind with namespaces.
    pub fn new(kind: ManagedKind, namespace: &str, name: &str) -> Self {
        Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// An object of a kind without namespaces.
    pub fn global(kind: ManagedKind, name: &str) -> Self {
        Self::new(kind, "", name)
    }
}

impl std::fmt::Display for ManagedRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.path().kind;
        match self.namespace.as_str() {
            "" => write!(f, "{kind} {}", self.name),
            namespace => write!(f, "{kind} {namespace}/{}", self.name),
        }
    }
}
