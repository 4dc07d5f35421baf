//! Pods whose Binding waits for a device plugin or a lock, and of which `status.nominatedNodeName` says
//! where they will be (spec/07 §7): autoscalers make no node for a pod that has one to come.
//!
//! The node is told with the reason why the Binding waits, and taken back when nothing comes of it.

use pumice_model::write::{BindFailure, PodRef, Write};
use rustc_hash::FxHashSet;

use crate::Decider;

/// UIDs of pods of which it was told.
#[derive(Debug, Default)]
pub struct Expectations(FxHashSet<String>);

impl Expectations {
    /// The pod is on its node.
    pub fn came_true(&mut self, uid: &str) {
        self.0.remove(uid);
    }
}

impl Decider {
    /// Says why a Binding waits, and where the pod will be.
    pub(crate) fn expect(&mut self, pod: PodRef, node: String, reason: String, message: String) {
        self.expectations.0.insert(pod.uid.clone());
        self.write(Write::BindWaits {
            pod,
            node,
            reason,
            message,
        });
    }

    /// No Binding will put the pod on that node any more.
    pub(crate) fn expect_no_more(&mut self, pod: &PodRef, node: &str, failure: &BindFailure) {
        let is_told = self.expectations.0.remove(&pod.uid);
        let is_over = matches!(
            failure,
            BindFailure::PodGone | BindFailure::PodReplaced | BindFailure::BoundElsewhere(_)
        );
        if is_told && !is_over {
            self.engine.expect_no_more(&pod.uid, node);
            self.write(Write::Nominate {
                pod: pod.clone(),
                node: None,
            });
        }
    }
}
