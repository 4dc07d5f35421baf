//! Bindings that are held back, and what for.

/// A Binding that is held back, and what for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindWaiting {
    /// UID of the pod.
    pub uid: String,
    /// What it waits for.
    pub what: WaitsFor,
}

/// What a Binding is held back for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The device plugin has not answered for the pod with UID `first`, and `ahead` other Bindings
    /// come before this one.
    Plugin {
        /// UID of the pod on its way.
        first: String,
        /// Bindings that come before this one.
        ahead: usize,
    },
    /// The lock of the node.
    Lock,
}
