//! What a Binding waits for. Asked when a placement becomes a decision, and by whoever sends it.

/// Claims of a pod are bound before the pod.
pub trait BindSteps {
    /// How long the claims of a pod may take to be bound, in seconds; `None`: they are not bound, and
    /// no decision has steps for volumes.
    fn volume_timeout_s(&self) -> Option<i64>;
}
