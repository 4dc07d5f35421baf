//! What the controller remembers of a Job. All of it may be lost at any time.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use pumice_api::job::JobStatus;

use super::equipment::{PluginWrites, is_recorded_anew};
use super::evicted::EvictedPods;
use super::gone::GonePod;
use super::look::JobLook;
use super::pods::pod_name;
use super::policies::FirstSeen;
use super::status_write::status_write;
use super::task_name;
use crate::runtime::{ApiWrite, ManagedKind};

/// Counters of a status are written this often at most, unless the phase changes.
const COUNTERS_EVERY: SignedDuration = SignedDuration::from_secs(1);

/// Pods that are tried at once until there is no more talk of a refusal.
const ENOUGH: usize = 256;

/// What is remembered of a Job.
#[derive(Debug, Default)]
pub(super) struct JobMemory {
    uid: String,
    /// The counters of its status were compared with its pods.
    is_compared: bool,
    pub gone: Vec<GonePod>,
    pub evicted: EvictedPods,
    pub seen: FirstSeen,
    written_at: Option<Timestamp>,
    refusal: Option<RefusedCreation>,
    pub plugin_writes: PluginWrites,
    /// What was told last of its PodGroup.
    pub told: String,
    /// What is odd about it was told.
    pub is_odd_told: bool,
    /// When something of it may be told that is too young now.
    pub tell_at: Option<Timestamp>,
}

/// The API server refused to create something.
#[derive(Debug)]
struct RefusedCreation {
    kind: ManagedKind,
    /// Pods that are tried at once.
    batch: usize,
    /// Pods that are being tried.
    tried: Vec<String>,
    /// Words of the API server.
    message: String,
}

impl JobMemory {
    /// Forgets what was of an earlier Job of the same name.
    pub fn belong_to(&mut self, uid: &str) {
        if self.uid != uid {
            *self = Self {
                uid: uid.to_owned(),
                ..Self::default()
            };
        }
    }

    /// A creation was refused. `false` if that is nothing new.
    pub fn note_refusal(&mut self, write: &ApiWrite, message: &str) -> bool {
        let name = &write.of.name;
        let is_pod = write.of.kind == ManagedKind::Pod;
        let is_new = self
            .refusal
            .as_ref()
            .is_none_or(|known| !is_pod || known.tried.contains(name));
        if is_new {
            self.refusal = Some(RefusedCreation {
                kind: write.of.kind,
                batch: 1,
                tried: vec![name.clone()],
                message: message.to_owned(),
            });
        }
        is_new
    }

    /// Words of the API server that still hold, once the Job was looked at.
    pub fn refusal(&mut self, look: &JobLook<'_>, has_objects: bool) -> Option<String> {
        let known = self.refusal.as_mut()?;
        let is_there = |name: &String| look.cache.pod(&look.key.namespace, name).is_some();
        if known.kind != ManagedKind::Pod && has_objects {
            self.refusal = None;
            return None;
        }
        if known.kind == ManagedKind::Pod && known.tried.iter().all(is_there) {
            known.batch = known.batch.saturating_mul(2);
            if known.batch > ENOUGH {
                self.refusal = None;
                return None;
            }
        }
        Some(known.message.clone())
    }

    /// Pods that may be tried at once.
    pub fn batch(&self) -> usize {
        self.refusal
            .as_ref()
            .map_or(usize::MAX, |known| known.batch)
    }

    /// These pods are tried; with none left to be made a refusal is over.
    pub fn try_pods(&mut self, names: Vec<String>) {
        if names.is_empty() {
            self.refusal = None;
        } else if let Some(known) = &mut self.refusal {
            known.tried = names;
        }
    }

    /// Finds pods that went while no process watched: the status counts them.
    pub fn compare(&mut self, look: &JobLook<'_>) {
        if std::mem::replace(&mut self.is_compared, true) {
            return;
        }
        let mut there: BTreeMap<&str, i32> = BTreeMap::new();
        for pod in &look.pods {
            *there.entry(&pod.member.task).or_default() += 1;
        }
        for task in &look.job.spec.tasks {
            let name = task_name(task);
            let counted = look.raw.status.task_status_count.get(name);
            let counted: i32 = counted.map_or(0, |state| state.phase.values().sum());
            let missing = counted - there.get(name).copied().unwrap_or(0);
            let is_missing = |index: &i32| {
                let mut pods = look.pods.iter();
                !pods.any(|pod| *pod.member.task == *name && pod.member.index == *index)
            };
            let missing = usize::try_from(missing).unwrap_or(0);
            let indices = (0..task.replicas).filter(is_missing).take(missing);
            let size = task.partition_policy.as_ref().map(|p| p.partition_size);
            self.gone.extend(indices.map(|index| GonePod {
                name: pod_name(&look.job, task, index),
                uid: String::new(),
                task: name.to_owned(),
                partition: size.and_then(|size| index.checked_div(size)),
                index,
                version: look.raw.status.version,
                disruption: None,
                at: None,
            }));
        }
    }

    /// The status is written at once, or its counters when their time has come: then the write,
    /// else the time.
    pub fn write_status(
        &mut self,
        look: &JobLook<'_>,
        status: &JobStatus,
    ) -> (Option<ApiWrite>, Option<Timestamp>) {
        let Some(write) = status_write(look, status) else {
            return (None, None);
        };
        let next = self
            .written_at
            .and_then(|at| at.checked_add(COUNTERS_EVERY).ok());
        let can_wait = status.state == look.raw.status.state && !is_recorded_anew(look, status);
        let next = next.filter(|next| *next > look.now && can_wait);
        if next.is_none() {
            self.written_at = Some(look.now);
        }
        match next {
            Some(next) => (None, Some(next)),
            None => (Some(write), None),
        }
    }
}
