//! How writes ended.

use pumice_model::Delta;
use pumice_model::write::{BindFailure, Outcome, PodRef};

use crate::clock::Clock;
use crate::clock::whole_s;
use crate::decider::Decider;
use crate::effect::LogLevel;
use crate::status_retries::StatusOwner;

/// What a failure is called where many of a kind are counted.
fn kind_of(failure: &BindFailure) -> &'static str {
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

impl Decider {
    /// A write has ended.
    pub fn on_outcome(&mut self, outcome: Outcome, clock: &dyn Clock) {
        let now_s = whole_s(clock.now());
        match outcome {
            Outcome::Bound { pod, node, claims } => {
                self.report_bound(&pod, &node);
                self.expectations.came_true(&pod.uid);
                let uid = pod.uid;
                self.engine.apply(Delta::PodBound { uid, claims });
            }
            Outcome::BindFailed {
                pod,
                node,
                failure,
                message,
            } => self.on_bind_failed(pod, &node, &failure, message, now_s),
            Outcome::BoundByAnother { pod, node } => self.report_rival(&pod, &node, &node),
            Outcome::GroupStatusWritten {
                namespace,
                name,
                status,
            } => self.engine.status_written(&namespace, &name, &status),
            Outcome::GroupStatusNotNeeded { namespace, name } => {
                self.on_status_not_written(namespace, name, now_s);
            }
            Outcome::GroupStatusFailed {
                namespace,
                name,
                message,
            } => {
                let text = format!("status of PodGroup {namespace}/{name} not written: {message}");
                self.effects.warn_of("PodGroup", text);
                self.on_status_not_written(namespace, name, now_s);
            }
            Outcome::ConditionFailed { pod } => {
                self.retries.push(now_s, StatusOwner::Pod(pod.uid));
            }
            Outcome::NominationFailed { pod } => {
                self.retries.push(now_s, StatusOwner::Nominee(pod));
            }
            Outcome::QueueStatusFailed { name } => {
                self.retries.push(now_s, StatusOwner::Queue(name));
            }
            Outcome::EvictFailed { pod, message } => {
                let text = format!("pod {}/{} not evicted: {message}", pod.namespace, pod.name);
                self.effects.warn_of("eviction", text);
                // It stays where it is, and is charged for it again.
                self.changed = true;
                self.engine.apply(Delta::EvictFailed {
                    uid: pod.uid,
                    message,
                    at_s: now_s,
                });
            }
            Outcome::DevicesKept { claim, message } => {
                let (namespace, name) = (&claim.namespace, &claim.claim);
                let text = format!(
                    "devices of resource claim {namespace}/{name} not given back: {message}"
                );
                self.effects.warn_of("resource claim", text);
                self.changed = true;
                self.engine.apply(Delta::DevicesKept(claim));
            }
            Outcome::ClaimsLeft { claims } => {
                self.engine.apply(Delta::ClaimsLeft(claims));
            }
            Outcome::Evicted { .. } => {}
        }
    }

    /// The newest status of a PodGroup is not on the API server: it is made anew later, should there
    /// be that PodGroup still.
    fn on_status_not_written(&mut self, namespace: String, name: String, now_s: i64) {
        self.engine.status_not_written(&namespace, &name);
        let owner = StatusOwner::Group(namespace, name);
        self.retries.push(now_s, owner);
    }

    fn report_bound(&mut self, pod: &PodRef, node: &str) {
        let (namespace, name) = (&pod.namespace, &pod.name);
        let message = format!("Successfully assigned {namespace}/{name} to {node}");
        self.effects
            .write_event(pod.object(), false, "Scheduled", message);
    }

    /// No request can put the pod on that node any more.
    fn on_bind_failed(
        &mut self,
        pod: PodRef,
        node: &str,
        failure: &BindFailure,
        message: String,
        at_s: i64,
    ) {
        self.changed = true;
        let (engine, effects) = (&mut self.engine, &mut self.effects);
        self.expectations
            .take_back((&pod, node), failure, engine, effects);
        let (namespace, name) = (&pod.namespace, &pod.name);
        if *failure == BindFailure::Outdated {
            let text = format!("decided anew: {message}; pod {namespace}/{name}, node {node}");
            self.effects.log(LogLevel::Info, text);
            self.engine.apply(Delta::BindTakenBack { uid: pod.uid });
            return;
        }
        match failure {
            // Nobody is left who could be told.
            BindFailure::PodGone | BindFailure::PodReplaced => {}
            // The pod does not wait.
            BindFailure::BoundElsewhere(other) => self.report_rival(&pod, node, other),
            _ => {
                let text =
                    format!("binding of {namespace}/{name} to node {node} failed: {message}");
                self.effects.warn_of(kind_of(failure), text);
                let text = format!("failed to bind to node {node}: {message}");
                self.effects
                    .write_waiting(pod.clone(), "SchedulerError", text);
            }
        }
        let uid = pod.uid;
        self.engine.apply(Delta::BindFailed { uid, message, at_s });
    }

    /// Another scheduler binds our pods: told on the pod, and in the log now and then.
    fn report_rival(&mut self, pod: &PodRef, node: &str, bound_to: &str) {
        let message = format!(
            "decided for node {node}, but another scheduler has bound it to node {bound_to}: two \
             schedulers work for the same schedulerName; run one of them only, or all with \
             --leader-elect and the same lease"
        );
        let text = format!("pod {}/{}: {message}", pod.namespace, pod.name);
        self.effects.warn_of("another scheduler", text);
        self.effects
            .write_event(pod.object(), true, "BoundByAnotherScheduler", message);
    }
}
