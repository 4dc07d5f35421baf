//! Why the pods of a job were not tried at all.

use pumice_framework::Skip;
use pumice_model::JobIx;
use pumice_model::object::NATIVE_GROUP;

use super::phrases::hint;
use crate::knowledge::Wording;

/// Annotation that names a pod's PodGroup.
const GROUP_NAME: &str = "annotation scheduling.k8s.io/group-name";

/// Says that the PodGroup of Kubernetes itself is not there that the pods of the job `key` name; `None`
/// where they name none.
fn no_native_group_text(key: &str) -> Option<String> {
    let (namespace, name) = key.split_once('/')?;
    let name = name.strip_prefix(NATIVE_GROUP)?;
    Some(match name.contains('/') {
        // As `pumice_wire` writes it.
        true => format!(
            "{name} is named in spec.workloadRef, which only Kubernetes 1.35 has and this scheduler does \
             not follow: name a PodGroup of scheduling.k8s.io in spec.schedulingGroup (Kubernetes 1.36 and \
             later), or one of scheduling.volcano.sh in annotation scheduling.k8s.io/group-name"
        ),
        false => format!(
            "PodGroup {namespace}/{name} of scheduling.k8s.io, which spec.schedulingGroup names, not found: \
             create it; if it is there, the API server serves none of its versions v1beta1, v1alpha3 and \
             v1alpha2, or the scheduler may not list it, and its log says so"
        ),
    })
}

impl Wording<'_> {
    /// Why a job was skipped.
    pub(crate) fn skip_text(&self, ix: JobIx, why: &Skip) -> String {
        let key = self.state.population().job_key(ix);
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        match why {
            Skip::NoGroup => no_native_group_text(&key).unwrap_or_else(|| {
                format!(
                    "PodGroup {key} not found: create it, or remove annotation \
                     scheduling.k8s.io/group-name from the pod; if it is there, the scheduler cannot \
                     read PodGroups, and its log names the permission or CRD that is missing"
                )
            }),
            Skip::AwaitsGroup => self.awaits_group_text(ix),
            Skip::NoQueue => self.no_queue_text(ix),
            Skip::Tier(problem) => self.tier_text(ix, problem),
            Skip::Unserved(why) => format!("no node can serve a pod of {key}: {why}"),
            Skip::NotEnqueued(refusal) => {
                format!(
                    "queue \"{queue}\" does not admit {key}: {}",
                    self.refusal_text(ix, refusal)
                )
            }
            Skip::Invalid(invalid) => invalid.message.clone(),
            Skip::Overused(overruns) => self.overused_text(ix, overruns),
            Skip::NoConsent(refusal) => {
                format!("{key} has no turn: {}", self.refusal_text(ix, refusal))
            }
            Skip::NoRoomOfUser(refusal) => {
                format!("{key} has no turn: {}", self.refusal_text(ix, refusal))
            }
            Skip::QueueHeldBack(refusal) => format!(
                "queue \"{queue}\" of {key} has no turn: {}",
                self.refusal_text(ix, refusal)
            ),
            Skip::Behind(first) => format!(
                "{key} waits behind {first}: nobody passes another in queue \"{queue}\" (dequeueStrategy fifo)"
            ),
            Skip::Postponed => format!(
                "{key} goes on in the next cycle: more work was to be done in this one than the \
                 limit (--job-work-limit) allows"
            ),
        }
    }

    /// Says that the queue of a job is not there.
    pub(crate) fn no_queue_text(&self, ix: JobIx) -> String {
        let key = self.state.population().job_key(ix);
        let queue = self.state.names().text(self.state.job(ix).queue_name);
        let known = self
            .state
            .population()
            .queues()
            .iter()
            .map(|(_, queue)| queue);
        let mut known: Vec<&str> = known.map(|queue| queue.object.name.as_str()).collect();
        if known.is_empty() {
            // The scheduler makes one wherever it can.
            return format!(
                "queue \"{queue}\" of {key} not found, nor any other: the CRD \
                 queues.scheduling.volcano.sh is not installed (kubectl create -f \
                 config/crd), or the scheduler may not list queues (its log names the \
                 permission)"
            );
        }
        known.sort_unstable();
        let hint = hint(queue, known.iter().copied());
        format!(
            "queue \"{queue}\" of {key} not found (or set aside as broken){hint}: create the queue, \
             or name another one"
        )
    }

    /// What the only pod of a job waits for, and what to do should it never come.
    fn awaits_group_text(&self, ix: JobIx) -> String {
        let names = self.state.names();
        let tasks = &self.state.job(ix).tasks;
        let owners = tasks.first().map(|task| &self.state.task(*task).owners);
        let owner = owners.and_then(|owners| owners.first());
        let owner = owner.map_or_else(String::new, |(kind, name)| {
            format!(" of {} {}", names.text(*kind), names.text(*name))
        });
        let sign = self
            .state
            .population()
            .group_controller()
            .unwrap_or_default();
        let controller = sign.rsplit('/').next().unwrap_or_default();
        format!(
            "waits for its PodGroup: {controller} is alive ({sign}) and makes one for \
             pods{owner}. If none comes, see in its log whether it runs the pg-controller for this \
             pod's schedulerName, or set {GROUP_NAME} on the pods; a scheduler started with \
             --podgroup-controller-lease=none does not wait"
        )
    }
}
