//! Jobs that ask for room: all their pods, by task.

use k8s_openapi::api::core::v1::PodTemplate;
use pumice_api::Job;

use super::asked::{AskedSet, PodTally, SetTally};
use super::asker::{RoomAsker, uid};
use crate::job::{minimum, pod_template, task_name};
use crate::runtime::{ObjectCache, ObjectEvent, PodWait, TrackedPod};

/// What a defaulted Job lacks of pods that wait for this request of this class, by task.
pub fn tally(asker: &RoomAsker<'_>, job: &Job, cache: &ObjectCache) -> PodTally {
    let wanted = (asker.request.as_str(), asker.class);
    let tasks = &job.spec.tasks;
    let set = |task| SetTally {
        minimum: minimum(task),
        ..SetTally::default()
    };
    let mut tally = PodTally {
        sets: tasks.iter().map(set).collect(),
        to_start: job.spec.min_available,
        ..PodTally::default()
    };
    for pod in cache.pods_of_job(&asker.of.namespace, &asker.of.name) {
        let member = pod.member.as_ref();
        let Some(member) = member.filter(|one| *one.job_uid == *uid(&job.metadata)) else {
            continue;
        };
        let at = tasks
            .iter()
            .position(|task| *task_name(task) == *member.task);
        let Some(set) = at.and_then(|at| tally.sets.get_mut(at)) else {
            continue;
        };
        match (pod.is_over(), pod.is_placed()) {
            (true, _) => {}
            (false, true) => {
                set.placed += 1;
                tally.placed += 1;
            }
            (false, false) => {
                let consumes = member.consumes.as_ref();
                let is_for_it = consumes.is_some_and(|(of, by)| (&**of, &**by) == wanted);
                let lacks = member.wait == PodWait::LacksNode && is_for_it;
                set.lacking += i32::from(lacks);
                tally.is_undecided |= member.wait == PodWait::Undecided;
                tally.waits |= is_for_it;
            }
        }
    }
    tally
}

/// Templates of the tasks of these sets; `None` if a plugin cannot prepare the pods, which the Job is told.
pub fn templates(job: &Job, sets: &[AskedSet]) -> Option<Vec<PodTemplate>> {
    sets.iter().map(|set| pod_template(job, set.at)).collect()
}

/// The Job names no class any more: pods that were made before wait for a request all the same.
pub fn of_nobody(asker: &RoomAsker<'_>, cache: &ObjectCache) -> Option<ObjectEvent> {
    let waits = |pod: &TrackedPod| {
        let member = pod.member.as_ref();
        let consumes = member.and_then(|member| member.consumes.as_ref());
        !pod.is_bound && consumes.is_some_and(|(request, _)| **request == *asker.request)
    };
    let mut pods = cache.pods_of_job(&asker.of.namespace, &asker.of.name);
    pods.any(waits).then(|| {
        let text = format!(
            "its pods wait for ProvisioningRequest {}, which nobody makes without annotation \
             pumice.sh/provisioning-class of the Job: write it there, or delete the pods",
            asker.request
        );
        asker.says(true, text)
    })
}
