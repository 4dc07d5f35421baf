//! Groups, kinds, and the keys of annotations, labels and gates (spec/01 §3.11, spec/02 §16,
//! spec/03 H1).

/// API version of Queue and PodGroup.
pub const SCHEDULING_API_VERSION: &str = "scheduling.volcano.sh/v1beta1";
/// API version of Job.
pub const BATCH_API_VERSION: &str = "batch.volcano.sh/v1alpha1";
/// Group of Queue and PodGroup.
pub const SCHEDULING_GROUP: &str = "scheduling.volcano.sh";
/// Group of Job and CronJob.
pub const BATCH_GROUP: &str = "batch.volcano.sh";
/// Group of HyperNode.
pub const TOPOLOGY_GROUP: &str = "topology.volcano.sh";
/// Group of Numatopology.
pub const NODE_INFO_GROUP: &str = "nodeinfo.volcano.sh";
/// Group of NodeShard.
pub const SHARD_GROUP: &str = "shard.volcano.sh";
/// Group of JobFlow and JobTemplate.
pub const FLOW_GROUP: &str = "flow.volcano.sh";
/// Group of Command.
pub const BUS_GROUP: &str = "bus.volcano.sh";
/// Kind of a queue.
pub const QUEUE_KIND: &str = "Queue";
/// Kind of a pod group.
pub const POD_GROUP_KIND: &str = "PodGroup";
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
/// Owner annotation: minMember of the PodGroup made for its pods.
pub const GROUP_MIN_MEMBER: &str = "scheduling.volcano.sh/group-min-member";
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
/// Pod label: partition within its task.
pub const PARTITION_ID: &str = "volcano.sh/partition-id";
/// Job annotation: type of the job.
pub const JOB_TYPE: &str = "volcano.sh/job-type";
/// Pod annotation and label: the Job is forwarded to another cluster.
pub const JOB_FORWARDING: &str = "volcano.sh/job-forwarding";
/// Pod annotation: the Job controller no longer counts on the pod.
pub const OUT_OF_SYNC: &str = "volcano.sh/controller-out-of-sync";
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
/// PodGroup annotation: longest wait in the queue.
pub const SLA_WAITING_TIME: &str = "volcano.sh/sla-waiting-time";
/// The same, older spelling.
pub const SLA_WAITING_TIME_LEGACY: &str = "sla-waiting-time";
/// Pod annotation: NUMA policy.
pub const NUMA_TOPOLOGY_POLICY: &str = "volcano.sh/numa-topology-policy";
/// Pod annotation: NUMA decision, written with the Binding.
pub const TOPOLOGY_DECISION: &str = "volcano.sh/topology-decision";
/// Job and PodGroup annotation: tasks that like each other.
pub const TASK_TOPOLOGY_AFFINITY: &str = "volcano.sh/task-topology-affinity";
/// Job and PodGroup annotation: tasks that avoid each other.
pub const TASK_TOPOLOGY_ANTI_AFFINITY: &str = "volcano.sh/task-topology-anti-affinity";
/// Job and PodGroup annotation: order of tasks.
pub const TASK_TOPOLOGY_ORDER: &str = "volcano.sh/task-topology-task-order";
/// Pod annotation: mode of the network topology of its PodGroup.
pub const NETWORK_TOPOLOGY_MODE: &str = "volcano.sh/network-topology-mode";
/// Pod annotation: highest tier of the network topology of its PodGroup.
pub const NETWORK_TOPOLOGY_HIGHEST_TIER: &str = "volcano.sh/network-topology-highest-tier";
/// HyperNode label: who found it.
pub const NETWORK_TOPOLOGY_SOURCE: &str = "volcano.sh/network-topology-source";
/// PodGroup annotation: HyperNode the job was placed on.
pub const JOB_ALLOCATED_HYPERNODE: &str = "volcano.sh/job-allocated-hypernode";
/// Pod annotation: scoring type of resource-strategy-fit.
pub const RESOURCE_STRATEGY_SCORING_TYPE: &str = "volcano.sh/resource-strategy-scoring-type";
/// Pod annotation: weights of resource-strategy-fit.
pub const RESOURCE_STRATEGY_WEIGHT: &str = "volcano.sh/resource-strategy-weight";
/// Queue annotation: path in the hierarchy, parts separated by `/`.
pub const HIERARCHY: &str = "volcano.sh/hierarchy";
/// Queue annotation: weights of the parts of [`HIERARCHY`].
pub const HIERARCHY_WEIGHTS: &str = "volcano.sh/hierarchy-weights";
/// Queue annotation: it was closed together with its parent.
pub const CLOSED_BY_PARENT: &str = "volcano.sh/closed-by-parent";
/// Node label: node group.
pub const NODE_GROUP_NAME: &str = "volcano.sh/nodegroup-name";
/// Queue annotation: limits by node group.
pub const NODE_GROUP_LIMITS: &str = "volcano.sh/nodegroup-resource-limits";
/// Node label: the node takes part in oversubscription.
pub const OVERSUBSCRIPTION: &str = "volcano.sh/oversubscription";
/// Node annotation: oversold milli-cores.
pub const OVERSUBSCRIPTION_CPU: &str = "volcano.sh/oversubscription-cpu";
/// Node annotation: oversold bytes.
pub const OVERSUBSCRIPTION_MEMORY: &str = "volcano.sh/oversubscription-memory";
/// Node annotation: offline pods are being evicted.
pub const OFFLINE_JOB_EVICTING: &str = "volcano.sh/offline-job-evicting";
/// Pod annotation: resource group of the admission webhook.
pub const RESOURCE_GROUP: &str = "volcano.sh/resource-group";
/// Node label: the node warms up.
pub const WARMUP: &str = "node.volcano.sh/warmup";
/// Job label and annotation: JobTemplate it was made from.
pub const CREATED_BY_JOB_TEMPLATE: &str = "volcano.sh/createdByJobTemplate";
/// Job label and annotation: JobFlow it was made by.
pub const CREATED_BY_JOB_FLOW: &str = "volcano.sh/createdByJobFlow";
/// Job annotation: when the CronJob meant it to run.
pub const CRON_JOB_SCHEDULED: &str = "volcano.sh/cronjob-scheduled-timestamp";
/// Pod annotation: rank of the pod for hccl.
pub const HCCL_RANK_INDEX: &str = "hccl/rankIndex";
