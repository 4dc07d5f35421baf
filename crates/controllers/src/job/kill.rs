//! Which pods and PodGroup are deleted (spec/03 C3.6).

use serde_json::json;

use super::decision::RestartTarget;
use super::look::{JobLook, JobPod, PodStanding};
use crate::runtime::{ApiVerb, ApiWrite, ManagedKind, ManagedRef};
use pumice_api::keys;

/// Deletes what has not finished, and the PodGroup: the Job has ended or is suspended.
pub(super) fn unfinished(look: &JobLook<'_>) -> Vec<ApiWrite> {
    let mut writes = pods(look, |pod| !pod.is_finished());
    writes.extend(group(look));
    writes
}

/// Deletes pods of earlier versions, and the PodGroup, so that the Job is queued anew.
pub(super) fn earlier(look: &JobLook<'_>, keep_finished: bool) -> Vec<ApiWrite> {
    let version = look.raw.status.version;
    let mut writes = pods(look, |pod| {
        pod.member.version < version && !(keep_finished && pod.is_finished())
    });
    writes.extend(group(look));
    writes
}

fn pods(look: &JobLook<'_>, is_meant: impl Fn(&JobPod<'_>) -> bool) -> Vec<ApiWrite> {
    let meant = look.pods.iter().filter(|pod| pod.pod.deleted.is_none());
    meant.filter(|pod| is_meant(pod)).map(delete).collect()
}

fn group(look: &JobLook<'_>) -> Option<ApiWrite> {
    let meta = &look.own_group()?.metadata;
    let name = meta.name.as_deref()?;
    let of = ManagedRef::new(ManagedKind::PodGroup, &look.key.namespace, name);
    let uid = meta.uid.as_deref().unwrap_or_default();
    meta.deletion_timestamp
        .is_none()
        .then(|| ApiWrite::delete(of, uid))
}

/// Deletes a part of the Job. The pods are marked first: a pod on its way out that is not marked
/// was evicted.
pub(super) fn part(look: &JobLook<'_>, target: &RestartTarget) -> Vec<ApiWrite> {
    let covered: Vec<&JobPod<'_>> = look.pods.iter().filter(|pod| target.covers(pod)).collect();
    marked_and_deleted(&covered)
}

/// Deletes pods the Job does not ask for.
pub(super) fn not_wanted(look: &JobLook<'_>) -> Vec<ApiWrite> {
    let is_alive = |pod: &&JobPod<'_>| pod.pod.deleted.is_none();
    let mut doomed: Vec<&JobPod<'_>> = Vec::new();
    let mut surplus = Vec::new();
    for pod in look.pods.iter().filter(is_alive) {
        match pod.standing {
            PodStanding::Doomed => doomed.push(pod),
            PodStanding::Surplus => surplus.push(pod),
            PodStanding::Wanted => {}
        }
    }
    let mut writes: Vec<ApiWrite> = doomed.into_iter().map(delete).collect();
    writes.extend(marked_and_deleted(&surplus));
    writes
}

/// Marks pods; those that are marked are deleted. Several looks do it.
pub(super) fn marked_and_deleted(pods: &[&JobPod<'_>]) -> Vec<ApiWrite> {
    let next = |pod: &&JobPod<'_>| {
        if !pod.member.is_marked {
            return Some(mark(pod));
        }
        pod.pod.deleted.is_none().then(|| delete(pod))
    };
    pods.iter().filter_map(next).collect()
}

fn mark(pod: &JobPod<'_>) -> ApiWrite {
    let annotations = json!({keys::OUT_OF_SYNC: "true"});
    ApiWrite {
        of: pod.reference(),
        verb: ApiVerb::Merge {
            patch: json!({"metadata": {"uid": pod.pod.uid, "annotations": annotations}}),
            status: false,
        },
    }
}

fn delete(pod: &JobPod<'_>) -> ApiWrite {
    ApiWrite::delete(pod.reference(), &pod.pod.uid)
}
