//! What the tasks of the cluster ask of cards: by it cards are chosen, and nodes may be.
//!
//! Asked when a cycle opens, after all plugins were told what has changed. The state keeps the answer
//! until another one is given; what is known of classes of tasks on nodes is then found anew, so another
//! answer should be rare.

use std::sync::Arc;

use pumice_devices::DeviceMix;

/// Tasks that the mix would know of and does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOutTasks {
    /// What one of them asks, for people.
    pub asks: String,
    /// Why they do not count.
    pub why: String,
}

/// A plugin that knows what tasks ask.
pub trait KeepsMix {
    /// The mix. The same one, by pointer, as long as it has not changed.
    fn mix(&self) -> Option<&Arc<DeviceMix>>;

    /// Where the mix comes from, as a phrase for people.
    fn origin(&self) -> &str;

    /// It is what somebody wrote, not what tasks were seen to ask.
    fn is_written(&self) -> bool;

    /// Classes that are not in it, the one that comes most first.
    fn left_out(&self) -> &[LeftOutTasks];

    /// Keys of labels of nodes: the first that a node has names its pool.
    fn pool_labels(&self) -> &[String];
}
