//! Groups, kinds, and the keys of annotations, labels and gates (spec/01 §3.11, spec/02 §16,
//! spec/03 H1).

/// API version of Job.
pub const BATCH_API_VERSION: &str = "batch.volcano.sh/v1alpha1";
/// Kind of a job.
pub const JOB_KIND: &str = "Job";

/// Scheduler name pods ask for unless configured otherwise.
pub const DEFAULT_SCHEDULER: &str = "volcano";
/// Queue of PodGroups that name none.
pub const DEFAULT_QUEUE: &str = "default";
/// Root of the queue tree.
pub const ROOT_QUEUE: &str = "root";
/// Namespace of objects that name none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Pod annotation: name of its PodGroup.
pub const GROUP_NAME: &str = "scheduling.k8s.io/group-name";
/// Pod and namespace annotation: queue of a pod without PodGroup.
pub const QUEUE_NAME: &str = "scheduling.volcano.sh/queue-name";
/// Pod annotation and name of the scheduling gate of queue admission.
pub const QUEUE_ALLOCATION_GATE: &str = "scheduling.volcano.sh/queue-allocation-gate";
/// Pod annotation, else label: role of the pod.
pub const TASK_SPEC: &str = "volcano.sh/task-spec";
/// Pod annotation and label: index within its task.
pub const TASK_INDEX: &str = "volcano.sh/task-index";
/// Pod annotation: priority within the job.
pub const TASK_PRIORITY: &str = "volcano.sh/task-priority";
/// Pod annotation: pods of equal value have equal templates.
pub const TEMPLATE_UID: &str = "volcano.sh/template-uid";
/// Pod annotation and label: name of the Job.
pub const JOB_NAME: &str = "volcano.sh/job-name";
/// Pod label: namespace of the Job.
pub const JOB_NAMESPACE: &str = "volcano.sh/job-namespace";
/// Pod annotation and label: queue of the Job.
pub const JOB_QUEUE_NAME: &str = "volcano.sh/queue-name";
/// Pod annotation: version of the Job that created the pod.
pub const JOB_VERSION: &str = "volcano.sh/job-version";
/// Pod annotation: restarts of the Job before the pod.
pub const JOB_RETRY_COUNT: &str = "volcano.sh/job-retry-count";
/// Pod annotation: the controller is about to delete the pod.
pub const OUT_OF_SYNC: &str = "volcano.sh/controller-out-of-sync";
/// Pod label: partition within its task.
pub const PARTITION_ID: &str = "volcano.sh/partition-id";
/// Annotation, else label of pods and PodGroups: may be evicted.
pub const PREEMPTABLE: &str = "volcano.sh/preemptable";
/// Label, else annotation: time after its start during which a pod is not evicted.
pub const COOLDOWN_TIME: &str = "volcano.sh/cooldown-time";
/// Node label; annotation of pods and PodGroups: time-shared nodes.
pub const REVOCABLE_ZONE: &str = "volcano.sh/revocable-zone";
/// Annotation of pods and PodGroups: pods that must stay.
pub const JDB_MIN_AVAILABLE: &str = "volcano.sh/jdb-min-available";
/// Annotation of pods and PodGroups: pods that may be missing.
pub const JDB_MAX_UNAVAILABLE: &str = "volcano.sh/jdb-max-unavailable";
/// Pod annotation: NUMA policy.
pub const NUMA_TOPOLOGY_POLICY: &str = "volcano.sh/numa-topology-policy";
/// Queue annotation: path in the hierarchy, parts separated by `/`.
pub const HIERARCHY: &str = "volcano.sh/hierarchy";
/// Queue annotation: weights of the parts of [`HIERARCHY`].
pub const HIERARCHY_WEIGHTS: &str = "volcano.sh/hierarchy-weights";
/// Queue annotation: limits by node group.
pub const NODE_GROUP_LIMITS: &str = "volcano.sh/nodegroup-resource-limits";
/// Label and annotation of Jobs made by a JobFlow: `<namespace>.<JobTemplate>`.
pub const CREATED_BY_JOB_TEMPLATE: &str = "volcano.sh/createdByJobTemplate";
/// Label and annotation of Jobs made by a JobFlow: `<namespace>.<JobFlow>`.
pub const CREATED_BY_JOB_FLOW: &str = "volcano.sh/createdByJobFlow";
/// Annotation of Jobs made by a CronJob: time of the run by the schedule, in the CronJob's zone.
pub const CRON_JOB_SCHEDULED: &str = "volcano.sh/cronjob-scheduled-timestamp";
/// Label of HyperNodes: source that found them.
pub const NETWORK_TOPOLOGY_SOURCE: &str = "volcano.sh/network-topology-source";
/// Prefix of annotations that PodGroups take over from the owner of their pods.
pub const INHERITED_PREFIX: &str = "volcano.sh/";
/// Annotation, or label, of PodGroups and Jobs: the user whom use of the cluster is charged to.
pub const USER: &str = "pumice.sh/user";
/// Annotation of PodGroups and what they are made for: the user who asked for it, as admission writes it.
pub const REQUESTER: &str = "pumice.sh/requester";
/// Annotation of a Job, or of pods of a PodGroup: class of the ProvisioningRequest by which room for them is asked for at
/// once.
pub const PROVISIONING_CLASS: &str = "pumice.sh/provisioning-class";
/// Annotation of a pod: the ProvisioningRequest of its namespace whose room is for it, as Cluster Autoscaler reads it.
pub const CONSUMED_REQUEST: &str = "autoscaling.x-k8s.io/consume-provisioning-request";
/// Annotation of a pod: class of that ProvisioningRequest.
pub const CONSUMED_CLASS: &str = "autoscaling.x-k8s.io/provisioning-class-name";
/// Annotation of workloads: `minMember` of the PodGroup of their pods.
pub const GROUP_MIN_MEMBER: &str = "scheduling.volcano.sh/group-min-member";
/// Pod annotation: `hard` or `soft` network topology.
pub const NETWORK_TOPOLOGY_MODE: &str = "volcano.sh/network-topology-mode";
/// Pod annotation: highest tier of HyperNodes its group may span.
pub const NETWORK_TOPOLOGY_HIGHEST_TIER: &str = "volcano.sh/network-topology-highest-tier";
/// Queue annotation: `true` for a queue that closed because its parent did.
pub const CLOSED_BY_PARENT: &str = "volcano.sh/closed-by-parent";
/// Label of queues that have others below them: the name of one of these.
pub const QUEUE_BELOW: &str = "volcano.sh/queue-below";
/// Node annotation: oversold milli-cores.
pub const OVERSUBSCRIPTION_CPU: &str = "volcano.sh/oversubscription-cpu";
/// Node annotation: oversold bytes.
pub const OVERSUBSCRIPTION_MEMORY: &str = "volcano.sh/oversubscription-memory";
