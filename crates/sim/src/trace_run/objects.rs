//! What a job of a trace is to the engine: a PodGroup and its pods.

use pumice_model::object::{
    Amounts, ContainerFacts, ContainerKind, GroupObject, NodeOp, NodeRequirement, NodeTerm,
    PodObject,
};
use pumice_model::run_time::RUN_TIME_LIMIT;
use pumice_traces::{TraceJob, TraceRole, WHOLE_CARD};

use super::ground::VGPU;

/// Namespace of everything that a trace brings.
pub const NAMESPACE: &str = "pumice-trace";

/// What UIDs of pods of a trace begin with: no UID of Kubernetes does.
const PREFIX: &str = "trace:";

const PERCENTAGE: &str = "volcano.sh/vgpu-memory-percentage";

/// Cpu and memory by which Kubernetes' scorers count a container that asks for none.
const NONZERO: (i64, i64) = (100, 200 << 20);

/// How jobs are told to the engine.
#[derive(Clone, Debug)]
pub struct JobMaker {
    /// Resource of cards.
    pub card_resource: String,
    /// Label of nodes with the model of their cards; `None`: no node has it, and wishes for models do not count.
    pub model_label: Option<String>,
    /// Processors of the largest node.
    pub processors: u32,
}

/// Pods of a job that are alike, as they are told.
#[derive(Clone, Debug)]
pub struct PodKind {
    /// How many.
    pub members: u32,
    /// Thousandths of cores.
    pub cpu_milli: i64,
    /// How much of memory each asks, in bytes.
    pub memory_bytes: i64,
    /// Thousandths of cards that it takes.
    pub cards_milli: i64,
    models: Vec<String>,
}

/// The name of a job's PodGroup.
pub fn group_name(job: usize) -> String {
    format!("job-{job:07}")
}

/// The job of a PodGroup, by `namespace/name`; `None` for one that no trace brought.
pub fn number_of(group: &str) -> Option<usize> {
    let name = group.strip_prefix(NAMESPACE)?.strip_prefix("/job-")?;
    name.parse().ok()
}

/// The UID of a pod: its job, for the how-manieth time, and the pod within the job.
pub fn uid(job: usize, attempt: u32, member: u32) -> String {
    format!("{PREFIX}{job}.{attempt}.{member}")
}

/// Job, attempt and member of a UID; `None` for that of a pod that no trace brought.
pub fn parts(uid: &str) -> Option<(usize, u32, u32)> {
    let mut parts = uid.strip_prefix(PREFIX)?.splitn(3, '.');
    let job = parts.next()?.parse().ok()?;
    let attempt = parts.next()?.parse().ok()?;
    let member = parts.next()?.parse().ok()?;
    Some((job, attempt, member))
}

/// The class of a priority.
pub fn class_name(priority: i32) -> String {
    format!("trace-priority-{priority}")
}

impl JobMaker {
    /// Cards can be shared.
    pub fn shares(&self) -> bool {
        self.card_resource == VGPU
    }

    /// Pods of a job, those that are alike together.
    pub fn kinds(&self, job: &TraceJob) -> Vec<PodKind> {
        job.roles
            .iter()
            .flat_map(|role| self.kinds_of(role))
            .collect()
    }

    fn kinds_of(&self, role: &TraceRole) -> Vec<PodKind> {
        let cards = role.cards_milli;
        let is_share = cards > 0 && cards < WHOLE_CARD;
        let kind = |members: u32, each: u32| PodKind {
            members,
            cpu_milli: role.cpu_milli * i64::from(each),
            memory_bytes: role.memory_bytes.saturating_mul(i64::from(each)),
            cards_milli: match is_share && !self.shares() {
                true => WHOLE_CARD,
                false => cards,
            },
            models: role.models.clone(),
        };
        if !role.is_processors {
            return vec![kind(role.members, 1)];
        }
        let each = self.processors.clamp(1, role.members.max(1));
        let kinds = [
            kind(role.members / each, each),
            kind(1, role.members % each),
        ];
        let has = |kind: &PodKind| kind.members > 0 && kind.cpu_milli > 0;
        kinds.into_iter().filter(has).collect()
    }

    /// The PodGroup of a job.
    pub fn group(
        &self,
        number: usize,
        job: &TraceJob,
        queue: &str,
        kinds: &[PodKind],
    ) -> GroupObject {
        let sum = |of: fn(&PodKind) -> i64| -> i64 {
            kinds
                .iter()
                .map(|kind| of(kind).saturating_mul(i64::from(kind.members)))
                .fold(0, i64::saturating_add)
        };
        let mut least: Amounts = vec![
            ("cpu".to_owned(), sum(|kind| kind.cpu_milli)),
            ("memory".to_owned(), sum(|kind| kind.memory_bytes)),
        ];
        let cards: i64 = kinds
            .iter()
            .map(|kind| i64::from(kind.members) * self.slots(kind))
            .sum();
        least.push((self.card_resource.clone(), 1000 * cards));
        least.retain(|(_, amount)| *amount > 0);
        GroupObject {
            namespace: NAMESPACE.to_owned(),
            name: group_name(number),
            uid: group_name(number),
            created_s: job.submit_s,
            min_member: i32::try_from(kinds.iter().map(|kind| kind.members).sum::<u32>())
                .unwrap_or(i32::MAX),
            queue: queue.to_owned(),
            priority_class: match job.priority {
                0 => String::new(),
                priority => class_name(priority),
            },
            min_resources: Some(least),
            annotations: match job.limit_s {
                Some(limit_s) => vec![(RUN_TIME_LIMIT.to_owned(), format!("{limit_s}s"))],
                None => Vec::new(),
            },
            user: job.user.clone(),
            ..GroupObject::default()
        }
    }

    /// Cards of which a pod has something.
    fn slots(&self, kind: &PodKind) -> i64 {
        (kind.cards_milli + WHOLE_CARD - 1) / WHOLE_CARD
    }

    /// A pod of a job.
    pub fn pod(
        &self,
        job: (usize, &TraceJob),
        attempt: u32,
        member: u32,
        kind: &PodKind,
    ) -> PodObject {
        let (number, job) = job;
        let mut amounts: Amounts = Vec::new();
        if kind.cards_milli > 0 {
            amounts.push((self.card_resource.clone(), 1000 * self.slots(kind)));
            if self.shares() {
                let percent =
                    (kind.cards_milli.min(WHOLE_CARD) * 100 + WHOLE_CARD - 1) / WHOLE_CARD;
                amounts.push((PERCENTAGE.to_owned(), 1000 * percent));
            }
        }
        amounts.sort();
        let own = [
            ("cpu", kind.cpu_milli),
            ("memory", kind.memory_bytes),
            ("pods", 1),
        ];
        let own = own.into_iter().filter(|(_, amount)| *amount > 0);
        let mut request: Amounts = own
            .map(|(name, amount)| (name.to_owned(), amount))
            .collect();
        request.extend(amounts.iter().cloned());
        let mut pod = PodObject {
            namespace: NAMESPACE.to_owned(),
            name: format!("{}-{member}", group_name(number)),
            uid: uid(number, attempt, member),
            created_s: job.submit_s,
            ours: true,
            group: Some(group_name(number)),
            priority: if job.priority == 0 { 1 } else { job.priority },
            priority_class: match job.priority {
                0 => String::new(),
                priority => class_name(priority),
            },
            request,
            nonzero_cpu_milli: if kind.cpu_milli > 0 {
                kind.cpu_milli
            } else {
                NONZERO.0
            },
            nonzero_memory_bytes: if kind.memory_bytes > 0 {
                kind.memory_bytes
            } else {
                NONZERO.1
            },
            container_count: 1,
            ..PodObject::default()
        };
        if !amounts.is_empty() {
            pod.facts.containers.push(ContainerFacts {
                kind: ContainerKind::Regular,
                amounts,
            });
        }
        if let Some(label) = self
            .model_label
            .as_ref()
            .filter(|_| !kind.models.is_empty())
        {
            let requirement = NodeRequirement {
                key: label.clone(),
                op: NodeOp::In(kind.models.clone()),
            };
            pod.node_affinity = Some(vec![NodeTerm {
                expressions: vec![requirement],
                ..NodeTerm::default()
            }]);
        }
        pod
    }
}
