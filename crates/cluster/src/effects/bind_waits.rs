//! Bindings that wait for a device plugin or for a lock: which, how long at most, and what their pods are
//! told meanwhile.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::decided::Decided;
use super::devices::waiting::BindWaiting;
use super::shared::WriterContext;
use super::status::StatusWrite;
use super::{Effects, Lanes, PodRef, Write};

impl Effects {
    /// Says why a Binding waits, and where the pod will be, if it still does.
    pub(super) fn tell_bind_waits(
        &self,
        by: &Arc<WriterContext>,
        (pod, node): (PodRef, String),
        reason: String,
        message: String,
    ) {
        let Lanes {
            events, conditions, ..
        } = &*self.lanes;
        by.devices.while_waiting(&pod.uid.clone(), || {
            let why = "FailedScheduling".to_owned();
            events.submit(by, pod.object(), true, why, &message);
            let expected = Write::Nominate {
                pod: pod.clone(),
                node: Some(node),
            };
            let condition = Write::PodCondition {
                pod,
                reason,
                message,
            };
            for status in [condition, expected]
                .into_iter()
                .filter_map(StatusWrite::of)
            {
                conditions.submit(status.key(), Decided::new(status, by));
            }
        });
    }

    /// Binds that wait for the device plugin of their node, or for its lock.
    pub fn waiting(&self) -> usize {
        self.lanes.shared.device_waits.load(Ordering::Relaxed)
    }

    /// How long a Binding waits at most: for the plugin, for each pod before it, and for a lock.
    pub fn longest_waits(&self) -> (Duration, Duration) {
        let options = &self.lanes.shared.options;
        (options.plugin_patience, options.lock_wait)
    }

    /// Which ones, and what for.
    pub fn bind_waits(&self) -> Vec<BindWaiting> {
        match self.waiting() {
            0 => Vec::new(),
            _ => self.lanes.shared.devices.waits(),
        }
    }
}
