//! The Job controller at work on the virtual API server.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Pod, PodStatus};
use pumice_api::Job;
use pumice_controllers::job as controller;
use pumice_ingest::{self as ingest, ObjectProblem, Options};
use pumice_model::Delta;
use pumice_model::object::{ClaimObject, GroupObject, GroupPhase, PodObject, PodPhase};

use super::World;
use crate::report::JobLine;

/// Phases in which a Job gets no further pods.
const ENDED: [&str; 4] = ["Completed", "Failed", "Terminated", "Aborted"];

/// A batch Job and what its controller makes of it.
pub(super) struct JobRecord {
    job: Job,
    group: GroupObject,
    /// Pods by task.
    pods: Vec<Vec<Pod>>,
    made: BTreeSet<String>,
    /// Claims of `spec.volumes`, made with the PodGroup.
    claims: Vec<ClaimObject>,
}

impl JobRecord {
    fn group_key(&self) -> String {
        format!("{}/{}", self.group.namespace, self.group.name)
    }
}

impl World {
    /// Takes in a Job: defaults, checks, and everything it will need, so that a broken template is
    /// the Job's problem and nobody else's.
    pub(super) fn admit_job(
        &mut self,
        mut job: Job,
        key: String,
        options: &Options,
    ) -> Result<(), Vec<ObjectProblem>> {
        controller::defaults(&mut job);
        let refused = controller::validate(&job);
        if !refused.is_empty() {
            let to_problem = |p: controller::JobProblem| ObjectProblem {
                path: p.path,
                message: p.message,
                help: "correct the field; an API server would refuse the Job as well".to_owned(),
            };
            return Err(refused.into_iter().map(to_problem).collect());
        }
        let priorities = &self.priorities;
        let priority_of = |class: &str| priorities.get(class).copied().unwrap_or(0);
        let wire = controller::pod_group(&job, &priority_of);
        let group = ingest::pod_group(&wire, options)?;
        let mut pods = Vec::new();
        for task in 0..job.spec.tasks.len() {
            let mut made = controller::task_pods(&job, task, &group.name);
            made.iter_mut().for_each(|pod| self.resolve_priority(pod));
            if let Some(first) = made.first() {
                ingest::pod(first, options).map_err(|found| of_template(task, found))?;
                ingest::ephemeral_claims(first).map_err(|found| of_template(task, found))?;
            }
            pods.push(made);
        }
        let mut claims = Vec::new();
        for (at, claim) in controller::volume_claims(&job) {
            let claim = ingest::persistent_volume_claim(&claim);
            claims.push(claim.map_err(|found| of_claim(at, found))?);
        }
        self.jobs.insert(
            key,
            JobRecord {
                job,
                group,
                pods,
                made: BTreeSet::new(),
                claims,
            },
        );
        Ok(())
    }

    /// One round of every Job: its PodGroup, its pods once that is admitted, its status.
    pub fn run_controllers(&mut self, options: &Options) {
        self.sync_jobs(options, false);
    }

    /// Every Job's PodGroup and all its pods at once.
    pub fn make_all_job_pods(&mut self, options: &Options) {
        self.sync_jobs(options, true);
    }

    fn sync_jobs(&mut self, options: &Options, at_once: bool) {
        let mut jobs = std::mem::take(&mut self.jobs);
        for record in jobs.values_mut() {
            if !ENDED.contains(&record.job.status.state.phase.as_str()) {
                self.sync_job(record, options, at_once);
            }
        }
        self.jobs = jobs;
    }

    fn sync_job(&mut self, record: &mut JobRecord, options: &Options, at_once: bool) {
        let group = self.ensure_group(record);
        for claim in std::mem::take(&mut record.claims) {
            self.create_claim(claim);
        }
        let existing = self.pods_of(record);
        let tasks: Vec<usize> = if at_once {
            (0..record.pods.len()).collect()
        } else if group.status.phase == GroupPhase::Pending {
            Vec::new()
        } else {
            controller::startable_tasks(&record.job, &existing)
        };
        for task in tasks {
            for pod in &record.pods[task] {
                let name = pod.metadata.name.clone().unwrap_or_default();
                if record.made.insert(name) {
                    self.create(pod, &group.name, options);
                }
            }
        }
        let existing = self.pods_of(record);
        record.job.status = controller::status(&record.job, &existing);
    }

    /// The Job's PodGroup: the one that is there, under either of its names, or a new one.
    fn ensure_group(&mut self, record: &JobRecord) -> GroupObject {
        let job = record.job.metadata.name.clone().unwrap_or_default();
        let legacy = format!("{}/{job}", record.group.namespace);
        for key in [record.group_key(), legacy] {
            if let Some(group) = self.groups.get(&key) {
                return group.clone();
            }
        }
        let group = record.group.clone();
        self.groups.insert(record.group_key(), group.clone());
        self.deltas.push(Delta::GroupApply(Box::new(group.clone())));
        group
    }

    fn create(&mut self, pod: &Pod, group: &str, options: &Options) {
        // The template was converted once before, so this cannot fail for want of a valid pod.
        let (Ok(claims), Ok(mut pod)) = (ingest::ephemeral_claims(pod), ingest::pod(pod, options))
        else {
            return;
        };
        pod.group = Some(group.to_owned());
        let key = format!("{}/{}", pod.namespace, pod.name);
        if !self.pods.contains_key(&key) {
            for claim in claims {
                self.create_claim(claim);
            }
            self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
            self.pods.insert(key, pod);
        }
    }

    /// The Job's pods that exist, with their phases.
    fn pods_of(&self, record: &JobRecord) -> Vec<Pod> {
        let namespace = &record.group.namespace;
        let with_phase = |pod: &Pod| {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let found = self.pods.get(&format!("{namespace}/{name}"))?;
            let phase = Some(phase_name(found).to_owned());
            let status = Some(PodStatus {
                phase,
                ..PodStatus::default()
            });
            Some(Pod {
                metadata: pod.metadata.clone(),
                spec: None,
                status,
            })
        };
        record
            .pods
            .iter()
            .flatten()
            .filter_map(with_phase)
            .collect()
    }

    /// What admission does with a priority class that is known.
    pub(super) fn resolve_priority(&self, pod: &mut Pod) {
        let Some(spec) = &mut pod.spec else { return };
        let value = match &spec.priority_class_name {
            Some(class) => self.priorities.get(class).copied(),
            None => self.default_priority,
        };
        spec.priority = spec.priority.or(value);
    }

    /// Whether a PodGroup exists or will: Jobs bring their own.
    pub(super) fn has_group(&self, key: &str) -> bool {
        let of_job = |record: &JobRecord| record.group_key() == key;
        self.groups.contains_key(key) || self.jobs.values().any(of_job)
    }

    /// Every Job with its phase.
    pub fn job_lines(&self) -> Vec<JobLine> {
        let line = |(name, record): (&String, &JobRecord)| {
            let phase = match record.job.status.state.phase.as_str() {
                "" => "Pending",
                phase => phase,
            };
            JobLine {
                name: name.clone(),
                phase: phase.to_owned(),
                group: record.group_key(),
            }
        };
        self.jobs.iter().map(line).collect()
    }
}

/// Problems of a pod made from a task's template, told in the Job's fields.
fn of_template(task: usize, found: Vec<ObjectProblem>) -> Vec<ObjectProblem> {
    let in_template = |problem: ObjectProblem| ObjectProblem {
        path: format!("spec.tasks[{task}].template.{}", problem.path),
        ..problem
    };
    found.into_iter().map(in_template).collect()
}

/// Problems of a claim made from a volume of the Job, told in the Job's fields.
fn of_claim(volume: usize, found: Vec<ObjectProblem>) -> Vec<ObjectProblem> {
    let in_volume = |problem: ObjectProblem| ObjectProblem {
        path: problem
            .path
            .replacen("spec", &format!("spec.volumes[{volume}].volumeClaim"), 1),
        ..problem
    };
    found.into_iter().map(in_volume).collect()
}

fn phase_name(pod: &PodObject) -> &'static str {
    match pod.phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    }
}
