//! A Job as one look at it finds it.

use jiff::Timestamp;
use pumice_api::job::TaskSpec;
use pumice_api::{Job, PodGroup};

use super::phase::JobPhase;
use super::pods::PodSight;
use super::{pod_group_name, task_name};
use crate::runtime::{
    JobMember, ManagedKind, ManagedRef, ObjectCache, ObjectEvent, TrackedPhase, TrackedPod,
    owning_job,
};

/// A Job with its pods and its PodGroup.
pub(super) struct JobLook<'a> {
    /// With defaults.
    pub job: Job,
    /// As it is known.
    pub raw: &'a Job,
    uid: String,
    pub key: &'a ManagedRef,
    /// All that it owns, by name.
    pub pods: Vec<JobPod<'a>>,
    pub group: Option<&'a PodGroup>,
    pub cache: &'a ObjectCache,
    pub now: Timestamp,
}

/// A pod the Job owns.
#[derive(Clone, Copy)]
pub(super) struct JobPod<'a> {
    pub pod: &'a TrackedPod,
    pub member: &'a JobMember,
    pub standing: PodStanding,
}

/// What a pod is to its Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodStanding {
    /// One of those the Job asks for.
    Wanted,
    /// The Job does not ask for it: its task has fewer replicas, or is gone.
    Surplus,
    /// Marked to be deleted, or of an earlier version of the Job and not finished.
    Doomed,
}

impl<'a> JobLook<'a> {
    /// `None` if the Job is gone.
    pub fn new(key: &'a ManagedRef, cache: &'a ObjectCache, now: Timestamp) -> Option<Self> {
        let raw = cache.job(&key.namespace, &key.name)?;
        let mut job = raw.clone();
        super::defaults(&mut job);
        let uid = super::uid(raw);
        let known = cache.pods_of_job(&key.namespace, &key.name);
        let pods = known.filter_map(|pod| {
            let member = pod.member.as_deref()?;
            let standing = standing(&job, pod, member);
            (*member.job_uid == *uid).then_some(JobPod {
                pod,
                member,
                standing,
            })
        });
        let pods = pods.collect();
        let group = group(&job, key, cache);
        Some(Self {
            job,
            raw,
            uid,
            key,
            pods,
            group,
            cache,
            now,
        })
    }

    pub fn uid(&self) -> &str {
        &self.uid
    }

    pub fn phase(&self) -> JobPhase {
        JobPhase::read(&self.raw.status.state.phase)
    }

    pub fn task(&self, name: &str) -> Option<&TaskSpec> {
        let mut tasks = self.job.spec.tasks.iter();
        tasks.find(|task| task_name(task) == name)
    }

    /// Those the Job asks for and that are there.
    pub fn wanted(&self) -> impl Iterator<Item = &JobPod<'a>> {
        let is_wanted = |pod: &&JobPod<'a>| pod.standing == PodStanding::Wanted;
        self.pods.iter().filter(is_wanted)
    }

    /// What the status depends on.
    pub fn sights(&self) -> impl Iterator<Item = PodSight<'a>> {
        self.sights_where(|_| false)
    }

    /// What the status depends on, as if some more pods were going.
    pub fn sights_where(
        &self,
        goes: impl Fn(&JobPod<'a>) -> bool,
    ) -> impl Iterator<Item = PodSight<'a>> {
        self.pods.iter().map(move |one| PodSight {
            task: &one.member.task,
            phase: one.pod.phase,
            is_going: one.pod.deleted.is_some() || one.standing != PodStanding::Wanted || goes(one),
            has_ready_containers: one.pod.is_ready,
        })
    }

    /// Pods whose deletion was asked for or will be.
    pub fn going(&self) -> i64 {
        self.sights().map(|pod| i64::from(pod.is_going)).sum()
    }

    pub fn replicas(&self) -> i64 {
        super::sum(&self.job, |task| task.replicas)
    }

    /// Name of the PodGroup there is or is to be.
    pub fn group_name(&self) -> String {
        let known = self.group.and_then(|group| group.metadata.name.clone());
        known.unwrap_or_else(|| pod_group_name(&self.job))
    }

    /// The PodGroup, if the Job owns it.
    pub fn own_group(&self) -> Option<&'a PodGroup> {
        self.group.filter(|group| {
            let mut owners = group.metadata.owner_references.iter().flatten();
            owners.any(|owner| owner.uid == self.uid())
        })
    }

    /// The restart that is counted next, or was counted last, is the last.
    pub fn has_no_retry_left(&self) -> bool {
        self.raw.status.retry_count >= self.job.spec.max_retry
    }

    /// An event about the Job.
    pub fn event(&self, warning: bool, reason: &'static str, message: String) -> ObjectEvent {
        ObjectEvent {
            about: self.key.clone(),
            uid: self.uid().to_owned(),
            warning,
            reason,
            message,
        }
    }
}

impl JobPod<'_> {
    pub fn is_finished(&self) -> bool {
        matches!(
            self.pod.phase,
            TrackedPhase::Succeeded | TrackedPhase::Failed
        )
    }

    pub fn reference(&self) -> ManagedRef {
        ManagedRef::new(ManagedKind::Pod, &self.pod.namespace, &self.pod.name)
    }
}

fn standing(job: &Job, pod: &TrackedPod, member: &JobMember) -> PodStanding {
    let is_finished = matches!(pod.phase, TrackedPhase::Succeeded | TrackedPhase::Failed);
    if member.is_marked || member.version < job.status.version && !is_finished {
        return PodStanding::Doomed;
    }
    let mut tasks = job.spec.tasks.iter();
    let task = tasks.find(|task| task_name(task) == &*member.task);
    match task.is_some_and(|task| (0..task.replicas).contains(&member.index)) {
        true => PodStanding::Wanted,
        false => PodStanding::Surplus,
    }
}

/// The Job's PodGroup, or one of an older controller by the Job's name that is nobody else's.
fn group<'a>(job: &Job, key: &ManagedRef, cache: &'a ObjectCache) -> Option<&'a PodGroup> {
    let own = cache.pod_group(&key.namespace, &pod_group_name(job));
    own.or_else(|| {
        let legacy = cache.pod_group(&key.namespace, &key.name)?;
        let owners = legacy.metadata.owner_references.as_deref().unwrap_or(&[]);
        let is_ours = owners.iter().all(|owner| {
            owner.controller != Some(true) || Some(&owner.uid) == job.metadata.uid.as_ref()
        });
        is_ours.then_some(legacy)
    })
}

/// The Job a PodGroup belongs to, by its owner or by its name.
pub(super) fn job_of_group(group: &PodGroup) -> Option<ManagedRef> {
    let meta = &group.metadata;
    let name = match owning_job(meta) {
        Some(owner) => owner.name.as_str(),
        None => meta.name.as_deref()?,
    };
    let namespace = meta.namespace.as_deref()?;
    Some(ManagedRef::new(ManagedKind::Job, namespace, name))
}
