//! What HAMi writes with every Binding, and how its device plugins answer (spec/04 §18.2).

use crate::binding::{Annotation, AnnotationValue, NodeLock, PluginProtocol, UntilStarted};

/// Node annotation that is the lock.
pub const LOCK: NodeLock = NodeLock::naming_pod("hami.io/mutex.lock");
/// Pod annotation: node it is bound to.
const NODE: &str = "hami.io/vgpu-node";
/// Pod annotation: when that was.
const NODE_TIME: &str = "hami.io/vgpu-time";
/// Pod annotation: how far the plugin is.
const PHASE: &str = "hami.io/bind-phase";
const BUSY: &str = "allocating";
/// The plugin has served a container of the pod; there may be more.
const SERVED: &str = "success";
/// Pod annotation: when it was bound. The plugin looks for pods that have it.
const BIND_TIME: &str = "hami.io/bind-time";

/// How far the plugin is (spec/05 §3.9). A pod that runs or ends is not looked for any more.
pub const PROTOCOL: PluginProtocol = PluginProtocol {
    plugin: "HAMi's device plugin (of Ascend NPUs ascend-device-plugin)",
    bound_key: PHASE,
    phase_key: PHASE,
    busy: &[Some(BUSY)],
    busy_until_started: UntilStarted::Answered(&[SERVED]),
    sequence_key: None,
    cleanup: &[(PHASE, "failed")],
};

/// Where the pod is, and since when.
pub fn place(node: &str) -> [Annotation; 2] {
    [
        Annotation::new(NODE, AnnotationValue::Text(node.to_owned())),
        Annotation::new(NODE_TIME, AnnotationValue::Seconds),
    ]
}

/// By what a plugin of HAMi knows a pod that waits for it.
pub fn waits() -> [Annotation; 2] {
    [
        Annotation::new(PHASE, AnnotationValue::Text(BUSY.to_owned())),
        Annotation::new(BIND_TIME, AnnotationValue::Seconds),
    ]
}

/// Key of the pod annotation with the cards that the plugin has yet to hand out.
pub fn to_allocate(stem: &str) -> String {
    format!("hami.io/{stem}-devices-to-allocate")
}

/// Key of the pod annotation with the cards that the pod has.
pub fn allocated(stem: &str) -> String {
    format!("hami.io/{stem}-devices-allocated")
}
