//! What the tasks of the cluster ask of cards: by it cards are chosen, and nodes may be.
//!
//! Asked when a cycle opens, after all plugins were told what has changed. The state keeps the answer
//! until another one is given; what is known of classes of tasks on nodes is then found anew, so another
//! answer should be rare.

use std::sync::Arc;

use pumice_devices::DeviceMix;

/// A plugin that knows what tasks ask.
pub trait KeepsMix {
    /// The mix. The same one, by pointer, as long as it has not changed.
    fn mix(&self) -> Option<&Arc<DeviceMix>>;
}
