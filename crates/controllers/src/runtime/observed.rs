//! Objects as the controllers keep them: whole where they are few, else what is read of them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::Metadata;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};
use pumice_api::{
    Command, CronJob, HyperNode, Job, JobFlow, JobTemplate, NativePodGroup, PodGroup,
    ProvisioningRequest, Queue, ResourceList, keys,
};

use super::command_guard::CommandGuard;
use super::consuming_pod::{ConsumingPod, consumed};
use super::disruption::Disruption;
use super::failed_container::{FailedContainer, failed_containers, init_statuses, statuses};
use super::gated_pod::GatedPod;
use super::kind::{ManagedKind, ManagedRef};
use super::owners::owning_job;
use crate::usage;

type TextMap = BTreeMap<String, String>;

/// An object as it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Observed {
    /// A Job of `batch.volcano.sh`, whole.
    Job(Box<Job>),
    /// What is read of a pod.
    Pod(Box<TrackedPod>),
    /// A PodGroup, whole.
    PodGroup(Box<PodGroup>),
    /// A PodGroup of Kubernetes itself, whole.
    NativeGroup(Box<NativePodGroup>),
    /// A Queue, whole.
    Queue(Box<Queue>),
    /// A Command, whole.
    Command(Box<Command>),
    /// A CronJob, whole.
    CronJob(Box<CronJob>),
    /// A JobFlow, whole.
    JobFlow(Box<JobFlow>),
    /// A JobTemplate, whole.
    JobTemplate(Box<JobTemplate>),
    /// A HyperNode, whole.
    HyperNode(Box<HyperNode>),
    /// A ProvisioningRequest, whole.
    ProvisioningRequest(Box<ProvisioningRequest>),
    /// What is read of a PriorityClass.
    PriorityClass(Box<TrackedPriorityClass>),
    /// A workload that owns pods: ReplicaSet, StatefulSet, DaemonSet, Job of Kubernetes.
    Workload(Box<TrackedWorkload>),
    /// A policy of the API server, or its binding.
    Guard(ManagedKind, Box<CommandGuard>),
    /// An object of which only the metadata is read, as PersistentVolumeClaims.
    Meta(ManagedKind, Box<ObjectMeta>),
}

/// What is read of a pod.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackedPod {
    /// Namespace of the pod.
    pub namespace: Box<str>,
    /// Name of the pod.
    pub name: Box<str>,
    /// UID of the pod.
    pub uid: Box<str>,
    /// Version of the object that this was read from.
    pub resource_version: Box<str>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// When its deletion was asked for.
    pub deleted: Option<Timestamp>,
    /// Phase of the pod.
    pub phase: TrackedPhase,
    /// When the last container or init container ended, of a pod that has ended.
    pub ended: Option<Timestamp>,
    /// A node was chosen.
    pub is_bound: bool,
    /// All containers are ready.
    pub is_ready: bool,
    /// Restarts of all containers and init containers.
    pub restarts: i32,
    /// Containers that have failed.
    pub failures: Box<[FailedContainer]>,
    /// `status.reason`, as `Evicted`.
    pub reason: Box<str>,
    /// Who evicts it and why.
    pub disruption: Option<Box<Disruption>>,
    /// IP address; empty before it has one.
    pub address: Box<str>,
    /// Place in a Job; `None` for other pods.
    pub member: Option<Box<JobMember>>,
    /// What a pod without PodGroup asks for.
    pub lone: Option<Box<LonePod>>,
    /// What is read of a pod that waits, or has waited, behind the gate of its queue.
    pub gated: Option<Box<GatedPod>>,
    /// What is read of a pod that asks for its room at once with others.
    pub consuming: Option<Box<ConsumingPod>>,
}

/// Phase of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrackedPhase {
    /// Not yet running.
    #[default]
    Pending,
    /// Started on its node, and not ended.
    Running,
    /// All containers ended well.
    Succeeded,
    /// A container failed.
    Failed,
    /// The node does not tell.
    Unknown,
}

impl TrackedPhase {
    /// Reads `status.phase`.
    pub fn read(text: Option<&str>) -> Self {
        match text {
            None | Some("" | "Pending") => Self::Pending,
            Some("Running") => Self::Running,
            Some("Succeeded") => Self::Succeeded,
            Some("Failed") => Self::Failed,
            Some(_) => Self::Unknown,
        }
    }

    /// The word in `status.phase`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Running => "Running",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }
}

/// What a scheduler says of a pod that has no node (condition `PodScheduled`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PodWait {
    /// Nothing yet.
    #[default]
    Undecided,
    /// More nodes may help (`Unschedulable`), and it is to have no node that is there.
    LacksNode,
    /// It waits for something else, or does not wait.
    Otherwise,
}

/// Place of a pod in a Job (spec/03 C3.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobMember {
    /// Name of the Job.
    pub job: Box<str>,
    /// UID of the Job that owns the pod; empty if none does.
    pub job_uid: Box<str>,
    /// Name of the Job's task that the pod belongs to.
    pub task: Box<str>,
    /// Index in the task.
    pub index: i32,
    /// Partition in the task.
    pub partition: Option<i32>,
    /// Version of the Job that made it.
    pub version: i32,
    /// Marked to be deleted by the controller (`volcano.sh/controller-out-of-sync`).
    pub is_marked: bool,
    /// What the scheduler says of a pod without node.
    pub wait: PodWait,
    /// Name and class of the ProvisioningRequest that the pod waits for.
    pub consumes: Option<(Box<str>, Box<str>)>,
}

/// What a pod asks for that names no PodGroup (spec/03 C1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LonePod {
    /// Scheduler that is to place the pod (`spec.schedulerName`).
    pub scheduler_name: String,
    /// Annotations of the pod.
    pub annotations: TextMap,
    /// Labels of the pod.
    pub labels: TextMap,
    /// Owner references of the pod.
    pub owners: Vec<OwnerReference>,
    /// Priority class.
    pub priority_class_name: String,
    /// What it uses of quotas.
    pub usage: ResourceList,
}

impl TrackedPod {
    /// What is read of `pod`.
    pub fn read(pod: &Pod) -> Self {
        let meta = &pod.metadata;
        let empty = TextMap::new();
        let annotations = meta.annotations.as_ref().unwrap_or(&empty);
        let labels = meta.labels.as_ref().unwrap_or(&empty);
        let status = pod.status.as_ref();
        let regular = || status.and_then(|s| s.container_statuses.as_ref());
        let all = || {
            let both = |s| statuses(s).iter().chain(init_statuses(s));
            status.into_iter().flat_map(both)
        };
        let ended = |c: &k8s_openapi::api::core::v1::ContainerStatus| {
            let ended = c.state.as_ref()?.terminated.as_ref()?;
            ended.finished_at.as_ref().map(|t| t.0)
        };
        let spec = pod.spec.as_ref();
        let is_native = spec.is_some_and(|spec| spec.scheduling_group.is_some());
        let annotated = annotations.get(keys::GROUP_NAME);
        let has_group = is_native || annotated.is_some_and(|name| !name.is_empty());
        Self {
            namespace: text(meta.namespace.as_ref()),
            name: text(meta.name.as_ref()),
            uid: text(meta.uid.as_ref()),
            resource_version: text(meta.resource_version.as_ref()),
            created: meta.creation_timestamp.as_ref().map(|t| t.0),
            deleted: meta.deletion_timestamp.as_ref().map(|t| t.0),
            phase: TrackedPhase::read(status.and_then(|s| s.phase.as_deref())),
            ended: all().filter_map(ended).max(),
            is_bound: pod.spec.as_ref().is_some_and(|s| s.node_name.is_some()),
            is_ready: regular().is_some_and(|all| all.iter().all(|c| c.ready)),
            restarts: all().map(|c| c.restart_count).sum(),
            failures: failed_containers(pod),
            reason: text(status.and_then(|s| s.reason.as_ref())),
            disruption: Disruption::read(pod).map(Box::new),
            address: text(status.and_then(|s| s.pod_ip.as_ref())),
            member: JobMember::read(pod, annotations, labels).map(Box::new),
            lone: (!has_group).then(|| Box::new(LonePod::read(pod, annotations, labels))),
            gated: GatedPod::read(pod).map(Box::new),
            consuming: ConsumingPod::read(pod).map(Box::new),
        }
    }
}

impl TrackedPod {
    /// It has failed, or is being deleted: it is to have no node any more.
    pub fn is_over(&self) -> bool {
        self.deleted.is_some() || self.phase == TrackedPhase::Failed
    }

    /// It has a node, or has done its work.
    pub fn is_placed(&self) -> bool {
        self.is_bound || self.phase == TrackedPhase::Succeeded
    }
}

impl JobMember {
    fn read(pod: &Pod, annotations: &TextMap, labels: &TextMap) -> Option<Self> {
        let job = annotations.get(keys::JOB_NAME)?;
        let number = |map: &TextMap, key: &str| map.get(key).and_then(|text| text.parse().ok());
        let owner = owning_job(&pod.metadata);
        Some(Self {
            job: job.as_str().into(),
            job_uid: owner.map_or("", |owner| owner.uid.as_str()).into(),
            task: text(annotations.get(keys::TASK_SPEC)),
            index: number(annotations, keys::TASK_INDEX).unwrap_or(-1),
            partition: number(labels, keys::PARTITION_ID),
            version: number(annotations, keys::JOB_VERSION).unwrap_or(0),
            is_marked: annotations.contains_key(keys::OUT_OF_SYNC),
            wait: PodWait::read(pod),
            consumes: consumed(annotations),
        })
    }
}

impl PodWait {
    pub(super) fn read(pod: &Pod) -> Self {
        let Some(status) = pod.status.as_ref() else {
            return Self::Undecided;
        };
        let mut conditions = status.conditions.iter().flatten();
        let Some(told) = conditions.find(|one| one.type_ == "PodScheduled") else {
            return Self::Undecided;
        };
        let lacks = told.status == "False" && told.reason.as_deref() == Some("Unschedulable");
        // Room that others leave is its own soon.
        match lacks
            && status
                .nominated_node_name
                .as_deref()
                .is_none_or(str::is_empty)
        {
            true => Self::LacksNode,
            false => Self::Otherwise,
        }
    }
}

impl LonePod {
    fn read(pod: &Pod, annotations: &TextMap, labels: &TextMap) -> Self {
        let spec = pod.spec.as_ref();
        Self {
            scheduler_name: spec
                .and_then(|s| s.scheduler_name.clone())
                .unwrap_or_default(),
            annotations: annotations.clone(),
            labels: labels.clone(),
            owners: pod.metadata.owner_references.clone().unwrap_or_default(),
            priority_class_name: spec
                .and_then(|s| s.priority_class_name.clone())
                .unwrap_or_default(),
            usage: spec.map_or_else(ResourceList::new, |spec| {
                usage::resource_list(&usage::of(spec))
            }),
        }
    }
}

/// What is read of a PriorityClass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrackedPriorityClass {
    /// Metadata of the PriorityClass: name, labels, owners and the like.
    pub metadata: ObjectMeta,
    /// Priority that the class gives to pods.
    pub value: i32,
}

/// What is read of a workload that owns pods.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackedWorkload {
    /// ReplicaSet, StatefulSet, DaemonSet or BatchJob.
    pub kind: ManagedKind,
    /// Metadata without managed fields.
    pub metadata: ObjectMeta,
    /// Pods it wants; `None` where the kind does not say.
    pub replicas: Option<i32>,
    /// Which pods are its.
    pub selector: Option<LabelSelector>,
}

impl Observed {
    /// Which object.
    pub fn reference(&self) -> ManagedRef {
        let of = |kind, meta: &ObjectMeta| {
            let text = |field: &Option<String>| field.clone().unwrap_or_default();
            ManagedRef {
                kind,
                namespace: text(&meta.namespace),
                name: text(&meta.name),
            }
        };
        match self {
            Self::Pod(pod) => ManagedRef::new(ManagedKind::Pod, &pod.namespace, &pod.name),
            other => match other.meta() {
                Some(meta) => of(other.kind(), meta),
                None => of(other.kind(), &ObjectMeta::default()),
            },
        }
    }

    /// The pod, if it is one.
    pub fn as_pod(&self) -> Option<&TrackedPod> {
        match self {
            Self::Pod(pod) => Some(pod),
            _ => None,
        }
    }

    /// The PodGroup, if it is one.
    pub fn as_pod_group(&self) -> Option<&PodGroup> {
        match self {
            Self::PodGroup(group) => Some(group),
            _ => None,
        }
    }

    /// The Queue, if it is one.
    pub fn as_queue(&self) -> Option<&Queue> {
        match self {
            Self::Queue(queue) => Some(queue),
            _ => None,
        }
    }

    /// Kind of the object that was observed.
    pub fn kind(&self) -> ManagedKind {
        match self {
            Self::Job(_) => ManagedKind::Job,
            Self::Pod(_) => ManagedKind::Pod,
            Self::PodGroup(_) => ManagedKind::PodGroup,
            Self::NativeGroup(_) => ManagedKind::NativeGroup,
            Self::Queue(_) => ManagedKind::Queue,
            Self::Command(_) => ManagedKind::Command,
            Self::CronJob(_) => ManagedKind::CronJob,
            Self::JobFlow(_) => ManagedKind::JobFlow,
            Self::JobTemplate(_) => ManagedKind::JobTemplate,
            Self::HyperNode(_) => ManagedKind::HyperNode,
            Self::ProvisioningRequest(_) => ManagedKind::ProvisioningRequest,
            Self::PriorityClass(_) => ManagedKind::PriorityClass,
            Self::Workload(workload) => workload.kind,
            Self::Guard(kind, _) | Self::Meta(kind, _) => *kind,
        }
    }

    /// Metadata; `None` for a pod, of which not all is kept.
    pub fn meta(&self) -> Option<&ObjectMeta> {
        Some(match self {
            Self::Pod(_) => return None,
            Self::Job(job) => job.metadata(),
            Self::PodGroup(group) => group.metadata(),
            Self::NativeGroup(group) => group.metadata(),
            Self::Queue(queue) => queue.metadata(),
            Self::Command(command) => command.metadata(),
            Self::CronJob(cron_job) => cron_job.metadata(),
            Self::JobFlow(flow) => flow.metadata(),
            Self::JobTemplate(template) => template.metadata(),
            Self::HyperNode(hyper_node) => hyper_node.metadata(),
            Self::ProvisioningRequest(request) => request.metadata(),
            Self::PriorityClass(class) => &class.metadata,
            Self::Workload(workload) => &workload.metadata,
            Self::Guard(_, guard) => &guard.metadata,
            Self::Meta(_, meta) => meta,
        })
    }

    /// UID; empty if it has none.
    pub fn uid(&self) -> &str {
        match self {
            Self::Pod(pod) => &pod.uid,
            other => other
                .meta()
                .and_then(|meta| meta.uid.as_deref())
                .unwrap_or_default(),
        }
    }

    /// resourceVersion as a number: API servers order the versions of an object by it. 0 if it has
    /// none.
    pub fn version(&self) -> u64 {
        let text = match self {
            Self::Pod(pod) => Some(&*pod.resource_version),
            other => other
                .meta()
                .and_then(|meta| meta.resource_version.as_deref()),
        };
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

fn text(value: Option<&String>) -> Box<str> {
    value.map(String::as_str).unwrap_or_default().into()
}
