//! The controllers at work on the virtual API server: the very ones `pumice-controllers` runs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use pumice_api::pod_group::PodGroupCondition;
use pumice_api::{Job, PodGroup, Queue, keys};
use pumice_controllers::list::{ControllerOptions, controllers};
use pumice_controllers::runtime::{
    ApiVerb, ApiWrite, Disruption, ManagedKind, ManagedRef, Manager, ManagerInput, ManagerOutput,
    Observed, TrackedPhase, TrackedPod, TrackedPriorityClass, WriteOutcome,
};
use pumice_ingest::{self as ingest, ObjectProblem, Options};
use pumice_model::Delta;
use pumice_model::object::{GroupObject, PodObject, PodPhase, QueueState};
use pumice_wire::rules::RuleScope;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::World;

/// Controllers that act in a simulation, by the names of `--controllers`.
const ACTING: [&str; 1] = ["job-controller"];

/// Rounds after which controllers that do not come to rest are left alone.
const MAX_ROUNDS: usize = 10_000;

/// Controllers, and the objects as they see them.
#[derive(Default)]
pub(super) struct Controllers {
    /// `None` until they were started.
    pub(super) manager: Option<Manager>,
    version: u64,
    /// Pods of Jobs, by `namespace/name`.
    pub(super) pods: BTreeMap<String, TrackedPod>,
    /// PodGroups, by `namespace/name`.
    pub(super) groups: BTreeMap<String, PodGroup>,
}

impl Controllers {
    fn next_version(&mut self) -> String {
        self.version += 1;
        self.version.to_string()
    }

    /// The newest resourceVersion of what was given: what changes is newer.
    fn newest_version(&self, jobs: &BTreeMap<String, Job>) -> u64 {
        let jobs = jobs.values().map(|job| &job.metadata);
        let metas = jobs.chain(self.groups.values().map(|group| &group.metadata));
        let versions = metas.filter_map(|meta| meta.resource_version.as_deref());
        let pods = self.pods.values().map(|pod| &*pod.resource_version);
        let numbers = versions.chain(pods).filter_map(|text| text.parse().ok());
        numbers.max().unwrap_or(0)
    }

    /// Pods that say of which Job they are, and not by which UID, are those of the Job there is.
    fn adopt(&mut self, jobs: &BTreeMap<String, Job>) {
        for pod in self.pods.values_mut() {
            let Some(member) = pod.member.as_mut().filter(|m| m.job_uid.is_empty()) else {
                continue;
            };
            let key = format!("{}/{}", pod.namespace, member.job);
            let uid = jobs.get(&key).map(|job| job.metadata.uid.clone());
            if let Some(uid) = uid {
                member.job_uid = uid.unwrap_or(key).into();
            }
        }
    }

    /// The first whole second at which one has something to do.
    pub(super) fn due_s(&self) -> Option<i64> {
        let due = self.manager.as_ref()?.next_at()?;
        let is_later = due.subsec_nanosecond() > 0;
        Some(due.as_second() + i64::from(is_later))
    }
}

impl World {
    /// Every controller does what is to be done now.
    pub fn run_controllers(&mut self, options: &Options, now_s: i64) {
        if self.jobs.is_empty() {
            return;
        }
        let now = Timestamp::from_second(now_s).unwrap_or_default();
        let mut acting = std::mem::take(&mut self.controllers);
        let mut manager = match acting.manager.take() {
            Some(mut manager) => {
                let news = self.news(&mut acting, now);
                news.into_iter().for_each(|input| manager.tell(input, now));
                manager
            }
            None => self.started(&mut acting, options, now),
        };
        for _ in 0..MAX_ROUNDS {
            let orders = manager.work(now);
            if orders.is_empty() {
                break;
            }
            for order in orders {
                if let ManagerOutput::Write(id, write) = order {
                    let outcome = self.carry_out(&mut acting, &write, options);
                    manager.tell(ManagerInput::Ended(id, outcome), now);
                    if let Some(gone) = self.gone_with(&mut acting, &write) {
                        manager.tell(gone, now);
                    }
                }
            }
        }
        acting.manager = Some(manager);
        self.controllers = acting;
    }

    /// Controllers that know everything there is.
    fn started(&self, acting: &mut Controllers, options: &Options, now: Timestamp) -> Manager {
        acting.version = acting.newest_version(&self.jobs);
        let given = ControllerOptions {
            scheduler_names: options.scheduler_names.clone(),
            templates: RuleScope::Sketch,
            ..ControllerOptions::default()
        };
        let made = controllers().filter(|one| ACTING.contains(&one.name));
        let made = made.filter_map(|one| one.make.map(|make| make(&given)));
        let mut manager = Manager::new(made.collect());
        let classes = self.priorities.values.iter().map(|(name, value)| {
            Observed::PriorityClass(Box::new(TrackedPriorityClass {
                metadata: named(None, name),
                value: *value,
            }))
        });
        let queues = self.queues.values().map(|queue| {
            let mut wire = Queue {
                metadata: named(None, &queue.name),
                ..Queue::default()
            };
            wire.spec.parent.clone_from(&queue.parent);
            let state = match queue.state {
                QueueState::Open => "Open",
                QueueState::Closed => "Closed",
                QueueState::Closing => "Closing",
                QueueState::Unknown => "Unknown",
            };
            state.clone_into(&mut wire.status.state);
            Observed::Queue(Box::new(wire))
        });
        let claims = self.storage.claims.values().map(|claim| {
            let meta = named(Some(&claim.namespace), &claim.name);
            Observed::Meta(ManagedKind::PersistentVolumeClaim, Box::new(meta))
        });
        let objects: Vec<Observed> = classes.chain(queues).chain(claims).collect();
        for object in objects {
            manager.tell(ManagerInput::Seen(object), now);
        }
        for job in self.jobs.values() {
            let version = acting.next_version();
            let seen = Observed::Job(Box::new(with_version(job.clone(), version)));
            manager.tell(ManagerInput::Seen(seen), now);
        }
        acting.adopt(&self.jobs);
        for pod in acting.pods.values() {
            let seen = Observed::Pod(Box::new(pod.clone()));
            manager.tell(ManagerInput::Seen(seen), now);
        }
        for group in acting.groups.values() {
            let seen = Observed::PodGroup(Box::new(group.clone()));
            manager.tell(ManagerInput::Seen(seen), now);
        }
        manager.tell(ManagerInput::Synced, now);
        manager
    }

    /// What scheduler and kubelets have changed since.
    fn news(&mut self, acting: &mut Controllers, now: Timestamp) -> Vec<ManagerInput> {
        let mut news = Vec::new();
        let mut version = acting.version;
        let marks = std::mem::take(&mut self.marks);
        acting.pods.retain(|key, known| {
            if let Some(mark) = marks.get(key) {
                version += 1;
                mark_evicted(known, mark, now);
                known.resource_version = version.to_string().into();
                news.push(ManagerInput::Seen(Observed::Pod(Box::new(known.clone()))));
            }
            let Some(pod) = self.pods.get(key) else {
                news.push(ManagerInput::Gone {
                    of: ManagedRef::new(ManagedKind::Pod, &known.namespace, &known.name),
                    uid: known.uid.to_string(),
                });
                return false;
            };
            if update_pod(known, pod, now) {
                version += 1;
                known.resource_version = version.to_string().into();
                news.push(ManagerInput::Seen(Observed::Pod(Box::new(known.clone()))));
            }
            true
        });
        for (key, known) in &mut acting.groups {
            let Some(group) = self.groups.get(key) else {
                continue;
            };
            if update_group(known, group) {
                version += 1;
                known.metadata.resource_version = Some(version.to_string());
                let seen = Observed::PodGroup(Box::new(known.clone()));
                news.push(ManagerInput::Seen(seen));
            }
        }
        acting.version = version;
        news
    }

    fn carry_out(
        &mut self,
        acting: &mut Controllers,
        write: &ApiWrite,
        options: &Options,
    ) -> WriteOutcome {
        let key = format!("{}/{}", write.of.namespace, write.of.name);
        let done = match (&write.verb, write.of.kind) {
            (ApiVerb::Create(object), ManagedKind::PodGroup) => {
                self.create_group(acting, &key, object, options)
            }
            (ApiVerb::Create(object), ManagedKind::Pod) => {
                self.create_member(acting, &key, object, options)
            }
            (ApiVerb::Create(object), ManagedKind::PersistentVolumeClaim) => {
                self.create_claim_of_job(object)
            }
            (ApiVerb::Merge { patch, .. }, ManagedKind::Job) => {
                self.change_job(acting, &key, patch)
            }
            (ApiVerb::Merge { patch, .. }, ManagedKind::PodGroup) => {
                self.change_group(acting, &key, patch, options)
            }
            (ApiVerb::Merge { patch, .. }, ManagedKind::Pod) => change_pod(acting, &key, patch),
            (ApiVerb::Delete { .. }, ManagedKind::Pod) => self.delete_pod(acting, &key),
            (ApiVerb::Delete { .. }, ManagedKind::PodGroup) => {
                self.groups.remove(&key);
                acting.groups.remove(&key);
                let (namespace, name) = (write.of.namespace.clone(), write.of.name.clone());
                self.deltas.push(Delta::GroupDelete(namespace, name));
                Ok(None)
            }
            // Objects nobody in a simulation reads.
            _ => Ok(None),
        };
        done.map_or_else(|refused| refused, WriteOutcome::Done)
    }

    /// What a watch tells of an object that a deletion took away at once.
    fn gone_with(&self, acting: &mut Controllers, write: &ApiWrite) -> Option<ManagerInput> {
        let ApiVerb::Delete { uid, .. } = &write.verb else {
            return None;
        };
        let key = format!("{}/{}", write.of.namespace, write.of.name);
        let is_there = match write.of.kind {
            ManagedKind::Pod => self.pods.contains_key(&key),
            ManagedKind::PodGroup => self.groups.contains_key(&key),
            _ => return None,
        };
        if is_there {
            return None;
        }
        if write.of.kind == ManagedKind::Pod {
            acting.pods.remove(&key);
        }
        Some(ManagerInput::Gone {
            of: write.of.clone(),
            uid: uid.clone(),
        })
    }

    fn create_group(
        &mut self,
        acting: &mut Controllers,
        key: &str,
        object: &Value,
        options: &Options,
    ) -> Done {
        if self.groups.contains_key(key) {
            return Err(WriteOutcome::Exists);
        }
        let mut wire: PodGroup = read(object)?;
        wire.metadata.creation_timestamp = self.time_of_job(&wire.metadata);
        let group = ingest::pod_group(&wire, options).map_err(|found| invalid(&found))?;
        self.put_group(group);
        let wire = with_version(wire, acting.next_version());
        acting.groups.insert(key.to_owned(), wire.clone());
        Ok(Some(Observed::PodGroup(Box::new(wire))))
    }

    fn create_member(
        &mut self,
        acting: &mut Controllers,
        key: &str,
        object: &Value,
        options: &Options,
    ) -> Done {
        if self.pods.contains_key(key) {
            return Err(WriteOutcome::Exists);
        }
        let mut pod: Pod = read(object)?;
        pod.metadata.creation_timestamp = self.time_of_job(&pod.metadata);
        // The second pod of a name is another one.
        let version = acting.next_version();
        if self.deleted.contains(key) {
            pod.metadata.uid = Some(format!("{key}#{version}"));
        }
        // What admission refuses was told of the Job.
        let _ = self.admit_pod(&mut pod);
        self.create_pod(&pod, options)
            .map_err(|found| invalid(&found))?;
        pod.metadata.uid.get_or_insert_with(|| key.to_owned());
        pod.metadata.resource_version = Some(version);
        let tracked = TrackedPod::read(&pod);
        acting.pods.insert(key.to_owned(), tracked.clone());
        Ok(Some(Observed::Pod(Box::new(tracked))))
    }

    fn create_claim_of_job(&mut self, object: &Value) -> Done {
        let wire: PersistentVolumeClaim = read(object)?;
        let claim = ingest::persistent_volume_claim(&wire).map_err(|found| invalid(&found))?;
        self.storage.create(claim.object, &mut self.deltas);
        let (kind, meta) = (ManagedKind::PersistentVolumeClaim, wire.metadata);
        Ok(Some(Observed::Meta(kind, Box::new(meta))))
    }

    /// What a Job makes is as old as the Job, so that the order in which manifests are read, and not
    /// the cycle in which they are acted on, decides between equals.
    fn time_of_job(&self, made: &ObjectMeta) -> Option<Time> {
        let owner = made.owner_references.iter().flatten().next()?;
        let namespace = made.namespace.as_deref().unwrap_or(keys::DEFAULT_NAMESPACE);
        let job = self.jobs.get(&format!("{namespace}/{}", owner.name))?;
        job.metadata.creation_timestamp.clone()
    }

    fn change_job(&mut self, acting: &mut Controllers, key: &str, patch: &Value) -> Done {
        let known = self.jobs.get(key).ok_or(WriteOutcome::Absent)?;
        let changed: Job = merged(known, patch)?;
        let changed = with_version(changed, acting.next_version());
        self.jobs.insert(key.to_owned(), changed.clone());
        Ok(Some(Observed::Job(Box::new(changed))))
    }

    fn change_group(
        &mut self,
        acting: &mut Controllers,
        key: &str,
        patch: &Value,
        options: &Options,
    ) -> Done {
        let known = acting.groups.get(key).ok_or(WriteOutcome::Absent)?;
        let changed: PodGroup = merged(known, patch)?;
        let changed = with_version(changed, acting.next_version());
        let mut group = ingest::pod_group(&changed, options).map_err(|found| invalid(&found))?;
        if let Some(known) = self.groups.get(key) {
            group.status = known.status.clone();
        }
        self.put_group(group);
        acting.groups.insert(key.to_owned(), changed.clone());
        Ok(Some(Observed::PodGroup(Box::new(changed))))
    }

    /// A bound pod goes when its kubelet has ended it; others, and those that have ended, at once.
    fn delete_pod(&mut self, acting: &mut Controllers, key: &str) -> Done {
        let pod = self.pods.get_mut(key).ok_or(WriteOutcome::Absent)?;
        self.deleted.insert(key.to_owned());
        let is_over = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        let node = pod.node.as_ref().filter(|_| !is_over);
        if node.is_some_and(|node| self.nodes.contains_key(node)) {
            pod.deleting = true;
            self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
            let known = acting.pods.get_mut(key).ok_or(WriteOutcome::Absent)?;
            known.deleted = Some(Timestamp::default());
            acting.version += 1;
            known.resource_version = acting.version.to_string().into();
            return Ok(Some(Observed::Pod(Box::new(known.clone()))));
        }
        self.deltas.push(Delta::PodDelete(pod.uid.clone()));
        self.pods.remove(key);
        Ok(None)
    }
}

/// The object as it is now, or why not.
type Done = Result<Option<Observed>, WriteOutcome>;

fn change_pod(acting: &mut Controllers, key: &str, patch: &Value) -> Done {
    let version = acting.next_version();
    let known = acting.pods.get_mut(key).ok_or(WriteOutcome::Absent)?;
    let annotations = &patch["metadata"]["annotations"];
    if let Some(member) = &mut known.member {
        member.is_marked |= !annotations[keys::OUT_OF_SYNC].is_null();
    }
    known.resource_version = version.into();
    Ok(Some(Observed::Pod(Box::new(known.clone()))))
}

/// The conditions a scheduler writes, and the deletion.
fn mark_evicted(known: &mut TrackedPod, mark: &str, now: Timestamp) {
    known.deleted.get_or_insert(now);
    known.disruption = Some(Box::new(Disruption {
        reason: "PreemptionByScheduler".into(),
        message: mark.into(),
        at: Some(now),
    }));
}

/// Brings what is known of a pod up to date; whether it had changed.
fn update_pod(known: &mut TrackedPod, pod: &PodObject, now: Timestamp) -> bool {
    let phase = match pod.phase {
        PodPhase::Pending => TrackedPhase::Pending,
        PodPhase::Running => TrackedPhase::Running,
        PodPhase::Succeeded => TrackedPhase::Succeeded,
        PodPhase::Failed => TrackedPhase::Failed,
        PodPhase::Unknown => TrackedPhase::Unknown,
    };
    let is_ready = phase == TrackedPhase::Running;
    let seen = (phase, pod.node.is_some(), is_ready);
    let is_evicted = pod.deleting && known.deleted.is_none();
    if is_evicted {
        known.deleted = Some(now);
    }
    let is_changed = (known.phase, known.is_bound, known.is_ready) != seen;
    (known.phase, known.is_bound, known.is_ready) = seen;
    is_changed || is_evicted
}

/// Brings what is known of a PodGroup up to date; whether it had changed.
fn update_group(known: &mut PodGroup, group: &GroupObject) -> bool {
    let condition = |c: &pumice_model::object::GroupCondition| PodGroupCondition {
        kind: c.kind.clone(),
        status: c.status.clone(),
        reason: c.reason.clone(),
        message: c.message.clone(),
        ..PodGroupCondition::default()
    };
    let status = &group.status;
    let conditions: Vec<PodGroupCondition> = status.conditions.iter().map(condition).collect();
    let phase = status.phase.name();
    let is_changed = known.status.phase != phase || known.status.conditions != conditions;
    phase.clone_into(&mut known.status.phase);
    known.status.conditions = conditions;
    is_changed
}

fn named(namespace: Option<&str>, name: &str) -> ObjectMeta {
    ObjectMeta {
        namespace: namespace.map(str::to_owned),
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

fn with_version<K>(mut object: K, version: String) -> K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta>,
{
    object.metadata_mut().resource_version = Some(version);
    object
}

/// Applies a JSON merge patch.
fn merged<K: serde::Serialize + DeserializeOwned>(
    known: &K,
    patch: &Value,
) -> Result<K, WriteOutcome> {
    let mut object = json!(known);
    json_patch::merge(&mut object, patch);
    read(&object)
}

fn read<K: DeserializeOwned>(object: &Value) -> Result<K, WriteOutcome> {
    K::deserialize(object).map_err(|error| refusal(error.to_string()))
}

fn invalid(found: &[ObjectProblem]) -> WriteOutcome {
    let words = |problem: &ObjectProblem| format!("{}: {}", problem.path, problem.message);
    let words: Vec<String> = found.iter().map(words).collect();
    refusal(words.join("; "))
}

fn refusal(message: String) -> WriteOutcome {
    WriteOutcome::Refused {
        code: 422,
        reason: "Invalid".to_owned(),
        message,
    }
}
