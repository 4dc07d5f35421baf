//! What the tasks of the cluster ask of cards: by it cards are chosen, and nodes may be.
//!
//! Asked when a cycle opens, after all plugins were told what has changed. The state keeps the answer
//! until another one is given; what is known of classes of tasks on nodes is then found anew, so another
//! answer should be rare.

use std::sync::Arc;

use pumice_devices::DeviceMix;
use pumice_model::State;
use pumice_model::device::CountedTasks;

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

    /// Why what somebody wrote does not count, if it does not: a sentence for people.
    fn doubt(&self) -> Option<&str>;

    /// Classes that are not in it, the one that comes most first.
    fn left_out(&self) -> &[LeftOutTasks];

    /// The tasks that were counted so far, for a plugin that comes after this one: `None` where this one has not taken in
    /// yet what was counted before it.
    fn counted(&self, state: &State) -> Option<CountedTasks>;

    /// The serial of the last task that was counted since this process began; 0 where none was.
    fn last_counted(&self) -> u64;

    /// The tasks that were counted so far, as a text that another process can begin with: never longer than a ConfigMap may
    /// be, and empty where this plugin has not taken in yet what was counted before it.
    fn text_to_keep(&self, state: &State) -> String;

    /// Keys of labels of nodes: the first that a node has names its pool.
    fn pool_labels(&self) -> &[String];
}
