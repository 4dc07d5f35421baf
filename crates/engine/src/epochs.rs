//! When what was told may mean something else.

/// Numbers that move when what messages name may mean something else.
#[derive(Clone, Copy)]
pub(crate) struct ClosedEpochs {
    pub nodes: u64,
    pub queues: u64,
    /// Moves with whatever is written on a queue, its place in the tree or not.
    pub on_queues: u64,
    pub network: u64,
    pub claims: u64,
}
