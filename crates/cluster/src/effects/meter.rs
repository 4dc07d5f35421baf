//! What is counted.

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
