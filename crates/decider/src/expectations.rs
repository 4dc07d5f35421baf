//! Pods whose Binding waits for a device plugin or a lock, and of which `status.nominatedNodeName` says
//! where they will be (spec/07 §7): autoscalers make no node for a pod that has one to come.
//!
//! The node is told with the reason why the Binding waits, and taken back when nothing comes of it.

use std::collections::BTreeSet;

use pumice_engine::Engine;
use pumice_model::write::{BindFailure, PodRef, Write};

use crate::effect_list::EffectList;

/// UIDs of pods of which it was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Expectations(BTreeSet<String>);

impl Expectations {
    /// The pod is on its node.
    pub fn came_true(&mut self, uid: &str) {
        self.0.remove(uid);
    }

    /// Says why a Binding waits, and where the pod will be.
    pub fn tell(
        &mut self,
        (pod, node): (PodRef, String),
        reason: String,
        message: String,
        effects: &mut EffectList,
    ) {
        self.0.insert(pod.uid.clone());
        effects.write(Write::BindWaits {
            pod,
            node,
            reason,
            message,
        });
    }

    /// No Binding will put the pod on that node any more.
    pub fn take_back(
        &mut self,
        (pod, node): (&PodRef, &str),
        failure: &BindFailure,
        engine: &mut Engine,
        effects: &mut EffectList,
    ) {
        let is_told = self.0.remove(&pod.uid);
        let is_over = matches!(
            failure,
            BindFailure::PodGone | BindFailure::PodReplaced | BindFailure::BoundElsewhere(_)
        );
        if is_told && !is_over {
            engine.expect_no_more(&pod.uid, node);
            effects.write(Write::Nominate {
                pod: pod.clone(),
                node: None,
            });
        }
    }
}
