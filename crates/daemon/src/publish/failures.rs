//! Bindings and other writes that came to nothing: who is told, and when they are tried again.

use std::time::Duration;

use pumice_admin::log::Every;
use pumice_cluster::effects::{BindFailure, PodRef, Write};

use super::Publisher;

/// Failures of one kind are logged this often, with how many there were.
const LOGGED_EVERY: Duration = Duration::from_secs(30);

/// Failures in the log: one line a kind and period.
pub struct Logged(Every);

impl Default for Logged {
    fn default() -> Self {
        Self(Every::new(LOGGED_EVERY))
    }
}

impl Logged {
    /// Logs the first of a kind at once, later ones once a period.
    pub fn warn(&self, kind: &str, text: impl FnOnce() -> String) {
        match self.0.admit(kind) {
            Some(0) => tracing::warn!("{}", text()),
            Some(more) => tracing::warn!("{} (and {more} more like it before)", text()),
            None => {}
        }
    }
}

fn name(failure: &BindFailure) -> &'static str {
    match failure {
        BindFailure::PodGone | BindFailure::PodReplaced => "pod gone",
        BindFailure::BoundElsewhere(_) => "bound elsewhere",
        BindFailure::Denied => "binding denied",
        BindFailure::Rejected => "binding rejected",
        BindFailure::GaveUp => "binding given up",
        BindFailure::PreBind => "step before binding",
        BindFailure::Outdated => "binding outdated",
    }
}

impl Publisher {
    /// Seconds before a pod whose Binding failed is placed again: doubles with every failure.
    pub fn retry_after_s(&mut self, uid: &str, (first, most): (i64, i64)) -> i64 {
        // Pods that are gone leave their entries behind; the table is small unless much fails.
        if self.failures.len() > 100_000 {
            self.failures.clear();
        }
        let count = self.failures.entry(uid.to_owned()).or_default();
        let wait = first << (*count).min(16);
        *count += 1;
        wait.min(most)
    }

    /// Tells a pod's owner that its Binding failed. Nothing is said of a pod that is gone; one that
    /// somebody else has bound does not wait.
    pub fn bind_failed(&self, pod: &PodRef, node: &str, failure: &BindFailure, message: &str) {
        match failure {
            BindFailure::PodGone | BindFailure::PodReplaced => return,
            BindFailure::BoundElsewhere(other) => return self.tell_rival(pod, node, other),
            _ => {}
        }
        self.failures_logged.warn(name(failure), || {
            let (namespace, name) = (&pod.namespace, &pod.name);
            format!("binding of {namespace}/{name} to node {node} failed: {message}")
        });
        let message = format!("failed to bind to node {node}: {message}");
        self.tell_waiting(pod.clone(), "SchedulerError", message, None);
    }

    /// Another scheduler binds our pods: told on the pod, and in the log now and then.
    pub(super) fn tell_rival(&self, pod: &PodRef, node: &str, bound_to: &str) {
        let message = format!(
            "decided for node {node}, but another scheduler has bound it to node {bound_to}: two \
             schedulers work for the same schedulerName; run one of them only, or all with \
             --leader-elect and the same lease"
        );
        self.failures_logged.warn("another scheduler", || {
            format!("pod {}/{}: {message}", pod.namespace, pod.name)
        });
        self.write(Write::Event {
            about: pod.object(),
            warning: true,
            reason: "BoundByAnotherScheduler".to_owned(),
            message,
        });
    }
}
