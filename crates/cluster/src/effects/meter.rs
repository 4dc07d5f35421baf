//! What is counted.

/// How far a Binding is on its way. Each stage lasts until the next one begins; one may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BindStage {
    /// Waits for its turn: for the window of Bindings, the limit of requests a second, a status of
    /// the pod that is being written, or for watches to follow what happens.
    Turn,
    /// Volumes of its claims are bound.
    Volumes,
    /// Resource claims are written.
    Claims,
    /// The device plugin of the node has not answered for a pod before it.
    DevicePlugin,
    /// Waits for the lock of the node, or takes it.
    NodeLock,
    /// The Binding is sent, and its answer awaited.
    Request,
    /// The API server asked for a pause, or could not be reached.
    Pause,
    /// An answer was lost: the pod is read until it is certain what became of it.
    Certainty,
    /// The API server has accepted it.
    Accepted,
}

/// Takes measurements; metrics are made of them elsewhere. Called from many tasks.
pub trait Meter: Send + Sync + 'static {
    /// One request that writes was answered, or was not. `kind` is one of `bind`, `pod_condition`,
    /// `group_status`, `queue_status`, `shard_status`, `evict_status`, `evict`, `pre_bind`,
    /// `event`, `node_lock`, `device_cleanup`; `result` one of `ok`, `conflict`, `throttled`, `denied`, `refused`,
    /// `server_error`, `not_sent`, `unknown`.
    fn write(&self, kind: &'static str, result: &'static str, seconds: f64) {
        let _ = (kind, result, seconds);
    }

    /// A pod was bound, so many seconds after the decision was handed in.
    fn bound(&self, seconds: f64) {
        let _ = seconds;
    }

    /// The Binding of the pod with this UID enters a stage.
    fn bind_stage(&self, uid: &str, stage: BindStage) {
        let _ = (uid, stage);
    }

    /// The bind window changed: how many requests may be in flight.
    fn bind_window(&self, limit: usize) {
        let _ = limit;
    }

    /// So many binds wait for the device plugin of their node, or for its lock.
    fn binds_waiting(&self, count: usize) {
        let _ = count;
    }

    /// An event was folded into an earlier one, or dropped because too many wait.
    fn suppressed_event(&self) {}

    /// A write was given up for want of permission or after too many tries.
    fn dropped(&self, kind: &'static str) {
        let _ = kind;
    }
}

/// Counts nothing.
impl Meter for () {}
