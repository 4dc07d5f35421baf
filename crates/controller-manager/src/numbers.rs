//! ControllerNumbers that Volcano's controllers count, read from what is told to the manager.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use pumice_admin::metrics::{ControllerMetrics, FinishedJob, GroupPhaseCounts};
use pumice_controllers::runtime::{
    ManagedKind, ManagerInput, ObjectCache, Observed, TrackedPod, WriteOutcome, queue_of,
};

/// Counts.
pub struct ControllerNumbers {
    /// Where to.
    pub metrics: Arc<ControllerMetrics>,
}

impl ControllerNumbers {
    /// Something is about to be told; `leads`: this process makes what is counted.
    pub fn note(&self, input: &ManagerInput, cache: &ObjectCache, now: Timestamp, leads: bool) {
        match input {
            ManagerInput::Seen(object)
            | ManagerInput::Ended(_, WriteOutcome::Done(Some(object)))
                if leads =>
            {
                self.object(object, cache, now);
            }
            ManagerInput::Gone { of, .. } if of.kind == ManagedKind::Job => {
                let name = format!("{}/{}", of.namespace, of.name);
                self.metrics.forget_job(&name);
            }
            _ => {}
        }
    }

    fn object(&self, object: &Observed, cache: &ObjectCache, now: Timestamp) {
        match (object, cache.get(&object.reference())) {
            (Observed::Pod(pod), None) => self.pod(pod, cache, now),
            (Observed::Job(job), Some(Observed::Job(before))) => {
                let (before, after) = (&before.status.state.phase, &job.status.state.phase);
                let completed = after == "Completed";
                if before == after || !(completed || after == "Failed") {
                    return;
                }
                let meta = &job.metadata;
                let text = |field: &Option<String>| field.clone().unwrap_or_default();
                let name = format!("{}/{}", text(&meta.namespace), text(&meta.name));
                self.metrics.job_finished(FinishedJob {
                    name: &name,
                    queue: &job.spec.queue,
                    completed,
                });
            }
            (Observed::JobFlow(flow), Some(Observed::JobFlow(before))) => {
                let (before, after) = (&before.status.state.phase, &flow.status.state.phase);
                let succeeded = after == "Succeed";
                if before == after || !(succeeded || after == "Failed") {
                    return;
                }
                let namespace = flow.metadata.namespace.as_deref().unwrap_or_default();
                self.metrics.flow_finished(namespace, succeeded);
            }
            _ => {}
        }
    }

    /// A pod that was not known before.
    fn pod(&self, pod: &TrackedPod, cache: &ObjectCache, now: Timestamp) {
        let Some(member) = &pod.member else { return };
        let Some(job) = cache.job(&pod.namespace, &member.job) else {
            return;
        };
        if job.metadata.uid.as_deref() != Some(&*member.job_uid) {
            return;
        }
        if let Some(made) = &job.metadata.creation_timestamp {
            let latency = now.duration_since(made.0).as_millis();
            self.metrics.pod_made(latency.max(0) as f64);
        }
    }

    /// What is counted of everything that is known.
    pub fn publish(&self, cache: &ObjectCache) {
        let mut queues: BTreeMap<String, GroupPhaseCounts> = BTreeMap::new();
        for object in cache.all(ManagedKind::Queue) {
            let name = object.reference().name;
            queues.insert(name, GroupPhaseCounts::default());
        }
        for object in cache.all(ManagedKind::PodGroup) {
            let Observed::PodGroup(group) = object else {
                continue;
            };
            let counts = queues.entry(queue_of(group).to_owned()).or_default();
            let count = match group.status.phase.as_str() {
                "Inqueue" => &mut counts.inqueue,
                "Running" => &mut counts.running,
                "Unknown" => &mut counts.unknown,
                "Completed" => &mut counts.completed,
                _ => &mut counts.pending,
            };
            *count += 1;
        }
        self.metrics.groups(&queues);
        for (kind, count) in cache.counts() {
            let path = kind.path();
            // Two kinds are called Job.
            let name = match kind {
                ManagedKind::BatchJob => "batch/Job",
                _ => path.kind,
            };
            self.metrics.watch_objects(name, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use pumice_admin::metrics::MetricsPage as _;
    use pumice_controllers::runtime::Manager;
    use serde_json::json;

    use super::*;

    fn read(kind: ManagedKind, object: &serde_json::Value) -> Observed {
        let read = pumice_controllers::runtime::read_object(kind, object.to_string().as_bytes());
        read.expect("readable").expect("followed")
    }

    fn job(version: u64, phase: &str) -> Observed {
        let object = json!({
            "metadata": {
                "name": "j", "namespace": "n", "uid": "u", "resourceVersion": version.to_string(),
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"queue": "q"},
            "status": {"state": {"phase": phase}},
        });
        read(ManagedKind::Job, &object)
    }

    fn pod() -> Observed {
        let object = json!({
            "metadata": {
                "name": "j-t-0", "namespace": "n", "uid": "p", "resourceVersion": "9",
                "annotations": {"volcano.sh/job-name": "j"},
                "ownerReferences": [{
                    "apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j",
                    "uid": "u", "controller": true,
                }],
            },
        });
        read(ManagedKind::Pod, &object)
    }

    #[test]
    fn what_happens_is_counted_once_by_the_leader_alone() {
        let metrics = Arc::new(ControllerMetrics::new().expect("metrics"));
        let numbers = ControllerNumbers {
            metrics: Arc::clone(&metrics),
        };
        let mut manager = Manager::new(Vec::new());
        let now: Timestamp = "2026-01-01T00:00:01Z".parse().expect("a time");
        let mut tell = |input: ManagerInput, leads: bool| {
            numbers.note(&input, manager.cache(), now, leads);
            manager.tell(input, now);
        };
        tell(ManagerInput::Seen(job(1, "Running")), true);
        tell(ManagerInput::Seen(pod()), true);
        tell(ManagerInput::Seen(pod()), true);
        tell(ManagerInput::Seen(job(2, "Completed")), true);
        tell(ManagerInput::Seen(job(3, "Completed")), true);
        tell(ManagerInput::Seen(job(4, "Failed")), false);
        let text = metrics.text().expect("text");
        for line in [
            "volcano_controller_job_to_pod_creation_latency_milliseconds_count 1",
            "volcano_controller_job_to_pod_creation_latency_milliseconds_sum 1000",
            "volcano_job_completed_phase_count{job_name=\"n/j\",queue_name=\"q\"} 1",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("volcano_job_failed_phase_count{"), "{text}");
    }
}
