//! Jobs on the virtual API server: checked on their way in, and turned into pods at once where no
//! controller acts.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use pumice_api::Job;
use pumice_controllers::job as controller;
use pumice_controllers::queue::not_a_leaf;
use pumice_ingest::{self as ingest, ObjectProblem, Options};
use pumice_model::Delta;
use pumice_model::object::GroupObject;
use pumice_wire::rules::RuleScope;

use super::World;
use crate::report::JobLine;

/// Phases in which a Job gets no further pods.
const ENDED: [&str; 4] = ["Completed", "Failed", "Terminated", "Aborted"];

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
        ingest::pod_group(&self.wire_group(&job), options)?;
        let group = controller::pod_group_name(&job);
        let odd = controller::doubts(&job).into_iter();
        let mut doubts: Vec<ObjectProblem> = odd.map(of_doubt).collect();
        let broken = controller::broken_templates(&job, RuleScope::Sketch).into_iter();
        let broken: Vec<ObjectProblem> = broken.map(super::admit::of_rule).collect();
        match job.metadata.resource_version.is_some() {
            // An API server has accepted the Job; of its pods it is asked when they are made.
            true => doubts.extend(broken),
            false if broken.is_empty() => {}
            false => return Err(broken),
        }
        for task in 0..job.spec.tasks.len() {
            if let Some(mut first) = controller::task_pod(&job, task, 0, &group) {
                let missing = self.admit_pod(&mut first);
                let missing = missing.map_err(|found| of_template(task, found))?;
                doubts.extend(missing.map(|doubt| in_template(task, doubt)));
                self.resources.pod(first.spec.as_ref());
                ingest::pod(&first, options)
                    .and_then(ingest::Readable::certain)
                    .map_err(|found| of_template(task, found))?;
                ingest::ephemeral_claims(&first).map_err(|found| of_template(task, found))?;
            }
        }
        for (at, claim) in controller::volume_claims(&job) {
            let claim = ingest::persistent_volume_claim(&claim);
            let claim = claim.and_then(ingest::Readable::certain);
            claim.map_err(|found| of_claim(at, found))?;
        }
        self.found.doubt("Job", &key, doubts);
        if job.metadata.namespace.is_none() {
            let (namespace, _) = key.split_once('/').unwrap_or_default();
            job.metadata.namespace = Some(namespace.to_owned());
        }
        self.jobs.insert(key, job);
        Ok(())
    }

    /// Sets Jobs aside whose queue has queues below it: policies refuse them. One that an API server
    /// has accepted was there before its queue got any.
    pub(super) fn refuse_jobs_of_inner_queues(&mut self) {
        let queues = self.queues.values();
        let queues = queues.map(|queue| (queue.name.as_str(), queue.parent.as_str()));
        let mut known: BTreeMap<&str, Option<String>> = BTreeMap::new();
        let jobs = self.jobs.iter();
        let new = jobs.filter(|(_, job)| job.metadata.resource_version.is_none());
        let refused = new.filter_map(|(key, job)| {
            let queue = job.spec.queue.as_str();
            let why = known.entry(queue);
            let why = why.or_insert_with(|| not_a_leaf(queue, queues.clone()));
            Some((key.clone(), why.clone()?))
        });
        let refused: Vec<(String, String)> = refused.collect();
        for (key, why) in refused {
            self.jobs.remove(&key);
            let place = self.found.places.remove(&("Job", key.clone()));
            let (what, help) = why.split_once("; ").unwrap_or((&why, ""));
            let path = "spec.queue".to_owned();
            let problem = ObjectProblem {
                path,
                message: what.to_owned(),
                help: help.to_owned(),
            };
            let name = format!("Job {key}");
            self.found
                .refuse(&place.unwrap_or_default(), &name, std::iter::once(problem));
        }
    }

    /// The PodGroup of a Job.
    fn wire_group(&self, job: &Job) -> pumice_api::PodGroup {
        let priority_of = |class: &str| self.priorities.of(Some(class)).unwrap_or(0);
        controller::pod_group(job, &priority_of)
    }

    /// Every Job's PodGroup, claims and all its pods at once.
    pub fn make_all_job_pods(&mut self, options: &Options) {
        let jobs = std::mem::take(&mut self.jobs);
        for job in jobs.values() {
            if !ENDED.contains(&job.status.state.phase.as_str()) {
                self.make_job_pods(job, options);
            }
        }
        self.jobs = jobs;
    }

    fn make_job_pods(&mut self, job: &Job, options: &Options) {
        let Some(group) = self.ensure_group(job, options) else {
            return;
        };
        for (_, claim) in controller::volume_claims(job) {
            if let Ok(claim) = ingest::persistent_volume_claim(&claim) {
                self.storage.create(claim.object, &mut self.deltas);
            }
        }
        for mut pod in controller::pods(job, &group.name) {
            // What admission refuses was told of the Job.
            let _ = self.admit_pod(&mut pod);
            // The template was converted once before, so this cannot fail for want of a valid pod.
            let _ = self.create_pod(&pod, options);
        }
    }

    /// The Job's PodGroup: the one that is there, under either of its names, or a new one.
    fn ensure_group(&mut self, job: &Job, options: &Options) -> Option<GroupObject> {
        let wire = self.wire_group(job);
        let made = ingest::pod_group(&wire, options).ok()?;
        let legacy = job.metadata.name.clone().unwrap_or_default();
        for name in [&made.name, &legacy] {
            if let Some(group) = self.groups.get(&format!("{}/{name}", made.namespace)) {
                return Some(group.clone());
            }
        }
        self.put_group(made.clone());
        Some(made)
    }

    /// Puts a PodGroup on the API server.
    pub(super) fn put_group(&mut self, group: GroupObject) {
        let key = format!("{}/{}", group.namespace, group.name);
        self.deltas.push(Delta::GroupApply(Box::new(group.clone())));
        self.groups.insert(key, group);
    }

    /// Puts a pod and its ephemeral claims on the API server, unless one of its name is there.
    pub(super) fn create_pod(
        &mut self,
        wire: &Pod,
        options: &Options,
    ) -> Result<(), Vec<ObjectProblem>> {
        let claims = ingest::ephemeral_claims(wire)?;
        let pod = ingest::pod(wire, options)?.object;
        let key = format!("{}/{}", pod.namespace, pod.name);
        if !self.pods.contains_key(&key) {
            for claim in claims {
                self.storage.create(claim, &mut self.deltas);
            }
            self.deltas.push(Delta::PodApply(Box::new(pod.clone())));
            if !pod.ours {
                self.strangers.count(wire, &key);
            }
            self.pods.insert(key, pod);
        }
        Ok(())
    }

    /// Whether a PodGroup exists or will: Jobs bring their own.
    pub(super) fn has_group(&self, key: &str) -> bool {
        self.groups.contains_key(key)
            || self.jobs.iter().any(|(job, wire)| {
                let (namespace, _) = job.split_once('/').unwrap_or_default();
                format!("{namespace}/{}", controller::pod_group_name(wire)) == key
            })
    }

    /// Every Job with its phase.
    pub fn job_lines(&self) -> Vec<JobLine> {
        let line = |(name, job): (&String, &Job)| {
            let state = &job.status.state;
            let phase = match state.phase.as_str() {
                "" => "Pending",
                phase => phase,
            };
            let (namespace, _) = name.split_once('/').unwrap_or_default();
            JobLine {
                name: name.clone(),
                phase: phase.to_owned(),
                reason: state.reason.clone(),
                message: state.message.clone(),
                group: format!("{namespace}/{}", controller::pod_group_name(job)),
            }
        };
        self.jobs.iter().map(line).collect()
    }
}

/// Every Job of a world that has come to its end, by `namespace/name` of its PodGroup.
pub(crate) fn by_group(world: World) -> BTreeMap<String, Job> {
    let groups = world.groups;
    let jobs = world.jobs.into_iter().map(|(key, job)| {
        let (namespace, _) = key.split_once('/').unwrap_or_default();
        let made = format!("{namespace}/{}", controller::pod_group_name(&job));
        // One of an older version has the name of the Job alone.
        let is_legacy = !groups.contains_key(&made) && groups.contains_key(&key);
        (if is_legacy { key } else { made }, job)
    });
    jobs.collect()
}

fn of_doubt(doubt: controller::JobDoubt) -> ObjectProblem {
    ObjectProblem {
        path: doubt.path,
        message: doubt.message,
        help: doubt.help,
    }
}

/// Problems of a pod made from a task's template, told in the Job's fields.
fn of_template(task: usize, found: Vec<ObjectProblem>) -> Vec<ObjectProblem> {
    let found = found.into_iter();
    found.map(|problem| in_template(task, problem)).collect()
}

fn in_template(task: usize, problem: ObjectProblem) -> ObjectProblem {
    ObjectProblem {
        path: format!("spec.tasks[{task}].template.{}", problem.path),
        ..problem
    }
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
