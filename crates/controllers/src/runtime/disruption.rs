//! Why a pod goes that nobody of ours deletes.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;

/// What the condition `DisruptionTarget` of a pod says: whoever evicts a pod tells why there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disruption {
    /// `PreemptionByScheduler`, `EvictionByEvictionAPI` …
    pub reason: Box<str>,
    /// A sentence.
    pub message: Box<str>,
    /// Since when.
    pub at: Option<Timestamp>,
}

impl Disruption {
    /// Reads the condition of a pod; none where it is not there or not true.
    pub(super) fn read(pod: &Pod) -> Option<Self> {
        let conditions = pod.status.as_ref()?.conditions.iter().flatten();
        let mut targets = conditions.filter(|c| c.type_ == "DisruptionTarget");
        let target = targets.find(|c| c.status == "True")?;
        let text = |field: &Option<String>| field.as_deref().unwrap_or_default().into();
        Some(Self {
            reason: text(&target.reason),
            message: text(&target.message),
            at: target.last_transition_time.as_ref().map(|t| t.0),
        })
    }

    /// What was done with the pod, to stand behind `was`. A scheduler that evicts a pod as this one
    /// does writes `NAME: evicted because of ACTION for WHOM`.
    pub fn in_words(&self) -> String {
        let Self {
            reason, message, ..
        } = self;
        let by_scheduler = message.split_once(": evicted because of ");
        match (&**reason, by_scheduler) {
            ("PreemptionByScheduler", Some((scheduler, why))) => {
                format!("evicted by scheduler {scheduler}: {why}")
            }
            ("EvictionByEvictionAPI", _) => {
                format!("evicted through the Eviction API, as kubectl drain does: {message}")
            }
            _ => format!("disrupted: {reason}: {message}"),
        }
    }
}
